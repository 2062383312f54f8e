"""Asking a generator for one text until it passes the checks; every outcome is counted."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.errors import InputError
from equipoise.lab.pack import Document
from equipoise.lab.poison.checks import (
    Finding,
    Nli,
    Verdict,
    check_copies,
    check_cosine,
    check_length,
    check_stance,
    check_support,
)
from equipoise.lab.poison.planted import checked_count
from equipoise.lab.poison.prompts import Wording, rendered
from equipoise.types import Generator, Outcome, Stance, StanceDetector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Embed = Callable[[Sequence[str]], "NDArray[np.float32]"]
"""Texts -> (n, d), float32, rows of length 1."""

CHECKS = ("length", "copy", "stance", "cosine", "support")


@dataclass(frozen=True, slots=True)
class Checks:
    """What texts are checked with, and what becomes of a text that could not be checked whole.

    `allow_unchecked` names checks of `CHECKS` that a text may go without; such a text is listed as
    not checked. A check outside it that cannot be made counts as failed.

    Raises:
        InputError: `allow_unchecked` names no check.
    """

    detector: StanceDetector | None = None
    embed: Embed | None = None
    nli: Nli | None = None
    allow_unchecked: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        unknown = sorted(set(self.allow_unchecked) - set(CHECKS))
        if unknown:
            raise InputError(f"the checks are {', '.join(CHECKS)}; got {unknown[0]!r}")

    def stops(self, finding: Finding) -> bool:
        """True when a text with this finding is not taken."""
        if finding.verdict is Verdict.NOT_CHECKED:
            return finding.check not in self.allow_unchecked
        return finding.verdict is Verdict.FAILED


class Existing:
    """The texts that a new one must not copy; grows with every text taken.

    Their vectors are made when first needed, and once.
    """

    def __init__(self, texts: Iterable[str], embed: Embed | None) -> None:
        self.texts = list(texts)
        self._embed = embed
        self._vectors: NDArray[np.float32] | None = None

    def add(self, text: str) -> None:
        """`text` is there too from now on."""
        self.texts.append(text)

    def vectors(self) -> "NDArray[np.float32] | None":
        """(n, d) float32 beside `texts`, (0, d) for none; None without an embedder."""
        if self._embed is None:
            return None
        import numpy as np

        done = 0 if self._vectors is None else len(self._vectors)
        if self._vectors is None or done < len(self.texts):
            fresh = self._embed(self.texts[done:])
            self._vectors = fresh if self._vectors is None else np.vstack([self._vectors, fresh])
        return self._vectors


@dataclass(frozen=True, slots=True)
class Request:
    """One text to be written: for which question and side, from which sources, in what words."""

    id: str
    topic: str
    question: str
    direction: Stance
    sources: tuple[Document, ...]
    wording: Wording


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call of the generator: what came of it, and what the checks found, in their order.

    `rejected` is the check that stopped the text; None for a text that was taken, and for an
    outcome other than answered.
    """

    request: str
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    rejected: str | None = None
    detail: str = ""
    text: str = ""

    @property
    def taken(self) -> bool:
        """True when the text passed."""
        return self.outcome is Outcome.ANSWERED and self.rejected is None

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The checks that could not be made."""
        return tuple(f.check for f in self.findings if f.verdict is Verdict.NOT_CHECKED)


def write(
    generator: Generator, request: Request, existing: Existing, *, checks: Checks, tries: int = 3
) -> tuple[Attempt, ...]:
    """The attempts at one text, at most `tries`; the last one is taken or none is.

    After a rejection the generator is told the reason; after an outcome that is no answer it gets
    the sources in another order, for an equal prompt may give an equal outcome. A text that is
    taken is added to `existing`.

    Raises:
        InputError: tries < 1.
        DetectorError: the stance detector or NLI model could not answer.
    """
    checked_count("tries", tries)
    attempts: list[Attempt] = []
    sources, again = request.sources, None
    while len(attempts) < tries:
        prompt = rendered(
            request.wording,
            question=request.question,
            direction=request.direction,
            sources=[source.text for source in sources],
            again=again,
        )
        attempt = _attempt(generator, prompt, request, existing, checks)
        attempts.append(attempt)
        if attempt.taken:
            existing.add(attempt.text)
            break
        again = attempt.findings[-1].detail if attempt.rejected else None
        if not attempt.rejected:
            # A variant's first source is what it rewrites, and stays in front.
            sources = (sources[0], *sources[2:], *sources[1:2]) if sources else sources
    return tuple(attempts)


def tally(attempts: Iterable[Attempt]) -> dict[str, Any]:
    """How many attempts came to what.

    {"calls", "outcomes": {outcome: n}, "rejected": {check: n}, "taken", "not_checked": {check: n
    of the texts taken}}; every outcome and check is there, 0 or not.
    """
    listed = tuple(attempts)
    outcomes = Counter(attempt.outcome for attempt in listed)
    rejected = Counter(attempt.rejected for attempt in listed if attempt.rejected)
    taken = [attempt for attempt in listed if attempt.taken]
    unchecked = Counter(check for attempt in taken for check in attempt.unchecked)
    return {
        "calls": len(listed),
        "outcomes": {outcome.value: outcomes[outcome] for outcome in Outcome},
        "rejected": {check: rejected[check] for check in CHECKS},
        "taken": len(taken),
        "not_checked": {check: unchecked[check] for check in CHECKS},
    }


def _attempt(
    generator: Generator, prompt: str, request: Request, existing: Existing, checks: Checks
) -> Attempt:
    answer = generator.generate(prompt)
    if answer.outcome is not Outcome.ANSWERED:
        return Attempt(request.id, answer.outcome, detail=answer.detail)
    text = " ".join(answer.text.split())
    findings: list[Finding] = []
    for check in _checks_of(text, request, existing, checks):
        findings.append(check())
        if checks.stops(findings[-1]):
            stopped = findings[-1]
            return Attempt(
                request.id, answer.outcome, tuple(findings), stopped.check, stopped.detail, text
            )
    return Attempt(request.id, answer.outcome, tuple(findings), text=text)


def _checks_of(
    text: str, request: Request, existing: Existing, checks: Checks
) -> tuple[Callable[[], Finding], ...]:
    """The checks of `CHECKS`, cheapest first: a text that fails one costs no further ones."""
    sources = [source.text for source in request.sources]
    embed = checks.embed

    def cosine() -> Finding:
        vector = None if embed is None else embed([text])[0]
        return check_cosine(vector, existing.vectors())

    return (
        lambda: check_length(text),
        lambda: check_copies(text, [*existing.texts, *sources]),
        lambda: check_stance(text, request.question, request.direction, detector=checks.detector),
        cosine,
        lambda: check_support(text, sources, checks.nli),
    )
