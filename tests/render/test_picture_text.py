"""The picture in a terminal: readable without colour, and safe whatever the documents hold."""

import re
import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from equipoise.errors import InputError
from equipoise.render import render_text
from equipoise.render.columns import columns, cut, wrap

Build = Callable[..., dict[str, Any]]

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def strip_lines(picture: str, name: str) -> list[str]:
    """The lines of the strip that start with `name`, without it."""
    return [line[8:] for line in picture.splitlines() if line[:8].strip() == name]


def signs(picture: str) -> str:
    return "".join(strip_lines(picture, "found")).replace(" ", "").replace("|", "")


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_strip_has_one_sign_for_each_candidate_at_any_width(
    examples: dict[str, dict[str, Any]], width: int
) -> None:
    picture = render_text(examples["balanced"], width=width)
    assert signs(picture) == "+++++-++++-+++-++++-++o" + "." * 27


def test_copies_and_blanks_have_signs_of_their_own(examples: dict[str, dict[str, Any]]) -> None:
    picture = render_text(examples["merged"])
    assert signs(picture) == "+===+_-+-+o" + "." * 14
    assert "= duplicate, merged   _ blank" in picture


@pytest.mark.parametrize("width", [40, 60, 100])
def test_places_stand_under_the_signs_of_the_chosen(
    examples: dict[str, dict[str, Any]], width: int
) -> None:
    picture = render_text(examples["balanced"], width=width)
    found, places = strip_lines(picture, "found"), strip_lines(picture, "chosen")
    under = [
        (place, sign)
        for above, below in zip(found, places, strict=True)
        for sign, place in zip(above.ljust(len(below)), below, strict=False)
        if place != " "
    ]
    assert under == [("1", "+"), ("2", "+"), ("3", "-"), ("4", "-"), ("5", "o")]


def test_rank_numbers_stand_over_their_own_signs(examples: dict[str, dict[str, Any]]) -> None:
    picture = render_text(examples["balanced"])
    (ranks,), (found,) = strip_lines(picture, "rank"), strip_lines(picture, "found")
    for match in re.finditer(r"\d+", ranks):
        before = found[: match.start()].replace(" ", "").replace("|", "")
        assert len(before) == int(match.group()) - 1


def test_the_ends_of_pool_and_search_are_marked_where_more_lies_beyond(
    build_selection: Build,
) -> None:
    quota = {"pro": 2, "con": 2, "neutral": 1, "pool": 5, "depth": 8}
    picture = render_text(build_selection("+-+-+-+-+-+", chosen={1: "quota"}, quota=quota))
    assert strip_lines(picture, "found") == ["+-+-+|-+-|+- +"]
    assert "| end of pool   | end of search" in picture
    quota["depth"] = 11
    picture = render_text(build_selection("+-+-+-+-+-+", chosen={1: "quota"}, quota=quota))
    assert "end of search" not in picture


def test_from_the_tenth_place_on_a_star_marks_the_chosen(build_selection: Build) -> None:
    picture = render_text(build_selection("+" * 12, chosen=dict.fromkeys(range(1, 12), "quota")))
    assert strip_lines(picture, "chosen") == ["123456789* *"]


def test_verdict_and_both_mixes_are_in_words(examples: dict[str, dict[str, Any]]) -> None:
    picture = render_text(examples["balanced"])
    assert "Balanced: 2 for, 2 against, 1 neutral." in picture
    assert re.search(r"^before  \+\+\+\+\+ +5 for, 0 against$", picture, re.MULTILINE)
    assert re.search(r"^after   \+\+o-- +2 for, 2 against, 1 neutral$", picture, re.MULTILINE)


def test_mixes_too_wide_for_one_line_keep_their_words(build_selection: Build) -> None:
    picture = render_text(build_selection("+-o", chosen={1: "quota", 2: "quota"}), width=40)
    assert "before  1 for, 1 against, 1 neutral\n        +o-\n" in picture
    many = build_selection("+-" * 40, chosen=dict.fromkeys(range(1, 81), "quota"), k=80)
    picture = render_text(many, width=60)
    assert "after   40 for, 40 against\n" in picture
    assert "+" * 40 not in picture


def test_each_chosen_document_has_its_row(examples: dict[str, dict[str, Any]]) -> None:
    rows = re.findall(
        r"^([1-5]) +(\S \w+) +(\d\.\d\d) +(\d+) +(.+?) {2}(.+)$",
        render_text(examples["balanced"]),
        re.MULTILINE,
    )
    assert [row[:5] for row in rows] == [
        ("1", "+ for", "0.91", "1", "place of its stance"),
        ("2", "+ for", "0.91", "2", "place of its stance"),
        ("3", "- against", "0.80", "6", "place of its stance"),
        ("4", "- against", "0.80", "11", "place of its stance"),
        ("5", "o neutral", "0.65", "23", "reached beyond pool"),
    ]
    assert rows[4][5].startswith("A reactor splits uranium")


def test_shortfalls_merges_labels_and_times_are_told(examples: dict[str, dict[str, Any]]) -> None:
    assert "Nothing against was found down to rank 50." in render_text(examples["one_sided"])
    failed = render_text(examples["failed"])
    assert "rank 7 into rank 1: nearly the same text (0.93)" in failed
    assert "0 of 12 documents" in failed
    assert "7 of 12 documents: 3 merged as copies, 1 blank, 3 not needed any more" in failed
    assert "prepare 0.31 ms, label 413 ms, select 0.05 ms, total 413 ms" in failed


@pytest.mark.parametrize("width", [40, 73, 100])
def test_no_line_is_wider_than_asked(example: dict[str, Any], width: int) -> None:
    for document in example["documents"]:
        document["text"] = "核电站" * 200
    picture = render_text(example, width=width)
    assert max(map(cell_len, picture.splitlines())) <= width


def test_documents_cannot_send_codes_to_the_terminal(build_selection: Build) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J[bold red]:smile:[/] \u202ereversed \x9b31m \ud800"
    selection = build_selection(
        "+-", chosen={1: "quota"}, question=nasty, failure=nasty, rule=nasty
    )
    for document in selection["documents"]:
        document["text"] = nasty
    picture = render_text(selection, width=160)
    assert re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", picture) == []
    assert "[bold red]:smile:[/]" in picture.splitlines()[0]
    assert picture.encode("utf-8")
    assert set(ESCAPE.sub("", render_text(selection, width=160, color=True))).isdisjoint("\x1b\x9b")


def test_without_colour_there_is_no_escape_code(example: dict[str, Any]) -> None:
    assert "\x1b" not in render_text(example)


def test_colour_changes_nothing_but_colour(example: dict[str, Any]) -> None:
    coloured = render_text(example, color=True)
    assert "\x1b[" in coloured
    plain = [line.rstrip() for line in ESCAPE.sub("", coloured).splitlines()]
    assert plain == render_text(example).splitlines()


def test_the_terminal_of_the_reader_does_not_decide_on_colour(
    examples: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in render_text(examples["balanced"])
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b[" in render_text(examples["balanced"], color=True)


def test_every_line_stays_readable_in_the_narrowest_terminal(
    examples: dict[str, dict[str, Any]],
) -> None:
    picture = render_text(examples["failed"], width=40)
    assert re.search(r"^5  \. not labelled +9 +Uranium", picture, re.MULTILINE)
    assert "place of its stance" not in picture


def test_drawing_needs_no_library_beyond_the_standard_one(
    examples: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    assert "Balanced" in render_text(examples["balanced"])


@pytest.mark.parametrize(
    "text", ["a bc def", "核电 站 a", "aaaaaaaaaaaa", "", "é e\u0301 核", "核核核核核"]
)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 40])
def test_wrapping_loses_no_sign(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(columns(line) <= width for line in lines) or width == 1


@given(text=st.text(max_size=30), width=st.integers(2, 12))
def test_cut_and_wrapped_text_fits(text: str, width: int) -> None:
    assert columns(cut(text, width)) <= width
    assert all(columns(line) <= width for line in wrap(text, width))
    if columns(text) <= width:
        assert cut(text, width) == text


@pytest.mark.parametrize("text", ["plain", "核电站", "e\u0301", "האם", "ﾊﾝｶｸ", "a\u200bb"])
def test_columns_are_those_of_a_terminal(text: str) -> None:
    assert columns(text) == cell_len(text)


def test_too_narrow_a_picture_is_refused(examples: dict[str, dict[str, Any]]) -> None:
    with pytest.raises(InputError, match="at least 40 columns, got 39"):
        render_text(examples["balanced"], width=39)


def test_what_is_no_selection_is_refused_here_too() -> None:
    with pytest.raises(InputError, match=r"schema 1, got schema None"):
        render_text({})


def test_drawing_does_not_change_the_selection(example: dict[str, Any]) -> None:
    before = deepcopy(example)
    render_text(example)
    assert example == before
