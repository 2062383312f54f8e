"""Where the weights of the lab's keyless judge lie.

    >>> from equipoise.stance import ClassifierDetector
    >>> judge = ClassifierDetector(folder())
    >>> judge.detect("Should we ban whaling?", ["No, we should not."])[0].label.value
    'con'

How it was trained, on what, and how well it reads: README.md (the model card).
"""

from pathlib import Path

__all__ = ["folder"]


def folder() -> Path:
    """The folder that `equipoise.stance.ClassifierDetector` loads; cost: none, nothing is read."""
    return Path(__file__).parent / "model"
