"""Where a quota falls short, or is met in name only. Source: SP appendix F, tables 19 and 20."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from equipoise.lab.answers.store import Cell as Answers
from equipoise.lab.experiments import paper
from equipoise.lab.experiments.base import Plan, titled
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, Text, table
from equipoise.types import Quota, Stance

NAME: Final = "boundary"
TITLE: Final = "Boundary cases"
PLAN: Final = Plan(defences=("none", "quota"))
MOST: Final = 12
"""Questions listed in a table of cases; the counts above it are of all."""
ORDER: Final = (Stance.PRO, Stance.CON, Stance.NEUTRAL)


def tables(study: Study) -> list[Block]:
    """Quotas not filled, by topic, and the five documents of questions with wrong labels."""
    blocks: list[Block] = []
    for series in study.series:
        for corpus in series.largest():
            quota = series.find(corpus.name, "B") or series.find(corpus.name, "C")
            if quota is not None and _labelled(quota):
                blocks += _unfilled(series, corpus, quota, study)
                blocks += _mistaken(series, corpus, quota, study)
    return blocks


def _labelled(cell: Answers) -> bool:
    return any(part["label"] for row in cell.answers.values() for part in row["evidence"])


def composition(row: Mapping[str, Any], key: str) -> Counter[str]:
    """How many chosen documents have each "label" (or "truth"); unknown ones under "unknown"."""
    return Counter(str(part[key] or "unknown") for part in row["evidence"])


def unfilled(row: Mapping[str, Any]) -> bool:
    """Whether the labels of the chosen documents are other than the quota asks for."""
    counts = composition(row, "label")
    return any(counts[stance.value] != Quota().of(stance) for stance in ORDER)


def _rows(cell: Answers) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return ((question, cell.answers[question]) for question in sorted(cell.answers))


def _unfilled(series: Series, corpus: Planted, quota: Answers, study: Study) -> list[Block]:
    short = [(question, row) for question, row in _rows(quota) if unfilled(row)]
    side = str(corpus.direction)
    count, of = paper.UNFILLED[side]
    share = len(short) / max(len(quota.answers), 1)
    blocks: list[Block] = [
        Text(
            f"{corpus.title}: the quota of 2 pro, 2 con and 1 neutral was not filled, by the "
            f"labels, for {len(short)} of {len(quota.answers)} questions ({share:.1%}; paper "
            f"{count} of {of})."
        )
    ]
    if short:
        rows: list[list[Cell]] = [
            [
                question,
                str(row["topic"]),
                _counts(composition(row, "label")),
                _counts(composition(row, "truth")),
                _pool(study, quota, question, "pool"),
                _pool(study, quota, question, "depth"),
                _planted_from_to(series, corpus, question, row),
                _stance(quota, question),
            ]
            for question, row in short[:MOST]
        ]
        head = ("question", "topic", "chosen, by label", "chosen, in truth", "pool, by label",
                "depth, by label", "planted, A to B", "answer")  # fmt: skip
        topics = Counter(str(row["topic"]) for _, row in short)
        listed = ", ".join(f"{topic} {number}" for topic, number in topics.most_common(MOST))
        note = f"Pro/con/neutral/unknown; candidates: pro/con/neutral. By topic: {listed}."
        note += _more(len(short))
        blocks.append(table(titled(f"Quota not filled, {corpus.title}", series, study),
                            head, rows, note))  # fmt: skip
    return blocks


def _mistaken(series: Series, corpus: Planted, quota: Answers, study: Study) -> list[Block]:
    """Questions that are balanced by their labels and one-sided in truth, worst first."""
    found = [
        (abs(truth["pro"] - truth["con"]), question, row)
        for question, row in _rows(quota)
        if not unfilled(row) and (truth := composition(row, "truth"))["pro"] != truth["con"]
    ]
    found.sort(key=lambda case: (-case[0], case[1]))
    if not found:
        return [Text(f"{corpus.title}: no question is balanced by its labels and one-sided in "
                     "truth.")]  # fmt: skip
    _, question, row = found[0]
    rows: list[list[Cell]] = [
        [
            number,
            identity,
            "planted" if part["planted"] else "genuine",
            part["label"],
            part["truth"],
            _mistake(part),
        ]
        for number, (identity, part) in enumerate(
            zip(row["chosen"], row["evidence"], strict=True), 1
        )
    ]
    head = ("place", "document", "genuine or planted", "label", "truth", "wrong")
    note = (
        f"Of {len(found)} questions that are balanced by their labels and not in truth, the one "
        f"that is furthest off. Answer: {_stance(quota, question)}; planted among the five, A to "
        f"B: {_planted_from_to(series, corpus, question, row)}."
    )
    return [table(titled(f"The five documents of {question}, {corpus.title}", series, study),
                  head, rows, note)]  # fmt: skip


def _mistake(part: Mapping[str, Any]) -> str | None:
    if not part["label"] or not part["truth"]:
        return None
    return "yes" if part["label"] != part["truth"] else "no"


def _counts(found: Mapping[str, int]) -> str:
    known = "/".join(str(found.get(stance.value, 0)) for stance in ORDER)
    return f"{known}/{found.get('unknown', 0)}"


def _pool(study: Study, quota: Answers, question: str, key: str) -> str | None:
    """What the labels of the candidates say, where the comparison behind the run is on file."""
    counts = study.choice(quota, question).get("composition", {}).get(key)
    return None if counts is None else _counts(counts).rpartition("/")[0]


def _planted_from_to(series: Series, corpus: Planted, question: str, row: Mapping[str, Any]) -> str:
    none = series.find(corpus.name, "A")
    before = None if none is None else none.answers.get(question)
    return f"{'?' if before is None else before['planted']} to {row['planted']}"


def _stance(cell: Answers, question: str) -> str:
    outcome = cell.outcome(question)
    stance = cell.verdicts.get(question, {}).get("stance")
    return str(stance) if stance else str(outcome)


def _more(count: int) -> str:
    return f" {count - MOST} more are not listed." if count > MOST else ""


def figure(study: Study) -> str | None:
    """None."""
    return None
