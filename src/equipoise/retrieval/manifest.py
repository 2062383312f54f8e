"""What an index folder says of itself, and the checks that hold it to that."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from equipoise.errors import StoreError

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
PASSAGES = "passages.jsonl"
VECTORS = "vectors.faiss"
BM25 = "bm25"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of `manifest.json`.

    `embedder` is the name of the model the vectors come from, `dimension` their length. `files`
    maps every other file of the folder, as a relative path, to its SHA-256.
    """

    embedder: str
    dimension: int
    documents: int
    passages: int
    chunk_words: int
    files: Mapping[str, str]
    format_version: int = FORMAT_VERSION
    created_with: str = ""

    @property
    def has_bm25(self) -> bool:
        """True when the folder holds a BM25 index, too."""
        return any(name.startswith(f"{BM25}/") for name in self.files)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes `manifest.json` into `folder`."""
    text = json.dumps(asdict(manifest), indent=2, sort_keys=True)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an index folder.

    Raises:
        StoreError: there is no index, its manifest is broken, or a newer version wrote it.
    """
    file = folder / MANIFEST
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        newer = int(values["format_version"]) > FORMAT_VERSION
    except FileNotFoundError as error:
        raise StoreError(
            f"an index folder must hold a {MANIFEST}, and {folder} does not. "
            f"Build one with: equipoise index CORPUS -o {folder}"
        ) from error
    except NotADirectoryError as error:
        raise StoreError(
            f"an index must be a folder that `equipoise index` wrote, and {folder} is a file"
        ) from error
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise _broken(file, error) from error
    if newer:
        raise StoreError(
            f"{folder} has index format {values['format_version']}, written by "
            f"{values.get('created_with') or 'a newer version'}; this version reads up to "
            f"{FORMAT_VERSION}. Upgrade equipoise, or build the index again."
        )
    return _parsed(values, file)


def _parsed(values: dict[str, Any], file: Path) -> Manifest:
    try:
        manifest = Manifest(**{name: values[name] for name in Manifest.__slots__})
        sound = (
            all(
                isinstance(getattr(manifest, name), int)
                for name in ("dimension", "documents", "passages", "chunk_words")
            )
            and {PASSAGES, VECTORS} <= manifest.files.keys()
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise _broken(file, error) from error
    if not sound:
        raise _broken(file, "a count is not a whole number, or a file is not listed")
    return manifest


def _broken(file: Path, why: object) -> StoreError:
    return StoreError(f"{file} must be a whole manifest: {why!r}. Build the index again.")


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below `folder` but the manifest, by relative path, sorted."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {
        file.relative_to(folder).as_posix(): _digest(file)
        for file in files
        if file != folder / MANIFEST
    }


def verify(folder: Path, manifest: Manifest, names: Iterable[str]) -> None:
    """Nothing, when each of the files `names` has the checksum that the manifest lists.

    Raises:
        StoreError: a file is missing or differs.
    """
    for name in names:
        try:
            actual = _digest(folder / name)
        except OSError as error:
            raise StoreError(
                f"{folder} must hold {name}, which cannot be read: {error}. Build the index again."
            ) from error
        if actual != manifest.files[name]:
            raise StoreError(
                f"{folder / name} must match the checksum in {MANIFEST} and does not: the file is "
                "damaged or was changed. Build the index again, or restore it from a copy."
            )


def package_version() -> str:
    """`equipoise <version>`, or without a number when run from a source tree."""
    try:
        return f"equipoise {version('equipoise')}"
    except PackageNotFoundError:
        return "equipoise"


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
