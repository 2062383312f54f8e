"""`equipoise lab poison`, `attack`, `properties`, `form`: attacks on a pack, and checks of them."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli._attacking import (
    planted,
    progress,
    show_scores,
    write_all,
    writer,
    written_checks,
    written_means,
)
from equipoise.errors import InputError
from equipoise.types import Stance

if TYPE_CHECKING:
    from equipoise.lab.poison.rewrite import Rewriting

PackPath = Annotated[Path, typer.Argument(help="Folder of a pack.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")]
Direction = Annotated[str | None, typer.Option(help="The side to plant: pro or con.")]
Seed = Annotated[int, typer.Option(help="Fixes every draw.")]
Model = Annotated[
    str | None, typer.Option(help="Have it write the texts: local, openai:NAME, anthropic:NAME.")
]
BaseUrl = Annotated[str | None, typer.Option(help="An OpenAI-compatible server for --model.")]
Detector = Annotated[str, typer.Option(help="Stance model that checks written texts.")]
Nli = Annotated[
    str | None, typer.Option(help="NLI checkpoint that checks support by sources: a folder or id.")
]
Unchecked = Annotated[
    str,
    typer.Option(help="Checks that texts may go without, with commas: support, stance, cosine."),
]
Embedder = Annotated[str, typer.Option(help="As for `equipoise index`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

SEED = 20260905


# Long because it is the list of options; the work is in `_attacking`.
def poison(
    pack: PackPath,
    out: Out,
    direction: Direction = None,
    n: Annotated[int | None, typer.Option("--n", min=1, help="Documents a topic (7).")] = None,
    all_sizes: Annotated[
        bool, typer.Option("--all", help="Both sides at n = 2, 4, 5 and 7, a folder each.")
    ] = False,
    seed: Seed = SEED,
    model: Model = None,
    base_url: BaseUrl = None,
    tries: Annotated[int, typer.Option(min=1, help="Calls of --model a text, at most.")] = 3,
    detector: Detector = "default",
    nli: Nli = None,
    allow_unchecked: Unchecked = "",
    embedder: Embedder = "minilm",
    as_json: Json = False,
) -> None:
    """Plant one-sided documents in every topic of a copy of a pack (stance poisoning)."""
    from equipoise.lab.pack import read_pack
    from equipoise.lab.poison.stance import SIZES

    if all_sizes == (direction is not None) or (all_sizes and n is not None):
        raise InputError("give --direction pro or con, with --n, or --all alone")
    sides = (Stance.PRO, Stance.CON) if all_sizes else (_side(direction),)
    sizes = SIZES if all_sizes else (7 if n is None else n,)
    read = read_pack(pack)
    written: dict[Stance, Rewriting] = {}
    if model is not None:
        from equipoise.lab.poison.rewrite import rewrite

        _, checks = written_checks(detector, nli, allow_unchecked, embedder)
        generator = writer(model, base_url)
        for side in sides:
            with progress(f"writing {side.value}") as told:
                written[side] = rewrite(
                    read, side, generator, checks=checks, n=max(sizes), seed=seed, tries=tries,
                    told=told,
                )  # fmt: skip
    write_all(
        planted(read, sides, sizes, seed, written), read, out, nested=all_sizes, as_json=as_json
    )


# Long because it is the list of options; the work is in `_attacking`.
def attack(
    pack: PackPath,
    out: Out,
    direction: Direction = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Documents a topic.")] = 5,
    pool: Annotated[
        str, typer.Option(help="Passages to start from: injected, genuine or both.")
    ] = "injected",
    axis: Annotated[
        str, typer.Option(help="Axis: component (the paper's) or means.")
    ] = "component",
    candidates: Annotated[
        int, typer.Option(min=1, help="Candidates a topic that --model writes.")
    ] = 8,
    seed: Seed = SEED,
    model: Model = None,
    base_url: BaseUrl = None,
    tries: Annotated[int, typer.Option(min=1, help="Calls of --model a text, at most.")] = 3,
    detector: Detector = "default",
    nli: Nli = None,
    allow_unchecked: Unchecked = "",
    embedder: Embedder = "minilm",
    as_json: Json = False,
) -> None:
    """Plant the most one-sided passages for each topic's question, close to it (EBI)."""
    from equipoise.lab.pack import read_pack
    from equipoise.lab.poison import ebi
    from equipoise.lab.poison.axes import axes

    side, read = _side(direction), read_pack(pack)
    if model is None:
        from equipoise.lab.poison.axes import Remembering
        from equipoise.retrieval.embedder import load_embedder

        embed = Remembering(load_embedder(embedder))
        said = {"axis": axis, "pool": pool, "claims": "the pool's own; framings claim nothing"}
        start = ebi.candidates_of(read, side, pool)  # type: ignore[arg-type]  # checked there
        means = ebi.Means(embed, axes(read, embed, kind=axis), start, about=lambda: said)  # type: ignore[arg-type]
    else:
        embed, checks = written_checks(detector, nli, allow_unchecked, embedder)
        means = written_means(
            read, side, writer(model, base_url), checks, embed,
            axis=axis, count=candidates, seed=seed, tries=tries,
        )  # fmt: skip
    with progress("attacking") as told:
        made = ebi.attack(read, side, means, n=n, seed=seed, told=told)
    write_all([made], read, out, nested=False, as_json=as_json)


def properties(
    pack: PackPath,
    poisoned: Annotated[
        Path | None, typer.Argument(help="Folder of a poisoned corpus: its documents are measured.")
    ] = None,
    embedder: Annotated[str, typer.Option(help="As for `equipoise index`; or none.")] = "minilm",
    as_json: Json = False,
) -> None:
    """Measure words, and nearest neighbours within a topic and side (SP table 14)."""
    from equipoise.cli._io import print_json, show
    from equipoise.lab.pack import read_pack
    from equipoise.lab.poison.folder import read_poisoned
    from equipoise.lab.properties import measured_documents, table
    from equipoise.lab.properties import properties as properties_of

    read = read_pack(pack)
    documents = measured_documents(
        read, None if poisoned is None else read_poisoned(poisoned, read)
    )
    vectors = None
    if embedder != "none":
        from equipoise.retrieval.embedder import load_embedder

        model, parts = load_embedder(embedder), []
        with progress("embedding") as told:
            for start in range(0, len(documents), 64):
                parts.append(model.embed([d.text for d in documents[start : start + 64]]))
                told(min(start + 64, len(documents)), len(documents))
        import numpy as np

        vectors = np.concatenate(parts) if parts else np.zeros((0, model.dimension), np.float32)
    rows = properties_of(documents, vectors)
    if as_json:
        print_json({"pack": read.name, "embedder": embedder, "rows": [asdict(row) for row in rows]})
    else:
        show(table(rows))


def form(
    pack: Annotated[Path | None, typer.Argument(help="Folder of a pack.")] = None,
    poisoned: Annotated[
        list[Path] | None, typer.Argument(help="Folders of poisoned corpora, of both sides.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the form.")] = None,
    each: Annotated[int, typer.Option(min=1, help="Documents a topic and side.")] = 3,
    seed: Seed = SEED,
    score: Annotated[
        list[Path] | None, typer.Option(help="A filled-in form; twice for the agreement of two.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The form's key.json, with --score.")] = None,
    as_json: Json = False,
) -> None:
    """Write a blinded form for people to judge planted documents, or score filled-in ones."""
    if score:
        if pack is not None or out is not None or key is None:
            raise InputError("--score goes with --key, and without a pack or --out")
        show_scores(score, key, as_json=as_json)
        return
    if pack is None or not poisoned or out is None:
        raise InputError("give a pack, one or more poisoned corpora and -o; or --score and --key")
    from equipoise.cli._io import note, print_json, show
    from equipoise.lab.form import make_form, write_form
    from equipoise.lab.pack import read_pack
    from equipoise.lab.poison.folder import read_poisoned
    from equipoise.lab.poison.planted import pack_checksums

    if (out / "documents.jsonl").exists():
        raise InputError(f"{out} must be a folder for a form, and it holds a pack")
    read = read_pack(pack)
    sums = pack_checksums(read)
    made = make_form(
        read, [read_poisoned(p, read, checksums=sums) for p in poisoned], each=each, seed=seed
    )
    write_form(made, out)
    if len({item.document.stance for item in made.items}) < 2:
        note("All documents are of one side: whoever knows one answer knows all. Give both sides.")
    note("Give form.html (or form.csv, sources.csv, questions.txt) to readers; keep key.json.")
    if as_json:
        print_json({"out": str(out), "items": len(made.items), "short": made.short})
    else:
        show(f"{len(made.items)} documents in {out}; {len(made.short)} groups short of {each}")


def _side(direction: str | None) -> Stance:
    if direction not in ("pro", "con"):
        raise InputError(f"--direction must be pro or con, got {direction!r}")
    return Stance(direction)
