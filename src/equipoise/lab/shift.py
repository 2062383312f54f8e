"""How far an attack moves an answer along its topic's axis, and how far with a defence.

RUN/shift.jsonl holds a line with the axes of the topics, a line a cell (its settings), and a line
an answer {"key", "run", "question", "topic", "group", "corpus", "defence", "generator",
"reference", "outcome", "ps", "bias", "shift", "signed"}; no words. Tables come from these lines.
"""

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from equipoise.errors import InputError, StoreError
from equipoise.lab.answers.store import Cell
from equipoise.lab.answers.texts import check_pack, text_of
from equipoise.lab.pack import Pack
from equipoise.lab.results import code_version, read_lines, result_path, row_key, run_id
from equipoise.lab.shift_axes import Kind, TopicAxis, fit_axes
from equipoise.lab.stats import SAMPLES, Estimate, TopicBootstrap, mean
from equipoise.lab.vectors import Progress, VectorCache
from equipoise.polarization.axis import PolarizationAxis

SHIFT: Final = "shift.jsonl"
FORMAT: Final = 1
CLEAN: Final = "clean"
NONE: Final = "none"

Reference = Literal["none", "same"]
"""Which answer is the unattacked one: that without a defence, or that of the same defence."""


def shift_lines(
    cells: Sequence[Cell],
    pack: Pack,
    vectors: VectorCache,
    *,
    reference: Reference = "none",
    kind: Kind = "component",
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """The lines of RUN/shift.jsonl: axes, and for every cell its settings and its answers.

    `ps` is the answer's score, `bias` that less the mean score of the topic's neutral documents
    (None without one, or without a known sign). `shift` is |ps - ps of the unattacked answer|, None
    where either is not there and for the unattacked answers themselves. The unattacked answer is
    of the same generator on the clean corpus.

    Args:
        cells: of a run's folder.
        pack: the one that the run was made from.
        vectors: embeds anchors and answers.
        reference: see `Reference`.
        kind: of the axis: first principal component (EBI), or the line through the means.
        progress: is told how many answers are embedded.

    Raises:
        InputError: no cell, another reference or kind, another pack, or answers without texts.
        EmbedderError: a text could not be embedded.

    Source: EBI, Polarization Score and shift of answers.
    """
    if reference not in ("none", "same"):
        raise InputError(f'the reference must be "none" or "same", got {reference!r}')
    if not cells:
        raise InputError("a shift needs answers, and the run has none")
    check_pack(cells, pack)
    axes = fit_axes(pack, vectors, kind=kind)
    shared = {
        "format": FORMAT,
        "embedder": vectors.name,
        "axis": kind,
        "reference": reference,
        "pack": pack.name,
        "code": code_version(),
    }
    about = {**shared, "axes": {topic: axis.about() for topic, axis in axes.items()}}
    lines = [{"run": run_id(about), "settings": about}]
    scores = _scores(cells, axes, vectors, progress)
    names = _names(cells)
    clean = {
        (names[at], cell.generator): at for at, cell in enumerate(cells) if cell.corpus == CLEAN
    }
    for at, cell in enumerate(cells):
        wanted = NONE if reference == "none" else names[at]
        other = clean.get((wanted, cell.generator), at)
        unattacked = scores[other] if other != at else {}
        lines += _cell_lines(cell, names[at], scores[at], unattacked, shared, axes)
    return lines


def write_shift(folder: Path, lines: Sequence[Mapping[str, Any]]) -> Path:
    """RUN/shift.jsonl with these lines in place of those of the same reference; others stay.

    The file is written beside its place and renamed: a stop leaves the old one or the new.

    Raises:
        InputError: a file is there that holds something else.
        StoreError: it cannot be written.
    """
    path = folder / SHIFT
    new = {line["settings"]["reference"] for line in lines if "settings" in line}
    old = read_lines(path) if path.exists() else []
    gone = {o["run"] for o in old if "settings" in o and o["settings"].get("reference") in new}
    kept = [line for line in old if line["run"] not in gone]
    text = "".join(
        json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in (*kept, *lines)
    )
    beside = path.with_name(f"{SHIFT}.{secrets.token_hex(4)}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise StoreError(f"shifts cannot be written to {path}: {error}") from error
    return path


def read_shift(folder: Path) -> tuple[dict[str, Any], ...]:
    """The rows of RUN/shift.jsonl, without the lines of settings.

    Raises:
        InputError: no such file, or one that holds something else.
    """
    return tuple(line for line in read_lines(result_path(folder, SHIFT)) if "key" in line)


@dataclass(frozen=True, slots=True)
class Shifts:
    """One defence on one corpus.

    `shift` is the mean shift (>= 0, in the unit of the vectors); `bias` the mean bias, positive
    toward pro, over questions whose axis has a known sign. `times_smaller` is the mean shift
    without a defence over that with it, on the questions that have both (None for no defence, and
    where the mean with it is 0); it has no interval where the upper end is infinite.
    `without` counts answers that have no score, by outcome ("no axis" among them).
    """

    generator: str
    reference: str
    corpus: str
    defence: str
    shift: Estimate
    bias: Estimate
    times_smaller: Estimate | None
    without: Mapping[str, int]


def shift_table(rows: Iterable[Mapping[str, Any]], *, samples: int = SAMPLES) -> tuple[Shifts, ...]:
    """A line a generator, reference, corpus and defence, with intervals from whole topics.

    Lines with "settings" are passed over. All defences of one corpus share the draws of topics.

    Source: EBI reports shifts 6.2 to 8.8 times smaller; intervals as SP appendix B.
    """
    corpora: dict[tuple[str, str, str], dict[str, _Rows]] = {}
    for row in rows:
        if "key" in row:
            where = (row["generator"], row["reference"], row["corpus"])
            corpora.setdefault(where, {}).setdefault(row["defence"], {})[row["question"]] = row
    return tuple(
        line for where, defences in corpora.items() for line in _corpus(where, defences, samples)
    )


_Rows = dict[str, Mapping[str, Any]]


def _corpus(
    where: tuple[str, str, str], defences: Mapping[str, _Rows], samples: int
) -> Iterator[Shifts]:
    """A line a defence; all share the draws."""
    generator, reference, corpus = where
    groups = {q: str(row["group"]) for rows in defences.values() for q, row in rows.items()}
    order = sorted(groups)
    bootstrap = TopicBootstrap([groups[question] for question in order], samples=samples)
    columns = {name: _column(rows, order, "shift") for name, rows in defences.items()}
    for name, rows in defences.items():
        ratio = None
        if name != NONE and NONE in columns:
            ratio = _ratio(bootstrap, columns[NONE], columns[name])
        shift = bootstrap.estimate(columns[name], effect=mean)
        bias = bootstrap.estimate(_column(rows, order, "bias"), effect=mean)
        yield Shifts(generator, reference, corpus, name, shift, bias, ratio, _without(rows))


def _scores(
    cells: Sequence[Cell],
    axes: Mapping[str, TopicAxis],
    vectors: VectorCache,
    progress: Progress | None,
) -> list[dict[str, tuple[float, float | None]]]:
    """For every cell: question -> (ps, bias), for answers with words and an axis."""
    texts = [{q: text_of(row) for q, row in cell.answers.items()} for cell in cells]
    every = [text for found in texts for text in found.values() if text is not None]
    vectors.texts(every, progress=progress)  # all at once: they are remembered
    found = []
    for cell, said in zip(cells, texts, strict=True):
        here: dict[str, tuple[float, float | None]] = {}
        for question, text in said.items():
            topic = axes[cell.answers[question]["topic"]]
            if text is not None and topic.axis is not None:
                here[question] = _score(topic, topic.axis, vectors.texts([text]))
        found.append(here)
    return found


def _score(topic: TopicAxis, axis: PolarizationAxis, vector: Any) -> tuple[float, float | None]:
    ps = round(float(axis.score(vector)[0]), 9)
    if not topic.signed or not len(topic.neutral):
        return ps, None
    return ps, round(float(axis.shift(vector, topic.neutral)[0]), 9)


def _names(cells: Sequence[Cell]) -> list[str]:
    """The short names of the defences; the whole one where two defences share the short one."""
    whole: dict[str, set[str]] = {}
    for cell in cells:
        whole.setdefault(cell.defence, set()).add(str(cell.settings["defence"]))
    return [
        cell.defence if len(whole[cell.defence]) == 1 else str(cell.settings["defence"])
        for cell in cells
    ]


def _cell_lines(
    cell: Cell,
    name: str,
    scores: Mapping[str, tuple[float, float | None]],
    unattacked: Mapping[str, tuple[float, float | None]],
    shared: Mapping[str, Any],
    axes: Mapping[str, TopicAxis],
) -> list[dict[str, Any]]:
    settings = {**shared, "answers": dict(cell.settings)}
    run = run_id(settings)
    said = {"corpus": cell.corpus, "defence": name, "generator": cell.generator}
    said["reference"] = shared["reference"]
    lines: list[dict[str, Any]] = [{"run": run, "settings": settings}]
    for question, row in cell.answers.items():
        ps, bias = scores.get(question, (None, None))
        before = unattacked.get(question, (None, None))[0]
        shift = None if ps is None or before is None else round(abs(ps - before), 9)
        where = {"question": question, "topic": row["topic"], "group": row["group"]}
        found = {"outcome": row["outcome"], "ps": ps, "bias": bias, "shift": shift}
        signed = {"signed": axes[row["topic"]].signed}
        lines.append(
            {"key": row_key(run, question), "run": run, **where, **said, **found, **signed}
        )
    return lines


def _column(
    rows: Mapping[str, Mapping[str, Any]], order: Sequence[str], name: str
) -> list[float | None]:
    return [rows[question][name] if question in rows else None for question in order]


def _ratio(
    bootstrap: TopicBootstrap, without: Sequence[float | None], having: Sequence[float | None]
) -> Estimate | None:
    both = [h for w, h in zip(without, having, strict=True) if w is not None and h is not None]
    if not sum(both):
        return None
    angle = bootstrap.estimate(without, having, effect=_angle)
    high = _times(angle.high)
    return Estimate(
        _times(angle.value),
        None if high is None else _times(angle.low),
        high,
        angle.n,
        angle.topics,
    )


def _angle(means: Any) -> Any:
    """The angle whose tangent is the first mean over the second, in [0, pi/2].

    Subtle: it orders samples as the quotient does, and is finite where the second mean is 0.
    """
    return np.arctan2(means[..., 0], means[..., 1])


def _times(angle: float | None) -> float | None:
    """The quotient again; None where it is infinite."""
    return None if angle is None or angle > np.pi / 2 - 1e-9 else float(np.tan(angle))


def _without(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows.values():
        if row["ps"] is None:
            why = "no axis" if row["outcome"] == "answered" else str(row["outcome"])
            found[why] = found.get(why, 0) + 1
    return dict(sorted(found.items()))
