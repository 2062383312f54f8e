"""Does asking again for a side that is short find it, what does it cost, and who else comes in?

Each question is asked of the clean corpus and of attacked ones, at depth 50 and at depth 10, three
ways: once; with `Seek()`; and with the same budget spent on going deeper for the question as it is,
which tells whether the words that state a side do anything. Without `--pack` the corpus is the
embedded one. The attacks are stance poisoning with seven documents a topic, and those in the
folders that `--attack` names.

A seat is right when its document is of the topic and truly on that side. Planted documents come in
by the door when they are chosen of what was found by asking again.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from equipoise import Balancer, Candidate, Quota, Rag, Seek, Selection, Stance
from equipoise.lab.cases import Corpus
from equipoise.lab.embedded import embedded_pack
from equipoise.lab.pack import Document, Pack, Question, read_pack
from equipoise.lab.poison.folder import read_poisoned
from equipoise.lab.poison.stance import poison
from equipoise.lab.vectors import VectorCache
from equipoise.retrieval import load_embedder
from equipoise.stance import load_detector
from equipoise.stance.cached import CachedDetector
from equipoise.types import StanceScore

SIDES = (Stance.PRO, Stance.CON)


class Library:
    """Exact search over a corpus; with `deaf_to`, every query is read as that question."""

    def __init__(self, corpus: Corpus, vectors: VectorCache, deaf_to: str | None = None) -> None:
        self.documents = [d for d in (*corpus.clean, *corpus.planted) if d.text.strip()]
        self._rows = vectors.texts([d.text for d in self.documents])
        self._vectors = vectors
        self._deaf_to = deaf_to

    def retrieve(self, question: str, k: int) -> list[Candidate]:
        """The k nearest, best first."""
        query = self._vectors.embedder.embed_question(self._deaf_to or question)
        best = np.argsort(-(self._rows @ query), kind="stable")[:k]
        return [Candidate(self.documents[row].id, self.documents[row].text) for row in best]

    def deaf(self, question: str) -> "Library":
        """The same library, which reads every query as `question`."""
        other = Library.__new__(Library)
        other.__dict__ = {**self.__dict__, "_deaf_to": question}
        return other


class Timed:
    """The detector, with the time that it took for the texts it had not seen."""

    def __init__(self, detector) -> None:
        self._inside = detector
        self.name = detector.name
        self.lazy_batch = detector.lazy_batch
        self.texts, self.seconds = 0, 0.0

    def detect(self, question: str, texts: list[str]) -> list[StanceScore]:
        """As the detector inside; counts and times it."""
        began = time.perf_counter()
        scores = self._inside.detect(question, texts)
        self.seconds += time.perf_counter() - began
        self.texts += len(texts)
        return scores


@dataclass(frozen=True)
class Line:
    """One question, one way: seats of pro and con, and what came by asking again."""

    corpus: str
    depth: int
    way: str
    question: str
    balanced: bool
    short: int
    missing: bool
    taken: int
    taken_right: int
    taken_planted: int
    planted: int
    sides: int
    right: int
    new: int
    new_right: int
    labelled: int
    retrieve_ms: float


def line(
    selection: Selection, asked: Question, corpus: Corpus, way: str, documents: dict[str, Document]
) -> Line:
    """What `selection` shows, held against the truth."""
    taken = set(selection.sought.taken if selection.sought else ())
    new = set(selection.sought.ranks if selection.sought else ())
    everyone = [*selection.chosen, *selection.left_out]
    # The side that was asked for, and so what a new document should be.
    wanted = set(selection.sought.found) if selection.sought else set()

    def right(choice) -> bool:
        document = documents[choice.candidate.id]
        return document.topic == asked.topic and document.stance is choice.stance in SIDES

    def of_side(choice) -> bool:
        document = documents[choice.candidate.id]
        return document.topic == asked.topic and document.stance in wanted

    chosen_new = [c for c in selection.chosen if c.retrieval_rank in taken]
    planted = corpus.planted_ids
    short = (s for s in selection.shortfalls if s.stance in SIDES)
    return Line(
        corpus.name,
        selection.settings["quota"]["depth"],
        way,
        asked.text,
        selection.decision.balance,
        sum(s.wanted - s.found for s in short),
        any(s.found == 0 for s in selection.shortfalls if s.stance in SIDES),
        len(chosen_new),
        sum(map(right, chosen_new)),
        sum(c.candidate.id in planted for c in chosen_new),
        sum(c.candidate.id in planted for c in selection.chosen),
        sum(c.stance in SIDES for c in selection.chosen),
        sum(map(right, selection.chosen)),
        len(new),
        sum(map(of_side, (c for c in everyone if c.retrieval_rank in new))),
        selection.labelled,
        selection.sought.retrieve_ms if selection.sought else 0.0,
    )


def run(pack: Pack, corpora: list[Corpus], vectors: VectorCache, detector) -> Iterator[Line]:
    """A line a corpus, depth, question and way."""
    seek = Seek()
    # One list as long as the budget: two queries that are read alike would find the same 20.
    deeper = Seek(queries=1, k=seek.budget)
    for corpus in corpora:
        library = Library(corpus, vectors)
        documents = {d.id: d for d in library.documents}
        for depth in (50, 10):
            balancer = Balancer(detector=detector, quota=Quota(pool=min(20, depth), depth=depth))
            for asked in (q for q in pack.questions if q.original):
                ways = {
                    "once": Rag(library, balancer=balancer),
                    "seek": Rag(library, balancer=balancer, seek=seek),
                    "deeper": Rag(library.deaf(asked.text), balancer=balancer, seek=deeper),
                }
                for way, rag in ways.items():
                    selection = rag.ask(asked.text, setting="B").selection
                    made = line(selection, asked, corpus, way, documents)
                    yield Line(**{**asdict(made), "depth": depth})


def table(lines: list[Line]) -> Iterator[str]:
    """Sums over the questions; the extra labels and the time where something was asked again."""
    yield (
        "| corpus | depth | way | balanced | seats of a side short | a side missing | "
        "chosen by asking again: all, right, planted | chosen for or against, right | "
        "planted, of all chosen | new, of the side asked for | labels more, median | "
        "retrieval more, median ms |"
    )
    yield "| --- | ---: | --- " + "| ---: " * 9 + "|"
    for corpus, depth, way in dict.fromkeys((x.corpus, x.depth, x.way) for x in lines):
        some = [x for x in lines if (x.corpus, x.depth, x.way) == (corpus, depth, way)]
        once = {
            x.question: x for x in lines if (x.corpus, x.depth, x.way) == (corpus, depth, "once")
        }
        again = [x for x in some if x.retrieve_ms]
        more = [x.labelled - once[x.question].labelled for x in again]
        five = 5 * len(some)
        cells = (
            corpus,
            depth,
            way,
            f"{sum(x.balanced for x in some)} of {len(some)}",
            sum(x.short for x in some if x.balanced),
            sum(x.missing for x in some if x.balanced),
            f"{sum(x.taken for x in some)}, {sum(x.taken_right for x in some)}, "
            f"{sum(x.taken_planted for x in some)}",
            f"{sum(x.sides for x in some)}, {sum(x.right for x in some)}",
            f"{sum(x.planted for x in some)} of {five}",
            f"{sum(x.new for x in some)}, {sum(x.new_right for x in some)}",
            f"{statistics.median(more):.0f}" if more else "",
            f"{statistics.median(x.retrieve_ms for x in again):.0f}" if again else "",
        )
        yield f"| {' | '.join(map(str, cells))} |"


def corpora_of(pack: Pack, folders: list[Path]) -> list[Corpus]:
    """The clean corpus, both stance poisonings, and one for each attack in a folder."""
    attacks = [(f"stance-{side}-7", poison(pack, side, n=7)) for side in SIDES]
    attacks += [(folder.name, read_poisoned(folder, pack)) for folder in folders]
    made = [Corpus("clean", pack.clean)]
    return made + [Corpus(name, pack.clean, attack.documents) for name, attack in attacks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, help="a folder of `equipoise lab pack`")
    parser.add_argument("--attack", type=Path, action="append", default=[], help="of that pack")
    parser.add_argument("--vectors", type=Path, help="a folder that keeps vectors between runs")
    parser.add_argument("--labels", type=Path, help="an SQLite file that keeps labels")
    parser.add_argument("--lines", type=Path, help="also write a JSON line a question and way")
    given = parser.parse_args()
    pack = read_pack(given.pack) if given.pack else embedded_pack()
    vectors = VectorCache(load_embedder("minilm"), given.vectors)
    timed = Timed(load_detector("default"))
    with CachedDetector(timed, path=given.labels) as detector:
        lines = list(run(pack, corpora_of(pack, given.attack), vectors, detector))
    if given.lines:
        rows = (json.dumps(asdict(one)) for one in lines)
        given.lines.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print("\n".join(table(lines)))
    print(f"\n{timed.texts} labels at {1e3 * timed.seconds / max(1, timed.texts):.0f} ms each")


if __name__ == "__main__":
    main()
