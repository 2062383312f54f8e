"""A judge without a key: a local stance model that reads the answer instead of a document."""

import asyncio
import threading
from pathlib import Path
from typing import ClassVar, Final

from equipoise.errors import DetectorError, InputError, StoreError
from equipoise.generation.base import declines
from equipoise.lab.answers.store import Judged
from equipoise.lab.judge.base import Verdict
from equipoise.stance.cached import CachedDetector
from equipoise.stance.classifier import ClassifierDetector
from equipoise.stance.echo import without_echo
from equipoise.stance.question import canonical_question, clean_text
from equipoise.types import StanceScore

FAMILY: Final = "stance"


class StanceJudge:
    """Judges by the label of a stance model; the whole answer is read, in windows where it is long.

    Sentences that only ask the question again are not read. An answer that has nothing else is
    `unparsed`: nobody can tell where it leans. So is one in which the model sees no text, and one
    whose most probable label is less probable than `unsure_below`: low confidence is not
    neutrality. An answer that declines in so many words (`generation.base.declines`) is `refused`.

    Args:
        folder: of the model, in the layout that `equipoise.stance.ClassifierDetector` loads.
        unsure_below: in [0, 1); 0 takes every label as it is.
        threads: of the model, >= 1; None takes the physical cores, 8 at most.
        cache: an SQLite file that remembers what the model said of equal answers, as hashes and
            numbers; None remembers in memory only.

    Raises:
        InputError: `unsure_below` is out of range, or there is no such folder.
        StoreError: the file cannot be opened.
        DetectorError: the folder is damaged.

    Cost: one run of the model a window. Do not use a model that labelled the documents, or one
    trained on the same data: it would share the detector's errors (see `load_judge`).

    Source: ours; SP has a language model judge.
    """

    family = FAMILY
    sources: ClassVar = ("lab/judge/base.py", "lab/judge/stance.py", "stance/*.py")
    """Of the package: what its verdicts depend on."""

    def __init__(
        self,
        folder: str | Path,
        *,
        unsure_below: float = 0.0,
        threads: int | None = None,
        cache: Path | None = None,
    ) -> None:
        if not 0.0 <= unsure_below < 1.0:
            raise InputError(f"unsure_below must be in [0, 1), got {unsure_below!r}")
        if cache is not None:
            cache.parent.mkdir(parents=True, exist_ok=True)
        self._detector = CachedDetector(ClassifierDetector(folder, threads=threads), path=cache)
        self._unsure_below = unsure_below
        self._lock = threading.Lock()  # one answer at a time: the model's threads share it

    @property
    def name(self) -> str:
        """The model with a digest of its files, and every setting that can change a verdict."""
        unsure = f":unsure_below={self._unsure_below:g}" if self._unsure_below else ""
        return f"stance:{self._detector.name}{unsure}"

    async def judge(self, question: str, answer: str) -> Verdict:
        """The verdict on one answer; a model that fails gives `error`."""
        return await asyncio.to_thread(self._judge, question, answer)

    def _judge(self, question: str, answer: str) -> Verdict:
        model = self.name
        if declines(answer):
            return Verdict(
                Judged.REFUSED, detail="it declines in words (by a pattern)", model=model
            )
        try:
            if only_asks(question, answer):
                why = "the answer holds nothing but the question"
                return Verdict(Judged.UNPARSED, detail=why, model=model)
            with self._lock:
                (score,) = self._detector.detect(question, [answer])
        except (DetectorError, InputError, StoreError) as error:
            why = f"{type(error).__name__}: {error}"
            return Verdict(Judged.ERROR, detail=why, model=model)
        return self._verdict(score, model)

    def _verdict(self, score: StanceScore, model: str) -> Verdict:
        if score.windows == 0:
            return Verdict(Judged.UNPARSED, detail="the model sees no text in it", model=model)
        probabilities = (score.pro, score.con, score.neutral)
        if score.confidence < self._unsure_below:
            why = f"unsure: {score.label.value} at {score.confidence:.3f}"
            return Verdict(Judged.UNPARSED, None, probabilities, why, model)
        return Verdict(Judged.SCORED, score.label, probabilities, "", model)


def only_asks(question: str, answer: str) -> bool:
    """True when the answer holds no text but sentences that ask the question again, or none.

    Raises:
        InputError: the question shows nothing.

    >>> only_asks("Should zoos be banned?", "Should zoos be banned?")
    True
    >>> only_asks("Should zoos be banned?", "Should zoos be banned? Yes.")
    False
    """
    text = clean_text(answer).strip()
    # Subtle: `without_echo` gives a text back whole where nothing would be left of it, so that a
    # sentence goes behind it that always stays.
    rest = without_echo(canonical_question(question)[0], f"{text}\n{_STAYS}")
    return not text or rest.strip() == _STAYS


_STAYS: Final = "Here it ends."
