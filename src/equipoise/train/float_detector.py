"""The float model of a run as a detector: what is scored before anything is exported."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import torch

from equipoise.stance.base import BLANK, checked_texts
from equipoise.stance.pair_model import Limits, PairModel
from equipoise.stance.pairs import Batch, Pair
from equipoise.stance.question import READING, canonical_question, is_blank, text_to_read
from equipoise.stance.runners import Logits
from equipoise.stance.windows import MAX_WINDOWS, WINDOWS_VERSION, combine_windows
from equipoise.train.data import Row
from equipoise.train.encoder import Encoder
from equipoise.train.fit import device
from equipoise.train.score import Judged
from equipoise.types import StanceScore

SLICE = 1_024
"""Rows judged between two calls of `progress`; batches of like length are made within them."""


class EncoderRunner:
    """An `Encoder` as what runs a pair model, in float32, on the GPU where there is one."""

    alone = False

    def __init__(self, encoder: Encoder) -> None:
        self._model = encoder.model.to(device()).eval()
        self._segments = encoder.segments

    def logits(self, batch: Batch) -> Logits:
        """The model's raw outputs, float64 of shape (pairs, 3), in the order of `LABELS`."""
        given = {"input_ids": batch.ids, "attention_mask": batch.mask}
        if self._segments:
            given["token_type_ids"] = batch.types
        tensors = {name: torch.from_numpy(ids).to(device()) for name, ids in given.items()}
        with torch.inference_mode():
            logits = self._model(**tensors).logits
        return np.asarray(logits.double().cpu().numpy(), dtype=np.float64)


class FloatDetector:
    """Labels texts as the exported detector does (windows, negation), with the float weights.

    Args:
        encoder: a trained encoder.
        max_length: tokens of question and text together, special tokens included.
        batch_tokens: padded tokens of one batch, >= 1.

    Cost: one run of the model a window, in batches of like length.
    """

    def __init__(self, encoder: Encoder, *, max_length: int, batch_tokens: int = 4_096) -> None:
        self._encoder = encoder
        self._max_length = max_length
        self._name: str | None = None
        self._model = PairModel(
            encoder.pairs,
            EncoderRunner(encoder),
            limits=Limits(max_length, MAX_WINDOWS, batch_tokens),
            pad_id=encoder.pad_id,
            temperature=1.0,
        )

    @property
    def name(self) -> str:
        """A hash of weights and tokenizer, and every setting that can change a score."""
        if self._name is None:
            digest = hashlib.sha256(self._encoder.tokenizer.to_str().encode())
            for weights in self._encoder.model.state_dict().values():
                digest.update(weights.cpu().numpy().tobytes())
            self._name = (
                f"float@{digest.hexdigest()[:12]}:{READING}"
                f":length={self._max_length}:windows={MAX_WINDOWS}v{WINDOWS_VERSION}"
            )
        return self._name

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        """One score a text, in order.

        Raises:
            InputError: the question shows nothing or leaves no room for a text.
            DetectorError: an output is not a finite number.
        """
        return self.detect_pairs([(question, text) for text in checked_texts(texts)])

    def detect_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[StanceScore]:
        """One score a (question, text) pair, in order; batches run across questions.

        Raises:
            InputError: a question shows nothing or leaves no room for a text.
            DetectorError: an output is not a finite number.
        """
        inputs: list[Pair] = []
        owners: list[int] = []
        swapped: list[bool] = []
        for index, (question, text) in enumerate(pairs):
            positive, negated = canonical_question(question)
            swapped.append(negated)
            read = text_to_read(positive, text)
            asked = self._model.tokenizer.ids(positive)
            texts = [] if is_blank(read) else [(index, read)]
            for window in self._model.windows(texts, beside=len(asked)):
                inputs.append(self._model.tokenizer.pair(asked, window.ids))
                owners.append(index)
        found: list[list[StanceScore]] = [[] for _ in pairs]
        for index, row in zip(owners, self._model.probabilities(inputs, owners), strict=True):
            con, neutral, pro = row
            found[index].append(StanceScore(pro, con, neutral))
        scores = [combine_windows(parts) if parts else BLANK for parts in found]
        return [s.swapped() if turned else s for s, turned in zip(scores, swapped, strict=True)]


def judge_rows(
    detector: FloatDetector,
    rows: Sequence[Row],
    *,
    progress: Callable[[int, int, float | None], None] | None = None,
) -> list[Judged]:
    """Every row, in order, with the detector's probabilities.

    Args:
        detector: of a finished run.
        rows: what to judge.
        progress: called with (rows done, rows, None).
    """
    judged: list[Judged] = []
    for start in range(0, len(rows), SLICE):
        part = rows[start : start + SLICE]
        scores = detector.detect_pairs([(row.question, row.text) for row in part])
        judged += [
            Judged(row, (score.con, score.neutral, score.pro))
            for row, score in zip(part, scores, strict=True)
        ]
        if progress is not None:
            progress(len(judged), len(rows), None)
    return judged
