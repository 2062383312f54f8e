"""The sentence that says what happened."""

from collections.abc import Callable
from typing import Any

import pytest

from equipoise.render.words import verdict

Build = Callable[..., dict[str, Any]]


def sentence(selection: dict[str, Any]) -> str:
    return verdict(selection).sentence


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "balanced",
            "Balanced: 2 for, 2 against, 1 neutral. "
            "Without balancing the model would have read 5 for, 0 against.",
        ),
        (
            "one_sided",
            "Only one side was found down to rank 50: nothing against. This could not be "
            "balanced. The model reads 4 for, 0 against, 1 neutral.",
        ),
        (
            "not_contested",
            "Order of relevance kept: fewer than two documents of each side are sure enough "
            "within rank 20. The model reads the 5 most relevant documents.",
        ),
        (
            "failed",
            "Not balanced: the stance detector failed, so the order of relevance was kept. "
            "The model reads the 5 most relevant documents, copies and blanks left out. "
            "The detector's message: DetectorError: http://127.0.0.1:9/predict did not answer "
            "within 5 s.",
        ),
        ("empty", "Nothing to balance: no documents were retrieved."),
    ],
)
def test_each_kind_of_selection_has_its_sentence(
    examples: dict[str, dict[str, Any]], name: str, expected: str
) -> None:
    assert sentence(examples[name]) == expected


def test_what_could_not_be_balanced_is_a_warning(examples: dict[str, dict[str, Any]]) -> None:
    tones = {name: verdict(selection).tone for name, selection in examples.items()}
    assert {name for name, tone in tones.items() if tone == "warning"} == {"one_sided", "failed"}
    assert {name for name, tone in tones.items() if tone == "good"} == {"balanced", "merged"}


def test_three_and_two_without_a_neutral_is_nearly_balanced(build_selection: Build) -> None:
    selection = build_selection(
        "+-+-+-" + "+" * 44,
        chosen={1: "quota", 2: "quota", 3: "quota", 4: "quota", 7: "filled"},
        shortfalls=[{"stance": "neutral", "wanted": 1, "found": 0, "searched_to_rank": 50}],
    )
    assert sentence(selection) == (
        "Nearly balanced: 3 for, 2 against. Nothing neutral was found down to rank 50. "
        "Without balancing the model would have read 3 for, 2 against."
    )


def test_four_against_one_is_not_called_balanced(build_selection: Build) -> None:
    selection = build_selection(
        "++++-+",
        chosen={1: "quota", 2: "quota", 3: "filled", 4: "filled", 5: "quota"},
        shortfalls=[{"stance": "con", "wanted": 2, "found": 1, "searched_to_rank": 6}],
    )
    assert verdict(selection).tone == "warning"
    assert sentence(selection) == (
        "Only partly balanced: 4 for, 1 against. Only 1 of 2 against was found down to rank 6. "
        "These are the 5 most relevant documents as they came."
    )


def test_one_document_for_and_none_against_is_not_nearly_balanced(build_selection: Build) -> None:
    selection = build_selection("+oooo", chosen=dict.fromkeys(range(1, 6), "filled"))
    assert sentence(selection).startswith("Only partly balanced: 1 for, 0 against, 4 neutral.")


def test_an_uneven_quota_that_is_met_is_not_called_balanced(build_selection: Build) -> None:
    quota = {"pro": 4, "con": 1, "neutral": 0, "pool": 20, "depth": 50}
    selection = build_selection("++++-", chosen=dict.fromkeys(range(1, 6), "quota"), quota=quota)
    assert sentence(selection).startswith("As the quota asks: 4 for, 1 against.")


def test_a_pool_of_neutral_documents_has_neither_side(build_selection: Build) -> None:
    selection = build_selection("ooooo", chosen=dict.fromkeys(range(1, 6), "filled"))
    assert sentence(selection).startswith("Neither side was found: 0 for, 0 against, 5 neutral.")


def test_fewer_documents_than_places_is_said_once(build_selection: Build) -> None:
    shortfalls = [
        {"stance": "pro", "wanted": 2, "found": 1, "searched_to_rank": 2},
        {"stance": None, "wanted": 5, "found": 2, "searched_to_rank": 2},
    ]
    selection = build_selection("+-", chosen={1: "quota", 2: "quota"}, shortfalls=shortfalls)
    assert sentence(selection) == (
        "Balanced: 1 for, 1 against. Only 2 of 5 places could be filled. "
        "These are the 2 most relevant documents as they came."
    )


def test_one_side_with_the_order_of_relevance_kept_claims_no_search_to_the_depth(
    build_selection: Build,
) -> None:
    why = "no sure con document in the top 20, and the question may be factual"
    selection = build_selection(
        "+o+o+" + "." * 30,
        chosen=dict.fromkeys(range(1, 6), "relevance"),
        contested={"verdict": "one_sided", "why": why, "balanced": False},
        one_sided=True,
        missing_side="con",
    )
    assert sentence(selection) == (
        f"Order of relevance kept: {why}. Nothing against was seen. "
        "The model reads the 5 most relevant documents."
    )


def test_a_missing_side_in_favour_is_named_and_searched_only_to_the_last_rank(
    build_selection: Build,
) -> None:
    selection = build_selection(
        "-----o", chosen={1: "quota", 2: "quota"}, one_sided=True, missing_side="pro"
    )
    assert sentence(selection).startswith(
        "Only one side was found down to rank 6: nothing in favour. This could not be balanced."
    )


def test_a_gate_that_is_never_open_says_that_relevance_was_kept(build_selection: Build) -> None:
    gate = {"verdict": "never", "why": "balancing is switched off"}
    selection = build_selection(
        "+++++", chosen=dict.fromkeys(range(1, 6), "relevance"), contested=gate
    )
    assert sentence(selection) == (
        "Order of relevance kept: balancing is switched off. "
        "The model reads the 5 most relevant documents."
    )


@pytest.mark.parametrize(
    ("reason", "head"),
    [
        ("random", "Drawn at random"),
        ("mmr", "Chosen for variety"),
        ("relevance", "Order of relevance kept"),
    ],
)
def test_rules_without_quotas_are_not_said_to_balance(
    build_selection: Build, reason: str, head: str
) -> None:
    selection = build_selection("+-+-+", chosen={1: reason, 2: reason}, rule=f"{reason}(2)")
    assert sentence(selection) == f"{head}: 1 for, 1 against. The rule is {reason}(2)."


def test_an_unlabelled_choice_by_another_rule_does_not_claim_the_order_of_relevance(
    build_selection: Build,
) -> None:
    gate = {"verdict": "unlabelled", "why": "no detector was given"}
    selection = build_selection(
        "......", chosen={2: "random", 5: "random"}, contested=gate, rule="random(2, seed 1)"
    )
    assert sentence(selection) == (
        "Chosen by random(2, seed 1): 2 not labelled. No detector was given."
    )
