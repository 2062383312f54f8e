"""Audits as JSON Lines: a header record, then a record a question.

What is derived (counts, shares, intervals) is written for whoever reads the file with other tools.
Reading takes the passages alone and works the rest out again.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from equipoise.audit.chance import Mix
from equipoise.audit.records import (
    SHOWN,
    Audit,
    Audited,
    Fields,
    Finding,
    Kind,
    Passage,
    Question,
    Settings,
    Spread,
    mix_of,
    shares,
)
from equipoise.audit.totals import totals
from equipoise.errors import InputError, StoreError
from equipoise.retrieval.readers import parsed_json
from equipoise.types import Stance

FORMAT = 1


def write_audit(audit: Audit, path: str | Path) -> None:
    """The audit as a file, written beside its place and renamed: a stop leaves no half of one.

    Raises:
        StoreError: it cannot be written.
    """
    path = Path(path)
    beside = path.with_name(path.name + ".part")
    rows = [header(audit), *(record(question) for question in audit.questions)]
    try:
        with beside.open("w", encoding="utf-8") as lines:
            for row in rows:
                lines.write(json.dumps(row, allow_nan=False) + "\n")
        beside.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def read_audit(path: str | Path) -> Audit:
    """The audit in a file.

    Raises:
        InputError: it cannot be read, is no audit, or of a newer format; with `file:line`.
    """
    rows = list(_rows(Path(path)))
    if not rows or rows[0][1].get("record") != "audit":
        raise InputError(f"{path} must begin with the header of an audit, as `audit -o` writes it")
    head = rows[0][1]
    if head.get("format") != FORMAT:
        raise InputError(f"{path} must be an audit of format {FORMAT}, got {head.get('format')!r}")
    place = rows[0][0]
    try:
        settings = dict(head["settings"])
        fields = {key: tuple(value) for key, value in settings.pop("fields").items()}
        chosen = Settings(**settings, fields=Fields(**fields))
        questions = []
        for place, row in rows[1:]:  # noqa: B007  # the place is for the message
            questions.append(_question(row))
        return Audit(
            head["corpus"], head["detector"], head["date"], chosen, tuple(questions),
            head["against"],
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{place} must be a whole record of an audit: {error!r}") from error


def header(audit: Audit) -> dict[str, Any]:
    """What the audit was made with, how often each thing was found, and the totals."""
    return {
        "record": "audit",
        "format": FORMAT,
        "corpus": audit.corpus,
        "detector": audit.detector,
        "date": audit.date,
        "against": audit.against,
        "settings": asdict(audit.settings),
        "questions": len(audit.questions),
        "passages": sum(len(q.passages) for q in audit.questions),
        "found": {kind.value: len(audit.with_finding(kind)) for kind in Kind},
        "totals": {
            name: {
                key: {"questions": one.questions, **shares(one.mix)} for key, one in rows.items()
            }
            for name, rows in totals(audit).items()
        },
    }


def record(question: Audited) -> dict[str, Any]:
    """One question for machines: what it adds up to, what was found, and the passages."""
    once, as_they_are = question.mix(), question.mix(once=False)
    return {
        "record": "question",
        "id": question.question.id,
        "text": question.question.text,
        "near": {"families": shares(once), "passages": shares(as_they_are)},
        "shown": {
            str(depth): {
                "families": asdict(question.mix(depth)),
                "passages": asdict(question.mix(depth, once=False)),
            }
            for depth in SHOWN
        },
        "sources": _groups(question, "source"),
        "languages": _groups(question, "language"),
        "months": _groups(question, "month"),
        "copies": as_they_are.total - once.total,
        "spread": None if question.spread is None else asdict(question.spread),
        "findings": [asdict(finding) for finding in question.findings],
        "passages": [asdict(passage) for passage in question.passages],
    }


def _groups(question: Audited, name: str) -> dict[str, dict[str, int]]:
    groups = question.by(lambda passage: str(getattr(passage, name)))
    return {key: asdict(mix_of(passages)) for key, passages in groups.items()}


def _question(row: Mapping[str, Any]) -> Audited:
    if row.get("record") != "question":
        raise ValueError(f"a record of a question is needed, got {row.get('record')!r}")
    passages = tuple(
        Passage(**{**passage, "stance": Stance(passage["stance"])}) for passage in row["passages"]
    )
    spread = None if row["spread"] is None else Spread(**row["spread"])
    findings = tuple(_finding(finding) for finding in row["findings"])
    return Audited(Question(row["id"], row["text"]), passages, spread, findings)


def _finding(row: Mapping[str, Any]) -> Finding:
    parts = {
        "kind": Kind(row["kind"]),
        "side": Stance(row["side"]),
        "mix": Mix(**row["mix"]),
        "against": Mix(**row["against"]),
        "passages": tuple(row["passages"]),
    }
    return Finding(**{**row, **parts})


def _rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} must be an audit that can be read: {error}") from error
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{path}:{number}"
            try:
                row = parsed_json(line)
            except ValueError as error:
                raise InputError(f"{place} must be a JSON object: {error}") from error
            if not isinstance(row, dict):
                raise InputError(f"{place} must be a JSON object, got {line[:40]!r}")
            rows.append((place, row))
    return rows
