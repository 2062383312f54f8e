"""The server: a balancer behind HTTP, in the wire formats that reranker clients speak.

Needs the extra `server`. `create_app` gives the ASGI application, `equipoise serve` runs it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.server.app import create_app
    from equipoise.server.limits import Limits

__all__ = ["Limits", "create_app"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    homes = {"create_app": "app", "Limits": "limits"}
    if name in homes:
        return getattr(import_module(f"equipoise.server.{homes[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
