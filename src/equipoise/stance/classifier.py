"""The local detector: an ONNX pair model that reads (question, document). No torch."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.errors import DetectorError, InputError
from equipoise.stance.base import BLANK, check_count, checked_texts, detect_shown
from equipoise.stance.folder import ONNX_NAMES, find_folder, read_folder
from equipoise.stance.labels import checked_labels, stance_order
from equipoise.stance.negation import NEGATION_VERSION
from equipoise.stance.question import canonical_question, clean_text
from equipoise.stance.windows import MAX_WINDOWS, WINDOWS_VERSION, combine_windows
from equipoise.types import Stance, StanceScore

if TYPE_CHECKING:
    from equipoise.stance.pair_model import PairModel

BATCH_TOKENS = 2_048


class ClassifierDetector:
    """Labels documents with a model trained on (question, document) pairs.

    The settings are read at once; tokenizer and weights are loaded by the first text, or by
    `warm_up`. Safe to share between threads and to pickle (the copy loads the model again).

    Args:
        model: a bundled name, a folder in hub layout, or a hub id (extra `hub`).
        labels: what the outputs are, in order, for a model that calls them LABEL_n.
        threads: threads of one run, >= 1; None takes the physical cores, 8 at most.
        batch_tokens: padded tokens of one batch, >= 1. Models of dynamic int8 (the bundled one)
            are run one window at a time whatever this says: see `OnnxRunner.alone`.
        max_length: tokens of question and document together; None as the model says.
        max_windows: windows read of one document at most, >= 1.
        temperature: divides the logits, > 0; None as the model says (1 where it says nothing).

    Raises:
        InputError: an argument is out of its range, or there is no such model.
        DetectorError: the folder is damaged, or its label names do not say their stance.

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
        batch_tokens: int = BATCH_TOKENS,
        max_length: int | None = None,
        max_windows: int = MAX_WINDOWS,
        temperature: float | None = None,
    ) -> None:
        given = checked_labels(labels)
        check_count("threads", threads)
        check_count("batch_tokens", batch_tokens)
        check_count("max_windows", max_windows)
        if temperature is not None and not 0 < temperature < float("inf"):
            raise InputError(f"temperature must be a finite number > 0, got {temperature!r}")
        self._folder = read_folder(find_folder(model))
        self._order = stance_order(self._folder.labels, given)
        self._temperature = self._folder.temperature if temperature is None else float(temperature)
        self._max_length = self._folder.length(max_length)
        self._threads = threads
        self._batch_tokens = batch_tokens
        self._max_windows = max_windows
        self._lock = threading.Lock()
        self._model: PairModel | None = None
        self._name: str | None = None

    @property
    def name(self) -> str:
        """`classifier:`, the folder's name, a hash of its files, and the settings that tell."""
        if self._name is None:
            digest = self._folder.digest(("tokenizer.json",), ONNX_NAMES)
            order = "".join(stance.value[0] for stance in self._order)
            self._name = (
                f"classifier:{self._folder.path.name}@{digest}:{order}:length={self._max_length}"
                f":windows={self._max_windows}v{WINDOWS_VERSION}:temperature={self._temperature:g}"
                f":negation=v{NEGATION_VERSION}"
            )
        return self._name

    def warm_up(self) -> None:
        """Load tokenizer and weights now, if they are not loaded.

        Raises:
            DetectorError: a file is missing, damaged, or not the one in SHA256SUMS.
        """
        self._loaded()

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        """One score a text, in order. A plainly negated question is read in its positive form.

        Raises:
            InputError: the question shows nothing or leaves no room for a document, or an item of
                `texts` is not a str.
            DetectorError: the model could not be loaded or gave an output that is not finite.
        """
        positive, negated = canonical_question(question)
        cleaned = [clean_text(text) for text in checked_texts(texts)]
        scores = detect_shown(
            cleaned, lambda shown: self._label(positive, [(i, cleaned[i]) for i in shown])
        )
        return [score.swapped() for score in scores] if negated else scores

    def _label(self, question: str, texts: list[tuple[int, str]]) -> list[StanceScore]:
        model = self._loaded()
        asked = model.tokenizer.ids(question)
        windows = model.windows(texts, beside=len(asked))
        found: dict[int, list[StanceScore]] = {index: [] for index, _ in texts}
        if windows:
            pairs = [model.tokenizer.pair(asked, window.ids) for window in windows]
            owners = [window.text for window in windows]
            for owner, row in zip(owners, model.probabilities(pairs, owners), strict=True):
                found[owner].append(_score(self._order, row.tolist()))
        return [combine_windows(parts) if parts else BLANK for parts in found.values()]

    def _loaded(self) -> "PairModel":
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> "PairModel":
        from equipoise.stance.pair_model import Limits, PairModel
        from equipoise.stance.pairs import PairTokenizer
        from equipoise.stance.runners import OnnxRunner, default_threads

        tokenizer = PairTokenizer.from_file(self._folder.file("tokenizer.json"))
        threads = default_threads() if self._threads is None else self._threads
        runner = OnnxRunner(self._folder.file(*ONNX_NAMES), threads=threads)
        limits = Limits(self._max_length, self._max_windows, self._batch_tokens)
        return PairModel(
            tokenizer,
            runner,
            limits=limits,
            pad_id=self._folder.pad_id,
            temperature=self._temperature,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_model": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"ClassifierDetector({str(self._folder.path)!r}, max_length={self._max_length})"


def _score(order: Sequence[Stance], row: Sequence[float]) -> StanceScore:
    if len(row) != len(order):
        raise DetectorError(f"the model must have {len(order)} outputs, got {len(row)}")
    values = dict(zip(order, row, strict=True))
    return StanceScore(values[Stance.PRO], values[Stance.CON], values[Stance.NEUTRAL])
