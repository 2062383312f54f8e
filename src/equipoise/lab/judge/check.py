"""How far a judge can be trusted: its verdicts beside the labels of people who read the answers."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.lab.answers.store import Judged
from equipoise.lab.form_scores import SAMPLES, SEED, cohens_kappa
from equipoise.lab.judge.base import Judge, Verdict
from equipoise.lab.judge.correct import CLASSES
from equipoise.lab.judge.prompt import DECLINED
from equipoise.lab.pack import read_lines

READ_AS: Final = (*(stance.value for stance in CLASSES), DECLINED)
"""What a reader may say, in the order of a matrix's rows and columns."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """An answer that people read: `stance` is what they settled on, `readers` what each said.

    `group` is what intervals resample: the topic, or a group of topics.

    Raises:
        InputError: a label is none of `READ_AS`, or a text or id is blank.
    """

    id: str
    question: str
    answer: str
    stance: str
    readers: Mapping[str, str]
    group: str

    def __post_init__(self) -> None:
        for label in (self.stance, *self.readers.values()):
            if label not in READ_AS:
                raise InputError(
                    f"a label must be one of {', '.join(READ_AS)}; {self.id!r} has {label!r}"
                )
        for name in ("id", "question", "answer", "group"):
            found = getattr(self, name)
            if not isinstance(found, str) or not found.strip():
                raise InputError(f"{name} of {self.id!r} must be a text, got {found!r}")


@dataclass(frozen=True, slots=True)
class Rate:
    """`hits` of `total`, as a share in [0, 1] with a 95% Wilson interval; None where total is 0.

    The interval takes answers as independent.
    """

    hits: int
    total: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two labellings of `n` answers.

    `equal` of them are alike (with interval), `kappa` is Cohen's, in [-1, 1], with a 95% interval
    from samples of whole groups. Kappa is None where it is not defined (both say one and the same
    throughout); its interval leaves out `undefined` samples of 5,000 of that kind, and is None with
    fewer than two groups.
    """

    n: int
    equal: Rate
    kappa: float | None
    low: float | None
    high: float | None
    undefined: int


@dataclass(frozen=True, slots=True)
class Check:
    """A judge beside its readers.

    Attributes:
        judge: its name.
        labels: a digest of the file of labels.
        outcomes: how many answers came to what.
        matrix: (4, 4) counts, rows what readers settled on, columns what the judge said, each in
            the order of `READ_AS`; answers without a verdict are not in it.
        unjudged: (4,) answers without a verdict, by what readers settled on.
        agreement: over all answers with a verdict.
        stances: over those where both name a stance; the matrix that corrections use.
        sensitivity: by label, the share of answers with that label that the judge gave it.
        specificity: by label, the share of answers without it that the judge did not give it.
        readers: agreement of each pair of readers, by "name/name".
    """

    judge: str
    labels: str
    outcomes: Mapping[str, int]
    matrix: tuple[tuple[int, ...], ...]
    unjudged: tuple[int, ...]
    agreement: Agreement
    stances: Agreement
    sensitivity: Mapping[str, Rate]
    specificity: Mapping[str, Rate]
    readers: Mapping[str, Agreement]

    @property
    def confusion(self) -> tuple[tuple[int, ...], ...]:
        """(3, 3) for `correct`: answers with a stance that the judge gave a stance."""
        return tuple(row[:3] for row in self.matrix[:3])


def read_labels(path: Path) -> tuple[Labelled, ...]:
    """The labelled answers of a JSON Lines file.

    Raises:
        InputError: it cannot be read, a row lacks a field or has a wrong one, or an id twice.
    """
    found: dict[str, Labelled] = {}
    for number, row in enumerate(read_lines(path), 1):
        try:
            fields = {name: row[name] for name in Labelled.__slots__ if name != "readers"}
            one = Labelled(**fields, readers=dict(row.get("readers", {})))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}, row {number}: {error}") from error
        if found.setdefault(one.id, one) is not one:
            raise InputError(f"{path}, row {number}: every id must be there once, got {one.id!r}")
    if not found:
        raise InputError(f"{path} must hold labelled answers, and holds none")
    return tuple(found.values())


def labels_digest(path: Path) -> str:
    """Sixteen hexadecimal digits of the file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def ask(
    judge: Judge,
    labelled: Sequence[Labelled],
    *,
    at_once: int = 8,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Verdict]:
    """The judge's verdict on each answer, in order; `at_once` >= 1 are judged side by side."""

    async def all_of_them() -> list[Verdict]:
        free = asyncio.Semaphore(at_once)
        done = 0

        async def one(item: Labelled) -> Verdict:
            nonlocal done
            async with free:
                verdict = await judge.judge(item.question, item.answer)
            done += 1
            if progress is not None:
                progress("judging", done, len(labelled))
            return verdict

        return list(await asyncio.gather(*(one(item) for item in labelled)))

    return asyncio.run(all_of_them())


def check(
    judge: str, labels: str, labelled: Sequence[Labelled], verdicts: Sequence[Verdict]
) -> Check:
    """What the verdicts (one an answer, in order) are worth.

    Args:
        judge: its name.
        labels: the digest of the file of labels.
        labelled: what was read.
        verdicts: on it.

    Source: SP appendix E checks its judge on 50 answers: 45 alike, kappa 0.850.
    """
    said = [label_of(verdict) for verdict in verdicts]
    rows = list(zip(labelled, said, strict=True))
    judged = [(item.stance, label, item.group) for item, label in rows if label is not None]
    tables = _tables(judged)
    matrix = tables.sum(axis=0)
    missing = Counter(item.stance for item, label in rows if label is None)
    total = int(matrix.sum())
    hits, truth, given = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    return Check(
        judge,
        labels,
        dict(sorted(Counter(verdict.outcome.value for verdict in verdicts).items())),
        tuple(tuple(int(count) for count in row) for row in matrix),
        tuple(missing[label] for label in READ_AS),
        _agreement(tables),
        _agreement(tables[:, :3, :3]),
        {label: rate(hits[at], truth[at]) for at, label in enumerate(READ_AS)},
        {
            label: rate(total - truth[at] - given[at] + hits[at], total - truth[at])
            for at, label in enumerate(READ_AS)
        },
        between_readers(labelled),
    )


def between_readers(labelled: Sequence[Labelled]) -> dict[str, Agreement]:
    """How far each pair of readers agreed before they settled, over what both read."""
    names = sorted({name for item in labelled for name in item.readers})
    return {
        f"{first}/{second}": _agreement(
            _tables(
                [
                    (item.readers[first], item.readers[second], item.group)
                    for item in labelled
                    if first in item.readers and second in item.readers
                ]
            )
        )
        for first, second in combinations(names, 2)
    }


def label_of(verdict: Verdict) -> str | None:
    """What a verdict says in the words of readers; None where it says nothing."""
    if verdict.outcome is Judged.REFUSED:
        return DECLINED
    return verdict.stance.value if verdict.stance is not None else None


def rate(hits: int, total: int) -> Rate:
    """`hits` of `total` with its Wilson interval.

    Source: Wilson 1927.
    """
    hits, total = int(hits), int(total)
    if total == 0:
        return Rate(0, 0, None, None, None)
    test = require("scipy.stats", extra="lab").binomtest(hits, total)
    interval = test.proportion_ci(0.95, method="wilson")
    return Rate(hits, total, hits / total, float(interval.low), float(interval.high))


def _tables(rows: Sequence[tuple[str, str, str]]) -> "np.ndarray[Any, Any]":
    """Pairs of labels counted by group, (groups, 4, 4), from (row, column, group)."""
    groups = sorted({group for _, _, group in rows})
    tables = np.zeros((len(groups), len(READ_AS), len(READ_AS)), dtype=np.int64)
    for row, column, group in rows:
        tables[groups.index(group), READ_AS.index(row), READ_AS.index(column)] += 1
    return tables


def _agreement(tables: "np.ndarray[Any, Any]") -> Agreement:
    tables = tables[tables.sum(axis=(1, 2)) > 0]
    matrix = tables.sum(axis=0)
    n = int(matrix.sum())
    equal = rate(int(np.trace(matrix)), n)
    kappa = float(cohens_kappa(matrix)) if n else float("nan")
    groups, size, _ = tables.shape
    low = high = None
    undefined = 0
    if groups >= 2:
        drawn = np.random.default_rng(SEED).multinomial(groups, [1 / groups] * groups, SAMPLES)
        kappas = cohens_kappa((drawn @ tables.reshape(groups, -1)).reshape(-1, size, size))
        defined = kappas[~np.isnan(kappas)]
        undefined = len(kappas) - len(defined)
        if len(defined):
            low, high = (float(found) for found in np.quantile(defined, [0.025, 0.975]))
    return Agreement(n, equal, None if np.isnan(kappa) else kappa, low, high, undefined)
