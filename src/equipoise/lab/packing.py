"""What `equipoise lab pack` does: a pack from data and backgrounds, by their names."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from equipoise.errors import InputError
from equipoise.lab.background import drawn, merged
from equipoise.lab.beir import HUB, beir_folder, read_corpus
from equipoise.lab.build import Plan, build_pack
from equipoise.lab.embedded import embedded_background, embedded_pack
from equipoise.lab.pack import Document, Pack
from equipoise.lab.stance_data import UNRELATED as UNRELATED_SOURCES
from equipoise.lab.stance_data import read_background

OWN, UNRELATED, NONE = "own", "unrelated", "none"


def make_pack(
    data: Path | None,
    backgrounds: Sequence[str] = (OWN,),
    *,
    topics: int | None = None,
    plan: Plan = Plan(),  # noqa: B008  (frozen)
    limit: int | None = None,
    made_by: Mapping[str, Any] | None = None,
) -> Pack:
    """The pack of a data folder or, without one, of the embedded corpus.

    Args:
        data: folder of the stance format, or None.
        backgrounds: each "own" (that of the data), "unrelated" (of that, what is about no topic),
            "none", a BEIR folder, or "hub:OWNER/NAME".
        topics: how many at most; None takes the plan's, or every embedded topic.
        plan: draws, and how much is kept out.
        limit: at most so many documents of each background, drawn with the plan's seed.
        made_by: command and settings, for the manifest.

    Raises:
        InputError: "none" stands beside another background, or something given does not hold.
        StoreError: a hub did not give a background.
    """
    background = _background(data, backgrounds, limit=limit, seed=plan.seed)
    if data is None:
        return embedded_pack(background, topics=topics, made_by=made_by)
    chosen = plan if topics is None else replace(plan, topics=topics)
    return build_pack(data, background, chosen, made_by=made_by)


def _background(
    data: Path | None, names: Sequence[str], *, limit: int | None, seed: int
) -> tuple[Document, ...]:
    if NONE in names:
        if len(names) > 1:
            raise InputError(f"the background {NONE!r} must stand alone, got {', '.join(names)}")
        return ()
    parts = []
    for name in names:
        if name in (OWN, UNRELATED):
            own = embedded_background() if data is None else read_background(data)
            kept = [d for d in own if name == OWN or data is None or d.source in UNRELATED_SOURCES]
            parts.append(drawn(kept, limit, seed=seed))
        else:
            source = name.removeprefix(HUB) if name.startswith(HUB) else None
            folder = beir_folder(name)
            parts.append(read_corpus(folder, limit=limit, seed=seed, source=source))
    return merged(*parts)
