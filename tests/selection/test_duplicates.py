import pytest

from equipoise import Balancer
from equipoise.errors import InputError
from equipoise.selection.duplicates import Duplicates, Merging, find_copies, fold
from equipoise.testing import FakeDetector
from equipoise.types import StanceScore

LONG = (
    "A charge for entering the centre lets a city give street space back to buses, people on foot "
    "and deliveries that cannot be made at any other time of the day."
)
NEAR = LONG.replace("deliveries", "parcels")
PRO, CON = StanceScore(0.8, 0.1, 0.1), StanceScore(0.1, 0.8, 0.1)


def test_exact_copies_are_found_through_case_width_space_and_invisible_characters():
    texts = ["Ban it now", "ban  it\nNOW", "Ｂan it now", "ban i\u200bt now", "ban it later"]
    copies = find_copies(texts, Duplicates(near=None))
    assert copies.exact == {1: 0, 2: 0, 3: 0}
    assert copies.near == {}


def test_a_near_copy_is_found_only_when_asked_for():
    assert find_copies([LONG, NEAR], Duplicates(near=None)).near == {}
    found = find_copies([LONG, NEAR], Duplicates(near=0.8)).near
    assert list(found) == [1]
    assert 0.8 <= found[1][0] < 1.0


def test_similarity_is_the_jaccard_of_three_word_shingles():
    words = [f"w{i}" for i in range(12)]
    other = [*words[:11], "x"]
    # 10 shingles each, 9 shared: 9 / 11.
    found = find_copies([" ".join(words), " ".join(other)], Duplicates(near=0.5)).near
    assert found == {1: {0: round(9 / 11, 4)}}


def test_texts_that_differ_in_a_negation_are_kept_apart():
    opposite = LONG.replace("lets a city give", "does not let a city give")
    assert find_copies([LONG, opposite], Duplicates(near=0.5)).near == {}
    contracted = LONG.replace("cannot be made", "can be made")
    assert find_copies([LONG, contracted], Duplicates(near=0.5)).near == {}


def test_short_texts_are_never_near_copies():
    texts = ["one two three four five", "one two three four six"]
    assert find_copies(texts, Duplicates(near=0.1)).near == {}


def test_near_copies_are_looked_for_within_the_depth_only():
    assert find_copies([LONG, NEAR], Duplicates(), depth=1).near == {}


def test_near_copies_of_one_stance_are_merged_and_of_two_are_not():
    near = find_copies([LONG, NEAR], Duplicates()).near
    assert set(Merging(frozenset(), near, [PRO, PRO])) == {1}
    assert set(Merging(frozenset(), near, [PRO, CON])) == set()


def test_a_third_near_copy_is_merged_with_the_one_of_its_own_stance():
    texts = [LONG, NEAR, LONG.replace("deliveries", "vans")]
    near = find_copies(texts, Duplicates()).near
    merging = Merging(frozenset(), near, [PRO, CON, CON])
    assert (1 in merging, 2 in merging) == (False, True)
    assert merging.merged == {2: 1}


def test_a_sure_text_is_not_merged_into_an_unsure_near_copy():
    near = find_copies([LONG, NEAR], Duplicates()).near
    unsure = StanceScore(0.2, 0.55, 0.25)
    for scores, merged in (
        ([unsure, CON], set()),
        ([CON, unsure], {1}),
        ([unsure, unsure], {1}),
        ([CON, CON], {1}),
    ):
        assert set(Merging(frozenset(), near, scores, unsure_below=0.6)) == merged
        assert set(Merging(frozenset(), near, scores)) == {1}


def test_copies_do_not_chain_from_one_text_to_an_unlike_one():
    words = [f"w{i}" for i in range(30)]
    chain = [" ".join([*words[: 30 - step], *(f"z{i}" for i in range(step))]) for step in (0, 4, 8)]
    near = find_copies(chain, Duplicates(near=0.7)).near
    assert set(Merging(frozenset(), near, [PRO, PRO, PRO])) == {1}


def test_a_planted_near_copy_cannot_silence_the_other_side():
    con = (
        "We urge the council to reject the charge for entering the centre because drivers who "
        "cannot choose their hours pay most of it and the shops around the ring lose their trade "
        "to the malls outside the town where parking is free for everyone all day long"
    )
    pro = con.replace("reject", "adopt")
    neutral = "The council will vote on the charge in spring after a round of public hearings."
    detector = FakeDetector({pro: "pro", con: "con", neutral: "neutral"})
    selection = Balancer(detector=detector).balance(
        "Should cities charge drivers for entering the centre?", [pro, con, neutral]
    )
    assert selection.composition == {"pro": 1, "con": 1, "neutral": 1}
    assert selection.merged == ()
    assert not selection.one_sided


def test_blank_texts_copy_nothing():
    assert find_copies(["", "  ", "\u200b"], Duplicates()).exact == {}


@pytest.mark.parametrize("near", [0.0, -0.1, 1.1, "x", True])
def test_a_threshold_outside_its_range_is_refused(near):
    with pytest.raises(InputError, match="near"):
        Duplicates(near=near)


def test_fold_takes_odd_text():
    assert fold("\ud800 A\x00 \u202eb") == "\ud800 a\x00 b"
