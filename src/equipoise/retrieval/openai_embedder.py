"""Any server with an OpenAI-compatible `/embeddings` endpoint, over the standard library."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import EmbedderError, InputError
from equipoise.retrieval.base import readable
from equipoise.retrieval.vectors import normalized

OPENAI_URL = "https://api.openai.com/v1"
_WORTH_ANOTHER_TRY = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_LONGEST_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how patiently to ask.

    `attempts` >= 1 calls in all, each given `timeout_s` > 0 seconds; before the n-th repetition a
    wait of `backoff_s` * 2 ** (n - 1) seconds, or what the server's Retry-After says, 60 at most.
    """

    attempts: int = 4
    timeout_s: float = 30.0
    backoff_s: float = 0.5


class OpenAIEmbedder:
    """Vectors from `model` at `base_url` (`POST <base_url>/embeddings`).

    Works with OpenAI and with servers that speak like it (vLLM, Ollama, LiteLLM, TEI, ...), for
    which `api_key` may be None. `dimensions` asks for shorter vectors where the model can; without
    it the dimension is learned from the first answer. `batch` >= 1 texts go in one call.

    The key goes to this server only, not to where it may redirect, and into no message or repr.

    Raises:
        InputError: base_url is not http(s), the key is missing for api.openai.com or cannot stand
            in a header, or a number is out of range.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI_URL,
        api_key: str | None = None,
        dimensions: int | None = None,
        batch: int = 64,
        retries: Retries | None = None,
    ) -> None:
        self._model = model
        self._url = _endpoint(base_url)
        self._key = _usable_key(api_key, base_url)
        self._dimensions = dimensions
        self._dimension = dimensions
        self._batch = batch
        self._retries = retries or Retries()
        counts = (batch, self._retries.attempts, 1 if dimensions is None else dimensions)
        if min(counts) < 1 or self._retries.timeout_s <= 0 or self._retries.backoff_s < 0:
            raise InputError(
                "batch, attempts and dimensions must be >= 1, timeout_s > 0 and backoff_s >= 0, "
                f"got batch {batch}, dimensions {dimensions}, {self._retries}"
            )

    @property
    def name(self) -> str:
        """`openai:<model>`, with `?dimensions=<n>` where that was asked for."""
        asked = "" if self._dimensions is None else f"?dimensions={self._dimensions}"
        return f"openai:{self._model}{asked}"

    @property
    def dimension(self) -> int:
        """Length of every vector; costs one short call when it is not known yet."""
        if self._dimension is None:
            self._ask(["dimension"])
        assert self._dimension is not None
        return self._dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Array (n, d), float32, rows of length 1, in the order of `texts`.

        Raises:
            EmbedderError: the server refused, could not be reached, or answered out of form.
        """
        parts = [
            self._ask([readable(text) for text in texts[start : start + self._batch]])
            for start in range(0, len(texts), self._batch)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimension), dtype=np.float32)

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """Array (d,), float32, length 1. The interface knows no mark for questions."""
        row: NDArray[np.float32] = self.embed([question])[0]
        return row

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        answer = self._post(json.dumps(body).encode())
        rows = self._rows(answer, len(texts))
        vectors = normalized(rows, made_by=self.name, dimension=self._dimension)
        self._dimension = vectors.shape[1]
        return vectors

    def _rows(self, answer: bytes, count: int) -> NDArray[np.float32]:
        try:
            data = json.loads(answer)["data"]
            by_index = {int(item["index"]): item["embedding"] for item in data}
            # Subtle: the index is the only truth; servers may answer in another order.
            rows = np.array([by_index[i] for i in range(count)], dtype=np.float32)
            if len(data) != count:
                raise ValueError(f"{len(data)} vectors for {count} texts")
        except (ValueError, TypeError, KeyError) as error:
            raise EmbedderError(
                f"{self._url} must answer with one embedding a text, as the OpenAI interface "
                f"does, and did not: {self._safe(repr(error))}. Is the address right?"
            ) from None
        return rows

    def _post(self, body: bytes) -> bytes:
        for attempt in range(1, self._retries.attempts + 1):
            try:
                return self._call(body)
            except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
                wait_s = self._wait_s(error, attempt)
                if wait_s is None:
                    # No `from error`: its text may quote what the server echoed, the key included.
                    raise EmbedderError(self._failure(error, attempt)) from None
                time.sleep(wait_s)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _call(self, body: bytes) -> bytes:
        request = urllib.request.Request(
            self._url, data=body, headers={"Content-Type": "application/json"}, method="POST"
        )
        if self._key:
            # Subtle: an ordinary header would be sent on to wherever the server redirects.
            request.add_unredirected_header("Authorization", f"Bearer {self._key}")
        with urllib.request.urlopen(request, timeout=self._retries.timeout_s) as response:
            answer: bytes = response.read()
        return answer

    def _wait_s(self, error: Exception, attempt: int) -> float | None:
        """Seconds to wait before the next attempt; None when there should be none."""
        if attempt == self._retries.attempts:
            return None
        backoff_s = self._retries.backoff_s * 2.0 ** (attempt - 1)
        if isinstance(error, urllib.error.HTTPError):
            if error.code not in _WORTH_ANOTHER_TRY:
                return None
            asked = error.headers.get("Retry-After", "")
            backoff_s = float(asked) if asked.isdecimal() else backoff_s
            error.close()
        return min(backoff_s, _LONGEST_WAIT_S)

    def _failure(self, error: Exception, attempts: int) -> str:
        why: object = error
        if isinstance(error, urllib.error.HTTPError):
            with error:
                detail = error.read(300).decode("utf-8", "replace")
            why = f"HTTP {error.code} {error.reason}: {detail}"
        return (
            f"{self._url} must answer for model {self._model!r}, and failed after {attempts} "
            f"of {self._retries.attempts} attempts: {self._safe(str(why))}. "
            "Check the address, the model's name, the key and your quota."
        )

    def _safe(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _endpoint(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        shown = f"{parts.scheme}://{parts.hostname or ''}"  # without what may be a password
        raise InputError(
            "base_url must be like http://host:port/v1 or https://host/v1, without user and "
            f"password, got {shown!r}"
        )
    return f"{base_url.rstrip('/')}/embeddings"


def _usable_key(api_key: str | None, base_url: str) -> str | None:
    key = (api_key or "").strip()
    if not key and urlsplit(base_url).hostname == "api.openai.com":
        raise InputError("api.openai.com needs a key: set OPENAI_API_KEY or pass api_key=...")
    if not key.isascii() or not key.isprintable():
        raise InputError("api_key must be printable ASCII on one line; it holds other characters")
    return key or None
