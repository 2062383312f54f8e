"""Defences to compare, one file each, on one interface (`base`); by name in `names`.

Importing this loads numpy but no optional library: each is loaded when its defence first runs.
"""

from equipoise.lab.defences.base import Case, Defence, Defended, RuleDefence
from equipoise.lab.defences.names import NAMES, defence

__all__ = ["NAMES", "Case", "Defence", "Defended", "RuleDefence", "defence"]
