"""The wire of a text-embeddings-inference server: `GET /info` and `POST /predict`.

Request: {"inputs": [[first, second], ...], "raw_scores": false, "truncate": false}; answer: one
list of {"label", "score"} a pair, sorted by score, so that only the label says which output it is.
Errors carry {"error", "error_type"}: 413 for a batch or an input that is too long, 422 when the
text cannot be tokenized, 424 when the model fails, 429 when the server is overloaded, 503 when it
is not healthy; 401 has an empty body. Read from the server's source, as of version 1.8.

Standard library only: one POST a batch needs no client library. Source: ours.
"""

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from equipoise.errors import DetectorError, InputError

Prediction = Mapping[str, float]
_RETRIED = frozenset({429, 502, 503, 504})
_LONGEST_WAIT_S = 30.0
_LARGEST_ANSWER = 64 * 1024 * 1024


class TooLongError(DetectorError):
    """The server refused an input as longer than its model."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What `/info` says: model and revision, pairs a request, tokens a pair."""

    model: str
    max_batch: int = 32
    max_input_length: int = 512


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would carry the key to another server; it comes back as an error instead."""

    def redirect_request(self, *_: Any) -> None:
        """None: never followed."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how patiently a request is made.

    Attributes:
        timeout_s: the longest wait for one answer, > 0.
        retries: further tries after the first one, >= 0.
        backoff_s: wait before the first retry, doubled for each next one, >= 0. A server's
            Retry-After goes before it; no wait is longer than 30 s.

    Raises:
        InputError: a value is out of its range.
    """

    timeout_s: float = 30.0
    retries: int = 3
    backoff_s: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.timeout_s < float("inf"):
            raise InputError(f"timeout_s must be a finite number > 0, got {self.timeout_s!r}")
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise InputError(f"retries must be an int >= 0, got {self.retries!r}")
        if not 0 <= self.backoff_s < float("inf"):
            raise InputError(f"backoff_s must be a finite number >= 0, got {self.backoff_s!r}")

    def wait_s(self, tried: int, asked: str | None) -> float:
        """Seconds to wait after `tried` failed tries; `asked` is the server's Retry-After."""
        told = asked is not None and asked.isascii() and asked.isdigit()
        seconds = float(asked or 0) if told else self.backoff_s * 2 ** (tried - 1)
        return min(seconds, _LONGEST_WAIT_S)


class TeiClient:
    """Requests to one server. Safe to share between threads; redirects are not followed.

    Args:
        url: http or https, with or without `/predict` at its end.
        api_key: sent as a bearer token; it is in no message and in no repr.
        retries: see `Retries`.

    Raises:
        InputError: `url` is not an http(s) address, or has a key in it.
    """

    def __init__(self, url: str, *, api_key: str | None, retries: Retries) -> None:
        self.url = _checked_url(url)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if api_key is not None:
            if not api_key.isascii() or not api_key.isprintable() or not api_key:
                raise InputError("api_key must be printable ASCII characters, got others")
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._key = api_key
        self._retries = retries
        self._opener = build_opener(_NoRedirects)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opener": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._opener = build_opener(_NoRedirects)

    def info(self) -> ServerInfo:
        """What the server says of itself.

        Raises:
            DetectorError: no answer, or one that is not `/info`'s.
        """
        found = self._ask("/info", None)
        try:
            return ServerInfo(
                f"{found['model_id']}@{found.get('model_sha') or 'unknown'}",
                max(1, int(found.get("max_client_batch_size") or 32)),
                max(1, int(found.get("max_input_length") or 512)),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DetectorError(f"{self.url}/info must name a model, got {found!r:.200}") from error

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[Prediction]:
        """Label -> probability for each pair, in order.

        Raises:
            TooLongError: a pair is longer than the server's model.
            DetectorError: no answer, or one that is not `/predict`'s.
        """
        body = {"inputs": [list(pair) for pair in pairs], "raw_scores": False, "truncate": False}
        found = self._ask("/predict", body)
        try:
            rows: list[Prediction] = [
                {str(p["label"]): float(p["score"]) for p in row} for row in found
            ]
        except (TypeError, KeyError, ValueError) as error:
            raise DetectorError(
                f"{self.url}/predict must answer with a list of label and score for each pair, "
                f"got {found!r:.200}"
            ) from error
        if len(rows) != len(pairs):
            raise DetectorError(f"{self.url}/predict gave {len(rows)} rows for {len(pairs)} pairs")
        return rows

    def _ask(self, path: str, body: Mapping[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode("ascii")
        request = Request(self.url + path, data=data, headers=self._headers)
        for tried in range(1, self._retries.retries + 2):
            asked = None
            try:
                return self._once(request)
            except HTTPError as error:
                asked = error.headers.get("Retry-After")
                failure = self._refusal(path, error)
                if error.code not in _RETRIED:
                    raise failure from error
            except (OSError, http.client.HTTPException) as error:
                # The cause of a URLError says more than its own text.
                reason = getattr(error, "reason", None) or error
                kind = f"{type(reason).__name__}: {reason}"
                failure = DetectorError(f"{self.url}{path} must be reachable: {self._safe(kind)}")
            if tried <= self._retries.retries:
                time.sleep(self._retries.wait_s(tried, asked))
        raise DetectorError(f"{failure} (after {tried} tries)")

    def _once(self, request: Request) -> Any:
        with self._opener.open(request, timeout=self._retries.timeout_s) as response:
            content = response.read(_LARGEST_ANSWER)
        try:
            return json.loads(content)
        except ValueError as error:
            raise DetectorError(f"{request.full_url} must answer in JSON: {error}") from error

    def _refusal(self, path: str, error: HTTPError) -> DetectorError:
        with error:
            content = error.read(10_000)
        try:
            said = str(json.loads(content)["error"])
        except (ValueError, KeyError, TypeError):
            said = content.decode("utf-8", "replace")
        message = f"{self.url}{path} answered {error.code}: {self._safe(said)[:300]}"
        too_long = error.code == 413 and "must have less than" in said
        return TooLongError(message) if too_long else DetectorError(message)

    def _safe(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query:
        raise InputError("url must not carry a key: give it as api_key=...")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"url must be of the form http(s)://host[:port][/path], got {url!r}")
    return url.rstrip("/").removesuffix("/predict").rstrip("/")
