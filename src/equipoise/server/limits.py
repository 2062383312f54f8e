"""How much one request may bring, and how many may wait."""

import math
from dataclasses import dataclass, field, fields

from equipoise.errors import InputError
from equipoise.stance.runners import usable_cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of a server; every refusal names the bound it met.

    Attributes:
        body_bytes: bytes of a request's body, >= 1 (413 beyond).
        documents: documents of one request, >= 1 (422 beyond).
        document_characters: characters of one document, >= 1 (422 beyond).
        question_characters: characters of a question, >= 1 (422 beyond).
        workers: requests that are worked on at once, >= 1; the default is one more than the cores,
            for more only slow each other down. For a detector behind a URL take more.
        queue: requests that may wait for a worker, >= 0 (503 with Retry-After beyond).
        timeout_s: the longest time for one request, waiting included, seconds, > 0 (504 beyond);
            also the longest time for its body to arrive (408 beyond).
        batch_texts: texts that the model reads in one shared batch, >= 1.
        remembered: labels kept in memory for questions that come again, >= 0; 0 keeps none.

    Raises:
        InputError: a bound is of another kind or out of its range.
    """

    body_bytes: int = 4 * 2**20
    documents: int = 1_000
    document_characters: int = 200_000
    question_characters: int = 2_000
    workers: int = field(default_factory=lambda: usable_cores() + 1)
    queue: int = 64
    timeout_s: float = 60.0
    batch_texts: int = 16
    remembered: int = 100_000

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if entry.name == "timeout_s":
                if not number or not 0 < value < math.inf:
                    raise InputError(f"Limits.timeout_s must be a number > 0, got {value!r}")
                continue
            least = 0 if entry.name in ("queue", "remembered") else 1
            if not number or not isinstance(value, int) or value < least:
                raise InputError(f"Limits.{entry.name} must be an int >= {least}, got {value!r}")
