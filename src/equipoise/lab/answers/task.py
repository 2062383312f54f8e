"""The evaluation as inspect sees it: a sample a question, two solvers, and the judge as scorer.

This file imports inspect-ai.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import CachePolicy, ChatMessageUser, ModelOutput, get_model
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    metric,
    scorer,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver

from equipoise.lab.answers.book import Book
from equipoise.lab.answers.generators import Asked
from equipoise.lab.answers.judging import Judging
from equipoise.lab.answers.outcomes import Reply, read_failure, read_output
from equipoise.lab.answers.plan import Ask, Cell
from equipoise.lab.answers.store import VALUES, Judged
from equipoise.types import Outcome

_CACHE = CachePolicy(expiry=None, per_epoch=False)
"""For ever, and whatever the setting: equal prompts get equal answers from one model."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What the parts of one task share: what to ask, whom, and where it is written down."""

    asks: Mapping[str, Ask]
    generator: Asked
    book: Book
    judging: Judging | None

    # What inspect writes into its log in place of the object.
    def __str__(self) -> str:
        return f"{len(self.asks)} questions to {self.generator.name}"


def make_task(cell: Cell, generator: Asked, book: Book, judging: Judging | None) -> Task:
    """The task of one cell; what it finds out is in the book, and in inspect's log."""
    desk = Desk({ask.id: ask for ask in cell.asks}, generator, book, judging)
    said = cell.settings
    return Task(
        name=cell.label.replace(" / ", "-"),
        dataset=MemoryDataset([_sample(ask, said) for ask in cell.asks], name=str(said["pack"])),
        solver=[documents_in_prompt(desk), written_down(desk)],
        scorer=None if judging is None else stance_of_answer(desk),
        metadata={"run": cell.run, "settings": dict(said)},
    )


def _sample(ask: Ask, settings: Mapping[str, Any]) -> Sample:
    attack = settings["attack"]
    return Sample(
        input=ask.chosen.question.text,
        id=ask.id,
        metadata={
            "corpus": settings["corpus"],
            "direction": attack.get("direction"),
            "share": attack.get("mean_share", 0.0),
            "defence": settings["defence"],
            "topic": ask.row["topic"],
            "chosen": ask.row["chosen"],
            "planted": ask.row["planted"],
        },
    )


@solver
def documents_in_prompt(desk: Desk) -> Solver:
    """Put the chosen documents and the instruction, where the setting has one, into the prompt."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.messages = [ChatMessageUser(content=desk.asks[str(state.sample_id)].prompt)]
        return state

    return solve


@solver
def written_down(desk: Desk) -> Solver:
    """Ask the model, and write its answer down at once; what is there is not asked again.

    A call that fails is a row too, and never ends the task. After the book says stop, no call is
    made: what is under way is still written down.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        ask = desk.asks[str(state.sample_id)]
        if ask.text is not None:
            state.output = ModelOutput.from_content(desk.generator.name, ask.text)
        elif not desk.book.stopped:
            reply, cost = await _asked(ask, desk, state)
            row = {**ask.row, **reply.to_row()}
            desk.book.add_answer(row if cost is None else {**row, "cost": cost})
        return state

    return solve


async def _asked(ask: Ask, desk: Desk, state: TaskState) -> tuple[Reply, float | None]:
    """The reply, and its cost where there is a price; an answer from the cache costs nothing."""
    # Exactly this call and no other setting: they are the key of inspect's cache.
    call = get_model().generate([ChatMessageUser(content=ask.prompt)], cache=_CACHE)
    try:
        output = await call
    except Exception as error:  # whatever a provider raises: a failed call is an outcome
        return read_failure(error), None
    state.output = output
    if output.choices:
        state.messages.append(output.message)
    reply = read_output(output, context_tokens=desk.generator.context_tokens)
    price = desk.generator.price
    if price is None or output.usage is None:
        return reply, None
    return reply, 0.0 if _from_cache() else price.cost(output.usage)


def _from_cache() -> bool:
    """True where this sample's last call was answered from inspect's cache."""
    events = [event for event in transcript().events if isinstance(event, ModelEvent)]
    return bool(events) and events[-1].cache == "read"


@metric
def stance_score() -> Metric:
    """Mean of +1, 0 and -1 over the answers with a stance; NaN without one. Source: SP eq. 1."""

    def measure(scores: list[SampleScore]) -> float:
        values = [score.score.as_float() for score in scores]
        return sum(values) / len(values) if values else float("nan")

    return measure


@metric
def scored() -> Metric:
    """How many answers have a stance."""

    def measure(scores: list[SampleScore]) -> float:
        return float(len(scores))

    return measure


@scorer(metrics=[stance_score(), scored()])
def stance_of_answer(desk: Desk) -> Scorer:
    """The judge's verdict; an answer without a stance is unscored and never 0."""

    async def score(state: TaskState, target: Target) -> Score:
        ask = desk.asks[str(state.sample_id)]
        row = desk.book.answer(ask.row["run"], ask.id, ask.row["prompt_sha"])
        if row is None:
            return Score.unscored(reason=str(Judged.MISSING if desk.book.stopped else Judged.ERROR))
        if row["outcome"] != Outcome.ANSWERED:
            return Score.unscored(reason=row["outcome"], explanation=row["detail"])
        assert desk.judging is not None
        verdict = await desk.judging.read(ask.chosen.question.text, row, desk.book)
        if verdict.outcome is not Judged.SCORED or verdict.stance is None:
            return Score.unscored(reason=verdict.outcome.value, explanation=verdict.detail)
        return Score(
            value=VALUES[verdict.stance], answer=verdict.stance.value, explanation=verdict.detail
        )

    return score
