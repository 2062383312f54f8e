"""A language model that judges: opened through inspect-ai, and how it is asked."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from equipoise._extras import require
from equipoise.errors import GenerationError, InputError
from equipoise.generation.base import redacted

if TYPE_CHECKING:
    from inspect_ai.model import GenerateConfig, Model

RETRIES: Final = 4
"""Of a call that failed for a passing reason; inspect waits between them, longer each time."""


def open_model(model: "str | Model") -> "Model":
    """The model of that name; a model comes back as it is.

    Raises:
        InputError: inspect knows none by that name.
        GenerationError: it cannot be set up (a key or a library is missing).
        MissingExtraError: inspect-ai is not installed.
    """
    if not isinstance(model, str):
        return model
    inspect = require("inspect_ai.model", extra="lab")
    try:
        opened: Model = inspect.get_model(model)
    except ValueError as error:
        raise InputError(
            f"a judge must be a model that inspect-ai knows, as provider/name; got {model!r}: "
            f"{error}"
        ) from error
    except Exception as error:  # a key or a vendor's library is missing: each says it in its way
        why = redacted(str(error))
        raise GenerationError(f"the judge {model!r} cannot be set up: {why}") from error
    return opened


def structured(
    name: str, schema: Mapping[str, Any], *, max_tokens: int, timeout_s: int
) -> "GenerateConfig":
    """How a judge is asked: at temperature 0, for JSON of that schema alone."""
    inspect = require("inspect_ai.model", extra="lab")
    from inspect_ai.util import JSONSchema

    made: GenerateConfig = inspect.GenerateConfig(
        temperature=0.0,
        max_tokens=max_tokens,
        max_retries=RETRIES,
        timeout=timeout_s,
        response_schema=inspect.ResponseSchema(
            name=name, json_schema=JSONSchema.model_validate(schema), strict=True
        ),
    )
    return made
