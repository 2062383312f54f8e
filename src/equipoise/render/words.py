"""What a selection means, in plain words: the verdict, and names for kinds and reasons."""

from dataclasses import dataclass, replace
from typing import Final, Literal

from equipoise.render.cleaning import one_line
from equipoise.render.reading import (
    SIDES,
    Plain,
    chosen,
    count,
    filtered,
    is_unreadable,
    kind_of,
    similarity_of,
    unreadable,
    unsure,
)

KIND_NAMES: Final = {
    "pro": "for",
    "con": "against",
    "neutral": "neutral",
    "unlabelled": "not labelled",
    "duplicate": "duplicate, merged",
    "blank": "blank",
    "filtered": "filtered out",
}
_SIDE_WORDS: Final = {"pro": "in favour", "con": "against", "neutral": "neutral"}
_SHORT_REASONS: Final = {
    "quota": "place of its stance",
    "reached": "reached beyond pool",
    "sought": "found by asking again",
    "filled": "filled by rank",
}
_REASONS: Final = {
    "sought": "found when the index was asked again, its stance was short",
    "filled": "fills a place left over, next by relevance",
    "relevance": "order of relevance",
    "random": "drawn at random",
    "mmr": "relevant, and unlike the others",
}
_LEFT_OUT: Final = {
    "blank": "has no text",
    "filtered": "looks planted to the filter",
    "quota_full": "the places for its stance were taken",
    "source_full": "its source has its share of the places for its stance",
    "unsure": "its label is too unsure for a place of its stance",
    "not_needed": "every place was taken before it",
    "not_selected": "not selected",
}
_OTHER_RULES: Final = {
    "random": "Drawn at random",
    "mmr": "Chosen for variety",
    "relevance": "Order of relevance kept",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happened, in a sentence: `head` is the news, `text` what follows it."""

    tone: Literal["good", "plain", "warning"]
    head: str
    text: str

    @property
    def sentence(self) -> str:
        """The whole of it on one line."""
        return f"{self.head}: {self.text}"


def mix(counts: Plain) -> str:
    """Counts in words: for and against wherever any stance is known, the others where present.

    >>> mix({"pro": 2, "con": 0, "neutral": 1}), mix({"unlabelled": 5})
    ('2 for, 0 against, 1 neutral', '5 not labelled')
    """
    unread = count(counts, "unlabelled")
    known = any(count(counts, side) for side in SIDES)
    kinds = ["pro", "con"] if known or not unread else []
    kinds += [kind for kind in ("neutral", "unlabelled") if count(counts, kind)]
    return ", ".join(f"{count(counts, kind)} {KIND_NAMES[kind]}" for kind in kinds)


def kind_words(selection: Plain, document: Plain) -> str:
    """How a document stands, in words; an unsure label with its probability.

    For example `against`, or `against, unsure: 0.52`.
    """
    kind, mark = kind_of(selection, document), unsure_words(document)
    return f"{KIND_NAMES[kind]}, {mark}" if mark and kind in SIDES else KIND_NAMES[kind]


def unsure_words(document: Plain) -> str:
    """`unsure: 0.52` for a document whose own label has that probability; "" where it is sure.

    `not read` for one of which the detector could read nothing.
    """
    share = unsure(document)
    if share is None:
        return ""
    return "not read" if is_unreadable(document) else f"unsure: {share:.2f}"


def reason(selection: Plain, document: Plain) -> str:
    """Why a chosen document was chosen."""
    name, quota = str(document["reason"]), selection["quota"]
    if name == "quota":
        places = quota.get(document["stance"], 0)
        return f"{'the one place' if places == 1 else f'one of {places} places'} for its stance"
    if name == "reached":
        return f"from beyond rank {quota['pool']}, its stance was short"
    return _REASONS.get(name, one_line(name))


def short_reason(document: Plain) -> str:
    """Why a chosen document was chosen, in a few words."""
    name = str(document["reason"])
    return _SHORT_REASONS.get(name) or _REASONS.get(name, one_line(name))


def why_left_out(selection: Plain, document: Plain) -> str:
    """Why a document does not reach the model."""
    name = str(document["left_out"])
    if name == "duplicate":
        similarity = similarity_of(selection, document)
        near = (
            "the same text as" if similarity is None else f"nearly ({similarity:.2f}) the text of"
        )
        return f"{near} rank {document['duplicate_of']}"
    if name == "beyond_depth":
        return f"beyond rank {selection['quota']['depth']}, where the search ends"
    return _LEFT_OUT.get(name, one_line(name).replace("_", " "))


def shortfall(item: Plain) -> str:
    """One quota that was not met, as a sentence; of no stance: places that stay empty.

    >>> shortfall({"stance": "con", "wanted": 2, "found": 1, "searched_to_rank": 50})
    'Only 1 of 2 against was found down to rank 50.'
    >>> shortfall({"stance": "con", "wanted": 2, "found": 0, "searched_to_rank": 50, "unsure": 3})
    'Nothing against was found down to rank 50; 3 unsure documents were passed over.'
    """
    if item["stance"] is None:
        but = _dropped(item, ", for {}")
        return f"Only {item['found']} of {item['wanted']} places could be filled{but}."
    stance, to_rank = _SIDE_WORDS.get(item["stance"], item["stance"]), item["searched_to_rank"]
    where = f"down to rank {to_rank}" if to_rank else "in an empty list"
    if unsure_ones := item.get("unsure", 0):
        where += f"; {_were(unsure_ones, 'unsure ')} passed over"
    if heard := item.get("same_source", 0):
        where += f"; {_were(heard, 'more ')} passed over, of sources that had their share"
    where += _dropped(item, "; {} unread")
    if not item["found"]:
        return f"Nothing {stance} was found {where}."
    verb = "was" if item["found"] == 1 else "were"
    return f"Only {item['found']} of {item['wanted']} {stance} {verb} found {where}."


def _dropped(item: Plain, form: str) -> str:
    number = item.get("filtered", 0)
    return form.format(f"{_were(number)} filtered out") if number else ""


def _were(number: int, kind: str = "") -> str:
    return f"{number} {kind}document{' was' if number == 1 else 's were'}"


def milliseconds(value: float) -> str:
    """A duration for people.

    >>> [milliseconds(value) for value in (0.042, 12.34, 1234.5)]
    ['0.04 ms', '12.3 ms', '1,234 ms']
    """
    digits = 2 if value < 1 else 1 if value < 100 else 0
    return f"{value:,.{digits}f} ms"


def most_relevant(number: int) -> str:
    """The first `number` documents, in words."""
    return "the most relevant document" if number == 1 else f"the {number} most relevant documents"


def verdict(selection: Plain) -> Verdict:
    """What happened to this question's documents: what was filtered, whose label is unsure."""
    if selection["failure"] is not None:
        return _failed(selection)
    news = _news(selection)
    said = (
        _taken_out(selection),
        _unread(selection),
        _doubts(selection),
        _sought(selection),
    )
    more = [part for part in said if part]
    return replace(news, text=" ".join([news.text, *more]))


def _news(selection: Plain) -> Verdict:
    if not selection["documents"]:
        return Verdict("plain", "Nothing to balance", "no documents were retrieved.")
    if not chosen(selection):
        return Verdict("warning", "Nothing was chosen", "no document could take a place.")
    gate = selection["contested"]["verdict"]
    in_order = {document["reason"] for document in chosen(selection)} == {"relevance"}
    if gate in ("not_contested", "never", "unlabelled") or (gate == "one_sided" and in_order):
        return _kept(selection, gate)
    return _by_rule(selection) or _one_sided(selection) or _balanced(selection)


def _failed(selection: Plain) -> Verdict:
    text = (
        "the stance detector failed, so the order of relevance was kept. "
        f"{_reads_in_order(selection)} The detector's message: {_ended(selection['failure'])}"
    )
    return Verdict("warning", "Not balanced", text)


def _taken_out(selection: Plain) -> str:
    """How many documents a filter took out, in a sentence; "" where it took out none."""
    number = len(filtered(selection))
    return f"Filtered out: {number} that look{'s' if number == 1 else ''} planted." * bool(number)


def _unread(selection: Plain) -> str:
    """How many documents could not be read, in a sentence; "" where all could."""
    number = len(unreadable(selection))
    if not number:
        return ""
    return (
        f"Not read: {number} document{'' if number == 1 else 's'}, as the detector does not know "
        f"{'its' if number == 1 else 'their'} language or the question's."
    )


def _doubts(selection: Plain) -> str:
    """The chosen documents whose labels are unsure, in a sentence; "" where all are sure."""
    read = [document for document in chosen(selection) if not is_unreadable(document)]
    shares = [(document["position"], unsure(document)) for document in read]
    marked = [f"document {place} ({share:.2f})" for place, share in shares if share is not None]
    return f"Unsure: {', '.join(marked)}." if marked else ""


def _sought(selection: Plain) -> str:
    """What asking again for a short side brought, in a sentence; "" where nobody asked."""
    sought = selection.get("sought")
    if not sought:
        return ""
    taken = set(sought["taken"])
    places = [str(d["position"]) for d in chosen(selection) if d["rank"] in taken]
    sides = " and ".join(_SIDE_WORDS[side] for side in sought["found"])
    if not places:
        return f"Asked again for documents {sides}, the index gave none that was chosen."
    noun = "Document" if len(places) == 1 else "Documents"
    return f"{noun} {', '.join(places)} came when the index was asked again for {sides}."


def _kept(selection: Plain, gate: str) -> Verdict:
    why = _ended(selection["contested"]["why"] or gate.replace("_", " "))
    if {document["reason"] for document in chosen(selection)} != {"relevance"}:
        text = f"{mix(selection['composition'])}. {_capital(why)}"
        return Verdict("plain", f"Chosen by {one_line(selection['rule'])}", text)
    missing = selection["missing_side"]
    seen = any(d["stance"] == missing and unsure(d) is not None for d in selection["documents"])
    # Where unsure labels were seen, the gate's own words say so.
    named = missing in _SIDE_WORDS and not seen
    side = f"Nothing {_SIDE_WORDS[missing]} was seen. " if named else ""
    text = f"{why} {side}{_reads_in_order(selection)}"
    return Verdict("plain", "Order of relevance kept", text)


def _reads_in_order(selection: Plain) -> str:
    taken = len(chosen(selection))
    kinds = "filtered ones, copies and blanks" if filtered(selection) else "copies and blanks"
    passed_over = "" if _is_top(selection) else f", {kinds} left out"
    return f"The model reads {most_relevant(taken)}{passed_over}."


def _is_top(selection: Plain) -> bool:
    """True when the chosen documents are the first ranks, none passed over."""
    ranks = [document["rank"] for document in chosen(selection)]
    return sorted(ranks) == list(range(1, len(ranks) + 1))


def _by_rule(selection: Plain) -> Verdict | None:
    """The verdict where a rule without quotas chose, or None."""
    reasons = {document["reason"] for document in chosen(selection)}
    if len(reasons) != 1 or not reasons <= _OTHER_RULES.keys():
        return None
    text = f"{mix(selection['composition'])}. The rule is {_ended(selection['rule'])}"
    return Verdict("plain", _OTHER_RULES[reasons.pop()], text)


def _one_sided(selection: Plain) -> Verdict | None:
    if not selection["one_sided"]:
        return None
    missing = selection["missing_side"]
    head = f"Only one side was found down to rank {_searched_to(selection, missing)}"
    but = _passed_over(selection, missing)
    nothing = f"nothing {_SIDE_WORDS[missing]}{but}. " if missing in _SIDE_WORDS else ""
    text = f"{nothing}This could not be balanced. The model reads {mix(selection['composition'])}."
    return Verdict("warning", head, text)


def _passed_over(selection: Plain, missing: str | None) -> str:
    """The unsure documents of the missing side, in words; "" where there is none."""
    short = [item for item in selection["shortfalls"] if item["stance"] == missing]
    number = sum(item.get("unsure", 0) for item in short)
    return f" but {number} unsure document{'' if number == 1 else 's'}" if number else ""


def _balanced(selection: Plain) -> Verdict:
    tone, head = _grade(selection)
    # Where places stay empty, there are too few documents: that says it all.
    empty = [item for item in selection["shortfalls"] if item["stance"] is None]
    short = [shortfall(item) for item in empty or selection["shortfalls"]]
    taken = len(chosen(selection))
    if _is_top(selection):
        before = f"These are {most_relevant(taken)} as they came."
    else:
        before = f"Without balancing the model would have read {mix(selection['before'])}."
    return Verdict(tone, head, " ".join([f"{mix(selection['composition'])}.", *short, before]))


def _grade(selection: Plain) -> tuple[Literal["good", "plain", "warning"], str]:
    # A side that only unsure labels show has not been heard for sure.
    sure = [document["stance"] for document in chosen(selection) if unsure(document) is None]
    pro, con = (sure.count(side) for side in ("pro", "con"))
    if selection["quota"]["pro"] != selection["quota"]["con"] and not selection["shortfalls"]:
        return "good", "As the quota asks"
    if not pro + con:
        doubted = count(selection["composition"], "pro") + count(selection["composition"], "con")
        return "plain", f"Neither side was found{' for sure' if doubted else ''}"
    if pro == con:
        return "good", "Balanced"
    if min(pro, con) and abs(pro - con) == 1:
        return "good", "Nearly balanced"
    return "warning", "Only partly balanced"


def _searched_to(selection: Plain, missing: str | None) -> int:
    for item in selection["shortfalls"]:
        if item["stance"] == missing:
            return int(item["searched_to_rank"])
    return min(int(selection["quota"]["depth"]), len(selection["documents"]))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _ended(text: object) -> str:
    """`text` on one line, ending in a full stop."""
    line = one_line(text)
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."
