"""A language model, reached through inspect-ai, that rates pairs of answers."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from equipoise.errors import InputError
from equipoise.generation.base import declines, redacted
from equipoise.lab.answers.families import family_of
from equipoise.lab.answers.store import Judged
from equipoise.lab.judge.opened import open_model, structured
from equipoise.lab.quality.asking import Rating
from equipoise.lab.quality.pairs import Pair, Pairs
from equipoise.lab.quality.reply import prompt_of, read_reply, schema, version
from equipoise.lab.quality.rows import row_of, settings_of
from equipoise.lab.results import ResultFile, run_id

if TYPE_CHECKING:
    from inspect_ai.model import GenerateConfig, Model, ModelOutput

MAX_TOKENS: Final = 600
TIMEOUT_S: Final = 180


@dataclass(frozen=True, slots=True)
class Judging:
    """What a call to `judge_pairs` did: pairs by outcome, and how many were there already."""

    outcomes: Mapping[str, int]
    kept: int


def judge_pairs(
    made: Pairs,
    pairs: Sequence[Pair],
    model: "str | Model",
    results: ResultFile,
    *,
    at_once: int = 4,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Judging:
    """Rate the pairs that `results` has no rating of; a row is written as soon as it is known.

    A call that failed gives a row with "error", and is made again next time. A reply that is no
    rating is unparsed; one that declines in words is refused; neither is ever a mark.

    Args:
        made: whose `settings` the rows carry.
        pairs: those of `made` to rate.
        model: inspect's name of one ("openai/gpt-5", ...), or its model.
        results: RUN/quality.jsonl.
        at_once: calls under way at a time, >= 1.
        told: how many are done, and of how many.

    Raises:
        InputError: the model is of the generator's family, inspect knows none by that name, or
            at_once < 1.
        GenerationError: it cannot be set up (a key or a library is missing).
        MissingExtraError: inspect-ai is not installed.
        StoreError: a row cannot be written.

    Cost: one call a pair; two answers and their ten passages in.

    Source: SP 4.8 and appendix E have such a judge; words, schema and reading are ours.
    """
    if at_once < 1:
        raise InputError(f"at_once must be >= 1, got {at_once}")
    # Before the model is opened: what may not judge needs no key.
    check_family(str(model), str(made.settings["generator"]))
    opened = open_model(model)
    settings = settings_of(
        made.settings,
        f"{opened}:{version()}",
        model=str(opened),
        family=family_of(str(opened)),
    )
    results.append([{"run": run_id(settings), "settings": settings}])
    rows = [(pair, row_of(settings, pair.about())) for pair in pairs]
    todo = [(pair, row) for pair, row in rows if not results.has(row["key"])]
    return asyncio.run(_judge(opened, todo, len(rows), results, at_once, told))


def check_family(model: str, generator: str) -> None:
    """Nothing, when the two are of different families.

    Raises:
        InputError: they are of one: a model would rate its own kind.
    """
    if family_of(model) == family_of(generator):
        raise InputError(
            f"a judge must be of another family than the generator; {model!r} and {generator!r} "
            f"are both {family_of(model)}"
        )


async def _judge(
    model: "Model",
    todo: Sequence[tuple[Pair, dict[str, Any]]],
    total: int,
    results: ResultFile,
    at_once: int,
    told: Callable[[int, int], None],
) -> Judging:
    gate, outcomes, config = (
        asyncio.Semaphore(at_once),
        Counter[str](),
        structured("ratings", schema(), max_tokens=MAX_TOKENS, timeout_s=TIMEOUT_S),
    )
    kept = total - len(todo)

    async def one(pair: Pair, row: dict[str, Any]) -> None:
        async with gate:
            outcome, rating, detail = await _ask(model, pair, config)
        results.append([_finished(row, outcome, rating, detail)])
        outcomes[outcome.value] += 1
        told(kept + outcomes.total(), total)

    await asyncio.gather(*(one(pair, row) for pair, row in todo))
    return Judging(dict(sorted(outcomes.items())), kept)


def _finished(
    row: Mapping[str, Any], outcome: Judged, rating: Rating | None, detail: str
) -> dict[str, Any]:
    failed = {"error": detail} if outcome is Judged.ERROR else {}
    said = rating.to_dict() if rating is not None else {"marks": None, "preference": None}
    return {**row, "outcome": outcome.value, **said, "detail": detail, **failed}


async def _ask(
    model: "Model", pair: Pair, config: "GenerateConfig"
) -> tuple[Judged, Rating | None, str]:
    try:
        output = await model.generate(prompt_of(pair), config=config)
    except Exception as error:  # each vendor's library has its own classes
        return Judged.ERROR, None, redacted(f"{type(error).__name__}: {error}")
    return _read(output, pair)


def _read(output: "ModelOutput", pair: Pair) -> tuple[Judged, Rating | None, str]:
    if output.error or not output.choices:
        return Judged.ERROR, None, redacted(output.error or "the reply is empty")
    if output.stop_reason == "content_filter":
        return Judged.FILTERED, None, "stopped by a content filter"
    rating = read_reply(output.completion, pair.order)
    if rating is not None:
        return Judged.SCORED, rating, ""
    if declines(output.completion):
        return Judged.REFUSED, None, "the judge declined in words"
    return Judged.UNPARSED, None, redacted(f"no rating ({output.stop_reason}): {output.completion}")
