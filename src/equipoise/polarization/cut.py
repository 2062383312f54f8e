"""Where to cut the documents by similarity, and whether a cut means anything."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import InputError
from equipoise.polarization._vectors import Floats
from equipoise.polarization.divergence import Divergence
from equipoise.types import is_number

Suspects = Literal["high", "extreme"]


@dataclass(frozen=True, slots=True)
class Cut:
    """Which cuts by similarity are looked at, and which part is then suspect.

    Attributes:
        smallest: documents in a part, >= 1. Under three, two scores that chance put close
            together look like a cluster.
        most: the largest share of the documents, in (0, 1), that may be suspect or flagged in all.
            Benign is what most documents are: over a half, the words change places.
        suspects: "high", as in the reviews, takes the part of higher similarity. "extreme" takes
            the part whose mean score is farther from 0, the middle of the axis: for planted
            documents that are less similar than the genuine ones of the topic. On the axis of the
            pool itself that is the smaller part.

    Raises:
        InputError: a setting out of range.

    Source: step 1 of BiasDef; the limits and "extreme" are ours.
    """

    smallest: int = 3
    most: float = 0.5
    suspects: Suspects = "high"

    def __post_init__(self) -> None:
        if isinstance(self.smallest, bool) or not isinstance(self.smallest, int):
            raise InputError(f"Cut.smallest must be an int >= 1, got {self.smallest!r}")
        if self.smallest < 1:
            raise InputError(f"Cut.smallest must be an int >= 1, got {self.smallest!r}")
        if not (is_number(self.most) and 0.0 < self.most < 1.0):
            raise InputError(f"Cut.most must lie in (0, 1), got {self.most!r}")
        if self.suspects not in get_args(Suspects):
            raise InputError(
                f"Cut.suspects must be one of {get_args(Suspects)}, got {self.suspects!r}"
            )

    @property
    def name(self) -> str:
        """`cut(smallest 3, most 0.5, high)`."""
        return f"cut(smallest {self.smallest}, most {self.most:g}, {self.suspects})"

    def limit(self, number: int) -> int:
        """How many of `number` documents may be flagged."""
        return math.floor(self.most * number + 1e-9)

    def below(self, scores: Floats) -> NDArray[np.bool_]:
        """For each cut of scores (n,), (n - 1,): True where the part after it is the suspect."""
        first = np.arange(1, len(scores))
        if self.suspects == "high":
            return np.zeros(len(first), dtype=bool)
        sums = scores.cumsum()
        high, low = sums[:-1] / first, (sums[-1] - sums[:-1]) / (len(scores) - first)
        return np.asarray(np.abs(low) > np.abs(high))

    def allowed(self, similarities: Floats, scores: Floats) -> NDArray[np.bool_]:
        """The cuts (n - 1,) to look at; `similarities` (n,) fall, `scores` (n,) run beside them.

        Never between two equal similarities: no threshold lies there.
        """
        number = len(scores)
        first = np.arange(1, number)
        suspect = np.where(self.below(scores), number - first, first)
        return np.asarray(
            (similarities[:-1] > similarities[1:])
            & (np.minimum(first, number - first) >= self.smallest)
            & (suspect <= self.limit(number))
        )


@dataclass(frozen=True, slots=True)
class Guard:
    """Tells a divergence that means something from one that chance gives.

    The scores are shuffled over the ranks `shuffles` times, and the largest divergence over the
    cuts is noted each time: the observed one must be larger than all but a share `level`, in
    (0, 1), of them. Without a guard something is flagged for every question, for some cut is
    always the largest. It cannot tell an attack from another reason why score and similarity go
    together, such as an axis that tells on topic from off topic.

    Cost: `shuffles` times that of the divergence.

    Raises:
        InputError: a setting out of range, or too few shuffles for the level.

    Source: ours.
    """

    level: float = 0.01
    shuffles: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if not (is_number(self.level) and 0.0 < self.level < 1.0):
            raise InputError(f"Guard.level must lie in (0, 1), got {self.level!r}")
        if isinstance(self.shuffles, bool) or not isinstance(self.shuffles, int):
            raise InputError(f"Guard.shuffles must be an int >= 1, got {self.shuffles!r}")
        if self.shuffles < 1 or self._place > self.shuffles:
            raise InputError(
                f"Guard.shuffles must be at least {math.ceil(1 / self.level) - 1} for level "
                f"{self.level:g}, got {self.shuffles}"
            )

    @property
    def _place(self) -> int:
        # The observed row counts as one of the shuffles, as in any exact test.
        return math.ceil((1.0 - self.level) * (self.shuffles + 1) - 1e-9)

    @property
    def name(self) -> str:
        """`guard(0.01 of 200)`."""
        return f"guard({self.level:g} of {self.shuffles})"

    def needed(self, divergence: Divergence, scores: Floats, allowed: Any) -> float:
        """The divergence to exceed, >= 0, for scores (n,) and allowed cuts (n - 1,).

        At least one cut must be allowed.
        """
        rng = np.random.default_rng(self.seed)
        rows = rng.permuted(np.tile(scores, (self.shuffles, 1)), axis=1)
        largest = np.sort(divergence.cuts(rows)[:, allowed].max(axis=1))
        return float(largest[self._place - 1])
