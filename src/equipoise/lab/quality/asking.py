"""What raters are asked, people and models alike, and what they may say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from equipoise.errors import InputError

DIMENSIONS: Final[Mapping[str, str]] = {
    "relevance": "Does it deal with the question that was asked, and with little else?",
    "support": "Do the passages that this answer was given bear out what it says?",
    "accuracy": "Judged by the passages of both answers alone: is what can be checked right?",
    "coverage": "Of the arguments for and against in the passages of both answers, how much of "
    "what matters does it report?",
}
"""Source: SP appendix E, four dimensions and what each is judged by; the words are ours."""

LOWEST: Final = 1
HIGHEST: Final = 5
SCALE: Final = tuple(str(mark) for mark in range(LOWEST, HIGHEST + 1))
APART: Final = ("unresolved", "inapplicable")
"""No marks: cannot be decided from what is shown; does not arise here. Source: SP appendix E."""
PREFERENCES: Final = ("1", "2", "tie", "unresolved")
TIE: Final = "tie"

Mark = int | str | None
"""1 to 5, one of `APART`, or None where a rater left it open."""

INSTRUCTIONS: Final = (
    "Each item shows a question and two answers, with the passages that each was written from. "
    "Rate both answers on four dimensions, from 1 (major deficiencies) to 5 (nothing to wish for). "
    "Say 'unresolved' where what is shown does not let you decide, and 'inapplicable' where a "
    "dimension does not arise. Support is judged by the answer's own passages, accuracy and "
    "coverage by the passages of both. Do not use other knowledge, do not reward length or style, "
    "and do not mind whether you agree. Work alone."
)


@dataclass(frozen=True, slots=True)
class Rating:
    """One rater on one pair, by setting.

    `marks` has, for A and for C, a mark for every dimension. `preference` is A, C, tie, unresolved,
    or None where it was left open.

    Raises:
        InputError: something else stands there.
    """

    marks: Mapping[str, Mapping[str, Mark]]
    preference: str | None

    def __post_init__(self) -> None:
        if self.preference not in ("A", "C", TIE, "unresolved", None):
            raise InputError(f"a preference must be A, C, tie or unresolved: {self.preference!r}")
        if set(self.marks) != {"A", "C"}:
            raise InputError(f"a rating must have marks for A and C, got {sorted(self.marks)}")
        for given in self.marks.values():
            if set(given) != set(DIMENSIONS):
                raise InputError(f"marks must be for {list(DIMENSIONS)}, got {sorted(given)}")
            for name, mark in given.items():
                if not is_mark(mark):
                    raise InputError(
                        f"a mark must be {LOWEST} to {HIGHEST}, {' or '.join(APART)}; {name} has "
                        f"{mark!r}"
                    )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as rows have them."""
        return {
            "marks": {setting: dict(given) for setting, given in self.marks.items()},
            "preference": self.preference,
        }


def is_mark(mark: object) -> bool:
    """True for a mark: an int in range (not a bool), a word of `APART`, or None."""
    if isinstance(mark, int) and not isinstance(mark, bool):
        return LOWEST <= mark <= HIGHEST
    return mark is None or (isinstance(mark, str) and mark in APART)


def unblinded(
    order: str, first: Mapping[str, Mark], second: Mapping[str, Mark], preference: str | None
) -> Rating:
    """What was said of the first and the second answer shown, by setting.

    `order` is AC or CA; `preference` one of `PREFERENCES`, or None.

    >>> nothing = dict.fromkeys(DIMENSIONS)
    >>> unblinded("CA", nothing, nothing, "1").preference
    'C'
    """
    settings = dict(zip(("1", "2"), order, strict=True))
    named = settings.get(preference, preference) if preference is not None else None
    return Rating({order[0]: first, order[1]: second}, named)
