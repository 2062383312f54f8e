"""Rows from files of each format, with the place of every row."""

import csv
import gzip
import json
import sys
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from equipoise._extras import require
from equipoise.errors import InputError

TEXT_SUFFIXES = (".txt", ".md", ".markdown")
_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", *TEXT_SUFFIXES)


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its place, `<file name>:<line>` (lines from 1), and its values by field.

    `is_file` is True for a whole text file, whose values are `text` and `source`.
    """

    place: str
    values: Mapping[str, Any]
    is_file: bool = False


_DEEPEST = 100


def parsed_json(text: str) -> Any:
    """The value that `text` is as JSON, nested at most 100 deep.

    Python gives up at some depth or other that differs between its versions and callers; a fixed
    limit makes what can be read today readable everywhere.

    Raises:
        ValueError: not JSON, a number of more digits than Python reads, or nested deeper.

    >>> parsed_json('{"text": "a"}')
    {'text': 'a'}
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(f"values must be nested at most {_DEEPEST} deep") from error
    level = [value]
    for _ in range(_DEEPEST + 1):
        level = [inner for outer in level for inner in _members(outer)]
        if not level:
            return value
    raise ValueError(f"values must be nested at most {_DEEPEST} deep")


def _members(value: Any) -> list[Any]:
    """The lists and objects within a list or object."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [member for member in inner if isinstance(member, dict | list)]


def suffix_of(path: Path) -> str:
    """The suffix that tells the format, in lower case, without ".gz".

    Raises:
        InputError: it is none of those that can be read.
    """
    name = path.name.lower().removesuffix(".gz")
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            return suffix
    raise InputError(f"a corpus file must end in one of {', '.join(_SUFFIXES)}, got {path.name!r}")


def read_rows(path: Path, *, relative_to: Path) -> Generator[Row, None, None]:
    """The rows of one file, in order; places name the file as seen from `relative_to`.

    Raises:
        InputError: the file cannot be read as what its suffix says; with `file:line`.
    """
    name = path.relative_to(relative_to).as_posix()
    suffix = suffix_of(path)
    if suffix in TEXT_SUFFIXES:
        yield _read_text(path, name)
    elif suffix in (".jsonl", ".ndjson"):
        yield from _read_json_lines(path, name)
    elif suffix == ".json":
        yield from _read_json(path, name)
    elif suffix == ".parquet":
        yield from _read_parquet(path, name)
    else:
        yield from _read_csv(path, name, delimiter="\t" if suffix == ".tsv" else ",")


@contextmanager
def _opened(path: Path, name: str) -> Iterator[IO[bytes]]:
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            yield file  # type: ignore[misc]  # both openers give a binary file here
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{name}: a .gz file must be whole gzip data; {error}") from error
    except OSError as error:
        raise InputError(f"{name}: the file cannot be read: {error}") from error


def _decoded(data: bytes, place: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{place}: text must be UTF-8, and byte 0x{data[error.start]:02x} at position "
            f"{error.start} is not. Convert the file, e.g. iconv -f latin1 -t utf-8."
        ) from error


def _lines(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """Place and text of each line, its ending kept, a byte order mark taken off."""
    with _opened(path, name) as file:
        for number, data in enumerate(file, 1):
            place = f"{name}:{number}"
            text = _decoded(data, place)
            yield place, text.removeprefix("\ufeff") if number == 1 else text


def _read_text(path: Path, name: str) -> Row:
    with _opened(path, name) as file:
        lines = [_decoded(data, f"{name}:{number}") for number, data in enumerate(file, 1)]
    text = "".join(lines).removeprefix("\ufeff")
    return Row(name, {"text": text, "source": name}, is_file=True)


def _read_json_lines(path: Path, name: str) -> Iterator[Row]:
    for place, line in _lines(path, name):
        if line.strip():
            yield Row(place, _json_object(line, place))


def _json_object(line: str, place: str) -> dict[str, Any]:
    try:
        value = parsed_json(line)
    except ValueError as error:
        raise InputError(f"{place}: each line must be a JSON object: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{place}: each line must be a JSON object, got {_kind(value)}")
    return value


def _read_json(path: Path, name: str) -> Iterator[Row]:
    with _opened(path, name) as file:
        lines = [_decoded(data, f"{name}:{number}") for number, data in enumerate(file, 1)]
    try:
        values = parsed_json("".join(lines).removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}: the file must be JSON: {error.msg}") from error
    except ValueError as error:
        raise InputError(f"{name}: the file must be JSON: {error}") from error
    if not isinstance(values, list):
        raise InputError(f"{name}: a JSON corpus must be a list of objects, got {_kind(values)}")
    for number, value in enumerate(values, 1):
        place = f"{name}:item {number}"  # a parsed file has no lines any more
        if not isinstance(value, dict):
            raise InputError(f"{place}: each item must be a JSON object, got {_kind(value)}")
        yield Row(place, value)


def _kind(value: Any) -> str:
    names = {list: "a list", dict: "an object", str: "a string", type(None): "null"}
    return names.get(type(value), f"a {type(value).__name__}")


def _read_csv(path: Path, name: str, *, delimiter: str) -> Iterator[Row]:
    with _long_csv_fields():
        reader = csv.reader(
            (line for _, line in _lines(path, name)), delimiter=delimiter, strict=True
        )
        header: list[str] | None = None
        line = 1
        try:
            for values in reader:
                place, line = f"{name}:{line}", reader.line_num + 1
                if not values:
                    continue
                if header is None:
                    header = _header(values, place)
                elif len(values) != len(header):
                    raise InputError(
                        f"{place}: each row must have {len(header)} fields, as the header has, "
                        f"got {len(values)}. Put quotes around fields with {delimiter!r} in them."
                    )
                else:
                    yield Row(place, dict(zip(header, values, strict=True)))
        except csv.Error as error:
            raise InputError(f"{name}:{line}: the row is not well-formed CSV: {error}") from error


def _header(values: list[str], place: str) -> list[str]:
    if len(set(values)) < len(values):
        raise InputError(f"{place}: the header must name each field once, got {values}")
    return values


@contextmanager
def _long_csv_fields() -> Iterator[None]:
    """Lifts the csv module's limit of 131,072 characters a field, which long documents exceed."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _read_parquet(path: Path, name: str) -> Iterator[Row]:
    arrow = require("pyarrow", extra="parquet")
    parquet = require("pyarrow.parquet", extra="parquet")
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(f"{name}:row {number}", values)
    except (arrow.ArrowException, OSError) as error:
        raise InputError(f"{name}: not a readable Parquet file: {error}") from error
