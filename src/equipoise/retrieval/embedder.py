"""Embedders by name."""

import os
import re
from collections.abc import Mapping

from equipoise.errors import EmbedderError, InputError
from equipoise.retrieval.base import Embedder
from equipoise.retrieval.onnx_embedder import OnnxEmbedder
from equipoise.retrieval.openai_embedder import OPENAI_URL, OpenAIEmbedder
from equipoise.retrieval.sentence_transformers_embedder import SentenceTransformersEmbedder

__all__ = [
    "Embedder",
    "EmbedderError",
    "OnnxEmbedder",
    "OpenAIEmbedder",
    "SentenceTransformersEmbedder",
    "load_embedder",
]

_OPENAI = re.compile(r"openai:(?P<model>.+?)(\?dimensions=(?P<dimensions>[1-9]\d*))?")


def load_embedder(
    spec: str, *, environment: Mapping[str, str] | None = None, threads: int | None = None
) -> Embedder:
    """The embedder that `spec` names; the same names stand in the manifest of an index.

    - "minilm": the bundled model.
    - "onnx:FOLDER": a folder laid out like the bundled one.
    - "sentence-transformers:NAME": a hub name or folder (extra `sentence-transformers`).
    - "openai:MODEL" or "openai:MODEL?dimensions=N": an OpenAI-compatible server, whose address
      and key are OPENAI_BASE_URL and OPENAI_API_KEY of `environment` (default: the process's).

    `threads` is for the bundled model and those like it: texts embedded at once, >= 1; None takes
    all cores.

    Raises:
        InputError: another spec, no such model, or no key for api.openai.com.
        EmbedderError: the model is there and cannot be loaded.
        MissingExtraError: its library is not installed.
    """
    kind, _, name = spec.partition(":")
    if spec == "minilm":
        return OnnxEmbedder(threads=threads)
    if kind == "onnx" and name:
        return OnnxEmbedder(name, threads=threads)
    if kind == "sentence-transformers" and name:
        return SentenceTransformersEmbedder(name)
    if match := _OPENAI.fullmatch(spec):
        # The one look at the environment outside settings: an index is opened by the name in its
        # manifest, where no settings are at hand and no key may stand.
        values = os.environ if environment is None else environment
        dimensions = match["dimensions"]
        return OpenAIEmbedder(
            match["model"],
            base_url=values.get("OPENAI_BASE_URL") or OPENAI_URL,
            api_key=values.get("OPENAI_API_KEY"),
            dimensions=int(dimensions) if dimensions else None,
        )
    raise InputError(
        "an embedder must be 'minilm', 'onnx:FOLDER', 'sentence-transformers:NAME' or "
        f"'openai:MODEL', got {spec!r}"
    )
