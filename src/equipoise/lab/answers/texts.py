"""The words behind the rows of answers: the pack they were made from, and the answers' texts."""

from collections.abc import Iterable, Mapping
from typing import Any

from equipoise.errors import InputError
from equipoise.lab.answers.store import Cell
from equipoise.lab.pack import Pack
from equipoise.lab.poison.planted import pack_checksums
from equipoise.lab.results import run_id
from equipoise.types import Outcome


def check_pack(cells: Iterable[Cell], pack: Pack) -> None:
    """Nothing, when every cell was answered from this pack.

    Raises:
        InputError: a cell comes from another pack, or from another state of it.
    """
    checksum = run_id(pack_checksums(pack))
    for cell in cells:
        if cell.settings["pack_checksum"] != checksum:
            raise InputError(
                f"the answers were made from the pack {cell.settings['pack']!r} with the checksum "
                f"{cell.settings['pack_checksum']}, and the pack given, {pack.name!r}, has "
                f"{checksum}: give the pack of the run"
            )


def text_of(row: Mapping[str, Any]) -> str | None:
    """The words of an answer; None where the generator gave none.

    Raises:
        InputError: the row is of a published copy, whose words are left out.
    """
    if row["outcome"] != Outcome.ANSWERED:
        return None
    text = row.get("text")
    if not isinstance(text, str):
        raise InputError(
            f"the answer to {row['question']!r} has no text: this needs the run itself, not a "
            "published copy"
        )
    return text if text.strip() else None
