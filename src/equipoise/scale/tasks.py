"""What is done to rows: a label or an embedding each. One object serves every engine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from equipoise.errors import EquipoiseError, InputError
from equipoise.retrieval.base import Embedder
from equipoise.stance.base import detect_checked
from equipoise.stance.question import is_blank
from equipoise.types import StanceDetector, StanceScore

Row = Mapping[str, Any]
Made = dict[str, Any]

UNREADABLE = "\0unreadable"
"""The column that says why a line is no row; no column of an input has this name by chance."""

_ALIKE = 8
"""Rows that fail one after another in the same words: then the model fails, not the rows."""


class Task(Protocol):
    """Makes one new row of each row, in order. Picklable: a worker loads the model itself."""

    @property
    def name(self) -> str:
        """What is done and by which model, as a run remembers it."""
        ...

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns of new rows beside `row` and `id`, each with its Arrow type."""
        ...

    @property
    def needs(self) -> Sequence[str]:
        """The columns that it reads, each of which must be in the input."""
        ...

    def __call__(self, rows: Sequence[Row]) -> list[Made]:
        """A new row for each row. A row that fails has its reason under `error`, and no values."""
        ...


class Labeller:
    """Labels the stance of each row's text: `stance`, `pro`, `con`, `neutral`, `windows`, `error`.

    Serves `equipoise.scale.run` on any engine, and by itself whatever hands over lists of rows,
    such as the `map_partitions` of a Dask bag.

    Args:
        detector: a detector that can be pickled, or what `load_detector` takes.
        question: the question for all rows; None reads it from each row's `question_column`.
        text_column: where the text is.
        question_column: where the question is, for `question=None`.
        threads: threads of a local model in each worker, >= 1. One a worker is best where workers
            are as many as cores.

    Raises:
        InputError: `question` is blank.

    >>> from equipoise.testing import FakeDetector
    >>> labeller = Labeller(FakeDetector({"a": "pro"}), question="Should it be?")
    >>> [row["stance"] or row["error"] for row in labeller([{"text": "a"}, {"text": None}])]
    ['pro', "'text' must be a str, got NoneType"]
    """

    columns: Final = {
        "question": "string",
        "stance": "string",
        "pro": "float",
        "con": "float",
        "neutral": "float",
        "windows": "int32",
        "error": "string",
    }

    def __init__(
        self,
        detector: StanceDetector | str = "default",
        *,
        question: str | None = None,
        text_column: str = "text",
        question_column: str = "question",
        threads: int | None = 1,
    ) -> None:
        if question is not None and not question.strip():
            raise InputError(f"the question must not be blank, got {question!r}")
        self._detector = detector
        self._question = question
        self._text_column = text_column
        self._question_column = question_column
        self._threads = threads
        self._loaded: StanceDetector | None = None

    @property
    def name(self) -> str:
        """`label`, the detector's name, and where question and text come from."""
        asked = self._question or f"column {self._question_column}"
        return f"label:{self._model().name}:{asked}:{self._text_column}"

    @property
    def needs(self) -> tuple[str, ...]:
        """The column of the text, and that of the question where it is read from one."""
        asked = (self._question_column,) if self._question is None else ()
        return (self._text_column, *asked)

    def __call__(self, rows: Sequence[Row]) -> list[Made]:
        """A new row for each row, in order; rows of one question go to the detector together.

        Raises:
            EquipoiseError: the model cannot be loaded, or fails on one row after another.
        """
        made: list[Made] = [{} for _ in rows]
        asked: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            question = self._question or row.get(self._question_column)
            error = _no_text(row, self._text_column)
            if not error and not (isinstance(question, str) and question.strip()):
                error = (
                    f"{self._question_column!r} must be a question, got {type(question).__name__}"
                )
            made[index] = {"question": question if isinstance(question, str) else None}
            if error:
                made[index]["error"] = error
            else:
                asked.setdefault(str(question), []).append(index)
        patience = _Patience()
        for question, indices in asked.items():
            label = self._labels(question, rows)
            for index, values in zip(indices, patience.each(label, indices), strict=True):
                made[index].update(values)
        return [{**dict.fromkeys(self.columns), **row} for row in made]

    def _labels(self, question: str, rows: Sequence[Row]) -> Callable[[Sequence[int]], list[Made]]:
        model = self._model()  # a model that cannot be loaded is no failure of a row

        def label(some: Sequence[int]) -> list[Made]:
            texts = [rows[index][self._text_column] for index in some]
            return [_labelled(score) for score in detect_checked(model, question, texts)]

        return label

    def _model(self) -> StanceDetector:
        if self._loaded is None:
            from equipoise.stance import load_detector

            self._loaded = load_detector(self._detector, threads=self._threads)
        return self._loaded

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": None}


class Embedding:
    """Embeds each row's text: `embedding` (d floats, length 1) and `error`.

    Args:
        embedder: an embedder that can be pickled, or what `load_embedder` takes.
        text_column: where the text is.
        threads: as of `Labeller`, for an embedder of this machine.
    """

    columns: Final = {"embedding": "list", "error": "string"}

    def __init__(
        self,
        embedder: Embedder | str = "minilm",
        *,
        text_column: str = "text",
        threads: int | None = 1,
    ) -> None:
        self._embedder = embedder
        self._text_column = text_column
        self._threads = threads
        self._loaded: Embedder | None = None

    @property
    def name(self) -> str:
        """`embed`, the model's name, and where the text comes from."""
        return f"embed:{self._model().name}:{self._text_column}"

    @property
    def needs(self) -> tuple[str, ...]:
        """The column of the text."""
        return (self._text_column,)

    def __call__(self, rows: Sequence[Row]) -> list[Made]:
        """A new row for each row, in order.

        Raises:
            EquipoiseError: as for `Labeller`.
        """
        errors = [_no_text(row, self._text_column) for row in rows]
        sound = [index for index, error in enumerate(errors) if not error]
        made: list[Made] = [{"embedding": None, "error": error} for error in errors]

        model = self._model()

        def embed(some: Sequence[int]) -> list[Made]:
            vectors = model.embed([rows[index][self._text_column] for index in some])
            return [{"embedding": vector} for vector in vectors]

        for index, values in zip(sound, _Patience().each(embed, sound), strict=True):
            made[index].update(values)
        return made

    def _model(self) -> Embedder:
        if self._loaded is None:
            from equipoise.retrieval import load_embedder

            given = self._embedder
            if isinstance(given, str):
                given = load_embedder(given, threads=self._threads)
            self._loaded = given
        return self._loaded

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": None}


def _no_text(row: Row, column: str) -> str | None:
    if UNREADABLE in row:
        return str(row[UNREADABLE])
    text = row.get(column)
    if not isinstance(text, str):
        return f"{column!r} must be a str, got {type(text).__name__}"
    return f"{column!r} must not be blank" if is_blank(text) else None


def _labelled(score: StanceScore) -> Made:
    if score.windows == 0:
        return {"windows": 0, "error": _UNREAD}
    return {"stance": score.label.value, **score.to_dict(), "windows": score.windows}


_UNREAD = "the detector can read nothing of it: text or question are of another language"


class _Patience:
    """Lets a row fail alone, and stops when it is not the rows that fail."""

    def __init__(self) -> None:
        self._last, self._alike = "", 0

    def each(self, work: Callable[[Sequence[int]], list[Made]], rows: Sequence[int]) -> list[Made]:
        """What `work` makes of all; where it fails, of each by itself.

        Raises:
            EquipoiseError: `_ALIKE` rows failed one after another in the same words, as they do
                when a server is gone. The rows stay undone, and the next run tries them again.
        """
        if len(rows) > 1:
            try:
                made = work(rows)
                self._alike = 0
                return made
            except EquipoiseError:
                pass
        return [self._one(work, row) for row in rows]

    def _one(self, work: Callable[[Sequence[int]], list[Made]], row: int) -> Made:
        try:
            made = work([row])
        except EquipoiseError as error:
            told = f"{type(error).__name__}: {error}"
            self._alike = self._alike + 1 if told == self._last else 1
            self._last = told
            if self._alike == _ALIKE:
                raise
            return {"error": told}
        self._alike = 0
        return made[0]
