"""A copy of a run for the public: every number, and no words of others.

An answer is written from documents of others and may repeat them, and so may the reply of a judge
and the text of an error. The copy has none of these, and a guard looks at every value that is left.
"""

import gzip
import hashlib
import json
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from equipoise.errors import InputError, StoreError
from equipoise.lab.answers.store import ANSWERS, VERDICTS, published, read_cells
from equipoise.lab.results import read_lines, read_object, result_path

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
ROWS: Final = (ANSWERS, VERDICTS, "quality.jsonl", "shift.jsonl", "choices/results.jsonl")
"""Result files: packed when they are large, for all their readers take them packed."""
OBJECTS: Final = ("latency.json", "properties.json")
LARGE: Final = 2_000_000
"""Bytes from which a file is packed."""
WORDS: Final = 8
"""A text of so many words may be a sentence of somebody's."""
OURS: Final = ("cpu", "defence", "defences", "embedder", "labels")
"""Names that this package or the machine makes, and not a document: they may have more words."""
LIBRARIES: Final = ("equipoise", "numpy", "scipy", "inspect-ai", "xllamacpp", "onnxruntime")


@dataclass(frozen=True, slots=True)
class Published:
    """What was written: each file with its number of lines (1 for an object), and bytes in all."""

    files: Mapping[str, int]
    size: int


def publish(run: Path, folder: Path, *, large: int = LARGE) -> Published:
    """Copy what RUN holds to `folder`, without words, and a manifest.

    Every file is checked before the first is written. The same run gives the same bytes.

    Args:
        run: with answers.jsonl at least.
        folder: new, empty, or an earlier copy, which is replaced.
        large: bytes from which result files are packed.

    Raises:
        InputError: no answers, a file that holds something else, a folder with other files, or a
            value of `WORDS` words or more is left; the message names the file and the place.
        StoreError: it cannot be written.
    """
    _check_folder(run, folder)
    files: dict[str, bytes] = {}
    counts: dict[str, int] = {}
    for name in ROWS:
        path = result_path(run, name)
        if name == ANSWERS or path.exists():
            lines = [_bare(line) for line in read_lines(path)]
            for number, line in enumerate(lines, 1):
                check_wordless(line, f"{name}:{number}")
            files[name], counts[name] = _text(lines), len(lines)
    for name in OBJECTS:
        if (run / name).exists():
            found = read_object(run / name)
            check_wordless(found, name)
            files[name], counts[name] = _json(found), 1
    packed = {
        f"{name}.gz" if name in ROWS and len(data) >= large else name: data
        for name, data in files.items()
    }
    written = {n: gzip.compress(d, mtime=0) if n.endswith(".gz") else d for n, d in packed.items()}
    about = _manifest(run, written, counts)
    check_wordless(about, MANIFEST)
    _write(folder, {**written, MANIFEST: _json(about)})
    return Published(dict(counts), sum(map(len, written.values())))


def check_wordless(value: Any, where: str) -> None:
    """Nothing, when no text in `value`, keys among them, has `WORDS` words or more.

    What stands under a name of `OURS` may be longer.

    Raises:
        InputError: one has; the message says where, and not what.
    """
    for place, text in _texts(value, where):
        if len(text.split()) >= WORDS:
            raise InputError(
                f"a published file must hold no text of {WORDS} words or more, and {place} has one "
                f"of {len(text.split())} words"
            )


def _texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield f"a name in {where}", name
            if name not in OURS:
                yield from _texts(inner, f"{where}.{name}")
    elif isinstance(value, Sequence):
        for at, inner in enumerate(value):
            yield from _texts(inner, f"{where}[{at}]")


def _bare(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line without words; of an error its class stays, so that it still counts as one."""
    [bare] = published([line])
    if "error" in bare:
        name = str(bare["error"]).partition(":")[0]
        bare["error"] = name if name.isidentifier() else "error"
    return bare


def _check_folder(run: Path, folder: Path) -> None:
    if folder.resolve() == run.resolve():
        raise InputError(f"the copy must go to another folder than the run's, got {folder}")
    if folder.exists() and any(folder.iterdir()) and not (folder / MANIFEST).exists():
        raise InputError(f"{folder} must be new, empty, or an earlier copy; it holds other files")


def _text(lines: Sequence[Mapping[str, Any]]) -> bytes:
    text = "".join(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in lines)
    return text.encode("utf-8", "backslashreplace")


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _manifest(run: Path, files: Mapping[str, bytes], counts: Mapping[str, int]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "kind": "published run",
        "left_out": ["texts of answers", "details", "texts of errors"],
        "files": {
            name: {
                "sha256": hashlib.sha256(data).hexdigest(),
                "bytes": len(data),
                "lines": counts[name.removesuffix(".gz")],
            }
            for name, data in files.items()
        },
        "cells": _cells(run),
        "versions": {
            "python": platform.python_version(),
            **{name: found for name in LIBRARIES if (found := _version(name)) is not None},
        },
    }


def _cells(run: Path) -> list[dict[str, Any]]:
    """Outcomes by cell, for the judge that the verdicts name last."""
    return [
        {
            "corpus": cell.corpus,
            "defence": cell.defence,
            "generator": cell.generator,
            "judge": cell.judge.get("judge"),
            "answers": len(cell.answers),
            "outcomes": dict(sorted(Counter(cell.outcome(q).value for q in cell.answers).items())),
        }
        for cell in read_cells(run)
    ]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """The files, in place of those of an earlier copy; the manifest comes last."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        known = {*ROWS, *(f"{name}.gz" for name in ROWS), *OBJECTS, MANIFEST}
        for name in known - set(files):
            (folder / name).unlink(missing_ok=True)
        for name, data in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
    except OSError as error:
        raise StoreError(f"the copy cannot be written to {folder}: {error}") from error
