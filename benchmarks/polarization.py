"""Time of a Polarization Score and of BiasDef on 50 candidates, beside scikit-learn's parts.

The pools are random: what is timed does not depend on what the documents say. In every second
pool the first twelve vectors are close together, so that all three steps run. The first two figures
are processor time, which other work on a shared machine changes little; one thread.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy loads its BLAS
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA

from equipoise import Candidate
from equipoise.polarization import BiasDef, Guard, Histogram, Kernel, PolarizationAxis
from equipoise.polarization.mahalanobis import ShrunkCovariance

NUMBER, DIMENSION, POOLS, ROUNDS = 50, 384, 20, 10


def pool(seed: int) -> list[Candidate]:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(NUMBER, DIMENSION))
    if seed % 2:
        vectors[:12] = vectors[0] + 0.3 * rng.normal(size=(12, DIMENSION))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [
        Candidate(str(i), f"text {i}", 0.9 - i / 100, embedding=row.tolist())
        for i, row in enumerate(vectors)
    ]


def main() -> None:
    pools = [pool(seed) for seed in range(POOLS)]
    arrays = [np.array([candidate.embedding for candidate in one]) for one in pools]
    axis = PolarizationAxis.fit(arrays[0][:20])
    deep = {"depth": NUMBER}
    tasks: dict[str, list[Callable[[], object]]] = {
        "PS of 1 text": [lambda a=a: axis.score(a[:1]) for a in arrays],
        "PS of 50 texts": [lambda a=a: axis.score(a) for a in arrays],
        "axis of 20 anchors": [lambda a=a: PolarizationAxis.fit(a[:20]) for a in arrays],
        "axis of 50 anchors": [lambda a=a: PolarizationAxis.fit(a) for a in arrays],
        "  scikit-learn PCA, 50": [lambda a=a: PCA(n_components=1).fit(a) for a in arrays],
        "covariance of 50": [lambda a=a: ShrunkCovariance.fit(a).squared(a) for a in arrays],
        "  scikit-learn LedoitWolf": [
            lambda a=a: LedoitWolf().fit(a).mahalanobis(a) for a in arrays
        ],
        "BiasDef (first 20 of 50)": [lambda p=p: BiasDef().flag("?", p) for p in pools],
    }
    for name, made in (
        ("BiasDef, depth 50", BiasDef(**deep)),
        ("BiasDef, depth 50, no guard", BiasDef(**deep, guard=None)),
        ("BiasDef, depth 50, given axis", BiasDef(**deep, axis=axis)),
        ("BiasDef, depth 50, histogram", BiasDef(**deep, divergence=Histogram())),
        ("BiasDef, depth 50, kernel", BiasDef(**deep, divergence=Kernel())),
        (
            "BiasDef, depth 50, 1000 shuffles",
            BiasDef(**deep, guard=Guard(shuffles=1000)),
        ),
    ):
        tasks[name] = [lambda p=p, b=made: b.flag("?", p) for p in pools]
    for name, calls in tasks.items():
        calls[0]()
        wall, busy = [], []
        for _ in range(ROUNDS):
            for call in calls:
                began, worked = time.perf_counter(), time.process_time()
                call()
                busy.append(1e3 * (time.process_time() - worked))
                wall.append(1e3 * (time.perf_counter() - began))
        print(f"{name:34} {_spread(busy)}   wall clock {_spread(wall)}")


def _spread(times: list[float]) -> str:
    p90 = statistics.quantiles(times, n=10)[-1]
    return f"median {statistics.median(times):8.3f} ms, p90 {p90:8.3f} ms"


if __name__ == "__main__":
    main()
