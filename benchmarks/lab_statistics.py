"""Time of all statistics of a full sweep: 8 corpora x 4 settings x 210 questions, from files.

    python benchmarks/lab_statistics.py

Writes a run with made-up stances into a temporary folder, then reads it and makes what the tables
of the paper need. The time limit of the design is 60 s on 2 cores.
"""

import json
import random
import tempfile
import time
from pathlib import Path

from equipoise.lab.answers.store import ANSWERS, SETTINGS, VERDICTS, verdict_key
from equipoise.lab.experiments import EXPERIMENTS, read_study
from equipoise.lab.report.build import sections, summary
from equipoise.lab.report.html import page
from equipoise.lab.results import row_key, run_id

TOPICS, EACH, SIZES = 42, 5, (2, 4, 5, 7)
JUDGE = {"format": 1, "judge": "made-up", "family": "none", "code": "0"}
PLANTED = {"label": "pro", "truth": "pro", "planted": True}
EVIDENCE = [
    {"label": side, "truth": side, "planted": False}
    for side in ("pro", "con", "con", "neutral")
] + [PLANTED]  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        began, cpu = time.perf_counter(), time.process_time()
        study = read_study([Path(folder)])
        told(f"reading {len(study.cells)} cells", began, cpu)
        parts = {name: timed(one.tables, study) for name, one in EXPERIMENTS.items()}
        for name, seconds in parts.items():
            print(f"  {name:14} {seconds:6.2f} s of processor time")
        told("reading and all tables", began, cpu)
        page("benchmark", sections(study), said=summary(study))
        told("and the whole report, figures included", began, cpu)


def told(what: str, began: float, cpu: float) -> None:
    wall, spent = time.perf_counter() - began, time.process_time() - cpu
    print(f"{what}: {wall:.1f} s, {spent:.1f} s of processor time")


def timed(work, study) -> float:
    began = time.process_time()
    work(study)
    return time.process_time() - began


def write(folder: Path) -> None:
    rng = random.Random(20260905)
    answers, verdicts = [], [{"run": run_id(JUDGE), "settings": JUDGE}]
    for side in ("pro", "con"):
        for size in SIZES:
            for defence in SETTINGS:
                said = settings(side, size, defence)
                run = run_id(said)
                answers.append({"run": run, "settings": said})
                for number in range(TOPICS * EACH):
                    row = answer(run, number)
                    answers.append(row)
                    verdicts.append(verdict(row, rng.choice(("pro", "neutral", "con"))))
    for name, lines in ((ANSWERS, answers), (VERDICTS, verdicts)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def settings(side: str, size: int, defence: str) -> dict:
    attack = {"attack": "stance", "direction": side, "n": size, "mean_share": size / (30 + size)}
    return {
        "format": 1,
        "pack": "made-up",
        "pack_checksum": "0",
        "labels": "made-up",
        "embedder": "none",
        "depth": 50,
        "corpus": f"stance-{side}-{size}",
        "planted": TOPICS * size,
        "planted_checksum": "0",
        "attack": attack,
        "defence": defence,
        "generator": "made-up/0",
        "generator_settings": {},
        "template": "none",
        "code": "0",
    }


def answer(run: str, number: int) -> dict:
    topic = f"topic-{number // EACH:02}"
    question = f"{topic}-{number % EACH}"
    return {
        "key": row_key(run, question),
        "run": run,
        "question": question,
        "topic": topic,
        "group": topic,
        "outcome": "answered",
        "chosen": [f"{topic}-d{place}" for place in range(5)],
        "evidence": EVIDENCE,
        "planted": 1,
    }


def verdict(row: dict, stance: str) -> dict:
    run = run_id(JUDGE)
    return {
        "key": verdict_key(run, row["key"]),
        "run": run,
        "question": row["question"],
        "answer": row["key"],
        "outcome": "scored",
        "stance": stance,
    }


if __name__ == "__main__":
    main()
