"""Selections as `Selection.to_dict()` gives them, drawn from a strip of signs.

In a strip each character is one candidate in retrieval order: `+` for, `-` against, `o` neutral,
`.` not labelled, `=` an exact copy of rank 1, `~` a near-copy of rank 1, `_` blank.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from equipoise.render import render_html

Build = Callable[..., dict[str, Any]]

STANCES = {"+": "pro", "-": "con", "o": "neutral"}
LEFT_OUT = {"=": "duplicate", "~": "duplicate", "_": "blank", ".": "not_needed"}
ODDS = {
    "pro": {"pro": 0.91, "con": 0.03, "neutral": 0.06},
    "con": {"pro": 0.08, "con": 0.8, "neutral": 0.12},
    "neutral": {"pro": 0.2, "con": 0.15, "neutral": 0.65},
}
PASSAGES = {
    "+": "Any grid has to meet demand on a still, dark evening in January just as surely as on a "
    "breezy afternoon in June. Reactors do this well: they run day and night for a year or more "
    "between refuelling stops and need neither wind nor sun.",
    "-": "Recent reactors in western countries have come in years late and far above their first "
    "price. Every pound tied up in a building site is a pound that buys no wind farm, no cable "
    "and no insulation in the meantime.",
    "o": "A reactor splits uranium nuclei to boil water, and the steam turns a turbine. About a "
    "tenth of the world's electricity is made in this way.",
    ".": "Uranium is mined in a handful of countries and enriched before it is made into fuel.",
    "_": " ",
}
PASSAGES["="] = PASSAGES["~"] = PASSAGES["+"]


def build(
    strip: str,
    *,
    chosen: dict[int, str],
    question: str = "Should countries build more nuclear power plants?",
    **changes: Any,
) -> dict[str, Any]:
    """A selection from `strip` in which `chosen` maps ranks to reasons."""
    # A copy has the label of the text it repeats.
    labels = [STANCES.get(strip[0] if mark in "=~" else mark) for mark in strip]
    positions = {rank: place for place, rank in enumerate(sorted(chosen), start=1)}
    documents = []
    for rank, mark in enumerate(strip, start=1):
        stance = labels[rank - 1]
        documents.append(
            {
                "rank": rank,
                "id": f"doc-{rank:02d}",
                "text": PASSAGES[mark],
                "score": round(0.9 - rank / 100, 3),
                "metadata": {},
                "stance": stance,
                "probabilities": ODDS[stance] if stance else None,
                "windows": 1 if stance else None,
                "chosen": rank in chosen,
                "position": positions.get(rank),
                "reason": chosen.get(rank),
                "left_out": None if rank in chosen else LEFT_OUT.get(mark, "quota_full"),
                "duplicate_of": 1 if mark in "=~" else None,
            }
        )
    merged = [
        {"kept": 1, "dropped": [rank], "kind": kind, "similarity": similarity}
        for rank, mark in enumerate(strip, start=1)
        for sign, kind, similarity in (("=", "exact", 1.0), ("~", "near", 0.93))
        if mark == sign
    ]
    before = Counter(label or "unlabelled" for label in labels[:5])
    taken = Counter(labels[rank - 1] or "unlabelled" for rank in chosen)
    return {
        "schema": 1,
        "question": question,
        "rule": "quota(2+2+1, pool 20, depth 50)",
        "detector": "classifier(bundled-int8, windows 256/64)",
        "quota": {"pro": 2, "con": 2, "neutral": 1, "pool": 20, "depth": 50},
        "k": 5,
        "contested": {"verdict": "contested", "why": "both sides are present in the pool"},
        "one_sided": False,
        "missing_side": None,
        "documents": documents,
        "composition": {"pro": 0, "con": 0, "neutral": 0, **taken},
        "before": {"pro": 0, "con": 0, "neutral": 0, **before},
        "shortfalls": [],
        "merged": merged,
        "unscored": [],
        "blank": [rank for rank, mark in enumerate(strip, start=1) if mark == "_"],
        "labelled": sum(mark in STANCES for mark in strip),
        "failure": None,
        "timings_ms": {"prepare": 0.31, "label": 412.7, "select": 0.05, "total": 413.06},
        "settings": {"gate": "auto", "merge_duplicates": True, "threshold": 0.9},
        **changes,
    }


def balanced() -> dict[str, Any]:
    """50 candidates, labels read down to rank 24, neutral reached at rank 23."""
    strip = "+++++-++++-+++-++++-++o" + "." * 27
    chosen = {1: "quota", 2: "quota", 6: "quota", 11: "quota", 23: "reached"}
    return build(strip, chosen=chosen)


def one_sided() -> dict[str, Any]:
    """Only documents for, and one neutral: nothing against down to the depth."""
    strip = ("+" * 14 + "o" + "+" * 35)[:50]
    chosen = {1: "quota", 2: "quota", 3: "filled", 4: "filled", 15: "quota"}
    shortfall = {"stance": "con", "wanted": 2, "found": 0, "searched_to_rank": 50}
    return build(
        strip,
        chosen=chosen,
        contested={"verdict": "one_sided", "why": "no con document down to the depth"},
        one_sided=True,
        missing_side="con",
        shortfalls=[shortfall],
    )


def not_contested() -> dict[str, Any]:
    """A factual question: the five most relevant stand."""
    return build(
        "ooooo+ooooo" + "." * 19,
        chosen=dict.fromkeys(range(1, 6), "relevance"),
        rule="relevance(5)",
        question="How many points did the Panthers defense surrender?",
        contested={
            "verdict": "not_contested",
            "why": "fewer than two documents of each side are sure enough within rank 20",
        },
    )


def failed() -> dict[str, Any]:
    """Copies, a blank and a detector that failed: relevance order kept."""
    strip = ".==._.~....."
    return build(
        strip,
        chosen=dict.fromkeys((1, 4, 6, 8, 9), "relevance"),
        contested={"verdict": "unlabelled", "why": "the detector failed"},
        failure="DetectorError: http://127.0.0.1:9/predict did not answer within 5 s",
        labelled=0,
        unscored=[3],
    )


def merged() -> dict[str, Any]:
    """Copies and near-copies merged, one blank, balanced in the end."""
    strip = "+==~+_-+-+o" + "." * 14
    return build(strip, chosen=dict.fromkeys((1, 5, 7, 9, 11), "quota"))


def empty() -> dict[str, Any]:
    """No candidates at all."""
    return build(
        "",
        chosen={},
        contested={"verdict": "unlabelled", "why": "there are no documents"},
        shortfalls=[
            {"stance": "pro", "wanted": 2, "found": 0, "searched_to_rank": 0},
            {"stance": "con", "wanted": 2, "found": 0, "searched_to_rank": 0},
            {"stance": None, "wanted": 5, "found": 0, "searched_to_rank": 0},
        ],
    )


EXAMPLES = {
    "balanced": balanced,
    "one_sided": one_sided,
    "not_contested": not_contested,
    "failed": failed,
    "merged": merged,
    "empty": empty,
}


class Node:
    """An element of a parsed page: its attributes, its children, the text inside it."""

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name, self.attributes = name, attributes
        self.children: list[Node | str] = []

    @property
    def classes(self) -> set[str]:
        """The class names."""
        return set(self.attributes.get("class", "").split())

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def all(self, name: str) -> list["Node"]:
        """Every element inside with this tag name or, after a dot, this class."""
        if name.startswith("."):
            return [node for node in self.walk() if name[1:] in node.classes]
        return [node for node in self.walk() if node.name == name]

    def one(self, name: str) -> "Node":
        (found,) = self.all(name)
        return found


class Reader(HTMLParser):
    """Parses strictly: every element must be closed by its own end tag."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("root", {})
        self.open = [self.root]

    def _add(self, tag: str, attributes: list[tuple[str, str | None]]) -> Node:
        assert len({key for key, _ in attributes}) == len(attributes), f"twice in <{tag}>"
        node = Node(tag, {key: value or "" for key, value in attributes})
        self.open[-1].children.append(node)
        return node

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = self._add(tag, attrs)
        if tag != "meta":
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert self.open[-1].name == "svg", f"<{tag}/> outside of SVG"
        self._add(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def read_page(page: str) -> Node:
    """The tree of a page or a fragment."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root], f"left open: {[node.name for node in reader.open]}"
    return reader.root


@pytest.fixture(scope="session")
def build_selection() -> Build:
    """Builds a selection from a strip: `build_selection("+-o", chosen={1: "quota"})`."""
    return build


@pytest.fixture(params=sorted(EXAMPLES))
def example(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Each kind of selection in turn."""
    return EXAMPLES[request.param]()


@pytest.fixture
def examples() -> dict[str, dict[str, Any]]:
    """Every kind of selection by name."""
    return {name: make() for name, make in EXAMPLES.items()}


@pytest.fixture(scope="session")
def read() -> Callable[[str], Node]:
    """Parses HTML strictly into a tree."""
    return read_page


@pytest.fixture(scope="session")
def picture() -> Callable[[dict[str, Any]], Node]:
    """Draws a selection as a page and parses it."""
    return lambda selection: read_page(render_html(selection))
