"""Time to label 1 to 50 documents of about 66 words with the bundled detector, median and p90."""

import argparse
import statistics
import time

from equipoise.data import contested
from equipoise.stance import load_detector


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    detector = load_detector("default", threads=arguments.threads)
    question = "Should voting be compulsory?"
    texts = [doc.text for topic in contested() for doc in topic.documents]
    detector.detect(question, texts[:4])
    one = None
    for count in (1, 5, 8, 10, 20, 32, 50):
        times = []
        for round_ in range(arguments.rounds):
            sample = texts[round_ * 50 : round_ * 50 + count]
            began = time.perf_counter()
            detector.detect(question, sample)
            times.append((time.perf_counter() - began) * 1e3)
        median = statistics.median(times)
        one = one or median
        p90 = statistics.quantiles(times, n=10)[-1]
        ratio = median / one
        print(
            f"{count:3} documents: median {median:7.1f} ms, p90 {p90:7.1f} ms, {ratio:4.1f} x one"
        )


if __name__ == "__main__":
    main()
