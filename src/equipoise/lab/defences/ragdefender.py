"""The package ragdefender on vectors that are already there, as a document filter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.lab.defences._vectors import Matrix, unit_rows
from equipoise.types import Candidate


class _Vectors:
    """An embedder of the package's kind that gives vectors it was made with, row for row."""

    def __init__(self, texts: list[str], rows: Matrix) -> None:
        self._texts = texts
        self._rows = rows

    def encode(self, texts: list[str], *, convert_to_tensor: bool = False) -> Any:
        assert texts == self._texts, "ragdefender encodes the passages it was given, in order"
        torch = require("torch", extra="ragdefender")
        return torch.tensor(self._rows, dtype=torch.float32)


@dataclass(frozen=True, slots=True)
class RagDefenderFilter:
    """Flags what the package RAGDefender takes out.

    The original first estimates how many passages are planted: `task` "single_hop" splits the
    embeddings into two clusters and lets a vote of the passages' strongest TF-IDF words say
    whether the smaller or the larger cluster is the planted one; "multi_hop" counts passages that
    are closer to the rest than the average. Then it drops that many, those most often among the
    most similar pairs. The package itself is called, with our vectors in place of its own model;
    nothing is reimplemented. Ours: blank texts are not shown to it and never flagged, and where
    no text has a word that TF-IDF can weigh (it would raise), or there is one passage only,
    nothing is flagged.

    Cost: O(n^2 * dimension); the first call also imports torch and sentence-transformers. Not to be
    used where honest documents resemble one another, as on one topic they do: it always takes some
    out, and may take out most.

    Raises:
        InputError: an unknown task; on `flag`, a document has no usable embedding.
        MissingExtraError: on `flag`, the extra `ragdefender` is not installed.

    Source: Kim, Lee and Koo 2025 (ACSAC); package ragdefender 0.2 (MIT licence).
    """

    task: Literal["single_hop", "multi_hop"] = "single_hop"

    def __post_init__(self) -> None:
        if self.task not in ("single_hop", "multi_hop"):
            raise InputError(f'the task must be "single_hop" or "multi_hop", got {self.task!r}')

    @property
    def name(self) -> str:
        """`ragdefender(single_hop)`."""
        return f"ragdefender({self.task})"

    def flag(self, question: str, candidates: Sequence[Candidate]) -> frozenset[int]:
        """Indices of what the package removed."""
        package = require("ragdefender", extra="ragdefender")
        shown = [i for i, candidate in enumerate(candidates) if not candidate.is_blank]
        texts = [candidates[index].text for index in shown]
        if len(shown) < 2 or not _has_words(texts):
            return frozenset()
        rows = unit_rows([candidates[index] for index in shown], needed_by="ragdefender")
        defender = package.RAGDefender(
            embedder=_Vectors(texts, rows), task_type=self.task, device="cpu"
        )
        _, removed = defender.defend(question, texts, return_indices=True)
        return frozenset(shown[at] for at in removed)


def _has_words(texts: list[str]) -> bool:
    """True when some text has a word that the package's TF-IDF keeps."""
    text = require("sklearn.feature_extraction.text", extra="ragdefender")
    words = text.TfidfVectorizer(stop_words="english").build_analyzer()
    return any(words(one) for one in texts)
