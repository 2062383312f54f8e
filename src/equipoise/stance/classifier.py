"""The local detector: an ONNX pair model that reads (question, document). No torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.errors import DetectorError, InputError
from equipoise.stance.folder import find_folder, read_folder
from equipoise.stance.labels import checked_labels, stance_order
from equipoise.stance.local import LocalDetector, Reading
from equipoise.stance.question import READING
from equipoise.stance.windows import MAX_WINDOWS
from equipoise.types import Stance, StanceScore

if TYPE_CHECKING:
    from equipoise.stance.pair_model import PairModel, Window
    from equipoise.stance.pairs import Pair


class ClassifierDetector(LocalDetector):
    """Labels documents with a model trained on (question, document) pairs.

    The settings are read at once; tokenizer and weights are loaded by the first text, or by
    `warm_up`. Safe to share between threads and to pickle (the copy loads the model again).

    Args:
        model: a bundled name, a folder in hub layout, or a hub id (extra `hub`).
        labels: what the outputs are, in order, for a model that calls them LABEL_n.
        threads: threads that share one text, or take a text each, >= 1; None takes the physical
            cores, 8 at most.
        batch_tokens: padded tokens of one batch, >= 1. Models of dynamic int8 (the bundled one)
            are run one window at a time whatever this says: see `OnnxRunner.alone`.
        max_length: tokens of question and document together, special tokens included; None as
            the model says.
        max_windows: windows read of one document at most, >= 1.
        temperature: divides the logits, > 0; None as the model says (1 where it says nothing). The
            model's bias, where it has one, is added after that.

    Raises:
        InputError: an argument is out of its range, or there is no such model.
        DetectorError: the folder is damaged, or its label names do not say their stance.
        MissingExtraError: a hub id without the extra `hub`.

    Cost: one run of the model a window; a document of n tokens has about 4n / 3w windows of w
    tokens, 64 at most. Do not use it for languages the model was not trained on.

    Source: SP 3.3; windows, negation and the one-window runs are ours.
    """

    def __init__(
        self,
        model: str | Path = "default",
        *,
        labels: Sequence[str] | None = None,
        threads: int | None = None,
        batch_tokens: int = 2_048,
        max_length: int | None = None,
        max_windows: int = MAX_WINDOWS,
        temperature: float | None = None,
    ) -> None:
        given = checked_labels(labels)
        reading = Reading(threads, batch_tokens, max_length, max_windows)
        if temperature is not None and not 0 < temperature < float("inf"):
            raise InputError(f"temperature must be a finite number > 0, got {temperature!r}")
        folder = read_folder(find_folder(model))
        self._order = stance_order(folder.labels, given)
        super().__init__(
            folder, reading, temperature=folder.temperature if temperature is None else temperature
        )

    def _kind(self) -> str:
        order = ",".join(stance.value for stance in self._order)
        return f"classifier({order};{READING})"

    def _pairs(
        self, model: "PairModel", question: str, texts: list[tuple[int, str]]
    ) -> "tuple[list[Window], list[Pair]]":
        asked = model.tokenizer.ids(question)
        windows = model.windows(texts, beside=len(asked))
        return windows, [model.tokenizer.pair(asked, window.ids) for window in windows]

    def _scores(self, rows: Sequence[Sequence[float]]) -> list[StanceScore]:
        return [self._score(row) for row in rows]

    def _score(self, row: Sequence[float]) -> StanceScore:
        if len(row) != len(self._order):
            raise DetectorError(f"the model must have {len(self._order)} outputs, got {len(row)}")
        values = dict(zip(self._order, row, strict=True))
        return StanceScore(values[Stance.PRO], values[Stance.CON], values[Stance.NEUTRAL])
