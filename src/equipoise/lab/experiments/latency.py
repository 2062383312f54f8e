"""How long labelling takes beside an answer. Source: SP tables 10 and 11; RUN/latency.json."""

from collections.abc import Mapping
from typing import Any, Final

from equipoise.lab.experiments import paper
from equipoise.lab.experiments.base import Plan
from equipoise.lab.experiments.study import Study
from equipoise.lab.report.blocks import Block, Cell, Number, Text, table

NAME: Final = "latency"
TITLE: Final = "Latency"
PLAN: Final = Plan(defences=(), attacks=(), files=("latency",))


def tables(study: Study) -> list[Block]:
    """Milliseconds by number of documents, the lazy quota's, and the paper's configurations."""
    said = study.files.get("latency")
    if said is None:
        return []
    rows = [_row(row) for row in said["labelling"]]
    head = ("documents", "median ms, ours", "p10 to p90", "of an answer", "paper: CPU ms",
            "paper: GPU ms", "paper: of an answer, CPU / GPU")  # fmt: skip
    blocks: list[Block] = [
        Text(_about(said)),
        table("Time to label", head, rows, _of_answers(said.get("generation"))),
    ]
    lazy = said.get("lazy")
    if lazy is not None:
        blocks.append(_lazy(lazy))
    blocks.append(
        table(
            "The paper's configurations",
            ("configuration", "paper: CPU ms", "paper: GPU ms", "ours"),
            [
                [name, Number(cpu, ".1f"), Number(gpu, ".1f"), _counterpart(name, said)]
                for name, cpu, gpu in paper.ROUTING
            ],
            "Six-fold routing has no counterpart here: one detector labels every topic.",
        )
    )
    return blocks


def _row(row: Mapping[str, Any]) -> list[Cell]:
    theirs: list[Cell] = [None, None, None]
    found = paper.LATENCY.get(row["count"])
    if found is not None:
        shares = " / ".join(f"{ms / paper.GENERATION_MS:.2%}" for ms in found)
        theirs = [Number(found[0], ".1f"), Number(found[1], ".1f"), shares]
    return [
        row["count"],
        Number(row["median_ms"], ".1f"),
        f"{row['p10_ms']:.1f} to {row['p90_ms']:.1f}",
        _share(row.get("share_of_generation")),
        *theirs,
    ]


def _share(value: float | None) -> Number | None:
    return None if value is None else Number(value, ".2%")


def _lazy(lazy: Mapping[str, Any]) -> Block:
    labels = lazy["labels"]
    row: list[Cell] = [
        str(lazy["defence"]),
        f"{labels['mean']:.1f} ({labels['least']} to {labels['most']})",
        Number(lazy["of_which_labels"]["median_ms"], ".1f"),
        Number(lazy["median_ms"], ".1f"),
        _share(lazy.get("share_of_generation")),
    ]
    head = ("defence", "labels read, mean (range)", "of which labels, median ms", "median ms",
            "of an answer")  # fmt: skip
    return table("What the quota really reads", head, [row])


def _counterpart(name: str, said: Mapping[str, Any]) -> Cell:
    count = int(name.split()[-2])
    rows = [row for row in said["labelling"] if row["count"] == count]
    if not name.startswith("single") or not rows:
        return None
    return Number(rows[0]["median_ms"], ".1f")


def _about(said: Mapping[str, Any]) -> str:
    machine = said.get("machine", {})
    told = [f"{key} {value}" for key, value in machine.items() if value is not None]
    told += [f"{key} {said[key]}" for key in ("pack", "detector", "generator") if said.get(key)]
    return f"{len(said.get('questions', ()))} questions, the same in each row; {', '.join(told)}."


def _of_answers(generation: Mapping[str, Any] | None) -> str:
    theirs = f"the paper's median answer took {paper.GENERATION_MS:,.1f} ms, from a remote model."
    if generation is None or generation.get("median_ms") is None:
        return f"No answers were timed here; {theirs}"
    return (
        f"Median answer: {generation['median_ms']:,.1f} ms (p10 {generation['p10_ms']:,.1f}, p90 "
        f"{generation['p90_ms']:,.1f}, n {generation['n']}); {theirs}"
    )


def figure(study: Study) -> str | None:
    """None."""
    return None
