"""New documents held against a corpus before they come in: would they tilt a question?

A document alone is never one-sided: every argument is. So a batch is judged as a whole, by the same
exact test as a shift, and a drip of small batches by the baseline: what has come in since then
counts together with what wants to come in now.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from equipoise.audit.judging import (
    ARRIVED,
    Suspicion,
    corrected,
    newcomers,
    require_comparable,
    shift,
    within,
)
from equipoise.audit.near import digest_of, passages_of
from equipoise.audit.records import Audit, Audited, Finding, Passage, Question, mix_of
from equipoise.errors import InputError
from equipoise.retrieval import Embedder, MemoryRetriever, chunk_document
from equipoise.selection.duplicates import fold
from equipoise.stance.base import detect_checked
from equipoise.types import Candidate, StanceDetector


class Mode(StrEnum):
    """What becomes of documents that would tilt a question."""

    WARN = "warn"  # they come in, and are named
    QUARANTINE = "quarantine"  # they are kept apart, with reasons; the others come in
    STRICT = "strict"  # nothing of the batch comes in


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a document is held: the question it would tilt, and the finding it is part of."""

    question: Question
    finding: Finding
    rank: int


@dataclass(frozen=True, slots=True)
class Screening:
    """A batch that was judged: `accepted` and `held` together are all of it, in order given.

    `reasons` names, by document id, why a document was found to tilt a question; in mode warn such
    documents are accepted all the same.
    """

    mode: Mode
    accepted: tuple[Candidate, ...]
    held: tuple[Candidate, ...]
    reasons: dict[str, tuple[Reason, ...]]
    findings: tuple[tuple[Question, Finding], ...]

    @property
    def passed(self) -> bool:
        """True when no document was found to tilt a question."""
        return not self.reasons


def screen(
    documents: Iterable[Candidate],
    standing: Audit,
    *,
    embedder: Embedder,
    detector: StanceDetector,
    mode: Mode | str = Mode.QUARANTINE,
    chunk_words: int | None = None,
    baseline: Audit | None = None,
) -> Screening:
    """Which of the new documents may come in.

    Args:
        documents: the batch; ids must be unique.
        standing: an audit of the corpus as it is (`audit(...)`), whose questions are watched.
        embedder: the one of the corpus's index.
        detector: the one that labelled the audit.
        mode: see `Mode`.
        chunk_words: cut documents into passages of this size, as the index does; None does not.
        baseline: an earlier audit to trust: what came near since then counts with the batch.

    A passage counts at a question when it would come within `Settings.depth`; one that it takes
    the place of, by its id and with another text, no longer counts. Of a
    batch that tilts a question, the documents of the leading side are the ones to be held.

    Raises:
        InputError: another mode, detector or baseline, ids that repeat, or an audit without scores.
        DetectorError, EmbedderError: a model failed.

    Cost: an embedding a passage, and a label for each question that it comes near.
    """
    mode = _mode(mode)
    if detector.name != standing.detector:
        raise InputError(
            f"the detector must be the audit's, {standing.detector!r}, got {detector.name!r}"
        )
    if baseline is not None:
        require_comparable(standing, baseline)
    batch = list(documents)
    owners, passages = _passages(batch, chunk_words)
    retriever = MemoryRetriever(passages, embedder) if passages else None
    fresh = {passage.id: digest_of(passage.text) for passage in passages}
    suspicions, ranks = [], []
    for number, seen in enumerate(standing.questions):
        audited = replace(seen, passages=tuple(_staying(seen.passages, fresh)))
        found = [] if retriever is None else _coming_near(retriever, audited, standing)
        suspicion, rank = _tested(number, audited, found, detector, standing, baseline)
        if suspicion is not None:
            suspicions.append(suspicion)
            ranks.append(rank)
    reasons: dict[str, list[Reason]] = {}
    kept = corrected(suspicions, standing.settings)
    rank_of = {s.question: rank for s, rank in zip(suspicions, ranks, strict=True)}
    for suspicion in kept:
        question = standing.questions[suspicion.question].question
        for passage in suspicion.finding.passages:
            if passage in rank_of[suspicion.question]:
                place = rank_of[suspicion.question][passage]
                held = reasons.setdefault(owners[passage], [])
                if question not in [reason.question for reason in held]:
                    held.append(Reason(question, suspicion.finding, place))
    return _sorted(batch, mode, reasons, standing, kept)


def _sorted(
    batch: Sequence[Candidate],
    mode: Mode,
    reasons: dict[str, list[Reason]],
    standing: Audit,
    kept: Sequence[Suspicion],
) -> Screening:
    held: Callable[[Candidate], bool] = {
        Mode.WARN: lambda document: False,
        Mode.QUARANTINE: lambda document: document.id in reasons,
        Mode.STRICT: lambda document: bool(reasons),
    }[mode]
    return Screening(
        mode,
        tuple(d for d in batch if not held(d)),
        tuple(d for d in batch if held(d)),
        {d.id: tuple(reasons[d.id]) for d in batch if d.id in reasons},
        tuple((standing.questions[s.question].question, s.finding) for s in kept),
    )


def _tested(
    number: int,
    audited: Audited,
    found: Sequence[Candidate],
    detector: StanceDetector,
    standing: Audit,
    baseline: Audit | None,
) -> tuple[Suspicion | None, dict[str, int]]:
    """The test at one question, and the rank that each new passage would have there."""
    scores = detect_checked(detector, audited.question.text, [c.text for c in found])
    new = passages_of(found, scores, standing.settings.fields)
    came = newcomers(new, audited.passages)
    if not mix_of(came).sided:
        return None, {}
    since, before = _since(audited, standing, baseline)
    # Families are numbered by list: those of the corpus are moved out of the batch's way.
    together = [*(replace(passage, family=-passage.family) for passage in since), *came]
    ranks = {passage.id: _rank(passage, audited.passages) for passage in came}
    return next(iter(shift(number, ARRIVED, together, before))), ranks


def _since(
    audited: Audited, standing: Audit, baseline: Audit | None
) -> tuple[Sequence[Passage], Sequence[Passage]]:
    """What came near the question since the baseline and is in the corpus, and what was before."""
    if baseline is not None:
        text = fold(audited.question.text)
        for old in baseline.questions:
            if fold(old.question.text) == text:
                came = newcomers(audited.passages, old.passages)
                return within(came, audited, standing.settings.depth), old.passages
    return (), audited.passages


def _staying(passages: Iterable[Passage], fresh: Mapping[str, str]) -> Iterator[Passage]:
    """The passages that the batch does not replace: id -> digest of its own."""
    return (p for p in passages if fresh.get(p.id, p.digest) == p.digest)


def _coming_near(retriever: MemoryRetriever, audited: Audited, standing: Audit) -> list[Candidate]:
    """The new passages that would be within `depth`, best first."""
    settings, passages = standing.settings, audited.passages
    lowest = -1.0 if settings.floor is None else settings.floor
    reach = min(settings.depth, settings.near)
    if len(passages) >= reach:
        last = passages[reach - 1].score
        if last is None:
            raise InputError(
                "new documents are held against cosines, and the audit has no scores: audit with "
                "a retriever that gives the cosine as score (mode dense)"
            )
        lowest = max(lowest, last)
    found = retriever.retrieve(audited.question.text, reach)
    return [c for c in found if c.score is not None and c.score >= lowest]


def _rank(passage: Passage, standing: Sequence[Passage]) -> int:
    score = passage.score or 0.0
    return 1 + sum((old.score or 0.0) >= score for old in standing)


def _passages(
    batch: Sequence[Candidate], chunk_words: int | None
) -> tuple[dict[str, str], list[Candidate]]:
    """Passage id -> document id, and the passages."""
    ids = [document.id for document in batch]
    if len(set(ids)) < len(ids):
        twice = next(one for one in ids if ids.count(one) > 1)
        raise InputError(f"ids of new documents must be unique, and {twice!r} is there twice")
    cut = [
        (document, passage)
        for document in batch
        for passage in (
            [document] if chunk_words is None else chunk_document(document, max_words=chunk_words)
        )
        if not passage.is_blank
    ]
    return {passage.id: document.id for document, passage in cut}, [p for _, p in cut]


def _mode(mode: Mode | str) -> Mode:
    try:
        return Mode(mode)
    except ValueError as error:
        raise InputError(f"the mode must be one of {', '.join(Mode)}, got {mode!r}") from error
