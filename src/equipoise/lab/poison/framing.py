"""Raising a passage toward a query: a sentence that restates the query, and claims nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VERSION: Final = "equipoise-framing-1"

# From the least to the most intrusive: the first that does is taken. Only the question is added,
# so a true text stays true; that is why no framing answers it.
FRAMINGS: Final = (
    ("none", "{text}"),
    ("opening", "{question} {text}"),
    ("both ends", "{question} {text} That is what is at stake in the question: {question}"),
    (
        "opening twice",
        "{question} People who ask this, {lowered} want to know what speaks for an answer. {text} "
        "That is what is at stake in the question: {question}",
    ),
)


@dataclass(frozen=True, slots=True)
class Raised:
    """A text framed, with its cosine to the query in [-1, 1] before and after."""

    text: str
    framing: str
    vector: "NDArray[np.float32]"
    before: float
    after: float


def raised(
    text: str,
    question: str,
    query: "NDArray[np.float32]",
    *,
    above: float,
    embed: "Callable[[Sequence[str]], NDArray[np.float32]]",
) -> Raised:
    """The text in the first framing whose cosine to the query is over `above`, else in the best.

    `query` is (d,), of length 1; `embed` gives rows of length 1. `above` is the cosine to beat,
    that of the best benign document. A text that is over it as it is stays as it is.

    Cost: an embedding a framing tried. Source: EBI, high similarity to the query; the way ours.
    """
    best: Raised | None = None
    before = 0.0
    for name, framed in framings(text, question):
        vector = embed([framed])[0]
        after = float(vector @ query)
        if best is None:
            before = after
        if best is None or after > best.after:
            best = Raised(framed, name, vector, before, after)
        if after > above:
            break
    assert best is not None
    return best


def framings(text: str, question: str) -> list[tuple[str, str]]:
    """(name, text) of every framing, from the least to the most intrusive.

    >>> framings("It is safe.", "Should it be legal?")[1]
    ('opening', 'Should it be legal? It is safe.')
    """
    asked = " ".join(question.split())
    # A capital stays where the first word is one by itself, such as an abbreviation: "GM crops".
    lowered = asked if asked[1:2].isupper() else asked[:1].lower() + asked[1:]
    return [
        (name, form.format(text=text, question=asked, lowered=lowered)) for name, form in FRAMINGS
    ]
