"""A teacher's probabilities for pairs, kept in a file so that no pair is labelled twice."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from equipoise.stance import ClassifierDetector
from equipoise.train.batches import Target
from equipoise.train.data import Row

SLICE = 32
"""Pairs labelled between two writes."""


Progress = Callable[[int, int, None], None]
"""Called with (pairs labelled, pairs to label, None)."""


def taught(
    teacher: str, rows: Sequence[Row], path: Path, *, progress: Progress | None = None
) -> list[Target]:
    """For each row what the detector `teacher` says, as (con, neutral, pro).

    Lines already in `path` are not asked again; new ones are added as they come.

    Raises:
        InputError: there is no such detector.
        DetectorError: it fails.
    """
    detector = ClassifierDetector(teacher)
    known = _read(path)
    waiting: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        if _key(detector.name, row.question, row.text) not in known:
            waiting[row.question][row.text] = None
    done, total = 0, sum(map(len, waiting.values()))
    with path.open("a", encoding="utf-8") as lines:
        for question, texts in waiting.items():
            ordered = list(texts)
            for start in range(0, len(ordered), SLICE):
                part = ordered[start : start + SLICE]
                for text, score in zip(part, detector.detect(question, part), strict=True):
                    key = _key(detector.name, question, text)
                    known[key] = (score.con, score.neutral, score.pro)
                    # In full: a run that reads them back must learn the same numbers.
                    lines.write(json.dumps({"key": key, "shares": known[key]}) + "\n")
                lines.flush()
                done += len(part)
                if progress is not None:
                    progress(done, total, None)
    return [known[_key(detector.name, row.question, row.text)] for row in rows]


def _key(teacher: str, question: str, text: str) -> str:
    return hashlib.sha256(json.dumps([teacher, question, text]).encode()).hexdigest()[:24]


def _read(path: Path) -> dict[str, Target]:
    """What the file holds; a last line cut short by a stop is left out."""
    if not path.exists():
        return {}
    found: dict[str, Target] = {}
    whole = path.read_text("utf-8").rpartition("\n")[0]
    for line in whole.splitlines():
        entry = json.loads(line)
        con, neutral, pro = entry["shares"]
        found[entry["key"]] = (con, neutral, pro)
    return found
