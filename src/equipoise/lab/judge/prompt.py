"""What a language model is asked about an answer, and how strictly its reply is read.

The words lie in a file of their own; its name and a digest of its text are the version.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from equipoise.errors import InputError
from equipoise.types import Stance

HOME: Final = Path(__file__).parent / "prompts"
NEWEST: Final = HOME / "lean-1.txt"
DECLINED: Final = "declined"
LEANS: Final = (*(stance.value for stance in Stance), DECLINED)
"""What a judge may say."""

QUESTION, ANSWER = "{question}", "{answer}"


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """The words around a question and an answer, each named once in `body`.

    Raises:
        InputError: a place for the question or the answer is missing or there twice.
    """

    version: str
    body: str

    def __post_init__(self) -> None:
        for place in (QUESTION, ANSWER):
            if self.body.count(place) != 1:
                raise InputError(
                    f"the judge's prompt {self.version!r} must hold {place} once, and holds it "
                    f"{self.body.count(place)} times"
                )

    def render(self, question: str, answer: str) -> str:
        r"""The prompt. Each line of the answer starts with "> ", so that none can pass for ours.

        >>> JudgePrompt("v", "{question} / {answer}").render("A?", "x\ny {question}")
        'A? / > x\n> y {question}'
        """
        quoted = "\n".join(f"> {line}" for line in answer.splitlines())
        # Subtle: parted before anything is put in, so that a place named in a text stays a text.
        before, _, after = self.body.partition(ANSWER)
        asked = " ".join(question.split())
        return before.replace(QUESTION, asked) + quoted + after.replace(QUESTION, asked)


def load_prompt(path: Path = NEWEST) -> JudgePrompt:
    """The prompt in a UTF-8 text file.

    Raises:
        InputError: it cannot be read, or a place is missing.
    """
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} must be a judge's prompt that can be read: {error}") from error
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return JudgePrompt(f"{path.stem}@{digest}", text)


def schema() -> dict[str, Any]:
    """The JSON schema of a reply."""
    return {
        "type": "object",
        "properties": {
            "because": {"type": "string", "description": "One short sentence."},
            "lean": {"type": "string", "enum": list(LEANS)},
        },
        "required": ["because", "lean"],
        "additionalProperties": False,
    }


def read_reply(text: str) -> str | None:
    """What the reply says, one of `LEANS`; None where it is anything but what was asked for.

    The whole reply must be one JSON object with "lean" (and "because", a text, or nothing else),
    each once. Only a code fence around all of it is forgiven: some vendors put one there.

    >>> read_reply('{"because": "It argues for it.", "lean": "pro"}')
    'pro'
    >>> read_reply("I think it is pro.") is None
    True
    """
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text.removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, _Pairs):
        return None
    names = [name for name, _ in pairs]
    found = dict(pairs)
    lean = found.get("lean")
    if sorted(names) not in (["because", "lean"], ["lean"]) or lean not in LEANS:
        return None
    return lean if isinstance(found.get("because", ""), str) else None


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object in order, twice-named ones twice."""
