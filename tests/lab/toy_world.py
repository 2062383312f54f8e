"""A pack of two topics that a reader can check by hand, and an embedder for it."""

import numpy as np

from equipoise.lab.cases import Corpus
from equipoise.lab.pack import Document, Origin, Pack, Question, Topic
from equipoise.types import Stance

WORDS = ("zoo", "tax", "rain", "strong", "weak")


class WordEmbedder:
    """One axis a word of `WORDS`, counted, and one that all texts share a little."""

    name = "words"
    dimension = len(WORDS) + 1

    def __init__(self):
        self.texts = []

    def embed(self, texts):
        self.texts += texts
        rows = np.array(
            [[*(text.split().count(word) for word in WORDS), 0.1] for text in texts],
            dtype=np.float32,
        ).reshape(len(texts), self.dimension)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_question(self, question):
        return self.embed([question])[0]


def document(name, text, origin, topic=None, stance=None):
    return Document(name, text, Origin(origin), "toy", topic, stance and Stance(stance))


def toy_documents():
    """Zoos: 2 pro, 2 con, 1 neutral. Taxes: 2 pro. One of no topic."""
    return (
        document("zoo-pro-1", "zoo zoo zoo good", "genuine", "zoos", "pro"),
        document("zoo-pro-2", "zoo zoo strong good", "genuine", "zoos", "pro"),
        document("zoo-con-1", "zoo zoo zoo zoo bad", "genuine", "zoos", "con"),
        document("zoo-con-2", "zoo weak bad", "genuine", "zoos", "con"),
        document("zoo-neutral", "zoo rain dates", "neutral", "zoos", "neutral"),
        document("tax-pro-1", "tax good", "genuine", "taxes", "pro"),
        document("tax-pro-2", "tax strong good", "genuine", "taxes", "pro"),
        document("rain", "rain falls", "background"),
        document("zoo-injected-1", "zoo zoo zoo splendid", "injected", "zoos", "pro"),
        document("zoo-injected-2", "zoo zoo zoo marvellous", "injected", "zoos", "pro"),
        document("zoo-injected-3", "zoo zoo strong splendid", "injected", "zoos", "pro"),
    )


def toy_pack(**about):
    return Pack(
        "toy",
        (Topic("zoos", "animals", "Zoos"), Topic("taxes", "money", "Taxes")),
        (
            Question("zoos-1", "zoos", "Should a zoo be open?"),
            Question("zoos-2", "zoos", "zoo", original=False),
            Question("taxes-1", "taxes", "Should a tax be high?"),
        ),
        toy_documents(),
        about,
    )


def toy_attack(count=3):
    pack = toy_pack()
    return Corpus("attacked", pack.clean, pack.injected("zoos", Stance.PRO)[:count])
