"""`equipoise lab ps`: Polarization Scores of texts, on an axis fitted to anchor texts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli._options import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.polarization import PolarizationAxis


def ps(
    anchors: Annotated[
        Path, typer.Argument(help="JSON Lines on one topic: text, and stance where known.")
    ],
    texts: Annotated[
        Path, typer.Argument(help="JSON Lines to score: text, and stance where known.")
    ],
    components: Annotated[
        int, typer.Option("--components", help="Principal components, the first is the axis.")
    ] = 1,
    means: Annotated[
        bool, typer.Option("--means", help="Axis from the con mean to the pro mean instead.")
    ] = False,
    embedder: Annotated[
        str | None,
        typer.Option(
            help="minilm (bundled), sentence-transformers:NAME, openai:MODEL, or onnx:FOLDER."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Score how far texts lie to one side of a topic.

    Stances of the anchors fix which end is pro; stances of the texts check the axis.
    """
    from equipoise.cli._io import print_json, settings_with, show
    from equipoise.errors import InputError
    from equipoise.polarization import PolarizationAxis
    from equipoise.retrieval import load_embedder

    if means and components != 1:
        raise InputError(f"--means has one direction: leave out --components {components}")
    anchor_rows, text_rows = _rows(anchors), _rows(texts)
    model = load_embedder(settings_with({"embedder": embedder}).embedder)
    vectors = model.embed([row["text"] for row in anchor_rows])
    stances = _stances(anchor_rows, anchors, needed=means)
    if means:
        axis = PolarizationAxis.fit_means(vectors, stances=stances or ())
    else:
        axis = PolarizationAxis.fit(vectors, stances=stances, components=components)
    report = _report(axis, text_rows, model.embed([row["text"] for row in text_rows]), texts)
    report = {"embedder": model.name, "axis": "means" if means else "components", **report}
    if json:
        print_json(report)
    else:
        show("\n".join(_lines(report)))


def _rows(path: Path) -> "Sequence[dict[str, Any]]":
    from equipoise.cli._io import read_candidates
    from equipoise.errors import InputError

    rows = [{"text": row} if isinstance(row, str) else row for row in read_candidates(str(path))]
    for number, row in enumerate(rows, 1):
        text = row.get("text") if isinstance(row, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{path}: row {number} must be an object with a 'text' not blank")
    if not rows:
        raise InputError(f"{path} must hold at least one text, and is empty")
    return rows


def _stances(
    rows: "Sequence[dict[str, Any]]", path: Path, *, needed: bool = False
) -> list[str] | None:
    """The stance of every row; None where no row has one.

    Raises:
        InputError: some rows have one and others none, or none has and they are `needed`.
    """
    from equipoise.errors import InputError

    marks = [row.get("stance") for row in rows]
    if not any(marks) and not needed:
        return None
    for number, mark in enumerate(marks, 1):
        if not isinstance(mark, str):
            raise InputError(
                f"{path}: row {number} must have a 'stance' (pro, con, neutral), got {mark!r}. "
                "Mark every row, or none"
            )
    return [str(mark) for mark in marks]


def _report(
    axis: "PolarizationAxis", rows: "Sequence[dict[str, Any]]", vectors: Any, path: Path
) -> dict[str, Any]:
    """What is printed, as plain data; scores are lists, one number a direction."""
    from dataclasses import asdict

    from equipoise.polarization import check_axis

    stances = _stances(rows, path)
    scores = axis.score(vectors).reshape(len(rows), -1).tolist()
    return {
        "anchors": axis.anchors,
        "explained": list(axis.explained),
        "signs_fixed": list(axis.signs_fixed),
        "check": None if stances is None else asdict(check_axis(axis, vectors, stances)),
        "texts": [
            {"id": row.get("id"), "stance": row.get("stance"), "score": score, "text": row["text"]}
            for row, score in zip(rows, scores, strict=True)
        ],
    }


def _lines(report: dict[str, Any]) -> list[str]:
    from equipoise.render.cleaning import clip, one_line

    shares = ", ".join(f"{share:.0%}" for share in report["explained"])
    lines = [f"{report['anchors']} anchors; variance along the axis: {shares}"]
    if all(report["signs_fixed"]):
        lines.append("Positive is pro.")
    else:
        lines.append("Which end is pro is not known: mark pro anchors with their stance.")
    if (check := report["check"]) is not None:
        told = [
            f"{name} {'not defined' if check[name] is None else format(check[name], '.2f')}"
            for name in ("spearman", "auc", "alignment")
        ]
        lines.append(f"Against the stances of the texts: {', '.join(told)}")
    lines.append("")
    for row in report["texts"]:
        scores = " ".join(f"{score:+.4f}" for score in row["score"])
        lines.append(f"{scores}  {row['stance'] or '':8}{clip(one_line(row['text']), 70)}")
    return lines
