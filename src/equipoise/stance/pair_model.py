"""A pair model over long documents: windows in, one row of probabilities a window out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.errors import DetectorError
from equipoise.stance.pairs import Ids, Pair, PairTokenizer, by_length, padded
from equipoise.stance.runners import Logits, Runner, run_batches
from equipoise.stance.windows import window_size, window_spans

_HUGE = 1_000_000
"""Characters from which a text is not made into tokens as a whole."""
_LONGEST_TOKEN = 16
"""Characters that hardly any token exceeds, white space included."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is read at once.

    Attributes:
        max_length: tokens of one pair, special tokens included.
        max_windows: windows of one document at most, >= 1.
        batch_tokens: padded tokens of one batch, >= 1.
        at_once: runs side by side, >= 1, where each pair is a run of its own (larger batches go
            one after the other, for memory).
    """

    max_length: int
    max_windows: int
    batch_tokens: int
    at_once: int = 1


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of token ids of the text with the index `text`."""

    text: int
    ids: Ids


class PairModel:
    """Tokenizer and runner, with batching, calibration and the check for broken outputs.

    An output is divided by `temperature`; then its number of `bias` is added, where there is one.

    Safe to share between threads: nothing changes after the constructor.
    """

    def __init__(
        self,
        tokenizer: PairTokenizer,
        runner: Runner,
        *,
        limits: Limits,
        pad_id: int,
        temperature: float,
        bias: Sequence[float] = (),
    ) -> None:
        self._runner = runner
        self._limits = limits
        self._pad_id = pad_id
        self._temperature = temperature
        self._bias = np.asarray(bias, dtype=np.float64) if bias else None
        self.tokenizer = tokenizer

    @property
    def alone(self) -> bool:
        """True when each window is a run of its own."""
        return self._runner.alone

    def windows(self, texts: Sequence[tuple[int, str]], *, beside: int) -> list[Window]:
        """The windows of (index, text) pairs, in order, next to `beside` tokens that are not cut.

        A text without a single token has no window.

        Raises:
            InputError: `beside` leaves too little room (see `window_size`).
        """
        size = window_size(
            beside, specials=self.tokenizer.specials, max_length=self._limits.max_length
        )
        made = []
        for index, text in texts:
            parts = self._spread(text, size) if len(text) > _HUGE else self._cover(text, size)
            made += [Window(index, part) for part in parts if len(part)]
        return made

    def _cover(self, text: str, size: int) -> list[Ids]:
        ids = self.tokenizer.ids(text)
        spans = window_spans(len(ids), size, max_windows=self._limits.max_windows)
        return [ids[start:end] for start, end in spans]

    def _spread(self, text: str, size: int) -> list[Ids]:
        """As `window_spans` beyond its bound, but spread by characters, so that time is bounded.

        Only the stretches that are read become tokens.
        """
        stretch = _LONGEST_TOKEN * size
        spans = window_spans(len(text), stretch, max_windows=self._limits.max_windows)
        parts = [self.tokenizer.ids(text[start:end]) for start, end in spans]
        # The last window ends with the document; the others begin where their stretch does.
        return [*(part[:size] for part in parts[:-1]), parts[-1][-size:]]

    def probabilities(self, pairs: Sequence[Pair], owners: Sequence[int]) -> list[list[float]]:
        """For each pair the softmax of the calibrated outputs, as plain floats.

        Args:
            pairs: inputs; batches are made of like lengths and padded to their longest.
            owners: for each pair the index of its text, for the message of an error.

        Raises:
            DetectorError: an output is not a finite number.
        """
        lengths = [len(pair.ids) for pair in pairs]
        alone = [[index] for index in range(len(pairs))]
        batches = alone if self._runner.alone else by_length(lengths, self._limits.batch_tokens)
        rows: list[list[float]] = [[]] * len(pairs)
        made = [padded([pairs[i] for i in batch], pad_id=self._pad_id) for batch in batches]
        at_once = self._limits.at_once if self._runner.alone else 1
        outputs = run_batches(self._runner, made, at_once=at_once)
        for batch, logits in zip(batches, outputs, strict=True):
            for index, row in zip(batch, logits, strict=True):
                if not np.isfinite(row).all():
                    raise DetectorError(
                        f"a model's outputs must be finite numbers; text {owners[index]} got "
                        f"{row.tolist()}"
                    )
                rows[index] = _softmax(self._calibrated(row))
        return rows

    def _calibrated(self, row: Logits) -> Logits:
        scaled = row / self._temperature
        return scaled if self._bias is None else scaled + self._bias


def _softmax(row: Logits) -> list[float]:
    powers = np.exp(row - row.max())
    return [float(power) for power in powers / powers.sum()]
