"""What the runs behind the detector `default` have read, and what they have not.

A judge of the detector's work must not be its twin, so it learns from what is left.
"""

import random
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

from equipoise.train.data import Row, cap, read_sources
from equipoise.train.folds import fold_of_topic, read_groups
from equipoise.train.mixture import WORKED_EXAMPLE, build
from equipoise.train.recipe import preset

MOST_WORDS = 45
"""Longer arguments are left out: an answer has two to six sentences."""
FIRST_RUN = {
    **dict.fromkeys(("procon20", "ibm_wiki_passages", "perspectrum_passages"), 10_000),
    **dict.fromkeys(("ukp_room_for_debate", "ukp_convarg1", "ibm_claim_stance"), 10_000),
    **{"ibm_argkp2021": 10_000, "perspectrum": 2_800, "ibm_argq30k": 5_000},
}
"""Rows that the detector's first run drew of each source before it thinned them to what it learned
from (commit f43ce24, `CAPS` in train/data.py). All of them are left out, more than it read."""


def detector_rows(data: Path) -> tuple[set[tuple[str, str]], set[str], set[str]]:
    """(rows, texts, held-out topic groups) of the runs behind the detector `default`.

    Rows are (source, id). The first run is drawn again as its code drew (before thinning: a
    superset of what it read), the second one by `mixture.build`, which is its code.
    """
    seed = preset("continue").seed
    sources = read_sources(data / "stance", FIRST_RUN)
    groups = read_groups(data / "topic_groups.tsv")
    rows = [row for members in sources.values() for row in members]
    folds = fold_of_topic({row.topic for row in rows}, groups, seed=seed)
    held = {groups.get(topic, topic) for topic, fold in folds.items() if fold == 0}
    held |= {groups.get(row.topic, row.topic) for row in rows if row.question == WORKED_EXAMPLE}
    first = first_draws(sources, groups, held, rng=random.Random(seed))
    read = [*first, *build(data, preset("continue"), fold=0).train]
    return {(row.source, row.id) for row in read}, {plain(row.text) for row in read}, held


def first_draws(
    sources: Mapping[str, Sequence[Row]],
    groups: Mapping[str, str],
    held: Container[str],
    *,
    rng: random.Random,
) -> list[Row]:
    """What the first run drew of each source outside the held-out topic groups."""
    drawn: list[Row] = []
    for name, members in sources.items():
        free = [row for row in members if groups.get(row.topic, row.topic) not in held]
        drawn += cap(free, FIRST_RUN[name], rng=rng)
    return drawn


def plain(text: str) -> str:
    """Letters and digits only, so that equal texts are found whatever their marks.

    >>> plain("A ban, now!")
    'a ban now'
    """
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def unread_arguments(
    rows: Iterable[Row], read: set[tuple[str, str]], texts: set[str]
) -> dict[str, list[Row]]:
    """Arguments by topic that are neither among the rows read nor equal in text to one of them."""
    left: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        fresh = (row.source, row.id) not in read and plain(row.text) not in texts
        if fresh and 4 <= len(row.text.split()) <= MOST_WORDS:
            left[row.topic].append(row)
    return left
