"""Stance poisoning: true but one-sided documents, planted by the topic."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence

from equipoise.lab.pack import Document, Origin, Pack
from equipoise.lab.poison.planted import Poisoned, checked_count, checked_side, shares_of
from equipoise.types import Stance

SIZES = (2, 4, 5, 7)
"""Documents a topic and direction at the paper's four concentrations. Source: SP 4.1.1."""

SEED = 20260905
"""Orders a topic's documents. The paper names none for this; the seed of its samples serves."""


def poison(
    pack: Pack,
    direction: Stance,
    *,
    n: int,
    seed: int = SEED,
    documents: Sequence[Document] | None = None,
) -> Poisoned:
    """The pack with `n` documents of one side planted in every topic; the pack stays as it is.

    A topic's documents are put in one random order that depends on seed, topic and direction
    alone, and the first `n` are planted: what is planted at n = 2 is planted at n = 4 too. A topic
    that has fewer gives what it has, and `Poisoned.short` names it.

    Args:
        pack: topics, and the documents kept out to be planted.
        direction: pro or con.
        n: documents a topic, >= 1.
        seed: of the order.
        documents: to plant in place of the pack's own; those of the other side are passed over.

    Raises:
        InputError: direction is neutral, n < 1, or a document cannot be planted.

    Cost: O(documents). Not a model of an attacker who fits documents to the query: see `ebi`.
    Source: SP 4.1.1; the order is ours.

    >>> from equipoise.lab.pack import Topic
    >>> def planted(name):
    ...     return Document(name, name, Origin.INJECTED, "toy", "zoos", Stance.PRO)
    >>> pack = Pack("toy", (Topic("zoos", "zoos", "Zoos"),), (), tuple(map(planted, "abc")))
    >>> [len(poison(pack, Stance.PRO, n=n).documents) for n in (1, 2, 7)]
    [1, 2, 3]
    """
    direction = checked_side(direction)
    checked_count("n", n)
    pool = pack.documents if documents is None else documents
    offered: dict[str, list[Document]] = defaultdict(list)
    for document in pool:
        if document.origin is Origin.INJECTED and document.stance is direction:
            offered[str(document.topic)].append(document)
    planted: list[Document] = []
    for topic in pack.topics:
        planted += ordered(offered[topic.id], seed=seed, topic=topic.id, direction=direction)[:n]
    return Poisoned("stance", direction, n, seed, tuple(planted), shares_of(pack, planted))


def ordered(
    documents: Iterable[Document], *, seed: int, topic: str, direction: Stance
) -> list[Document]:
    """A topic's documents in the order in which they are planted.

    It does not depend on the order they come in.
    """
    found = sorted(documents, key=lambda document: document.id)
    # A str seeds by its SHA-512: the same on every machine, unlike a hash.
    random.Random(f"{seed}/{topic}/{direction.value}").shuffle(found)
    return found
