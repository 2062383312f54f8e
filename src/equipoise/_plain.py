"""Values in the types of JSON."""

import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """The value in JSON's own types: numbers of numpy unwrapped, other objects as their text.

    Only the JSON view is changed; the candidate keeps its metadata as given. A number that is not
    finite becomes its name ("nan"), as JSON has none.
    """
    if value is None or isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if callable(getattr(value, "tolist", None)):  # a number or an array of numpy
        return plain(value.tolist())
    return str(value)
