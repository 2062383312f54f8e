"""The Balancer: question and retrieved documents in, an explained selection out."""

import threading
import time
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

from equipoise._candidates import to_candidates
from equipoise.errors import DetectorError, InputError
from equipoise.explain import Plan, explain
from equipoise.result import Selection
from equipoise.selection.duplicates import Copies, Duplicates, Merging, find_copies
from equipoise.selection.gate import Decision, Gate, GateMode, Verdict, decide
from equipoise.selection.quota import QuotaRule
from equipoise.selection.relevance import RelevanceRule
from equipoise.selection.sources import Sources
from equipoise.selection.unsure import checked_unsure_below
from equipoise.types import (
    Candidate,
    DocumentFilter,
    Pick,
    Quota,
    SelectionRule,
    StanceDetector,
    StanceScore,
)

if TYPE_CHECKING:
    from equipoise.stance.base import LazyScores

# One lock for all balancers: it keeps threads from loading a model twice, and a balancer with a
# lock of its own could not be pickled.
_LOADING = threading.Lock()

OnError = Literal["raise", "relevance"]


class Balancer:
    """Reselects retrieved documents so that both sides of a contested question are heard.

    Args:
        detector: labels a document's stance; a `StanceDetector`, or a name or folder that
            `equipoise.stance.load_detector` takes. None is the bundled local model, loaded when
            the first label is read.
        quota: seats for each stance, the pool and the depth.
        gate: "auto" balances only questions that look contested, "always" every question, "never"
            none; or a `Gate` with its own threshold.
        merge_duplicates: True merges exact and near-copies into one seat, False keeps all; or a
            `Duplicates` with its own threshold.
        rule: another selection rule in place of the quota (it then decides alone: no gate).
        on_error: what to do when the detector fails: "raise", or "relevance" to keep the order of
            relevance and say so in `Selection.failure`.
        label_chosen: also read the label of every chosen document and of the first k, where the
            rule needed none of them (for reports; it costs model calls and changes no choice).
        unsure_below: a probability in [0, 1). A label whose own probability is under it is unsure:
            the gate does not count it as a side, and the quota gives it no seat of its stance (it
            may still fill a seat left over). 0, the default, makes no label unsure. Another
            `rule` chooses without it; the result says which labels are unsure all the same.
        sources: how many seats of one stance one source may take, such as `Sources("url")`. None,
            the default, counts no sources. It is a part of the quota: another `rule`, and the order
            of relevance, stand without it.
        filter: a `DocumentFilter` such as `equipoise.polarization.BiasDef`. What it flags is
            neither labelled nor chosen, by whatever rule, even where fewer than k are left, and
            the result names it. Blank documents are not shown to it.

    `Balancer(gate="always", merge_duplicates=False)` is the paper's behaviour. A Balancer may be
    shared between threads when its detector may.

    Raises:
        InputError: an option is of a wrong kind, or out of its range.

    Source: SP 3.2 to 3.4; gate, copies, unsure labels and sources are ours; the place of a filter
    is EBI's.

    >>> from equipoise.testing import FakeDetector
    >>> balancer = Balancer(detector=FakeDetector({"a": "pro", "b": "pro", "c": "con"}),
    ...                     quota=Quota(pro=1, con=1, neutral=0))
    >>> [c.candidate.text for c in balancer.balance("Should it be legal?", ["a", "b", "c"]).chosen]
    ['a', 'c']
    """

    def __init__(
        self,
        *,
        detector: StanceDetector | str | None = None,
        quota: Quota | None = None,
        gate: GateMode | Gate = "auto",
        merge_duplicates: bool | Duplicates = True,
        rule: SelectionRule | None = None,
        on_error: OnError = "raise",
        label_chosen: bool = False,
        unsure_below: float = 0.0,
        filter: DocumentFilter | None = None,
        sources: Sources | None = None,
    ) -> None:
        if on_error not in ("raise", "relevance"):
            raise InputError(f'on_error must be "raise" or "relevance", got {on_error!r}')
        if quota is not None and not isinstance(quota, Quota):
            raise InputError(f"quota must be a Quota, got {quota!r}")
        if rule is not None and not hasattr(rule, "select"):
            raise InputError(f"rule must have select(candidates, scores, skip=...), got {rule!r}")
        if not (detector is None or isinstance(detector, str) or hasattr(detector, "detect")):
            raise InputError(f"detector must be a name or have detect(...), got {detector!r}")
        self._detector = detector
        self.quota = quota if quota is not None else Quota()
        self.gate = gate if isinstance(gate, Gate) else Gate(gate)
        self.duplicates = _duplicates(merge_duplicates)
        self.rule = rule
        self.on_error = on_error
        self.label_chosen = label_chosen
        self.unsure_below = checked_unsure_below(unsure_below)
        if filter is not None and not hasattr(filter, "flag"):
            raise InputError(f"filter must have flag(question, candidates), got {filter!r}")
        self.filter = filter
        if sources is not None and not isinstance(sources, Sources):
            raise InputError(f"sources must be a Sources, got {sources!r}")
        self.sources = sources

    @property
    def detector(self) -> StanceDetector:
        """The stance detector; a name is loaded on first use."""
        with _LOADING:
            if self._detector is None or isinstance(self._detector, str):
                from equipoise.stance import load_detector

                self._detector = load_detector(self._detector or "default")
            return self._detector

    @property
    def detector_name(self) -> str:
        """The detector's name; before a named one is loaded, the name it was given by."""
        if self._detector is None or isinstance(self._detector, str):
            return self._detector or "default"
        return self._detector.name

    def with_detector(self, detector: StanceDetector) -> "Balancer":
        """A balancer of the same settings with another detector."""
        other = copy(self)
        other._detector = detector
        return other

    def with_gate(self, gate: Gate) -> "Balancer":
        """A balancer of the same settings, and the same detector, with another gate."""
        other = self.with_detector(self.detector)
        other.gate = gate
        return other

    def with_quota(self, quota: Quota) -> "Balancer":
        """A balancer of the same settings, and the same detector, with another quota."""
        other = self.with_detector(self.detector)
        other.quota = quota
        return other

    def balance(
        self, question: str, candidates: Iterable[Any] | None, *, k: int | None = None
    ) -> Selection:
        """The selection for one question.

        Args:
            question: a question, claim or topic.
            candidates: documents in retrieval order, best first: str, dict with "text", Candidate.
            k: how many to choose; the quota is scaled to it (see `Quota.scaled`). Default: its
                total.

        Raises:
            InputError: the question is blank or not a str, k < 1, a document is malformed, or it
                lacks what the filter reads (an embedding, say).
            DetectorError: the detector failed and `on_error` is "raise".
        """
        began = time.perf_counter()
        plan = self._prepare(question, candidates, k)
        prepared = time.perf_counter()
        plan = self._filtered(plan)
        filtered = time.perf_counter()
        scores = self._scores(plan)
        merging = Merging(plan.fixed, plan.copies.near, scores, unsure_below=plan.unsure_below)
        failure: str | None = None
        try:
            decision, picks = self._choose(plan, scores, merging)
            if self.label_chosen:
                self._label_shown(plan, scores, picks)
        except DetectorError as error:
            if self.on_error == "raise":
                raise
            failure = f"{type(error).__name__}: {error}"
            decision = Decision(Verdict.UNLABELLED, "the stance detector failed", balance=False)
            picks = self._by_relevance(plan, scores)
        ended = time.perf_counter()
        timings = {
            "prepare": 1e3 * (prepared - began),
            "label": scores.label_ms,
            "select": max(0.0, 1e3 * (ended - filtered) - scores.label_ms),
            "total": 1e3 * (ended - began),
        }
        if self.filter is not None:
            timings["filter"] = 1e3 * (filtered - prepared)
        return explain(
            plan,
            scores,
            decision,
            picks=picks,
            merged=merging.merged,
            rule=self._rule_name(plan, decision),
            by_quota=decision.balance and self.rule is None,
            timings_ms=timings,
            settings=self._settings(plan),
            failure=failure,
        )

    async def abalance(
        self, question: str, candidates: Iterable[Any] | None, *, k: int | None = None
    ) -> Selection:
        """`balance` in a worker thread, so that the event loop goes on."""
        import asyncio

        return await asyncio.to_thread(self.balance, question, candidates, k=k)

    def _prepare(self, question: str, candidates: Iterable[Any] | None, k: int | None) -> Plan:
        if not isinstance(question, str) or not question.strip():
            raise InputError(f"the question must be a str that is not blank, got {question!r}")
        items, made, unscored = to_candidates(candidates)
        blank = frozenset(i for i, candidate in enumerate(made) if candidate.is_blank)
        quota = self._quota(k)
        copies = Copies()
        if self.duplicates is not None:
            texts = [candidate.text for candidate in made]
            copies = find_copies(texts, self.duplicates, depth=quota.depth)
        unsourced = self.sources.missing(made) if self.sources else ()
        return Plan(
            question,
            items,
            made,
            unscored,
            blank,
            copies,
            quota,
            self.unsure_below,
            unsourced=unsourced,
        )

    def _filtered(self, plan: Plan) -> Plan:
        """The plan with what the filter flags; flagged texts are no copies any more."""
        if self.filter is None:
            return plan
        shown = [i for i in range(len(plan.candidates)) if i not in plan.blank]
        flagged = _flagged(self.filter, plan.question, [plan.candidates[i] for i in shown])
        dropped = frozenset(shown[place] for place in flagged)
        # A copy of a flagged text stays a copy: the same words do not come in by another rank.
        exact = {i: first for i, first in plan.copies.exact.items() if i not in dropped}
        return replace(plan, copies=replace(plan.copies, exact=exact), filtered=dropped)

    def _quota(self, k: int | None) -> Quota:
        """The quota scaled to `k`; for another rule, to the number that rule chooses."""
        if self.rule is not None:
            if k is not None:
                raise InputError(f"k scales a quota; {self.rule.name} has its own number")
            k = getattr(self.rule, "k", None)
        return self.quota if k is None or k == self.quota.total else self.quota.scaled(k)

    def _scores(self, plan: Plan) -> "LazyScores":
        from equipoise.stance.base import LazyScores

        # A detector given by name is loaded by the first label that is read, not before.
        # Subtle: a blank text is never sent, so blanking keeps the next batch from what is unread.
        unread = plan.unread
        texts = [
            "" if index in unread else candidate.text
            for index, candidate in enumerate(plan.candidates)
        ]
        return LazyScores(lambda: self.detector, plan.question, texts)

    def _choose(
        self, plan: Plan, scores: Sequence[StanceScore], merging: Merging
    ) -> tuple[Decision, Sequence[Pick]]:
        if self.rule is not None:
            rule = self.rule
            decision = Decision(Verdict.ALWAYS, f"chosen by {rule.name}", balance=True)
            return decision, rule.select(plan.candidates, scores, skip=plan.fixed)
        decision = decide(
            self.gate,
            plan.question,
            scores,
            quota=plan.quota,
            skip=plan.fixed,
            unsure_below=plan.unsure_below,
        )
        if not decision.balance:
            return decision, self._by_relevance(plan, scores)
        rule = QuotaRule(plan.quota, plan.unsure_below, self.sources)
        return decision, rule.select(plan.candidates, scores, skip=merging)

    def _by_relevance(self, plan: Plan, scores: Sequence[StanceScore]) -> list[Pick]:
        # Exact copies only: telling near-copies of one stance from others would cost labels.
        return RelevanceRule(plan.quota.total).select(plan.candidates, scores, skip=plan.fixed)

    def _label_shown(
        self, plan: Plan, scores: Sequence[StanceScore], picks: Sequence[Pick]
    ) -> None:
        shown = {pick.index for pick in picks} | set(range(plan.quota.total))
        for index in sorted(shown & set(range(len(plan.candidates))) - plan.copies.exact.keys()):
            _ = scores[index]

    def _rule_name(self, plan: Plan, decision: Decision) -> str:
        if self.rule is not None:
            return self.rule.name
        if decision.balance:
            return QuotaRule(plan.quota, plan.unsure_below, self.sources).name
        return RelevanceRule(plan.quota.total).name

    def _settings(self, plan: Plan) -> dict[str, Any]:
        return {
            "detector": self.detector_name,
            "quota": asdict(plan.quota),
            "gate": asdict(self.gate),
            "duplicates": asdict(self.duplicates) if self.duplicates else None,
            "rule": self.rule.name if self.rule else None,
            "on_error": self.on_error,
            "unsure_below": self.unsure_below,
            "filter": self.filter.name if self.filter else None,
            "sources": asdict(self.sources) if self.sources else None,
        }


def _flagged(
    filter: DocumentFilter, question: str, candidates: Sequence[Candidate]
) -> frozenset[int]:
    flagged = frozenset(filter.flag(question, candidates))
    if not flagged <= frozenset(range(len(candidates))):
        raise InputError(
            f"the filter {filter.name} must flag indices of the {len(candidates)} documents it "
            f"was given, and flagged {sorted(map(repr, flagged))}"
        )
    return flagged


def _duplicates(merge: bool | Duplicates) -> Duplicates | None:
    if isinstance(merge, Duplicates):
        return merge
    if not isinstance(merge, bool):
        raise InputError(f"merge_duplicates must be a bool or a Duplicates, got {merge!r}")
    return Duplicates() if merge else None
