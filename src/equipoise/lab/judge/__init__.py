"""Judges: which way an answer leans, read by something else than what wrote or chose it."""

from equipoise.lab.judge.base import Judge, Verdict
from equipoise.lab.judge.loading import load_judge

__all__ = ["Judge", "Verdict", "load_judge"]
