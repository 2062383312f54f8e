"""What each question is answered from: chosen documents by corpus, defence and question.

Retrieval, labels and defences run once, in the machinery of `lab compare`; every generator and
every judge goes on from its result file.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from equipoise.errors import DetectorError, InputError
from equipoise.lab.cases import DEPTH, Corpus
from equipoise.lab.compare import Progress, Summary, compare
from equipoise.lab.defences.base import Defence
from equipoise.lab.labels import DetectorLabels, Labels, true_stance
from equipoise.lab.pack import Document, Pack, Question
from equipoise.lab.poison.planted import pack_checksums
from equipoise.lab.results import ResultFile, Run, read_results, run_id
from equipoise.lab.vectors import VectorCache
from equipoise.types import Stance, StanceScore

Known = Callable[[Question, Document], Stance | None]
"""The label of a document toward a question where it costs nothing, else None."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """One question and the documents that one defence chose for it, in retrieval order.

    `group` is what intervals resample. `evidence` runs beside `documents`: label, truth, planted.
    With `error` the defence failed, and there are no documents.
    """

    question: Question
    group: str
    documents: tuple[Document, ...] = ()
    evidence: tuple[Mapping[str, Any], ...] = ()
    instruct: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One defence on one corpus: what results say of it, and what it chose for each question."""

    about: Mapping[str, Any]
    chosen: tuple[Chosen, ...]

    @property
    def label(self) -> str:
        """`clean / none`: the corpus, and the defence without its settings."""
        return f"{self.about['corpus']} / {str(self.about['defence']).partition(': ')[0]}"


def gather(
    pack: Pack,
    corpora: Sequence[Corpus],
    defences: Sequence[Defence],
    *,
    labels: Labels,
    label_file: Path | None,
    vectors: VectorCache,
    results: Path,
    depth: int = DEPTH,
    limit: int | None = None,
    progress: Progress | None = None,
) -> tuple[tuple[Setting, ...], Summary]:
    """Every corpus under every defence, corpora first, and what that cost.

    Args:
        pack: the questions, and the truth about its documents.
        corpora: as `lab.compare.compare` takes them.
        defences: as there.
        labels: as there.
        label_file: the SQLite file behind `labels`; a chosen document's label is looked up in it.
        vectors: embed each text once.
        results: a result file of `lab compare`, which is gone on with.
        depth: documents retrieved a question, >= 1.
        limit: questions at most, >= 1, spread over the topics (`spread`); None: all.
        progress: for people who wait.

    Raises:
        InputError: a defence acts on the answer and not on the documents, or what `compare` says.
        MissingExtraError: what `compare` says.
    """
    for defence in defences:
        if getattr(defence, "aggregate", False):
            raise InputError(
                "a defence must choose documents for one prompt; "
                f"{defence.name.partition(': ')[0]!r} asks the model once a document and is not "
                "run here: leave it out of --defences"
            )
    asked = pack if limit is None else replace(pack, questions=spread(pack.questions, limit))
    summary = compare(
        asked,
        corpora,
        defences,
        labels=labels,
        vectors=vectors,
        results=ResultFile(results),
        depth=depth,
        progress=progress,
    )
    # The whole pack's checksum: an answer does not depend on how many questions were asked.
    checksum = run_id(pack_checksums(pack))
    runs = {(run.corpus, run.defence): run for run in read_results(results)[-1]}
    known = _known(labels, label_file)
    settings = []
    for corpus in corpora:
        documents = {d.id: d for d in (*corpus.clean, *corpus.planted)}
        for defence in defences:
            run = runs[corpus.name, defence.name]
            about = {**run.settings, "pack_checksum": checksum}
            del about["code"]  # an answer depends on its prompt, not on how the choice was made
            chosen = tuple(
                _chosen(run, asked, question, corpus, documents, known)
                for question in asked.questions
            )
            settings.append(Setting(about, chosen))
    return tuple(settings), summary


def spread(questions: Sequence[Question], limit: int) -> tuple[Question, ...]:
    """`limit` of the questions: the first of each topic, then the second of each, and so on.

    In the order given; a smaller limit gives a part of what a larger one gives.

    Raises:
        InputError: limit < 1.

    >>> asked = [Question(f"{topic}{n}", topic, "?") for topic in "ab" for n in (1, 2)]
    >>> [question.id for question in spread(asked, 3)]
    ['a1', 'a2', 'b1']
    """
    if limit < 1:
        raise InputError(f"the number of questions must be >= 1, got {limit}")
    seen: dict[str, int] = {}
    turns = []
    for place, question in enumerate(questions):
        seen[question.topic] = seen.get(question.topic, 0) + 1
        turns.append((seen[question.topic], place))
    kept = sorted(place for _, place in sorted(turns)[:limit])
    return tuple(questions[place] for place in kept)


def _chosen(
    run: Run,
    pack: Pack,
    question: Question,
    corpus: Corpus,
    documents: Mapping[str, Document],
    known: Known,
) -> Chosen:
    row = run.rows[question.id]
    group = str(row["group"])
    if "error" in row:
        return Chosen(question, group, error=f"the defence failed: {row['error']}")
    found = tuple(documents[name] for name in row["chosen"])
    planted = corpus.planted_ids
    evidence = tuple(
        {
            "label": known(question, document),
            "truth": true_stance(question, document),
            "planted": document.id in planted,
        }
        for document in found
    )
    return Chosen(question, group, found, evidence, bool(row["instruct"]))


class _Nobody:
    """A detector that is never to be asked: it stands behind labels that are only looked up."""

    def __init__(self, name: str) -> None:
        self.name = name

    def detect(self, question: str, texts: Sequence[str]) -> Sequence[StanceScore]:
        raise DetectorError("not labelled yet")


def _known(labels: Labels, path: Path | None) -> Known:
    """Labels that are there; a detector is not asked for more."""
    if not isinstance(labels, DetectorLabels):
        return lambda question, document: labels.scores(question, [document])[0].label
    if path is None or not path.exists():
        return lambda question, document: None
    from equipoise.stance.cached import CachedDetector

    cached = CachedDetector(_Nobody(labels.name), max_items=500_000, path=path)

    def look_up(question: Question, document: Document) -> Stance | None:
        try:
            return cached.detect(question.text, [document.text])[0].label
        except DetectorError:
            return None

    return look_up
