"""Spans for OpenTelemetry: recorded where an SDK is set up, and nothing otherwise.

The span of a request is FastAPI's own; these are its stages.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from opentelemetry import trace

_NAME = "equipoise"


class Note(Protocol):
    """Adds attributes to the span that is open."""

    def __call__(self, **attributes: str | int | float | bool) -> None:
        """Note these."""
        ...


@contextmanager
def span(name: str, **attributes: str | int | float | bool) -> Iterator[Note]:
    """A span around a stage; what is yielded adds to it. No text of a request goes into it."""
    with trace.get_tracer(_NAME).start_as_current_span(
        name, attributes=_named(attributes), record_exception=False
    ) as current:

        def note(**more: str | int | float | bool) -> None:
            current.set_attributes(_named(more))

        yield note


def _named(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {f"equipoise.{name}": value for name, value in attributes.items()}
