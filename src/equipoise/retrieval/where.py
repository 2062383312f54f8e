"""A filter of metadata that means the same in every store."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.errors import InputError
from equipoise.retrieval.base import readable
from equipoise.types import is_number

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Where:
    """Which passages count: those whose metadata have, for every key, one of its values.

    `terms` are pairs of a key of the metadata (the outermost ones only) and the values allowed. A
    text equals the same text, a number the equal number (1 and 1.0), true and false themselves
    only. A key that is absent, null, a list or an object never matches. No terms: every passage.

    Raises:
        InputError: a key is no str, has no values, or a value is no text, finite number or bool.

    >>> where = Where.of({"language": ["en", "de"], "year": 2024})
    >>> where.matches({"language": "de", "year": 2024.0})
    True
    >>> where.matches({"language": "de"})
    False
    """

    terms: tuple[tuple[str, tuple[Scalar, ...]], ...] = ()

    def __post_init__(self) -> None:
        for key, values in self.terms:
            if not isinstance(key, str) or not values:
                raise InputError(
                    f"a filter needs keys that are str and a value or more for each, got {key!r} "
                    f"with {values!r}"
                )
            for value in values:
                if not _is_scalar(value):
                    raise InputError(
                        "a filter's values must be texts, finite numbers, true or false, got "
                        f"{value!r} for {key!r}"
                    )

    @classmethod
    def of(cls, given: Where | Mapping[str, Any] | None) -> Where:
        """The filter that `given` stands for: `{"source": "x", "language": ["en", "de"]}`.

        Raises:
            InputError: it is neither a mapping nor a `Where`, or a value cannot be compared.
        """
        if isinstance(given, Where):
            return given
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise InputError(
                'a filter must be a mapping such as {"source": "x"} or '
                f'{{"language": ["en", "de"]}}, got {type(given).__name__}'
            )
        return cls(tuple((key, _values(given[key])) for key in given))

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """True when every key has one of its values."""
        return all(
            any(_same(metadata.get(key), value) for value in values) for key, values in self.terms
        )


def cleaned(text: str) -> str:
    r"""`text` as every store can carry it: no lone surrogates ("?"), no NUL (U+FFFD).

    >>> cleaned("a\x00b")
    'a\ufffdb'
    """
    return readable(text).replace("\x00", "\ufffd")


def _values(given: Any) -> tuple[Any, ...]:
    many = tuple(given) if isinstance(given, list | tuple | set | frozenset) else (given,)
    return tuple(cleaned(value) if isinstance(value, str) else value for value in many)


def _is_scalar(value: object) -> bool:
    if isinstance(value, str | bool):
        return True
    return is_number(value) and math.isfinite(value)  # type: ignore[arg-type]  # it is a number


def _same(held: object, value: Scalar) -> bool:
    if isinstance(value, bool) or isinstance(held, bool):
        return held is value
    if isinstance(value, str):
        return isinstance(held, str) and cleaned(held) == value
    return is_number(held) and held == value
