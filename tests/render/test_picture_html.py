"""The picture in HTML: structure, what it shows, what it must never let through."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.render import render_html
from equipoise.render.style import DARK, LIGHT, style_sheet

Build = Callable[..., dict[str, Any]]


class Node:
    """An element of a parsed page: its attributes, its children, the text inside it."""

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name, self.attributes = name, attributes
        self.children: list[Node | str] = []

    @property
    def classes(self) -> set[str]:
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


def read(page: str) -> Node:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root], f"left open: {[node.name for node in reader.open]}"
    return reader.root


def picture(selection: dict[str, Any]) -> Node:
    return read(render_html(selection))


INSIDE = {"tr": {"thead", "tbody"}, "td": {"tr"}, "th": {"tr"}, "li": {"ol", "ul"}, "rect": {"svg"}}
PHRASING_ONLY = {"p", "span", "summary", "h1", "h2", "h3", "h4", "h5"}
BLOCKS = {"p", "div", "ol", "ul", "li", "table", "details", "section"}


@pytest.mark.parametrize("standalone", [True, False])
def test_elements_stand_only_where_html_allows_them(
    example: dict[str, Any], standalone: bool
) -> None:
    root = read(render_html(example, standalone=standalone))
    for node in root.walk():
        for child in node.children:
            if isinstance(child, Node):
                assert node.name in INSIDE.get(child.name, {node.name})
                assert not (node.name in PHRASING_ONLY and child.name in BLOCKS)
                if child.name == "summary":
                    assert node.children[0] is child


def test_strip_has_one_cell_for_each_candidate_in_rank_order(
    examples: dict[str, dict[str, Any]],
) -> None:
    cells = picture(examples["balanced"]).all(".eq-cell")
    assert [int(cell.attributes["title"].split()[1].strip(",:")) for cell in cells] == [
        *range(1, 51)
    ]
    kinds = "".join(
        mark
        for cell in cells
        for mark, kind in zip("+-o.", ("pro", "con", "neutral", "unlabelled"), strict=True)
        if cell.all(f".eq-{kind}")
    )
    assert kinds == "+++++-++++-+++-++++-++o" + "." * 27


def test_exactly_the_chosen_cells_stand_out_with_their_place(example: dict[str, Any]) -> None:
    cells = picture(example).all(".eq-cell")
    for cell, document in zip(cells, example["documents"], strict=True):
        assert bool(cell.all(".eq-full")) == document["chosen"]
        places = [place.text for place in cell.all(".eq-place")]
        assert places == ([str(document["position"])] if document["chosen"] else [])


def test_every_cell_says_in_words_what_its_colour_says(examples: dict[str, dict[str, Any]]) -> None:
    words = [cell.one(".eq-hidden").text for cell in picture(examples["merged"]).all(".eq-cell")]
    assert words[:8] == [
        "Rank 1, for: document 1 of the prompt",
        "Rank 2, duplicate, merged: the same text as rank 1",
        "Rank 3, duplicate, merged: the same text as rank 1",
        "Rank 4, duplicate, merged: nearly (0.93) the text of rank 1",
        "Rank 5, for: document 2 of the prompt",
        "Rank 6, blank: has no text",
        "Rank 7, against: document 3 of the prompt",
        "Rank 8, for: the places for its stance were taken",
    ]


def test_kinds_differ_in_shape_and_not_in_colour_alone(examples: dict[str, dict[str, Any]]) -> None:
    legend = picture(examples["merged"]).one(".eq-legend").all("li")[:-1]
    shapes = {item.text: [path.attributes["d"] for path in item.all("path")] for item in legend}
    assert len(shapes) == 6
    assert len({tuple(shape) for shape in shapes.values()}) == 6


def test_pool_and_what_lies_beyond_it_are_kept_apart(build_selection: Build) -> None:
    quota = {"pro": 2, "con": 2, "neutral": 1, "pool": 5, "depth": 8}
    page = picture(build_selection("+-+-+-+-+-+", chosen={1: "quota"}, quota=quota))
    zones = page.all(".eq-cells")
    assert [len(zone.all(".eq-cell")) for zone in zones] == [5, 3, 3]
    assert [zone.attributes["start"] for zone in zones] == ["1", "6", "9"]
    assert "Never searched" in zones[2].attributes["aria-label"]


def test_what_reaches_the_model_stands_in_prompt_order(examples: dict[str, dict[str, Any]]) -> None:
    row = picture(examples["balanced"]).one(".eq-model").all("li")
    assert [item.text for item in row] == [
        "1forrank 1",
        "2forrank 2",
        "3againstrank 6",
        "4againstrank 11",
        "5neutralrank 23",
    ]


def test_bars_show_before_and_after_with_neutral_in_the_middle(
    examples: dict[str, dict[str, Any]],
) -> None:
    before, after = picture(examples["balanced"]).all(".eq-bar")
    assert (
        before.attributes["aria-label"] == "Before: the 5 most relevant documents: 5 for, 0 against"
    )
    assert after.attributes["aria-label"].endswith("2 for, 2 against, 1 neutral")
    assert len(before.all(".eq-pro")) == len(before.all(".eq-sign")) == 5
    order = [(unit.classes - {"eq-sign", "eq-full"}).pop() for unit in after.all(".eq-sign")]
    assert order == ["eq-pro", "eq-pro", "eq-neutral", "eq-con", "eq-con"]


def test_cards_carry_stance_probabilities_rank_and_reason(
    examples: dict[str, dict[str, Any]],
) -> None:
    cards = picture(examples["balanced"]).all(".eq-card")
    assert len(cards) == 5
    assert cards[4].one(".eq-card-head").text == "5neutralrank 23"
    assert cards[4].one(".eq-odds").attributes["aria-label"] == "for 20%, neutral 65%, against 15%"
    widths = [float(rect.attributes["width"]) for rect in cards[4].all("rect")]
    assert widths == [20.0, 65.0, 15.0]
    starts = [float(rect.attributes["x"]) for rect in cards[4].all("rect")]
    assert starts == [0.0, 20.0, 85.0]
    assert "From beyond rank 20, its stance was short" in cards[4].text
    assert "One of 2 places for its stance" in cards[0].text


def test_a_document_without_a_label_gets_no_probability_bar(
    examples: dict[str, dict[str, Any]],
) -> None:
    page = picture(examples["failed"])
    assert len(page.all(".eq-card")) == 5
    assert page.all(".eq-odds") == []


def test_windows_of_a_long_document_are_named(build_selection: Build) -> None:
    selection = build_selection("+-", chosen={1: "quota", 2: "quota"})
    selection["documents"][0]["windows"] = 12
    first, second = picture(selection).all(".eq-card")
    assert "read in 12 windows" in first.text
    assert "window" not in second.text


def test_long_text_is_clipped_with_all_of_it_to_open(build_selection: Build) -> None:
    selection = build_selection("+-", chosen={1: "quota"})
    text = " ".join(f"word{n}" for n in range(2000))
    for document in selection["documents"]:
        document["text"] = text
    page = picture(selection)
    card = page.one(".eq-card")
    clipped = card.all(".eq-text")[0].text
    assert len(clipped) <= 320
    assert clipped.endswith("…")
    assert card.one("details").one(".eq-text").text == text
    row = page.one(".eq-words")
    assert len(row.one("summary").text) <= 110
    assert row.one(".eq-text").text == text


def test_short_text_is_shown_whole_with_nothing_to_open(build_selection: Build) -> None:
    card = picture(build_selection("+", chosen={1: "quota"})).one(".eq-card")
    assert card.all("details") == []


def test_everything_left_out_is_listed_with_its_reason(example: dict[str, Any]) -> None:
    page = picture(example)
    out = [document for document in example["documents"] if not document["chosen"]]
    rows = [row for row in page.all("tr") if row.all(".eq-why")]
    assert [row.one("th").text for row in rows] == [str(document["rank"]) for document in out]
    assert all(row.one(".eq-why").text for row in rows)


def test_tables_name_their_columns_and_rows_and_can_be_reached_by_keyboard(
    example: dict[str, Any],
) -> None:
    page = picture(example)
    for table in page.all("table"):
        assert table.one("caption").text
        assert {head.attributes["scope"] for head in table.all("th")} <= {"col", "row"}
        assert all(len(row.all("th")) >= 1 for row in table.all("tr"))
    assert all(box.attributes["tabindex"] == "0" for box in page.all(".eq-scroll"))


def test_details_tell_merges_blanks_shortfalls_labels_times_and_settings(
    examples: dict[str, dict[str, Any]],
) -> None:
    failed = picture(examples["failed"]).one(".eq-more").text
    for words in (
        "rank 2 into rank 1: the same text",
        "rank 7 into rank 1: nearly the same text (0.93)",
        "Blankrank 5",
        "Unscoredrank 3",
        "0 of 12 documents",
        "label 413 ms",
        "did not answer within 5 s",
        "merge_duplicatestrue",
    ):
        assert words in failed
    assert "Nothing against was found down to rank 50." in picture(examples["one_sided"]).text


def test_a_score_that_is_not_a_number_is_called_unscored(build_selection: Build) -> None:
    selection = build_selection("+-", chosen={1: "quota"}, unscored=[2])
    selection["documents"][1]["score"] = None
    page = picture(selection)
    assert page.all(".eq-number")[-1].text == "unscored"


def test_markup_in_question_and_documents_stays_text(build_selection: Build) -> None:
    nasty = "</style></title><script>alert('x')</script><img src=x onerror=\"alert(1)\">&amp;"
    selection = build_selection(
        "+-", chosen={1: "quota"}, question=nasty, rule=nasty, failure=nasty
    )
    selection["settings"] = {nasty: nasty}
    for document in selection["documents"]:
        document["text"] = document["id"] = nasty
    page = picture(selection)
    assert page.all("script") == page.all("img") == []
    assert page.one("title").text == f"{nasty} · equipoise"
    assert page.one("h1").text == nasty
    assert page.one(".eq-card").all(".eq-text")[0].text == nasty


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(ANY_TEXT, min_size=7, max_size=7), standalone=st.booleans())
def test_any_text_anywhere_gives_well_formed_utf8(texts: list[str], standalone: bool) -> None:
    from_strip = deepcopy(HOSTILE)
    question, text, identity, why, failure, rule, key = texts
    from_strip.update(question=question, rule=rule, failure=failure, settings={key: why})
    from_strip["contested"] = {"verdict": "contested", "why": why}
    for document in from_strip["documents"]:
        document.update(text=text, id=identity)
    page = render_html(from_strip, standalone=standalone)
    assert page.encode("utf-8").decode("utf-8") == page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]", page)
    read(page)


def _document(rank: int, *, chosen: bool) -> dict[str, Any]:
    return {
        "rank": rank,
        "id": "",
        "text": "",
        "score": None,
        "metadata": {},
        "stance": "pro",
        "probabilities": {"pro": 1.0, "con": 0.0, "neutral": 0.0},
        "windows": 1,
        "chosen": chosen,
        "position": 1 if chosen else None,
        "reason": "quota" if chosen else None,
        "left_out": None if chosen else "quota_full",
        "duplicate_of": None,
    }


HOSTILE: dict[str, Any] = {
    "schema": 1,
    "detector": None,
    "quota": {"pro": 1, "con": 1, "neutral": 0, "pool": 20, "depth": 50},
    "k": 2,
    "one_sided": False,
    "missing_side": None,
    "documents": [_document(1, chosen=True), _document(2, chosen=False)],
    "composition": {"pro": 1, "con": 0, "neutral": 0},
    "before": {"pro": 2, "con": 0, "neutral": 0},
    "shortfalls": [],
    "merged": [],
    "unscored": [],
    "blank": [],
    "labelled": 2,
    "timings_ms": {"total": 0.5},
}


def test_control_codes_and_lone_surrogates_are_shown_and_not_dropped(
    build_selection: Build,
) -> None:
    selection = build_selection("+", chosen={1: "quota"})
    selection["documents"][0]["text"] = "a\x00b\x1bc\ud800d\x9be\r\nf"
    card = picture(selection).one(".eq-card")
    assert card.one(".eq-text").text == "a␀b␛c�d�e\nf"


def test_right_to_left_text_sets_its_own_direction(build_selection: Build) -> None:
    selection = build_selection("+", chosen={1: "quota"}, question="האם מותר \u202eאסור?")
    selection["documents"][0]["text"] = "טקסט"
    page = picture(selection)
    assert page.one(".eq-card").one(".eq-text").attributes["dir"] == "auto"
    assert page.one("h1").attributes["dir"] == "auto"
    assert "\u202e" not in page.one("title").text


def test_nothing_is_loaded_from_anywhere(example: dict[str, Any]) -> None:
    page = render_html(example)
    assert not re.search(r"url\(|@import|src=|href=|srcset=", page)
    root = read(page)
    loading = {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert not loading & {node.name for node in root.walk()}
    handlers = [key for node in root.walk() for key in node.attributes if key.startswith("on")]
    assert handlers == []


def test_standalone_is_a_whole_document_and_a_fragment_is_not(
    examples: dict[str, dict[str, Any]],
) -> None:
    page = render_html(examples["balanced"])
    assert page.startswith("<!DOCTYPE html>\n<html")
    root = read(page)
    assert root.one("html").attributes["lang"] == "en"
    assert root.one("head").all("meta")[0].attributes == {"charset": "utf-8"}
    assert "Should countries build more nuclear power plants?" in root.one("title").text
    assert len(root.all("h1")) == len(root.all("main")) == 1
    fragment = read(render_html(examples["balanced"], standalone=False))
    names = {node.name for node in fragment.walk()}
    assert not names & {"html", "head", "body", "title", "meta", "main", "h1", "h2"}
    assert [child.name for child in fragment.children if isinstance(child, Node)] == ["section"]


def test_two_fragments_on_one_page_cannot_clash(examples: dict[str, dict[str, Any]]) -> None:
    root = read(render_html(examples["balanced"], standalone=False))
    assert all({"id", "style"}.isdisjoint(node.attributes) for node in root.walk())


def test_headings_go_down_one_level_at_a_time(example: dict[str, Any]) -> None:
    levels = [
        int(node.name[1])
        for node in picture(example).walk()
        if node.name in PHRASING_ONLY and node.name[0] == "h"
    ]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_rule_of_the_fragment_touches_the_picture_only() -> None:
    sheet = re.sub(r"/\*.*?\*/", "", style_sheet(page=False), flags=re.DOTALL)
    sheet = re.sub(r"@media[^{]*\{", "", sheet)
    selectors = [
        part.strip() for rule in re.findall(r"([^{}]+)\{", sheet) for part in rule.split(",")
    ]
    assert len(selectors) > 50
    assert [one for one in selectors if not re.search(r"(^|\] )\.equipoise\b", one)] == []


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_and_sign_has_the_contrast_of_wcag_aa(palette: dict[str, str]) -> None:
    pairs = [("ink", "paper"), ("soft", "paper"), ("warn", "paper")]
    for side in ("pro", "con", "neutral"):
        pairs += [(f"{side}-on", side), (f"{side}-ink", f"{side}-tint")]
        assert contrast(palette[side], palette["paper"]) >= 3
    found = {pair: contrast(palette[pair[0]], palette[pair[1]]) for pair in pairs}
    assert {pair: ratio for pair, ratio in found.items() if ratio < 4.5} == {}


def test_both_palettes_are_in_the_sheet_and_name_the_same_colours() -> None:
    assert LIGHT.keys() == DARK.keys()
    sheet = style_sheet(page=False)
    assert "prefers-color-scheme: dark" in sheet
    used = set(re.findall(r"var\(--eq-([a-z-]+)\)", sheet))
    assert used == LIGHT.keys()


def test_the_selection_is_not_changed(example: dict[str, Any]) -> None:
    before = deepcopy(example)
    render_html(example)
    assert example == before


@pytest.mark.parametrize("wrong", [{}, {"schema": 2}, None, "a selection"])
def test_what_is_no_selection_is_refused_with_what_to_do(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"Selection\.to_dict\(\)"):
        render_html(wrong)


def test_importing_the_renderer_loads_no_optional_library() -> None:
    code = "import sys, equipoise.render; print(sorted({'rich', 'numpy'} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
