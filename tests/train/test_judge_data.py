"""What the judge of answers learns from: composed answers, and nothing that the detector has read."""

import json
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.train import judge_words as words
from equipoise.train.data import OWN, Row, read_rows, read_sources
from equipoise.train.folds import fold_of_topic, read_groups
from equipoise.train.judge_answers import KINDS, Composer, as_row, asked, compose
from equipoise.train.judge_data import (
    HELD,
    LEARNED,
    beside,
    held_fold,
    sentences,
    write,
)
from equipoise.train.judge_reasons import REASONS_AGAINST, REASONS_FOR
from equipoise.train.judge_subject import Subject, big, denial, ended, small, split, with_reasons
from equipoise.train.judge_table import read_table, subjects
from equipoise.train.judge_unread import (
    FIRST_RUN,
    detector_rows,
    first_draws,
    plain,
    unread_arguments,
)
from equipoise.train.mixture import build
from equipoise.train.recipe import preset

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the stance data are not here")

WHALES = Subject(
    topic="whales",
    question="Should we ban whaling?",
    claim="We should ban whaling",
    subject="whaling",
    act="banning whaling",
    opposite_question="Should whaling be permitted?",
    opposite_act="permitting whaling",
    pros=tuple(f"proargument{at} is true" for at in range(6)),
    cons=tuple(f"conargument{at} is true" for at in range(6)),
    strays=("Strayfact one is here. Strayfact two is here. Strayfact three is here.",),
    others=("otherargument0 is true", "otherargument1 is true", "otherargument2 is true"),
)
seeds = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def detectors():
    """(rows, texts, held-out groups) of the detector's runs: slow to draw again, so drawn once."""
    return detector_rows(SHARED)


sides = st.sampled_from(("pro", "con"))


def counted(answer):
    """Different arguments of each side: a sentence may stand there twice."""
    found = set(re.findall(r"((?:pro|con|other)argument\d)", " ".join(answer.sentences).lower()))
    return Counter(argument.partition("argument")[0] for argument in found)


def filled(frames):
    return {big(frame.format(**WHALES.slots)) for frame in frames}


@given(seeds, sides)
def test_an_answer_of_one_side_has_arguments_of_that_side_alone(seed, side):
    answer = Composer(WHALES, random.Random(seed)).answer("one_side", side)
    assert answer.stance == side
    assert set(counted(answer)) <= {side}


@given(seeds, sides)
def test_a_conceded_answer_has_one_argument_against_and_more_for_its_side(seed, side):
    answer = Composer(WHALES, random.Random(seed)).answer("conceded", side)
    other = {"pro": "con", "con": "pro"}[side]
    found = counted(answer)
    assert answer.stance == side
    assert found[other] == 1 <= found[side]


@given(seeds, sides)
def test_a_decided_answer_ends_with_a_conclusion_for_its_side(seed, side):
    answer = Composer(WHALES, random.Random(seed)).answer("decided", side)
    conclusions = filled(words.FOR if side == "pro" else words.AGAINST)
    opposite = filled(words.AGAINST if side == "pro" else words.FOR)
    assert answer.stance == side
    assert any(sentence in conclusions for sentence in answer.sentences[-2:])
    assert not any(sentence in opposite for sentence in answer.sentences)


@given(seeds, sides)
def test_a_balanced_answer_has_as_many_arguments_on_both_sides_and_decides_nothing(seed, side):
    answer = Composer(WHALES, random.Random(seed)).answer("balanced", side)
    found = counted(answer)
    assert answer.stance == "neutral"
    assert abs(found["pro"] - found["con"]) <= 1  # a cut last sentence may lose its argument
    assert not filled(words.FOR + words.AGAINST) & set(answer.sentences)


@given(seeds, sides, st.sampled_from(("described", "undecided", "elsewhere")))
def test_an_answer_without_a_side_has_no_argument_about_the_question(seed, side, kind):
    answer = Composer(WHALES, random.Random(seed)).answer(kind, side)
    assert answer.stance == "neutral"
    assert not {"pro", "con"} & set(counted(answer))


def test_words_without_a_side_stand_in_answers_of_every_class_alike():
    rng = random.Random(1)
    rows = compose([WHALES], 6_000, rng=rng, source="s")
    share = {}
    for stance in ("pro", "con", "neutral"):
        texts = [row.text for row in rows if row.stance == stance]
        fillers = [filler for filler in words.FILLERS if any(filler in text for text in texts)]
        assert len(fillers) == len(words.FILLERS)
        share[stance] = sum(any(f in text for f in words.FILLERS) for text in texts) / len(texts)
    assert max(share.values()) - min(share.values()) < 0.08


def test_every_frame_can_be_filled_and_leaves_no_place_open():
    frames = [
        *(*words.OPENERS, *words.DESCRIPTIONS, *words.FILLERS, *words.FRAMES, *words.SIDE_PRO),
        *(*words.SIDE_CON, *words.TURNS, *words.FOR, *words.AGAINST, *words.OPEN),
        *(*words.QUESTIONS, *words.TURNED_QUESTIONS, *REASONS_FOR, *REASONS_AGAINST),
        *(frame for pair in words.CONCESSIONS for frame in pair),
    ]
    for frame in frames:
        text = frame.format(**WHALES.slots, a="x", minor="y", major="z")
        assert "{" not in text
        assert "  " not in text


@given(seeds)
def test_a_question_asked_the_other_way_round_swaps_the_label(seed):
    rng = random.Random(seed)
    answer = Composer(WHALES, random.Random(seed)).answer("one_side", "pro")
    question, turned = asked(WHALES, random.Random(seed))
    row = as_row(WHALES, answer, random.Random(seed), name="n", source="s")
    assert row.question == question
    assert row.stance == ("con" if turned else "pro")
    assert turned == (question in turned_wordings())
    assert rng.random() == random.Random(seed).random()


def turned_wordings():
    from equipoise.train.data import OPPOSITES

    slots = WHALES.slots
    framed = {frame.format(slots["claim"]) for frame in OPPOSITES}
    return framed | {f.format(**slots) for f in words.TURNED_QUESTIONS} | {WHALES.opposite_question}


def test_a_first_yes_or_no_agrees_with_the_label_toward_the_question_asked():
    rows = compose([WHALES], 4_000, rng=random.Random(2), source="s")
    yes = [row for row in rows if re.match(r"(Yes|The (short )?answer is yes)", row.text)]
    no = [row for row in rows if re.match(r"(No[.,]|The (short )?answer is no)", row.text)]
    assert min(len(yes), len(no)) > 50
    assert {row.stance for row in yes} == {"pro"}
    assert {row.stance for row in no} == {"con"}


def test_the_same_seed_gives_the_same_answers_and_another_gives_others():
    first = compose([WHALES], 50, rng=random.Random(3), source="s")
    assert first == compose([WHALES], 50, rng=random.Random(3), source="s")
    assert first != compose([WHALES], 50, rng=random.Random(4), source="s")


def test_all_kinds_are_made():
    rows = compose([WHALES], 1_000, rng=random.Random(5), source="s")
    assert {row.id.rsplit("-", 1)[0] for row in rows} == {kind for kind, _ in KINDS}


def test_a_debate_without_a_name_for_its_act_is_asked_and_concluded_by_its_claim():
    nameless = replace(WHALES, act="", opposite_act="", claim="Whaling brings more harm than good")
    for row in compose([nameless], 2_000, rng=random.Random(6), source="s"):
        assert "  " not in f"{row.question} {row.text}"
        assert not re.search(r"\b(for|against|of) [.?]", f"{row.question} {row.text}")


@given(st.text(min_size=1).filter(str.strip))
def test_a_sentence_made_small_or_ended_keeps_its_words(text):
    assert plain(small(text)) == plain(text.strip().rstrip(".?! "))
    assert plain(ended(text)) == plain(text)


def test_a_claim_that_cannot_be_turned_round_is_refused():
    assert denial("we should ban x") == "we should not ban x"
    with pytest.raises(InputError, match="a claim must have one of"):
        denial("x seems good")


def test_sentences_are_split_at_marks_that_a_capital_follows():
    assert split("One is e.g. here. Two? Three!") == ["One is e.g. here.", "Two?", "Three!"]


def test_arguments_that_were_read_or_equal_one_in_words_are_left_out():
    def row(at, text):
        return Row(str(at), "t", "q?", "c", text, "pro", "s")

    rows = [
        row(0, "one two three four"),
        row(1, "A ban helps all, now!"),
        row(2, "a new argument here"),
    ]
    left = unread_arguments(rows, {("s", "0")}, {plain("a ban helps all now")})
    assert [kept.id for kept in left["t"]] == ["2"]


def test_another_debate_lends_arguments_only_across_topic_groups():
    near = replace(WHALES, topic="near", pros=("near pro",), cons=("near con",))
    far = replace(WHALES, topic="far", pros=("far pro",), cons=("far con",))
    groups = {"whales": "sea", "near": "sea", "far": "land"}
    found = beside([WHALES, near, far], groups, ["stray"])
    assert found[0].others == ("far pro", "far con")
    assert set(found[2].others) == {*WHALES.pros, *WHALES.cons, "near pro", "near con"}
    assert found[0].strays == ("stray",)


def test_single_sentences_take_debates_and_sides_in_turn():
    rows = sentences([WHALES, replace(WHALES, topic="other")], 8, rng=random.Random(0))
    assert [row.topic for row in rows] == ["whales", "other"] * 4
    for row in rows:
        side = "pro" if "Proargument" in row.text else "con"
        turned = row.question in turned_wordings()
        assert row.stance == ({"pro": "con", "con": "pro"}[side] if turned else side)


def test_the_table_names_each_debate_once_and_ours_with_a_claim_that_turns():
    table = read_table()
    topics = [line["topic"] for line in table]
    assert len(set(topics)) == len(topics) == 94
    for line in table:
        assert line["opposite_question"].endswith("?")
        assert bool(line["act"]) == bool(line["opposite_act"])
        assert line["topic"].startswith("own-") == bool(line["question"])
        if line["claim"]:
            assert denial(small(line["claim"])) != small(line["claim"])
    assert (OWN / "judge_topics.tsv").is_file()


def test_reasons_of_our_own_stand_on_the_side_they_are_listed_under():
    filled_in = with_reasons(WHALES)
    assert "banning whaling would make the place safer" in filled_in.pros
    assert "banning whaling would make the place less safe" in filled_in.cons
    assert not set(filled_in.pros) & set(filled_in.cons)


def test_the_fold_to_hold_out_is_the_one_that_the_trainer_deals_it_to():
    dealt = fold_of_topic(("a", "b"), {"a": HELD, "b": LEARNED}, folds=2, seed=preset("judge").seed)
    assert dealt["a"] == held_fold()
    assert dealt["b"] != held_fold()


@needs_shared
def test_the_first_run_draws_what_its_card_counts(detectors):
    sources = read_sources(SHARED / "stance", FIRST_RUN)
    groups = read_groups(SHARED / "topic_groups.tsv")
    _, _, held = detectors
    drawn = Counter(
        row.source for row in first_draws(sources, groups, held, rng=random.Random(20260831))
    )
    thinned = {"ibm_argq30k": 3_500, "perspectrum": 2_000, "ukp_room_for_debate": 1_300}
    read = sum(min(count, thinned.get(name, count)) for name, count in drawn.items())
    assert read + 1_400 == 18_881  # with the off-topic pairs: docs/runs/default-1.md
    assert len(build(SHARED, preset("continue"), fold=0).train) == 15_961  # the detector's card


@pytest.mark.slow
@needs_shared
def test_no_argument_that_the_judge_learns_from_was_read_by_the_detector(tmp_path, detectors):
    report = write(SHARED, tmp_path)
    read, texts, unseen = detectors
    table = {line["topic"] for line in read_table()}
    arguments = unread_arguments(read_rows(SHARED / "stance" / "ibm_argq30k.jsonl.gz"), read, texts)
    assert {s.topic for s in subjects(read_table(), arguments)} == table & set(arguments)
    names = ("judge_answers", "judge_reasons", "judge_sentences", "judge_checks")
    rows = {name: read_rows(tmp_path / "stance" / f"{name}.jsonl") for name in names}
    assert all(plain(row.text) not in texts for part in rows.values() for row in part)
    groups = read_groups(tmp_path / "topic_groups.tsv")
    held = {row.topic for part in rows.values() for row in part if groups[row.topic] == HELD}
    theirs = read_groups(SHARED / "topic_groups.tsv")
    assert {theirs.get(topic, topic) for topic in held - {"held-checks"}} <= unseen
    assert set(report["held_groups"]) == {theirs.get(t, t) for t in held - {"held-checks"}}
    learned = {row.topic for part in rows.values() for row in part if groups[row.topic] == LEARNED}
    assert not {theirs.get(t, t) for t in learned} & set(report["held_groups"])
    run = build(tmp_path, preset("judge"), fold=held_fold(), folds=2)
    assert {groups[row.topic] for row in run.held} == {HELD}
    assert {groups[row.topic] for row in run.train} == {LEARNED}
    assert json.loads((tmp_path / "report.json").read_text("utf-8")) == report
