"""Planted documents that the similarity threshold missed, found by Mahalanobis distance."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from equipoise.errors import InputError
from equipoise.polarization._vectors import Floats
from equipoise.polarization.mahalanobis import ShrunkCovariance, chi2_quantile

Reading = Literal["benign", "suspect", "both", "none"]
Cutoff = Literal["chi2", "quantile", "spread"]


@dataclass(frozen=True, slots=True)
class Outliers:
    """Which documents of the benign part are to join the suspects.

    All distances are in the covariance of the benign part, and a document never has a part in the
    mean and covariance that it is measured by. The reviews differ in what is an outlier.
    `reading="benign"`: a document far from the mean of the other benign ones (the English one).
    "suspect": one nearer to the mean of the suspects than to that of the other benign ones, and not
    far from it (the Dutch one: a member of the planted cluster). "both" takes either, "none" leaves
    the step out.

    `cutoff` says what is far, with `level`, by the distances of the benign documents from their
    mean:

    - "chi2": the chi-square quantile at `level` in (0, 1), with the dimension as its degrees of
      freedom. Right for many normal vectors; with fewer documents than dimensions the distances
      follow no such law.
    - "quantile": their quantile at `level` in (0, 1]. For "benign" it takes about 1 - level of
      the documents whether or not anything is wrong; at 1 it takes none.
    - "spread": their median + `level` times their scaled median absolute deviation, `level` > 0.
      For "benign" it takes none where no distance stands out.

    `shrinkage` in (0, 1] of the covariance; None is that of Ledoit and Wolf.

    Raises:
        InputError: a setting out of range.

    Source: step 3 of BiasDef; the readings from the two reviews, the cut-offs ours.
    """

    reading: Reading = "suspect"
    cutoff: Cutoff = "spread"
    level: float = 3.0
    shrinkage: float | None = None

    def __post_init__(self) -> None:
        for value, known in ((self.reading, get_args(Reading)), (self.cutoff, get_args(Cutoff))):
            if value not in known:
                raise InputError(f"Outliers takes one of {known}, got {value!r}")
        most = math.inf if self.cutoff == "spread" else 1.0
        within = 0.0 < self.level <= most and (self.cutoff != "chi2" or self.level < 1.0)
        if not (within and math.isfinite(self.level)):
            raise InputError(f"level is out of range for {self.cutoff}: {self.level!r}")
        if self.shrinkage is not None and not 0.0 < self.shrinkage <= 1.0:
            raise InputError(f"the shrinkage must lie in (0, 1], got {self.shrinkage!r}")

    @property
    def name(self) -> str:
        """`outliers(suspect, spread 3)`."""
        if self.reading == "none":
            return "outliers(none)"
        shrunk = "" if self.shrinkage is None else f", shrinkage {self.shrinkage:g}"
        return f"outliers({self.reading}, {self.cutoff} {self.level:g}{shrunk})"

    def find(self, benign: Floats, suspects: Floats) -> list[int]:
        """Rows of `benign` (b, d) that look planted, given `suspects` (s, d).

        The farthest from the benign mean come first. None where the benign part has under three
        vectors or no spread to measure by, or where there is no suspect.
        """
        if self.reading == "none" or len(benign) < 3 or not len(suspects):
            return []
        found: set[int] = set()
        usual = ShrunkCovariance.fit(benign, shrinkage=self.shrinkage)
        if usual is None:
            return []
        own = usual.left_out(benign)
        far = self._far(own, benign.shape[1])
        if self.reading in ("benign", "both"):
            found |= set(np.flatnonzero(own > far).tolist())
        if self.reading in ("suspect", "both"):
            away = usual.left_out(benign, point=suspects.mean(axis=0))
            found |= set(np.flatnonzero((away <= far) & (away < own)).tolist())
        return sorted(found, key=lambda row: (-own[row], row))

    def _far(self, squared: Floats, dimension: int) -> float:
        """The squared distance beyond which a vector is far."""
        if self.cutoff == "chi2":
            return chi2_quantile(self.level, dimension)
        if self.cutoff == "quantile":
            return float(np.quantile(squared, self.level))
        middle = float(np.median(squared))
        # 1.4826 makes the deviation a standard deviation for normal data.
        return middle + self.level * 1.4826 * float(np.median(np.abs(squared - middle)))
