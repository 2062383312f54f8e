"""Spans for OpenTelemetry: recorded where an SDK is set up, and nothing otherwise."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

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


@contextmanager
def request_span(method: str, headers: Mapping[str, str]) -> Iterator[Any]:
    """The span of a request, a child of the caller's where its headers name one."""
    parent = propagate.extract(dict(headers))
    with trace.get_tracer(_NAME).start_as_current_span(
        method, context=parent, kind=SpanKind.SERVER, record_exception=False
    ) as current:
        yield current


def end_request(current: Any, *, method: str, route: str, status: int) -> None:
    """Name the span of a request by its route, and say how it ended."""
    current.update_name(f"{method} {route}")
    current.set_attributes(
        {"http.request.method": method, "http.route": route, "http.response.status_code": status}
    )
    if status >= 500:
        current.set_status(Status(StatusCode.ERROR))


def _named(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {f"equipoise.{name}": value for name, value in attributes.items()}
