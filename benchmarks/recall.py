"""Recall@5 of the passage that answers a question of fact, plain and through the Balancer.

The embedded corpus by default; with --data the questions of shared/data/factual over the
background passages. Retrieval is the bundled embedder (or BM25 with --bm25).
"""

import argparse
import gzip
import json
from collections import Counter
from pathlib import Path

from equipoise import Balancer, Candidate
from equipoise.data import clean_corpus, facts
from equipoise.retrieval import MemoryRetriever, load_embedder


def embedded() -> tuple[list[Candidate], list[tuple[str, str]]]:
    return list(clean_corpus()), [(fact.question, fact.document.id) for fact in facts()]


def shared(data: Path, limit: int) -> tuple[list[Candidate], list[tuple[str, str]]]:
    rows = [json.loads(line) for line in (data / "background/xquad_en.jsonl").open()]
    with gzip.open(data / "background/wikipedia_topics.jsonl.gz", "rt") as lines:
        rows += [json.loads(line) for line in lines][:limit]
    questions = [json.loads(line) for line in (data / "factual/xquad_questions.jsonl").open()]
    return (
        [Candidate(row["id"], row["text"]) for row in rows],
        [(row["question"], row["passage_id"]) for row in questions],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--background", type=int, default=2_000, help="topic passages added")
    parser.add_argument("--questions", type=int, default=None, help="only the first so many")
    parser.add_argument("--always", type=int, default=100, help="questions with every label read")
    arguments = parser.parse_args()
    if arguments.data:
        documents, questions = shared(arguments.data, arguments.background)
    else:
        documents, questions = embedded()
    questions = questions[: arguments.questions]
    retriever = MemoryRetriever(documents, load_embedder("minilm"))
    for gate, asked in (("auto", questions), ("always", questions[: arguments.always])):
        balancer = Balancer(gate=gate)
        plain = balanced = labelled = 0
        verdicts: Counter[str] = Counter()
        for question, answer in asked:
            found = retriever.retrieve(question, 50)
            selection = balancer.balance(question, found)
            plain += answer in [doc.id for doc in found[:5]]
            balanced += answer in [choice.candidate.id for choice in selection.chosen]
            labelled += selection.labelled
            verdicts[selection.decision.verdict.value] += 1
        n = len(asked)
        print(
            f"gate {gate:7} n {n}  recall@5 plain {plain / n:.4f}  balanced {balanced / n:.4f}  "
            f"difference {100 * (balanced - plain) / n:+.2f} points  labels a question "
            f"{labelled / n:.1f}  {dict(verdicts)}"
        )


if __name__ == "__main__":
    main()
