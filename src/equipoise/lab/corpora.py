"""Corpora and defences by what a command names: folders, a direction with sizes, names."""

from collections.abc import Sequence
from pathlib import Path

from equipoise.errors import InputError
from equipoise.lab.cases import Corpus
from equipoise.lab.compare import clean_corpus, poisoned_corpus
from equipoise.lab.defences import NAMES, defence
from equipoise.lab.defences.base import Defence
from equipoise.lab.pack import Pack
from equipoise.lab.poison.folder import read_poisoned
from equipoise.lab.poison.planted import pack_checksums
from equipoise.lab.poison.stance import poison
from equipoise.types import Stance

BOTH = "both"


def corpora_of(
    pack: Pack, folders: Sequence[Path], direction: str | None, sizes: Sequence[int]
) -> list[Corpus]:
    """The clean corpus, then poisoned ones: from folders, by their name, and made here and now.

    Args:
        pack: is attacked.
        folders: of poisoned corpora.
        direction: "pro", "con" or "both": poison here; None where `sizes` is empty.
        sizes: documents planted a topic, each >= 1; a corpus for each and each side.

    Raises:
        InputError: a direction without sizes or sizes without one, an unknown one, or a folder
            that holds no poisoned corpus of this pack.
    """
    check_direction(direction, sizes)
    corpora = [clean_corpus(pack)]
    sums = pack_checksums(pack) if folders else None
    for folder in folders:
        name = folder.resolve().name
        corpora.append(poisoned_corpus(name, pack, read_poisoned(folder, pack, checksums=sums)))
    for side in (side for side in (Stance.PRO, Stance.CON) if direction in (side.value, BOTH)):
        for size in sizes:
            found = poison(pack, side, n=size)
            corpora.append(poisoned_corpus(f"stance-{side.value}-{size}", pack, found))
    return corpora


def check_direction(direction: str | None, sizes: Sequence[int]) -> None:
    """Nothing, where both are given or neither: for commands, before they read anything.

    Raises:
        InputError: one without the other, or an unknown direction.
    """
    if bool(sizes) != (direction is not None) or direction not in (None, "pro", "con", BOTH):
        raise InputError(
            "to poison here, give --direction pro, con or both, and --n; "
            f"got {direction!r} and {list(sizes)}"
        )


def named_defences(names: str, *, leave_out: Sequence[str] = ()) -> list[Defence]:
    """The defences of a list with commas; "all" are all but those in `leave_out`.

    Raises:
        InputError: an unknown name; the message lists the known ones.
    """
    asked = (
        [name for name in NAMES if name not in leave_out]
        if names == "all"
        else [name.strip() for name in names.split(",")]
    )
    return [defence(name) for name in dict.fromkeys(asked)]
