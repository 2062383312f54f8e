"""Unsure labels in the sentence, in the terminal and in HTML; nothing of them where none is."""

from collections.abc import Callable
from typing import Any

import pytest

from equipoise.render import render_html, render_text
from equipoise.render.words import shortfall, verdict

Build = Callable[..., dict[str, Any]]
Picture = Callable[[dict[str, Any]], Any]


@pytest.fixture
def doubted(build_selection: Build) -> dict[str, Any]:
    """Two for and one against with seats; rank 1, against with 0.52, fills; rank 5 is left out."""
    short = {"stance": "con", "wanted": 2, "found": 1, "searched_to_rank": 7, "unsure": 2}
    selection = build_selection(
        "-++--+o",
        chosen={1: "filled", 2: "quota", 3: "quota", 4: "quota", 7: "quota"},
        shortfalls=[short],
        unsure=2,
        settings={"unsure_below": 0.6},
    )
    for rank, left_out in ((1, None), (5, "unsure")):
        row = selection["documents"][rank - 1]
        row["unsure"] = True
        row["probabilities"] = {"pro": 0.4, "con": 0.52, "neutral": 0.08}
        row["left_out"] = left_out
    return selection


def test_the_sentence_names_the_chosen_documents_that_are_unsure(doubted: dict[str, Any]) -> None:
    assert verdict(doubted).sentence == (
        "Nearly balanced: 2 for, 2 against, 1 neutral. Only 1 of 2 against was found down to "
        "rank 7; 2 unsure documents were passed over. Without balancing the model would have "
        "read 2 for, 3 against. Unsure: document 1 (0.52)."
    )


def test_a_side_that_only_unsure_documents_show_is_not_called_balanced(
    doubted: dict[str, Any],
) -> None:
    doubted["documents"][3]["unsure"] = True
    assert verdict(doubted).head == "Only partly balanced"
    for row in doubted["documents"]:
        row["unsure"] = True
    assert verdict(doubted).head == "Neither side was found for sure"


def test_a_missing_side_is_told_with_its_unsure_documents(doubted: dict[str, Any]) -> None:
    doubted |= {"one_sided": True, "missing_side": "con"}
    head = "Only one side was found down to rank 7: nothing against but"
    assert verdict(doubted).sentence.startswith(f"{head} 2 unsure documents. This could not")
    doubted["shortfalls"][0]["unsure"] = 1
    assert verdict(doubted).sentence.startswith(f"{head} 1 unsure document. This could not")


def test_with_relevance_kept_an_unsure_side_is_not_said_to_be_unseen(
    build_selection: Build,
) -> None:
    why = "no con document in the top 20 but unsure ones; it may be a fact"
    selection = build_selection(
        "+-o",
        chosen=dict.fromkeys((1, 2, 3), "relevance"),
        contested={"verdict": "one_sided", "why": why},
        one_sided=True,
        missing_side="con",
    )
    selection["documents"][1]["unsure"] = True
    assert verdict(selection).sentence == (
        f"Order of relevance kept: {why}. The model reads the 3 most relevant documents. "
        "Unsure: document 2 (0.80)."
    )


def test_a_shortfall_counts_what_was_passed_over() -> None:
    short = {"stance": "pro", "wanted": 2, "found": 1, "searched_to_rank": 9, "unsure": 1}
    assert shortfall(short) == (
        "Only 1 of 2 in favour was found down to rank 9; 1 unsure document was passed over."
    )
    plain = shortfall({**short, "unsure": 0})
    del short["unsure"]
    assert shortfall(short) == plain == "Only 1 of 2 in favour was found down to rank 9."


def test_the_terminal_marks_them(doubted: dict[str, Any]) -> None:
    lines = render_text(doubted, width=120).splitlines()
    (row,) = [line for line in lines if line.startswith("1  -")]
    assert "filled by rank, unsure: 0.52" in row
    assert sum("unsure: " in line for line in lines) == 1
    assert "Unsure      2 of 7 labels, under 0.6" in lines
    assert any("1 of unsure labels, 1 over the quota" in line for line in lines)


@pytest.mark.parametrize("width", [40, 60])
def test_in_a_narrow_terminal_the_sentence_still_names_them(
    doubted: dict[str, Any], width: int
) -> None:
    lines = render_text(doubted, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert "Unsure: document 1 (0.52)." in " ".join(lines)


def test_the_page_marks_them_in_strip_row_cards_and_table(
    doubted: dict[str, Any], picture: Picture
) -> None:
    page = picture(doubted)
    titles = [cell.attributes["title"] for cell in page.all(".eq-cell")]
    assert titles[0] == "Rank 1, against, unsure: 0.52: document 1 of the prompt"
    assert titles[4] == (
        "Rank 5, against, unsure: 0.52: its label is too unsure for a place of its stance"
    )
    assert not any("unsure" in title for title in titles[1:4])
    assert [item.text for item in page.one(".eq-model").all("li")][:2] == [
        "1againstunsure: 0.52rank 1",
        "2forrank 2",
    ]
    heads = [card.one(".eq-card-head").text for card in page.all(".eq-card")]
    assert heads[:2] == ["1against, unsure: 0.52rank 1", "2forrank 2"]
    assert page.all(".eq-stance")[0].text == "against, unsure: 0.52"
    assert "2 of 7 labels, under 0.6" in page.one(".eq-more").text


def test_where_no_label_can_be_unsure_nothing_is_said_of_it(example: dict[str, Any]) -> None:
    # As stored by versions that had no unsure labels, and as made with the threshold at 0.
    off = {
        **example,
        "unsure": 0,
        "settings": {**example["settings"], "unsure_below": 0.0},
        "documents": [{**row, "unsure": False} for row in example["documents"]],
        "shortfalls": [{**row, "unsure": 0} for row in example["shortfalls"]],
    }
    assert render_text(off) == render_text(example)
    assert "nsure" not in render_text(off)
    shown = render_html(off).replace("unsure_below", "")
    assert "nsure" not in shown


def test_a_copy_that_was_merged_is_not_called_unsure(build_selection: Build) -> None:
    selection = build_selection("+=-", chosen={1: "quota", 3: "quota"})
    selection["documents"][1]["unsure"] = True
    assert "unsure" not in render_html(selection)
