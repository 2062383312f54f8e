"""Any sentence-transformers model."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise._extras import require
from equipoise.errors import EmbedderError, InputError
from equipoise.retrieval.base import readable
from equipoise.retrieval.vectors import normalized


class SentenceTransformersEmbedder:
    """Vectors from the sentence-transformers model `model`, a hub name or a folder.

    Questions and passages get the prompts that the model defines for queries and documents. Texts
    longer than the model are cut by the library. `batch` >= 1 texts are embedded at a time. Safe
    to share between threads: calls take turns, for the library's tokenizers are not.

    Raises:
        InputError: there is no such model, or batch < 1.
        EmbedderError: the model cannot be loaded.
        MissingExtraError: sentence-transformers is not installed.
    """

    def __init__(self, model: str, *, batch: int = 32) -> None:
        if batch < 1:
            raise InputError(f"batch must be >= 1, got {batch}")
        library = require("sentence_transformers", extra="sentence-transformers")
        try:
            self._model: Any = library.SentenceTransformer(model)
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbedderError(
                f"the sentence-transformers model {model!r} must be a folder or a name on the hub "
                f"that can be reached, and loading it failed: {error}"
            ) from error
        self._name = f"sentence-transformers:{model}"
        self._batch = batch
        self._lock = Lock()
        self._dimension = int(self._encode(self._model.encode, ["dimension"]).shape[1])

    @property
    def name(self) -> str:
        """`sentence-transformers:<model>`."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Array (n, d), float32, rows of length 1, in the order of `texts`.

        Raises:
            EmbedderError: the model failed.
        """
        return self._encode(self._model.encode_document, texts)

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """Array (d,), float32, length 1, with the model's prompt for queries."""
        row: NDArray[np.float32] = self._encode(self._model.encode_query, [question])[0]
        return row

    def _encode(self, encode: Any, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self._dimension), dtype=np.float32)
        cleaned = [readable(text) for text in texts]
        try:
            with self._lock:
                rows = encode(
                    cleaned,
                    batch_size=self._batch,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
        except (RuntimeError, ValueError) as error:
            raise EmbedderError(
                f"{self._name} could not embed {len(texts)} texts: {error}"
            ) from error
        return normalized(rows, made_by=self._name)
