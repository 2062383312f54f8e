"""The whole pipeline: retrieve, label, balance, prompt, answer."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from equipoise.balancer import Balancer
from equipoise.errors import InputError
from equipoise.result import Selection
from equipoise.seek import Seek
from equipoise.types import Answer, Candidate, Generator, Outcome, Retriever, StanceScore

if TYPE_CHECKING:
    from equipoise.prompt import Template


class Setting(StrEnum):
    """Which parts of the defence are on. Source: SP 4.1."""

    A = "A"  # top k by relevance, no instruction: no defence
    B = "B"  # balanced, no instruction
    C = "C"  # balanced, with the even-handedness instruction: the whole method
    D = "D"  # top k by relevance, with the instruction

    @property
    def balances(self) -> bool:
        """True for B and C."""
        return self in (Setting.B, Setting.C)

    @property
    def instructs(self) -> bool:
        """True for C and D."""
        return self in (Setting.C, Setting.D)


@dataclass(frozen=True, slots=True)
class RagAnswer:
    """What was chosen, what was asked of the generator, and what came back.

    `answer` is None when no generator was given. `retrieved` is how many documents came back from
    the retriever when it was first asked.
    """

    setting: Setting
    selection: Selection
    prompt: str
    answer: Answer | None
    retrieved: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        answer = self.answer
        return {
            "setting": self.setting.value,
            "selection": self.selection.to_dict(),
            "prompt": self.prompt,
            "retrieved": self.retrieved,
            "answer": None
            if answer is None
            else {
                "outcome": answer.outcome.value,
                "text": answer.text,
                "model": answer.model,
                "latency_ms": answer.latency_ms,
                "detail": answer.detail,
                "attempts": answer.attempts,
                "input_tokens": answer.input_tokens,
                "output_tokens": answer.output_tokens,
            },
        }


class Rag:
    """Retrieval-augmented generation with a balancer in the middle.

    Args:
        retriever: asked for `balancer.quota.depth` documents a question.
        balancer: default `Balancer()`.
        generator: writes the answer; None stops after the prompt.
        template: another prompt template than the default one.
        seek: how the retriever is asked again where a balanced selection (B and C) is short of a
            side; None, the default, asks it once.

    In settings A and D the documents are the first k as retrieved (copies and all), as a pipeline
    without this package would send them. In setting C the instruction is given when the question
    was balanced: a question of fact keeps the plain prompt. Source: SP 3.2.

    >>> from equipoise.testing import EchoGenerator, FakeDetector, ListRetriever
    >>> rag = Rag(ListRetriever(["for it", "against it"]), generator=EchoGenerator("Both."),
    ...           balancer=Balancer(detector=FakeDetector({"for it": "pro", "against it": "con"})))
    >>> rag.ask("Should it be done?").answer.text
    'Both.'
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        balancer: Balancer | None = None,
        generator: Generator | None = None,
        template: "Template | None" = None,
        seek: Seek | None = None,
    ) -> None:
        self.retriever = retriever
        self.balancer = balancer if balancer is not None else Balancer()
        self.generator = generator
        self.template = template
        if seek is not None and not isinstance(seek, Seek):
            raise InputError(f"seek must be a Seek, got {seek!r}")
        self.seek = seek

    def ask(self, question: str, *, setting: str = "C", k: int | None = None) -> RagAnswer:
        """The answer to `question` in one setting.

        Raises:
            InputError: unknown setting, blank question, k < 1.
            DetectorError, StoreError: labelling or retrieval failed. A generator that fails does
                not raise: its outcome is in the answer.
        """
        return self.compare(question, settings=(setting,), k=k)[0]

    def compare(
        self, question: str, *, settings: Sequence[str] = ("A", "C"), k: int | None = None
    ) -> tuple[RagAnswer, ...]:
        """One answer a setting, in order, from one retrieval and one set of labels."""
        wanted = [_setting(name) for name in settings]
        if not isinstance(question, str) or not question.strip():
            raise InputError(f"the question must be a str that is not blank, got {question!r}")
        depth = max(self.balancer.quota.depth, k or 0)
        candidates = list(self.retriever.retrieve(question, depth))
        selections = self._select(question, candidates, wanted, k=k)
        return tuple(
            self._answer(setting, selections[setting.balances], len(candidates))
            for setting in wanted
        )

    async def aask(self, question: str, *, setting: str = "C", k: int | None = None) -> RagAnswer:
        """`ask` in a worker thread, so that the event loop goes on."""
        import asyncio

        return await asyncio.to_thread(self.ask, question, setting=setting, k=k)

    def _select(
        self,
        question: str,
        candidates: Sequence[Candidate],
        settings: Sequence[Setting],
        *,
        k: int | None,
    ) -> dict[bool, Selection]:
        """Selections by "is balanced"; the plain one shows the labels the balanced one read."""
        made: dict[bool, Selection] = {}
        shared = _SharedLabels(self.balancer)
        if any(setting.balances for setting in settings):
            balancer = self.balancer.with_detector(shared)
            made[True] = balancer.balance(question, candidates, k=k)
            if self.seek is not None:
                made[True] = self.seek.extend(
                    made[True], self.retriever, candidates, balancer=balancer, k=k
                )
        if not all(setting.balances for setting in settings):
            plain = Balancer(
                detector=shared,
                quota=self.balancer.quota,
                gate="never",
                merge_duplicates=False,
                on_error=self.balancer.on_error,
                label_chosen=True,
                unsure_below=self.balancer.unsure_below,
            )
            made[False] = plain.balance(question, candidates, k=k)
        return made

    def _answer(self, setting: Setting, selection: Selection, retrieved: int) -> RagAnswer:
        even_handed = setting.instructs and (selection.decision.balance or not setting.balances)
        prompt = selection.prompt(even_handed=even_handed, template=self.template)
        return RagAnswer(setting, selection, prompt, self._generate(prompt), retrieved)

    def _generate(self, prompt: str) -> Answer | None:
        if self.generator is None:
            return None
        began = time.perf_counter()
        try:
            return self.generator.generate(prompt)
        except Exception as error:  # a generator of the caller's own, of which anything may come
            detail = f"{type(error).__name__}: {error}"
            spent_ms = 1e3 * (time.perf_counter() - began)
            return Answer(Outcome.ERROR, "", type(self.generator).__name__, spent_ms, detail)


def _setting(name: str) -> Setting:
    try:
        return Setting(name)
    except ValueError as error:
        raise InputError(f"a setting must be one of A, B, C, D, got {name!r}") from error


class _SharedLabels:
    """The balancer's detector with a memory for one question, so that no text is labelled twice."""

    def __init__(self, balancer: Balancer) -> None:
        self._balancer = balancer
        self._known: dict[str, StanceScore] = {}

    @property
    def name(self) -> str:
        # Not `detector.name`: that would load a model for a question that needs no label.
        return self._balancer.detector_name

    @property
    def lazy_batch(self) -> int:
        from equipoise.stance.base import lazy_batch

        return lazy_batch(self._balancer.detector)

    def detect(self, question: str, texts: Sequence[str]) -> Sequence[StanceScore]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            from equipoise.stance.base import detect_checked

            scores = detect_checked(self._balancer.detector, question, missing)
            self._known.update(zip(missing, scores, strict=True))
        return [self._known[text] for text in texts]
