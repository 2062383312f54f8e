"""`equipoise lab answer`: a pack and poisoned corpora in; answers, and verdicts on them, out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.lab.answers.book import Limits
    from equipoise.lab.answers.evidence import Setting
    from equipoise.lab.answers.generators import Asked
    from equipoise.lab.answers.run import Answered
    from equipoise.lab.cases import Corpus
    from equipoise.lab.defences.base import Defence
    from equipoise.lab.pack import Pack
    from equipoise.prompt import Template

DEFENCES = "none,prompt_only,quota,quota_prompt"
"""A, D, B and C of the paper. Source: SP table 1."""
NOT_HERE = ("robustrag",)
"""Defences that act on the answer."""
NO_JUDGE = "none"


# Long because it is the list of options; the work is in `_settings` and `_answer`.
def answer(
    pack: Annotated[Path, typer.Argument(help="Folder of a pack.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the run; what is there is gone on with.")
    ],
    poisoned: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of a poisoned corpus; may be given several times."),
    ] = None,
    direction: Annotated[
        str | None, typer.Option(help="Poison here and now: pro, con or both.")
    ] = None,
    n: Annotated[
        list[int] | None, typer.Option("--n", help="Documents planted a topic; with --direction.")
    ] = None,
    clean: Annotated[bool, typer.Option(help="Ask about the clean corpus too.")] = True,
    defences: Annotated[
        str, typer.Option(help="Names with commas between, or all; an unknown one lists them.")
    ] = DEFENCES,
    detector: Annotated[str, typer.Option(help="A detector, oracle, or degraded:0.8.")] = "default",
    embedder: Annotated[str, typer.Option(help="As for `equipoise index`.")] = "minilm",
    depth: Annotated[int, typer.Option(min=1, help="Documents retrieved a question.")] = 50,
    limit_questions: Annotated[
        int | None, typer.Option(min=1, help="So many questions, spread over the topics.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="local, quote, or a model of inspect such as openai/NAME.")
    ] = "local",
    model_arg: Annotated[
        list[str] | None,
        typer.Option("--model-arg", "-M", help="An option of the model, key=value; several."),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(help="compact, default, or a file; without it what suits the model."),
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Of an answer.")] = 160,
    batch: Annotated[int, typer.Option(min=1, help="Calls at a time.")] = 1,
    judge: Annotated[
        str, typer.Option(help="As for `equipoise lab judge`; none leaves it to that command.")
    ] = NO_JUDGE,
    max_cost: Annotated[
        float | None, typer.Option(help="US dollars over the whole run, the judge's not counted.")
    ] = None,
    price: Annotated[
        str | None, typer.Option(help="Dollars a million tokens in and out, such as 1.25,10.")
    ] = None,
    max_empty: Annotated[
        float, typer.Option(min=0, max=1, help="Share of empty answers above which to stop.")
    ] = 0.2,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the detector.")] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for vectors, labels and answers (OUT/cache).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Let a model answer every question from what each defence chose, and a judge read it."""
    from equipoise.lab.answers.book import Limits
    from equipoise.lab.answers.generators import keep_cache_in, load_model, template_of
    from equipoise.lab.answers.prices import Price
    from equipoise.lab.answers.run import check_price
    from equipoise.lab.corpora import check_direction, corpora_of, named_defences
    from equipoise.lab.pack import read_pack

    check_direction(direction, n or [])
    limits = Limits(max_cost, max_empty)
    if (out / "documents.jsonl").exists():
        raise InputError(f"{out} must be a folder for a run, and it holds a pack")
    kept = cache or out / "cache"
    keep_cache_in(kept / "inspect")
    read = read_pack(pack)
    corpora = corpora_of(read, poisoned or [], direction, n or [])
    corpora = corpora if clean else corpora[1:]
    if not corpora:
        raise InputError("--no-clean leaves nothing to ask about: give --poisoned or --direction")
    named = named_defences(defences, leave_out=NOT_HERE)
    # The model first: what is wrong with it is told before minutes of retrieval.
    asked = load_model(
        model,
        options=_options(model_arg or []),
        max_tokens=max_tokens,
        batch=batch,
        price=None if price is None else Price.parse(price),
    )
    try:
        check_price(limits, asked)
        words = template_of(template, asked.family)
        settings, labels = _settings(
            read,
            corpora,
            named,
            out=out,
            cache=kept,
            detector=detector,
            embedder=embedder,
            depth=depth,
            limit=limit_questions,
            threads=threads,
        )
        done = _answer(
            settings,
            asked,
            words,
            out=out,
            judge=judge,
            labels=labels,
            limits=limits,
            batch=batch,
        )
    finally:
        asked.model.api.close()
    _tell(done, out, as_json=as_json)


def _options(given: Sequence[str]) -> dict[str, Any]:
    """`key=value` as inspect reads it: numbers, true, false and null as such, else text."""
    import json

    options: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise InputError(f"an option of the model is written key=value, got {text!r}")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options


def _settings(
    pack: "Pack",
    corpora: Sequence["Corpus"],
    defences: Sequence["Defence"],
    *,
    out: Path,
    cache: Path,
    detector: str,
    embedder: str,
    depth: int,
    limit: int | None,
    threads: int | None,
) -> tuple[tuple["Setting", ...], str]:
    """The chosen documents, and the name of the labels."""
    from equipoise.cli._bar import told_by_bar as bar
    from equipoise.cli._io import note
    from equipoise.lab.answers.evidence import gather
    from equipoise.lab.labels import load_labels
    from equipoise.lab.vectors import VectorCache
    from equipoise.retrieval.embedder import load_embedder

    vectors = VectorCache(load_embedder(embedder), cache / "vectors")
    file = cache / "labels.sqlite"
    with load_labels(detector, file, threads=threads) as labels, bar() as told:
        settings, summary = gather(
            pack,
            corpora,
            defences,
            labels=labels,
            label_file=file,
            vectors=vectors,
            results=out / "choices" / "results.jsonl",
            depth=depth,
            limit=limit,
            progress=told,
        )
        name = labels.name
    seconds = sum(summary.seconds.values())
    note(f"Choices: {summary.written} made, {summary.kept} kept, in {seconds:.1f} s")
    return settings, name


def _answer(
    settings: Sequence["Setting"],
    asked: "Asked",
    template: "Template",
    *,
    out: Path,
    judge: str,
    labels: str,
    limits: "Limits",
    batch: int,
) -> "Answered":
    from equipoise.cli._bar import told_by_bar as bar
    from equipoise.cli._io import note
    from equipoise.lab.answers.run import answer_all

    reader = None
    if judge != NO_JUDGE:
        from equipoise.lab.judge import load_judge

        reader = load_judge(judge, generator=asked.name, detector=labels)
    try:
        with bar() as told:
            return answer_all(
                settings,
                asked,
                template,
                out,
                judge=reader,
                limits=limits,
                batch=batch,
                progress=told,
            )
    except KeyboardInterrupt:
        note(f"Stopped. The same command goes on from what is in {out}")
        raise


def _tell(done: "Answered", out: Path, *, as_json: bool) -> None:
    from equipoise.cli._io import note, print_json, show

    if as_json:
        print_json(asdict(done))
    else:
        for line in done.settings:
            show(f"{line['setting']}: {_counts(line['outcomes'])}")
    note(f"Asked now: {_counts(done.asked)}; judged now: {_counts(done.judged)}; kept {done.kept}")
    note(f"In {out}: {_counts(done.outcomes)}")
    if done.spent is not None:
        note(f"Spent: ${done.spent:.4f}, all sittings together, without the judge")
    if done.stopped:
        note(f"Stopped before the end: {done.stopped}")
    elif done.hopeless:
        note(f"Every call failed. The first failure: {done.first_failure}")
    elif done.failed or done.unjudged:
        why = f" The first failure: {done.first_failure}" if done.first_failure else ""
        note(f"What failed is in no count of answers and is asked again by the same command.{why}")
    if done.stopped or done.failed or done.unjudged:
        raise typer.Exit(1)


def _counts(counts: Mapping[str, int]) -> str:
    """`12 answered, 1 empty`, or `nothing`."""
    said = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    return said or "nothing"
