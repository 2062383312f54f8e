"""Import of optional libraries, with the install line when one is missing."""

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
