"""What a server counts, for Prometheus."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from equipoise.result import Selection

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_TEXTS = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """Counters and histograms of one application, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "equipoise_requests", "Requests, by route and status.", ["route", "status"],
            registry=registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "equipoise_request_seconds", "Time of a request, by route.", ["route"],
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.stages = Histogram(
            "equipoise_stage_seconds", "Time of a stage of balancing.", ["stage"],
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.running = Gauge(
            "equipoise_requests_running", "Requests that are worked on.", registry=registry
        )
        self.waiting = Gauge(
            "equipoise_requests_waiting", "Requests that wait for a worker.", registry=registry
        )
        self.refused = Counter(
            "equipoise_requests_refused", "Refused before any work, by reason.", ["reason"],
            registry=registry,
        )  # fmt: skip
        self.batches = Histogram(
            "equipoise_batch_texts", "Distinct texts in a batch of the model.",
            buckets=_TEXTS, registry=registry,
        )  # fmt: skip
        self.shared = Counter(
            "equipoise_batches_shared", "Batches that served two requests or more.",
            registry=registry,
        )  # fmt: skip
        self.selections = Counter(
            "equipoise_selections", "Selections, by the gate's verdict.", ["verdict"],
            registry=registry,
        )  # fmt: skip
        self.one_sided = Counter(
            "equipoise_selections_one_sided", "Selections whose documents show one side only.",
            registry=registry,
        )  # fmt: skip
        self.shortfalls = Counter(
            "equipoise_shortfall_seats", "Seats that no document of their stance took.",
            ["stance"], registry=registry,
        )  # fmt: skip
        self.labels = Counter(
            "equipoise_labels", "Texts whose stance was asked for.", registry=registry
        )
        self.failures = Counter(
            "equipoise_detector_failures", "Selections by relevance because the detector failed.",
            registry=registry,
        )  # fmt: skip

    def batch(self, texts: int, asks: int) -> None:
        """Note a batch of the model."""
        self.batches.observe(texts)
        if asks > 1:
            self.shared.inc()

    def selection(self, selection: Selection) -> None:
        """Note what came of a question."""
        self.selections.labels(selection.decision.verdict.value).inc()
        self.labels.inc(selection.labelled)
        if selection.one_sided:
            self.one_sided.inc()
        if selection.failure is not None:
            self.failures.inc()
        for shortfall in selection.shortfalls:
            stance = shortfall.stance.value if shortfall.stance else "any"
            self.shortfalls.labels(stance).inc(shortfall.wanted - shortfall.found)
        for stage, milliseconds in selection.timings_ms.items():
            self.stages.labels(stage).observe(milliseconds / 1e3)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Counts what is worked on meanwhile."""
        with self.running.track_inprogress():
            yield

    def page(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self.registry)
