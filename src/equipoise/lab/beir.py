"""A corpus of the BEIR format: on disk, or from a hub.

FOLDER/corpus.jsonl        `_id`, `title`, `text`; also .jsonl.gz, or parquet files in corpus/
FOLDER/queries.jsonl       `_id`, `text`; also .jsonl.gz, or parquet files in queries/
FOLDER/qrels/SPLIT.tsv     with a header: query-id, corpus-id, score
"""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from equipoise._extras import require
from equipoise.errors import InputError, StoreError
from equipoise.lab.pack import Document, Origin
from equipoise.retrieval.readers import Row, read_rows

HUB = "hub:"


def beir_folder(place: str) -> Path:
    """The folder that `place` names: a path, or `hub:OWNER/NAME`, which is downloaded (and cached).

    Raises:
        InputError: no folder of that path has a BEIR corpus.
        StoreError: the hub did not give it.
        MissingExtraError: huggingface_hub is not installed.
    """
    if place.startswith(HUB):
        return _from_hub(place.removeprefix(HUB))
    folder = Path(place)
    if not _files(folder, "corpus"):
        raise InputError(
            f"a BEIR folder must hold corpus.jsonl, corpus.jsonl.gz or corpus/*.parquet, and "
            f"{folder} does not. A hub's corpus is named hub:OWNER/NAME"
        )
    return folder


def read_corpus(
    folder: Path, *, limit: int | None = None, seed: int = 0, source: str | None = None
) -> tuple[Document, ...]:
    """The corpus as background, its titles left out; blank texts are skipped.

    Args:
        folder: the BEIR folder.
        limit: at most so many documents, each as likely as any other, in the corpus's order. They
            are drawn while reading, so that a corpus of millions never stands in memory.
        seed: of the draw.
        source: name of the corpus in the pack; the folder's name.

    Raises:
        InputError: limit < 1, there is no corpus, it is damaged, or an id is there twice.

    Source: body text only, as SP 3.4; reservoir sampling, Vitter 1985.
    """
    if limit is not None and limit < 1:
        raise InputError(f"the limit of background documents must be >= 1, got {limit}")
    rng = random.Random(seed)
    name = source or folder.name
    kept: list[tuple[int, Document]] = []
    seen: set[str] = set()
    count = 0
    for row in _rows(folder, "corpus"):
        identity = _text(row, "_id")
        if identity in seen:
            raise InputError(f"{row.place}: ids must be unique, and {identity!r} is there twice")
        seen.add(identity)
        text = " ".join(_text(row, "text", blank=True).split())
        if not text:
            continue
        entry = (count, Document(identity, text, Origin.BACKGROUND, name))
        count += 1
        if limit is None or len(kept) < limit:
            kept.append(entry)
        elif (at := rng.randrange(count)) < limit:
            kept[at] = entry
    return tuple(document for _, document in sorted(kept, key=lambda entry: entry[0]))


def read_queries(folder: Path) -> dict[str, str]:
    """Query id -> text.

    Raises:
        InputError: there are none, or the file is damaged.
    """
    return {_text(row, "_id"): _text(row, "text") for row in _rows(folder, "queries")}


def read_qrels(folder: Path, split: str = "test") -> dict[str, dict[str, int]]:
    """Query id -> document id -> grade, an integer, higher is more relevant.

    Raises:
        InputError: there is no such split, or a line lacks a column or has no integer grade.
    """
    path = folder / "qrels" / f"{split}.tsv"
    if not path.is_file():
        raise InputError(f"{folder} must hold qrels/{split}.tsv, and does not")
    found: dict[str, dict[str, int]] = {}
    for row in read_rows(path, relative_to=folder):
        grade = _text(row, "score")
        try:
            found.setdefault(_text(row, "query-id"), {})[_text(row, "corpus-id")] = int(grade)
        except ValueError as error:
            raise InputError(f"{row.place}: a grade must be an integer, got {grade!r}") from error
    return found


def _files(folder: Path, part: str) -> list[Path]:
    for name in (f"{part}.jsonl", f"{part}.jsonl.gz"):
        if (folder / name).is_file():
            return [folder / name]
    return sorted((folder / part).glob("*.parquet")) if (folder / part).is_dir() else []


def _rows(folder: Path, part: str) -> Iterator[Row]:
    files = _files(folder, part)
    if not files:
        raise InputError(f"{folder} must hold {part}.jsonl(.gz) or {part}/*.parquet, and does not")
    for path in files:
        yield from read_rows(path, relative_to=folder)


def _text(row: Row, name: str, *, blank: bool = False) -> str:
    values: Mapping[str, Any] = row.values
    value = values.get(name)
    if not isinstance(value, str) or not (value or blank):
        raise InputError(f"{row.place}: {name!r} must be a text, got {value!r}")
    return value


def _from_hub(name: str) -> Path:
    hub = require("huggingface_hub", extra="hub")
    wanted = ["corpus.jsonl*", "queries.jsonl*", "qrels/*.tsv", "corpus/*", "queries/*"]
    try:
        folder = Path(hub.snapshot_download(name, repo_type="dataset", allow_patterns=wanted))
    except Exception as error:  # network, rights, quota: each library version has its own classes
        raise StoreError(
            f"the hub must give the dataset {name!r}; it answered {type(error).__name__}. Check "
            "the name and the network, or download the folder and give its path"
        ) from error
    if not _files(folder, "corpus"):
        raise InputError(f"the dataset {name!r} must hold a BEIR corpus, and does not")
    return folder
