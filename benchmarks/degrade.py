"""How good must the stance labels be for the chosen documents to be truly balanced?

Rankings whose true stances are known get labels that are wrong at random, as often as a macro-F1
asks for. The Balancer chooses by these labels; counted are the true stances of what it chose.
Retrieval is BM25, depth 50, as in `labelled.py`. A passage of another topic is neutral.

Errors are drawn in two ways: `uniform` (every label is as likely to be wrong, and either other
label as likely to be said) and `bundled` (each confusion in proportion to its rate in the card of
the bundled detector). One scale for all rates is fitted to the macro-F1 over the whole pool.
`top five` is the order of relevance; `bundled detector` the labels of the real model.

Results go to a JSON Lines file, from which `degrade_report.py` draws the table and the picture.
A run that was stopped goes on where it was.
"""

import argparse
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from noisy_labels import (
    ORDER,
    UNIFORM,
    Array,
    card_errors,
    degrade,
    macro_f1,
    scale_for,
    scores_for,
    transition,
)

from equipoise import Balancer, Candidate, Stance, StanceDetector, StanceScore, __version__
from equipoise.data import contested
from equipoise.stance import CachedDetector, load_detector
from equipoise.testing import FakeDetector

TARGETS = tuple(round(0.95 - 0.05 * step, 2) for step in range(12))  # 0.95, 0.90, ..., 0.40
MEASURES = ("skew", "both", "nearest")
RULES = {
    "always": Balancer(gate="always", merge_duplicates=False),  # the paper's settings
    "default": Balancer(),
}


@dataclass(frozen=True, slots=True)
class World:
    """One ranking, best first; `truth` holds an index into ORDER for each document."""

    question: str
    documents: tuple[Candidate, ...]
    truth: Array

    @property
    def counts(self) -> Array:
        """How many documents of each stance there are, in ORDER."""
        return np.bincount(self.truth, minlength=3)


def distance(composition: Sequence[int]) -> int:
    """How far counts in ORDER are from 2 con, 1 neutral, 2 pro: the sum of differences."""
    return sum(abs(had - want) for had, want in zip(composition, (2, 1, 2), strict=True))


def nearest(counts: Array, seats: int = 5) -> int:
    """The smallest `distance` that `seats` documents of a pool with `counts` can have."""
    con, neutral, pro = (int(count) for count in counts)
    seats = min(seats, con + neutral + pro)
    return min(
        distance((a, seats - a - b, b))
        for a in range(min(con, seats) + 1)
        for b in range(min(pro, seats - a) + 1)
        if seats - a - b <= neutral
    )


def measure(world: World, indices: Sequence[int]) -> tuple[float, float, float]:
    """|pro - con| as a share of the chosen; 1 if both sides are there; 1 if nearest to 2+2+1."""
    con, neutral, pro = np.bincount(world.truth[list(indices)], minlength=3).tolist()
    return (
        abs(pro - con) / len(indices),
        float(pro > 0 and con > 0),
        float(distance((con, neutral, pro)) == nearest(world.counts)),
    )


def choose(world: World, scores: Sequence[StanceScore], rule: Balancer) -> list[int]:
    table = {doc.text: score for doc, score in zip(world.documents, scores, strict=True)}
    selection = rule.with_detector(FakeDetector(table)).balance(world.question, world.documents)
    return [choice.retrieval_rank - 1 for choice in selection.chosen]


def interval(by_question: Array, rng: np.random.Generator, rounds: int = 2_000) -> Array:
    """Rows mean, low, high (95%, percentiles) of the columns, resampling questions (the rows)."""
    drawn = rng.integers(0, len(by_question), (rounds, len(by_question)))
    low, high = np.percentile(by_question[drawn].mean(axis=1), (2.5, 97.5), axis=0)
    return np.array([by_question.mean(axis=0), low, high])


def confusion_of(worlds: Sequence[World], labels: Iterable[Array]) -> Array:
    table = np.zeros((3, 3))
    for world, said in zip(worlds, labels, strict=True):
        np.add.at(table, (world.truth, said), 1)
    return table


def row(labels: str, rule: str, confusion: Array | None, values: Array, seed: int) -> dict:
    """A line of the results: `values` is (questions, 3), the mean over draws of each measure."""
    found = interval(values, np.random.default_rng(seed))
    known = confusion is not None
    return {
        "labels": labels,
        "rule": rule,
        "macro_f1": macro_f1(confusion) if known else None,
        "accuracy": float(np.trace(confusion) / confusion.sum()) if known else None,
        "n": len(values),
        **{
            name: dict(zip(("mean", "low", "high"), found[:, i].tolist(), strict=True))
            for i, name in enumerate(MEASURES)
        },
    }


def degraded(
    worlds: Sequence[World],
    labels: str,
    errors: Array,
    *,
    target: float,
    seed: int,
    draws: dict[str, int],
) -> Iterator[dict]:
    """The rows of one macro-F1, a rule each; or one that says why it cannot be reached."""
    counts = sum(world.counts for world in worlds)
    try:
        chances = transition(errors, scale_for(target, counts, errors))
    except ValueError as error:
        yield {"labels": labels, "target": target, "unreachable": str(error)}
        return
    values = {rule: np.zeros((len(worlds), 3)) for rule in RULES}
    confusion = np.zeros((3, 3))
    for place, world in enumerate(worlds):
        for draw in range(max(draws.values())):
            rng = np.random.default_rng((seed, place, draw))
            said = degrade(world.truth, chances, rng)
            confusion += confusion_of([world], [said])
            scores = scores_for(said, world.truth, rng)
            for rule in (rule for rule in RULES if draw < draws[rule]):
                values[rule][place] += measure(world, choose(world, scores, RULES[rule]))
    for rule in RULES:
        found = row(labels, rule, confusion, values[rule] / draws[rule], seed)
        yield {"target": target, **found, "draws": draws[rule]}


def top_five(worlds: Sequence[World], seed: int) -> Iterator[dict]:
    five = [measure(world, range(min(5, len(world.documents)))) for world in worlds]
    yield row("top five", "none", None, np.array(five), seed)


def true_labels(worlds: Sequence[World], seed: int) -> Iterator[dict]:
    rng = np.random.default_rng(seed)
    scores = [scores_for(world.truth, world.truth, rng) for world in worlds]
    yield from _given("true labels", worlds, scores, seed)


def detected(worlds: Sequence[World], detector: StanceDetector, seed: int) -> Iterator[dict]:
    """The rows of a real detector, whose errors fall where they fall."""
    scores = [
        list(detector.detect(world.question, [doc.text for doc in world.documents]))
        for world in worlds
    ]
    yield from _given("bundled detector", worlds, scores, seed)


def _given(
    name: str, worlds: Sequence[World], scores: Sequence[list[StanceScore]], seed: int
) -> Iterator[dict]:
    said = [np.array([ORDER.index(score.label) for score in known]) for known in scores]
    confusion = confusion_of(worlds, said)
    for rule, balancer in RULES.items():
        pairs = zip(worlds, scores, strict=True)
        values = np.array([measure(w, choose(w, known, balancer)) for w, known in pairs])
        yield {**row(name, rule, confusion, values, seed), "confusion": confusion.tolist()}


def as_world(question: str, documents: Sequence[Candidate], known: dict[str, str]) -> World:
    """A World; what `known` (text -> stance toward this very question) has not is neutral."""
    stances = [Stance(known.get(doc.text, "neutral")) for doc in documents]
    return World(question, tuple(documents), np.array([ORDER.index(s) for s in stances]))


def embedded_worlds(planted: str | None) -> list[World]:
    from labelled import embedded

    return [
        as_world(question, found, {d.text: d.metadata["stance"] for d in topic.documents})
        for topic, (question, found) in zip(contested(), embedded(planted), strict=True)
    ]


def wiki_worlds(data: Path) -> list[World]:
    from labelled import wiki_passages

    known: dict[str, dict[str, str]] = {}
    for line in (data / "stance/ibm_wiki_passages.jsonl").open(encoding="utf-8"):
        entry = json.loads(line)
        known.setdefault(entry["question"], {})[entry["text"]] = entry["stance"]
    return [as_world(q, found, known[q]) for q, found in wiki_passages(data)[0]]


def finished(path: Path, settings: dict) -> set[tuple]:
    """What the file already has, as (world, labels, target); a new file gets its first line.

    Raises:
        ValueError: the file comes from other settings or other code.
    """
    if not path.exists():
        path.write_text(json.dumps({"settings": settings}) + "\n", encoding="utf-8")
    first, *rest = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    if first != {"settings": settings}:
        raise ValueError(f"{path} must come from these settings to go on with: remove it first")
    return {(entry["world"], entry["labels"], entry.get("target")) for entry in rest}


def run(name: str, worlds: list[World], path: Path, arguments: argparse.Namespace) -> None:
    """Append the rows of one corpus that the file does not have yet."""
    card = files("equipoise.stance") / "models/default/README.md"
    code = b"".join(
        Path(__file__).with_name(file).read_bytes() for file in ("degrade.py", "noisy_labels.py")
    )
    confusions = {"uniform": UNIFORM, "bundled": card_errors(card.read_text(encoding="utf-8"))}
    draws = {"always": arguments.draws, "default": arguments.default_draws}
    settings = {
        "seed": arguments.seed,
        "draws": draws,
        "version": __version__,
        "code": hashlib.sha256(code).hexdigest()[:12],
        "errors": {labels: errors.tolist() for labels, errors in confusions.items()},
    }
    done = finished(path, settings)
    counts = sum(world.counts for world in worlds)
    about = {
        "world": name,
        "pool": {str(s): int(n) for s, n in zip(ORDER, counts, strict=True)},
    }
    with path.open("a", encoding="utf-8") as out:

        def keep(rows: Iterable[dict]) -> None:
            lines = [json.dumps({**about, **entry}) + "\n" for entry in rows]
            out.write("".join(lines))
            out.flush()

        if (name, "top five", None) not in done:
            keep([*top_five(worlds, arguments.seed), *true_labels(worlds, arguments.seed)])
        for labels, errors in confusions.items():
            for target in TARGETS:
                if (name, labels, target) not in done:
                    keep(
                        degraded(
                            worlds, labels, errors, target=target, seed=arguments.seed, draws=draws
                        )
                    )
        if not arguments.no_detector and (name, "bundled detector", None) not in done:
            detector = CachedDetector(load_detector("default"), path=arguments.cache)
            keep(detected(worlds, detector, arguments.seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with stance/ and background/")
    parser.add_argument("--cache", type=Path, help="SQLite file that keeps the bundled labels")
    parser.add_argument("--no-detector", action="store_true", help="leave the bundled model out")
    parser.add_argument("--draws", type=int, default=10, help="draws a question, >= 1")
    parser.add_argument("--default-draws", type=int, default=1, help="of these, for Balancer()")
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("degrade.jsonl"))
    arguments = parser.parse_args()
    run("embedded", embedded_worlds(None), arguments.out, arguments)
    run("embedded, 7 pro planted", embedded_worlds("pro"), arguments.out, arguments)
    if arguments.data:
        run("ibm_wiki_passages", wiki_worlds(arguments.data), arguments.out, arguments)


if __name__ == "__main__":
    main()
