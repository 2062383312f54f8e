"""Time of the selection rule itself on 50 labelled candidates, beside MMR over the same pool."""

import random
import statistics
import timeit

from equipoise import Candidate, StanceScore
from equipoise.selection.mmr import MmrRule
from equipoise.selection.quota import QuotaRule
from equipoise.selection.relevance import RelevanceRule

DIMENSION = 384
ROUNDS = 25


def world(seed: int) -> tuple[list[Candidate], list[StanceScore]]:
    rng = random.Random(seed)
    docs = [
        Candidate(
            str(i), f"text {i}", 1 - i / 100, embedding=[rng.gauss(0, 1) for _ in range(DIMENSION)]
        )
        for i in range(50)
    ]
    sides = [StanceScore(0.8, 0.1, 0.1), StanceScore(0.1, 0.8, 0.1), StanceScore(0.1, 0.1, 0.8)]
    return docs, rng.choices(sides, weights=(6, 3, 1), k=50)


def main() -> None:
    worlds = [world(seed) for seed in range(20)]
    medians = {}
    for rule, repeat in ((QuotaRule(), 50), (RelevanceRule(), 50), (MmrRule(), 1)):
        times = [
            timeit.timeit(lambda r=rule, w=world: r.select(*w), number=repeat) / repeat * 1e6
            for world in worlds
            for _ in range(ROUNDS if repeat > 1 else 1)
        ]
        medians[rule.name] = statistics.median(times)
        p90 = statistics.quantiles(times, n=10)[-1]
        print(f"{rule.name:36} median {medians[rule.name]:9.1f} us   p90 {p90:9.1f} us")
    quota, relevance, mmr = medians.values()
    print(f"quota / top-k: {quota / relevance:.2f}    MMR / quota: {mmr / quota:.0f}")


if __name__ == "__main__":
    main()
