"""Which of a model's outputs is which stance, read from the names it was saved with.

Checkpoints differ in order, so the order is never assumed: names that say nothing (LABEL_0) are
refused unless the caller gives the order. Source: ours.
"""

import re
from collections.abc import Mapping, Sequence

from equipoise.errors import DetectorError, InputError
from equipoise.types import Stance

_STANCES: Mapping[str, Stance] = {
    "pro": Stance.PRO,
    "con": Stance.CON,
    "neutral": Stance.NEUTRAL,
    "entailment": Stance.PRO,
    "contradiction": Stance.CON,
}
NOT_ENTAILMENT = "not_entailment"
_UNNAMED = re.compile(r"(?i)label_(\d+)$")


def stance_of(name: str) -> Stance | None:
    """The stance that a label's name says, or None when it says none.

    >>> stance_of("CONTRADICTION").value, stance_of("LABEL_1")
    ('con', None)
    """
    return _STANCES.get(name.strip().lower())


def unnamed_index(name: str) -> int | None:
    """The n of a name of the form LABEL_n, else None."""
    match = _UNNAMED.match(name.strip())
    return int(match[1]) if match else None


def checked_labels(labels: Sequence[str] | None) -> tuple[str, ...] | None:
    """`labels` as a tuple of three names, one for each stance.

    Raises:
        InputError: the names are not pro, con and neutral (or the NLI names), each once.
    """
    if labels is None:
        return None
    names = tuple(str(name) for name in labels) if not isinstance(labels, str) else (labels,)
    if len(names) != 3 or {stance_of(name) for name in names} != set(Stance):
        raise InputError(
            "labels must name the model's outputs in order, each of pro, con and neutral once, "
            f'such as ("con", "neutral", "pro"); got {names}'
        )
    return names


def stance_order(names: Sequence[str], given: Sequence[str] | None = None) -> tuple[Stance, ...]:
    """The stance of each output, in the order of the outputs.

    Args:
        names: what the model's configuration calls its outputs, in order (id2label).
        given: the caller's names in their place; a name that says a stance must agree with it.

    Raises:
        DetectorError: the names do not say which output is which stance, or contradict `given`.

    >>> [stance.value for stance in stance_order(["neutral", "entailment", "contradiction"])]
    ['neutral', 'pro', 'con']
    """
    said = [stance_of(name) for name in names]
    if given is not None:
        order = tuple(stance_of(name) for name in given)
        if len(names) != 3 or any(s not in (None, o) for s, o in zip(said, order, strict=True)):
            raise DetectorError(
                f"labels must agree with the model's own names {tuple(names)}, got {tuple(given)}"
            )
        said = list(order)
    stances = tuple(stance for stance in said if stance is not None)
    if len(names) != 3 or set(stances) != set(Stance):
        raise DetectorError(
            "a model's id2label must name three outputs con, neutral, pro or contradiction, "
            f"neutral, entailment, in any order; got {tuple(names)}. If you know what its outputs "
            'mean, give their order: labels=("con", "neutral", "pro")'
        )
    return stances
