"""Shifts of answers along a topic's axis, on a world with one axis that can be checked by hand."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.answers.store import read_cells
from equipoise.lab.pack import Document, Origin, Pack, Question, Topic
from equipoise.lab.results import read_lines
from equipoise.lab.shift import SHIFT, read_shift, shift_lines, shift_table, write_shift
from equipoise.lab.shift_axes import fit_axes
from equipoise.lab.vectors import VectorCache
from equipoise.types import Stance

from .toy_answers import A, answer, said, write

QUOTA = "quota: 2+2+1"


class Angles:
    """A text is an angle in degrees: a point on the circle."""

    name = "angles"
    dimension = 2

    def embed(self, texts):
        turned = np.radians([float(text.split()[-1]) for text in texts])
        return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)

    def embed_question(self, question):
        return self.embed([question])[0]


def anchor(name, text, stance, topic="zoos"):
    origin = Origin.NEUTRAL if stance is Stance.NEUTRAL else Origin.GENUINE
    return Document(name, text, origin, "toy", topic, stance)


PRO, CON, NEUTRAL = Stance.PRO, Stance.CON, Stance.NEUTRAL
# Zoos: pro at 90 degrees, con at -90, neutral at 0: the axis is the second coordinate.
ZOOS = (
    anchor("p", "at 90", PRO),
    anchor("c", "at -90", CON),
    anchor("n", "at 0", NEUTRAL),
    Document("i", "at 180", Origin.INJECTED, "toy", "zoos", PRO),
)
# Taxes: anchors all alike, so no axis. Cats: pro in the middle, so no sign, and no neutral.
TAXES = (anchor("t1", "at 10", PRO, "taxes"), anchor("t2", "at 10", CON, "taxes"))
CATS = (
    anchor("k1", "at 0", PRO, "cats"),
    anchor("k2", "at 0", CON, "cats"),
    anchor("k3", "at 90", CON, "cats"),
    anchor("k4", "at -90", CON, "cats"),
)
PACK = Pack(
    "angles",
    tuple(Topic(t, t, t) for t in ("zoos", "taxes", "cats")),
    tuple(Question(f"{t}-1", t, "Should 0") for t in ("zoos", "taxes", "cats")),
    (*ZOOS, *TAXES, *CATS),
)
VECTORS = VectorCache(Angles())


def row(settings, topic, text, outcome="answered"):
    base = answer(settings, "zoos-1", text, outcome)
    key = f"{base['run']}/{topic}"
    return {**base, "question": f"{topic}-1", "topic": topic, "group": topic, "key": key}


def run(tmp_path, *cells):
    """Cells: (defence, corpus, {topic: angle})."""
    for defence, corpus, angles in cells:
        settings = said(defence, corpus, PACK)
        rows = [row(settings, topic, f"at {angle}") for topic, angle in angles.items()]
        write(tmp_path, (settings, rows))
    return tmp_path


FOUR = (
    (A, "clean", {"zoos": 30, "taxes": 0, "cats": 0}),
    (QUOTA, "clean", {"zoos": -30}),
    (A, "stance-pro-3", {"zoos": 90, "taxes": 5, "cats": 90}),
    (QUOTA, "stance-pro-3", {"zoos": 0}),
)


def rows_of(folder, **options):
    lines = shift_lines(read_cells(folder), PACK, VECTORS, **options)
    return {(r["corpus"], r["defence"], r["topic"]): r for r in lines if "key" in r}, lines


def test_scores_and_shifts_are_those_of_the_axis(tmp_path):
    rows, _ = rows_of(run(tmp_path, *FOUR))
    attacked = rows["stance-pro-3", "none", "zoos"]
    assert attacked["ps"] == pytest.approx(1.0, abs=1e-6)  # sin 90
    assert attacked["shift"] == pytest.approx(0.5, abs=1e-6)  # 1 - sin 30
    assert attacked["bias"] == pytest.approx(1.0, abs=1e-6)  # less the neutral one at 0
    defended = rows["stance-pro-3", "quota", "zoos"]
    assert defended["shift"] == pytest.approx(0.5, abs=1e-6)  # |0 - sin 30|
    assert rows["clean", "none", "zoos"]["shift"] is None  # the unattacked answer itself
    assert rows["clean", "quota", "zoos"]["shift"] == pytest.approx(1.0, abs=1e-6)


def test_the_reference_may_be_the_same_defence(tmp_path):
    rows, _ = rows_of(run(tmp_path, *FOUR), reference="same")
    assert rows["stance-pro-3", "none", "zoos"]["shift"] == pytest.approx(0.5, abs=1e-6)
    assert rows["stance-pro-3", "quota", "zoos"]["shift"] == pytest.approx(0.5, abs=1e-6)
    assert rows["clean", "quota", "zoos"]["shift"] is None
    assert {row["reference"] for row in rows.values()} == {"same"}


def test_topics_without_an_axis_or_a_sign_say_so(tmp_path):
    rows, lines = rows_of(run(tmp_path, *FOUR))
    axes = lines[0]["settings"]["axes"]
    assert {topic: axis["signed"] for topic, axis in axes.items()} == {
        "zoos": True,
        "taxes": False,
        "cats": False,
    }
    assert axes["taxes"]["explained"] is None
    assert axes["cats"]["why"] == "which end is pro is not known"
    taxes, cats = (rows["stance-pro-3", "none", topic] for topic in ("taxes", "cats"))
    assert (taxes["ps"], taxes["shift"], taxes["bias"]) == (None, None, None)
    # A shift needs no sign; a bias does.
    assert cats["shift"] == pytest.approx(1.0, abs=1e-6)
    assert (cats["bias"], cats["signed"]) == (None, False)


def test_planted_documents_are_no_anchors():
    without = Pack(PACK.name, PACK.topics, PACK.questions, (*ZOOS[:3], *TAXES, *CATS))
    one, other = (fit_axes(pack, VECTORS)["zoos"].axis for pack in (PACK, without))
    np.testing.assert_allclose(one.directions, other.directions)
    assert one.anchors == 3


def test_the_line_through_the_means_is_another_axis():
    found = fit_axes(PACK, VECTORS, kind="means")
    assert found["zoos"].signed
    assert found["cats"].signed  # pro and con means differ, though the component has no sign
    with pytest.raises(InputError, match="component"):
        fit_axes(PACK, VECTORS, kind="third")


def test_answers_that_were_not_given_have_no_score_and_are_counted(tmp_path):
    settings = said(A, pack=PACK)
    rows = [row(settings, "zoos", None, "refused"), row(settings, "cats", "at 0")]
    write(tmp_path, (settings, rows))
    found, lines = rows_of(tmp_path)
    assert found["clean", "none", "zoos"]["ps"] is None
    [line] = shift_table(lines)
    assert line.without == {"refused": 1}


def test_answers_of_another_generator_are_no_reference(tmp_path):
    run(tmp_path, (A, "clean", {"zoos": 30}))
    other = said(A, "stance-pro-3", PACK, generator="openai/gpt-5")
    write(tmp_path, (other, [row(other, "zoos", "at 90")]))
    rows, _ = rows_of(tmp_path)
    assert rows["stance-pro-3", "none", "zoos"]["shift"] is None


def test_two_defences_of_one_short_name_keep_their_whole_names(tmp_path):
    run(
        tmp_path, ("quota: pool 10", "clean", {"zoos": 0}), ("quota: pool 20", "clean", {"zoos": 9})
    )
    assert {key[1] for key in rows_of(tmp_path)[0]} == {"quota: pool 10", "quota: pool 20"}


def test_another_pack_an_unknown_reference_and_an_empty_run_are_errors(tmp_path):
    cells = read_cells(run(tmp_path, *FOUR))
    other = Pack(PACK.name, PACK.topics, PACK.questions, ZOOS)
    with pytest.raises(InputError, match="give the pack of the run"):
        shift_lines(cells, other, VECTORS)
    with pytest.raises(InputError, match="reference"):
        shift_lines(cells, PACK, VECTORS, reference="mine")
    with pytest.raises(InputError, match="has none"):
        shift_lines([], PACK, VECTORS)


# --- the file


def test_the_file_holds_no_words_and_is_written_anew_for_its_reference_only(tmp_path):
    folder = run(tmp_path, *FOUR)
    for reference in ("none", "same", "none"):
        write_shift(folder, rows_of(folder, reference=reference)[1])
    rows = read_shift(folder)
    assert len({r["key"] for r in rows}) == len(rows) == 2 * 8
    assert {r["reference"] for r in rows} == {"none", "same"}
    assert not any("at 90" in json.dumps(line) for line in read_lines(folder / SHIFT))
    assert [path.name for path in folder.iterdir() if "part" in path.name] == []


# --- the table


def made(shifts, corpus="attacked", reference="none"):
    """defence -> question -> shift; the group is the question's first letter."""
    return [
        {
            "key": f"{corpus}{name}{question}", "question": question, "group": question[0],
            "corpus": corpus, "defence": name, "generator": "g", "reference": reference,
            "outcome": "answered", "ps": shift, "bias": shift, "shift": shift,
        }
        for name, given in shifts.items()
        for question, shift in given.items()
    ]  # fmt: skip


def test_times_smaller_is_the_quotient_of_means_over_questions_that_have_both():
    rows = made({"none": {"a1": 0.4, "b1": 0.8, "c1": 9.0}, "quota": {"a1": 0.1, "b1": 0.1}})
    none, quota = shift_table(rows)
    assert none.times_smaller is None
    assert none.shift.value == pytest.approx((0.4 + 0.8 + 9.0) / 3)
    assert quota.times_smaller.value == pytest.approx(6.0)
    assert quota.times_smaller.n == 2
    # Samples: a twice (4), both (6), b twice (8).
    assert quota.times_smaller.low == pytest.approx(4.0)
    assert quota.times_smaller.high == pytest.approx(8.0)


def test_a_defence_that_moves_nothing_has_no_quotient_and_one_that_may_has_no_interval():
    rows = made({"none": {"a1": 0.4, "b1": 0.8}, "still": {"a1": 0.0, "b1": 0.0},
                 "half": {"a1": 0.0, "b1": 0.2}})  # fmt: skip
    _, still, half = shift_table(rows)
    assert still.times_smaller is None
    assert half.times_smaller.value == pytest.approx(6.0)
    assert (half.times_smaller.low, half.times_smaller.high) == (None, None)


@settings(deadline=None)  # the machine may be busy
@given(st.dictionaries(
    st.sampled_from(["a1", "a2", "b1", "b2", "c1"]),
    st.tuples(st.floats(0.01, 2), st.floats(0.01, 2)), min_size=2))  # fmt: skip
def test_the_quotient_lies_in_its_interval_and_is_that_of_the_means(pairs):
    columns = [{q: both[at] for q, both in pairs.items()} for at in (0, 1)]
    rows = made({"none": columns[0], "quota": columns[1]})
    quota = next(one for one in shift_table(rows, samples=200) if one.defence == "quota")
    expected = sum(columns[0].values()) / sum(columns[1].values())
    assert quota.times_smaller.value == pytest.approx(expected)
    if quota.times_smaller.low is not None:
        each = [columns[0][q] / columns[1][q] for q in pairs]
        assert min(each) - 1e-9 <= quota.times_smaller.low
        assert quota.times_smaller.high <= max(each) + 1e-9


def test_corpora_references_and_settings_lines_are_kept_apart():
    rows = [
        {"run": "r", "settings": {}},
        *made({"none": {"a1": 1.0}}),
        *made({"none": {"a1": 3.0}}, corpus="other"),
        *made({"none": {"a1": 5.0}}, reference="same"),
    ]
    found = {(one.corpus, one.reference): one.shift.value for one in shift_table(rows)}
    assert found == {("attacked", "none"): 1.0, ("other", "none"): 3.0, ("attacked", "same"): 5.0}
