"""Long documents: where the windows lie, and how their scores become one.

A document longer than the model is read in overlapping windows of tokens. The question is never
cut. Source: ours; the reasons stand beside each rule.
"""

from collections.abc import Sequence
from math import sqrt

from equipoise.errors import InputError
from equipoise.types import StanceScore

WINDOWS_VERSION = 1
MIN_WINDOW = 32
"""Tokens of the document that a window must hold at least: fewer carry no argument."""
MAX_WINDOWS = 64
_EPSILON = 1e-6


def window_size(question_tokens: int, *, specials: int, max_length: int) -> int:
    """Tokens of the document that fit beside the whole question and the special tokens.

    Raises:
        InputError: fewer than `MIN_WINDOW` (32) are left.

    >>> window_size(20, specials=4, max_length=192)
    168
    """
    size = max_length - specials - question_tokens
    if size < MIN_WINDOW:
        limit = max_length - specials - MIN_WINDOW
        raise InputError(
            f"the question must have at most {limit} tokens, so that {MIN_WINDOW} of the model's "
            f"{max_length} are left for the document; got {question_tokens}: shorten the question"
        )
    return size


def window_spans(
    tokens: int, size: int, *, max_windows: int = MAX_WINDOWS
) -> list[tuple[int, int]]:
    """Half-open spans of at most `size` tokens that cover a document of `tokens` tokens.

    Windows start every 3/4 of `size`, so that an argument cut by one window's end stands in the
    next; the last one is pulled back to end with the document, so that none is a short rest.
    Where that would take more than `max_windows`, just as many are spread evenly, the first at the
    beginning and the last at the end (conclusions stand there), and the parts between are not
    read: cost and memory stay bounded, and `StanceScore.windows` says how many were read.

    >>> window_spans(100, 168)
    [(0, 100)]
    >>> window_spans(20, 8)
    [(0, 8), (6, 14), (12, 20)]
    >>> window_spans(1000, 8, max_windows=3)
    [(0, 8), (496, 504), (992, 1000)]
    """
    if tokens <= size:
        return [(0, tokens)]
    last = tokens - size
    count = 1 + -(-last // max(1, size * 3 // 4))
    if count <= max_windows:
        starts = [min(at * max(1, size * 3 // 4), last) for at in range(count)]
    elif max_windows == 1:
        starts = [0]
    else:
        starts = [round(at * last / (max_windows - 1)) for at in range(max_windows)]
    return [(start, start + size) for start in starts]


def combine_windows(scores: Sequence[StanceScore]) -> StanceScore:
    """The document's score from its windows' scores; one window keeps its score.

    1. With its lean d = pro - con, a window counts by w = d^2 + 1e-6, and the probabilities are the
       weighted mean. So windows that take no side do not drown one that does (63 windows of lean
       0.1 weigh 0.63, one of lean 0.9 weighs 0.81), not even when the model is unsure of their
       neutrality; a document is neutral when all its windows are.
    2. Windows that lean to different sides speak for a document that hears both. The agreement
       a = |sum w d| / sum w |d| is 1 when all lean one way and 0 when they cancel; pro and con are
       multiplied by sqrt(a) and neutral takes the rest. A side that holds about 70% of the weight
       still gives the label: rebutting the other side in one part of four does not make an essay
       neutral.

    The order of the windows plays no part; negating the question swaps pro and con. The price: one
    window that the model misreads with confidence can carry a long neutral document. Not for texts
    that are not parts of one document.

    Raises:
        InputError: there is no score.

    >>> pro, con = StanceScore(0.9, 0.0, 0.1), StanceScore(0.0, 0.9, 0.1)
    >>> combine_windows([pro, con]).label.value, combine_windows([pro, pro]).label.value
    ('neutral', 'pro')
    """
    if not scores:
        raise InputError("combining windows needs at least one score, got none")
    if len(scores) == 1:
        return scores[0]
    weights = [(score.pro - score.con) ** 2 + _EPSILON for score in scores]
    total = sum(weights)
    pro = sum(w * s.pro for w, s in zip(weights, scores, strict=True)) / total
    con = sum(w * s.con for w, s in zip(weights, scores, strict=True)) / total
    leaning = sum(w * abs(s.pro - s.con) for w, s in zip(weights, scores, strict=True)) / total
    kept = sqrt(min(1.0, abs(pro - con) / leaning)) if leaning > 0 else 1.0
    pro, con = kept * pro, kept * con
    windows = sum(score.windows for score in scores)
    return StanceScore(pro, con, max(0.0, 1.0 - pro - con), windows)
