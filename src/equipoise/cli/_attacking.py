"""What the attack commands share: checks for written texts, writing and showing of corpora."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.errors import InputError
from equipoise.types import Stance

if TYPE_CHECKING:
    from equipoise.lab.pack import Pack
    from equipoise.lab.poison.axes import Remembering
    from equipoise.lab.poison.ebi import Means
    from equipoise.lab.poison.planted import Poisoned
    from equipoise.lab.poison.rewrite import Rewriting
    from equipoise.lab.poison.writing import Checks
    from equipoise.types import Generator


def planted(
    pack: "Pack",
    sides: tuple[Stance, ...],
    sizes: tuple[int, ...],
    seed: int,
    written: "dict[Stance, Rewriting]",
) -> "list[Poisoned]":
    """A poisoned corpus for every side and size; of the written texts of a side where there are."""
    from dataclasses import replace

    from equipoise.lab.poison.stance import poison as plant

    made = []
    for side in sides:
        texts = written.get(side)
        for size in sizes:
            documents = None if texts is None else texts.documents
            one = plant(pack, side, n=size, seed=seed, documents=documents)
            made.append(one if texts is None else replace(one, about=texts.about()))
    return made


def written_checks(
    detector: str, nli: str | None, allow_unchecked: str, embedder: str
) -> "tuple[Remembering, Checks]":
    """The checks for written texts, and the embedder that one of them uses.

    Raises:
        InputError: a check cannot be made and was not allowed to be left out.
    """
    from equipoise.lab.poison.axes import Remembering
    from equipoise.lab.poison.checks import nli_from
    from equipoise.lab.poison.writing import Checks
    from equipoise.retrieval.embedder import load_embedder
    from equipoise.stance import load_detector

    allowed = frozenset(name.strip() for name in allow_unchecked.split(",") if name.strip())
    if nli is None and "support" not in allowed:
        raise InputError(
            "whether written texts are supported by their sources is checked by an NLI model: "
            "give --nli, or --allow-unchecked support to plant texts that were not checked for it"
        )
    embed = Remembering(load_embedder(embedder))
    return embed, Checks(
        detector=load_detector(detector),
        embed=embed.embed,
        nli=None if nli is None else nli_from(load_detector(f"zero_shot:{nli}")),
        allow_unchecked=allowed,
    )


def writer(model: str, base_url: str | None) -> "Generator":
    """The generator of that name.

    Raises:
        InputError: the model is "none", or a server was named for one that is not a vendor's.
    """
    from equipoise.cli._io import generator_or_note, settings_with

    settings = settings_with({"model": model, "base_url": base_url})
    made = generator_or_note(settings, asked_for=True, server_given=base_url is not None)
    if made is None:
        raise InputError("--model must name a model that writes; leave it out for the pack's texts")
    return made


# Nine values: what `attack` parsed, handed on once.
def written_means(
    pack: "Pack",
    side: Stance,
    generator: "Generator",
    checks: "Checks",
    embed: "Remembering",
    *,
    axis: str,
    count: int,
    seed: int,
    tries: int,
) -> "Means":
    """Means of an attack whose candidates, and variants, a generator writes."""
    from equipoise.lab.poison import ebi
    from equipoise.lab.poison.axes import axes
    from equipoise.lab.poison.rewrite import rewrite
    from equipoise.lab.poison.vary import Variants

    axis_of = axes(pack, embed, kind=axis)  # type: ignore[arg-type]  # checked there
    with progress("writing candidates") as told:
        written = rewrite(
            pack, side, generator, checks=checks, n=count, seed=seed, tries=tries, told=told
        )
    known = {document.id: document for document in pack.documents}
    sources = {k: tuple(known[i] for i in ids) for k, ids in written.sources.items()}
    variants = Variants(pack, generator, checks, sources, tries)
    return ebi.Means(
        embed,
        axis_of,
        written.documents,
        variants,
        lambda: {"axis": axis, "candidates": written.about(), "variants": variants.about()},
    )


def write_all(
    made: "list[Poisoned]", pack: "Pack", out: Path, *, nested: bool, as_json: bool
) -> None:
    """Every corpus in its folder, and a line (or object) on each."""
    from equipoise.cli._io import note, print_json, show
    from equipoise.lab.poison.folder import write_poisoned
    from equipoise.lab.poison.planted import pack_checksums

    sums = pack_checksums(pack)
    rows: list[dict[str, Any]] = []
    command = shlex.join(["equipoise", *sys.argv[1:]])
    for one in made:
        folder = out / f"{one.direction.value}-{one.n}" if nested else out
        write_poisoned(one, pack, folder, command=command, checksums=sums)
        if one.short:
            note(f"{folder}: {len(one.short)} topics got fewer than {one.n} (see its manifest)")
        rows.append(
            {
                "folder": str(folder),
                "attack": one.attack,
                "direction": one.direction.value,
                "n": one.n,
                "planted": len(one.documents),
                "mean_share": one.mean_share,
                "short": list(one.short),
                "about": {k: one.about[k] for k in ("counts", "reached") if k in one.about},
            }
        )
    if as_json:
        print_json(rows)
        return
    for row in rows:
        share = "no share" if row["mean_share"] is None else f"mean share {row['mean_share']:.1%}"
        show(f"{row['folder']}: {row['planted']} documents planted, {share}")
        for name, counts in row["about"].items():
            show(f"  {name}: {counts}")


def show_scores(filled: list[Path], key: Path, *, as_json: bool) -> None:
    """Counts of each filled-in form, and the agreement of two."""
    from equipoise.cli._io import print_json, show
    from equipoise.lab.form_scores import agree, count, read_filled, read_key, report

    if len(filled) > 2:
        raise InputError(f"--score takes one or two forms, got {len(filled)}")
    known = read_key(key)
    forms = [read_filled(path, known) for path in filled]
    counts = {str(path): count(form, known) for path, form in zip(filled, forms, strict=True)}
    agreement = agree(forms[0], forms[1], known) if len(forms) == 2 else ()
    if as_json:
        print_json(
            {
                "counts": {name: [asdict(row) for row in rows] for name, rows in counts.items()},
                "agreement": [asdict(row) for row in agreement],
            }
        )
    else:
        show(report(counts, agreement))


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr, where that is a terminal; yields what to call with done and in all."""
    from equipoise.cli._bar import bar as made

    with made() as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
