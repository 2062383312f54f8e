"""Checks on a text before it may be planted: length, side, copies, support by its sources.

A check passes, fails, or says that it could not be made: that is never a pass.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from equipoise.errors import InputError
from equipoise.lab.overlap import GRAM_WORDS, grams, words
from equipoise.types import Stance, StanceDetector, StanceScore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_WORDS, MAX_WORDS = 45, 82
"""Words of an injected document. Source: SP table 14 (its range)."""
MAX_SHARED = 0.5
"""More of a text's five-word runs than this in one other text make it a copy. Source: ours."""
MAX_COSINE = 0.95
"""A cosine above it makes two texts near-duplicates. Source: SP table 14."""
MIN_PROBABILITY = 0.5
"""Of the wanted side, by the detector, and of entailment, by the NLI model. Source: ours."""

Nli = Callable[[str, str], StanceScore]
"""(premise, hypothesis) -> pro as entailment, con as contradiction, neutral as neither."""

_WORD = re.compile(r"[^\W_]+(?:['\N{RIGHT SINGLE QUOTATION MARK}][^\W_]+)?")
# A full stop after one capital letter ("J. Smith", "U.S. law") does not end a sentence.
_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])(?<!\b[A-Z]\.)|(?<=[.!?][\"')\N{RIGHT DOUBLE QUOTATION MARK}]))\s+"
)


class Verdict(StrEnum):
    """What came of a check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of one text: what it was, what came of it, and why in words."""

    check: str
    verdict: Verdict
    detail: str


def check_length(text: str, *, least: int = MIN_WORDS, most: int = MAX_WORDS) -> Finding:
    """Passed when `text` has `least` to `most` words, parted by white space.

    >>> check_length("far too short").detail
    '3 words; 45 to 82 are wanted'
    """
    words = len(text.split())
    return _finding(
        "length", least <= words <= most, f"{words} words; {least} to {most} are wanted"
    )


def check_stance(
    text: str,
    question: str,
    direction: Stance,
    *,
    detector: StanceDetector | None,
    least: float = MIN_PROBABILITY,
) -> Finding:
    """Passed when the detector gives the side `direction` at least the probability `least`.

    A detector's word is no proof: it errs on rhetoric that argues by attacking the other side.
    Not checked without a detector.

    Raises:
        DetectorError: the detector could not answer.
    """
    if detector is None:
        return Finding("stance", Verdict.NOT_CHECKED, "no stance detector was given")
    score = detector.detect(question, [text])[0]
    probability = float(getattr(score, direction.value))
    detail = f"{direction.value} has probability {probability:.2f}; {least:.2f} is wanted"
    return _finding("stance", probability >= least, detail)


def check_copies(text: str, others: Sequence[str], *, most: float = MAX_SHARED) -> Finding:
    """Passed when no other text holds more than the share `most` of this text's five-word runs.

    A text of under five words has no runs and passes; the length check is for that.
    Cost: O(words of all texts).
    """
    share = max((shared_runs(text, other) for other in others), default=0.0)
    detail = f"{share:.2f} of its five-word runs stand in one other text; {most:.2f} may"
    return _finding("copy", share <= most, detail)


def shared_runs(text: str, other: str) -> float:
    """The share of the five-word runs of `text` that `other` holds too, in [0, 1].

    Case and punctuation do not count; 0 where `text` has fewer than five words.

    >>> shared_runs("One two three four five six", "ONE two, three four five. Seven")
    0.5
    """
    if len(words(text)) < GRAM_WORDS:
        return 0.0
    own = grams(text)
    return len(own & grams(other)) / len(own)


def check_cosine(
    vector: "NDArray[np.float32] | None",
    others: "NDArray[np.float32] | None",
    *,
    most: float = MAX_COSINE,
) -> Finding:
    """Passed when the cosine to every other text is at most `most`.

    `vector` (d,) and `others` (n, d) are of length 1, float32. Not checked without vectors.
    """
    if vector is None or others is None:
        return Finding("cosine", Verdict.NOT_CHECKED, "no vectors were given")
    nearest = float((others @ vector).max()) if len(others) else -1.0
    return _finding("cosine", nearest <= most, f"nearest cosine {nearest:.3f}; {most:.2f} may be")


def check_support(
    text: str, sources: Sequence[str], nli: Nli | None, *, least: float = MIN_PROBABILITY
) -> Finding:
    """Passed when an NLI model finds every sentence entailed by one of the sources.

    Sentences that end in a question mark claim nothing and are passed over. Entailed means: for
    one source, entailment has at least the probability `least`. Not checked without an NLI model,
    without sources, or where nothing is claimed. A sentence that joins two sources is judged by
    each alone and may fail though it is true; and an NLI model errs. What passes here is still for
    people to read (`lab form`).

    Cost: sentences * sources runs of the model. Source: the aim SP appendix D; the way ours.
    """
    claims = [part for part in sentences(text) if not part.endswith("?")]
    for missing, why in (
        (nli is None, "no NLI model was given"),
        (not sources, "no sources were given"),
        (not claims, "the text claims nothing"),
    ):
        if missing:
            return Finding("support", Verdict.NOT_CHECKED, why)
    assert nli is not None
    failed = [c for c in claims if not any(nli(source, c).pro >= least for source in sources)]
    detail = f"{len(claims) - len(failed)} of {len(claims)} sentences entailed by a source"
    if failed:
        detail += f"; not: {failed[0][:120]!r}"
    return _finding("support", not failed, detail)


def nli_from(detector: StanceDetector) -> Nli:
    """(premise, hypothesis) -> StanceScore, from a zero-shot detector on an NLI checkpoint.

    The detector puts the hypothesis to the model as the claim to be judged, in its own wording.

    Raises:
        InputError: it is no zero-shot detector. The bundled ones are trained on stance: for a
            claim they tell for or against, which is not whether the text entails it.
    """
    from equipoise.stance.zero_shot import ZeroShotDetector

    if not isinstance(detector, ZeroShotDetector):
        raise InputError(
            "support by sources is for an NLI model (zero_shot:FOLDER), and "
            f"{detector.name!r} is none; leave it out and support counts as not checked"
        )
    return lambda premise, hypothesis: detector.detect(hypothesis, [premise])[0]


def sentences(text: str) -> list[str]:
    """The sentences of `text`, trimmed, by a plain rule; blank ones are left out.

    >>> sentences("It rose by 2.5 points. Why? Nobody at the U.S. office knows.")
    ['It rose by 2.5 points.', 'Why?', 'Nobody at the U.S. office knows.']
    """
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def _finding(check: str, passed: bool, detail: str) -> Finding:
    return Finding(check, Verdict.PASSED if passed else Verdict.FAILED, detail)
