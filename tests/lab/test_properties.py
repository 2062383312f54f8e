import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.pack import Document, Origin, Pack, Topic
from equipoise.lab.poison.stance import poison
from equipoise.lab.properties import GROUPS, measured_documents, properties, table
from equipoise.types import Stance

PRO, CON, NEUTRAL = Stance.PRO, Stance.CON, Stance.NEUTRAL


def doc(name, words, stance=PRO, origin=Origin.GENUINE, topic="t"):
    return Document(name, " ".join(["w"] * words), origin, "toy", topic, stance)


def row(rows, group):
    return next(one for one in rows if one.group == group)


def unit(*angles):
    return np.array([[math.cos(a), math.sin(a)] for a in angles], dtype=np.float32)


def test_words_are_counted_for_each_group():
    documents = [
        doc("a", 0),
        doc("b", 4),
        doc("c", 8, CON),
        doc("d", 2, PRO, Origin.INJECTED),
        doc("e", 5, NEUTRAL, Origin.NEUTRAL),
    ]
    rows = properties(documents)
    assert [one.group for one in rows] == list(GROUPS)
    pro, both = row(rows, "genuine pro"), row(rows, "genuine")
    assert (pro.documents, pro.words_median, pro.words_least, pro.words_most) == (2, 2.0, 0, 4)
    assert pro.words_sd == pytest.approx(math.sqrt(8))
    assert (both.documents, both.words_median) == (3, 4)
    assert row(rows, "neutral").words_sd is None
    assert row(rows, "injected con").documents == 0
    assert row(rows, "injected con").words_median is None


def test_without_vectors_nothing_is_said_of_neighbours():
    (pro, *_) = properties([doc("a", 3)])
    assert (pro.nearest_median, pro.near, pro.near_pairs, pro.near_share, pro.alone) == (None,) * 5


def test_neighbours_are_looked_for_in_the_same_topic_and_side_only():
    documents = [doc("a", 1), doc("b", 1), doc("c", 1, CON), doc("d", 1, topic="u")]
    rows = properties(documents, unit(0.0, 1.0, 0.0, 0.0))
    pro = row(rows, "genuine pro")
    assert pro.nearest_median == pytest.approx(math.cos(1.0), abs=1e-6)
    assert (pro.near, pro.near_pairs, pro.near_share, pro.alone) == (0, 0, 0.0, 1)
    con = row(rows, "genuine con")
    assert (con.alone, con.near_share, con.nearest_median) == (1, None, None)


def test_an_injected_document_is_no_neighbour_of_a_genuine_one():
    documents = [doc("a", 1), doc("b", 1, PRO, Origin.INJECTED)]
    rows = properties(documents, unit(0.0, 0.0))
    assert row(rows, "genuine pro").alone == 1
    assert row(rows, "injected pro").alone == 1


def test_near_duplicates_are_counted_as_documents_and_as_pairs():
    documents = [doc(name, 1) for name in "abcd"]
    pro = row(properties(documents, unit(0.0, 0.1, 0.2, 1.5)), "genuine pro")
    assert (pro.near, pro.near_pairs, pro.near_share) == (3, 3, 0.75)


def test_a_document_without_another_of_its_kind_is_in_no_share():
    documents = [doc("a", 1), doc("b", 1), doc("alone", 1, topic="u")]
    pro = row(properties(documents, unit(0.0, 0.1, 0.0)), "genuine pro")
    assert (pro.near, pro.alone, pro.near_share) == (2, 1, 1.0)


def test_the_two_empty_texts_of_the_papers_corpus_are_a_pair_of_near_duplicates():
    pro = row(properties([doc("a", 0), doc("b", 0)], unit(0.3, 0.3)), "genuine pro")
    assert (pro.words_least, pro.near, pro.near_pairs) == (0, 2, 1)


KIND = st.tuples(st.sampled_from("tu"), st.sampled_from([PRO, CON]), st.floats(0, 3))


@given(st.lists(KIND, max_size=8))
def test_neighbours_agree_with_a_look_at_every_pair(kinds):
    documents = [doc(str(i), 1, side, topic=topic) for i, (topic, side, _) in enumerate(kinds)]
    vectors = unit(*(angle for *_, angle in kinds)).reshape(-1, 2)
    both = row(properties(documents, vectors), "genuine")
    nearest, pairs = {}, 0
    for i, one in enumerate(kinds):
        for j, other in enumerate(kinds):
            if i != j and one[:2] == other[:2]:
                cosine = float(vectors[i].astype(np.float64) @ vectors[j].astype(np.float64))
                nearest[i] = max(nearest.get(i, -2.0), cosine)
                pairs += i < j and cosine > 0.95
    assert both.alone == len(kinds) - len(nearest)
    assert both.near_pairs == pairs
    assert both.near == sum(cosine > 0.95 for cosine in nearest.values())
    if nearest:
        assert both.nearest_median == pytest.approx(float(np.median(list(nearest.values()))))


def test_a_vector_a_document_is_needed():
    with pytest.raises(InputError, match="a vector a document"):
        properties([doc("a", 1)], unit(0.0, 1.0))


def test_what_was_planted_takes_the_place_of_what_the_pack_holds_out():
    held = [doc(f"i{i}", 1, PRO, Origin.INJECTED) for i in range(3)]
    far = Document("far", "x", Origin.BACKGROUND, "toy")
    pack = Pack("toy", (Topic("t", "t", "T"),), (), (doc("g", 1), *held, far))
    assert {d.id for d in measured_documents(pack)} == {"g", "i0", "i1", "i2"}
    made = poison(pack, PRO, n=1)
    assert {d.id for d in measured_documents(pack, made)} == {"g"} | made.ids


def test_the_table_has_a_line_a_group_and_a_dash_for_what_is_not_known():
    lines = table(properties([doc("a", 3), doc("b", 5)], unit(0.0, 0.1))).splitlines()
    assert len(lines) == 2 + len(GROUPS)
    assert lines[2] == "| genuine pro | 2 | 4 | 1.4 | 3 to 5 | 0.995 | 2 (100.000%, 1 pairs) |"
    assert lines[3] == "| genuine con | 0 | - | - | - | - | - |"
