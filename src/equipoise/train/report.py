"""Scores of several models on the same rows: as plain data, and as Markdown tables."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.train.data import LABELS
from equipoise.train.score import Judged, summary

APART = ("off_topic", "own_test")
"""Sources with a line of their own that "all" leaves out: made pairs, and the project's test."""
PAPER = "paper's kind"
NAMES = {"all": "all sources", "paper": PAPER}

Folds = Sequence[Sequence[Judged]]


def is_papers_kind(item: Judged) -> bool:
    """True for what SP 3.3 measures on: pro and con of procon20, neutral of ibm_wiki_passages."""
    row = item.row
    if row.source == "procon20":
        return row.stance != "neutral"
    return row.source == "ibm_wiki_passages" and row.stance == "neutral"


def scored(folds: Folds) -> dict[str, Any]:
    """Scores of one model: all folds pooled (by source, all, the paper's kind), and fold by fold.

    A row that several folds hold out (the worked example's) counts in the first of them. "all"
    leaves out `APART`. A part without rows is None.
    """
    once = _once(folds)
    pooled = [item for fold in once for item in fold]
    sources = sorted({item.row.source for item in pooled})
    return {
        "all": _summary(_labelled(pooled)),
        "paper": _summary([item for item in pooled if is_papers_kind(item)]),
        "sources": {
            name: summary([item for item in pooled if item.row.source == name]) for name in sources
        },
        "folds": {
            "all": spread([_summary(_labelled(fold)) for fold in once]),
            "paper": spread([_summary([i for i in fold if is_papers_kind(i)]) for fold in once]),
        },
    }


def _once(folds: Folds) -> list[list[Judged]]:
    seen: set[tuple[str, str]] = set()
    kept: list[list[Judged]] = []
    for fold in folds:
        kept.append([])
        for item in fold:
            key = (item.row.source, item.row.id)
            if item.row.source == "off_topic" or key not in seen:  # made anew in every fold
                kept[-1].append(item)
            seen.add(key)
    return kept


def _labelled(judged: Sequence[Judged]) -> list[Judged]:
    return [item for item in judged if item.row.source not in APART]


def _summary(judged: Sequence[Judged]) -> dict[str, Any] | None:
    return summary(judged) if judged else None


def spread(summaries: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Mean, standard deviation (n - 1; 0 for one fold), least and greatest macro-F1 of folds.

    Folds without rows are left out; None where no fold has any.
    """
    values = [float(entry["macro_f1"]) for entry in summaries if entry is not None]
    if not values:
        return None
    return {
        "n": len(values),
        "mean": statistics.fmean(values),
        "sd": statistics.stdev(values) if len(values) > 1 else 0.0,
        "min": min(values),
        "max": max(values),
        "each": values,
    }


def markdown(report: Mapping[str, Any]) -> str:
    """The report as Markdown: models side by side, spread over folds, classes, confusion.

    Args:
        report: "title", "notes" (sentences), and "scores": for each model what `scored` gives. The
            first model is the one whose confusion is shown.
    """
    scores: Mapping[str, Any] = report["scores"]
    parts = [f"# {report['title']}", "\n".join(f"- {note}" for note in report["notes"])]
    parts += ["## Sources", _by_source(scores)]
    if any((entry["folds"]["all"] or {}).get("n", 0) > 1 for entry in scores.values()):
        parts += ["## Macro-F1 over folds", _by_fold(scores)]
    first = next(iter(scores))
    for part, name in NAMES.items():
        if scores[first][part] is not None:
            parts += [f"## Classes, {name}", _by_class(scores, part)]
            parts += [f"## Confusion of {first}, {name}", _confusion(scores[first][part])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _by_source(scores: Mapping[str, Any]) -> str:
    def cells(find: Any) -> list[str]:
        found = [find(entry) for entry in scores.values()]
        if found[0] is None:
            return []
        values = [[f"{one[key]:.3f}" for one in found] for key in ("macro_f1", "accuracy", "ece")]
        return [str(found[0]["n"]), *(value for group in values for value in group)]

    head = ["rows", "n"]
    head += [f"{name} {what}" for what in ("macro-F1", "accuracy", "ECE") for name in scores]
    lines = [[NAMES[part], *cells(lambda entry, part=part: entry[part])] for part in NAMES]
    sources = next(iter(scores.values()))["sources"]
    lines += [[name, *cells(lambda e, name=name: e["sources"][name])] for name in sources]
    return _table(head, [line for line in lines if len(line) > 1])


def _by_fold(scores: Mapping[str, Any]) -> str:
    lines = []
    for part, title in NAMES.items():
        for name, entry in scores.items():
            one = entry["folds"][part]
            if one is not None:
                numbers = [f"{one[key]:.3f}" for key in ("mean", "sd", "min", "max")]
                lines.append([title, name, str(one["n"]), *numbers])
    return _table(["rows", "model", "folds", "mean", "sd", "min", "max"], lines)


def _by_class(scores: Mapping[str, Any], part: str) -> str:
    lines = []
    for label in LABELS:
        for name, entry in scores.items():
            one = entry[part]["classes"].get(label)
            if one is not None:
                numbers = [f"{one[key]:.3f}" for key in ("precision", "recall", "f1")]
                lines.append([label, name, str(one["n"]), *numbers])
    return _table(["class", "model", "n", "precision", "recall", "F1"], lines)


def _confusion(entry: Mapping[str, Any]) -> str:
    lines = [[label, *map(str, row)] for label, row in zip(LABELS, entry["confusion"], strict=True)]
    return _table(["truth \\ said", *LABELS], lines)


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))
