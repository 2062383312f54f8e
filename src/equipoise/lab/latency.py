"""How long labels take on this machine, beside the time of an answer.

The same questions stand in every row. SP table 11 takes apart a detector of six models, one a fold;
ours is one model, so that table has no counterpart here. GPU columns have none either: the bundled
detectors run on the processor.
"""

import os
import platform
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from equipoise.errors import InputError
from equipoise.lab.defences.balanced import BalancerDefence
from equipoise.lab.defences.base import Case, K
from equipoise.prompt import render_prompt
from equipoise.prompt.templates import Template
from equipoise.stance.base import LazyScores, detect_checked
from equipoise.types import Candidate, Generator, Outcome, StanceDetector

COUNTS: Final = (1, 5, 10, 20, 32, 50)
"""Documents labelled. Source: SP table 10."""
QUESTIONS: Final = 30
SEED: Final = 20260905
FORMAT: Final = 1
NO_COUNTERPART: Final = {
    "six-fold routing": "no: one model (SP table 11)",
    "gpu": "no: labels came from the processor",
}
"""Short, for published files hold no long texts."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A question and its candidates, best first."""

    id: str
    question: str
    candidates: tuple[Candidate, ...]


Clock = Callable[[], float]
"""Seconds, from any start."""


def drawn(ids: Sequence[str], number: int = QUESTIONS, *, seed: int = SEED) -> tuple[str, ...]:
    """`number` of the questions, drawn with `seed`, in their own order; all where there are fewer.

    Raises:
        InputError: number < 1.
    """
    if number < 1:
        raise InputError(f"the number of questions must be >= 1, got {number}")
    chosen = set(random.Random(seed).sample(sorted(ids), min(number, len(ids))))
    return tuple(name for name in ids if name in chosen)


def measure(
    asked: Sequence[Timed],
    detector: StanceDetector,
    *,
    counts: Sequence[int] = COUNTS,
    generator: Generator | None = None,
    template: Template | None = None,
    clock: Clock = time.perf_counter,
    told: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> dict[str, Any]:
    """Times of labelling, of lazy selection, and of answering, as plain values.

    "labelling" has a row a count: median, p10 and p90 in ms of one call for the first so many
    candidates, and the median's share of the median answer, in [0, ...), where a generator was
    timed. A question with fewer candidates is labelled as far as it goes and counted as "short".
    "lazy" is what the quota really reads: labels and their ms a question. One call before the first
    is not counted: it loads the model.

    Args:
        asked: the same in every row.
        detector: without a memory of its own, or it is timed once only.
        counts: documents a call, each >= 1.
        generator: writes an answer from the first five documents; None times no answers.
        template: of its prompt; needed with a generator.
        clock: for tests.
        told: for people who wait.

    Raises:
        InputError: no question, a count < 1, or a generator without a template.
        DetectorError: the detector failed.

    Source: SP 4.6, table 10.
    """
    if not asked or not counts or min(counts) < 1:
        raise InputError(
            f"latency needs questions, and counts >= 1; got {len(asked)} and {list(counts)}"
        )
    if not all(one.candidates for one in asked):
        raise InputError("every question must have a candidate")
    if generator is not None and template is None:
        raise InputError("a generator needs a template")
    detect_checked(detector, asked[0].question, [asked[0].candidates[0].text])
    rows = []
    for count in dict.fromkeys(counts):
        rows.append(_labelling(asked, detector, count, clock))
        told("labelling", len(rows), len(set(counts)))
    lazy = _lazy(asked, detector, clock, told)
    found: dict[str, Any] = {"labelling": rows, "lazy": lazy, "generation": None}
    if generator is not None and template is not None:
        found["generation"] = _generation(asked, generator, template, clock, told)
    return {**found, "questions": [one.id for one in asked], **_shares(found)}


def spread(milliseconds: Sequence[float]) -> dict[str, float]:
    """Median, p10 and p90, between the two nearest values where none is exact; rounded to 1 us.

    >>> spread([10.0, 20.0, 30.0])["median_ms"]
    20.0
    """
    low, median, high = np.percentile(np.array(milliseconds, dtype=np.float64), [10, 50, 90])
    named = {"median_ms": median, "p10_ms": low, "p90_ms": high}
    return {name: round(float(value), 3) for name, value in named.items()}


def machine(threads: int | None) -> dict[str, Any]:
    """Processor, cores, threads asked for, and how busy it was: what a figure must be read with.

    `load` is the mean number of busy processes over the last minute, None where the system does
    not tell; well above 0 before the start means that the figures are too high.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "usable_cores": None if allowed is None else len(allowed),
        "threads": threads,
        "system": platform.system(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _labelling(
    asked: Sequence[Timed], detector: StanceDetector, count: int, clock: Clock
) -> dict[str, Any]:
    spent = []
    for one in asked:
        texts = [candidate.text for candidate in one.candidates[:count]]
        began = clock()
        detect_checked(detector, one.question, texts)
        spent.append(1e3 * (clock() - began))
    short = sum(len(one.candidates) < count for one in asked)
    ms = [round(value, 3) for value in spent]
    return {"count": count, "n": len(asked), "short": short, **spread(spent), "ms": ms}


def _lazy(
    asked: Sequence[Timed],
    detector: StanceDetector,
    clock: Clock,
    told: Callable[[str, int, int], None],
) -> dict[str, Any]:
    """The quota as the lab runs it, with labels read one after another as far as it needs them."""
    defence = BalancerDefence("quota")
    labels, label_ms, whole_ms = [], [], []
    for number, one in enumerate(asked, 1):
        scores = LazyScores(detector, one.question, [c.text for c in one.candidates])
        began = clock()
        defence.defend(Case(one.question, one.candidates, scores))
        whole_ms.append(1e3 * (clock() - began))
        labels.append(scores.labelled)
        label_ms.append(scores.label_ms)
        told("lazy selection", number, len(asked))
    return {
        "defence": defence.name,
        "labels": {
            "mean": round(sum(labels) / len(labels), 3),
            "least": min(labels),
            "most": max(labels),
        },
        **spread(whole_ms),
        "of_which_labels": spread(label_ms),
    }


def _generation(
    asked: Sequence[Timed],
    generator: Generator,
    template: Template,
    clock: Clock,
    told: Callable[[str, int, int], None],
) -> dict[str, Any]:
    """Answers from the first five documents, without the instruction (setting A)."""
    spent, outcomes = [], dict.fromkeys((outcome.value for outcome in Outcome), 0)
    for number, one in enumerate(asked, 1):
        texts = [candidate.text for candidate in one.candidates[:K]]
        prompt = render_prompt(one.question, texts, even_handed=False, template=template)
        began = clock()
        answer = generator.generate(prompt)
        milliseconds = 1e3 * (clock() - began)
        outcomes[answer.outcome.value] += 1
        if answer.outcome is Outcome.ANSWERED:
            spent.append(milliseconds)
        told("answers", number, len(asked))
    counted = {name: number for name, number in outcomes.items() if number}
    times = spread(spent) if spent else {"median_ms": None, "p10_ms": None, "p90_ms": None}
    return {"template": template.version, "n": len(spent), "outcomes": counted, **times}


def _shares(found: Mapping[str, Any]) -> dict[str, Any]:
    """The rows again, each with its share of the median answer."""
    whole = None if found["generation"] is None else found["generation"]["median_ms"]

    def with_share(row: Mapping[str, Any]) -> dict[str, Any]:
        share = None if not whole else round(row["median_ms"] / whole, 6)
        return {**row, "share_of_generation": share}

    return {
        "labelling": [with_share(row) for row in found["labelling"]],
        "lazy": with_share(found["lazy"]),
    }


def _cpu() -> str:
    """The processor's name as the system gives it, "" where it gives none."""
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
