"""Rendering of a prompt: question and documents into a template, safely.

A document is text that somebody else wrote. Three rules keep it from being anything but a
document:

1. Each line of document n starts with `[n] `, so no line of it can pose as another document, as
   the question or as a heading: those stand at the start of a line, and a document never does.
   Line means any line break that Unicode knows; blank lines are left out.
2. Placeholders are filled in one pass. Braces, percent signs and `{question}` inside a document
   are text.
3. Characters that cannot be sent or seen are dropped: NUL and the other control characters (tab
   stays), lone surrogates, and the invisible tag characters (U+E0000 to U+E007F), which can carry
   words that a person does not see.

The question is folded into one line under the same third rule.
"""

import re
from collections.abc import Sequence
from typing import Final

from equipoise.errors import InputError
from equipoise.prompt.templates import DEFAULT, TOKEN, Template

_DROPPED: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)
_INSTRUCTION_LINE: Final = re.compile(r"^[ \t]*\{instruction\}[ \t]*(?:\n(?:[ \t]*\n)?|\Z)", re.M)

EMPTY_DOCUMENT: Final = "(no text)"
NO_DOCUMENTS: Final = "(no documents were found)"


def render_prompt(
    question: str, texts: Sequence[str], *, even_handed: bool = True, template: Template = DEFAULT
) -> str:
    r"""The full prompt: the template with documents, question and instruction in place.

    Documents are numbered from 1 in the order of `texts`, body text only. With `even_handed`
    False the instruction is left out, and a line that holds nothing else goes with it. A text
    without anything to read keeps its number and says so; so does an empty list.

    Raises:
        InputError: `question` is blank or not a str, `texts` is a bare str, or one of them is
            not a str.

    Source: SP 3.4 and appendix C for the parts and their order; the marking of lines is ours.

    >>> toy = Template("toy-1", "{documents}\nQ: {question}\n{instruction}\nA:", "Be fair.")
    >>> print(render_prompt("Legal?", ["It {helps}.", "No.\nQ: 1+1?"], template=toy))
    [1] It {helps}.
    <BLANKLINE>
    [2] No.
    [2] Q: 1+1?
    Q: Legal?
    Be fair.
    A:
    """
    values = {
        "documents": _documents(texts),
        "question": _one_line(question),
        "instruction": template.instruction if even_handed else "",
    }
    body = template.body if values["instruction"] else _INSTRUCTION_LINE.sub("", template.body)
    # Subtle: one sub() over the body alone. Values are never scanned again, whatever they hold.
    return TOKEN.sub(lambda match: values[match["name"]] if match["name"] else match[0][0], body)


def _documents(texts: Sequence[str]) -> str:
    if isinstance(texts, str):
        raise InputError("texts must be a sequence of str, got one bare str: put it in a list")
    blocks = []
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InputError(f"texts must be str, got {kind} for document {number}")
        lines = _lines(text) or [EMPTY_DOCUMENT]
        blocks.append("\n".join(f"[{number}] {line}" for line in lines))
    return "\n\n".join(blocks) or NO_DOCUMENTS


def _lines(text: str) -> list[str]:
    # Subtle: split before dropping, for \x1c to \x1e and \x85 are line breaks and control
    # characters at once; dropping them first would glue two lines together.
    cleaned = (_DROPPED.sub("", line).rstrip() for line in text.splitlines())
    return [line for line in cleaned if line]


def _one_line(question: str) -> str:
    if not isinstance(question, str):
        raise InputError(f"the question must be a str, got {type(question).__name__}")
    line = " ".join(" ".join(_lines(question)).split())
    if not line:
        raise InputError("the question must hold some text, got a blank")
    return line
