"""How many documents the lazy pass labels, with a perfect detector and with the bundled one.

Retrieval is BM25 over the corpus, depth 50, so that no embedding model is needed. "same" says
whether the choice equals the one made from all 50 labels.
"""

import argparse
import gzip
import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import bm25s

from equipoise import Balancer, Candidate, Quota, StanceDetector
from equipoise.data import clean_corpus, contested
from equipoise.stance import CachedDetector, load_detector
from equipoise.testing import FakeDetector


def rank(question: str, documents: Sequence[Candidate], index: bm25s.BM25) -> list[Candidate]:
    tokens = bm25s.tokenize([question], show_progress=False)
    found, _ = index.retrieve(tokens, k=min(50, len(documents)), show_progress=False)
    return [documents[int(i)] for i in found[0]]


def report(name: str, worlds: list[tuple[str, list[Candidate]]], detector: StanceDetector) -> None:
    shared = CachedDetector(detector)
    lazy = [Balancer(detector=shared, gate="always").balance(q, docs) for q, docs in worlds]
    counts = [selection.labelled for selection in lazy]
    full = 0
    same = 0
    for (question, docs), selection in zip(worlds, lazy, strict=True):
        scores = shared.detect(question, [doc.text for doc in docs])
        table = {doc.text: score for doc, score in zip(docs, scores, strict=True)}
        eager = Balancer(detector=FakeDetector(table), gate="always").balance(question, docs)
        same += [c.retrieval_rank for c in eager.chosen] == [
            c.retrieval_rank for c in selection.chosen
        ]
        full += len(docs)
    print(
        f"{name:44} n {len(worlds):4}  labelled: mean {statistics.mean(counts):5.1f}, median "
        f"{statistics.median(counts):4.0f}, of {full / len(worlds):4.1f}  "
        f"same {same}/{len(worlds)}"
    )


def embedded(planted: str | None) -> list[tuple[str, list[Candidate]]]:
    worlds = []
    for topic in contested():
        documents = [*clean_corpus(), *(topic.planted(planted) if planted else ())]
        index = bm25s.BM25()
        index.index(
            bm25s.tokenize([d.text for d in documents], show_progress=False), show_progress=False
        )
        worlds.append((topic.question, rank(topic.question, documents, index)))
    return worlds


def wiki_passages(data: Path) -> tuple[list[tuple[str, list[Candidate]]], dict[str, str]]:
    rows = [json.loads(line) for line in (data / "stance/ibm_wiki_passages.jsonl").open()]
    with gzip.open(data / "background/wikipedia_topics.jsonl.gz", "rt") as lines:
        rows += [json.loads(line) for line in lines][:2000]
    documents = [Candidate(row["id"], row["text"]) for row in rows]
    index = bm25s.BM25()
    index.index(
        bm25s.tokenize([d.text for d in documents], show_progress=False), show_progress=False
    )
    stances: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        if "stance" in row:
            stances[row["question"]][row["text"]] = row["stance"]
    worlds, table = [], {}
    for question, known in stances.items():
        docs = rank(question, documents, index)
        worlds.append((question, docs))
        table.update({doc.text: known.get(doc.text, "neutral") for doc in docs})
    return worlds, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    model = load_detector("default")
    truth = {d.text: d.metadata["stance"] for t in contested() for d in t.documents}
    for planted in (None, "pro", "con"):
        worlds = embedded(planted)
        name = f"embedded corpus, planted: {planted or 'none'}"
        gold = FakeDetector(truth, default="neutral")
        report(f"{name}, true labels", worlds, gold)
        report(f"{name}, bundled", worlds, model)
    print(f"quota {Quota()}")
    if arguments.data:
        worlds, table = wiki_passages(arguments.data)
        report("ibm_wiki_passages + background, true labels", worlds, FakeDetector(table))
        report("ibm_wiki_passages + background, bundled", worlds, model)


if __name__ == "__main__":
    main()
