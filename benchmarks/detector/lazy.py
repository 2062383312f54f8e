"""How many texts a call are best when labels are read one after the other.

A selection that needs n labels, read b at a time, costs ceil(n / b) calls; what a call of b
documents costs is measured, and n is counted on the embedded corpus (`labelled.py`'s retrieval),
with true labels and with the bundled detector's, with and without planted documents.

    python -m benchmarks.detector.lazy [--rounds 15] [--threads N] [--true-only]
"""

import argparse
import statistics
import time
from collections.abc import Sequence

from benchmarks.labelled import embedded
from equipoise import Balancer, StanceDetector, StanceScore
from equipoise.data import contested
from equipoise.stance import CachedDetector, load_detector
from equipoise.stance.runners import default_threads
from equipoise.testing import FakeDetector

BATCHES = (1, 2, 4, 8)


class OneByOne:
    """A detector read one text a call, so that labels are counted as they are needed."""

    lazy_batch = 1

    def __init__(self, inner: StanceDetector) -> None:
        self.inner = inner
        self.name = inner.name

    def detect(self, question: str, texts: Sequence[str]) -> Sequence[StanceScore]:
        """The scores of the detector inside."""
        return self.inner.detect(question, texts)


def needed(detector: StanceDetector, planted: str | None) -> list[int]:
    """Labels that each question's selection needs."""
    balancer = Balancer(detector=OneByOne(detector), gate="always")
    return [balancer.balance(q, found).labelled for q, found in embedded(planted)]


def call_seconds(detector: StanceDetector, rounds: int) -> dict[int, float]:
    """Median seconds of a call of b documents; the sizes take turns."""
    texts = [doc.text for topic in contested() for doc in topic.documents]
    question = contested()[0].question
    detector.detect(question, texts[:2])
    times: dict[int, list[float]] = {size: [] for size in BATCHES}
    for round_ in range(rounds):
        for size in BATCHES:
            # Each size reads the same eight texts in a round, so that lengths play no part.
            for start in range(
                round_ * 8 % (len(texts) - 8), round_ * 8 % (len(texts) - 8) + 8, size
            ):
                began = time.perf_counter()
                detector.detect(question, texts[start : start + size])
                times[size].append(time.perf_counter() - began)
    return {size: statistics.median(values) for size, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--true-only", action="store_true", help="leave the model's labels out")
    arguments = parser.parse_args()
    detector = load_detector("default", threads=arguments.threads)
    truth = {d.text: d.metadata["stance"] for t in contested() for d in t.documents}
    sources: dict[str, StanceDetector] = {"true": FakeDetector(truth, default="neutral")}
    if not arguments.true_only:
        sources["bundled"] = CachedDetector(detector)
    calls = call_seconds(detector, arguments.rounds)
    print(f"{arguments.threads} threads; the default takes {detector.lazy_batch} texts a call\n")
    print("| | n | labels needed |" + "".join(f" b = {b} |" for b in BATCHES))
    print("| --- | ---: | ---: |" + " ---: |" * len(BATCHES))
    cells = "".join(f" {1e3 * calls[b]:.0f} ms |" for b in BATCHES)
    print(f"| a call of b documents, median | | |{cells}")
    for name, labels in sources.items():
        for planted in (None, "pro", "con"):
            counts = needed(labels, planted)
            row = [statistics.mean(-(-n // b) * calls[b] for n in counts) for b in BATCHES]
            waste = [statistics.mean(-(-n // b) * b - n for n in counts) for b in BATCHES]
            cells = "".join(
                f" {1e3 * cost:.0f} ms, {more:.1f} in vain |"
                for cost, more in zip(row, waste, strict=True)
            )
            title = f"{name} labels, planted: {planted or 'none'}"
            print(f"| {title} | {len(counts)} | {statistics.mean(counts):.1f} |{cells}")


if __name__ == "__main__":
    main()
