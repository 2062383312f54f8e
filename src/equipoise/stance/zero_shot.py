"""Stance from any NLI checkpoint: the document is the premise, the question makes hypotheses."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from equipoise._extras import require
from equipoise.errors import DetectorError, InputError
from equipoise.stance.folder import ONNX_NAMES, SAFETENSORS, find_folder, read_folder
from equipoise.stance.labels import NOT_ENTAILMENT, checked_labels, stance_order
from equipoise.stance.local import LocalDetector, Reading
from equipoise.stance.question import READING
from equipoise.stance.windows import MAX_WINDOWS
from equipoise.types import Stance, StanceScore

if TYPE_CHECKING:
    from equipoise.stance.pair_model import PairModel, Window
    from equipoise.stance.pairs import Pair, PairTokenizer
    from equipoise.stance.runners import Runner

Backend = Literal["onnx", "transformers"]

TOKENIZER_NAMES = ("tokenizer.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model")
HYPOTHESES_VERSION = 1
# The answer is named at the end, so that the two differ in one word and nothing else; quoting the
# question needs no grammar of it, and works for statements and topics too.
QUESTION_HYPOTHESES = (
    "According to this text, the right answer to “{question}” is yes.",
    "According to this text, the right answer to “{question}” is no.",
)
CLAIM_HYPOTHESES = (
    "According to this text, the claim “{question}” is right.",
    "According to this text, the claim “{question}” is wrong.",
)


def hypotheses(question: str) -> tuple[str, str]:
    """What a text for YES would imply, and what a text for NO would imply.

    >>> hypotheses("Should zoos be closed?")[1]
    'According to this text, the right answer to “Should zoos be closed?” is no.'
    """
    forms = QUESTION_HYPOTHESES if question.endswith("?") else CLAIM_HYPOTHESES
    yes, no = (form.format(question=question) for form in forms)
    return yes, no


def stance_from_three(yes: Sequence[float], no: Sequence[float]) -> StanceScore:
    """The stance from (entailment, neutral, contradiction) of both hypotheses.

    The mean of two readings, the second with entailment and contradiction swapped:
    pro = (E_yes + C_no) / 2, con = (C_yes + E_no) / 2, neutral = (N_yes + N_no) / 2. A text that
    the model takes to entail both answers comes out with pro = con: no side.

    >>> stance_from_three((0.8, 0.2, 0.0), (0.0, 0.2, 0.8))
    StanceScore(pro=0.8, con=0.0, neutral=0.2, windows=1)
    """
    pro = (yes[0] + no[2]) / 2
    con = (yes[2] + no[0]) / 2
    return StanceScore(pro, con, (yes[1] + no[1]) / 2)


def stance_from_two(yes: float, no: float) -> StanceScore:
    """The stance from the entailment probabilities of a two-way checkpoint.

    Taken as independent: pro = E_yes (1 - E_no), con = E_no (1 - E_yes), neutral what is left,
    that is both or neither.

    >>> stance_from_two(1.0, 0.5)
    StanceScore(pro=0.5, con=0.0, neutral=0.5, windows=1)
    """
    pro, con = yes * (1 - no), no * (1 - yes)
    return StanceScore(pro, con, max(0.0, 1.0 - pro - con))


class ZeroShotDetector(LocalDetector):
    """Labels documents with an NLI checkpoint that was never trained on stance.

    Args:
        model: a folder in hub layout, or a hub id (extra `hub`).
        labels: what the outputs are, in order, for a model that calls them LABEL_n:
            ("contradiction", "neutral", "entailment") in its own order.
        backend: "onnx", or "transformers" (that extra) for folders with safetensors.
        threads: threads of one run, >= 1; None takes the physical cores, 8 at most (ONNX), or
            what PyTorch has set.
        batch_tokens: padded tokens of one batch, >= 1.
        max_length: tokens of document and hypothesis together; None as the model says.
        max_windows: windows read of one document at most, >= 1.

    Raises:
        InputError: an argument is out of its range, or there is no such model.
        DetectorError: the folder is damaged, or its label names are not those of NLI.
        MissingExtraError: the backend's libraries are not installed.

    Cost: two runs of the model a window. Do not use it where the bundled classifier works: it is
    slower, and entailment is not stance (Xu et al., as cited in SP 2.3).

    Source: premise and hypotheses SP 2.3; wording and formulas ours.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        labels: Sequence[str] | None = None,
        backend: Backend = "onnx",
        threads: int | None = None,
        batch_tokens: int = 2_048,
        max_length: int | None = None,
        max_windows: int = MAX_WINDOWS,
    ) -> None:
        if backend not in ("onnx", "transformers"):
            raise InputError(f'backend must be "onnx" or "transformers", got {backend!r}')
        given = checked_labels(labels)
        reading = Reading(threads, batch_tokens, max_length, max_windows)
        if backend == "transformers":
            require("transformers", extra="transformers")
        weights = ONNX_NAMES if backend == "onnx" else SAFETENSORS
        folder = read_folder(find_folder(model, weights=weights))
        self._order = nli_order(folder.labels, given)
        self._backend = backend
        super().__init__(folder, reading, temperature=folder.temperature)

    def _kind(self) -> str:
        order = ",".join(stance.value for stance in self._order)
        versions = f"hypotheses=v{HYPOTHESES_VERSION};{READING}"
        return f"zero_shot({self._backend};{order};{versions})"

    def _pairs(
        self, model: "PairModel", question: str, texts: list[tuple[int, str]]
    ) -> "tuple[list[Window], list[Pair]]":
        sides = [model.tokenizer.ids(text) for text in hypotheses(question)]
        # Both hypotheses are read beside the same windows: the longer one sets their size.
        windows = model.windows(texts, beside=max(len(side) for side in sides))
        return windows, [model.tokenizer.pair(w.ids, side) for side in sides for w in windows]

    def _scores(self, rows: Sequence[Sequence[float]]) -> list[StanceScore]:
        half = len(rows) // 2
        return [self._score(*both) for both in zip(rows[:half], rows[half:], strict=True)]

    def _score(self, yes: Sequence[float], no: Sequence[float]) -> StanceScore:
        if len(yes) != len(self._order):
            raise DetectorError(f"the model must have {len(self._order)} outputs, got {len(yes)}")
        first, second = (dict(zip(self._order, row, strict=True)) for row in (yes, no))
        if Stance.NEUTRAL not in first:
            return stance_from_two(first[Stance.PRO], second[Stance.PRO])
        order = (Stance.PRO, Stance.NEUTRAL, Stance.CON)
        return stance_from_three([first[s] for s in order], [second[s] for s in order])

    def _files(self) -> list[Sequence[str]]:
        if self._backend == "onnx":
            return super()._files()
        return [TOKENIZER_NAMES, *((name,) for name in self._checkpoint())]

    def _open(self) -> "tuple[PairTokenizer, Runner]":
        return super()._open() if self._backend == "onnx" else self._open_transformers()

    def _open_transformers(self) -> "tuple[PairTokenizer, Runner]":
        from equipoise.stance.pairs import PairTokenizer
        from equipoise.stance.runners import TransformersRunner

        transformers = require("transformers", extra="transformers")
        for name in self._checkpoint():
            self._folder.file(name)
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                self._folder.path, local_files_only=True, trust_remote_code=False
            ).backend_tokenizer
        except Exception as error:  # of many libraries' classes
            path = self._folder.path
            raise DetectorError(f"{path} must have a tokenizer that loads: {error}") from error
        runner = TransformersRunner(self._folder.path, threads=self._reading.threads)
        return PairTokenizer(tokenizer), runner

    def _checkpoint(self) -> list[str]:
        """The names of the checkpoint's weight files, sorted."""
        names = sorted(path.name for path in self._folder.path.glob(SAFETENSORS[0]))
        if not names:
            raise DetectorError(f"{self._folder.path} must have weights as *.safetensors")
        return names


def nli_order(names: Sequence[str], given: Sequence[str] | None) -> tuple[Stance, ...]:
    """For each output its stance, entailment as pro; a two-way model's other output as con.

    Raises:
        DetectorError: the names are not those of NLI, and `given` does not say.
    """
    lowered = [name.strip().lower() for name in names]
    if given is None and sorted(lowered) == ["entailment", NOT_ENTAILMENT]:
        return tuple(Stance.PRO if name == "entailment" else Stance.CON for name in lowered)
    return stance_order(names, given)
