"""What is done to rows: a label or an embedding each. One object serves every engine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from equipoise.errors import EquipoiseError, InputError
from equipoise.retrieval.base import Embedder
from equipoise.types import StanceDetector

Row = Mapping[str, Any]
Made = dict[str, Any]


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

    def __call__(self, rows: Sequence[Row]) -> list[Made]:
        """A new row for each row, in order; rows of one question go to the detector together."""
        made: list[Made] = [{} for _ in rows]
        asked: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            question = self._question or row.get(self._question_column)
            error = row.get("error") or _no_text(row, self._text_column)
            if not error and not (isinstance(question, str) and question.strip()):
                error = (
                    f"{self._question_column!r} must be a question, got {type(question).__name__}"
                )
            made[index] = {"question": question if isinstance(question, str) else None}
            if error:
                made[index]["error"] = error
            else:
                asked.setdefault(str(question), []).append(index)
        for question, indices in asked.items():
            self._label(question, indices, rows, made)
        return [{**dict.fromkeys(self.columns), **row} for row in made]

    def _label(
        self, question: str, indices: Sequence[int], rows: Sequence[Row], made: list[Made]
    ) -> None:
        def label(some: Sequence[int]) -> list[Made]:
            texts = [rows[index][self._text_column] for index in some]
            scores = self._model().detect(question, texts)
            return [{"stance": s.label.value, **s.to_dict(), "windows": s.windows} for s in scores]

        for index, values in zip(indices, _each(label, indices), strict=True):
            made[index].update(values)

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

    def __call__(self, rows: Sequence[Row]) -> list[Made]:
        """A new row for each row, in order."""
        errors = [row.get("error") or _no_text(row, self._text_column) for row in rows]
        sound = [index for index, error in enumerate(errors) if not error]
        made: list[Made] = [{"embedding": None, "error": error} for error in errors]

        def embed(some: Sequence[int]) -> list[Made]:
            vectors = self._model().embed([rows[index][self._text_column] for index in some])
            return [{"embedding": vector} for vector in vectors]

        for index, values in zip(sound, _each(embed, sound), strict=True):
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
    text = row.get(column)
    return None if isinstance(text, str) else f"{column!r} must be a str, got {type(text).__name__}"


def _each(work: Callable[[Sequence[int]], list[Made]], indices: Sequence[int]) -> list[Made]:
    """What `work` makes of all; where it fails, of each by itself, so that one row fails alone."""
    if not indices:
        return []
    try:
        return work(indices)
    except EquipoiseError as error:
        if len(indices) == 1:
            return [{"error": f"{type(error).__name__}: {error}"}]
    return [made for index in indices for made in _each(work, [index])]
