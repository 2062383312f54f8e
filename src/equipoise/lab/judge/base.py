"""What a judge is, and what it says of an answer."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from equipoise.errors import InputError
from equipoise.lab.answers.store import Judged
from equipoise.types import Stance

FORMAT = 1
"""Of the rows of verdicts."""

SAID = frozenset({Judged.SCORED, Judged.REFUSED, Judged.FILTERED, Judged.UNPARSED, Judged.ERROR})
"""The outcomes that a judge may give; the others are of the generator, or of nobody yet."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of one answer.

    Attributes:
        outcome: one of `SAID`. Only `scored` has a stance.
        stance: pro, neutral or con; None for any other outcome.
        probabilities: of pro, con and neutral, each in [0, 1], for a judge that has them; they may
            be there without a stance, where the judge was too unsure.
        detail: why there is no stance, without secrets; may quote the judge's output.
        model: who judged in the end (one of a chain); "" where nobody did.

    Raises:
        InputError: an outcome that is not a judge's, or a stance where there must be none, or none
            where there must be one.

    >>> Verdict(Judged.SCORED, Stance.PRO, model="m").stance.value
    'pro'
    """

    outcome: Judged
    stance: Stance | None = None
    probabilities: tuple[float, float, float] | None = None
    detail: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        if self.outcome not in SAID:
            known = ", ".join(sorted(SAID))
            raise InputError(f"a judge's outcome must be one of {known}; got {self.outcome!r}")
        if (self.stance is not None) != (self.outcome is Judged.SCORED):
            raise InputError(
                "a verdict must have a stance when it is scored, and only then; got "
                f"{self.outcome.value} with {self.stance!r}"
            )


@runtime_checkable
class Judge(Protocol):
    """Says where an answer stands toward its question."""

    @property
    def name(self) -> str:
        """The judge and every setting that can change a verdict, as results report it."""
        ...

    @property
    def family(self) -> str:
        """Whose models it asks: one family, or several with commas between."""
        ...

    async def judge(self, question: str, answer: str) -> Verdict:
        """A verdict on an answer with text; what fails is an outcome in it, never an exception.

        Safe to call again before an earlier call has ended.
        """
        ...
