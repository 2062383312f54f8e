"""What a retriever was asked again for a side that was short, and what that brought."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.types import Stance


@dataclass(frozen=True, slots=True)
class SoughtQuery:
    """One further query: the side it is for, its words, the ranks given to what was new in it."""

    stance: Stance
    text: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sought:
    """The further queries, in the order asked.

    `missing_side` and `found` (seats filled with their own stance, by side that was short) are of
    before; `taken` has the ranks of what was chosen of the new documents. `retrieve_ms` is the
    time the retriever took, in milliseconds.
    """

    queries: tuple[SoughtQuery, ...]
    missing_side: Stance | None
    found: Mapping[str, int]
    taken: tuple[int, ...]
    retrieve_ms: float

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of all new documents, ascending."""
        return tuple(sorted(rank for query in self.queries for rank in query.ranks))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "queries": [
                {"stance": q.stance.value, "text": q.text, "ranks": list(q.ranks)}
                for q in self.queries
            ],
            "missing_side": self.missing_side.value if self.missing_side else None,
            "found": dict(self.found),
            "taken": list(self.taken),
            "retrieve_ms": self.retrieve_ms,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Sought":
        """What `to_dict` described; KeyError, TypeError or ValueError where it is no such data."""
        return cls(
            tuple(
                SoughtQuery(Stance(q["stance"]), q["text"], tuple(q["ranks"]))
                for q in data["queries"]
            ),
            Stance(data["missing_side"]) if data["missing_side"] else None,
            data["found"],
            tuple(data["taken"]),
            data["retrieve_ms"],
        )
