"""Import of optional libraries, with the install line when one is missing."""

import os
from importlib import import_module
from types import ModuleType

from equipoise.errors import MissingExtraError


def require(module: str, *, extra: str) -> ModuleType:
    """The imported `module`, which the extra `extra` of this package installs.

    Raises:
        MissingExtraError: the module is not installed; the message has the command to run.
            An import error from inside an installed library passes through unchanged.

    Source: ours.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(error.name + ".")):
            raise
        raise MissingExtraError(
            f"{module!r} is needed here and is not installed. "
            f"Run: pip install 'equipoise[{extra}]'",
            name=module,
        ) from error


def onnxruntime() -> ModuleType:
    """ONNX Runtime, with its telemetry off.

    Its builds may report to their maker when first imported; a library that reads people's
    documents must not be the cause of that. `ORT_DISABLE_TELEMETRY=0` in the environment leaves
    the choice to ONNX Runtime.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return import_module("onnxruntime")
