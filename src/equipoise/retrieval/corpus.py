"""Documents from a file or a folder, one at a time, with errors that name file and line."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise._plain import plain
from equipoise.errors import InputError
from equipoise.retrieval.readers import TEXT_SUFFIXES, Row, read_rows, suffix_of
from equipoise.types import Candidate


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of a row hold what.

    `text` must be in every row. `id` None means the field "id" where a row has it, and otherwise
    the row's place, `<file name>:<line>`.
    """

    text: str = "text"
    id: str | None = None


class Corpus:
    """The documents of `path`, read anew by every loop over it.

    `path` is a .jsonl (.ndjson), .json (a list of objects), .csv, .tsv, .parquet, .txt or .md
    file, each but Parquet also with .gz behind; or a folder, of which every text and Markdown
    file at any depth is a document (hidden ones left out). Encoding is UTF-8.

    All fields but text and id become metadata, as plain JSON values. A document from a text file
    has its path in the folder as id and as metadata `source`. Rows whose text is blank or null are
    left out; `blank` counts those of the latest loop. Ids must be unique: memory O(number of ids).

    Raises:
        InputError: the path does not exist or has another suffix; a folder has no text file.
            While looping: a malformed row, a missing or wrong text or id, another encoding, or an
            id used twice, each with `file:line`.
    """

    def __init__(self, path: str | Path, *, fields: Fields | None = None) -> None:
        self.path = Path(path)
        self.fields = fields or Fields()
        self.blank = 0
        self._files = _files(self.path)

    def __iter__(self) -> Iterator[Candidate]:
        """One `Candidate` a document, in the order of the file, or of the sorted paths."""
        self.blank = 0
        places: dict[str, str] = {}
        for file in self._files:
            base = self.path if self.path.is_dir() else self.path.parent
            with closing(read_rows(file, relative_to=base)) as rows:
                for row in rows:
                    document = self._document(row)
                    if document is None:
                        self.blank += 1
                        continue
                    _require_new(document.id, row.place, places)
                    yield document

    def _document(self, row: Row) -> Candidate | None:
        if row.is_file:  # text files have no fields to choose from
            text, identity = row.values["text"], row.values["source"]
            metadata: Mapping[str, Any] = {"source": identity}
        else:
            text = _text(row, self.fields)
            identity = _identity(row, self.fields)
            taken = {self.fields.text, self.fields.id or "id"}
            metadata = {key: plain(row.values[key]) for key in row.values if key not in taken}
        if text is None or not text.strip():
            return None
        return Candidate(identity, text, metadata=metadata)


def _files(path: Path) -> tuple[Path, ...]:
    if not path.exists():
        raise InputError(f"the corpus must be a file or a folder that exists, got {path}")
    if not path.is_dir():
        suffix_of(path)
        return (path,)
    found = tuple(
        file
        for file in sorted(path.rglob("*"))
        if file.is_file()
        and file.name.lower().removesuffix(".gz").endswith(TEXT_SUFFIXES)
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not found:
        raise InputError(
            f"a corpus folder must hold {', '.join(TEXT_SUFFIXES)} files, and {path} holds none. "
            "For JSON Lines, JSON, CSV or Parquet give the file itself."
        )
    return found


def _text(row: Row, fields: Fields) -> str | None:
    if fields.text not in row.values:
        names = ", ".join(map(repr, row.values)) or "none"
        raise InputError(
            f"{row.place}: every row must have the text field {fields.text!r}; this one has "
            f"{names}. Name the right one with --text-field (Fields(text=...))."
        )
    text = row.values[fields.text]
    if text is not None and not isinstance(text, str):
        raise InputError(
            f"{row.place}: the text field {fields.text!r} must hold a string, "
            f"got {type(text).__name__}"
        )
    return text


def _identity(row: Row, fields: Fields) -> str:
    value = row.values.get(fields.id or "id")
    if value is None or value == "":
        if fields.id is None:
            return row.place
        raise InputError(
            f"{row.place}: every row must have the id field {fields.id!r}. Name another with "
            "--id-field (Fields(id=...)), or leave that out to number rows by their place."
        )
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(
            f"{row.place}: an id must be a string or a whole number, got {type(value).__name__}"
        )
    return str(value)


def _require_new(identity: str, place: str, places: dict[str, str]) -> None:
    first = places.setdefault(identity, place)
    if first is not place:
        raise InputError(
            f"ids must be unique, and {identity!r} is used twice: at {first} and at {place}"
        )
