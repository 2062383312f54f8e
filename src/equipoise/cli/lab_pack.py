"""`equipoise lab pack`: a benchmark pack from stance data, or from the embedded corpus."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.lab.pack import Pack


def pack(
    out: Annotated[Path, typer.Option("--out", "-o", help="The pack's folder.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the stance format. Without it: the embedded corpus."),
    ] = None,
    topics: Annotated[
        int | None, typer.Option(min=1, help="Topics at most (42; of the embedded corpus, all).")
    ] = None,
    background: Annotated[
        list[str] | None,
        typer.Option(
            help="own (default), unrelated, none, a BEIR folder, hub:OWNER/NAME; several add up."
        ),
    ] = None,
    background_limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many documents of each background.")
    ] = None,
    planted: Annotated[
        int | None,
        typer.Option(min=0, help="With --data: documents kept out, a side and topic (7)."),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(min=1, help="With --data: documents a side that stay, at least (2)."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of every draw (20260909).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the account as JSON.")] = False,
) -> None:
    """Make a pack: topics, questions, documents whose stance is known, and texts to plant."""
    if data is None and (planted is not None or keep is not None):
        raise InputError(
            "--planted and --keep go with --data: what the embedded corpus keeps out is fixed, "
            "seven documents a side"
        )
    from equipoise import __version__
    from equipoise.cli._io import note, print_json, show
    from equipoise.lab.build import SEED, Plan
    from equipoise.lab.holding import Held
    from equipoise.lab.pack import write_pack
    from equipoise.lab.packing import OWN, make_pack

    held = Held(7 if planted is None else planted, 2 if keep is None else keep)
    plan = Plan(seed=SEED if seed is None else seed, held=held)
    backgrounds = background or [OWN]
    settings = {
        "data": None if data is None else str(data),
        "topics": topics,
        "background": backgrounds,
        "background_limit": background_limit,
        "planted": None if data is None else held.planted,
        "keep": None if data is None else held.kept,
        "seed": plan.seed,
    }
    made_by = {"command": "equipoise lab pack", "version": __version__, "settings": settings}
    made = make_pack(
        data, backgrounds, topics=topics, plan=plan, limit=background_limit, made_by=made_by
    )
    write_pack(made, out)
    if as_json:
        print_json(account(made))
    else:
        show(table(made))
    if topics is not None and len(made.topics) < topics:
        note(f"{topics} topics were asked for, and there are {len(made.topics)}")
    if missing := made.about.get("sources_missing"):
        note(f"Not in the data, and left out: {', '.join(missing)}")
    note(str(made.about["third_party"]))
    note(f"Wrote {out}")


def account(made: "Pack") -> dict[str, Any]:
    """What the table shows, as plain values."""
    from equipoise.lab.about import by_topic, origins, shares

    return {
        "name": made.name,
        "topics": len(made.topics),
        "questions": len(made.questions),
        "documents": origins(made),
        "shares": {str(n): each for n, each in shares(made).items()},
        "per_topic": by_topic(made),
        "about": dict(made.about),
    }


def table(made: "Pack") -> str:
    """The pack at a glance: counts, a row a topic, shares."""
    from equipoise.lab.about import by_topic, origins, shares

    rows = by_topic(made)
    folds = made.about.get("per_topic", {})
    width = max((len(name) for name in rows), default=5)
    counts = ", ".join(f"{count} {name}" for name, count in origins(made).items())
    lines = [
        f"{made.name}: {len(made.topics)} topics, {len(made.questions)} questions; {counts}",
        "",
        f"{'':{width}}  genuine           injected (joined)",
        f"{'topic':{width}}   pro  con  neutral    pro     con   seen in training",
    ]
    for name, row in rows.items():
        seen = folds.get(name, {}).get("seen_in_training")
        planted = "  ".join(
            f"{row[f'injected_{side}']:2} ({row[f'joined_{side}']})" for side in ("pro", "con")
        )
        told = {True: "yes", False: "no"}.get(seen, "")
        lines.append(
            f"{name:{width}}  {row['genuine_pro']:4} {row['genuine_con']:4}  {row['neutral']:7}"
            f"   {planted}   {told}"
        )
    lines += ["", "Share of planted documents, mean over topics (fewer where a topic has fewer):"]
    for n, each in shares(made).items():
        sides = ", ".join(f"{side} {value:.1%}" for side, value in each.items())
        lines.append(f"  n = {n}: {sides}")
    return "\n".join(lines)
