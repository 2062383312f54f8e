"""The audit: questions asked of a retriever, what is near them labelled, and what that shows."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from equipoise.audit.judging import judged
from equipoise.audit.near import look
from equipoise.audit.records import Audit, Question, Settings
from equipoise.errors import InputError
from equipoise.selection.duplicates import fold
from equipoise.types import Retriever, StanceDetector

Progress = Callable[[int, int], None]
"""Is told how many questions are done, and how many there are."""


def audit(
    retriever: Retriever,
    questions: Iterable[Question | str],
    *,
    detector: StanceDetector,
    settings: Settings | None = None,
    corpus: str = "",
    date: str = "",
    against: Audit | None = None,
    progress: Progress | None = None,
) -> Audit:
    """What a corpus holds for and against at each question, and where it is one-sided.

    Args:
        retriever: finds what is near; its candidates' metadata tell source, language and arrival,
            their embeddings (where they carry them) give Polarization Scores.
        questions: asked in turn; a str gets its number, from 1, as id.
        detector: labels. A `CachedDetector` with a file makes an audit go on where it was stopped,
            and a second one cost only what is new.
        settings: what is looked at, and when it counts.
        corpus: names what is audited, for the reader and for an earlier audit.
        date: of this audit, in any form; the clock is not read.
        against: an earlier audit, in which shifts are looked for.
        progress: is told after each question.

    Raises:
        InputError: no questions, two of one id or one text, or an earlier audit that cannot be
            compared.
        DetectorError: the detector failed.

    Cost: `near` labels a question. Memory: under 1 KB a passage looked at, texts are not kept.

    >>> from equipoise.testing import FakeDetector, ListRetriever
    >>> texts = {f"{side} {n}": side for side in ("pro", "con") for n in range(3)}
    >>> seen = audit(ListRetriever(texts), ["Should it?"], detector=FakeDetector(texts))
    >>> seen.questions[0].mix()
    Mix(pro=3, con=3, neutral=0)
    """
    asked = _questions(questions)
    chosen = settings if settings is not None else Settings()
    done = []
    for number, question in enumerate(asked, 1):
        done.append(look(retriever, question, detector, chosen))
        if progress is not None:
            progress(number, len(asked))
    seen = Audit(corpus, detector.name, date, chosen, tuple(done))
    return judged(seen, against)


def again(seen: Audit, *, settings: Settings | None = None, against: Audit | None = None) -> Audit:
    """The same audit judged anew, with other thresholds or another earlier audit; nothing is read.

    Raises:
        InputError: `near`, `floor` or `fields` differ (what was seen would differ), or the earlier
            audit cannot be compared.
    """
    chosen = settings if settings is not None else seen.settings
    for name in ("near", "floor", "fields"):
        if getattr(chosen, name) != getattr(seen.settings, name):
            raise InputError(f"{name} decides what is seen: run the audit again to change it")
    return judged(replace(seen, settings=chosen), against)


def _questions(questions: Iterable[Question | str]) -> list[Question]:
    asked = [
        question if isinstance(question, Question) else Question(str(number), question)
        for number, question in enumerate(questions, 1)
    ]
    if not asked:
        raise InputError("an audit needs at least one question, got none")
    seen: set[str] = set()
    texts: dict[str, str] = {}
    for question in asked:
        same = texts.setdefault(fold(question.text), question.id)
        if same != question.id:
            raise InputError(
                f"questions must differ, and {question.id!r} asks what {same!r} asks: "
                f"{question.text!r}. It would count twice"
            )
        if question.id in seen:
            raise InputError(f"ids of questions must be unique, and {question.id!r} is there twice")
        seen.add(question.id)
    return asked
