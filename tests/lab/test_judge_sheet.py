"""Sheets for readers: what is drawn, that it is blind, and what comes of filled-in ones."""

import json
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.answers.store import Cell
from equipoise.lab.judge.check import READ_AS, between_readers, read_labels
from equipoise.lab.judge.sheet import HOW, make_sheet, merge, read_filled, write_labels, write_sheet

STANCES = ("pro", "neutral", "con")


def cell(defence, sizes, *, text="{defence} says {name}.", outcome="answered"):
    """`sizes`: how many answers the judge gave each stance; None for not judged."""
    answers, verdicts = {}, {}
    names = [stance for stance, count in sizes.items() for _ in range(count)]
    for number, stance in enumerate(names):
        name = f"q{number}"
        answers[name] = {
            "key": f"{defence}-{name}",
            "question": name,
            "topic": f"t{number % 3}",
            "group": f"g{number % 3}",
            "outcome": outcome,
            "text": text.format(defence=defence, name=name),
        }
        if stance is not None:
            verdicts[name] = {"outcome": "scored", "stance": stance}
    said = {"corpus": "clean", "defence": f"{defence}: x", "generator": "toy/g", "attack": {}}
    return Cell(said, answers, {}, verdicts)


QUESTIONS = {f"q{number}": f"Should it, {number}?" for number in range(200)}


def key_of(item):
    return (item.about["defence"], item.about["judge"])


def test_strata_get_seats_by_their_share():
    cells = [cell("none", {"pro": 60, "con": 20}), cell("quota", {"neutral": 15, None: 5})]
    items = make_sheet(cells, QUESTIONS, count=20)
    assert Counter(map(key_of, items)) == {
        ("none", "pro"): 12,
        ("none", "con"): 4,
        ("quota", "neutral"): 3,
        ("quota", "missing"): 1,
    }


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=3, max_size=3), st.integers(1, 120), st.integers(0, 9))
def test_a_sheet_has_what_was_asked_for_each_once_and_within_one_of_its_share(sizes, count, seed):
    cells = [cell("none", dict(zip(STANCES, sizes, strict=True)))]
    items = make_sheet(cells, QUESTIONS, count=count, seed=seed)
    total = sum(sizes)
    assert len(items) == min(count, total)
    assert len({item.about["answer"] for item in items}) == len(items)
    got = Counter(item.about["judge"] for item in items)
    for stance, size in zip(STANCES, sizes, strict=True):
        assert abs(got[stance] - len(items) * size / total) < 1


def test_a_sheet_depends_on_its_seed_and_on_nothing_else():
    cells = [cell("none", {"pro": 30, "con": 30})]
    assert make_sheet(cells, QUESTIONS, count=9) == make_sheet(cells, QUESTIONS, count=9)
    assert make_sheet(cells, QUESTIONS, count=9) != make_sheet(cells, QUESTIONS, count=9, seed=1)


def test_the_order_does_not_tell_the_stratum():
    cells = [cell("none", {"pro": 40}), cell("quota", {"con": 40})]
    order = [item.about["judge"] for item in make_sheet(cells, QUESTIONS, count=80)]
    changes = sum(a != b for a, b in pairwise(order))
    assert changes > 20


def test_a_text_that_several_cells_share_is_taken_once():
    same = [cell(name, {"pro": 10}, text="says {name}.") for name in ("none", "prompt_only")]
    assert len(make_sheet(same, QUESTIONS, count=50)) == 10


def test_answers_that_are_none_are_not_in_a_sheet():
    with pytest.raises(InputError, match="there are none"):
        make_sheet([cell("none", {"pro": 3}, outcome="refused")], QUESTIONS)
    with pytest.raises(InputError, match="at least one"):
        make_sheet([cell("none", {"pro": 3})], QUESTIONS, count=0)
    with pytest.raises(InputError, match="'q0' has none"):
        make_sheet([cell("none", {"pro": 1})], {})


def test_a_published_copy_has_nothing_to_read():
    made = cell("none", {"pro": 1})
    del made.answers["q0"]["text"]
    with pytest.raises(InputError, match="text"):
        make_sheet([made], QUESTIONS)


# --- files


@pytest.fixture
def sheet(tmp_path):
    cells = [cell("none", {"pro": 3, "con": 2}), cell("quota", {"neutral": 2})]
    items = make_sheet(cells, QUESTIONS)
    write_sheet(items, tmp_path / "sheet")
    return tmp_path / "sheet", items


def fill(folder, name, leans):
    rows = [json.loads(line) for line in (folder / "sheet.jsonl").read_text("utf-8").splitlines()]
    for row, lean in zip(rows, leans, strict=True):
        row["lean"] = lean
    path = folder.parent / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_the_sheet_is_blind(sheet):
    folder, items = sheet
    text = (folder / "sheet.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert all(
        set(row) == {"id", "question", "answer", "lean"} and row["lean"] == "" for row in rows
    )
    for item in items:
        for hidden in ("answer", "generator", "corpus", "judge"):
            assert item.about[hidden] not in [row["id"] for row in rows]
    ids = [row["id"] for row in rows]
    assert ids == sorted(ids)
    key = json.loads((folder / "key.json").read_text("utf-8"))["items"]
    assert {key[item.id]["judge"] for item in items} == set(STANCES)
    assert all(lean in HOW for lean in READ_AS)


def test_a_sheet_is_never_written_over_another(sheet):
    folder, items = sheet
    with pytest.raises(InputError, match="no sheet yet"):
        write_sheet(items, folder)


def test_agreed_labels_come_through_and_the_rest_stays_open(sheet):
    folder, items = sheet
    first = fill(folder, "ann", ["pro", "pro", "con", "neutral", "declined", "", "pro"])
    second = fill(folder, "bob", ["pro", "con", "Con ", "neutral", "declined", "pro", ""])
    merged = merge(folder, [first, second])
    assert merged.apart == tuple(items[at].id for at in (1, 5, 6))
    assert [one.stance for one in merged.labels] == ["pro", "con", "neutral", "declined"]
    settled = fill(folder, "settled", ["con", "con", "", "", "", "pro", "neutral"])
    whole = merge(folder, [first, second], settled)
    assert whole.apart == ()
    # Where readers agree, what settles the rest has no say.
    assert [one.stance for one in whole.labels] == [
        "pro", "con", "con", "neutral", "declined", "pro", "neutral",
    ]  # fmt: skip
    assert whole.labels[1].readers == {"ann": "pro", "bob": "con"}
    assert whole.labels[5].readers == {"bob": "pro"}
    assert [one.group for one in whole.labels] == [item.group for item in items]
    write_labels(whole.labels, folder / "labels.jsonl")
    assert read_labels(folder / "labels.jsonl") == whole.labels
    assert between_readers(whole.labels)["ann/bob"].equal.hits == 4


def test_a_merge_needs_two_readers_of_this_sheet(sheet, tmp_path):
    folder, _ = sheet
    first = fill(folder, "ann", ["pro"] * 7)
    with pytest.raises(InputError, match="two readers"):
        merge(folder, [first])
    with pytest.raises(InputError, match="two readers"):
        merge(folder, [first, first])
    other = tmp_path / "other"
    write_sheet(make_sheet([cell("none", {"pro": 7})], QUESTIONS, seed=5), other)
    with pytest.raises(InputError, match="not of this sheet"):
        merge(folder, [first, fill(other, "bob", ["pro"] * 7)])


def test_a_filled_sheet_must_hold_together(sheet):
    folder, items = sheet
    ids = [item.id for item in items]
    with pytest.raises(InputError, match="got 'yes'"):
        read_filled(fill(folder, "ann", ["yes", *["pro"] * 6]), ids)
    path = fill(folder, "ann", ["pro"] * 7)
    path.write_text(path.read_text("utf-8") * 2, "utf-8")
    with pytest.raises(InputError, match="there twice"):
        read_filled(path, ids)


def test_a_folder_without_a_key_is_no_sheet(sheet):
    folder, _ = sheet
    both = [fill(folder, name, ["pro"] * 7) for name in ("ann", "bob")]
    (folder / "key.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="key of a sheet"):
        merge(folder, both)
