import csv
import io
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.form import ANSWERS, make_form, safe_cell, sources_of, write_form
from equipoise.lab.form_scores import agree, cohens_kappa, count, read_filled, read_key, report
from equipoise.lab.pack import Document, Origin, Pack, Question, Topic
from equipoise.lab.poison.stance import poison
from equipoise.types import Stance

PRO, CON = Stance.PRO, Stance.CON
TOPICS = ("t0", "t1", "t2")
EVIL = "=HYPERLINK(1) <script>alert(1)</script>"


def a_pack(per_side=7):
    documents = [
        Document(f"{kind}-{t}-{side}-{i}", f"{EVIL} {kind} {t} {i}{side}", origin, "toy", t, side)
        for kind, origin in (("held", Origin.INJECTED), ("real", Origin.GENUINE))
        for t in TOPICS
        for side in (PRO, CON)
        for i in range(per_side)
    ]
    questions = tuple(Question(t, t, f"Should {t}?") for t in TOPICS)
    return Pack(
        "toy", tuple(Topic(t, t, f"Title {t}") for t in TOPICS), questions, tuple(documents)
    )


PACK = a_pack()
BOTH = [poison(PACK, side, n=7) for side in (PRO, CON)]


@pytest.fixture
def folder(tmp_path):
    write_form(make_form(PACK, BOTH), tmp_path / "form")
    return tmp_path / "form"


def test_three_documents_of_each_topic_and_side_are_drawn():
    form = make_form(PACK, BOTH)
    drawn = [(item.document.topic, item.document.stance) for item in form.items]
    assert len(drawn) == 18
    assert all(drawn.count((t, side)) == 3 for t in TOPICS for side in (PRO, CON))
    assert form.short == ()


def test_the_draw_and_the_order_hang_on_the_seed_alone():
    ids = [[item.document.id for item in make_form(PACK, BOTH, seed=s).items] for s in (1, 1, 2)]
    assert ids[0] == ids[1] != ids[2]
    assert ids[0] == [i.document.id for i in make_form(PACK, BOTH[::-1], seed=1).items]


def test_the_order_does_not_give_the_sides_away():
    sides = [item.document.stance for item in make_form(PACK, BOTH).items]
    assert sides[:3] != [sides[0]] * 3 or sides != sorted(sides)
    topics = [item.document.topic for item in make_form(PACK, BOTH).items]
    assert topics != sorted(topics)


def test_nested_corpora_give_each_document_once():
    nested = [poison(PACK, PRO, n=n) for n in (2, 4, 7)]
    form = make_form(PACK, nested, each=7)
    assert len({item.document.id for item in form.items}) == len(form.items) == 21


def test_groups_with_too_few_are_named_and_sides_not_planted_are_not():
    form = make_form(PACK, [poison(PACK, PRO, n=2)])
    assert form.short == tuple((t, "pro") for t in TOPICS)


def test_one_id_for_two_documents_is_refused():
    other = a_pack()
    changed = Document("held-t0-pro-0", "another", Origin.INJECTED, "toy", "t0", PRO)
    with pytest.raises(InputError, match="'held-t0-pro-0'"):
        make_form(other, [BOTH[0], poison(PACK, PRO, n=1, documents=[changed])])


def test_nothing_planted_is_no_form():
    with pytest.raises(InputError, match="planted"):
        make_form(PACK, [])


def test_sources_are_those_the_attack_noted_and_then_the_rest_of_the_side():
    from dataclasses import replace

    name = BOTH[0].documents[0].id
    topic = BOTH[0].documents[0].topic
    noted = replace(BOTH[0], about={"sources": {name: [f"real-{topic}-pro-1", "gone"]}})
    assert [d.id for d in sources_of(noted, PACK)[name]] == [f"real-{topic}-pro-1"]
    item = next(i for i in make_form(PACK, [noted], each=7).items if i.document.id == name)
    assert [d.id for d in item.sources] == [f"real-{topic}-pro-1"]
    assert len(item.further) == 6
    assert all(d.stance is PRO and d.topic == topic for d in item.further)


def test_the_passage_that_an_ebi_text_was_made_from_is_its_source():
    from dataclasses import replace

    about = {"topics": {"t0": {"planted": {"x": {"from": "real-t0-pro-2"}}}}}
    assert [d.id for d in sources_of(replace(BOTH[0], about=about), PACK)["x"]] == ["real-t0-pro-2"]


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def test_no_file_for_readers_holds_an_id_that_tells_the_side(folder):
    for name in ("form.csv", "form.html", "sources.csv", "questions.txt"):
        text = (folder / name).read_text("utf-8")
        assert "held-" not in text
        assert "real-" not in text
        assert "intended" not in text


def test_the_form_has_empty_cells_for_the_answers_and_no_sources(folder):
    rows = rows_of(folder / "form.csv")
    assert len(rows) == 18
    assert all(row[field] == "" for row in rows for field in (*ANSWERS, "notes"))
    assert not any("real" in row["document"] for row in rows)


def test_no_cell_is_run_by_a_spreadsheet(folder):
    for name in ("form.csv", "sources.csv"):
        for row in rows_of(folder / name):
            assert not any(cell.lstrip()[:1] in tuple("=+-@") for cell in row.values() if cell)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t", "\r", "\n"])
def test_cells_that_start_like_a_formula_are_quoted(start):
    assert safe_cell(f"{start}1") == f"'{start}1"


@pytest.mark.parametrize("cell", ["", "Plain = text", "1 + 1", "'=1"])
def test_other_cells_stay_as_they_are(cell):
    assert safe_cell(cell) == cell


def test_the_page_is_one_file_that_loads_nothing_and_escapes_every_text(folder):
    page = (folder / "form.html").read_text("utf-8")
    assert page.count("<script>") == 1
    assert "<script>alert" not in page
    assert "src=" not in page
    assert "http" not in page.replace('http-equiv="Content', "")
    assert page.count("<section data-item=") == 18
    assert page.count('type="radio"') == 18 * sum(map(len, ANSWERS.values()))


def test_the_page_asks_for_the_side_before_it_shows_the_sources(folder):
    section = (folder / "form.html").read_text("utf-8").split("<section")[1]
    order = [section.index(f'-{field}"') for field in ANSWERS]
    assert order == sorted(order)
    assert order[1] < section.index("<details>") < order[2]


def test_a_form_with_answers_is_not_overwritten(folder):
    with pytest.raises(InputError, match="no form yet"):
        write_form(make_form(PACK, BOTH), folder)


def fill(folder, name, answer, *, delimiter=",", encoding="utf-8-sig"):
    rows = rows_of(folder / "form.csv")
    key = read_key(folder / "key.json")
    for number, row in enumerate(rows):
        row.update(answer(number, key[row["item"]]))
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys(), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    (folder / name).write_bytes(text.getvalue().encode(encoding))
    return read_filled(folder / name, key), key


def right(number, entry):
    return {"side": entry["intended"], "one_sided": "yes", "supported": "Yes "}


def test_a_form_filled_in_as_intended_passes_in_full(folder):
    filled, key = fill(folder, "a.csv", right)
    for one in count(filled, key):
        assert (one.passed, one.failed, one.unsure, one.open) == (18, 0, 0, 0)
        assert one.rate == 1.0
        assert one.low < 1.0


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_spreadsheets_way_to_part_cells_is_read(folder, delimiter):
    filled, _ = fill(folder, "a.csv", right, delimiter=delimiter)
    assert len(filled) == 18


def test_wrong_unsure_and_open_answers_are_counted_apart(folder):
    def answer(number, entry):
        other = {"pro": "con", "con": "pro"}[entry["intended"]]
        side = ("", "neither", other)[number] if number < 3 else entry["intended"]
        said = ("no", "unsure", "", "yes")[min(number, 3)]
        return {"side": side, "one_sided": "yes", "supported": said}

    filled, key = fill(folder, "a.csv", answer)
    rows = {one.criterion: one for one in count(filled, key)}
    supported, direction = rows["supported"], rows["direction"]
    assert (supported.passed, supported.failed, supported.unsure, supported.open) == (15, 1, 1, 1)
    assert supported.rate == 15 / 17
    assert (direction.passed, direction.failed, direction.unsure, direction.open) == (15, 2, 0, 1)


def test_nothing_answered_has_no_rate(folder):
    filled, key = fill(folder, "a.csv", lambda number, entry: {})
    assert all((one.rate, one.open) == (None, 18) for one in count(filled, key))


def test_lines_that_are_not_there_are_open(folder):
    _, key = fill(folder, "a.csv", right)
    assert all(one.open == 18 for one in count({}, key))


def test_two_forms_that_agree_have_a_kappa_of_one_and_one_answer_throughout_has_none(folder):
    filled, key = fill(folder, "a.csv", right)
    side, one_sided, _ = agree(filled, filled, key)
    assert (side.agreement, side.kappa, side.low, side.high) == (1.0, 1.0, 1.0, 1.0)
    assert (one_sided.agreement, one_sided.kappa) == (1.0, None)
    assert one_sided.undefined == 5_000
    assert "not defined" in report({}, [one_sided])


def test_items_apart_are_named_and_items_open_in_one_are_left_out(folder):
    first, key = fill(folder, "a.csv", right)
    second, _ = fill(
        folder,
        "b.csv",
        lambda n, e: (
            right(n, e) | ({"side": "neither"} if n == 4 else {"side": ""} if n == 5 else {})
        ),
    )
    side = agree(first, second, key)[0]
    assert side.items == 17
    [apart] = side.apart
    assert apart.startswith("item-05-")
    assert side.agreement == 16 / 17
    assert side.low <= side.kappa <= side.high
    assert agree({}, second, key)[0].kappa is None


TABLE = st.lists(st.integers(0, 6), min_size=9, max_size=9).filter(any)


@settings(deadline=None)  # the first example imports scikit-learn
@given(TABLE)
def test_kappa_is_that_of_scikit_learn(values):
    sklearn = pytest.importorskip("sklearn.metrics")
    counts = np.array(values).reshape(3, 3)
    pairs = [(i, j) for i in range(3) for j in range(3) for _ in range(counts[i, j])]
    ours = float(cohens_kappa(counts))
    if len({answer for pair in pairs for answer in pair}) == 1:
        assert math.isnan(ours)
    else:
        first, second = zip(*pairs, strict=True)
        assert ours == pytest.approx(sklearn.cohen_kappa_score(first, second, labels=[0, 1, 2]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("item-02", "item-99"), "'item-99-.*' is not in the key"),
        (lambda text: text.replace("item-02", "item-01"), "'item-01-.*' is there twice"),
        (lambda text: text.replace("one_sided", "onesided"), "lacks one_sided"),
        (lambda text: text.replace(",yes,", ",maybe,"), "one_sided must be yes, no, unsure"),
        (lambda text: "", "lacks item"),
    ],
)
def test_what_does_not_fit_the_form_is_named(folder, change, message):
    _, key = fill(folder, "a.csv", right)
    path = folder / "a.csv"
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    with pytest.raises(InputError, match=message):
        read_filled(path, key)


def test_another_file_is_no_key(folder):
    (folder / "x.json").write_text(json.dumps({"format": 9, "items": {}}))
    with pytest.raises(InputError, match="format 1"):
        read_key(folder / "x.json")
    with pytest.raises(InputError, match="must be the key"):
        read_key(folder / "form.csv")


def test_a_form_is_not_scored_with_the_key_of_another(tmp_path):
    for seed in (1, 2):
        write_form(make_form(PACK, BOTH, seed=seed), tmp_path / str(seed))
    with pytest.raises(InputError, match="is not in the key"):
        read_filled(tmp_path / "1/form.csv", read_key(tmp_path / "2/key.json"))


def test_a_document_as_long_as_a_book_can_be_scored(tmp_path):
    long = [Document("b", "word " * 50_000, Origin.INJECTED, "toy", "t0", PRO)]
    pack = Pack(PACK.name, PACK.topics, PACK.questions, tuple(long))
    write_form(make_form(pack, [poison(pack, PRO, n=1)]), tmp_path / "f")
    key = read_key(tmp_path / "f/key.json")
    assert list(read_filled(tmp_path / "f/form.csv", key)) == list(key)
