"""What is still to be asked: a setting and a generator in, prompts and rows to be filled out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from equipoise.lab.answers.book import Book, answer_key, digest
from equipoise.lab.answers.evidence import Chosen, Setting
from equipoise.lab.answers.outcomes import Reply
from equipoise.lab.answers.store import verdict_key
from equipoise.lab.results import run_id
from equipoise.prompt import Template, render_prompt
from equipoise.types import Outcome

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Ask:
    """One question in one setting: what the generator is sent, and the row but for its answer.

    `text` is the answer where there is one already that only lacks a verdict.
    """

    key: str
    prompt: str
    row: Mapping[str, Any]
    chosen: Chosen
    text: str | None = None

    @property
    def id(self) -> str:
        """The question's id."""
        return self.chosen.question.id


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting before one generator: the run, its settings, and what is to be done.

    `asks` are in ascending length of their prompts, so that what is read together is of like
    length. `questions` are the ids of all that the setting asks, in the pack's order; those
    without an ask are there and need nothing, or their defence failed.
    """

    run: str
    settings: Mapping[str, Any]
    label: str
    asks: tuple[Ask, ...]
    questions: tuple[str, ...]


def plan(
    setting: Setting,
    generator: Mapping[str, Any],
    template: Template,
    book: Book,
    *,
    judge_run: str | None = None,
) -> Cell:
    """What `book` lacks of one setting; its run is noted down, and so are failed defences.

    Args:
        setting: the chosen documents.
        generator: "generator", "generator_settings", "family" and "code", as results say them.
        template: the words around them.
        book: what is there already.
        judge_run: the digest of the judge, where there is one: an answer without its verdict is
            to be judged.
    """
    settings = {
        **setting.about,
        "format": FORMAT,
        **generator,
        "template": template.version,
    }
    run = run_id(settings)
    book.begin(run, settings)
    asks = []
    for chosen in setting.chosen:
        prompt = render_prompt(
            chosen.question.text,
            [document.text for document in chosen.documents],
            even_handed=chosen.instruct,
            template=template,
        )
        sha = digest(prompt)
        key = answer_key(run, chosen.question.id, sha)
        row = {"key": key, "run": run, **_row(chosen), "prompt_sha": sha}
        there = book.answer(run, chosen.question.id, sha)
        if chosen.error:
            failed = Reply(Outcome.ERROR, detail=chosen.error, fault=chosen.error)
            book.add_answer({**row, **failed.to_row()}, called=False)
        elif there is None:
            asks.append(Ask(key, prompt, row, chosen))
        elif (
            judge_run is not None
            and there["outcome"] == Outcome.ANSWERED
            and not book.has_verdict(verdict_key(judge_run, key))
        ):
            asks.append(Ask(key, prompt, row, chosen, text=there["text"]))
    asks.sort(key=lambda ask: (len(ask.prompt), ask.id))
    questions = tuple(chosen.question.id for chosen in setting.chosen)
    return Cell(run, settings, setting.label, tuple(asks), questions)


def _row(chosen: Chosen) -> dict[str, Any]:
    return {
        "question": chosen.question.id,
        "topic": chosen.question.topic,
        "group": chosen.group,
        "chosen": [document.id for document in chosen.documents],
        "evidence": [dict(part) for part in chosen.evidence],
        "planted": sum(bool(part["planted"]) for part in chosen.evidence),
    }
