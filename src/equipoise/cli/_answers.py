"""Showing one question in one or several settings: what reached the model, what it answered."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from equipoise.cli._io import page, show, show_selection, write_file
from equipoise.rag import RagAnswer
from equipoise.types import Outcome

HEADINGS = {
    "A": "Setting A: as retrieved",
    "B": "Setting B: balanced",
    "C": "Setting C: balanced, with the even-handedness instruction",
    "D": "Setting D: as retrieved, with the even-handedness instruction",
}


def show_answers(answers: Sequence[RagAnswer], *, prompts: bool = False) -> None:
    """Each setting on the terminal, one after the other."""
    for answer in answers:
        show(f"\n=== {HEADINGS[answer.setting.value]} ===\n")
        show_selection(answer.selection)
        if prompts:
            show(f"\nPrompt:\n{answer.prompt}")
        for line in _answer_lines(answer):
            show(line)


def write_page(answers: Sequence[RagAnswer], path: Path) -> None:
    """Each setting on one self-contained HTML page."""
    parts = []
    for answer in answers:
        told = "".join(f"<blockquote>{escape(line)}</blockquote>" for line in _answer_lines(answer))
        prompt = (
            f"<details><summary>The prompt</summary><pre>{escape(answer.prompt)}</pre></details>"
        )
        fragment = answer.selection.to_html(standalone=False) + told + prompt
        parts.append((HEADINGS[answer.setting.value], fragment))
    write_file(path, page(parts, title=answers[0].selection.question))


def _answer_lines(answer: RagAnswer) -> list[str]:
    if answer.answer is None:
        return []
    got = answer.answer
    tail = f"[{got.model}, {got.latency_ms / 1e3:.1f} s]"
    if got.outcome is Outcome.ANSWERED:
        return [f"Answer {tail}:\n{got.text}"]
    return [f"No answer {tail}: {got.outcome.value}{': ' + got.detail if got.detail else ''}"]


def failed(answers: Sequence[RagAnswer]) -> bool:
    """True when a generator was asked and an answer could not be had (error or empty)."""
    return any(
        a.answer is not None and a.answer.outcome in (Outcome.ERROR, Outcome.EMPTY) for a in answers
    )
