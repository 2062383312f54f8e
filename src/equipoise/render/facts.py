"""How a selection was made, as a list of short sentences for either renderer."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from equipoise.render.cleaning import one_line
from equipoise.render.reading import Plain, filtered, left_out, unreadable
from equipoise.render.words import milliseconds, shortfall

_LEFT_OUT: Final = {
    "duplicate": "merged as copies",
    "blank": "blank",
    "filtered": "filtered out",
    "quota_full": "over the quota of their stance",
    "source_full": "of sources that had their share",
    "unsure": "of unsure labels",
    "not_needed": "not needed any more",
    "beyond_depth": "beyond the depth",
    "not_selected": "not selected",
}


def facts(selection: Plain) -> list[tuple[str, str]]:
    """What there is to say about how the selection was made: (name, sentence), in reading order."""
    gate = selection["contested"]
    rows = [
        ("Rule", one_line(selection["rule"])),
        ("Detector", one_line(selection["detector"] or "none")),
        ("Contested?", f"{one_line(gate['verdict']).replace('_', ' ')}: {one_line(gate['why'])}"),
        ("Labelled", _of_all(selection, selection["labelled"])),
    ]
    if unread := unreadable(selection):
        rows.append(("Not read", f"{ranks(unread)}: another language"))
    rows += _unsure(selection)
    rows += _filtered(selection)
    rows += _sources(selection)
    rows += _sought(selection)
    rows.append(("Left out", _left_out(selection)))
    rows += [("Fell short", shortfall(item)) for item in selection["shortfalls"]]
    rows += [("Merged", _merge(item)) for item in selection["merged"]]
    rows += [
        (name, ranks(selection[key]))
        for name, key in (("Blank", "blank"), ("Unscored", "unscored"))
        if selection[key]
    ]
    if selection["failure"] is not None:
        rows.append(("Failure", one_line(selection["failure"])))
    rows.append(("Time", _times(selection)))
    return rows


def ranks(numbers: Sequence[int]) -> str:
    """Ranks in words.

    >>> ranks([3]), ranks([3, 7])
    ('rank 3', 'ranks 3, 7')
    """
    return f"rank{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def _of_all(selection: Plain, number: int) -> str:
    total = len(selection["documents"])
    return f"{number} of {total} document{'' if total == 1 else 's'}"


def _unsure(selection: Plain) -> list[tuple[str, str]]:
    """How many labels are unsure, and from where on; nothing where no label can be."""
    below = selection["settings"].get("unsure_below", 0.0)
    if not below:
        return []
    number, of = selection.get("unsure", 0), selection["labelled"]
    return [("Unsure", f"{number} of {of} label{'' if of == 1 else 's'}, under {below:g}")]


def _filtered(selection: Plain) -> list[tuple[str, str]]:
    """The filter, and the ranks that it took out; nothing where there was none."""
    name = selection["settings"].get("filter")
    if not name:
        return []
    dropped = filtered(selection)
    return [("Filtered", f"{ranks(dropped) if dropped else 'nothing'}, by {one_line(name)}")]


def _sources(selection: Plain) -> list[tuple[str, str]]:
    """What one source may have, and which documents name none; nothing where none is counted."""
    sources = selection["settings"].get("sources")
    if not sources:
        return []
    places = "place" if sources["most"] == 1 else "places"
    rule = f"at most {sources['most']} {places} of one stance each, by {one_line(sources['key'])}"
    unnamed = selection.get("unsourced", ())
    if unnamed and len(unnamed) == len(selection["documents"]):
        return [("Sources", f"{rule}; no document has that key")]
    return [("Sources", f"{rule}{f'; {ranks(unnamed)} without one' if unnamed else ''}")]


def _sought(selection: Plain) -> list[tuple[str, str]]:
    """Each further query and what was new in it; nothing where the retriever was asked once."""
    sought = selection.get("sought") or {"queries": (), "taken": ()}
    rows = []
    for query in sought["queries"]:
        new, taken = query["ranks"], [r for r in query["ranks"] if r in sought["taken"]]
        brought = f"{len(new)} new" + (f", chosen {ranks(taken)}" if taken else ", none chosen")
        rows.append(("Sought", f"“{one_line(query['text'])}”: {brought if new else 'nothing new'}"))
    return rows


def _left_out(selection: Plain) -> str:
    documents = left_out(selection)
    reasons = Counter(str(document["left_out"]) for document in documents)
    parts = [f"{n} {_LEFT_OUT.get(name, one_line(name))}" for name, n in reasons.items()]
    return _of_all(selection, len(documents)) + (f": {', '.join(parts)}" if parts else "")


def _merge(item: Plain) -> str:
    like = f"nearly the same text ({item['similarity']:.2f})"
    same = like if item["kind"] == "near" else "the same text"
    return f"{ranks(item['dropped'])} into rank {item['kept']}: {same}"


def _times(selection: Plain) -> str:
    """The time in each stage, on one line."""
    return ", ".join(
        f"{one_line(stage)} {milliseconds(value)}"
        for stage, value in selection["timings_ms"].items()
    )
