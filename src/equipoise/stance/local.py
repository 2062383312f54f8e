"""What the local detectors share: when the model is loaded, and how texts reach it."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.stance.base import BLANK, FOREIGN, LAZY_BATCH, check_count, checked_texts
from equipoise.stance.folder import ONNX_NAMES, ModelFolder
from equipoise.stance.language import LANGUAGE_VERSION, is_foreign
from equipoise.stance.question import canonical_question, is_blank, text_to_read
from equipoise.stance.windows import MAX_WINDOWS, WINDOWS_VERSION, combine_windows
from equipoise.types import StanceScore

if TYPE_CHECKING:
    from equipoise.stance.pair_model import PairModel, Window
    from equipoise.stance.pairs import Pair, PairTokenizer
    from equipoise.stance.runners import Runner


@dataclass(frozen=True, slots=True)
class Reading:
    """How a local model reads.

    Attributes:
        threads: threads that share one text, or take a text each, >= 1; None takes the physical
            cores, 8 at most.
        batch_tokens: padded tokens of one batch, >= 1. Models of dynamic int8 (the bundled one)
            are run one window at a time whatever this says: see `OnnxRunner.alone`.
        max_length: tokens of question and document together, special tokens included; None as
            the model says.
        max_windows: windows read of one document at most, >= 1.

    Raises:
        InputError: a count is not an int >= 1.
    """

    threads: int | None = None
    batch_tokens: int = 2_048
    max_length: int | None = None
    max_windows: int = MAX_WINDOWS

    def __post_init__(self) -> None:
        for name in self.__slots__:
            check_count(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class _Part:
    """What one question brings to a shared run: its windows, and the pairs to run for them.

    `unread` are the scores of its texts before any window is.
    """

    unread: list[StanceScore]
    negated: bool
    windows: "list[Window]"
    pairs: "list[Pair]"

    @property
    def owners(self) -> list[int]:
        """For each pair the index of its text; the pairs repeat the order of the windows."""
        return [self.windows[at % len(self.windows)].text for at in range(len(self.pairs))]


class LocalDetector(ABC):
    """A detector whose model is loaded by the first text, or by `warm_up`.

    Safe to share between threads and to pickle (the copy loads the model again).
    """

    def __init__(self, folder: ModelFolder, reading: Reading, *, temperature: float) -> None:
        self._folder = folder
        self._reading = reading
        self._max_length = folder.length(reading.max_length)
        self._temperature = temperature
        self._lock = threading.Lock()
        self._model: PairModel | None = None
        self._name: str | None = None

    @property
    def name(self) -> str:
        """Kind, folder's name, a hash of its files, and every setting that can change a score."""
        if self._name is None:
            self._name = (
                f"{self._kind()}:{self._folder.path.name}@{self._folder.digest(*self._files())}"
                f":length={self._max_length}:windows={self._reading.max_windows}v{WINDOWS_VERSION}"
                f":temperature={self._temperature:g}{self._bias_name()}{self._language_name()}"
            )
        return self._name

    @property
    def lazy_batch(self) -> int:
        """As many as threads for a model that runs texts side by side, else 8; loads the model.

        A call of so many takes as long as a call of one, so a label read in vain costs no time.
        """
        return self._threads() if self._loaded().alone else LAZY_BATCH

    @property
    def reads_alone(self) -> bool:
        """True when each text is a run of its own (`OnnxRunner.alone`); loads the model.

        Batches gain nothing then: callers at the same time share the cores as they are.
        """
        return self._loaded().alone

    def warm_up(self) -> None:
        """Load tokenizer and weights now, if they are not loaded.

        Raises:
            DetectorError: a file is missing, damaged, or not the one in SHA256SUMS.
        """
        self._loaded()

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        """One score a text, in order.

        A plainly negated question is read in its positive form; a text, without sentences that only
        ask it again.

        Raises:
            InputError: the question shows nothing or leaves no room for a document, or an item of
                `texts` is not a str.
            DetectorError: the model could not be loaded or gave an output that is not finite.
        """
        return self.detect_many([(question, texts)])[0]

    def detect_many(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[list[StanceScore]]:
        """For each (question, texts) what `detect` gives; their pairs share the model's batches.

        Raises:
            InputError, DetectorError: as in `detect`, for the whole call.
        """
        parts = [self._part(question, texts) for question, texts in asked]
        pairs = [pair for part in parts for pair in part.pairs]
        if not pairs:
            return [part.unread for part in parts]
        owners = [owner for part in parts for owner in part.owners]
        rows = iter(self._loaded().probabilities(pairs, owners))
        return [self._combined(part, [next(rows) for _ in part.pairs]) for part in parts]

    def _part(self, question: str, texts: Sequence[str]) -> "_Part":
        positive, negated = canonical_question(question)
        cleaned = [text_to_read(positive, text) for text in checked_texts(texts)]
        unread = [BLANK] * len(cleaned)
        shown = [(index, text) for index, text in enumerate(cleaned) if not is_blank(text)]
        if shown and self._english_only:
            shown = self._readable(positive, shown, unread)
        windows, pairs = self._pairs(self._loaded(), positive, shown) if shown else ([], [])
        return _Part(unread, negated, windows, pairs)

    @property
    def _english_only(self) -> bool:
        return self._folder.languages == ("en",)

    def _readable(
        self, question: str, shown: list[tuple[int, str]], unread: list[StanceScore]
    ) -> list[tuple[int, str]]:
        """Those (index, text) that are English; none where the question is not.

        The others are marked in `unread`.
        """
        pieces = self._loaded().tokenizer.pieces
        asked = not is_foreign(question, pieces)
        kept = [(at, text) for at, text in shown if asked and not is_foreign(text, pieces)]
        for at in {at for at, _ in shown} - {at for at, _ in kept}:
            unread[at] = FOREIGN
        return kept

    def _combined(self, part: "_Part", rows: list[list[float]]) -> list[StanceScore]:
        found: dict[int, list[StanceScore]] = {}
        for window, score in zip(part.windows, self._scores(rows), strict=True):
            found.setdefault(window.text, []).append(score)
        # No window: the text is blank or foreign, or the tokenizer sees nothing in it.
        scores = [
            combine_windows(found[index]) if index in found else unread
            for index, unread in enumerate(part.unread)
        ]
        return [score.swapped() for score in scores] if part.negated else scores

    def _loaded(self) -> "PairModel":
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> "PairModel":
        from equipoise.stance.pair_model import Limits, PairModel

        reading = self._reading
        tokenizer, runner = self._open()
        return PairModel(
            tokenizer,
            runner,
            limits=Limits(
                self._max_length, reading.max_windows, reading.batch_tokens, self._threads()
            ),
            pad_id=self._folder.pad_id,
            temperature=self._temperature,
            bias=self._folder.bias,
        )

    @abstractmethod
    def _kind(self) -> str:
        """The beginning of the name: the kind, and what of it can change a score."""

    @abstractmethod
    def _pairs(
        self, model: "PairModel", question: str, texts: list[tuple[int, str]]
    ) -> "tuple[list[Window], list[Pair]]":
        """The windows of (index, text) pairs, and the inputs to run for them."""

    @abstractmethod
    def _scores(self, rows: Sequence[Sequence[float]]) -> list[StanceScore]:
        """The score of each window, from the outputs for what `_pairs` gave."""

    def _bias_name(self) -> str:
        bias = ",".join(f"{number:g}" for number in self._folder.bias)
        return f":bias={bias}" if bias else ""

    def _language_name(self) -> str:
        return f":english=v{LANGUAGE_VERSION}" if self._english_only else ""

    def _files(self) -> list[Sequence[str]]:
        return [("tokenizer.json",), ONNX_NAMES]

    def _open(self) -> "tuple[PairTokenizer, Runner]":
        from equipoise.stance.pairs import PairTokenizer
        from equipoise.stance.runners import OnnxRunner

        tokenizer = PairTokenizer.from_file(self._folder.file("tokenizer.json"))
        return tokenizer, OnnxRunner(self._folder.file(*ONNX_NAMES), threads=self._threads())

    def _threads(self) -> int:
        from equipoise.stance.runners import default_threads

        return self._reading.threads or default_threads()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_model": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._folder.path)!r})"
