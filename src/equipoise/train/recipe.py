"""What one training run is made of: every knob, and the presets by name."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from equipoise.errors import InputError

_WHOLE = 1_000_000


@dataclass(frozen=True, slots=True)
class Recipe:
    """The knobs of one run. Everything that can change the weights is here.

    Attributes:
        base: name or path of the encoder to start from; a bundled detector's name goes on from it.
        layers: lowest layers kept; None keeps all.
        min_count: word pieces seen less often in the data are dropped; 0 keeps the vocabulary.
        frozen_layers: lowest layers that are not trained; the embeddings then are not either.
        sources: rows that each stance source may give, at most, spread over its topics.
        own: how often the project's own examples are repeated.
        off_topic: neutral rows made by pairing a question with a text of another topic group.
        claims: share of rows, in [0, 1], that get the source's claim in place of the question.
        opposites: share of pro and con rows, in [0, 1], asked the other way round (label swapped).
        joined: passages made of two to five sentences of one topic and side.
        nli: inference pairs of each file that a warm-up reads first.
        class_weights: weigh a row by the inverse frequency of its class.
        teacher: a detector (bundled name or folder) whose probabilities are learned too, or None.
        teacher_share: weight of the teacher's probabilities against the label, in [0, 1]; with 0
            the teacher is asked about crossed pairs alone.
        crossed: unlabelled question-passage pairs that only the teacher labels.
        learning_rate, weight_decay, warmup_share, label_smoothing, epochs: as usual.
        batch_rows: rows of a step; None fills steps by `batch_tokens` instead.
        batch_tokens: padded tokens of a step.
        max_length: tokens of question and passage together; the passage is cut.
        dropout: share of values dropped in hidden layers and attention; None keeps the model's own.
        seed: of every draw.
        bfloat16: matrix products in that type: faster on a GPU and on some processors, slower on
            others (docs/log.md).
        checkpoint_minutes: time between checkpoints.
    """

    base: str = "all-mpnet-base-v2"
    layers: int | None = None
    min_count: int = 0
    frozen_layers: int = 0
    sources: Mapping[str, int] = field(default_factory=dict)
    own: int = 0
    off_topic: int = 0
    claims: float = 0.0
    opposites: float = 0.0
    joined: int = 0
    nli: Mapping[str, int] = field(default_factory=dict)
    class_weights: bool = False
    teacher: str | None = None
    teacher_share: float = 0.5
    crossed: int = 0
    learning_rate: float = 3e-5
    weight_decay: float = 0.01
    warmup_share: float = 0.06
    label_smoothing: float = 0.05
    epochs: int = 1
    batch_rows: int | None = None
    batch_tokens: int = 1_536
    max_length: int = 160
    dropout: float | None = None
    seed: int = 20260831
    bfloat16: bool = False
    checkpoint_minutes: float = 8.0

    def __post_init__(self) -> None:
        for name in ("claims", "opposites", "teacher_share", "warmup_share", "label_smoothing"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in [0, 1], got {getattr(self, name)!r}")
        for name in ("epochs", "batch_tokens", "max_length"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be >= 1, got {getattr(self, name)!r}")
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise InputError(f"dropout must lie in [0, 1), got {self.dropout!r}")
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be > 0, got {self.learning_rate!r}")

    def to_dict(self) -> dict[str, Any]:
        """The knobs as plain values, as the log and the card show them."""
        return {**asdict(self), "sources": dict(self.sources), "nli": dict(self.nli)}


WARM_UP = {
    "multinli_25k": 16_000,
    "vitaminc_real": 8_000,
    "snli_counterfactual": 5_000,
    "boolq": 3_000,
    "condaqa": 2_500,
    "fool_me_twice": 2_548,
    "check_covid": 1_501,
    "mnli_negation": 1_500,
    "snli_negation": 1_499,
}
"""Inference pairs before stance: contrastive sources first, for one side alone hardly tells."""

MORE_INFERENCE = {
    **WARM_UP,
    "multinli_25k": _WHOLE,
    "vitaminc_real": 26_000,
    "vitaminc_synthetic": 10_000,
    "snli_counterfactual": _WHOLE,
    "boolq": _WHOLE,
    "condaqa": _WHOLE,
    "strategyqa": _WHOLE,
    "creak": 4_000,
}
"""Twice as many, for an encoder that has read `WARM_UP` already."""

MIXTURE = {
    "procon20": _WHOLE,
    "ibm_wiki_passages": _WHOLE,
    "perspectrum_passages": _WHOLE,
    "ukp_convarg1": _WHOLE,
    "ukp_room_for_debate": 1_000,
    "ibm_claim_stance": 600,
    "ibm_argkp2021": 400,
    "perspectrum": 1_200,
    "ibm_argq30k": 1_500,
}
"""Passages whole, sentences sampled: their few topics would else outweigh the passages."""

PRESETS: dict[str, Recipe] = {
    # SP 3.3: roberta-large-mnli, five epochs, AdamW 1e-5, batches of 16, length 256.
    "paper": Recipe(
        base="FacebookAI/roberta-large-mnli",
        sources={"procon20": _WHOLE, "ibm_wiki_passages": _WHOLE},
        learning_rate=1e-5,
        label_smoothing=0.0,
        epochs=5,
        batch_rows=16,
        max_length=256,
    ),
    # Ours, from a general encoder: warm-up on inference pairs, then one pass over the mixture.
    "equipoise": Recipe(
        layers=10,
        min_count=3,
        sources=MIXTURE,
        own=2,
        off_topic=700,
        claims=0.15,
        opposites=0.08,
        nli=WARM_UP,
    ),
    # Ours, on from the bundled detector: a second sitting on passages and the project's examples.
    "continue": Recipe(
        base="default",
        min_count=6,
        frozen_layers=4,
        sources={
            **MIXTURE,
            "ibm_wiki_passages": 2_200,
            "ukp_room_for_debate": 700,
            "perspectrum": 900,
            "ibm_argq30k": 1_000,
        },
        own=2,
        off_topic=700,
        claims=0.15,
        opposites=0.08,
        learning_rate=2.5e-5,
    ),
    # The fast small one: MiniLM, warmed up on inference pairs, taught by the large one.
    "small": Recipe(
        base="all-MiniLM-L6-v2",
        min_count=40,
        sources={
            **MIXTURE,
            "ukp_room_for_debate": _WHOLE,
            "ibm_claim_stance": _WHOLE,
            "ibm_argkp2021": _WHOLE,
            "perspectrum": _WHOLE,
            "ibm_argq30k": 8_000,
        },
        own=2,
        off_topic=2_000,
        claims=0.15,
        opposites=0.08,
        nli=WARM_UP,
        learning_rate=1e-4,
    ),
    # On from the small one: more inference pairs, passages joined from sentences, and the large
    # one's probabilities on pairs that nobody labelled.
    "taught": Recipe(
        base="small",
        sources={
            **MIXTURE,
            "ukp_room_for_debate": _WHOLE,
            "ibm_claim_stance": _WHOLE,
            "ibm_argkp2021": _WHOLE,
            "perspectrum": _WHOLE,
            "ibm_argq30k": 6_000,
        },
        own=3,
        off_topic=2_000,
        claims=0.2,
        opposites=0.08,
        joined=8_000,
        nli=MORE_INFERENCE,
        teacher="default",
        teacher_share=0.0,
        crossed=18_000,
        learning_rate=1e-4,
        dropout=0.0,
        bfloat16=True,
    ),
    # The judge of answers: on other rows than the detector's (judge_data.py), less deep.
    "judge": Recipe(
        layers=7,
        min_count=10,
        sources=dict.fromkeys(
            ("judge_answers", "judge_reasons", "judge_sentences", "judge_checks"), _WHOLE
        ),
        nli={
            "boolq": 900,
            "condaqa": 600,
            "vitaminc_real": 2_400,
            "strategyqa": 600,
            "fool_me_twice": 900,
            "check_covid": 400,
            "mnli_negation": 1_000,
            "creak": 1_000,
        },
        learning_rate=6e-5,
        max_length=224,
        dropout=0.0,
        bfloat16=True,
        seed=20261130,
    ),
    # A second pass of the judge over other answers: give the first run's model as the base.
    "judge-again": Recipe(
        sources={
            "judge_answers": 4_500,
            "judge_reasons": 400,
            "judge_sentences": 1_000,
            "judge_checks": 600,
        },
        learning_rate=4e-5,
        max_length=224,
        dropout=0.0,
        bfloat16=True,
        seed=20261130,
    ),
}


def preset(name: str, **changes: Any) -> Recipe:
    """The preset of that name with `changes`.

    Raises:
        InputError: there is no such preset, or a changed value is out of its range.
    """
    if name not in PRESETS:
        raise InputError(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return replace(PRESETS[name], **changes)


def trial(recipe: Recipe, rows: int) -> Recipe:
    """The recipe with at most `rows` training rows, for trying things out.

    Every stance source, and the off-topic rows as one more, may give an equal share; so may every
    file of the warm-up, which has at most `rows` pairs too. The project's own examples are left
    out: they come whole or not at all.

    Raises:
        InputError: `rows` is too few for one row of each.

    >>> trial(Recipe(sources={"a": 9, "b": 100}, off_topic=50, own=2), 60).sources
    {'a': 9, 'b': 20}
    """
    parts = len(recipe.sources) + bool(recipe.off_topic)
    if rows < max(parts, len(recipe.nli), 1):
        raise InputError(f"max_rows must give each of {parts} sources a row, got {rows}")
    share = rows // max(1, parts)
    warm = rows // max(1, len(recipe.nli))
    return replace(
        recipe,
        sources={name: min(limit, share) for name, limit in recipe.sources.items()},
        off_topic=min(recipe.off_topic, share),
        nli={name: min(limit, warm) for name, limit in recipe.nli.items()},
        crossed=min(recipe.crossed, rows),
        joined=min(recipe.joined, share),
        own=0,
    )
