from dataclasses import replace
from typing import Any

import pytest

from equipoise.errors import InputError
from equipoise.train.card import LICENCES, card_text
from equipoise.train.data import Row
from equipoise.train.measure import abstention
from equipoise.train.recipe import PRESETS, WARM_UP, preset
from equipoise.train.score import Judged, summary


def judged() -> list[Judged]:
    shares = ((0.8, 0.1, 0.1), (0.2, 0.7, 0.1), (0.1, 0.2, 0.7), (0.1, 0.2, 0.7))
    rows = [
        Row(str(at), "t", "q", "q", "x", stance, "procon20")
        for at, stance in enumerate(("con", "neutral", "pro", "con"))
    ]
    return [Judged(row, line) for row, line in zip(rows, shares, strict=True)]


def report(**changes: Any) -> dict[str, Any]:
    part = summary(judged())
    recipe = preset("small").to_dict()
    small: dict[str, Any] = {
        "name": "small",
        "version": "9.8.7",
        "base_model": "sentence-transformers/all-MiniLM-L6-v2",
        "history": None,
        "training": {
            "recipe": recipe,
            "fold": 0,
            "folds": 6,
            "rows": {"procon20": 1_234, "own_train": 55, "off_topic": 20},
            "preset": {"name": "small", "changes": {"epochs": 2}},
            "warm_up_examples": 41_548,
            "examples": 1_309,
            "minutes": 61.7,
            "device": "cpu",
        },
        "model": {
            "model_type": "bert",
            "layers": 6,
            "vocabulary": 9_999,
            "bytes": 23_400_000,
            "compressed_bytes": 17_100_000,
            "scaled_products": 12,
            "dynamic_products": 30,
            "pair": "[CLS] question [SEP] passage [SEP]",
            "max_length": 192,
        },
        "calibration": {
            "kept": "temperature and bias",
            "n": 700,
            "cross_fitted_loss": {"temperature": 0.5123, "temperature and bias": 0.4987},
            "temperature": 1.234,
            "bias": [0.1, -0.2, 0.1],
        },
        "held_out": {
            "paper_kind": part,
            "sources": {"procon20": part},
            "all": part,
            "loss": {"before": 0.7, "after": 0.6},
            "ece": {"before": 0.11, "after": 0.05},
            "abstention": abstention(judged()),
        },
        "wiki": part,
        "own_test": {
            "all": part,
            "kinds": {"claim-query": {"n": 4, "accuracy": 0.75}},
            "opposites": {"n": 8, "swapped": 0.5, "both_right": 0.375},
        },
        "negated_by_rule": {"n": 40, "swapped": 0.975, "not_formed": 3},
        "target_aware": part,
        "agreement": {
            "n": 250,
            "same_label": 0.984,
            "mean_probability_gap": 0.012,
            "largest_probability_gap": 0.21,
        },
    }
    return {**small, **changes}


def test_the_card_shows_the_figures_of_the_report() -> None:
    card = card_text(report())
    for said in (
        "# small: a stance detector",
        "base_model: sentence-transformers/all-MiniLM-L6-v2",
        "license: apache-2.0",
        "23.4 MB, 17.1 MB compressed",
        "| all | 4 | 0.750 |",
        "| 0.70 | 100.0% | 0.750 |",
        "| 0.75 | 25.0% | 1.000 |",
        "divided by 1.234, then add [0.1, -0.2, 0.1]",
        "temperature 0.5123; temperature and bias 0.4987",
        "from 0.110 to 0.050",
        "Of 8 passages asked two opposite ways, 50.0%",
        "97.5% swap",
        "98.4% the same label",
        "equipoise train --preset small --base all-MiniLM-L6-v2",
        "Knobs other than the preset's: epochs 2.",
        "62 minutes of computing (cpu)",
        "| procon20 | MIT | 1,234 |",
        "| own_train | Apache-2.0, the project's own examples | 55 |",
        "equipoise 9.8.7",
        "`[CLS] question [SEP] passage [SEP]`, 192 tokens",
    ):
        assert said in card, said


def test_no_placeholder_and_no_long_dash_is_left() -> None:
    card = card_text(report())
    assert "{" not in card
    assert "\N{EM DASH}" not in card
    assert "None" not in card


def test_what_is_not_there_is_not_told() -> None:
    found = report(target_aware=None, wiki=None, negated_by_rule={"n": 0})
    found["held_out"]["paper_kind"] = None
    found["calibration"] = {**found["calibration"], "kept": "temperature"}
    del found["calibration"]["bias"]
    card = card_text(found)
    assert "0.889" not in card
    assert "tone and stance" not in card
    assert "then add" not in card
    assert "Kept: temperature.\n" in card


def test_what_came_before_is_quoted() -> None:
    found = report(history="Warmed up on 14,000 pairs; seed 20260831.")
    found["training"]["recipe"] = replace(preset("continue")).to_dict()
    card = card_text(found)
    assert "## What came before\n\nWarmed up on 14,000 pairs; seed 20260831." in card
    assert "weights of the detector `default`" in card
    assert "## What came before" not in card_text(report())


def test_a_model_without_scaled_products_says_dynamic() -> None:
    found = report()
    found["model"]["scaled_products"] = 0
    assert "compressed; int8, dynamic |" in card_text(found)


def test_every_source_of_every_preset_has_a_licence() -> None:
    named = {"own_train", "off_topic", *WARM_UP}
    for recipe in PRESETS.values():
        named |= {*recipe.sources, *recipe.nli}
    assert named <= LICENCES.keys()


def test_a_source_without_a_licence_is_refused() -> None:
    found = report()
    found["training"]["rows"]["mystery"] = 3
    with pytest.raises(InputError, match="must name the licence of 'mystery'"):
        card_text(found)
