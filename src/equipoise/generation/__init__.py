"""Generators: who writes the answer, and what came of asking."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.errors import GenerationError, InputError
from equipoise.generation.base import Retry, declines

if TYPE_CHECKING:
    from equipoise.generation.local import LocalGenerator
    from equipoise.generation.remote import RemoteGenerator
    from equipoise.settings import Settings

__all__ = ["LocalGenerator", "RemoteGenerator", "Retry", "declines", "load_generator"]

_LOCAL = ("local", "smollm2")
_FILE = "local:"


def load_generator(
    spec: str | None = None, *, settings: "Settings | None" = None
) -> "LocalGenerator | RemoteGenerator":
    """The generator that `spec` names, set up by `settings`.

    `local` and `smollm2` are the embedded model, `local:PATH` is a GGUF file of your own; anything
    else reads `vendor:model`, such as `openai:NAME` or `anthropic:NAME`. None means
    `settings.model`.

    Raises:
        InputError: `spec` is neither of these.
        MissingExtraError: an optional library is not installed.
        GenerationError: the embedded model's file is missing, or a vendor's key is.

    Source: ours.
    """
    if settings is None:
        from equipoise.settings import Settings

        settings = Settings()
    spec = settings.model if spec is None else spec
    if spec in _LOCAL:
        return _local(None, settings)
    if isinstance(spec, str) and spec.startswith(_FILE):
        return _local(spec.removeprefix(_FILE), settings)
    return _remote(spec, settings)


def _local(file: str | None, settings: "Settings") -> "LocalGenerator":
    from equipoise.generation.local import LocalGenerator
    from equipoise.generation.models import fetched_path

    options: dict[str, Any] = {"threads": settings.generator_threads}
    if settings.max_tokens is not None:
        options["max_tokens"] = settings.max_tokens
    if file is None:
        return LocalGenerator(fetched_path("smollm2", cache_dir=settings.cache_dir), **options)
    if not file.strip():
        raise InputError(f"local:PATH must name a GGUF file, got {_FILE + file!r}")
    return LocalGenerator(Path(file).expanduser(), **options)


def _remote(spec: str, settings: "Settings") -> "RemoteGenerator":
    from equipoise.generation.remote import RemoteGenerator

    options: dict[str, Any] = {"base_url": settings.base_url, "timeout_s": settings.timeout_s}
    if settings.max_tokens is not None:
        options["max_tokens"] = settings.max_tokens
    if settings.api_key_env is not None:
        options["api_key"] = os.environ.get(settings.api_key_env)
        if not options["api_key"]:
            raise GenerationError(
                f"the environment variable {settings.api_key_env!r}, named by api_key_env, must "
                "hold the key, and is not set"
            )
    return RemoteGenerator(spec, **options)


def __getattr__(name: str) -> Any:
    # The classes load their modules when first asked for: `Retry` alone costs nothing.
    if name == "LocalGenerator":
        from equipoise.generation.local import LocalGenerator

        return LocalGenerator
    if name == "RemoteGenerator":
        from equipoise.generation.remote import RemoteGenerator

        return RemoteGenerator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
