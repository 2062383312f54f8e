"""A Selection rebuilt from plain JSON data."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from equipoise.selection.gate import Decision, Verdict
from equipoise.types import Candidate, Quota, Reason, Stance, StanceScore

if TYPE_CHECKING:
    from equipoise.result import Selection


def selection_from_dict(data: Mapping[str, Any]) -> "Selection":
    """Rebuild a Selection; see `Selection.from_dict`."""
    from equipoise.result import Choice, LeftOut, Merged, Selection, Shortfall

    chosen: dict[int, Choice] = {}
    left_out: list[LeftOut] = []
    for row in data["documents"]:
        candidate = Candidate(row["id"], row["text"], row["score"], row["metadata"])
        stance = Stance(row["stance"]) if row["stance"] else None
        shares = row["probabilities"]
        score = StanceScore(**shares, windows=row["windows"]) if shares else None
        if row["chosen"]:
            chosen[row["position"]] = Choice(
                candidate,
                stance,
                score,
                row["rank"],
                Reason(row["reason"]),
                item=candidate,
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
    )
