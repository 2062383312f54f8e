"""BM25 over the passages of an index folder, saved beside the vectors."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from equipoise._extras import require
from equipoise.errors import StoreError
from equipoise.retrieval.base import CJK, readable, require_question
from equipoise.retrieval.manifest import BM25, PASSAGES, read_manifest, verify
from equipoise.retrieval.passages import Passages
from equipoise.retrieval.vectors import best_rows
from equipoise.types import Candidate

_TOKEN = re.compile(rf"[{CJK}]|[^\W{CJK}]+")


def tokens(text: str) -> list[str]:
    r"""The words of `text` as BM25 counts them: NFKC, case folded, no stop list, no stemming.

    Rare words weigh most in BM25 by themselves, so that no list of one language is needed. Each
    Chinese, Japanese or Korean character is a word.

    >>> tokens("Should ＮＵＣＬＥＡＲ power\u2019s use end?")
    ['should', 'nuclear', 'power', 's', 'use', 'end']
    """
    return _TOKEN.findall(unicodedata.normalize("NFKC", readable(text)).casefold())


def write_bm25(texts: Iterable[str], folder: Path) -> None:
    """Writes a BM25 index (Lucene's variant, k1 1.5, b 0.75) of `texts` into `folder`, no pickle.

    Source: Robertson and Zaragoza 2009; bm25s (Lu 2024).
    """
    bm25s = require("bm25s", extra="local")
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    # Subtle: a text without words gets one that no question has, or a corpus of such texts would
    # have a mean length of 0, by which BM25 divides.
    index.index([tokens(text) or [""] for text in texts], show_progress=False)
    index.save(str(folder), allow_pickle=False)


class Bm25Retriever:
    """Retrieves by shared words. `open` is the way to get one.

    Cost O(postings of the question's words + n). Do not use it alone where questions and passages
    say the same thing in other words.
    """

    def __init__(self, passages: Passages, index: Any) -> None:
        self._passages = passages
        self._index = index

    @classmethod
    def open(cls, path: str | Path, *, passages: Passages | None = None) -> "Bm25Retriever":
        """The BM25 part of the index folder `path`; `passages`, when already open, are shared.

        Raises:
            StoreError: no index there, one without BM25, or a file that is missing or changed.
            MissingExtraError: bm25s is not installed.
        """
        folder = Path(path)
        manifest = read_manifest(folder)
        if not manifest.has_bm25:
            raise StoreError(
                f"{folder} was built without BM25. Use mode='dense', or build it again with --bm25."
            )
        verify(folder, manifest, [name for name in manifest.files if name.startswith(f"{BM25}/")])
        if passages is None:
            verify(folder, manifest, [PASSAGES])
            passages = Passages(folder / PASSAGES)
        bm25s = require("bm25s", extra="local")
        index = bm25s.BM25.load(str(folder / BM25), allow_pickle=False)
        return cls(passages, index)

    def retrieve(self, question: str, k: int) -> tuple[Candidate, ...]:
        """At most `k` candidates, best first; `score` is BM25's, above 0 without an upper limit.

        Only passages that share a word with the question: there may be fewer than `k`, or none.

        Raises:
            InputError: the question is blank or k < 1.
        """
        require_question(question, k)
        known = [word for word in tokens(question) if word in self._index.vocab_dict]
        if not known:
            return ()
        scores = self._index.get_scores(known)
        return tuple(
            replace(self._passages[index], score=float(scores[index]))
            for index in best_rows(scores, k)
            if scores[index] > 0
        )
