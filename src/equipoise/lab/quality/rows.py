"""RUN/quality.jsonl: ratings of people and judges, and measures that need neither.

A line a run {"run", "settings"}: who rated ("rater", "kind": ratings or measures), whose answers.
A line a pair {"key", "run", "rater", "question", "topic", "group", "order", "answers", "shas",
"outcome", and "marks" and "preference", or "measures"}, by setting. No line holds words of answers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from equipoise.errors import InputError
from equipoise.lab.answers.store import Judged
from equipoise.lab.quality.asking import Rating
from equipoise.lab.results import ResultFile, read_lines, result_path, row_key, run_id

QUALITY: Final = "quality.jsonl"
RATINGS: Final = "ratings"
MEASURES: Final = "measures"


@dataclass(frozen=True, slots=True)
class Rated:
    """What one rater said of one generator's pairs: the settings, and rows by question."""

    settings: Mapping[str, Any]
    rows: Mapping[str, Mapping[str, Any]]

    @property
    def rater(self) -> str:
        """Who rated, or what measured."""
        return str(self.settings["rater"])

    @property
    def kind(self) -> str:
        """`ratings` or `measures`."""
        return str(self.settings["kind"])

    @property
    def scored(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The questions with a rating, in order of name, each with its row."""
        kept = ((q, row) for q, row in self.rows.items() if row["outcome"] == Judged.SCORED)
        return tuple(sorted(kept))

    def outcomes(self) -> dict[str, int]:
        """How many pairs had which outcome."""
        found: dict[str, int] = {}
        for row in self.rows.values():
            found[row["outcome"]] = found.get(row["outcome"], 0) + 1
        return dict(sorted(found.items()))


def settings_of(
    made: Mapping[str, Any], rater: str, *, kind: str = RATINGS, **further: Any
) -> dict[str, Any]:
    """The settings of a run: those of the pairs, and who rates them."""
    return {**made, "rater": rater, "kind": kind, **further}


def row_of(settings: Mapping[str, Any], pair: Mapping[str, Any], **found: Any) -> dict[str, Any]:
    """A row about a pair (`Pair.about`): its key hangs on the run and on the words of both answers.

    So an answer that was given anew is rated anew.
    """
    run = run_id(settings)
    answers = "/".join(str(pair["shas"][setting]) for setting in sorted(pair["shas"]))
    return {
        "key": row_key(run, f"{pair['question']}/{answers}"),
        "run": run,
        "rater": settings["rater"],
        "kind": settings["kind"],
        "generator": settings["generator"],
        **pair,
        **found,
    }


def add_filled(
    folder: Path, rater: str, key: Mapping[str, Any], ratings: Mapping[str, Rating]
) -> int:
    """The ratings of a filled-in form put with the run's others; how many there are now.

    A form that was filled in further may be given again under the same name: its rows count.

    Raises:
        InputError: the rater has no name, or nothing was filled in.
        StoreError: the file cannot be written.
    """
    if not rater.strip() or not ratings:
        raise InputError(
            f"a form needs a rater's name and an answer, got {rater!r}, {len(ratings)}"
        )
    settings = settings_of(key["settings"], rater)
    lines: list[dict[str, Any]] = [{"run": run_id(settings), "settings": settings}]
    for item, rating in ratings.items():
        pair = key["items"][item]
        lines.append(row_of(settings, pair, outcome=Judged.SCORED.value, **rating.to_dict()))
    ResultFile(folder / QUALITY).append(lines)
    return len(ratings)


def read_quality(folder: Path) -> tuple[Rated, ...]:
    """Who rated what, in the order in which they first came.

    Of two runs of one rater on one generator the last counts; of two rows of a question the last.

    Raises:
        InputError: no such file, or one that holds something else.
    """
    return rated_of(read_lines(result_path(folder, QUALITY)))


def rated_of(lines: Iterable[Mapping[str, Any]]) -> tuple[Rated, ...]:
    """As `read_quality`, from the lines of one or several files."""
    settings: dict[str, Mapping[str, Any]] = {}
    rows: dict[str, dict[str, Mapping[str, Any]]] = {}
    for line in lines:
        if "settings" in line:
            settings.pop(line["run"], None)  # asked for again: it is the last now
            settings[line["run"]] = line["settings"]
        else:
            rows.setdefault(line["run"], {})[line["question"]] = line
    found: dict[tuple[str, ...], Rated] = {}
    for run, said in settings.items():
        if run in rows:
            found[said["kind"], said["rater"], said["generator"]] = Rated(said, rows[run])
    return tuple(found.values())


def of_kind(rated: Sequence[Rated], kind: str) -> tuple[Rated, ...]:
    """Those of a kind."""
    return tuple(one for one in rated if one.kind == kind)
