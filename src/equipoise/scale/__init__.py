"""Labels and embeddings for corpora that one process would be too slow for.

    blocks of rows -> a task (label or embed), here or on a Ray cluster -> a Parquet file a block

A block is done when its file is there, so that a run goes on where it was stopped, by whatever.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.scale.blocks import Block, read_blocks
    from equipoise.scale.folder import OutFolder
    from equipoise.scale.ray_detector import RayDetector
    from equipoise.scale.running import Summary, run
    from equipoise.scale.tasks import Embedding, Labeller

__all__ = [
    "Block",
    "Embedding",
    "Labeller",
    "OutFolder",
    "RayDetector",
    "Summary",
    "read_blocks",
    "run",
]

_HOMES = {
    "Block": "blocks",
    "Embedding": "tasks",
    "Labeller": "tasks",
    "OutFolder": "folder",
    "RayDetector": "ray_detector",
    "Summary": "running",
    "read_blocks": "blocks",
    "run": "running",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"equipoise.scale.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
