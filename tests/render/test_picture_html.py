"""What the picture in HTML shows."""

from collections.abc import Callable
from typing import Any

import pytest

from equipoise.render import render_html

Build = Callable[..., dict[str, Any]]
Read = Callable[[str], Any]
Picture = Callable[[dict[str, Any]], Any]

INSIDE = {"tr": {"thead", "tbody"}, "td": {"tr"}, "th": {"tr"}, "li": {"ol", "ul"}, "rect": {"svg"}}
PHRASING_ONLY = {"p", "span", "summary", "h1", "h2", "h3", "h4", "h5"}
BLOCKS = {"p", "div", "ol", "ul", "li", "table", "details", "section"}


@pytest.mark.parametrize("standalone", [True, False])
def test_elements_stand_only_where_html_allows_them(
    example: dict[str, Any], standalone: bool, read: Read
) -> None:
    root = read(render_html(example, standalone=standalone))
    for node in root.walk():
        for child in node.children:
            if not isinstance(child, str):
                assert node.name in INSIDE.get(child.name, {node.name})
                assert not (node.name in PHRASING_ONLY and child.name in BLOCKS)
                if child.name == "summary":
                    assert node.children[0] is child


def test_strip_has_one_cell_for_each_candidate_in_rank_order(
    examples: dict[str, dict[str, Any]], picture: Picture
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


def test_exactly_the_chosen_cells_stand_out_with_their_place(
    example: dict[str, Any], picture: Picture
) -> None:
    cells = picture(example).all(".eq-cell")
    for cell, document in zip(cells, example["documents"], strict=True):
        assert bool(cell.all(".eq-full")) == document["chosen"]
        places = [place.text for place in cell.all(".eq-place")]
        assert places == ([str(document["position"])] if document["chosen"] else [])


def test_every_cell_says_in_words_what_its_colour_says(
    examples: dict[str, dict[str, Any]], picture: Picture
) -> None:
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


def test_kinds_differ_in_shape_and_not_in_colour_alone(
    examples: dict[str, dict[str, Any]], picture: Picture
) -> None:
    legend = picture(examples["merged"]).one(".eq-legend").all("li")[:-1]
    shapes = {item.text: [path.attributes["d"] for path in item.all("path")] for item in legend}
    assert len(shapes) == 6
    assert len({tuple(shape) for shape in shapes.values()}) == 6


def test_pool_and_what_lies_beyond_it_are_kept_apart(
    build_selection: Build, picture: Picture
) -> None:
    quota = {"pro": 2, "con": 2, "neutral": 1, "pool": 5, "depth": 8}
    page = picture(build_selection("+-+-+-+-+-+", chosen={1: "quota"}, quota=quota))
    zones = page.all(".eq-cells")
    assert [len(zone.all(".eq-cell")) for zone in zones] == [5, 3, 3]
    assert [zone.attributes["start"] for zone in zones] == ["1", "6", "9"]
    assert "Never searched" in zones[2].attributes["aria-label"]


def test_what_reaches_the_model_stands_in_prompt_order(
    examples: dict[str, dict[str, Any]], picture: Picture
) -> None:
    row = picture(examples["balanced"]).one(".eq-model").all("li")
    assert [item.text for item in row] == [
        "1forrank 1",
        "2forrank 2",
        "3againstrank 6",
        "4againstrank 11",
        "5neutralrank 23",
    ]


def test_bars_show_before_and_after_with_neutral_in_the_middle(
    examples: dict[str, dict[str, Any]], picture: Picture
) -> None:
    before, after = picture(examples["balanced"]).all(".eq-bar")
    assert (
        before.attributes["aria-label"] == "Before: the 5 most relevant documents: 5 for, 0 against"
    )
    assert after.attributes["aria-label"].endswith("2 for, 2 against, 1 neutral")
    assert len(before.all(".eq-pro")) == len(before.all(".eq-sign")) == 5
    order = [(unit.classes - {"eq-sign", "eq-full"}).pop() for unit in after.all(".eq-sign")]
    assert order == ["eq-pro", "eq-pro", "eq-neutral", "eq-con", "eq-con"]


def test_where_no_quota_was_applied_the_strip_is_not_cut_at_the_pool(
    examples: dict[str, dict[str, Any]], picture: Picture
) -> None:
    page = picture(examples["not_contested"])
    assert len(page.one(".eq-cells").all(".eq-cell")) == 30
    assert page.all(".eq-note") == []


def test_bars_are_left_out_where_no_stance_is_known(
    examples: dict[str, dict[str, Any]], picture: Picture
) -> None:
    assert picture(examples["failed"]).all(".eq-bar") == []


def test_cards_carry_stance_probabilities_rank_and_reason(
    examples: dict[str, dict[str, Any]], picture: Picture
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
    examples: dict[str, dict[str, Any]], picture: Picture
) -> None:
    page = picture(examples["failed"])
    assert len(page.all(".eq-card")) == 5
    assert page.all(".eq-odds") == []


def test_windows_of_a_long_document_are_named(build_selection: Build, picture: Picture) -> None:
    selection = build_selection("+-", chosen={1: "quota", 2: "quota"})
    selection["documents"][0]["windows"] = 12
    first, second = picture(selection).all(".eq-card")
    assert "read in 12 windows" in first.text
    assert "window" not in second.text


def test_long_text_is_clipped_with_all_of_it_to_open(
    build_selection: Build, picture: Picture
) -> None:
    selection = build_selection("+-", chosen={1: "quota"})
    text = " ".join(f"word{n}" for n in range(2000))
    for document in selection["documents"]:
        document["text"] = text
    page = picture(selection)
    card = page.one(".eq-card")
    clipped = card.all(".eq-text")[0].text
    assert 320 < len(clipped) <= 420
    assert clipped.endswith("…")
    assert card.one("details").one(".eq-text").text == text
    row = page.one(".eq-words")
    assert len(row.one("summary").text) <= 110
    assert row.one(".eq-text").text == text


def test_short_text_is_shown_whole_with_nothing_to_open(
    build_selection: Build, picture: Picture
) -> None:
    card = picture(build_selection("+", chosen={1: "quota"})).one(".eq-card")
    assert card.all("details") == []


def test_everything_left_out_is_listed_with_its_reason(
    example: dict[str, Any], picture: Picture
) -> None:
    page = picture(example)
    out = [document for document in example["documents"] if not document["chosen"]]
    rows = [row for row in page.all("tr") if row.all(".eq-why")]
    assert [row.one("th").text for row in rows] == [str(document["rank"]) for document in out]
    assert all(row.one(".eq-why").text for row in rows)


def test_tables_name_their_columns_and_rows_and_can_be_reached_by_keyboard(
    example: dict[str, Any], picture: Picture
) -> None:
    page = picture(example)
    for table in page.all("table"):
        assert table.one("caption").text
        assert {head.attributes["scope"] for head in table.all("th")} <= {"col", "row"}
        assert all(len(row.all("th")) >= 1 for row in table.all("tr"))
    assert all(box.attributes["tabindex"] == "0" for box in page.all(".eq-scroll"))


def test_details_tell_merges_blanks_shortfalls_labels_times_and_settings(
    examples: dict[str, dict[str, Any]], picture: Picture
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


def test_a_score_that_is_not_a_number_is_called_unscored(
    build_selection: Build, picture: Picture
) -> None:
    selection = build_selection("+-", chosen={1: "quota"}, unscored=[2])
    selection["documents"][1]["score"] = None
    page = picture(selection)
    assert page.all(".eq-number")[-1].text == "unscored"
