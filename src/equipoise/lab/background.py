"""Background for a pack: what it must not hold, and which of it is taken."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from equipoise.errors import InputError
from equipoise.lab.holding import is_joined
from equipoise.lab.overlap import Overlaps, plain, words
from equipoise.lab.pack import Document
from equipoise.lab.stance_data import Text


def without_overlap(
    background: Sequence[Document], texts: Sequence[Text]
) -> tuple[tuple[Document, ...], int]:
    """The background that nearly repeats no text and no earlier background, and how many did.

    A background passage that holds a sentence of a joined passage goes too: what is planted must
    not be in the clean corpus.
    """
    known = Overlaps(text.text for text in texts)
    planted = [part for text in texts if is_joined(text) for part in _sentences(text.text)]
    seen: set[str] = set()
    fitting: list[Document] = []
    for document in background:
        key = plain(document.text)
        fits = (
            bool(key.strip())
            and key not in seen
            and not known.near(document.text)
            and not any(part in key for part in planted)
        )
        seen.add(key)
        if fits:
            fitting.append(document)
    return tuple(fitting), len(background) - len(fitting)


def _sentences(text: str) -> list[str]:
    """The sentences of a joined passage, plain; those of few words are no sign of a copy."""
    parts = re.split(r"(?<=[.!?])\s+", text)
    return [plain(part) for part in parts if len(words(part)) >= _SENTENCE_WORDS]


_SENTENCE_WORDS = 5


def merged(*backgrounds: Sequence[Document]) -> tuple[Document, ...]:
    """The backgrounds one after the other; an id that is taken gets its source in front.

    Raises:
        InputError: an id is there twice within one source.
    """
    found: dict[str, Document] = {}
    for document in (document for background in backgrounds for document in background):
        name = document.id if document.id not in found else f"{document.source}/{document.id}"
        if name in found:
            raise InputError(f"ids must differ within a source, and {document.id!r} is there twice")
        found[name] = replace(document, id=name)
    return tuple(found.values())


def drawn(documents: Sequence[Document], limit: int | None, *, seed: int) -> tuple[Document, ...]:
    """At most `limit` of the documents, drawn with `seed`, in their own order; all for None.

    Raises:
        InputError: limit < 1.
    """
    if limit is None or limit >= len(documents):
        return tuple(documents)
    if limit < 1:
        raise InputError(f"the limit of background documents must be >= 1, got {limit}")
    taken = sorted(random.Random(seed).sample(range(len(documents)), limit))
    return tuple(documents[index] for index in taken)
