"""What can be counted in clean answers without a judge: sentences that come from documents.

These are not the paper's ratings. Overlap with a source is no proof that the source bears a
sentence out, and a cosine with the question is no proof that the question is answered.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import InputError
from equipoise.lab.answers.store import Judged
from equipoise.lab.overlap import words
from equipoise.lab.pack import Document
from equipoise.lab.poison.checks import sentences
from equipoise.lab.quality.pairs import PAIRED, Pair, Pairs
from equipoise.lab.quality.rows import MEASURES, QUALITY, row_of, settings_of
from equipoise.lab.results import ResultFile, run_id
from equipoise.lab.vectors import VectorCache
from equipoise.types import Stance

_CITED: Final = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")
LEAST_WORDS: Final = 3
"""Sentences of fewer words ("Yes.") come from nowhere, and are passed over."""

MEASURED: Final[Mapping[str, str]] = {
    "sentences_by_words": "share of sentences whose words mostly stand in one sentence of a "
    "document of the answer's own",
    "sentences_by_cosine": "share of sentences near in meaning to one sentence of a document of "
    "the answer's own",
    "nearest_cosine": "mean cosine of a sentence and the nearest sentence of a document of the "
    "answer's own",
    "own_reflected": "share of the answer's own pro and con documents of which a sentence is "
    "reflected in it",
    "all_reflected": "share of the pro and con documents of both answers of which a sentence is "
    "reflected in it",
    "both_sides": "1 where at least one pro and one con document of either answer is reflected in "
    "it, else 0",
    "question_cosine": "cosine of the question and the whole answer",
    "words": "words of the answer",
}
"""What each number is. Source: ours; SP's ratings ask for more than these can tell."""


@dataclass(frozen=True, slots=True)
class Near:
    """When a sentence of an answer counts as coming from a sentence of a document.

    By words: at least `share` of its different words stand there, in (0, 1]. By cosine: at least
    `cosine`, in (0, 1]. Reflected means either. Source: ours, not tuned on any answers.

    Raises:
        InputError: a number is out of range.
    """

    share: float = 0.6
    cosine: float = 0.7

    def __post_init__(self) -> None:
        if not (0 < self.share <= 1 and 0 < self.cosine <= 1):
            raise InputError(f"share and cosine must be in (0, 1], got {self}")


def measure_pairs(
    made: Pairs,
    vectors: VectorCache,
    results: ResultFile,
    *,
    near: Near = Near(),
    told: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Measures of every pair that `results` has none of yet, put there; how many.

    Cost: an embedding a sentence, each once; O(sentences * sentences of the documents) a pair.

    Raises:
        EmbedderError: a text could not be embedded.
        StoreError: the file or the vectors cannot be written.
    """
    assert results.path.name == QUALITY
    settings = settings_of(
        made.settings,
        MEASURES,
        kind=MEASURES,
        embedder=vectors.name,
        near={"share": near.share, "cosine": near.cosine},
    )
    results.append([{"run": run_id(settings), "settings": settings}])
    written = 0
    for number, pair in enumerate(made.pairs, 1):
        row = row_of(settings, pair.about(), outcome=Judged.SCORED.value)
        if not results.has(row["key"]):
            results.append([{**row, "measures": measures(pair, vectors, near)}])
            written += 1
        told(number, len(made.pairs))
    return written


def measures(pair: Pair, vectors: VectorCache, near: Near) -> dict[str, dict[str, float | None]]:
    """`MEASURED` by setting; None where there is nothing to take a share of."""
    asked = vectors.questions([pair.asked])[0]
    sided = _sided(pair)
    found: dict[str, dict[str, float | None]] = {}
    for setting in PAIRED:
        shown = pair.answer(setting)
        own = _compared(shown.text, shown.documents, vectors)
        every = _compared(shown.text, sided, vectors)
        own_ids = {document.id for document in shown.documents}
        hit = {d.id: bool(c.reflected(near).any()) for d, c in zip(sided, every, strict=True)}
        whole = vectors.texts([shown.text])[0]
        found[setting] = {
            **_of_sentences(own, near, len(_counted(shown.text))),
            "own_reflected": _share([hit[d.id] for d in sided if d.id in own_ids]),
            "all_reflected": _share(list(hit.values())),
            "both_sides": float(
                all(any(hit[d.id] for d in sided if d.stance is s) for s in _SIDES)
            ),
            "question_cosine": float(np.clip(np.dot(asked, whole), -1.0, 1.0)),
            "words": float(len(words(shown.text))),
        }
    return found


_SIDES: Final = (Stance.PRO, Stance.CON)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Sentences of an answer (rows) with those of one document (columns)."""

    overlap: NDArray[np.float64]
    cosine: NDArray[np.float64]

    def reflected(self, near: Near) -> NDArray[np.bool_]:
        return np.asarray((self.overlap >= near.share) | (self.cosine >= near.cosine))


def _compared(
    text: str, documents: Sequence[Document], vectors: VectorCache
) -> tuple[_Compared, ...]:
    said = _counted(text)
    rows = vectors.texts(said).astype(np.float64)
    return tuple(_with_document(said, rows, document, vectors) for document in documents)


def _with_document(
    said: Sequence[str], rows: NDArray[np.float64], document: Document, vectors: VectorCache
) -> _Compared:
    sources = _counted(document.text)
    columns = vectors.texts(sources).astype(np.float64)
    held = [frozenset(words(source)) for source in sources]
    mine = [frozenset(words(sentence)) for sentence in said]
    overlap = np.array([[len(m & h) / len(m) for h in held] for m in mine], dtype=np.float64)
    shape = (len(said), len(sources))
    return _Compared(overlap.reshape(shape), (rows @ columns.T).reshape(shape))


def _of_sentences(own: Sequence[_Compared], near: Near, count: int) -> dict[str, float | None]:
    """Over the answer's `count` sentences, each with its best source sentence."""
    overlap = _best((one.overlap for one in own), count)
    cosine = _best((one.cosine for one in own), count)
    return {
        "sentences_by_words": _share(list(overlap >= near.share)),
        "sentences_by_cosine": _share(list(cosine >= near.cosine)),
        "nearest_cosine": float(cosine.mean()) if cosine.size else None,
    }


def _best(parts: Iterable[NDArray[np.float64]], count: int) -> NDArray[np.float64]:
    """The largest of each of `count` rows over all parts; 0 for a row without a column."""
    best = np.zeros(count)
    for part in parts:
        best = np.maximum(best, part.max(axis=1, initial=0.0))
    return best


def _counted(text: str) -> list[str]:
    """The sentences of enough words, without numbers of documents; a line ends a sentence."""
    lines = _CITED.sub("", text).splitlines()
    found = [sentence for line in lines for sentence in sentences(line)]
    return [sentence for sentence in found if len(words(sentence)) >= LEAST_WORDS]


def _share(hits: Sequence[Any]) -> float | None:
    return sum(map(bool, hits)) / len(hits) if hits else None


def _sided(pair: Pair) -> tuple[Document, ...]:
    """The pro and con documents of either answer on the question's topic, each once."""
    found = {
        document.id: document
        for shown in pair.shown
        for document in shown.documents
        if document.topic == pair.topic and document.stance in _SIDES
    }
    return tuple(found[name] for name in sorted(found))
