"""What the picture in HTML must never let through, and what it must not do to a page around it."""

import re
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.render import render_html
from equipoise.render.markup import element
from equipoise.render.style import DARK, LIGHT, style_sheet

Build = Callable[..., dict[str, Any]]
Read = Callable[[str], Any]
Picture = Callable[[dict[str, Any]], Any]


def test_markup_in_question_and_documents_stays_text(
    build_selection: Build, picture: Picture
) -> None:
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
    label = page.one("section").attributes["aria-label"]
    assert label == f"Selection of documents for: {nasty}"
    assert page.one(".eq-card").all(".eq-text")[0].text == nasty


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(ANY_TEXT, min_size=7, max_size=7), standalone=st.booleans())
def test_any_text_anywhere_gives_well_formed_utf8(
    build_selection: Build, read: Read, texts: list[str], standalone: bool
) -> None:
    question, text, identity, why, failure, rule, key = texts
    selection = build_selection(
        "+-",
        chosen={1: "quota"},
        question=question,
        rule=rule,
        failure=failure,
        contested={"verdict": "contested", "why": why},
        settings={key: why},
    )
    for document in selection["documents"]:
        document.update(text=text, id=identity)
    page = render_html(selection, standalone=standalone)
    assert page.encode("utf-8").decode("utf-8") == page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]", page)
    read(page)


def test_control_codes_and_lone_surrogates_are_shown_and_not_dropped(
    build_selection: Build, picture: Picture
) -> None:
    selection = build_selection("+", chosen={1: "quota"})
    selection["documents"][0]["text"] = "a\x00b\x1bc\ud800d\x9be\r\nf"
    card = picture(selection).one(".eq-card")
    assert card.one(".eq-text").text == "a␀b␛c�d�e\nf"


def test_an_element_lets_nothing_through_in_text_or_attribute() -> None:
    node = element("b", {"title": "\"'\x00", "lang": None}, "<\ud800", element("i", {}, "&"))
    assert node == '<b title="&quot;&#x27;␀">&lt;�<i>&amp;</i></b>'


def test_right_to_left_text_sets_its_own_direction(
    build_selection: Build, picture: Picture
) -> None:
    selection = build_selection("+", chosen={1: "quota"}, question="האם מותר \u202eאסור?")
    selection["documents"][0]["text"] = "טקסט"
    page = picture(selection)
    assert page.one(".eq-card").one(".eq-text").attributes["dir"] == "auto"
    assert page.one("h1").attributes["dir"] == "auto"
    assert "\u202e" not in page.one("title").text


def test_nothing_is_loaded_from_anywhere(example: dict[str, Any], read: Read) -> None:
    page = render_html(example)
    assert not re.search(r"url\(|@import|src=|href=|srcset=", page)
    root = read(page)
    loading = {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert not loading & {node.name for node in root.walk()}
    handlers = [key for node in root.walk() for key in node.attributes if key.startswith("on")]
    assert handlers == []


def test_standalone_is_a_whole_document_and_a_fragment_is_not(
    examples: dict[str, dict[str, Any]], read: Read
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
    assert [child.name for child in fragment.children if not isinstance(child, str)] == ["section"]


def test_two_fragments_on_one_page_cannot_clash(
    examples: dict[str, dict[str, Any]], read: Read
) -> None:
    root = read(render_html(examples["balanced"], standalone=False))
    assert all({"id", "style"}.isdisjoint(node.attributes) for node in root.walk())


def test_headings_go_down_one_level_at_a_time(example: dict[str, Any], picture: Picture) -> None:
    levels = [
        int(node.name[1]) for node in picture(example).walk() if re.fullmatch("h[1-6]", node.name)
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
