"""Does an audit find planted one-sided documents? Measured on a pack of the lab.

    python benchmarks/audit_effect.py PACK --labels labels.sqlite
    python benchmarks/audit_effect.py PACK --labels labels.sqlite --attack EBI-PRO --attack EBI-CON
    python benchmarks/audit_effect.py PACK --detector oracle  # or degraded:0.9

Each topic has one question (the data's own). Four corpora are made of the pack's clean documents:
in turn, each topic is attacked from the pro side, from the con side, gets as many documents of both
sides (half each), or is left alone. So every corpus has attacked and clean topics, and every topic
is each once. The earlier audit is the one of the clean documents alone. What is planted are the
pack's own injected documents, or those of corpora that `equipoise lab attack` has made.
"""

import argparse
import json
import random
from collections import defaultdict
from pathlib import Path

import numpy as np

from equipoise.audit import Kind, Question, Settings, audit
from equipoise.lab.labels import load_labels
from equipoise.lab.pack import Document, Origin, Pack, read_pack
from equipoise.lab.poison.folder import read_poisoned
from equipoise.retrieval import MemoryRetriever, load_embedder
from equipoise.stance import CachedDetector, load_detector
from equipoise.types import Candidate, Stance

ROLES = ("pro", "con", "both", "none")
PAPER = 0.189


class Remembering:
    """An embedder that embeds each text once."""

    def __init__(self, inner):
        self.inner, self.known = inner, {}
        self.name, self.dimension = inner.name, inner.dimension

    def embed(self, texts):  # noqa: D102
        new = [t for t in dict.fromkeys(texts) if t not in self.known]
        if new:
            self.known.update(zip(new, self.inner.embed(new), strict=True))
        return np.array([self.known[t] for t in texts])

    def embed_question(self, question):  # noqa: D102
        return self.inner.embed_question(question)


class TrueLabels:
    """The labels of the pack itself, or those with errors, as a detector ("oracle")."""

    def __init__(self, spec: str, pack: Pack, injected: "Injected"):
        self.labels = load_labels(spec)
        self.name = self.labels.name
        self.asked = {q.text: q for q in pack.questions}
        self.known = {d.text: d for d in [*pack.documents, *injected.made]}

    def detect(self, question, texts):  # noqa: D102
        return list(self.labels.scores(self.asked[question], [self.known[t] for t in texts]))


class Injected:
    """The documents that can be planted: the pack's, or those of attacked corpora."""

    def __init__(self, pack: Pack, attacks: list[Path]):
        self.made = [d for folder in attacks for d in read_poisoned(folder, pack).documents]
        self.pack, self.attacked = pack, bool(attacks)

    def of(self, topic: str, side: str) -> list[Document]:  # noqa: D102
        if not self.attacked:
            return list(self.pack.injected(topic, Stance(side)))
        return [d for d in self.made if d.topic == topic and d.stance is Stance(side)]


def planted(injected: Injected, topic: str, role: str, size: str) -> list[Document]:
    pack = injected.pack
    if role == "none":
        return []
    genuine = sum(d.topic == topic and d.origin is Origin.GENUINE for d in pack.documents)
    n = round(PAPER / (1 - PAPER) * genuine) if size == "share" else int(size)
    n = max(1, n)
    if role == "both":
        pro, con = (injected.of(topic, side) for side in ("pro", "con"))
        return [*pro[: (n + 1) // 2], *con[: n // 2]]
    return injected.of(topic, role)[:n]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pack", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--detector", default="default")
    parser.add_argument("--sizes", default="3,share,7")
    parser.add_argument("--attack", type=Path, action="append", default=[])
    parser.add_argument("--near", type=int, default=Settings().near)
    parser.add_argument("--depth", type=int, default=Settings().depth)
    options = parser.parse_args()
    pack = read_pack(options.pack)
    injected = Injected(pack, options.attack)
    settings = Settings(near=options.near, depth=options.depth)
    topics = [t.id for t in pack.topics]
    rng = random.Random(20260905)
    asked = {q.topic: Question(q.topic, q.text) for q in reversed(pack.questions) if q.original}
    month = {d.id: f"2026-{rng.randrange(1, 12):02d}" for d in pack.documents}
    embedder = Remembering(load_embedder("minilm"))
    clean = [Candidate(d.id, d.text, metadata={"date": month[d.id]}) for d in pack.clean]
    true = options.detector.startswith(("oracle", "degraded:"))
    with CachedDetector(
        TrueLabels(options.detector, pack, injected) if true else load_detector(options.detector),
        path=options.labels,
        max_items=500_000,
    ) as detector:

        def run(documents, against=None):
            found = MemoryRetriever(documents, embedder)
            questions = [asked[t] for t in topics]
            return audit(
                found, questions, detector=detector, settings=settings, date="0", against=against
            )

        before = run(clean)
        alone = {kind.value: len(before.with_finding(kind)) / len(topics) for kind in Kind}
        rows = [("clean corpus", "-", len(topics), 0.0, 0.0, alone)]
        for size in options.sizes.split(","):
            groups = defaultdict(list)
            counts, truth = [], []
            for turn in range(4):
                roles = [ROLES[(number + turn) % 4] for number in range(len(topics))]
                extra = []
                for topic, role in zip(topics, roles, strict=True):
                    new = planted(injected, topic, role, size)
                    extra += [Candidate(d.id, d.text, metadata={"date": "2026-12"}) for d in new]
                    if role in ("pro", "con"):
                        genuine = sum(
                            d.topic == topic and d.origin is Origin.GENUINE for d in pack.documents
                        )
                        counts.append(len(new))
                        truth.append(len(new) / (len(new) + genuine))
                after = run([*clean, *extra], before)
                for question, role in zip(after.questions, roles, strict=True):
                    kinds = {f.kind for f in question.findings}
                    right = {f.kind for f in question.findings if f.side.value == role}
                    groups[role].append((kinds, right, question.question.id))
            for role, seen in groups.items():
                told = {
                    kind.value: sum(kind in kinds for kinds, _, _ in seen) / len(seen)
                    for kind in (Kind.SHIFT, Kind.MONTH, Kind.ONE_SIDED, Kind.SHOWN)
                }
                any_of = {Kind.ONE_SIDED, Kind.SHOWN, Kind.MISSING_SIDE}
                told["no earlier, no dates"] = sum(bool(k & any_of) for k, _, _ in seen) / len(seen)
                rows.append((size, role, len(seen), np.mean(counts), np.mean(truth), told))
    for one in rows:
        print(json.dumps([x if not isinstance(x, float) else round(x, 3) for x in one]))


if __name__ == "__main__":
    main()
