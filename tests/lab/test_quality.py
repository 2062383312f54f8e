"""Clean pairs, blinded: what is paired, in which order, the form, and its way back into the run."""

import csv
import io
import json
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.answers.store import read_cells
from equipoise.lab.form_scores import read_filled
from equipoise.lab.pack import Document, Origin, Pack, Question, Topic
from equipoise.lab.quality.asking import DIMENSIONS, Rating, is_mark, unblinded
from equipoise.lab.quality.form import FIELDS, read_form, read_key, write_form
from equipoise.lab.quality.pairs import Pair, Shown, make_pairs, sample
from equipoise.lab.quality.rows import add_filled, read_quality

from .toy_answers import A, C, answer, said, toy_answers, write
from .toy_world import toy_pack

EVIL = "<script>alert(1)</script> =1+1"


def toy_pairs(folder, texts=None, **options):
    return make_pairs(read_cells(toy_answers(folder, texts)), toy_pack(), **options)


def test_a_pair_has_both_answers_and_what_each_was_written_from(tmp_path):
    made = toy_pairs(tmp_path)
    pair = next(pair for pair in made.pairs if pair.question == "zoos-1")
    assert pair.answer("A").text == "A says zoo about zoos-1."
    assert pair.answer("C").text == "C says zoo about zoos-1."
    assert [d.id for d in pair.answer("A").documents] == ["zoo-pro-1", "zoo-con-1"]
    assert (pair.asked, pair.topic, pair.group) == ("Should a zoo be open?", "zoos", "animals")
    assert made.left_out == {"A": {}, "C": {}}


def test_a_question_that_one_side_did_not_answer_has_no_pair_and_is_counted(tmp_path):
    first, last = said(A), said(C)
    rows = [
        answer(first, "zoos-1"),
        answer(first, "zoos-2", None, outcome="refused"),
        answer(first, "taxes-1"),
    ]
    write(tmp_path, (first, rows), (last, [answer(last, "zoos-1"), answer(last, "zoos-2")]))
    made = make_pairs(read_cells(tmp_path), toy_pack())
    assert [pair.question for pair in made.pairs] == ["zoos-1"]
    assert made.left_out == {"A": {"refused": 1}, "C": {"missing": 1}}


def test_poisoned_answers_are_never_paired(tmp_path):
    cells = [said(d, corpus="stance-pro-3") for d in (A, C)]
    write(tmp_path, *((cell, [answer(cell, "zoos-1")]) for cell in cells))
    with pytest.raises(InputError, match="clean corpus"):
        make_pairs(read_cells(tmp_path), toy_pack())


def test_another_pack_is_refused(tmp_path):
    pack = toy_pack()
    other = Pack(pack.name, pack.topics, pack.questions, pack.documents[:-1], pack.about)
    with pytest.raises(InputError, match="give the pack of the run"):
        make_pairs(read_cells(toy_answers(tmp_path)), other)


def test_a_published_copy_is_refused(tmp_path):
    cells = [said(A), said(C)]
    rows = [[{k: v for k, v in answer(c, "zoos-1").items() if k != "text"}] for c in cells]
    write(tmp_path, *zip(cells, rows, strict=True))
    with pytest.raises(InputError, match="published"):
        make_pairs(read_cells(tmp_path), toy_pack())


def test_of_several_generators_one_must_be_named(tmp_path):
    for name in ("hf/one", "hf/two"):
        cells = [said(d, generator=name) for d in (A, C)]
        write(tmp_path, *((cell, [answer(cell, "zoos-1", name)]) for cell in cells))
    cells = read_cells(tmp_path)
    with pytest.raises(InputError, match="hf/one, hf/two"):
        make_pairs(cells, toy_pack())
    made = make_pairs(cells, toy_pack(), generator="hf/one")
    assert made.pairs[0].answer("A").text == made.pairs[0].answer("C").text == "hf/one"
    with pytest.raises(InputError, match="hf/three"):
        make_pairs(cells, toy_pack(), generator="hf/three")


def test_answers_of_two_templates_are_not_paired(tmp_path):
    cells = [said(A, template="one"), said(C, template="two")]
    write(tmp_path, *((cell, [answer(cell, "zoos-1")]) for cell in cells))
    with pytest.raises(InputError, match=r"under none \(A\) and quota_prompt"):
        make_pairs(read_cells(tmp_path), toy_pack())


def many_pairs(tmp_path, seed=20260905, count=200):
    """A pack of one topic with many questions, answered by both."""
    documents = (Document("d", "zoo", Origin.GENUINE, "toy", "t", "pro"),)
    questions = tuple(Question(f"q{n}", "t", f"Should {n}?") for n in range(count))
    pack = Pack("many", (Topic("t", "g", "T"),), questions, documents)
    runs = []
    for defence in (A, C):
        settings = said(defence, pack=pack)
        rows = [
            {**answer(settings, "zoos-1"), "key": f"{defence[0]}{q.id}", "question": q.id,
             "topic": "t", "group": "g", "chosen": ["d"]}
            for q in questions
        ]  # fmt: skip
        runs.append((settings, rows))
    write(tmp_path, *runs)
    return make_pairs(read_cells(tmp_path), pack, seed=seed)


def test_the_order_is_drawn_about_half_each_way_and_hangs_on_the_seed(tmp_path):
    orders = [
        {p.question: p.order for p in many_pairs(tmp_path / str(n), seed).pairs}
        for n, seed in enumerate((1, 1, 2))
    ]
    assert orders[0] == orders[1] != orders[2]
    counts = Counter(orders[0].values())
    assert set(counts) == {"AC", "CA"}
    assert 70 <= counts["AC"] <= 130  # 200 fair draws: outside once in 40,000


def test_pairs_do_not_come_in_the_order_of_the_pack(tmp_path):
    names = [pair.question for pair in many_pairs(tmp_path).pairs]
    assert names != sorted(names, key=lambda name: int(name[1:]))


def of_topics(*counts):
    nobody = (Shown("A", "a", "x", ()), Shown("C", "c", "y", ()))
    return [
        Pair(f"t{t}-q{n}", f"t{t}", "g", "?", nobody)
        for t, count in enumerate(counts)
        for n in range(count)
    ]


def test_the_sample_for_people_has_one_pair_a_topic_and_eight_more():
    pairs = of_topics(*([5] * 42))
    drawn = sample(pairs)
    assert len(drawn) == 50
    assert {pair.topic for pair in drawn} == {pair.topic for pair in pairs}
    assert drawn == sample(pairs)
    assert drawn != sample(pairs, seed=1)
    assert [p for p in pairs if p in drawn] == list(drawn)


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 30))
def test_a_sample_has_every_topic_no_pair_twice_and_no_more_than_there_are(counts, extra):
    pairs = of_topics(*counts)
    drawn = sample(pairs, extra=extra)
    assert len({p.question for p in drawn}) == len(drawn) == min(len(counts) + extra, len(pairs))
    assert {p.topic for p in drawn} == {p.topic for p in pairs}


def test_fewer_than_no_extra_pairs_is_an_error():
    with pytest.raises(InputError, match="extra"):
        sample(of_topics(2), extra=-1)


# --- marks


@pytest.mark.parametrize("mark", [1, 5, "unresolved", "inapplicable", None])
def test_marks_are_one_to_five_or_one_of_two_words(mark):
    assert is_mark(mark)


@pytest.mark.parametrize("mark", [0, 6, 2.5, True, "3", "", "good", [], float("nan")])
def test_anything_else_is_no_mark(mark):
    assert not is_mark(mark)
    marks = dict.fromkeys(DIMENSIONS, 3)
    with pytest.raises(InputError):
        Rating({"A": {**marks, "coverage": mark}, "C": marks}, None)


@pytest.mark.parametrize(
    ("order", "said_of_them", "found"),
    [("AC", "1", "A"), ("AC", "2", "C"), ("CA", "1", "C"), ("CA", "2", "A"), ("CA", "tie", "tie"),
     ("AC", "unresolved", "unresolved"), ("CA", None, None)],
)  # fmt: skip
def test_what_was_said_of_the_first_goes_to_the_setting_that_stood_first(
    order, said_of_them, found
):
    ones, twos = dict.fromkeys(DIMENSIONS, 1), dict.fromkeys(DIMENSIONS, 2)
    rating = unblinded(order, ones, twos, said_of_them)
    assert rating.preference == found
    assert rating.marks[order[0]] == ones
    assert rating.marks[order[1]] == twos


# --- the form


@pytest.fixture
def form(tmp_path):
    texts = {("A", "zoos-1"): EVIL}
    made = toy_pairs(tmp_path / "run", texts)
    write_form(made, made.pairs, tmp_path / "form")
    return tmp_path / "form"


def test_the_form_names_no_setting_key_or_document_and_the_key_does(form):
    key = json.loads((form / "key.json").read_text("utf-8"))
    for name in ("form.html", "form.csv", "passages.csv", "questions.txt"):
        text = (form / name).read_bytes().decode("utf-8")
        for entry in key["items"].values():
            assert entry["order"] not in re.findall(r"\b[AC]{2}\b", text)
            assert not any(answered in text for answered in entry["answers"].values())
        for told in ("quota", "relevance(5)", "zoo-pro-1", "none:"):
            assert told not in text
    assert {e["question"] for e in key["items"].values()} == {"zoos-1", "zoos-2", "taxes-1"}
    assert key["items"][next(iter(key["items"]))]["order"] in ("AC", "CA")


def test_the_page_shows_texts_and_runs_none_of_them(form):
    page = (form / "form.html").read_text("utf-8")
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; =1+1" in page
    assert page.count("<script>") == 1
    assert "default-src 'none'" in page
    assert page.count('data-field="relevance_1"') == 3 * 7
    assert "https://" not in page


def test_the_page_saves_the_columns_that_are_read_back(form):
    page = (form / "form.html").read_text("utf-8")
    fields = json.loads(re.search(r"const FIELDS = (\[.*?\]);", page)[1])
    assert fields == list(FIELDS)


def test_the_spreadsheet_shows_each_pair_in_the_order_of_the_key(form):
    key = read_key(form / "key.json")
    text = (form / "form.csv").read_bytes().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row in rows:
        entry = key["items"][row["item"]]
        for place, setting in enumerate(entry["order"], 1):
            evil = (setting, entry["question"]) == ("A", "zoos-1")
            expected = EVIL if evil else f"{setting} says zoo about {entry['question']}."
            assert row[f"answer_{place}"] == expected
    passages = (form / "passages.csv").read_bytes().decode("utf-8-sig")
    assert len(list(csv.DictReader(io.StringIO(passages)))) == 3 * 2 * 2


def fill(form, answers):
    """A filled-in form: item -> field -> answer; other cells stay empty."""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, ["item", *FIELDS, "notes"])
    writer.writeheader()
    for item in read_key(form / "key.json")["items"]:
        writer.writerow({"item": item, **answers.get(item, {})})
    path = form / "filled.csv"
    path.write_text(lines.getvalue(), "utf-8")
    return path


def item_of(key, question):
    return next(item for item, entry in key["items"].items() if entry["question"] == question)


def test_a_filled_in_form_comes_back_by_setting(form):
    key = read_key(form / "key.json")
    item = item_of(key, "zoos-1")
    first = {f"{name}_1": "5" for name in DIMENSIONS}
    second = {f"{name}_2": "2" for name in DIMENSIONS} | {"coverage_2": "inapplicable"}
    found = read_form(fill(form, {item: {**first, **second, "preference": "1"}}), key)
    assert set(found) == {item}  # items in which nothing was filled in are left out
    order = key["items"][item]["order"]
    assert found[item].preference == order[0]
    assert set(found[item].marks[order[0]].values()) == {5}
    assert found[item].marks[order[1]]["coverage"] == "inapplicable"
    assert found[item].marks[order[1]]["relevance"] == 2


def test_open_fields_stay_open(form):
    key = read_key(form / "key.json")
    item = item_of(key, "zoos-2")
    rating = read_form(fill(form, {item: {"relevance_1": "3"}}), key)[item]
    order = key["items"][item]["order"]
    assert rating.marks[order[0]]["relevance"] == 3
    assert rating.marks[order[1]]["relevance"] is None
    assert rating.preference is None


@pytest.mark.parametrize("wrong", [{"relevance_1": "6"}, {"preference": "A"}, {"support_2": "ok"}])
def test_an_answer_that_is_not_offered_is_an_error(form, wrong):
    key = read_key(form / "key.json")
    with pytest.raises(InputError, match="must be"):
        read_form(fill(form, {item_of(key, "zoos-1"): wrong}), key)


def test_an_older_form_is_never_written_over(form, tmp_path):
    made = toy_pairs(tmp_path / "again")
    with pytest.raises(InputError, match="must hold no form yet"):
        write_form(made, made.pairs, form)


def test_a_form_without_pairs_is_refused(tmp_path):
    made = toy_pairs(tmp_path / "run")
    with pytest.raises(InputError, match="there are none"):
        write_form(made, (), tmp_path / "form")


def test_the_key_of_another_form_is_refused(tmp_path):
    path = tmp_path / "key.json"
    path.write_text('{"format": 1, "pack": "p", "items": {}}', "utf-8")
    with pytest.raises(InputError, match="form of pairs"):
        read_key(path)


def test_a_form_is_not_read_with_another_forms_key(form, tmp_path):
    made = toy_pairs(tmp_path / "other", seed=7)
    write_form(made, made.pairs, tmp_path / "other-form")
    with pytest.raises(InputError, match="not in the key"):
        read_form(fill(form, {}), read_key(tmp_path / "other-form" / "key.json"))


def test_the_forms_of_documents_still_have_their_own_columns(tmp_path):
    path = tmp_path / "form.csv"
    path.write_text("item,side,one_sided,supported\nx,pro,yes,no\n", "utf-8")
    assert read_filled(path, {"x": {}})["x"] == {
        "side": "pro",
        "one_sided": "yes",
        "supported": "no",
    }


# --- into the run


def test_ratings_of_people_go_to_the_run_without_words_and_are_read_again(form, tmp_path):
    key = read_key(form / "key.json")
    item = item_of(key, "zoos-1")
    found = read_form(fill(form, {item: {"relevance_1": "4", "preference": "tie"}}), key)
    assert add_filled(tmp_path / "run", "Ann", key, found) == 1
    [rated] = read_quality(tmp_path / "run")
    assert (rated.rater, rated.kind, rated.outcomes()) == ("Ann", "ratings", {"scored": 1})
    row = rated.rows["zoos-1"]
    assert row["preference"] == "tie"
    assert row["group"] == "animals"
    assert row["marks"][row["order"][0]]["relevance"] == 4
    assert EVIL not in (tmp_path / "run" / "quality.jsonl").read_text("utf-8")


def test_a_form_given_again_counts_in_place_of_the_first(form, tmp_path):
    key = read_key(form / "key.json")
    item = item_of(key, "zoos-1")
    for mark in ("1", "5"):
        found = read_form(fill(form, {item: {"relevance_1": mark}}), key)
        add_filled(tmp_path / "run", "Ann", key, found)
    [rated] = read_quality(tmp_path / "run")
    order = key["items"][item]["order"]
    assert len(rated.rows) == 1
    assert rated.rows["zoos-1"]["marks"][order[0]]["relevance"] == 5


def test_a_form_in_which_nothing_was_filled_in_is_an_error(form, tmp_path):
    key = read_key(form / "key.json")
    with pytest.raises(InputError, match="rater's name and an answer"):
        add_filled(tmp_path / "run", "Ann", key, read_form(fill(form, {}), key))
