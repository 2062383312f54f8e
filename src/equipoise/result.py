"""What a Balancer returns: the choice, and everything that explains it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from equipoise._plain import plain
from equipoise.errors import InputError
from equipoise.selection.gate import Decision, Verdict
from equipoise.selection.sought import Sought
from equipoise.types import Candidate, Quota, Reason, Stance, StanceScore

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """One chosen document.

    `item` is the very object the caller gave (a str, a dict, a Candidate or a host's document);
    `stance` and `probabilities` are None when the rule needed no label for it. `unsure` is True
    when the label's own probability is under the balancer's `unsure_below`.
    """

    candidate: Candidate
    stance: Stance | None
    probabilities: StanceScore | None
    retrieval_rank: int
    reason: Reason
    item: Any = field(default=None, compare=False, repr=False)
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One document that was not chosen, and why.

    `why` is "duplicate", "blank", "filtered" (a filter took it for planted), "quota_full" (its
    stance had no seat left), "source_full" (its stance had, but its source had its share of them),
    "unsure" (its label was too unsure for a seat), "not_needed" (every seat was taken before the
    rule came to it), "beyond_depth" or "not_selected" (another rule preferred others).
    `duplicate_of` is the retrieval rank of the document it repeats, itself possibly filtered.
    `unsure` is as in `Choice`.
    """

    candidate: Candidate
    stance: Stance | None
    probabilities: StanceScore | None
    retrieval_rank: int
    why: str
    duplicate_of: int | None = None
    item: Any = field(default=None, compare=False, repr=False)
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Seats that could not be filled with documents of their own stance.

    `stance` is None for places that stay empty because there are too few documents. `unsure` is
    how many documents of that stance, down to `searched_to_rank`, got none of its seats because
    their label was unsure; `same_source` how many because their source had its share. Some of
    them may fill a seat left over. `filtered` is how many of any
    stance a filter took out down to there: nobody read which side they are on.
    """

    stance: Stance | None
    wanted: int
    found: int
    searched_to_rank: int
    unsure: int = 0
    filtered: int = 0
    same_source: int = 0


@dataclass(frozen=True, slots=True)
class Merged:
    """Documents that share one seat: ranks `dropped` repeat the document at rank `kept`."""

    kept: int
    dropped: tuple[int, ...]
    kind: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Selection:
    """The documents chosen for a question, in the order they go to the generator, and why.

    `composition` counts stances among the chosen, `before` among the first k by relevance (with
    the key "unlabelled" for documents whose stance nobody asked for); unsure labels count there
    like any other. `missing_side` is the side of which no sure label was found. `unsure` is how
    many of the `labelled` texts have an unsure label. `timings_ms` has the stages prepare, label,
    select and total in milliseconds, and filter where there is one. `unscored`, `blank`,
    `filtered` (what a filter flagged) and `unsourced` (what names no source, where sources count)
    are retrieval ranks. `sought` tells what a retriever was asked again for a side that was short;
    None where it was not.
    """

    question: str
    chosen: tuple[Choice, ...]
    left_out: tuple[LeftOut, ...]
    composition: Mapping[str, int]
    before: Mapping[str, int]
    decision: Decision
    one_sided: bool
    missing_side: Stance | None
    shortfalls: tuple[Shortfall, ...]
    merged: tuple[Merged, ...]
    unscored: tuple[int, ...]
    blank: tuple[int, ...]
    labelled: int
    timings_ms: Mapping[str, float]
    quota: Quota
    rule: str
    settings: Mapping[str, Any]
    failure: str | None = None
    unsure: int = 0
    filtered: tuple[int, ...] = ()
    unsourced: tuple[int, ...] = ()
    sought: Sought | None = None

    @property
    def contested(self) -> bool:
        """True when the gate took the question for contested (or was told to balance)."""
        return self.decision.balance

    @property
    def unreadable(self) -> tuple[int, ...]:
        """Retrieval ranks of documents that the detector could not read: of another language."""
        rows: tuple[Choice | LeftOut, ...] = (*self.chosen, *self.left_out)
        found = (r.retrieval_rank for r in rows if r.probabilities and r.probabilities.windows == 0)
        return tuple(sorted(set(found) - set(self.blank)))

    @property
    def items(self) -> tuple[Any, ...]:
        """The chosen documents as the objects that went in."""
        return tuple(choice.item for choice in self.chosen)

    @property
    def ranked(self) -> "tuple[Choice | LeftOut, ...]":
        """Every document with what explains it, a total order: the chosen, then the rest by rank.

        Blank ones come last, filtered ones (and copies of them) before these.
        """
        last = {"filtered": 1, "blank": 2}
        dropped = set(self.filtered)
        rest = sorted(
            self.left_out,
            key=lambda out: (
                last.get(out.why, int(out.duplicate_of in dropped)),
                out.retrieval_rank,
            ),
        )
        return (*self.chosen, *rest)

    @property
    def ranking(self) -> tuple[Candidate, ...]:
        """The candidates of `ranked`, in its order."""
        return tuple(row.candidate for row in self.ranked)

    def prompt(self, *, even_handed: bool | None = None, template: Any = None) -> str:
        """The full prompt: documents, question and, where it applies, the instruction.

        The even-handedness instruction is in it when the question was balanced; `even_handed`
        True or False says otherwise. `template` is an `equipoise.prompt.Template`.
        """
        from equipoise.prompt import DEFAULT, render_prompt

        return render_prompt(
            self.question,
            [choice.candidate.text for choice in self.chosen],
            even_handed=self.decision.balance if even_handed is None else even_handed,
            template=DEFAULT if template is None else template,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data: str, int, float, bool, None, list, dict only."""
        both: tuple[Choice | LeftOut, ...] = (*self.chosen, *self.left_out)
        rows = sorted(both, key=lambda row: row.retrieval_rank)
        position = {c.retrieval_rank: place for place, c in enumerate(self.chosen, start=1)}
        return {
            "schema": SCHEMA,
            "question": self.question,
            "rule": self.rule,
            "detector": self.settings.get("detector"),
            "quota": asdict(self.quota),
            "k": self.quota.total,
            "contested": {
                "verdict": self.decision.verdict.value,
                "why": self.decision.why,
                "balanced": self.decision.balance,
                "missing": self.decision.missing.value if self.decision.missing else None,
            },
            "one_sided": self.one_sided,
            "missing_side": self.missing_side.value if self.missing_side else None,
            "documents": [_row(row, position.get(row.retrieval_rank)) for row in rows],
            "composition": dict(self.composition),
            "before": dict(self.before),
            "shortfalls": [
                {**asdict(s), "stance": s.stance.value if s.stance else None}
                for s in self.shortfalls
            ],
            "merged": [{**asdict(m), "dropped": list(m.dropped)} for m in self.merged],
            "unscored": list(self.unscored),
            "blank": list(self.blank),
            "filtered": list(self.filtered),
            "unsourced": list(self.unsourced),
            "sought": self.sought.to_dict() if self.sought else None,
            "labelled": self.labelled,
            "unsure": self.unsure,
            "failure": self.failure,
            "timings_ms": dict(self.timings_ms),
            "settings": plain(self.settings),
        }

    def to_json(self) -> str:
        """`to_dict()` as a JSON text that any JSON reader takes (no NaN, no lone surrogates)."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_html(self, *, standalone: bool = True) -> str:
        """A picture of the pool, the choice and the reasons; self-contained HTML."""
        from equipoise.render import render_html

        return render_html(self.to_dict(), standalone=standalone)

    def _repr_html_(self) -> str:
        return self.to_html(standalone=False)

    def __str__(self) -> str:
        from equipoise.render import render_text

        return render_text(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Selection":
        """The Selection that `to_dict` described; `item` of each row is its Candidate.

        Raises:
            InputError: the data is not of this schema, or a field is missing or of a wrong kind.
        """
        if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
            raise InputError(f"a selection must be an object with schema {SCHEMA}")
        try:
            return _rebuilt(data)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not a selection of schema {SCHEMA}: {error!r}") from error


def _plain_metadata(candidate: Candidate) -> Any:
    try:
        return plain(candidate.metadata)
    except RecursionError as error:
        raise InputError(
            f"the metadata of document {candidate.id!r} must not contain itself or nest so deep"
        ) from error


def _row(row: Choice | LeftOut, position: int | None) -> dict[str, Any]:
    candidate = row.candidate
    return {
        "rank": row.retrieval_rank,
        "id": candidate.id,
        "text": candidate.text,
        "score": None if candidate.score is None else float(candidate.score),
        "metadata": _plain_metadata(candidate),
        "stance": row.stance.value if row.stance else None,
        "probabilities": row.probabilities.to_dict() if row.probabilities else None,
        "windows": row.probabilities.windows if row.probabilities else None,
        "unsure": row.unsure,
        "chosen": position is not None,
        "position": position,
        "reason": row.reason.value if isinstance(row, Choice) else None,
        "left_out": row.why if isinstance(row, LeftOut) else None,
        "duplicate_of": row.duplicate_of if isinstance(row, LeftOut) else None,
    }


def _rebuilt(data: Mapping[str, Any]) -> Selection:
    """The Selection that `to_dict` described."""
    chosen: dict[int, Choice] = {}
    left_out: list[LeftOut] = []
    for row in data["documents"]:
        candidate = Candidate(row["id"], row["text"], row["score"], row["metadata"])
        stance = Stance(row["stance"]) if row["stance"] else None
        shares = row["probabilities"]
        score = StanceScore(**shares, windows=row["windows"]) if shares else None
        unsure = row.get("unsure", False)  # not in results of before there were unsure labels
        if row["chosen"]:
            chosen[row["position"]] = Choice(
                candidate,
                stance,
                score,
                row["rank"],
                Reason(row["reason"]),
                item=candidate,
                unsure=unsure,
            )
        else:
            left_out.append(
                LeftOut(
                    candidate,
                    stance,
                    score,
                    row["rank"],
                    row["left_out"],
                    row["duplicate_of"],
                    item=candidate,
                    unsure=unsure,
                )
            )
    contested = data["contested"]
    return Selection(
        question=data["question"],
        chosen=tuple(chosen[place] for place in sorted(chosen)),
        left_out=tuple(left_out),
        composition=data["composition"],
        before=data["before"],
        decision=Decision(
            Verdict(contested["verdict"]),
            contested["why"],
            balance=contested["balanced"],
            missing=Stance(contested["missing"]) if contested["missing"] else None,
        ),
        one_sided=data["one_sided"],
        missing_side=Stance(data["missing_side"]) if data["missing_side"] else None,
        shortfalls=tuple(
            Shortfall(**{**s, "stance": Stance(s["stance"]) if s["stance"] else None})
            for s in data["shortfalls"]
        ),
        merged=tuple(Merged(**{**m, "dropped": tuple(m["dropped"])}) for m in data["merged"]),
        unscored=tuple(data["unscored"]),
        blank=tuple(data["blank"]),
        labelled=data["labelled"],
        timings_ms=data["timings_ms"],
        quota=Quota(**data["quota"]),
        rule=data["rule"],
        settings=data["settings"],
        failure=data["failure"],
        unsure=data.get("unsure", 0),
        filtered=tuple(data.get("filtered", ())),
        unsourced=tuple(data.get("unsourced", ())),
        sought=Sought.from_dict(data["sought"]) if data.get("sought") else None,
    )


__all__ = [
    "Choice",
    "Decision",
    "LeftOut",
    "Merged",
    "Selection",
    "Shortfall",
    "Verdict",
]
