"""Result files: JSON Lines that a stopped comparison goes on from, and tables are drawn from.

Two kinds of line. A run: {"run", "settings"}, what was compared, written each time it is asked for.
A row: {"key", "run", "question", ..., "measures"} or, where it failed, {..., "error"}.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from equipoise.errors import InputError, StoreError

FORMAT = 1
SETTING = ("pack", "pack_checksum", "labels", "embedder", "depth")
"""Settings that must be alike for runs to stand in one table."""


@dataclass(frozen=True, slots=True)
class Run:
    """One defence on one corpus: its settings, and its rows by question id."""

    id: str
    settings: Mapping[str, Any]
    rows: Mapping[str, Mapping[str, Any]]

    @property
    def corpus(self) -> str:
        """The name of the corpus."""
        return str(self.settings["corpus"])

    @property
    def defence(self) -> str:
        """The name of the defence."""
        return str(self.settings["defence"])

    @property
    def label(self) -> str:
        """The defence's name without its settings, which come after a colon."""
        return self.defence.partition(": ")[0]

    @property
    def errors(self) -> int:
        """Questions that could not be judged."""
        return sum("error" in row for row in self.rows.values())


def run_id(settings: Mapping[str, Any]) -> str:
    """The digest of a run's settings: equal settings, equal runs."""
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def row_key(run: str, question: str) -> str:
    """The digest of a run and a question."""
    return hashlib.sha256(f"{run}/{question}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


class ResultFile:
    """A result file to go on with: what it holds is known, and lines are appended.

    A line that a stop cut short is taken away. One process at a time may write to a file.

    Raises:
        InputError: the file holds something else.
        StoreError: it cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            whole = path.read_bytes() if path.exists() else b""
            kept = whole[: whole.rfind(b"\n") + 1]
            if len(kept) < len(whole):
                with path.open("r+b") as file:
                    file.truncate(len(kept))
        except OSError as error:
            raise StoreError(f"results cannot be kept in {path}: {error}") from error
        rows = [line for line in _lines(kept, path) if "key" in line]
        self._done = {row["key"] for row in rows if "error" not in row}

    def has(self, key: str) -> bool:
        """True where the row is there and did not fail: what failed is tried again."""
        return key in self._done

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Write lines at the end, now."""
        lines = list(lines)
        text = "".join(
            json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in lines
        )
        try:
            with self.path.open("ab") as file:
                file.write(text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise StoreError(f"results cannot be written to {self.path}: {error}") from error
        self._done |= {line["key"] for line in lines if "key" in line and "error" not in line}


def read_results(path: Path) -> tuple[tuple[Run, ...], ...]:
    """The runs of a result file in groups that may stand in one table.

    Of two runs of one corpus and defence in a group, the one asked for last counts; of two rows of
    one question, the last. The group asked for last comes last. A last line that a stop cut short
    is passed over, and so is a group without a row.

    Raises:
        InputError: the file cannot be read or holds something else.
    """
    settings: dict[str, Mapping[str, Any]] = {}
    rows: dict[str, dict[str, Mapping[str, Any]]] = {}
    for line in read_lines(path):
        if "settings" in line:
            settings.pop(line["run"], None)  # asked for again: it is the last now
            settings[line["run"]] = line["settings"]
        else:
            rows.setdefault(line["run"], {})[line["question"]] = line
    groups: dict[str, dict[tuple[str, str], Run]] = {}
    for run, said in settings.items():
        name = json.dumps([said[name] for name in SETTING])
        group = groups[name] = groups.pop(name, {})  # the group asked for last comes last
        group[said["corpus"], said["defence"]] = Run(run, said, rows.get(run, {}))
    begun = (tuple(group.values()) for group in groups.values())
    return tuple(group for group in begun if any(run.rows for run in group))


def result_path(folder: Path, name: str) -> Path:
    """The result file of that name in a folder, or its packed copy (`name`.gz) where only that is.

    Published runs have large files packed; a file to go on with is never packed.
    """
    packed = folder / f"{name}.gz"
    return packed if packed.exists() and not (folder / name).exists() else folder / name


def read_lines(path: Path) -> Sequence[dict[str, Any]]:
    """The lines of a result file, packed or not, without a last one that a stop cut short.

    Raises:
        InputError: the file cannot be read or holds something else.
    """
    try:
        whole = path.read_bytes()
        whole = gzip.decompress(whole) if path.suffix == ".gz" else whole
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} must be a result file that can be read: {error}") from error
    return _lines(whole[: whole.rfind(b"\n") + 1], path)


def read_object(path: Path) -> dict[str, Any]:
    """The one object of a JSON file.

    Raises:
        InputError: it cannot be read, or holds something else.
    """
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} must be a JSON file that can be read: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} must be a JSON object, got {type(found).__name__}")
    return found


def _lines(whole: bytes, path: Path) -> Sequence[dict[str, Any]]:
    found = []
    for number, line in enumerate(whole.split(b"\n"), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InputError(f"{path}:{number}: must be a JSON object: {error}") from error
            if not isinstance(row, dict) or "run" not in row or not {"settings", "key"} & set(row):
                raise InputError(f"{path}:{number}: must be a run or a row of a comparison")
            found.append(row)
    return found


@cache
def code_version() -> str:
    """The package's version and a digest of the sources that results depend on.

    Sources of tables, figures and statistics are left out: they read results and make none.
    """
    import equipoise

    home = Path(equipoise.__file__).parent
    readers = {"tables.py", "figures.py", "stats.py", "stance_stats.py"}
    drawing = {"experiments", "report"}  # folders of the same kind
    folders = ("lab", "polarization", "retrieval", "selection", "stance")
    paths = [home / "types.py"]
    paths += [
        path
        for name in folders
        for path in (home / name).rglob("*.py")
        if path.name not in readers and path.parent.name not in drawing
    ]
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(str(path.relative_to(home).as_posix()).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return f"{equipoise.__version__}+{digest.hexdigest()[:8]}"
