"""One suite over every defence; a new one joins by its name in `names.NAMES`."""

import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.defences import NAMES, Case, Defence, RuleDefence, defence
from equipoise.lab.defences.balanced import BalancerDefence
from equipoise.testing import FakeDetector
from equipoise.types import Candidate, StanceScore

PRO = StanceScore(0.8, 0.1, 0.1)
CON = StanceScore(0.1, 0.8, 0.1)
NEUTRAL = StanceScore(0.1, 0.1, 0.8)
QUESTION = "Should bread be free?"
WORDS = [
    "bread",
    "free",
    "cost",
    "baker",
    "tax",
    "poor",
    "rich",
    "price",
    "grain",
    "mill",
    "oven",
    "share",
    "field",
    "law",
    "town",
]


def case(n, *, seed=1, dimension=8, words=30):
    """n documents of one topic: vectors near one another, texts of shared words, all stances."""
    rng = np.random.default_rng(seed)
    question = rng.normal(size=dimension)
    rows = question + rng.normal(size=(n, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    near = rows @ question / np.linalg.norm(question)
    order = np.argsort(-near)
    docs = tuple(
        Candidate(f"d{i}", " ".join(rng.choice(WORDS, words)), float(near[at]), embedding=rows[at])
        for i, at in enumerate(order)
    )
    return Case(QUESTION, docs, [(PRO, CON, NEUTRAL)[int(x)] for x in rng.integers(3, size=n)])


def changed(old, **parts):
    return Case(old.question, tuple(replace(d, **parts) for d in old.candidates), old.scores)


def check(made, at):
    """What every decision owes."""
    said = made.defend(at)
    chosen = said.chosen
    assert isinstance(chosen, tuple)
    assert all(type(index) is int for index in chosen)
    assert len(chosen) <= 5
    assert list(chosen) == sorted(set(chosen))
    assert all(0 <= index < len(at.candidates) for index in chosen)
    assert isinstance(said.flagged, frozenset)
    assert said.flagged <= set(range(len(at.candidates)))
    assert not said.flagged & set(chosen)
    assert len(chosen) == min(5, seats(made, at) - len(said.flagged))
    return said


def seats(made, at):
    """How many documents may be chosen: a Balancer gives blank texts and copies no seat."""
    texts = [d.text for d in at.candidates]
    if isinstance(made, BalancerDefence):
        texts = [text for text in texts if text.strip()]
        return len(set(texts)) if made.merge_duplicates else len(texts)
    return len(texts)


@pytest.fixture(params=NAMES)
def made(request):
    return defence(request.param)


def test_it_is_a_defence_whose_name_tells_its_settings(made):
    assert isinstance(made, Defence)
    label, settings_told = made.name.split(": ", 1)
    assert label in NAMES
    assert any(character.isdigit() for character in settings_told)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 20, 21, 50])
def test_it_chooses_five_or_all_that_are_left_in_rank_order_and_nothing_flagged(made, n):
    for seed in (1, 2):
        check(made, case(n, seed=seed))


def test_an_empty_pool_gives_nothing(made):
    said = made.defend(Case(QUESTION, (), []))
    assert (said.chosen, said.flagged) == ((), frozenset())


@pytest.mark.parametrize("n", [2, 7, 30])
def test_it_stands_identical_embeddings(made, n):
    check(made, changed(case(n), embedding=(0.6, 0.8), score=0.5))


@pytest.mark.parametrize("n", [2, 7, 30])
def test_it_stands_identical_texts(made, n):
    check(made, changed(case(n), text="The same words in every document."))


def test_it_stands_documents_that_are_identical_in_everything(made):
    check(made, changed(case(12), embedding=(0.6, 0.8), score=0.5, text="All the same."))


@pytest.mark.parametrize("text", ["", " \n\t", "the of and", "???", "面包应该免费吗"])
def test_it_stands_texts_without_a_word_to_weigh(made, text):
    check(made, changed(case(9), text=text))


def test_it_stands_one_blank_text_among_others(made):
    at = case(9)
    docs = list(at.candidates)
    docs[3] = replace(docs[3], text=" ")
    check(made, Case(QUESTION, tuple(docs), [*at.scores[:3], NEUTRAL, *at.scores[4:]]))


def test_it_changes_nothing_and_decides_the_same_again(made):
    at = case(30)
    before = (at.question, tuple(replace(d) for d in at.candidates), list(at.scores))
    first = made.defend(at)
    assert made.defend(at) == first
    assert (at.question, at.candidates, list(at.scores)) == before


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_makes_the_same_defence(name):
    one, two = defence(name, seed=7), defence(name, seed=7)
    at = case(30, seed=5)
    assert one.name == two.name
    assert one.defend(at) == two.defend(at)


def test_ids_play_no_part(made):
    if made.name.startswith("random5"):
        pytest.skip("the paper's draw is seeded with the ids, so that each pool has its own")
    at = case(30)
    ids = [d.id for d in at.candidates][::-1]
    other = tuple(replace(d, id=id) for d, id in zip(at.candidates, ids, strict=True))
    assert made.defend(Case(QUESTION, other, at.scores)) == made.defend(at)


def test_what_lies_below_the_chosen_depth_is_read_for_no_choosing_rule(made):
    if isinstance(made, RuleDefence) and made.filter is None and "quota" not in made.name:
        said = made.defend(case(50))
        assert all(index < 20 for index in said.chosen)


def test_only_defences_that_say_so_ask_for_the_instruction():
    asked = {name for name in NAMES if defence(name).defend(case(6)).instruct}
    assert asked == {"prompt_only", "brra", "quota_prompt"}


class CountedScores(list):
    """A list of scores that remembers which were read."""

    def __init__(self, scores):
        super().__init__(scores)
        self.read = set()

    def __getitem__(self, index):
        self.read.add(index)
        return super().__getitem__(index)


LABELS = {"smart", "smart_seek", "quota", "quota_prompt", "quota_duplicates", "quota_gate"}


def test_labels_are_read_by_those_that_need_them_only(made):
    at = case(50)
    scores = CountedScores(at.scores)
    made.defend(Case(QUESTION, at.candidates, scores))
    label = made.name.split(":")[0]
    assert bool(scores.read) == (label in LABELS | {"biasdef_quota"})
    assert len(scores.read) <= 20


def test_fifty_documents_of_384_numbers_take_little_time(made, capsys):
    at = case(50, dimension=384, words=150)
    rng = np.random.default_rng(0)
    often = 1 / np.arange(1, 3001)  # words as in a language: few of them often, most seldom
    texts = [
        " ".join(f"w{x}" for x in rng.choice(3000, 150, p=often / often.sum())) for _ in at.scores
    ]
    docs = tuple(replace(d, text=t) for d, t in zip(at.candidates, texts, strict=True))
    at = Case(at.question, docs, at.scores)
    made.defend(at)  # loads what it needs
    took = []
    for _ in range(3):
        began = time.process_time()
        check(made, at)
        took.append(1e3 * (time.process_time() - began))
    with capsys.disabled():
        print(f"\n{made.name.split(':')[0]:18} {min(took):7.1f} ms of CPU", end="")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 30), st.integers(0, 10_000), st.sampled_from([2, 3, 8]))
def test_any_pool_is_decided_on_as_promised(n, seed, dimension):
    at = case(n, seed=seed, dimension=dimension, words=1 + seed % 12)
    for name in NAMES:
        check(defence(name), at)


def test_an_unknown_name_is_told_what_there_is():
    with pytest.raises(InputError, match="quota_gate"):
        defence("magic")


@pytest.mark.parametrize("seed", [-1, 1.5, True, None])
def test_a_seed_must_be_a_whole_number(seed):
    with pytest.raises(InputError, match="seed"):
        defence("random5", seed=seed)


def test_a_detector_takes_the_place_of_the_labels_of_the_case():
    at = case(12)
    table = {d.text: "con" if i < 6 else "pro" for i, d in enumerate(at.candidates)}
    made = defence("quota", detector=FakeDetector(table))
    assert made.defend(at).chosen == (0, 1, 2, 6, 7)
    assert "labels" in made.name


READS_VECTORS = ["mmr", "smart", "brra", "pyversity_mmr", "trustrag", "grada", "ragdefender"]


@pytest.mark.parametrize("name", READS_VECTORS)
@pytest.mark.parametrize("vector", [None, (0.0,) * 8, (1.0, 0.0)])
def test_a_document_without_a_usable_vector_is_named(name, vector):
    at = case(6)
    docs = (*at.candidates[:2], replace(at.candidates[2], embedding=vector), *at.candidates[3:])
    with pytest.raises(InputError, match="d2|one length"):
        defence(name).defend(Case(QUESTION, docs, at.scores))


@pytest.mark.parametrize("name", ["smart", "brra", "pyversity_dpp", "grada"])
def test_a_document_without_a_score_is_named(name):
    at = case(6)
    docs = (*at.candidates[:2], replace(at.candidates[2], score=None), *at.candidates[3:])
    with pytest.raises(InputError, match="'d2'"):
        defence(name).defend(Case(QUESTION, docs, at.scores))


def test_the_table_of_the_documents_has_every_name_and_no_other():
    page = Path(__file__).parents[2] / "docs" / "defences.md"
    rows = [
        line.split("|")[1] for line in page.read_text("utf-8").splitlines() if line[:3] == "| `"
    ]
    assert tuple(name for row in rows for name in re.findall(r"`(\w+)`", row)) == NAMES


@pytest.mark.parametrize("name", READS_VECTORS)
def test_the_length_of_a_vector_plays_no_part(name):
    at = case(30, seed=4)
    scaled = tuple(
        replace(d, embedding=[x * 2.0 ** (i % 5 - 2) for x in d.embedding])
        for i, d in enumerate(at.candidates)
    )
    made = defence(name)
    assert made.defend(Case(at.question, scaled, at.scores)) == made.defend(at)
