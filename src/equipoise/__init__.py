"""Even-handed evidence for retrieval-augmented generation.

    from equipoise import Balancer

    selection = Balancer().balance("Should X be legal?", documents)
    print(selection.prompt())

Importing this package loads the standard library only; a model is loaded when the first label is
asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from equipoise.errors import (
    DetectorError,
    EmbedderError,
    EquipoiseError,
    GenerationError,
    InputError,
    MissingExtraError,
    StoreError,
)
from equipoise.types import (
    Answer,
    Candidate,
    Generator,
    Outcome,
    Quota,
    Reason,
    Retriever,
    SelectionRule,
    Stance,
    StanceDetector,
    StanceScore,
)

if TYPE_CHECKING:
    from equipoise.balancer import Balancer
    from equipoise.rag import Rag, RagAnswer
    from equipoise.result import Choice, LeftOut, Selection
    from equipoise.seek import Seek
    from equipoise.selection.duplicates import Duplicates
    from equipoise.selection.gate import Gate
    from equipoise.selection.sources import Sources

__version__ = "0.1.0"

_LAZY = {
    "Balancer": "equipoise.balancer",
    "Choice": "equipoise.result",
    "Duplicates": "equipoise.selection.duplicates",
    "Gate": "equipoise.selection.gate",
    "LeftOut": "equipoise.result",
    "Rag": "equipoise.rag",
    "RagAnswer": "equipoise.rag",
    "Seek": "equipoise.seek",
    "Selection": "equipoise.result",
    "Sources": "equipoise.selection.sources",
}

__all__ = [
    "Answer",
    "Balancer",
    "Candidate",
    "Choice",
    "DetectorError",
    "Duplicates",
    "EmbedderError",
    "EquipoiseError",
    "Gate",
    "GenerationError",
    "Generator",
    "InputError",
    "LeftOut",
    "MissingExtraError",
    "Outcome",
    "Quota",
    "Rag",
    "RagAnswer",
    "Reason",
    "Retriever",
    "Seek",
    "Selection",
    "SelectionRule",
    "Sources",
    "Stance",
    "StanceDetector",
    "StanceScore",
    "StoreError",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'equipoise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
