"""How polarized a text is on an axis of disagreement, and a filter built on it."""

from equipoise.polarization.axis import PolarizationAxis
from equipoise.polarization.biasdef import BiasDef, BiasDefReport
from equipoise.polarization.check import AxisCheck, check_axis
from equipoise.polarization.cut import Cut, Guard
from equipoise.polarization.divergence import Divergence, Gaussian, Histogram, Kernel
from equipoise.polarization.outliers import Outliers

__all__ = [
    "AxisCheck",
    "BiasDef",
    "BiasDefReport",
    "Cut",
    "Divergence",
    "Gaussian",
    "Guard",
    "Histogram",
    "Kernel",
    "Outliers",
    "PolarizationAxis",
    "check_axis",
]
