"""A poisoned corpus as a folder: planted.jsonl, and manifest.json that says what it is."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from equipoise.errors import InputError
from equipoise.lab.pack import (
    Document,
    Pack,
    document_of,
    read_lines,
    read_manifest,
    sha256,
    write_lines,
)
from equipoise.lab.poison.planted import Poisoned, Share, pack_checksums, shares_of
from equipoise.types import Stance

FORMAT = 1
PLANTED = "planted.jsonl"
FOR = (
    "One-sided documents for testing how a retrieval-augmented system holds up against them, on "
    "copies of corpora that the tester owns. Not for use in anybody's live index."
)


def write_poisoned(
    poisoned: Poisoned,
    pack: Pack,
    folder: Path,
    *,
    command: str | None = None,
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Write what was planted, with a manifest; the pack's own documents are not copied.

    `command` is the command line to note down; `checksums` those of `pack` where the caller has
    them (`pack_checksums`).

    Raises:
        InputError: the folder holds something else than an older poisoned corpus.
    """
    manifest = folder / "manifest.json"
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} must be a folder, and is a file")
    if folder.exists() and any(folder.iterdir()) and not (folder / PLANTED).exists():
        raise InputError(f"{folder} must be new, empty, or hold a poisoned corpus")
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(folder / PLANTED, (asdict(document) for document in poisoned.documents))
    said = {
        "format": FORMAT,
        "for": FOR,
        "attack": poisoned.attack,
        "pack": {"name": pack.name, "checksums": dict(checksums or pack_checksums(pack))},
        "direction": poisoned.direction.value,
        "n": poisoned.n,
        "seed": poisoned.seed,
        "planted": len(poisoned.documents),
        "mean_share": poisoned.mean_share,
        "shares": {s.topic: {**_counts(s), "share": s.share} for s in poisoned.shares},
        "short": list(poisoned.short),
        "sources": dict(Counter(document.source for document in poisoned.documents)),
        "ids": [document.id for document in poisoned.documents],
        "checksums": {PLANTED: sha256(folder / PLANTED)},
        "command": command,
        "about": dict(poisoned.about),
    }
    text = json.dumps(said, indent=1, ensure_ascii=False, allow_nan=False)
    manifest.write_text(text + "\n", encoding="utf-8")


def read_poisoned(
    folder: Path, pack: Pack, *, checksums: Mapping[str, str] | None = None
) -> Poisoned:
    """The poisoned corpus in `folder`, checked against its manifest and against `pack`.

    Raises:
        InputError: it is none, of a newer format, damaged, made from another pack or another
            version of it, or a planted document bears an id of the pack and is another one.
    """
    said = read_manifest(folder)
    if said.get("format") != FORMAT or "attack" not in said:
        raise InputError(
            f"{folder} must be a poisoned corpus of format {FORMAT}, got {said.get('format')!r}"
            f"{'' if 'attack' in said else ' and no attack (is it a pack?)'}"
        )
    try:
        _check_pack(folder, said, dict(checksums or pack_checksums(pack)), pack)
        documents = _documents(folder, said, pack)
        shares = tuple(
            Share(topic, int(row["genuine"]), int(row["planted"]))
            for topic, row in said["shares"].items()
        )
        direction = Stance(said["direction"])
        poisoned = Poisoned(
            said["attack"], direction, said["n"], said["seed"], documents, shares, said["about"]
        )
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{folder / 'manifest.json'} must have all the parts that `lab poison` writes; "
            f"{type(error).__name__}: {error}"
        ) from error
    if shares != shares_of(pack, documents):
        raise InputError(f"the shares in {folder / 'manifest.json'} must be those of its documents")
    return poisoned


def _counts(share: Share) -> dict[str, int]:
    return {"genuine": share.genuine, "planted": share.planted}


def _check_pack(folder: Path, said: Mapping[str, Any], sums: Mapping[str, str], pack: Pack) -> None:
    made_from = said["pack"]
    if made_from["name"] != pack.name:
        raise InputError(
            f"{folder} was made from the pack {made_from['name']!r}, and this is {pack.name!r}"
        )
    changed = sorted(
        name for name, digest in sums.items() if made_from["checksums"][name] != digest
    )
    if changed:
        raise InputError(
            f"{folder} was made from another version of {pack.name!r}: {', '.join(changed)} "
            "differ. Poison this version, or read the one it was made from"
        )


def _documents(folder: Path, said: Mapping[str, Any], pack: Pack) -> tuple[Document, ...]:
    if sha256(folder / PLANTED) != said["checksums"][PLANTED]:
        raise InputError(f"{folder / PLANTED} is not the file that the manifest was written for")
    documents = tuple(document_of(row) for row in read_lines(folder / PLANTED))
    if [document.id for document in documents] != said["ids"]:
        raise InputError(f"the ids in {folder / 'manifest.json'} must be those of {PLANTED}")
    known = {document.id: document for document in pack.documents}
    for document in documents:
        if known.get(document.id, document) != document:
            raise InputError(
                f"the planted document {document.id!r} must be the pack's document of that id, or "
                "have an id of its own"
            )
    return documents
