"""A model's reading of labelled rows before calibration, so that one pass serves every calibration.

What a detector computes after the model (temperature and bias, windows joined, a negation turned
back) is done from the kept logits; `export` checks that this and the detector give the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.stance.base import BLANK
from equipoise.stance.folder import ModelFolder
from equipoise.stance.pair_model import Limits, PairModel
from equipoise.stance.pairs import PairTokenizer
from equipoise.stance.question import canonical_question, is_blank, text_to_read
from equipoise.stance.runners import Runner
from equipoise.stance.windows import MAX_WINDOWS, combine_windows
from equipoise.train.calibrate import Calibration, Floats, Probabilities
from equipoise.train.data import LABELS, Row
from equipoise.train.score import Judged
from equipoise.types import StanceScore

Progress = Callable[[int, int], None]
"""Called with rows read and rows in all."""
_SWAP = {"pro": "con", "con": "pro", "neutral": "neutral"}


@dataclass(frozen=True, slots=True)
class Read:
    """One row, and the logits of each of its windows: float64 of shape (windows, 3).

    `negated` says that the question was read in its positive form. Logits are in the order of
    `LABELS` and up to a constant a window.
    """

    row: Row
    logits: Floats
    negated: bool

    @property
    def truth(self) -> int:
        """Index in `LABELS` of the row's stance toward the question as the model read it."""
        stance = _SWAP[self.row.stance] if self.negated else self.row.stance
        return LABELS.index(stance)

    def probabilities(self, calibration: Calibration) -> Probabilities:
        """What a detector with that calibration says: con, neutral, pro."""
        parts = [calibration.probabilities(window) for window in self.logits]
        scores = [StanceScore(pro, con, neutral) for con, neutral, pro in parts]
        score = combine_windows(scores) if scores else BLANK
        score = score.swapped() if self.negated else score
        return (score.con, score.neutral, score.pro)

    def judged(self, calibration: Calibration) -> Judged:
        """The row with those probabilities."""
        return Judged(self.row, self.probabilities(calibration))


class Reader:
    """Reads rows with a model, each pair of question and text once.

    Args:
        folder: the model's settings; its outputs must be in the order of `LABELS`.
        tokenizer: its tokenizer.
        runner: what runs it: the int8 file, or the float encoder.
    """

    def __init__(self, folder: ModelFolder, tokenizer: PairTokenizer, runner: Runner) -> None:
        limits = Limits(folder.max_length, MAX_WINDOWS, 2_048)
        self._model = PairModel(
            tokenizer, runner, limits=limits, pad_id=folder.pad_id, temperature=1.0
        )
        self._known: dict[tuple[str, str], Floats] = {}

    def read(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Read]:
        """The rows in order, read one at a time.

        Raises:
            InputError: a question leaves no room for a passage.
            DetectorError: the model fails or gives what is not finite.
        """
        found = []
        for number, row in enumerate(rows, start=1):
            question, negated = canonical_question(row.question)
            found.append(
                Read(row, self._logits(question, text_to_read(question, row.text)), negated)
            )
            if progress is not None:
                progress(number, len(rows))
        return found

    def _logits(self, question: str, text: str) -> Floats:
        key = (question, text)
        if key not in self._known:
            asked = self._model.tokenizer.ids(question)
            texts = [] if is_blank(text) else [(0, text)]
            windows = self._model.windows(texts, beside=len(asked))
            pairs = [self._model.tokenizer.pair(asked, window.ids) for window in windows]
            shares = self._model.probabilities(pairs, [0] * len(pairs))
            # Logs of probabilities are logits up to a constant.
            logs = np.log(np.maximum(np.asarray(shares, dtype=np.float64), 1e-300))
            self._known[key] = logs.reshape(-1, len(LABELS))
        return self._known[key]
