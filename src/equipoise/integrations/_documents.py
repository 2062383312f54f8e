"""What all adapters do: a host's documents in, marked copies of the chosen ones out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from equipoise.balancer import Balancer
from equipoise.errors import InputError
from equipoise.result import Choice, Selection
from equipoise.types import Candidate

D = TypeVar("D")

# The one metadata key that adapters write, on copies only. A key of that name is overwritten.
MARK: Final = "equipoise"


@dataclass(frozen=True, slots=True)
class HostDocuments(Generic[D]):
    """How to read and mark the documents of one host.

    `kind` is the host's class. `read` gives the Candidate of a document at a rank (from 1); its id
    is the document's own, or the rank where it has none. `mark` gives a copy of a document with
    what `mark_of` says under `MARK` in its metadata; it must leave the document as it is. Values
    in the metadata are shared with the original, not copied: they may be of any type. `vector` is
    the document's embedding, or None; it is asked for only where a filter or a rule may read it.
    """

    kind: type
    read: Callable[[D, int], Candidate]
    mark: Callable[[D, dict[str, Any]], D]
    vector: Callable[[D], Sequence[float] | None] = lambda document: None

    def balance(
        self, balancer: Balancer, question: str, documents: Iterable[D] | None, *, k: int | None
    ) -> tuple[list[D], Selection]:
        """(marked copies of the chosen documents in retrieval order, the Selection).

        Raises:
            InputError: a document is not of the host's class, or as in `Balancer.balance`.
            DetectorError: as in `Balancer.balance`.
        """
        given = list(documents or ())
        selection = balancer.balance(question, self._candidates(given, balancer), k=k)
        return self._chosen(given, selection), selection

    async def abalance(
        self, balancer: Balancer, question: str, documents: Iterable[D] | None, *, k: int | None
    ) -> tuple[list[D], Selection]:
        """`balance` with the labelling in a worker thread, so that the event loop goes on."""
        given = list(documents or ())
        selection = await balancer.abalance(question, self._candidates(given, balancer), k=k)
        return self._chosen(given, selection), selection

    def _candidates(self, given: Sequence[D], balancer: Balancer) -> list[Candidate]:
        for rank, document in enumerate(given, start=1):
            if not isinstance(document, self.kind):
                raise InputError(
                    f"document {rank} must be a {self.kind.__name__} of {self.kind.__module__}, "
                    f"got {type(document).__name__}"
                )
        made = [self.read(document, rank) for rank, document in enumerate(given, start=1)]
        if balancer.filter is None and balancer.rule is None:
            return made
        vectors = map(self.vector, given)
        return [replace(one, embedding=v) for one, v in zip(made, vectors, strict=True)]

    def _chosen(self, given: Sequence[D], selection: Selection) -> list[D]:
        return [
            self.mark(given[choice.retrieval_rank - 1], mark_of(choice, selection))
            for choice in selection.chosen
        ]


def mark_of(choice: Choice, selection: Selection) -> dict[str, Any]:
    """What a chosen document's copy says of itself; plain JSON data.

    `stance` and `probabilities` are None where no label was needed; `balanced` tells whether the
    question was balanced, and so whether the even-handedness instruction applies.
    """
    return {
        "stance": choice.stance.value if choice.stance else None,
        "probabilities": choice.probabilities.to_dict() if choice.probabilities else None,
        "unsure": choice.unsure,
        "retrieval_rank": choice.retrieval_rank,
        "reason": choice.reason.value,
        "balanced": selection.decision.balance,
    }


def is_balanced(document: Any) -> bool:
    """True for a document with `metadata` that was chosen for a balanced question.

    Subtle: a LangGraph checkpoint gives back the documents in a message as dicts.
    """
    is_dict = isinstance(document, Mapping)
    metadata = document.get("metadata") if is_dict else getattr(document, "metadata", None)
    mark = metadata.get(MARK) if isinstance(metadata, Mapping) else None
    return isinstance(mark, Mapping) and mark.get("balanced") is True
