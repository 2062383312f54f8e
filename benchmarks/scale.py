"""What do Ray's actors gain over one process, what do they cost, and does memory stay flat?

    python benchmarks/scale.py label [--passages 1280] [--rounds 3] [--detector default]
    python benchmarks/scale.py embed [--passages 2000]
    python benchmarks/scale.py memory [--rows 200000]

label: the same passages through one process, through Ray with one actor and with two, one thread
each, beside two processes without Ray, which is what the machine allows; in several rounds, every
second one in the opposite order, for a machine's speed drifts by a quarter. What counts is the
time from the first part to the last, less the first block of each worker, so that starting Ray and
loading models is left out; the whole time is printed as well.
memory: resident memory of a local run over many short rows with a detector that costs nothing.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from statistics import median

from equipoise.data import clean_corpus, contested
from equipoise.scale import Embedding, Labeller, run
from equipoise.testing import FakeDetector

BLOCK = 32
ENGINES = (
    ("one process", "local", 1),
    ("Ray, one actor", "ray", 1),
    ("two processes", "local", 2),
    ("Ray, two actors", "ray", 2),
)


def _passages(folder: Path, count: int) -> Path:
    """A file of so many passages, each with the question of its topic."""
    asked = {topic.name: topic.question for topic in contested()}
    corpus = [document for document in clean_corpus() if document.metadata.get("topic") in asked]
    file = folder / "passages.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for number in range(count):
            document = corpus[number % len(corpus)]
            row = {
                "id": number,
                "text": document.text,
                "question": asked[document.metadata["topic"]],
            }
            lines.write(json.dumps(row) + "\n")
    return file


def label(passages: int, detector: str, rounds: int) -> None:
    """Rows a second of each engine, and the ratios to one process of the same round."""
    ratios: dict[str, list[float]] = {}
    for turn in range(rounds):
        rates: dict[str, float] = {}
        with tempfile.TemporaryDirectory() as work:
            file = _passages(Path(work), passages)
            for name, engine, workers in ENGINES if turn % 2 == 0 else reversed(ENGINES):
                out = Path(work) / name.replace(" ", "-")
                began = time.perf_counter()
                run(
                    Labeller(detector),
                    [file],
                    out,
                    engine=engine,  # type: ignore[arg-type]
                    workers=workers,
                    block_rows=BLOCK,
                )
                whole = time.perf_counter() - began
                times = sorted(part.stat().st_mtime for part in out.glob("part-*"))
                steady = times[workers - 1 :]
                rates[name] = BLOCK * (len(steady) - 1) / (steady[-1] - steady[0])
                print(
                    f"round {turn + 1}, {name}: {rates[name]:.2f} rows a second once started; "
                    f"{whole:.1f} s in all, load {os.getloadavg()[0]:.1f}"
                )
        for name, rate in rates.items():
            ratios.setdefault(name, []).append(rate / rates["one process"])
    for name, several in ratios.items():
        print(
            f"{name}: {median(several):.2f} times one process "
            f"({min(several):.2f} to {max(several):.2f} in {rounds} rounds)"
        )


def embed(passages: int) -> None:
    """Rows a second of the bundled embedder in one process."""
    with tempfile.TemporaryDirectory() as work:
        file = _passages(Path(work), passages)
        run(Embedding(), [_passages(Path(work), 64)], Path(work) / "warm")
        file = _passages(Path(work), passages)
        done = run(Embedding(), [file], Path(work) / "out")
    print(f"embed: {done.made / done.seconds:.1f} rows a second, load {os.getloadavg()[0]:.1f}")


def memory(rows: int) -> None:
    """Resident memory at tenths of the way."""
    seen: list[int] = []

    def watch(done: int, total: int) -> None:
        if done * 10 // total > len(seen) - 1:
            seen.append(_resident_mb())

    with tempfile.TemporaryDirectory() as work:
        file = Path(work) / "rows.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for number in range(rows):
                lines.write(
                    json.dumps({"id": number, "text": f"A short passage, {number}."}) + "\n"
                )
        task = Labeller(FakeDetector({}, default="pro"), question="Should it be?")
        task._model().detect = _forgetful(task._model().detect)  # type: ignore[method-assign]
        done = run(task, [file], Path(work) / "out", progress=watch)
    print(f"{rows} rows in {done.seconds:.0f} s; MB resident at each tenth: {seen}")


def _forgetful(detect):  # type: ignore[no-untyped-def]
    """FakeDetector remembers what it was asked; over many rows that would be what grows."""

    def asked(question, texts):  # type: ignore[no-untyped-def]
        scores = detect(question, texts)
        owner = detect.__self__
        owner.texts.clear()
        owner.questions.clear()
        return scores

    return asked


def _resident_mb() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["label", "embed", "memory"])
    parser.add_argument("--passages", type=int, default=1280)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--detector", default="default")
    parser.add_argument("--rows", type=int, default=200_000)
    given = parser.parse_args()
    if given.part == "label":
        label(given.passages, given.detector, given.rounds)
    elif given.part == "embed":
        embed(given.passages)
    else:
        memory(given.rows)


if __name__ == "__main__":
    main()
