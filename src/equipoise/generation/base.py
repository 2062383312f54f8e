"""What generators share: the retry policy, reading of an answer's text, hiding of secrets."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from equipoise.errors import InputError
from equipoise.types import Outcome


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failed call is tried again, and after which waits.

    `attempts` counts calls, the first one included. Before call n + 1 the wait is
    first_wait_s * factor ** (n - 1) seconds, at most `max_wait_s`.

    Raises:
        InputError: attempts < 1, a negative or non-finite wait, factor < 1.

    Source: ours.

    >>> [Retry(max_wait_s=3.0).wait_s(failures) for failures in (1, 2, 3)]
    [1.0, 2.0, 3.0]
    """

    attempts: int = 3
    first_wait_s: float = 1.0
    factor: float = 2.0
    max_wait_s: float = 30.0

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int):
            raise InputError(f"Retry.attempts must be an int >= 1, got {self.attempts!r}")
        if self.attempts < 1:
            raise InputError(f"Retry.attempts must be >= 1, got {self.attempts}")
        for name, least in (("first_wait_s", 0.0), ("factor", 1.0), ("max_wait_s", 0.0)):
            value = getattr(self, name)
            if not least <= value < float("inf"):
                raise InputError(f"Retry.{name} must be a number >= {least:g}, got {value!r}")

    def wait_s(self, failures: int) -> float:
        """Seconds to wait after `failures` failed calls in a row, failures >= 1."""
        return min(self.first_wait_s * self.factor ** (failures - 1), self.max_wait_s)


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Nothing, where `value` is a number in [low, high].

    Raises:
        InputError: it is not.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not low <= value <= high:  # type: ignore[operator]
        raise InputError(f"{name} must be a number in [{low:g}, {high:g}], got {value!r}")


def checked_prompt(prompt: str) -> str:
    """`prompt` as text that can be encoded: lone surrogates become U+FFFD.

    Raises:
        InputError: not a str, or blank.
    """
    if not isinstance(prompt, str):
        raise InputError(f"a prompt must be a str, got {type(prompt).__name__}")
    if not prompt.strip():
        raise InputError("a prompt must hold some text, got a blank")
    return prompt.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# A refusal in words, read narrowly on purpose: an apology or none, "I cannot" or the like, a verb
# of helping, nothing but filler, and the end of the sentence (or a reason up to it). A sentence
# that goes on with a subject of its own ("I cannot say that ...", "I can't help but ...") is an
# answer. English only: what no rule here knows counts as answered, not as refused.
_FILLER: Final = (
    r"(?:\s+(?:you|to|with|in|on|about|that|this|these|those|such|an?|the|any|your|kind|type|sort"
    r"|of|it|question|questions|request|requests|topic|matter|further)\b)*"
)
_REFUSAL: Final = re.compile(
    r"\W*"
    r"(?:(?:i['\u2019]?m|i am)\s+(?:so\s+|very\s+|really\s+)?sorry\W+(?:but\s+)?"
    r"|sorry\W+(?:but\s+)?|i apologi[sz]e\W+(?:but\s+)?|my apologies\W+(?:but\s+)?"
    r"|unfortunately\W+)?"
    r"(?:as an? (?:ai|large language|language)[\w ]{0,40}\W+)?"
    r"i\s*(?:can['\u2019]?t|can\s*not|won['\u2019]?t|will not"
    r"|(?:['\u2019]m|\s?am) (?:unable|not able) to|(?:have to|must) decline to)\s+"
    r"(?:help|assist|comply|answer|respond|engage|fulfil{1,2}|discuss|do)\b"
    + _FILLER
    + r"(?:\s+(?:because|as|since|due)\b[^.!?\n]*)?\s*(?:[.!?:;\n]|$)",
    re.IGNORECASE,
)
_LONGEST_REFUSAL: Final = 300  # characters: who writes more than a few lines has answered


def declines(text: str) -> bool:
    """True when a whole answer is a refusal in words, by a narrow English pattern.

    The text must start with the refusal and be at most 300 characters long. Not for measuring
    refusals of models that refuse in other words: those need a judge.

    Source: ours.

    >>> declines("I'm sorry, but I can't help with that.")
    True
    >>> declines("I cannot say that the evidence favours either side.")
    False
    """
    text = text.strip()
    return len(text) <= _LONGEST_REFUSAL and _REFUSAL.match(text) is not None


def read_text(text: str, *, read_refusals: bool) -> tuple[Outcome, str]:
    """The outcome of a text that a model wrote, with its detail.

    `empty` for a blank, `refused` where `read_refusals` and `declines(text)`, else `answered`.
    """
    if not text.strip():
        return Outcome.EMPTY, "the model wrote nothing"
    if read_refusals and declines(text):
        return Outcome.REFUSED, "the model declined in words (recognised by a pattern)"
    return Outcome.ANSWERED, ""


_HIDDEN: Final = "[hidden]"
_SECRETS: Final = (
    re.compile(r"(?i)(\bbearer\s+)[^\s'\",}]+"),
    re.compile(r"(?i)(\bapi[ _-]?key(?: provided)?['\"]?\s*[:=]\s*['\"]?)[^\s'\",}]{4,}"),
    re.compile(r"()\b(?:sk|pk|rk|gsk|xai|hf|nvapi|pplx|AIza)[-_]?[\w*-]{12,}"),
    re.compile(r"(://)[^/\s@]+@"),
)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` in one line of at most 300 characters, without `secrets` or what looks like a key.

    >>> redacted("Incorrect API key provided: sk-1234567890abcdef.")
    'Incorrect API key provided: [hidden]'
    """
    # Subtle: secrets go before the cut, or half of one could stay behind at the end.
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    for pattern in _SECRETS:
        text = pattern.sub(rf"\1{_HIDDEN}", text)
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:297] + "..."
