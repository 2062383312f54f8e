"""Showing one question in one or several settings: what reached the model, what it answered."""

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from equipoise.cli._io import page, show, show_selection, write_file
from equipoise.rag import RagAnswer
from equipoise.render.cleaning import clean
from equipoise.selection.gate import Verdict
from equipoise.types import Outcome

Remark = Callable[[RagAnswer], str]

_KEPT = {
    Verdict.NOT_CONTESTED: "not contested",
    Verdict.ONE_SIDED: "only one side was found",
    Verdict.NEVER: "the gate is set to never",
    Verdict.UNLABELLED: "the stance detector failed",
}


def heading(answer: RagAnswer) -> str:
    """The setting and what it did: a question of fact is neither balanced nor given a guide."""
    setting, decision = answer.setting, answer.selection.decision
    if not setting.balances:
        done = "as retrieved"
    elif decision.balance:
        done = "balanced"
    else:
        why = _KEPT.get(decision.verdict, decision.verdict.value.replace("_", " "))
        return f"Setting {setting.value}: order of relevance kept ({why})"
    instructed = ", with the even-handedness instruction" if setting.instructs else ""
    return f"Setting {setting.value}: {done}{instructed}"


def show_answers(
    answers: Sequence[RagAnswer], *, prompts: bool = False, remark: Remark | None = None
) -> None:
    """Each setting on the terminal, one after the other; `remark` is a line on each."""
    for answer in answers:
        show(f"\n=== {heading(answer)} ===\n")
        show_selection(answer.selection)
        if remark is not None:
            show(remark(answer))
        if prompts:
            show(f"\nPrompt:\n{answer.prompt}")
        for line in _answer_lines(answer):
            show(line)


def write_page(answers: Sequence[RagAnswer], path: Path, *, remark: Remark | None = None) -> None:
    """Each setting on one self-contained HTML page; `remark` is a line on each."""
    parts = []
    for answer in answers:
        remarked = "" if remark is None else f"<p>{escape(remark(answer))}</p>"
        told = "".join(
            f"<blockquote>{escape(clean(line))}</blockquote>" for line in _answer_lines(answer)
        )
        prompt = escape(clean(answer.prompt))
        folded = f"<details><summary>The prompt</summary><pre>{prompt}</pre></details>"
        fragment = answer.selection.to_html(standalone=False) + remarked + told + folded
        parts.append((heading(answer), fragment))
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
