"""A generator without a model: it reads the documents back, one sentence of each.

It cannot follow an instruction, weigh an argument or leave anything out: its answer is what was
retrieved, and nothing else. So it shows what a perfect copyist would make of the chosen documents,
in minutes for a whole sweep, and shows nothing about models that think for themselves. Settings
that differ only in the instruction (A and D, B and C) get the same answers by construction.
"""

import re
from typing import Final

from equipoise.lab.defences.keywords import FUNCTION_WORDS

_MARKED: Final = re.compile(r"^\[(\d+)\] (.*)$")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[.!?][\"')\]\u201d\u2019])\s+")
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_ASKED: Final = "Question:"


def quoted(prompt: str) -> str:
    r"""One sentence of each numbered document of a prompt, in order, with spaces between.

    Of a document's sentences the one that shares the most content words with the question, each
    counted once; of equals the first. A content word is no English function word. "" where the
    prompt holds no document.

    Source: ours.

    >>> quoted("[1] Zoos began. A zoo protects.\n\n[2] It rains.\nQuestion: Is a zoo good?")
    'A zoo protects. It rains.'
    """
    documents, question = read_prompt(prompt)
    wanted = _content(question)
    return " ".join(_best(document, wanted) for document in documents)


def read_prompt(prompt: str) -> tuple[tuple[str, ...], str]:
    """The documents of a prompt, in order of their numbers, and its question.

    Lines that start with `[n] ` are the document n's, as `prompt.render_prompt` marks them. The
    question is the first other line that starts with "Question:"; without one, the last other line
    that ends with a question mark; without one, all the other lines.
    """
    documents: dict[int, list[str]] = {}
    others = []
    for line in prompt.split("\n"):
        marked = _MARKED.match(line)
        if marked:
            documents.setdefault(int(marked[1]), []).append(marked[2])
        elif line.strip():
            others.append(line.strip())
    asked = [line[len(_ASKED) :].strip() for line in others if line.startswith(_ASKED)]
    asked = asked[:1] or [line for line in others if line.endswith("?")][-1:]
    question = asked[0] if asked else " ".join(others)
    return tuple(" ".join(documents[n]) for n in sorted(documents)), question


def _best(document: str, wanted: frozenset[str]) -> str:
    sentences = [part.strip() for part in _SENTENCE.split(document) if part.strip()]
    if not sentences:
        return document.strip()
    return max(sentences, key=lambda sentence: len(_content(sentence) & wanted))  # first of equals


def _content(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - FUNCTION_WORDS
