"""Which rows a run learns from, and which it never sees."""

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.train.data import (
    LABELS,
    OPPOSITES,
    OWN,
    Row,
    as_claims,
    cap,
    crossed,
    joined,
    off_topic,
    opposites,
    read_nli,
    read_own,
    read_rows,
    read_sources,
)
from equipoise.train.folds import fold_of_topic, read_groups
from equipoise.train.mixture import WORKED_EXAMPLE, build
from equipoise.train.recipe import PRESETS, Recipe, preset, trial

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def made_row(at, *, topic="t", stance="pro", source="s", text=None):
    text = f"text {at}" if text is None else text
    return Row(f"{at}", topic, f"Should {topic}?", f"{topic} should.", text, stance, source)


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), st.sampled_from("ghijk"), max_size=20),
    st.lists(st.text("abcd", min_size=1, max_size=3), min_size=1, max_size=20),
    st.integers(2, 6),
)
def test_folds_never_split_a_group(groups, topics, folds):
    dealt = fold_of_topic(topics, groups, folds=folds, seed=1)
    assert set(dealt) == set(topics)
    by_group = {}
    for topic, fold in dealt.items():
        assert 0 <= fold < folds
        assert by_group.setdefault(groups.get(topic, topic), fold) == fold
    sizes = Counter(by_group.values())
    assert max(sizes.values()) - min(sizes[fold] for fold in range(folds)) <= 1


def test_folds_do_not_depend_on_the_order_of_topics():
    topics = [f"t{at}" for at in range(30)]
    assert fold_of_topic(topics, {}, seed=5) == fold_of_topic(reversed(topics), {}, seed=5)
    assert fold_of_topic(topics, {}, seed=5) != fold_of_topic(topics, {}, seed=6)


@pytest.mark.parametrize("fold", [0, 1, 2, None])
def test_held_topics_never_appear_in_training_rows(data, recipe, fold):
    groups = read_groups(data / "topic_groups.tsv")
    recipe = replace(recipe, crossed=40, off_topic=40)
    mixture = build(data, recipe, fold=fold, folds=3)
    everything = [
        r for rows in read_sources(data / "stance", recipe.sources).values() for r in rows
    ]
    topic_of_text = {r.text: r.topic for r in everything}
    background = ((f"background {t} {n}", t) for t in (*groups, "drugs") for n in range(3))
    topic_of_text.update(background)
    held = {groups.get(r.topic, r.topic) for r in mixture.held if r.source != "off_topic"}
    assert "pills" in held
    assert len(held) == 1 if fold is None else len(held) >= 4
    made = Counter(r.source for r in (*mixture.train, *mixture.crossed))
    assert made["off_topic"] == made["crossed"] == 40
    for row in (*mixture.train, *mixture.crossed):
        assert groups.get(row.topic, row.topic) not in held, row
        of_text = topic_of_text.get(row.text)
        assert of_text is None or groups.get(of_text, of_text) not in held, row
        assert WORKED_EXAMPLE not in row.question


def test_a_background_topic_of_a_held_group_is_not_learned_from(data, recipe):
    # "drugs" has no stance row; its group is that of the worked example.
    recipe = replace(recipe, off_topic=300)
    mixture = build(data, recipe, fold=None)
    learned = " ".join(row.text for row in mixture.train)
    assert "background drugs" not in learned
    assert "background topic-c" in learned
    assert "river" in learned  # of no group at all


def test_every_row_is_held_out_by_one_fold(data, recipe):
    held = Counter(
        (row.source, row.id)
        for fold in range(4)
        for row in build(data, recipe, fold=fold, folds=4).held
        if row.source != "off_topic" and row.topic != "pills"
    )
    assert set(held.values()) == {1}
    assert len(held) == 12 * (6 + 5 + 4)


def test_the_same_seed_gives_the_same_rows(data, recipe):
    assert build(data, recipe) == build(data, recipe)
    assert build(data, recipe).train != build(data, replace(recipe, seed=1)).train


def test_off_topic_rows_cross_groups_and_are_neutral():
    groups = {"a": "x", "b": "x", "c": "y"}
    texts = [("a", "A"), ("b", "B"), ("c", "C")]
    made = off_topic([made_row(0, topic="a")], texts, groups, 20, rng=random.Random(1))
    assert {(row.text, row.stance, row.source) for row in made} == {("C", "neutral", "off_topic")}
    assert len(made) == 20


def test_off_topic_rows_are_none_where_no_pair_crosses_groups():
    rng = random.Random(1)
    assert off_topic([made_row(0, topic="a")], [("a", "A")], {}, 5, rng=rng) == []
    assert off_topic([], [("a", "A")], {}, 5, rng=rng) == []
    assert off_topic([made_row(0)], [], {}, 5, rng=rng) == []


def test_crossed_pairs_are_not_a_rows_own_text():
    rows = [made_row(at, topic=f"t{at}") for at in range(3)]
    texts = [(row.topic, row.text) for row in rows]
    made = crossed(rows, texts, {}, 30, rng=random.Random(1))
    own = {row.question: row.text for row in rows}
    assert {row.source for row in made} == {"crossed"}
    assert all(own[row.question] != row.text for row in made)
    pairs = [(row.question, row.text) for row in made]
    assert len(pairs) == len(set(pairs)) == 6  # three questions, two texts each that are not theirs
    assert crossed(rows[:1], texts[:1], {}, 3, rng=random.Random(1)) == []
    assert crossed([], texts, {}, 3, rng=random.Random(1)) == []
    assert crossed(rows, [], {}, 3, rng=random.Random(1)) == []


def test_crossed_pairs_draw_topics_evenly_and_mostly_stay_in_a_group():
    rows = [made_row(at, topic="many") for at in range(60)] + [made_row(99, topic="few")]
    texts = [(topic, f"{topic} {at}") for topic in ("many", "few", "far") for at in range(300)]
    made = crossed(rows, texts, {}, 300, rng=random.Random(1))
    asked = Counter(row.topic for row in made)
    assert abs(asked["many"] - asked["few"]) < 60  # 60 rows against one
    near = sum(row.text.startswith(row.topic) for row in made)
    assert 240 < near < 290


def test_joined_passages_are_sentences_of_one_topic_and_side():
    sides = {("a", "pro"): 6, ("a", "con"): 3, ("b", "pro"): 2, ("b", "con"): 1}
    rows = [
        made_row(f"{topic}{stance}{at}", topic=topic, stance=stance, text=f"{topic} {stance} {at}")
        for (topic, stance), count in sides.items()
        for at in range(count)
    ]
    rows += [made_row("n", topic="a", stance="neutral", text=f"a neutral {at}") for at in range(3)]
    rows += [made_row("long", topic="b", stance="con", text="word " * 31)]
    made = joined(rows, 30, rng=random.Random(1))
    assert len(made) == 30
    assert Counter((row.topic, row.stance) for row in made) == {
        ("a", "pro"): 10,
        ("a", "con"): 10,
        ("b", "pro"): 10,
    }
    for row in made:
        sentences = row.text.rstrip(".").split(". ")
        assert 2 <= len(sentences) <= 5
        assert len(set(sentences)) == len(sentences)
        assert {text.lower()[:-2] for text in sentences} == {f"{row.topic} {row.stance}"}
    assert joined(rows[-1:], 5, rng=random.Random(1)) == []
    assert joined(rows, 0, rng=random.Random(1)) == []


def test_a_sentence_keeps_its_own_end_when_it_is_joined():
    rows = [made_row(at, text=text) for at, text in enumerate(("is it? ", "yes"))]
    [made] = joined(rows, 1, rng=random.Random(1))
    assert sorted(made.text.split()) == ["Is", "Yes.", "it?"]


def test_joined_passages_are_of_training_topics_alone(data, recipe):
    mixture = build(data, replace(recipe, joined=12), folds=3)
    made = [row for row in mixture.train if row.source == "joined"]
    held = {row.topic for row in mixture.held if row.source != "off_topic"}
    assert len(made) == 12
    assert not held & {row.topic for row in made}


def test_hypotheses_that_leave_no_room_are_left_out(tmp_path):
    import gzip

    lines = [
        {
            "id": str(at),
            "premise": "p",
            "hypothesis": "h " * words,
            "label": "neutral",
            "group": "g",
        }
        for at, words in enumerate((60, 61))
    ]
    with gzip.open(tmp_path / "x.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    rows = read_nli(tmp_path, {"x": 9}, rng=random.Random(1))
    assert [row.id for row in rows] == ["0"]


@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(0, 50))
def test_a_cap_spreads_over_topics(sizes, limit):
    rows = [
        made_row(f"{topic}-{at}", topic=f"t{topic}")
        for topic, size in enumerate(sizes)
        for at in range(size)
    ]
    taken = cap(rows, limit, rng=random.Random(2))
    assert len(taken) == min(limit, len(rows))
    assert len(set(taken)) == len(taken)
    counts = Counter(row.topic for row in taken)
    most = max(counts.values(), default=0)
    for topic, size in enumerate(sizes):  # a topic that has more to give is at most one behind
        assert counts[f"t{topic}"] == size or most - counts[f"t{topic}"] <= 1


def test_claims_keep_the_label():
    rows = [made_row(at, stance=LABELS[at % 3]) for at in range(30)]
    made = as_claims(rows, 1.0, rng=random.Random(1))
    assert [row.stance for row in made] == [row.stance for row in rows]
    assert all(row.question == row.claim for row in made)
    assert as_claims(rows, 0.0, rng=random.Random(1)) == rows


def test_opposites_swap_pro_and_con_and_leave_the_rest():
    rows = [made_row(at, stance=LABELS[at % 3]) for at in range(30)]
    made = opposites(rows, 1.0, rng=random.Random(1))
    swapped = {"pro": "con", "con": "pro", "neutral": "neutral"}
    assert [row.stance for row in made] == [swapped[row.stance] for row in rows]
    frames = {frame.format("t should") for frame in OPPOSITES}
    assert {row.question for row in made if row.stance != "neutral"} == frames
    assert [r for r in made if r.stance == "neutral"] == [r for r in rows if r.stance == "neutral"]
    own = [replace(row, source="own_train") for row in rows]
    assert opposites(own, 1.0, rng=random.Random(1)) == own


def test_fiction_is_left_out_of_the_warm_up(data):
    rows = read_nli(data / "nli", {"boolq": 100}, rng=random.Random(1))
    assert len(rows) == 23
    assert "boolq-0" not in {row.id for row in rows}
    assert {row.stance for row in rows} == set(LABELS)


def test_a_broken_line_is_named_with_its_place(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text('{"id": "1"}\n')
    with pytest.raises(InputError, match=r"s\.jsonl:1 must be a stance object"):
        read_rows(path)
    entry = dict.fromkeys(("id", "topic", "question", "claim", "text", "stance", "source"), "x")
    path.write_text(json.dumps(entry) + "\n")
    with pytest.raises(InputError, match="stance must be in"):
        read_rows(path)


def test_missing_files_are_named(data, recipe, tmp_path):
    with pytest.raises(InputError, match=r"no file nowhere\.jsonl"):
        build(data, replace(recipe, sources={"nowhere": 1}))
    with pytest.raises(InputError, match=r"snli\.jsonl\.gz must be there"):
        build(data, replace(recipe, nli={"snli": 1}))
    with pytest.raises(InputError, match=r"topic_groups\.tsv must be there"):
        read_groups(tmp_path / "topic_groups.tsv")
    (tmp_path / "groups.tsv").write_text("topic\tset\n")
    with pytest.raises(InputError, match="columns topic, group"):
        read_groups(tmp_path / "groups.tsv")


@pytest.mark.parametrize(("fold", "folds"), [(3, 3), (-1, 3), (0, 1)])
def test_a_fold_that_is_not_there_is_an_error(data, recipe, fold, folds):
    with pytest.raises(InputError, match="fold must lie in"):
        build(data, recipe, fold=fold, folds=folds)


def test_presets_change_by_name():
    assert preset("paper", epochs=2).epochs == 2
    assert PRESETS["paper"].epochs == 5
    with pytest.raises(InputError, match="preset must be one of paper, equipoise"):
        preset("other")
    with pytest.raises(InputError, match="claims must lie in"):
        Recipe(claims=1.5)
    with pytest.raises(InputError, match="learning_rate must be > 0"):
        preset("paper", learning_rate=0.0)


def test_the_paper_preset_is_the_papers():
    paper = PRESETS["paper"]
    assert (paper.learning_rate, paper.batch_rows, paper.max_length, paper.seed, paper.epochs) == (
        1e-5,
        16,
        256,
        20260831,
        5,
    )
    assert set(paper.sources) == {"procon20", "ibm_wiki_passages"}


def test_a_trial_is_even_over_sources(data, recipe):
    small = trial(replace(recipe, own=2), 24)
    assert small.own == 0
    counts = Counter(row.source for row in build(data, small).train)
    assert counts == dict.fromkeys((*recipe.sources, "off_topic"), 6)
    assert sum(small.nli.values()) <= 24
    with pytest.raises(InputError, match="max_rows"):
        trial(recipe, 3)


# The project's own examples


@pytest.mark.parametrize("name", ["train", "test"])
def test_own_examples_parse(name):
    rows = read_own(name)
    assert {row.stance for row in rows} == set(LABELS)
    assert all(row.question.strip() and row.text.strip() for row in rows)
    assert len({row.id for row in rows}) == len(rows)


def test_own_test_shares_no_text_and_no_topic_with_own_train():
    train, test = (
        [json.loads(line) for line in (OWN / f"{name}.jsonl").read_text("utf-8").splitlines()]
        for name in ("train", "test")
    )
    for field in ("topic", "text"):
        assert not {entry[field] for entry in train} & {entry[field] for entry in test}
    assert len(read_own("test")) >= 150
    assert {entry["kind"] for entry in train} == {entry["kind"] for entry in test}


def test_own_test_is_in_no_runs_training_rows(data, recipe):
    train = {row.text for row in build(data, replace(recipe, own=2)).train}
    assert not train & {row.text for row in read_own("test")}
    assert {row.text for row in read_own("train")} <= train


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real data is not here")
def test_the_real_data_gives_a_trial_that_holds_its_topics_out():
    recipe = trial(preset("equipoise"), 200)
    groups = read_groups(SHARED / "topic_groups.tsv")
    mixture = build(SHARED, recipe)
    assert 150 < len(mixture.train) <= 200
    held = {groups.get(row.topic, row.topic) for row in mixture.held if row.source != "off_topic"}
    assert not held & {groups.get(row.topic, row.topic) for row in mixture.train}
    assert WORKED_EXAMPLE in {row.question for row in mixture.held}
