"""Our Balancer as a defence, with the labels that a case already has."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from equipoise.balancer import Balancer
from equipoise.errors import InputError
from equipoise.lab.defences.base import Case, Defended
from equipoise.types import Quota, StanceScore


class CaseDetector:
    """A detector that looks labels up in a case, one at a time, and runs no model.

    A text that is there twice has the label of the first one: a detector that reads the text alone
    cannot tell them apart either.
    """

    name = "case"
    lazy_batch = 1  # so that a lazy case labels no further than the rule reads

    def __init__(self, case: Case) -> None:
        self._scores = case.scores
        self._at: dict[str, int] = {}
        for index, candidate in enumerate(case.candidates):
            self._at.setdefault(candidate.text, index)

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        """The case's own scores, in the order of `texts`.

        Raises:
            InputError: a text is not in the case.
        """
        missing = next((text for text in texts if text not in self._at), None)
        if missing is not None:
            raise InputError(f"every text must be one of the case's, got {missing[:60]!r}")
        return [self._scores[self._at[text]] for text in texts]


@dataclass(frozen=True, slots=True)
class BalancerDefence:
    """The package's own Balancer: a quota of stances, with or without its additions.

    With gate "always" and `merge_duplicates` False this is SP's method: 2 pro, 2 con, 1 neutral
    from the top 20, looked for down to rank 50, blank texts left aside (ours). `instruct` adds
    the even-handedness instruction (setting C). `merge_duplicates` gives near-copies of one stance
    a single seat; gate "auto" keeps the order of relevance where nothing looks contested.

    Cost: that of the rule and of finding copies; labels come from the case. Not for questions that
    ask for a fact, unless the gate is "auto".

    Raises:
        InputError: on `defend`, the question is blank or an option is out of range.

    Source: SP 3.4; gate and copies are ours.
    """

    label: str
    quota: Quota = field(default_factory=Quota)
    gate: str = "always"
    merge_duplicates: bool = False
    instruct: bool = False

    @property
    def name(self) -> str:
        """`quota: 2+2+1, pool 20, depth 50, gate always, copies kept`."""
        q = self.quota
        copies = "merged" if self.merge_duplicates else "kept"
        said = " + instruction" if self.instruct else ""
        return (
            f"{self.label}: {q.pro}+{q.con}+{q.neutral}, pool {q.pool}, depth {q.depth}, "
            f"gate {self.gate}, copies {copies}{said}"
        )

    def defend(self, case: Case) -> Defended:
        """What the Balancer chooses, in retrieval order; nothing is flagged."""
        balancer = Balancer(
            detector=CaseDetector(case),
            quota=self.quota,
            gate=self.gate,  # type: ignore[arg-type]  # checked by the Balancer
            merge_duplicates=self.merge_duplicates,
        )
        selection = balancer.balance(case.question, case.candidates)
        ranks = sorted(choice.retrieval_rank for choice in selection.chosen)
        return Defended(tuple(rank - 1 for rank in ranks), instruct=self.instruct)
