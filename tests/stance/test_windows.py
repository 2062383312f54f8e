from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.stance.windows import MIN_WINDOW, combine_windows, window_size, window_spans
from equipoise.types import Stance, StanceScore

PRO = StanceScore(0.90, 0.05, 0.05)
CON = StanceScore(0.05, 0.90, 0.05)
NEUTRAL = StanceScore(0.05, 0.05, 0.90)


def test_the_whole_question_is_kept_beside_the_document() -> None:
    assert window_size(20, specials=4, max_length=192) == 168


def test_a_question_of_exactly_the_limit_fits() -> None:
    limit = 192 - 4 - MIN_WINDOW
    assert window_size(limit, specials=4, max_length=192) == MIN_WINDOW


def test_a_question_one_token_longer_is_an_input_error_that_says_so() -> None:
    with pytest.raises(InputError, match=r"at most 156 tokens.* got 157: shorten"):
        window_size(157, specials=4, max_length=192)


@given(tokens=st.integers(0, 5_000), size=st.integers(1, 200), most=st.integers(1, 80))
def test_windows_cover_both_ends_and_stay_within_bounds(tokens: int, size: int, most: int) -> None:
    spans = window_spans(tokens, size, max_windows=most)
    assert 1 <= len(spans) <= most
    assert spans[0][0] == 0
    assert all(0 <= start <= end <= tokens and end - start <= size for start, end in spans)
    assert all(first[0] < second[0] for first, second in pairwise(spans))
    if most > 1 or tokens <= size:
        assert spans[-1][1] == tokens


@given(tokens=st.integers(1, 5_000), size=st.integers(4, 200))
def test_without_a_bound_every_token_is_read_and_neighbours_overlap(tokens: int, size: int) -> None:
    spans = window_spans(tokens, size, max_windows=10_000)
    assert {at for start, end in spans for at in range(start, end)} == set(range(tokens))
    for (_, end), (start, _) in pairwise(spans):
        assert end - start >= size / 4


def test_windows_beyond_the_bound_are_spread_evenly() -> None:
    spans = window_spans(100_000, 100, max_windows=64)
    steps = [second[0] - first[0] for first, second in pairwise(spans)]
    assert len(spans) == 64
    assert max(steps) - min(steps) <= 1
    assert (spans[0], spans[-1]) == ((0, 100), (99_900, 100_000))


def test_one_window_keeps_its_score() -> None:
    assert combine_windows([PRO]) is PRO


def test_no_window_is_an_input_error() -> None:
    with pytest.raises(InputError, match="at least one score"):
        combine_windows([])


def test_a_document_is_neutral_when_all_its_windows_are() -> None:
    combined = combine_windows([NEUTRAL] * 64)
    assert combined.label is Stance.NEUTRAL
    assert combined.neutral == pytest.approx(0.9, abs=0.1)


def test_one_opinion_is_not_drowned_by_sixty_three_neutral_windows() -> None:
    assert combine_windows([NEUTRAL] * 63 + [PRO]).label is Stance.PRO
    assert combine_windows([CON] + [NEUTRAL] * 63).label is Stance.CON


def test_neutral_windows_of_which_the_model_is_unsure_do_not_drown_an_opinion() -> None:
    unsure = StanceScore(0.22, 0.13, 0.65)
    assert combine_windows([unsure] * 58 + [CON] * 6).label is Stance.CON
    assert combine_windows([unsure] * 64).label is Stance.NEUTRAL


def test_windows_without_any_doubt_of_neutrality_combine_too() -> None:
    assert combine_windows([StanceScore(0.0, 0.0, 1.0)] * 3).neutral == 1.0


def test_a_document_that_argues_both_sides_alike_is_neutral() -> None:
    assert combine_windows([PRO, CON]).label is Stance.NEUTRAL
    assert combine_windows([PRO, CON] * 8 + [NEUTRAL] * 3).label is Stance.NEUTRAL


def test_a_side_with_three_parts_of_five_is_not_the_documents_side() -> None:
    assert combine_windows([PRO, CON, PRO, CON, PRO]).label is Stance.NEUTRAL


def test_rebutting_the_other_side_in_one_part_of_four_keeps_the_side() -> None:
    assert combine_windows([PRO, CON, PRO, PRO]).label is Stance.PRO
    assert combine_windows([CON, CON, PRO, CON]).label is Stance.CON


def test_windows_are_counted() -> None:
    assert combine_windows([PRO, NEUTRAL, NEUTRAL]).windows == 3


scores = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(
    lambda pair: StanceScore(pair[0] * pair[1], pair[0] * (1 - pair[1]), 1 - pair[0])
)


@given(st.lists(scores, min_size=1, max_size=12))
def test_combined_scores_are_probabilities_and_swap_with_the_question(
    parts: list[StanceScore],
) -> None:
    combined = combine_windows(parts)
    swapped = combine_windows([part.swapped() for part in parts])
    assert swapped.pro == pytest.approx(combined.con, abs=1e-9)
    assert swapped.con == pytest.approx(combined.pro, abs=1e-9)


@given(st.permutations([PRO, CON, NEUTRAL, PRO, StanceScore(0.2, 0.3, 0.5)]))
def test_the_order_of_the_windows_plays_no_part(parts: list[StanceScore]) -> None:
    first, second = combine_windows(parts), combine_windows(sorted(parts, key=lambda s: s.pro))
    assert first.pro == pytest.approx(second.pro)
    assert first.con == pytest.approx(second.con)
