"""Defences side by side: every corpus, every defence, every question, one line each."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from equipoise.errors import EquipoiseError, InputError, MissingExtraError
from equipoise.lab.cases import DEPTH, Asked, Corpus, Retrieval
from equipoise.lab.defences.base import Defence, Defended
from equipoise.lab.labels import DetectorLabels, Labels, true_stance
from equipoise.lab.measures import KEYS, Scorer
from equipoise.lab.pack import Pack, Question
from equipoise.lab.poison.planted import Poisoned, pack_checksums
from equipoise.lab.results import FORMAT, ResultFile, code_version, row_key, run_id
from equipoise.lab.vectors import VectorCache
from equipoise.stance.base import LazyScores
from equipoise.types import Quota, Stance, StanceScore

Progress = Callable[[str, int, int], None]
"""Is told what is being done, how many are done, and of how many."""

CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a comparison did: rows written, rows that were there, failures, and seconds by stage.

    Stages: "retrieve" (embedding included), "label" (reading labels, the detector included),
    "defend" (the defences without their labels), "measure".
    """

    written: int
    kept: int
    errors: int
    seconds: Mapping[str, float]


def compare(
    pack: Pack,
    corpora: Sequence[Corpus],
    defences: Sequence[Defence],
    *,
    labels: Labels,
    vectors: VectorCache,
    results: ResultFile,
    depth: int = DEPTH,
    progress: Progress | None = None,
) -> Summary:
    """Run what `results` does not hold yet; each line is written as soon as it is known.

    A defence that raises an `EquipoiseError` for a question gives a line with "error", and is
    asked again next time; a missing library ends the comparison.

    Args:
        pack: questions, and the truth about its documents.
        corpora: `clean_corpus(pack)` and poisoned ones.
        defences: each sees the same candidates and the same labels.
        labels: read lazily, so a defence pays for what it reads.
        vectors: embed each text once.
        results: is continued.
        depth: documents retrieved a question, >= 1.
        progress: for people who wait.

    Raises:
        InputError: two corpora or two defences have one name, or there are none.
        MissingExtraError: a defence or ir_measures needs a library that is not installed.
    """
    _check_names("corpora", [corpus.name for corpus in corpora])
    _check_names("defences", [defence.name for defence in defences])
    shared = {
        "format": FORMAT,
        "pack": pack.name,
        "pack_checksum": run_id(pack_checksums(pack)),
        "labels": labels.name,
        "embedder": vectors.name,
        "depth": depth,
        "code": code_version(),
    }
    work = _Work(pack, labels, results, progress)
    for corpus in corpora:
        here = {**shared, **_about(corpus)}
        runs = [(defence, {**here, "defence": defence.name}) for defence in defences]
        results.append({"run": run_id(said), "settings": said} for _, said in runs)
        work.corpus(corpus, [(d, run_id(said)) for d, said in runs], vectors, depth)
    return Summary(work.written, work.kept, work.errors, work.seconds)


def clean_corpus(pack: Pack) -> Corpus:
    """The pack before any attack."""
    return Corpus(CLEAN, pack.clean)


def poisoned_corpus(name: str, pack: Pack, poisoned: Poisoned) -> Corpus:
    """The pack with what an attack planted in it; `name` is what tables print."""
    about = {
        "attack": poisoned.attack,
        "direction": poisoned.direction.value,
        "n": poisoned.n,
        "seed": poisoned.seed,
        "mean_share": poisoned.mean_share,
    }
    return Corpus(name, pack.clean, poisoned.documents, about)


class _Work:
    """The state of one comparison: counts and seconds."""

    def __init__(
        self, pack: Pack, labels: Labels, results: ResultFile, progress: Progress | None
    ) -> None:
        self._pack = pack
        self._labels = labels
        self._results = results
        self._progress = progress
        self._groups = pack.groups()
        self.written = self.kept = self.errors = 0
        self.seconds = dict.fromkeys(("retrieve", "label", "defend", "measure"), 0.0)

    def corpus(
        self,
        corpus: Corpus,
        runs: Sequence[tuple[Defence, str]],
        vectors: VectorCache,
        depth: int,
    ) -> None:
        todo = {
            question.id: [pair for pair in runs if not self._has(pair[1], question)]
            for question in self._pack.questions
        }
        missing = sum(map(len, todo.values()))
        self.kept += len(runs) * len(todo) - missing
        if not missing:  # nothing to embed for
            return
        began = time.perf_counter()
        told = self._told(f"embedding {corpus.name}")
        retrieval = Retrieval(self._pack, corpus, vectors, depth=depth, progress=told)
        scorer = Scorer(corpus)
        self.seconds["retrieve"] += time.perf_counter() - began
        told = self._told(corpus.name)
        for number, question in enumerate(self._pack.questions):
            if todo[question.id]:
                began = time.perf_counter()
                asked = retrieval.ask_one(number, question, self._labels)
                self.seconds["retrieve"] += time.perf_counter() - began
                rows = (self._row(asked, *pair, scorer) for pair in todo[question.id])
                for row in rows:  # one by one: a defence may take seconds
                    self._results.append([row])
                    self.written += 1
            if told is not None:
                told(number + 1, len(todo))

    def _has(self, run: str, question: Question) -> bool:
        return self._results.has(row_key(run, question.id))

    def _told(self, what: str) -> Callable[[int, int], None] | None:
        progress = self._progress
        if progress is None:
            return None
        return lambda done, total: progress(what, done, total)

    def _row(self, asked: Asked, defence: Defence, run: str, scorer: Scorer) -> dict[str, Any]:
        question = asked.question
        # Scores of its own, so that what one defence reads is not counted for the next.
        scores = self._labels.scores(question, asked.documents)
        asked = replace(asked, case=replace(asked.case, scores=scores))
        row: dict[str, Any] = {
            "key": row_key(run, question.id),
            "run": run,
            "question": question.id,
            "topic": question.topic,
            "group": self._groups[question.topic],
            "seen": self._seen(question.topic),
        }
        began = time.perf_counter()
        try:
            defended = checked(defence.defend(asked.case), len(asked.documents), defence.name)
        except MissingExtraError:
            raise
        except EquipoiseError as error:
            self.errors += 1
            return {**row, "error": f"{type(error).__name__}: {error}"}
        seconds = time.perf_counter() - began
        return {**row, **self._outcome(asked, defended, scorer, seconds)}

    def _outcome(
        self, asked: Asked, defended: Defended, scorer: Scorer, seconds: float
    ) -> dict[str, Any]:
        """What a row says of a decision that took `seconds`, its labels included."""
        scores = asked.case.scores
        labelling = scores.label_ms / 1e3 if isinstance(scores, LazyScores) else 0.0
        began = time.perf_counter()
        measures = scorer.score(asked, defended)
        self.seconds["measure"] += time.perf_counter() - began
        self.seconds["label"] += labelling
        self.seconds["defend"] += seconds - labelling
        return {
            "chosen": [asked.documents[index].id for index in defended.chosen],
            "flagged": [asked.documents[index].id for index in sorted(defended.flagged)],
            "instruct": defended.instruct,
            "measures": {key: measures[key] for key in KEYS},
            "labels": _reading(asked, scores),
            "composition": _composition(scores),
            "ms": {
                "label": round(1e3 * labelling, 3),
                "defend": round(1e3 * (seconds - labelling), 3),
            },
        }

    def _seen(self, topic: str) -> bool | None:
        """Whether the detector met the topic in training; None where nobody says, or none does."""
        if not isinstance(self._labels, DetectorLabels):
            return None
        groups = self._pack.about.get("detector_folds", {}).get("groups", {})
        seen = groups.get(self._groups[topic], {}).get("seen_in_training")
        return seen if isinstance(seen, bool) else None


def checked(defended: Defended, count: int, name: str) -> Defended:
    """What a defence decided, made sure to hold together.

    Raises:
        InputError: an index is not in [0, count), the chosen are not in ascending order, or one is
            chosen and flagged.
    """
    chosen, flagged = defended.chosen, defended.flagged
    inside = all(0 <= index < count for index in (*chosen, *flagged))
    if not inside or list(chosen) != sorted(set(chosen)) or flagged & set(chosen):
        raise InputError(
            f"a defence must choose indices below {count}, ascending, none of them flagged; "
            f"{name!r} chose {chosen} and flagged {sorted(flagged)}"
        )
    return defended


def _reading(asked: Asked, scores: Sequence[StanceScore]) -> dict[str, int] | None:
    """Labels that were read; how many of those have a known truth, and how many of these hit it.

    None where labels cost nothing and come all at once.
    """
    if not isinstance(scores, LazyScores):
        return None
    read = scores.seen
    truth = {index: true_stance(asked.question, asked.documents[index]) for index in read}
    known = [index for index in read if truth[index] is not None]
    right = sum(read[index].label is truth[index] for index in known)
    return {"read": len(read), "known": len(known), "right": right}


def _composition(scores: Sequence[StanceScore]) -> dict[str, dict[str, int]]:
    """How many candidates of the pool, and of all, have each label, as far as labels were read.

    A quota that is filled reads the pool; one that falls short reads everything. Source: SP F.1.
    """
    read = scores.seen if isinstance(scores, LazyScores) else dict(enumerate(scores))
    pool = [score.label for index, score in read.items() if index < Quota().pool]
    every = [score.label for score in read.values()]
    return {
        name: {stance.value: labels.count(stance) for stance in Stance}
        for name, labels in (("pool", pool), ("depth", every))
    }


def _check_names(kind: str, names: Sequence[str]) -> None:
    if not names or len(set(names)) < len(names):
        raise InputError(f"a comparison needs {kind} whose names differ, got {list(names)}")


def _about(corpus: Corpus) -> dict[str, Any]:
    return {
        "corpus": corpus.name,
        "planted": len(corpus.planted),
        "planted_checksum": _checksum(corpus.planted),
        "attack": dict(corpus.about or {}),
    }


def _checksum(parts: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(json.dumps(asdict(part), ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
