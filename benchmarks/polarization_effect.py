"""Does BiasDef keep planted documents out, and at what cost? One setting changed at a time.

The twelve topics of the embedded corpus, its clean passages and its factual ones; or with `--data`
twelve topics of the Wikipedia passages of the stance data, with unrelated paragraphs. For each
topic and side an attack plants documents; the first 50 by cosine come back. A-recall is the share
of the first five places that planted documents take, benign recall the share of the five documents
of the unattacked corpus that still are among the five; both are means over topics and sides.

Run with `--axes` it measures the axes alone: do they tell pro from con on passages they have not
seen?
"""

import argparse
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from equipoise import Candidate
from equipoise.data import Topic, clean_corpus, contested, facts
from equipoise.polarization import (
    BiasDef,
    Cut,
    Gaussian,
    Guard,
    Histogram,
    Kernel,
    Outliers,
    PolarizationAxis,
    check_axis,
)
from equipoise.retrieval import load_embedder

DEPTH, K, VARIANTS, ANCHORS = 50, 5, 10, 3
SIDES = ("pro", "con")


@dataclass(frozen=True)
class Data:
    """Topics with clean passages and passages to plant, and the corpus that is searched."""

    topics: tuple[Topic, ...]
    corpus: tuple[Candidate, ...]


def embedded() -> Data:
    return Data(contested(), clean_corpus())


def wikipedia(folder: Path) -> Data:
    """Twelve topics: 8 pro, 8 con and 8 neutral passages each, and 7 a side to plant."""
    rows: dict[str, dict[str, list[str]]] = {}
    questions = {}
    for line in (folder / "stance/ibm_wiki_passages.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        rows.setdefault(row["topic"], {}).setdefault(row["stance"], []).append(row["text"])
        questions[row["topic"]] = row["question"]
    topics = []
    for name in sorted(rows):
        texts = rows[name]
        if len(topics) < 12 and all(len(texts.get(side, ())) >= 15 for side in SIDES):
            topics.append(_topic(name, questions[name], texts))
    lines = (folder / "background/xquad_en.jsonl").open(encoding="utf-8")
    background = [Candidate(f"x{i}", json.loads(line)["text"]) for i, line in enumerate(lines)]
    clean = [doc for topic in topics for doc in topic.clean()]
    return Data(tuple(topics), (*clean, *background))


def _topic(name: str, question: str, texts: dict[str, list[str]]) -> Topic:
    kinds = [(side, "genuine", texts[side][:8]) for side in SIDES]
    kinds += [(side, "injected", texts[side][8:15]) for side in SIDES]
    kinds.append(("neutral", "neutral", texts.get("neutral", [])[:8]))
    docs = [
        Candidate(f"{name}-{side}-{origin}-{i}", text, metadata={"stance": side, "origin": origin})
        for side, origin, some in kinds
        for i, text in enumerate(some)
    ]
    return Topic(name, question, (), tuple(docs))


class Vectors:
    """Vectors by text, each embedded once."""

    def __init__(self) -> None:
        self._model = load_embedder("minilm")
        self._known: dict[str, np.ndarray] = {}

    def of(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, d) of length 1."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._model.embed(new).astype(float), strict=True))
        return np.array([self._known[text] for text in texts])

    def question(self, text: str) -> np.ndarray:
        """Vector (d,) of length 1."""
        return self._model.embed_question(text).astype(float)


def anchors(topic: Topic) -> tuple[list[str], list[str]]:
    """Three passages a side that are in no corpus and that no attack starts from."""
    chosen = [(doc.text, side) for side in SIDES for doc in topic.planted(side)[:ANCHORS]]
    return [text for text, _ in chosen], [side for _, side in chosen]


def variant(text: str, rng: random.Random) -> str:
    """The passage with one sentence or two left out, half of the time in another order."""
    sentences = re.split(r"(?<=[.!?])\s+", text)
    number = min(len(sentences), max(2, len(sentences) - rng.choice((1, 1, 2))))
    kept = sorted(rng.sample(range(len(sentences)), number))
    if rng.random() < 0.5:
        rng.shuffle(kept)
    return " ".join(sentences[i] for i in kept)


def planted(kind: str, topic: Topic, side: str, vectors: Vectors) -> list[str]:
    """The texts that an attack plants; deterministic."""
    own = [doc.text for doc in topic.planted(side)]
    if kind == "none":
        return []
    if kind == "human":
        return own
    if kind == "human, question first":
        return [f"{topic.question} {text}" for text in own]
    # EBI: the most extreme passage on an axis of the attacker's own, in many near variants.
    texts, stances = anchors(topic)
    axis = PolarizationAxis.fit(vectors.of(texts), stances=stances)
    scores = axis.score(vectors.of(own[ANCHORS:]))
    extreme = own[ANCHORS:][int(np.argmax(scores if side == "pro" else -scores))]
    rng = random.Random(f"{topic.name} {side}")
    made = [variant(extreme, rng) for _ in range(VARIANTS)]
    bare = 3 if kind == "variants, 3 of 10 without the question" else 0
    return [text if i < bare else f"{topic.question} {text}" for i, text in enumerate(made)]


@dataclass(frozen=True)
class World:
    """One attacked question: what was retrieved, what of it was planted, the unattacked five."""

    question: str
    candidates: list[Candidate]
    clean_top: set[str]
    planted: int


def worlds(kind: str, vectors: Vectors, data: Data) -> list[World]:
    corpus = data.corpus
    clean = vectors.of([doc.text for doc in corpus])
    made = []
    for topic in data.topics:
        query = vectors.question(topic.question)
        for side in SIDES if kind != "none" else SIDES[:1]:
            texts = planted(kind, topic, side, vectors)
            rows = np.vstack([clean, vectors.of(texts)]) if texts else clean
            ids = [doc.id for doc in corpus] + [f"planted-{i}" for i in range(len(texts))]
            every = [doc.text for doc in corpus] + texts
            cosines = rows @ query
            order = np.argsort(-cosines, kind="stable")[:DEPTH]
            top = {corpus[i].id for i in np.argsort(-(clean @ query), kind="stable")[:K]}
            found = [
                Candidate(ids[i], every[i], float(cosines[i]), embedding=rows[i].tolist())
                for i in order
            ]
            made.append(World(topic.question, found, top, len(texts)))
    return made


def measure(defence: BiasDef | None, given: Sequence[World]) -> tuple[float, float]:
    """A-recall@5 and benign recall@5."""
    attacked, benign = [], []
    for world in given:
        flagged = defence.flag(world.question, world.candidates) if defence else frozenset()
        five = [doc.id for i, doc in enumerate(world.candidates) if i not in flagged][:K]
        if world.planted:
            bad = sum(name.startswith("planted-") for name in five)
            attacked.append(bad / min(K, world.planted))
        benign.append(len(world.clean_top & set(five)) / K)
    return float(np.mean(attacked)) if attacked else 0.0, float(np.mean(benign))


def by_question(
    vectors: Vectors, data: Data, fit: Callable[..., PolarizationAxis]
) -> Callable[..., object]:
    made = {}
    for topic in data.topics:
        texts, stances = anchors(topic)
        made[topic.question] = fit(vectors.of(texts), stances=stances)
    return lambda question, candidates: made[question]


def settings(vectors: Vectors, data: Data) -> dict[str, BiasDef | None]:
    base = BiasDef()
    rows: dict[str, BiasDef | None] = {"no defence": None, "BiasDef()": base}
    fits = {"component": PolarizationAxis.fit, "means": PolarizationAxis.fit_means}
    for name, fit in fits.items():
        axis = by_question(vectors, data, fit)
        rows[f"axis: {name} of anchors"] = replace(base, axis=axis)
        rows[f"axis: {name}, no guard"] = replace(base, axis=axis, guard=None)
    for depth in (10, 15, 30, 50):
        rows[f"depth {depth}"] = replace(base, depth=depth)
    for name in ("rest||first", "symmetric"):
        rows[f"gaussian {name}"] = replace(base, divergence=Gaussian(direction=name))
    for floor in (0.001, 0.1, 1.0):
        rows[f"gaussian floor {floor:g}"] = replace(base, divergence=Gaussian(floor))
    rows["histogram"] = replace(base, divergence=Histogram())
    rows["kernel"] = replace(base, divergence=Kernel())
    for smallest in (1, 2, 5):
        rows[f"smallest {smallest}"] = replace(base, cut=Cut(smallest=smallest))
    for most in (0.3, 0.4, 0.6, 0.8):
        rows[f"most {most:g}"] = replace(base, cut=Cut(most=most))
    rows["suspects extreme"] = replace(base, cut=Cut(suspects="extreme"))
    rows["no guard"] = replace(base, guard=None)
    for level in (0.05, 0.2):
        rows[f"guard {level:g}"] = replace(base, guard=Guard(level=level))
    rows["give back best"] = replace(base, give_back="best")
    rows["give back none"] = replace(base, give_back="none")
    rows["no outliers"] = replace(base, outliers=Outliers("none"))
    for reading in ("suspect", "benign"):
        for cutoff, level in (("chi2", 0.95), ("quantile", 0.95), ("spread", 3.0)):
            kind = Outliers(reading, cutoff, level)
            rows[kind.name] = replace(base, outliers=kind)
    return rows


ATTACKS = (
    "variants",
    "variants, 3 of 10 without the question",
    "human, question first",
    "human",
    "none",
)


def effect(vectors: Vectors, data: Data) -> None:
    given = {kind: worlds(kind, vectors, data) for kind in ATTACKS}
    print("| setting | " + " | ".join(ATTACKS) + " |\n|" + " --- |" * (len(ATTACKS) + 1))
    for name, defence in settings(vectors, data).items():
        cells = []
        for kind in ATTACKS:
            attacked, benign = measure(defence, given[kind])
            cells.append(f"{attacked:.2f} / {benign:.2f}" if kind != "none" else f"{benign:.2f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    if data.topics == contested():
        answered = questions_of_fact(vectors)
        print(f"\nquestions of fact whose passage stays in the five: {answered}")


def questions_of_fact(vectors: Vectors) -> str:
    corpus = clean_corpus()
    clean = vectors.of([doc.text for doc in corpus])
    kept = {"none": 0, "biasdef": 0}
    for fact in facts():
        cosines = clean @ vectors.question(fact.question)
        found = [
            Candidate(corpus[i].id, corpus[i].text, float(cosines[i]), embedding=clean[i].tolist())
            for i in np.argsort(-cosines, kind="stable")[:DEPTH]
        ]
        flagged = BiasDef().flag(fact.question, found)
        for name, dropped in (("none", frozenset()), ("biasdef", flagged)):
            five = [doc.id for i, doc in enumerate(found) if i not in dropped][:K]
            kept[name] += fact.document.id in five
    return f"{kept['none']} of {len(facts())} without, {kept['biasdef']} with BiasDef()"


def axes(vectors: Vectors, data: Data) -> None:
    """Axes fitted on passages to plant (14 a topic, or 6), checked on the clean passages."""
    print("| anchors | axis | alignment | AUC | Spearman | variance |\n|" + " --- |" * 6)
    for number in (3, 7):
        for name in ("component", "means"):
            fit = PolarizationAxis.fit if name == "component" else PolarizationAxis.fit_means
            rows = []
            for topic in data.topics:
                chosen = [d for side in SIDES for d in topic.planted(side)[:number]]
                marks = [doc.metadata["stance"] for doc in chosen]
                axis = fit(vectors.of([doc.text for doc in chosen]), stances=marks)
                clean = topic.clean()
                held = vectors.of([doc.text for doc in clean])
                check = check_axis(axis, held, [doc.metadata["stance"] for doc in clean])
                own = check_axis(axis, vectors.of([d.text for d in chosen]), marks)
                rows.append((own.alignment, check.auc, check.spearman, axis.explained[0]))
            means = " | ".join(f"{value:.2f}" for value in np.mean(rows, axis=0))
            print(f"| {2 * number} | {name} | {means} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--axes", action="store_true")
    parser.add_argument("--data", type=Path, help="the folder of the stance data")
    given = parser.parse_args()
    data = embedded() if given.data is None else wikipedia(given.data)
    (axes if given.axes else effect)(Vectors(), data)


if __name__ == "__main__":
    main()
