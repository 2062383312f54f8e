"""What inspect finds under `equipoise/`: the task `stance`, and our generators.

The entry point of this package names this file, so that `inspect eval equipoise/stance` works; it
imports inspect-ai.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from inspect_ai import Task, task
from inspect_ai.model import GenerateConfig, get_model

from equipoise.errors import InputError
from equipoise.lab.answers import apis
from equipoise.lab.answers.book import open_book
from equipoise.lab.answers.evidence import Setting, gather
from equipoise.lab.answers.generators import describe, keep_cache_in, template_of
from equipoise.lab.answers.judging import Judging
from equipoise.lab.answers.plan import plan
from equipoise.lab.answers.task import make_task
from equipoise.lab.corpora import BOTH, corpora_of, named_defences
from equipoise.lab.judge import load_judge
from equipoise.lab.labels import load_labels
from equipoise.lab.pack import read_pack
from equipoise.lab.vectors import VectorCache
from equipoise.retrieval.embedder import load_embedder

__all__ = ["apis", "stance"]

_OPEN: Final = ExitStack()
"""Folders that tasks write to: they stay locked until the process ends."""


# Long because inspect takes the options of a task, -T, from its parameters.
@task
def stance(
    pack: str,
    out: str,
    defence: str = "none",
    poisoned: str | None = None,
    direction: str | None = None,
    n: int | None = None,
    detector: str = "default",
    embedder: str = "minilm",
    depth: int = 50,
    limit_questions: int | None = None,
    template: str | None = None,
    judge: str | None = None,
    max_tokens: int = apis.MAX_TOKENS,
    cache_dir: str | None = None,
) -> Task:
    """One defence on one corpus, for `inspect eval equipoise/stance -T pack=PACK -T out=RUN ...`.

    Answers go to the files of RUN as well as to inspect's log; what is there is not asked again.
    `lab answer` does the same for many settings at once, with limits on cost.

    Args:
        pack: folder of a pack.
        out: folder of the run.
        defence: its name.
        poisoned: folder of a poisoned corpus; None, and no direction: the clean corpus.
        direction: pro or con: poison here and now, with `n`.
        n: documents planted a topic.
        detector: as for `lab answer`.
        embedder: as there.
        depth: documents retrieved a question.
        limit_questions: so many questions, spread over the topics; None: all.
        template: compact, default or a file; None: what suits the model.
        judge: as there; None: no judge.
        max_tokens: of an answer.
        cache_dir: folder for vectors, labels and answers; None: OUT/cache.

    Raises:
        InputError: a setting is out of range, or several are asked for.
    """
    model = get_model()
    # inspect's own --max-tokens is in the model's settings already, and goes before ours.
    limit = model.config.max_tokens or max_tokens
    asked = describe(model, options=model.model_args, max_tokens=limit)
    place = Path(out)
    kept = Path(cache_dir) if cache_dir else place / "cache"
    keep_cache_in(kept / "inspect")
    setting, labels = _setting(
        _Wanted(pack, defence, poisoned, direction, n, detector, embedder, depth, limit_questions),
        place,
        kept,
    )
    reader = None
    if judge is not None:
        reader = Judging.of(load_judge(judge, generator=asked.name, detector=labels))
    book = _OPEN.enter_context(open_book(place))
    if reader is not None:
        book.begin_judging(reader.run, reader.settings)
    run = None if reader is None else reader.run
    words = template_of(template, asked.family)
    cell = plan(setting, asked.said, words, book, judge_run=run)
    if not cell.asks:
        raise InputError(f"every question of {cell.label} is answered in {out}: nothing to ask")
    made = make_task(cell, asked, book, reader)
    made.config = GenerateConfig(max_tokens=limit)
    return made


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the task was asked for, of the evidence."""

    pack: str
    defence: str
    poisoned: str | None
    direction: str | None
    n: int | None
    detector: str
    embedder: str
    depth: int
    limit: int | None


def _setting(wanted: _Wanted, out: Path, cache: Path) -> tuple[Setting, str]:
    """The one setting that is asked for, and the name of its labels."""
    pack = read_pack(Path(wanted.pack))
    folders = [] if wanted.poisoned is None else [Path(wanted.poisoned)]
    sizes = [] if wanted.n is None else [wanted.n]
    # The last one: the poisoned corpus, where there is one.
    corpus = corpora_of(pack, folders, wanted.direction, sizes)[-1]
    defences = named_defences(wanted.defence)
    if len(defences) != 1 or wanted.direction == BOTH or (folders and sizes):
        raise InputError(
            "a task is one defence on one corpus; for several use: equipoise lab answer. Got "
            f"{wanted}"
        )
    vectors = VectorCache(load_embedder(wanted.embedder), cache / "vectors")
    file = cache / "labels.sqlite"
    with load_labels(wanted.detector, file) as labels:
        (setting,), _ = gather(
            pack,
            [corpus],
            defences,
            labels=labels,
            label_file=file,
            vectors=vectors,
            results=out / "choices" / "results.jsonl",
            depth=wanted.depth,
            limit=wanted.limit,
        )
        return setting, labels.name
