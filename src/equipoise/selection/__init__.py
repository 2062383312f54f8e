"""Selection rules: which of the retrieved documents go to the generator."""

from equipoise.selection.duplicates import Duplicates
from equipoise.selection.gate import Gate
from equipoise.selection.mmr import MmrRule
from equipoise.selection.quota import QuotaRule
from equipoise.selection.random import RandomRule
from equipoise.selection.relevance import RelevanceRule
from equipoise.selection.sources import Sources

__all__ = [
    "Duplicates",
    "Gate",
    "MmrRule",
    "QuotaRule",
    "RandomRule",
    "RelevanceRule",
    "Sources",
]
