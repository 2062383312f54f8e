"""Files that may lie beside a run's answers; what is not there is not made up.

Published runs may have result files packed (`.gz`); both are read.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from equipoise.errors import InputError
from equipoise.lab.results import read_lines, read_results, result_path

OBJECTS: Final = ("properties", "latency")
"""One JSON object a file, NAME.json; of several runs the last counts."""
ROWS: Final = ("shift", "quality")
"""Result files, NAME.jsonl; lines of several runs stand together."""
CHOICES: Final = "choices/results.jsonl"


def read_files(folders: Sequence[Path]) -> dict[str, Any]:
    """What lies beside the answers in these folders, by name.

    Raises:
        InputError: a file is there and cannot be read, or is no JSON.
    """
    found: dict[str, Any] = {}
    for folder in folders:
        for name in OBJECTS:
            path = folder / f"{name}.json"
            if path.exists():
                found[name] = _json(path, path.read_text("utf-8"))
        for name in ROWS:
            path = result_path(folder, f"{name}.jsonl")
            if path.exists():
                found.setdefault(name, []).extend(read_lines(path))
        path = result_path(folder, CHOICES)
        if path.exists():
            found.setdefault("choices", {}).update(_choices(path))
    return found


def _json(path: Path, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(f"{path} must be JSON: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} must hold JSON objects, got {text[:40]!r}")
    return found


def _choices(path: Path) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    """Rows of the comparison by labels, corpus, defence (its whole name) and question."""
    return {
        (str(run.settings["labels"]), run.corpus, run.defence, question): dict(row)
        for runs in read_results(path)
        for run in runs
        for question, row in run.rows.items()
        if "error" not in row
    }
