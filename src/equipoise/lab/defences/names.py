"""Every defence by name."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Final

from equipoise.errors import InputError
from equipoise.lab.defences.balanced import BalancerDefence
from equipoise.lab.defences.base import Case, Defence, Defended, K, RuleDefence
from equipoise.lab.defences.brra import BrraRule
from equipoise.lab.defences.grada import GradaRule
from equipoise.lab.defences.pyversity import STRATEGIES, PyversityRule
from equipoise.lab.defences.ragdefender import RagDefenderFilter
from equipoise.lab.defences.robustrag import RobustRagDefence
from equipoise.lab.defences.smart import SmartRule
from equipoise.lab.defences.trustrag import TrustRagFilter
from equipoise.selection.mmr import MmrRule
from equipoise.selection.quota import QuotaRule
from equipoise.selection.random import RandomRule
from equipoise.selection.relevance import RelevanceRule
from equipoise.stance.base import LazyScores
from equipoise.types import DocumentFilter, SelectionRule, StanceDetector

SEED: Final = 20260909
"""The seed of the paper's random draw. Source: SP 4.1."""

Builder = Callable[[str, int], Defence]


@dataclass(frozen=True, slots=True)
class _Relabelled:
    """A defence that reads its labels from a detector in place of the case's own."""

    inner: Defence
    detector: StanceDetector

    @property
    def name(self) -> str:
        return f"{self.inner.name}, labels {self.detector.name}"

    def defend(self, case: Case) -> Defended:
        texts = [candidate.text for candidate in case.candidates]
        scores = LazyScores(self.detector, case.question, texts)
        return self.inner.defend(Case(case.question, case.candidates, scores))


def _rule(
    label: str,
    rule: SelectionRule | None = None,
    *,
    filter: DocumentFilter | None = None,  # the field's own name in RuleDefence
    instruct: bool = False,
) -> RuleDefence:
    """A RuleDefence whose name is `label: filter, rule + instruction`, with their settings."""
    rule = rule if rule is not None else RelevanceRule(K)
    parts = ", ".join(part.name for part in (filter, rule) if part is not None)
    said = " + instruction" if instruct else ""
    return RuleDefence(f"{label}: {parts}{said}", rule, filter, instruct)


def _biasdef() -> DocumentFilter:
    # By name: its file need not be loaded, nor be there, for the other defences.
    made: DocumentFilter = import_module("equipoise.polarization.biasdef").BiasDef()
    return made


def _pyversity(strategy: str) -> Builder:
    return lambda name, seed: _rule(name, PyversityRule(strategy))


_BUILDERS: Final = MappingProxyType[str, Builder](
    {
        "none": lambda name, seed: _rule(name),
        "prompt_only": lambda name, seed: _rule(name, instruct=True),
        "random5": lambda name, seed: _rule(name, RandomRule(seed=seed)),
        "mmr": lambda name, seed: _rule(name, MmrRule()),
        "smart": lambda name, seed: _rule(name, SmartRule()),
        "smart_seek": lambda name, seed: _rule(name, SmartRule(conflict="seek")),
        "brra": lambda name, seed: _rule(name, BrraRule(), instruct=True),
        **{f"pyversity_{strategy}": _pyversity(strategy) for strategy in STRATEGIES},
        "trustrag": lambda name, seed: _rule(name, filter=TrustRagFilter(seed=seed)),
        "grada": lambda name, seed: _rule(name, GradaRule()),
        "ragdefender": lambda name, seed: _rule(name, filter=RagDefenderFilter()),
        "robustrag": lambda name, seed: RobustRagDefence(name),
        "quota": lambda name, seed: BalancerDefence(name),
        "quota_prompt": lambda name, seed: BalancerDefence(name, instruct=True),
        "quota_duplicates": lambda name, seed: BalancerDefence(name, merge_duplicates=True),
        "quota_gate": lambda name, seed: BalancerDefence(name, gate="auto"),
        "biasdef": lambda name, seed: _rule(name, filter=_biasdef()),
        "biasdef_quota": lambda name, seed: _rule(name, QuotaRule(), filter=_biasdef()),
    }
)

NAMES: Final = tuple(_BUILDERS)
"""The names that `defence` takes, in the order of tables."""


def defence(name: str, *, detector: StanceDetector | None = None, seed: int = SEED) -> Defence:
    """The defence of that name, with its default settings; its `.name` tells them.

    `detector` labels the documents in place of the case's own scores; None, the default, reads
    those. `seed` is used by random5 (the draw) and trustrag (the first cluster centres).

    Raises:
        InputError: an unknown name (the message lists the known ones), or a seed that is no
            int >= 0.

    Source: ours.

    >>> defence("none").name
    'none: relevance(5)'
    """
    if name not in _BUILDERS:
        raise InputError(f"the defence must be one of {', '.join(NAMES)}, got {name!r}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed must be an int >= 0, got {seed!r}")
    made = _BUILDERS[name](name, seed)
    return made if detector is None else _Relabelled(made, detector)
