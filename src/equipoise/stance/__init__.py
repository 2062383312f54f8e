"""Stance detectors: which side a document takes toward a question.

Importing this package loads the standard library only; a detector loads its own libraries.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.errors import InputError
from equipoise.types import StanceDetector

if TYPE_CHECKING:
    from equipoise.stance.base import LazyScores
    from equipoise.stance.batching import BatchingDetector
    from equipoise.stance.cached import CachedDetector
    from equipoise.stance.classifier import ClassifierDetector
    from equipoise.stance.question import canonical_question, clean_text
    from equipoise.stance.remote import RemoteDetector
    from equipoise.stance.zero_shot import ZeroShotDetector

__all__ = [
    "BatchingDetector",
    "CachedDetector",
    "ClassifierDetector",
    "LazyScores",
    "RemoteDetector",
    "ZeroShotDetector",
    "canonical_question",
    "clean_text",
    "load_detector",
]

_HOMES = {
    "BatchingDetector": "batching",
    "CachedDetector": "cached",
    "ClassifierDetector": "classifier",
    "LazyScores": "base",
    "RemoteDetector": "remote",
    "ZeroShotDetector": "zero_shot",
    "canonical_question": "question",
    "clean_text": "question",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"equipoise.stance.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_detector(
    detector: StanceDetector | str | Path,
    *,
    threads: int | None = None,
    labels: Sequence[str] | None = None,
    api_key: str | None = None,
) -> StanceDetector:
    """The detector that `detector` stands for.

    Args:
        detector: a detector (comes back as it is); "default" or "classifier" for the bundled
            model; the name of another bundled model, a folder, or a hub id for a classifier;
            "zero_shot:" before a folder or hub id for an NLI checkpoint; an http(s) address for a
            text-embeddings-inference server.
        threads: threads of a local model, >= 1.
        labels: what a model's outputs are, in order, where its own names do not say.
        api_key: for a server.

    Raises:
        InputError: nothing is known by that name.
        DetectorError: the model's folder is damaged, or its label names do not say their stance.

    >>> from equipoise.testing import FakeDetector
    >>> load_detector(FakeDetector({}, default="pro")).detect("?", ["x"])[0].label.value
    'pro'
    """
    if not isinstance(detector, str | Path):
        if hasattr(detector, "detect"):
            return detector
        raise InputError(
            "a detector must have detect(question, texts), or be a name, a folder or an address; "
            f"got {type(detector).__name__}"
        )
    name = str(detector)
    if name.startswith(("http://", "https://")):
        from equipoise.stance.remote import RemoteDetector

        return RemoteDetector(name, api_key=api_key, labels=labels)
    if name.startswith("zero_shot:"):
        from equipoise.stance.zero_shot import ZeroShotDetector

        return ZeroShotDetector(name.removeprefix("zero_shot:"), threads=threads, labels=labels)
    from equipoise.stance.classifier import ClassifierDetector

    model = "default" if detector == "classifier" else detector
    return ClassifierDetector(model, threads=threads, labels=labels)
