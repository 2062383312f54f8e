import gzip
import itertools
import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.about import shares
from equipoise.lab.background import drawn, merged, without_overlap
from equipoise.lab.build import Plan, build_pack
from equipoise.lab.holding import Held, hold_out, is_joined, without_copies
from equipoise.lab.joining import LEAST_WORDS, MOST_WORDS, Sentences, joined
from equipoise.lab.overlap import NEAR, Overlaps, Spoken, near_pairs, plain, share
from equipoise.lab.pack import Document, Origin
from equipoise.lab.packing import make_pack
from equipoise.lab.questions import TopicQuestions, read_questions
from equipoise.lab.stance_data import PASSAGES, SENTENCES, Text, read_background, read_texts
from equipoise.retrieval.readers import read_rows
from equipoise.types import Stance

SHARED = Path("/work/shared/data")
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the stance data is not here")


def entry(topic: str, related: dict[str, str] | None = None, fold: int = 3) -> TopicQuestions:
    related = related or {}
    asked = tuple(f"Should we have {topic} ({number})?" for number in range(5))
    folds = dict.fromkeys((topic, *related), fold)
    return TopicQuestions(topic, topic, topic.title(), asked, related, folds)


def prose(seed: object, count: int) -> str:
    """`count` made-up words, different for each seed."""
    rng = random.Random(repr(seed))
    made = ["".join(rng.choices("abcdefghijklmnoprstu", k=rng.randint(3, 9))) for _ in range(count)]
    return " ".join(made).capitalize() + "."


def row(number: int, topic: str, stance: str, source: str, *, count: int = 40) -> dict[str, str]:
    name = f"{source}-{topic}-{stance}-{number}"
    return {"id": name, "topic": topic, "stance": stance, "text": prose(name, count)}


def write(path: Path, rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(r) + "\n" for r in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")


def passages(topic: str, pro: int, con: int, neutral: int) -> list[dict[str, str]]:
    sides = {"pro": pro, "con": con, "neutral": neutral}
    return [
        row(number, topic, stance, "ibm_wiki_passages")
        for stance, count in sides.items()
        for number in range(count)
    ]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Tea has 12 for and 4 against; cake 3 and 3; salt 2 and 2; jam lacks a second against."""
    folder = tmp_path / "data"
    rows = [*passages("tea", 12, 4, 3), *passages("cake", 3, 3, 1), *passages("salt", 2, 2, 1)]
    write(folder / "stance/ibm_wiki_passages.jsonl", [*rows, *passages("jam", 4, 1, 2)])
    argued = [
        row(number, "ban-tea", stance, "ibm_argq30k", count=16)
        for stance in ("pro", "con")
        for number in range(12)
    ]
    write(folder / "stance/ibm_argq30k.jsonl.gz", argued)
    noise = [
        {"id": f"wiki-{n}", "topic": "tea", "title": "Tea", "text": prose(f"noise {n}", 50)}
        for n in range(6)
    ]
    write(folder / "background/wikipedia_topics.jsonl.gz", noise)
    return folder


def arguments(data: Path) -> list[dict[str, str]]:
    with gzip.open(data / "stance/ibm_argq30k.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


ENTRIES = (
    entry("tea", {"ban-tea": "opposite"}),
    entry("cake", fold=0),
    entry("salt"),
    entry("jam"),
)


def built(data: Path, plan: Plan | None = None, background: tuple[Document, ...] = ()):
    return build_pack(data, background, plan or Plan(), questions=ENTRIES)


def counted(pack) -> Counter:
    return Counter((d.topic, str(d.origin), str(d.stance)) for d in pack.documents)


def test_what_can_be_spared_is_held_out_and_joined_passages_fill_up(data):
    pack = built(data)
    counts = counted(pack)
    assert {topic.id for topic in pack.topics} == {"tea", "cake", "salt"}
    assert counts["tea", "genuine", "pro"] == 5
    assert counts["tea", "injected", "pro"] == 7
    assert counts["tea", "genuine", "con"] == 2
    # 2 of 4 against may go; 12 sentences of 16 words make 4 passages of 48 words.
    assert counts["tea", "injected", "con"] == 2 + 4
    assert (counts["cake", "genuine", "pro"], counts["cake", "injected", "pro"]) == (2, 1)
    assert (counts["salt", "genuine", "con"], counts["salt", "injected", "con"]) == (2, 0)


def test_a_topic_without_both_sides_and_the_middle_is_no_topic_of_a_pack(data):
    assert "jam" not in {topic.id for topic in built(data).topics}
    with pytest.raises(InputError, match="must hold a topic with 2 texts for"):
        build_pack(data, (), Plan(), questions=[entry("jam")])


def test_a_text_of_fewer_than_25_words_is_no_passage(data):
    path = data / "stance/ibm_wiki_passages.jsonl"
    sizes = [row(number, "tea", "pro", "short", count=number) for number in (24, 25)]
    write(path, [*map(json.loads, path.read_text().splitlines()), *sizes])
    found = {d.id for d in built(data).documents}
    assert sizes[0]["id"] not in found
    assert sizes[1]["id"] in found


def test_joined_passages_take_the_side_of_the_opposite_question_turned_round(data):
    made = [d for d in built(data).documents if d.source.startswith("joined:")]
    assert {(d.topic, d.stance, d.source) for d in made} == {
        ("tea", Stance.CON, "joined:ibm_argq30k")
    }
    # The sentences argue for "ban-tea", and so against tea.
    for_the_ban = [r["text"] for r in arguments(data) if r["stance"] == "pro"]
    for document in made:
        assert sum(text in document.text for text in for_the_ban) >= 2
        assert LEAST_WORDS <= len(document.text.split()) <= MOST_WORDS


def test_the_same_seed_gives_the_same_pack_and_another_seed_another(data):
    one, again, other = built(data), built(data), built(data, Plan(seed=5))
    assert one == again
    held = [{d.id for d in p.documents if d.origin is Origin.INJECTED} for p in (one, other)]
    assert held[0] != held[1]


def test_what_is_held_out_depends_on_neither_length_nor_order_nor_background(data):
    before = {d.id for d in built(data).documents if d.origin is Origin.INJECTED}
    path = data / "stance/ibm_wiki_passages.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for number, changed in enumerate(rows):
        changed["text"] = prose(("other", number), 30 + 7 * (number % 9))
    write(path, rows[::-1])
    noise = (Document("n", prose("n", 50), Origin.BACKGROUND, "x"),)
    after = {d.id for d in built(data, background=noise).documents if d.origin is Origin.INJECTED}
    assert before == after


def test_the_topics_with_most_to_plant_come_first_and_fewer_than_asked_is_told(data):
    assert [t.id for t in built(data, Plan(topics=1)).topics] == ["tea"]
    assert [t.id for t in built(data, Plan(topics=2)).topics] == ["cake", "tea"]
    pack = built(data, Plan(topics=42))
    assert (len(pack.topics), pack.about["topics_asked_for"]) == (3, 42)


def test_near_copies_never_lie_on_both_sides_of_the_split(data):
    path = data / "stance/ibm_wiki_passages.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    # Every text for tea comes a second time, as a window that begins two words later.
    windows = [
        {**r, "id": "window-" + r["id"], "text": " ".join(r["text"].split()[2:]) + " And so on."}
        for r in rows
        if r["topic"] == "tea"
    ]
    write(path, [*rows, *windows])
    pack = built(data)
    texts = [d.text for d in pack.documents]
    assert list(near_pairs(texts)) == []
    assert not any(d.id.startswith("window-") for d in pack.documents)
    assert pack.about["left_out"]["near-copies with one stance"] == len(windows)


def test_a_text_with_two_stances_goes_altogether(data):
    path = data / "stance/ibm_wiki_passages.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    twice = next(r for r in rows if r["topic"] == "tea" and r["stance"] == "pro")
    write(path, [*rows, {**twice, "id": "again", "stance": "con", "text": twice["text"].upper()}])
    pack = built(data)
    assert plain(twice["text"]) not in {plain(d.text) for d in pack.documents}
    assert pack.about["left_out"]["near-copies with two stances"] == 2


def test_sentences_that_stand_in_a_passage_are_not_joined(data):
    path = data / "stance/ibm_wiki_passages.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    against = [r["text"] for r in arguments(data) if r["stance"] == "pro"]
    told = {**rows[0], "id": "tells", "topic": "salt", "stance": "neutral"}
    told["text"] = f"{prose('a', 20)} {against[0].upper()} {prose('b', 20)} {against[1].lower()}"
    write(path, [*rows, told])
    planted = [d.text for d in built(data).documents if d.source.startswith("joined:")]
    assert planted
    for sentence in against[:2]:
        assert not any(plain(sentence) in plain(text) for text in planted)


def test_background_that_repeats_the_pack_is_left_out_and_keeps_no_topic(data):
    clean = built(data)
    by_id = {d.id: d for d in clean.documents}
    held = next(d for d in by_id.values() if d.origin is Origin.INJECTED and "joined" not in d.id)
    made = next(d for d in by_id.values() if d.source.startswith("joined:"))
    sentence = made.text.split(". ")[0]
    background = (
        *read_background(data),
        Document("copy", held.text.lower(), Origin.BACKGROUND, "x"),
        Document("holds", f"{prose('c', 30)} {sentence}. {prose('d', 30)}", Origin.BACKGROUND, "x"),
        Document("fine", prose("fine", 40), Origin.BACKGROUND, "x"),
        Document("twice", prose("fine", 40), Origin.BACKGROUND, "x"),
    )
    pack = built(data, background=background)
    left = [d for d in pack.documents if d.origin is Origin.BACKGROUND]
    assert [d.id for d in left] == [*(f"wiki-{n}" for n in range(6)), "fine"]
    assert all(d.topic is None and d.stance is None for d in left)
    assert pack.about["left_out"]["background near a text of the pack"] == 3


def test_shares_are_recomputed_by_hand(data):
    found = shares(built(data), (2, 7))
    # For: tea 2/(7+2) with 5+2 genuine, cake 1/(4+1), salt 0; a topic gives what it has.
    assert found[2]["pro"] == pytest.approx((2 / 9 + 1 / 5 + 0) / 3)
    assert found[7]["pro"] == pytest.approx((7 / 14 + 1 / 5 + 0) / 3)
    assert found[7]["con"] == pytest.approx((6 / 13 + 1 / 5 + 0) / 3)
    assert found[7]["both"] == pytest.approx((found[7]["pro"] + found[7]["con"]) / 2)


def test_the_manifest_tells_sources_folds_and_what_the_data_lacks(data):
    about = built(data).about
    assert about["counts_per_topic"]["tea"]["joined_con"] == 4
    assert about["per_topic"]["tea"]["related"] == {"ban-tea": "opposite"}
    assert about["detector_folds"]["groups"]["cake"]["seen_in_training"] is False
    assert about["detector_folds"]["groups"]["tea"]["seen_in_training"] is True
    assert {s["name"]: s["documents"] for s in about["sources"]}["ibm_argq30k"] == 4
    assert all(s["licence"] for s in about["sources"])
    assert "procon20" in about["sources_missing"]
    json.dumps(about)


def test_a_missing_main_source_and_a_damaged_row_are_named(data, tmp_path):
    with pytest.raises(InputError, match="ibm_wiki_passages"):
        build_pack(tmp_path, (), questions=ENTRIES)
    with pytest.raises(InputError, match="background"):
        read_background(tmp_path)
    path = data / "stance/ibm_wiki_passages.jsonl"
    rows = path.read_text()
    path.write_text(rows.replace('"stance": "con"', '"stance": "against"', 1))
    with pytest.raises(InputError, match=r"ibm_wiki_passages.jsonl:\d+.*against"):
        built(data)
    path.write_text(rows.replace('"text": "', '"words": "', 1))
    with pytest.raises(InputError, match="'text' must be a text"):
        built(data)


@pytest.mark.parametrize("wrong", [{"planted": -1}, {"kept": 0}])
def test_numbers_outside_their_range_are_refused(wrong):
    with pytest.raises(InputError, match="must hold"):
        Held(**wrong)
    with pytest.raises(InputError, match="topics"):
        Plan(topics=0)
    with pytest.raises(InputError, match="limit"):
        drawn([Document(str(n), "x", Origin.BACKGROUND, "x") for n in range(3)], 0, seed=1)


def test_nothing_is_joined_from_scraps_and_no_sentence_is_used_twice():
    def text(number: int, words: str) -> Text:
        return Text(str(number), "tea", Stance.PRO, words, "perspectrum")

    good = [text(n, prose(("s", n), 10).rstrip(".") + ":") for n in range(20)]
    scraps = [
        text(100, "Tea is good"),
        text(101, 'Tea is called "the leaf of life by all who drink it'),
        text(102, "Tea .. has a long history in many lands of the east"),
        text(103, "Tea is good for all. people drink it in every land there is"),
    ]
    sentences = Sentences([*scraps, *good, text(104, good[0].text.upper())], [])
    stock = sentences.of("tea", Stance.PRO, rng=random.Random(1))
    assert {t.id for t in stock} & {"100", "101", "102", "103"} == set()
    assert len(stock) == 20
    made = joined(stock, 7, rng=random.Random(1))
    assert len(made) == 4  # five sentences of ten words each
    used = Counter(n.id for n in good for m in made if plain(n.text) in plain(m.text))
    assert len(used) == 20
    assert set(used.values()) == {1}
    assert all(m.text.endswith(".") and ":" not in m.text for m in made)


def test_a_sentence_of_few_words_that_stands_in_a_passage_is_not_joined():
    said = Text("s", "tea", Stance.PRO, "Tea makes people happy.", "perspectrum")
    passage = Text("p", "salt", Stance.CON, prose("p", 30) + " tea makes people HAPPY", "x")
    assert Sentences([said], []).of("tea", Stance.PRO, rng=random.Random(1)) == [said]
    assert Sentences([said], [passage]).of("tea", Stance.PRO, rng=random.Random(1)) == []


def test_a_lightly_edited_sentence_of_a_passage_is_not_joined():
    words = [f"word{n}" for n in range(14)]
    passage = Text("p", "tea", Stance.PRO, " ".join(["before", *words, "after"]), "x")
    edited = Text(
        "s", "tea", Stance.PRO, " ".join([*words[:11], "other", *words[12:]]), "perspectrum"
    )
    assert Sentences([edited], [passage]).of("tea", Stance.PRO, rng=random.Random(1)) == []


def test_a_sentence_with_two_stances_is_not_joined():
    said = prose("both", 12)
    both = [Text(str(s), "tea", s, said, "perspectrum") for s in (Stance.PRO, Stance.CON)]
    assert Sentences(both, []).of("tea", Stance.PRO, rng=random.Random(1)) == []


short = st.lists(st.sampled_from("abc"), min_size=0, max_size=9).map(" ".join)


@given(short, short)
def test_share_agrees_with_brute_force(one, other):
    def runs(text: str) -> set[tuple[str, ...]]:
        found = text.split()
        if not found:
            return set()
        return {tuple(found[i : i + 5]) for i in range(max(1, len(found) - 4))}

    a, b = runs(one), runs(other)
    expected = len(a & b) / min(len(a), len(b)) if a and b else 0.0
    assert share(one, other) == pytest.approx(expected)
    assert share(one, other) == share(other, one)


@given(st.lists(short, max_size=8), st.sampled_from([0.0, 0.5, 0.8]))
def test_near_pairs_agree_with_all_pairs(texts, above):
    expected = {
        (i, j)
        for i, j in itertools.combinations(range(len(texts)), 2)
        if share(texts[i], texts[j]) > above
    }
    assert set(near_pairs(texts, above=above)) == expected


@given(
    st.lists(
        st.tuples(short, st.sampled_from(list(Stance)), st.sampled_from(["x", "y"])), max_size=8
    )
)
def test_no_near_copies_are_left_and_none_is_dropped_without_one(rows):
    texts = [Text(str(n), topic, side, text, "s") for n, (text, side, topic) in enumerate(rows)]
    kept, dropped = without_copies(texts)
    assert list(near_pairs([t.text for t in kept])) == []
    assert len(kept) + sum(dropped.values()) == len(texts)
    names = {t.id for t in kept}
    for lost in (t for t in texts if t.id not in names):
        assert any(share(lost.text, t.text) > NEAR for t in texts if t is not lost)


@settings(max_examples=50)
@given(
    st.integers(0, 12), st.integers(0, 12), st.integers(0, 9), st.integers(1, 4), st.integers(0, 99)
)
def test_held_out_and_kept_are_a_partition_with_enough_on_each_side(pro, con, most, kept, seed):
    sides = [Stance.PRO] * pro + [Stance.CON] * con + [Stance.NEUTRAL]
    texts = [Text(str(n), "tea", side, str(n), "s") for n, side in enumerate(sides)]
    parts = hold_out(entry("tea"), texts, Held(most, kept), seed=seed)
    if min(pro, con) < kept:
        assert parts is None
        return
    assert parts is not None
    assert sorted((*parts.genuine, *parts.neutral, *parts.injected), key=texts.index) == texts
    for side, there in ((Stance.PRO, pro), (Stance.CON, con)):
        assert parts.count("injected", side) == min(most, there - kept)
        assert parts.count("genuine", side) >= kept
    assert not any(is_joined(text) for text in parts.injected)


def test_a_short_text_within_a_long_one_is_a_near_copy_whichever_comes_first():
    short_one, long_one = prose("in", 30), f"{prose('x', 30)} {prose('in', 30)} {prose('y', 60)}"
    assert list(near_pairs([short_one, long_one])) == [(0, 1)]
    assert list(near_pairs([long_one, short_one])) == [(0, 1)]


def test_spoken_keeps_to_whole_words_and_to_one_text():
    spoken = Spoken(["The cat sat.", "On the mat it lay"])
    assert spoken.holds("the CAT, sat!")
    assert not spoken.holds("he cat sat")
    assert not spoken.holds("sat on the mat")
    assert not spoken.holds("...")
    assert Overlaps().near("any text at all") == []


def test_backgrounds_are_joined_with_their_ids_kept_apart():
    one = [
        Document("a", "x", Origin.BACKGROUND, "one"),
        Document("b", "y", Origin.BACKGROUND, "one"),
    ]
    two = [Document("a", "z", Origin.BACKGROUND, "two")]
    assert [d.id for d in merged(one, two)] == ["a", "b", "two/a"]
    with pytest.raises(InputError, match="twice"):
        merged(two, two, two)
    assert without_overlap(merged(one, two), [])[1] == 0


@needs_data
@pytest.mark.slow
def test_the_real_data_gives_42_topics_that_hold_together():
    pack = build_pack(SHARED, (), Plan())
    counts = counted(pack)
    assert len(pack.topics) == 42
    assert len(pack.questions) == 210
    for topic in pack.topics:
        for side in ("pro", "con"):
            assert counts[topic.id, "genuine", side] >= 2
            assert 1 <= counts[topic.id, "injected", side] <= 7
        assert counts[topic.id, "neutral", "neutral"] >= 1
    assert list(near_pairs([d.text for d in pack.documents])) == []
    genuine = Spoken(d.text for d in pack.clean)
    planted = [d for d in pack.documents if d.source.startswith("joined:")]
    assert planted
    for document in planted:
        assert 45 <= len(document.text.split()) <= 82
        assert not any(genuine.holds(part) for part in document.text.split(". "))


@needs_data
def test_every_related_topic_is_in_the_data_and_neutral_texts_are_the_topics_own():
    entries = read_questions()
    rows = read_texts(SHARED, (*PASSAGES, *SENTENCES), entries)
    assert {e.topic for e in entries} == {t.topic for t in rows}
    assert {t.source for t in rows if t.stance is Stance.NEUTRAL} == {"ibm_wiki_passages"}
    found = {
        r.values["topic"]
        for path in (SHARED / "stance").iterdir()
        for r in read_rows(path, relative_to=SHARED)
    }
    assert {slug for e in entries for slug in e.related} <= found


def test_unrelated_background_leaves_out_passages_about_the_topics(data, monkeypatch):
    monkeypatch.setattr("equipoise.lab.build.read_questions", lambda: ENTRIES)
    row_ = {"id": "x1", "topic": None, "title": "Rivers", "text": prose("rivers", 40)}
    write(data / "background/xquad_en.jsonl", [row_])

    def backgrounds(name: str) -> set[str]:
        made = make_pack(data, [name], topics=1)
        return {d.source for d in made.documents if d.origin is Origin.BACKGROUND}

    assert backgrounds("own") == {"wikipedia_topics", "xquad_en"}
    assert backgrounds("unrelated") == {"xquad_en"}
