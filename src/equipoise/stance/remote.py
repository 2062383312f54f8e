"""A stance model behind a text-embeddings-inference server."""

import math
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.errors import DetectorError, InputError
from equipoise.stance.base import check_count, checked_texts, detect_shown
from equipoise.stance.labels import checked_labels, stance_of, unnamed_index
from equipoise.stance.question import READING, canonical_question, text_to_read
from equipoise.stance.tei import Retries, ServerInfo, TeiClient, TooLongError
from equipoise.stance.windows import (
    MAX_WINDOWS,
    MIN_WINDOW,
    WINDOWS_VERSION,
    combine_windows,
    window_size,
    window_spans,
)
from equipoise.types import Stance, StanceScore

# About one word piece each: up to five letters or digits of ASCII, or any other sign alone.
_UNIT = re.compile(r"[A-Za-z0-9]{1,5}|[^\sA-Za-z0-9]")
_SPECIALS = 4


class RemoteDetector:
    """Labels documents by asking `/predict` of a server that holds a (question, document) model.

    The server's tokenizer is not at hand, so windows of long documents are cut by an estimate of
    the tokens that errs on the safe side; where the server still finds a window too long, all are
    cut again at half the size. The server is never asked to cut a text itself: it would cut the
    question too.

    Args:
        url: the server, such as "http://127.0.0.1:8080".
        api_key: sent as a bearer token; never in a message or in `repr`.
        timeout_s: the longest wait for one answer, seconds, > 0.
        retries: further tries after a 429, 502, 503, 504 or a failed connection, >= 0.
        backoff_s: wait before the first retry, doubled for each next one, seconds, >= 0.
        labels: what the outputs are, in order, for a model that calls them LABEL_n.
        max_windows: windows read of one document at most, >= 1.

    Raises:
        InputError: an argument is out of its range. The server is first asked by the first text.

    Cost: one request for as many windows as the server takes at once (`/info`, 32 by default).
    Do not use it for reranker or embedding models: the server refuses `/predict` then.

    Source: SP 3.3; the wire is the server's.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
        backoff_s: float = 0.5,
        labels: Sequence[str] | None = None,
        max_windows: int = MAX_WINDOWS,
    ) -> None:
        check_count("max_windows", max_windows)
        self._labels = checked_labels(labels)
        self._client = TeiClient(
            url, api_key=api_key, retries=Retries(timeout_s, retries, backoff_s)
        )
        self._max_windows = max_windows
        self._lock = threading.Lock()
        self._info: ServerInfo | None = None

    @property
    def name(self) -> str:
        """`remote:`, the server's address and its model with revision (asks `/info` once).

        Raises:
            DetectorError: the server does not answer.
        """
        order = ",".join(self._labels or ())
        return (
            f"remote:{self._client.url}:{self._server().model}:windows={self._max_windows}"
            f"v{WINDOWS_VERSION}:labels={order}:{READING}"
        )

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        """One score a text, in order.

        A plainly negated question is sent in its positive form; a text, without sentences that only
        ask it again.

        Raises:
            InputError: the question shows nothing or leaves no room for a document, or an item of
                `texts` is not a str.
            DetectorError: the server could not be reached, refused, or gave labels or scores that
                are not a stance.
        """
        positive, negated = canonical_question(question)
        cleaned = [text_to_read(positive, text) for text in checked_texts(texts)]
        scores = detect_shown(
            cleaned, lambda shown: self._label(positive, [cleaned[index] for index in shown])
        )
        return [score.swapped() for score in scores] if negated else scores

    def _label(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        limit = self._server().max_input_length
        asked = len(_UNIT.findall(question))
        size = window_size(asked, specials=_SPECIALS, max_length=limit)
        while True:
            parts = [_windows(text, size, max_windows=self._max_windows) for text in texts]
            try:
                scores = self._ask([(question, part) for windows in parts for part in windows])
            except TooLongError as error:
                size //= 2
                if size < MIN_WINDOW // 2:
                    raise InputError(
                        f"the question must leave room for the document within the server's "
                        f"{limit} tokens, got about {asked} tokens: shorten the question ({error})"
                    ) from error
                continue
            found = iter(scores)
            return [combine_windows([next(found) for _ in windows]) for windows in parts]

    def _ask(self, pairs: Sequence[tuple[str, str]]) -> list[StanceScore]:
        step = self._server().max_batch
        scores = []
        for start in range(0, len(pairs), step):
            for prediction in self._client.predict(pairs[start : start + step]):
                scores.append(_score(prediction, self._labels))
        return scores

    def _server(self) -> ServerInfo:
        with self._lock:
            if self._info is None:
                self._info = self._client.info()
            return self._info

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"RemoteDetector({self._client.url!r})"


def _windows(text: str, size: int, *, max_windows: int) -> list[str]:
    """`text` in overlapping windows of about `size` tokens: the text itself where it fits."""
    starts = [match.start() for match in _UNIT.finditer(text)]
    spans = window_spans(len(starts), size, max_windows=max_windows)
    if len(spans) == 1 and spans[0][1] == len(starts):
        return [text]
    ends = [*starts, len(text)]
    return [text[starts[start] : ends[end]].strip() for start, end in spans]


def _score(prediction: Mapping[str, float], labels: Sequence[str] | None) -> StanceScore:
    found: dict[Stance, float] = {}
    for name, value in prediction.items():
        index = unnamed_index(name)
        known = labels[index] if labels and index is not None and index < len(labels) else name
        stance = stance_of(known)
        if stance is not None:
            found[stance] = value
    if len(prediction) != 3 or len(found) != 3:
        raise DetectorError(
            "the server's labels must be con, neutral, pro or contradiction, neutral, entailment; "
            f"got {sorted(prediction)}. If you know what LABEL_0, LABEL_1 and LABEL_2 mean, give "
            'their order: labels=("con", "neutral", "pro")'
        )
    total = math.fsum(found.values())
    if not all(0 <= value <= 1 for value in found.values()) or abs(total - 1) > 1e-2:
        raise DetectorError(f"the server's scores must be probabilities, got {dict(prediction)}")
    # A server that computes in half precision is off by a thousandth.
    pro, con = found[Stance.PRO] / total, found[Stance.CON] / total
    return StanceScore(pro, con, max(0.0, 1.0 - pro - con))
