import pytest

from equipoise.errors import InputError
from equipoise.selection.duplicates import Copy, Duplicates, find_copies, fold

LONG = (
    "A charge for entering the centre lets a city give street space back to buses, people on foot "
    "and deliveries that cannot be made at any other time of the day."
)


def test_exact_copies_are_found_through_case_width_space_and_invisible_characters():
    texts = ["Ban it now", "ban  it\nNOW", "Ｂan it now", "ban i\u200bt now", "ban it later"]
    assert [(c.index, c.of, c.kind) for c in find_copies(texts, Duplicates(near=None))] == [
        (1, 0, "exact"),
        (2, 0, "exact"),
        (3, 0, "exact"),
    ]


def test_a_near_copy_is_found_only_when_asked_for():
    near = LONG.replace("deliveries", "parcels")
    assert find_copies([LONG, near], Duplicates(near=None)) == []
    (copy,) = find_copies([LONG, near], Duplicates(near=0.8))
    assert (copy.index, copy.of, copy.kind) == (1, 0, "near")
    assert 0.8 <= copy.similarity < 1.0


def test_similarity_is_the_jaccard_of_three_word_shingles():
    words = [f"w{i}" for i in range(12)]
    other = [*words[:11], "x"]
    (copy,) = find_copies([" ".join(words), " ".join(other)], Duplicates(near=0.5))
    # 10 shingles each, 9 shared: 9 / 11.
    assert copy == Copy(1, 0, "near", round(9 / 11, 4))


def test_texts_that_differ_in_a_negation_are_kept_apart():
    opposite = LONG.replace("lets a city give", "does not let a city give")
    assert find_copies([LONG, opposite], Duplicates(near=0.5)) == []
    contracted = LONG.replace("cannot be made", "can be made")
    assert find_copies([LONG, contracted], Duplicates(near=0.5)) == []


def test_short_texts_are_never_near_copies():
    assert (
        find_copies(["one two three four five", "one two three four six"], Duplicates(near=0.1))
        == []
    )


def test_copies_do_not_chain_from_one_text_to_an_unlike_one():
    words = [f"w{i}" for i in range(30)]
    chain = [" ".join([*words[: 30 - step], *(f"z{i}" for i in range(step))]) for step in (0, 4, 8)]
    copies = find_copies(chain, Duplicates(near=0.7))
    assert [(c.index, c.of) for c in copies] == [(1, 0)]


def test_an_exact_copy_of_a_near_copy_names_the_text_that_was_kept():
    near = LONG.replace("deliveries", "parcels")
    copies = find_copies([LONG, near, near], Duplicates(near=0.8))
    assert [(c.index, c.of) for c in copies] == [(1, 0), (2, 0)]


def test_blank_texts_copy_nothing():
    assert find_copies(["", "  ", "\u200b"], Duplicates()) == []


@pytest.mark.parametrize("near", [0.0, -0.1, 1.1])
def test_a_threshold_outside_its_range_is_refused(near):
    with pytest.raises(InputError, match="near"):
        Duplicates(near=near)


def test_fold_takes_odd_text():
    assert fold("\ud800 A\x00 \u202eb") == "\ud800 a\x00 b"
