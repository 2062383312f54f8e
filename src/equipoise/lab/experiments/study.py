"""The cells of one or several runs, put in order: what all experiments draw from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from equipoise.errors import InputError
from equipoise.lab.answers.store import SETTINGS, Cell, read_cells
from equipoise.lab.stance_stats import Stances
from equipoise.types import Stance

CLEAN: Final = "clean"
LIKE: Final = ("generator", "generator_settings", "template", "labels", "embedder", "depth")
"""Settings of answers that cells of one series have in common."""
DEFENCE_OF: Final = {letter: name for name, letter in SETTINGS.items()}


@dataclass(frozen=True, slots=True)
class Planted:
    """One corpus: its name and, unless clean, the attack, its side, size and mean share."""

    name: str
    attack: str | None = None
    direction: Stance | None = None
    n: int = 0
    share: float = 0.0

    @property
    def title(self) -> str:
        """`con 18.9%`, `ebi pro 25.7%`, or the name of a clean corpus."""
        if self.direction is None:
            return self.name
        before = "" if self.attack == "stance" else f"{self.attack} "
        return f"{before}{self.direction.value} {self.share:.1%}"


@dataclass(frozen=True, slots=True)
class Series:
    """Cells alike in everything but corpus and defence; `stances` may be shared with others."""

    about: Mapping[str, Any]
    cells: tuple[Cell, ...]
    stances: Stances

    @property
    def generator(self) -> str:
        """The model that answered."""
        return str(self.about["generator"])

    @property
    def judged(self) -> bool:
        """Whether any answer has a verdict."""
        return any(cell.verdicts for cell in self.cells)

    def corpora(self, attack: str | None = "stance") -> tuple[Planted, ...]:
        """The corpora of that attack (None: clean ones), pro before con, by share."""
        found = {cell.corpus: _planted(cell) for cell in self.cells}
        kept = [corpus for corpus in found.values() if corpus.attack == attack]
        return tuple(sorted(kept, key=lambda c: (c.direction is Stance.CON, c.share, c.name)))

    def largest(self, attack: str = "stance") -> tuple[Planted, ...]:
        """The corpus of the largest share, for each direction that is there."""
        last = {corpus.direction: corpus for corpus in self.corpora(attack)}
        return tuple(last.values())

    def attacks(self) -> tuple[str, ...]:
        """The attacks that are there, by name."""
        return tuple(sorted({c.attack for c in map(_planted, self.cells) if c.attack is not None}))

    def find(self, corpus: str, defence: str) -> Cell | None:
        """The cell of a corpus and a defence, by the defence's name or a letter A to D."""
        name = DEFENCE_OF.get(defence, defence)
        found = [cell for cell in self.cells if (cell.corpus, cell.defence) == (corpus, name)]
        return found[-1] if found else None

    def pair(self, corpus: str, first: str, second: str) -> tuple[Cell, Cell] | None:
        """Two cells of one corpus, where both are there."""
        cells = (self.find(corpus, first), self.find(corpus, second))
        return None if cells[0] is None or cells[1] is None else (cells[0], cells[1])

    def defences(self, corpus: str | None = None) -> tuple[str, ...]:
        """Names of the defences, A to D first, then as they came."""
        names = dict.fromkeys(c.defence for c in self.cells if corpus in (None, c.corpus))
        first = list(SETTINGS)
        return tuple(sorted(names, key=lambda n: first.index(n) if n in first else len(first)))


@dataclass(frozen=True, slots=True)
class Study:
    """Series, what lies in files beside the answers, and where all of it came from.

    `files`: "properties", "latency" (JSON), "shift", "quality" (lines), where the runs
    have them; "choices" holds rows of comparisons by (labels, corpus, defence, question).
    """

    series: tuple[Series, ...]
    files: Mapping[str, Any] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    check: Path | None = None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell, a series after another."""
        return tuple(cell for series in self.series for cell in series.cells)

    def each(self) -> tuple["Study", ...]:
        """The study of each series by itself."""
        return tuple(replace(self, series=(one,)) for one in self.series)

    def choice(self, cell: Cell, question: str) -> Mapping[str, Any]:
        """What the comparison says of how the documents were chosen; empty where not on file."""
        said = cell.settings
        key = (said["labels"], cell.corpus, said["defence"], question)
        found: Mapping[str, Any] = self.files.get("choices", {}).get(key, {})
        return found

    @classmethod
    def of(
        cls,
        cells: Sequence[Cell],
        *,
        files: Mapping[str, Any] | None = None,
        folders: Sequence[str] = (),
        check: Path | None = None,
    ) -> "Study":
        """The cells in series; series of one pack share their draws of topics.

        Raises:
            InputError: there are no cells.
        """
        if not cells:
            raise InputError("experiments need at least one run with answers, got none")
        packs: dict[str, list[Cell]] = {}
        series: dict[str, list[Cell]] = {}
        for cell in cells:
            packs.setdefault(_pack(cell), []).append(cell)
            series.setdefault(json.dumps([_pack(cell), _about(cell)]), []).append(cell)
        stances = {pack: Stances(inside) for pack, inside in packs.items()}
        made = tuple(
            Series(_about(inside[0]), _last(inside), stances[_pack(inside[0])])
            for inside in series.values()
        )
        return cls(made, files or {}, tuple(folders), check)


def read_study(
    folders: Sequence[Path], *, judge: str | None = None, check: Path | None = None
) -> Study:
    """The runs in these folders as one study.

    Raises:
        InputError: a folder holds no answers, or a file that holds something else.
    """
    from equipoise.lab.experiments.files import read_files

    cells = [cell for folder in folders for cell in read_cells(folder, judge=judge)]
    return Study.of(
        cells, files=read_files(folders), folders=[str(folder) for folder in folders], check=check
    )


def _pack(cell: Cell) -> str:
    return f"{cell.settings['pack']} {cell.settings.get('pack_checksum', '')}"


def _about(cell: Cell) -> dict[str, Any]:
    said = {name: cell.settings.get(name) for name in ("pack", "pack_checksum", *LIKE)}
    return said | {"judge": cell.judge.get("judge"), "judge_family": cell.judge.get("family")}


def _last(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Of two cells of one corpus and defence the later one that has an answer."""
    found: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        key = (cell.corpus, cell.defence)
        if cell.answers or key not in found:
            found[key] = cell
    return tuple(found.values())


def _planted(cell: Cell) -> Planted:
    said = cell.settings["attack"]
    if not said:
        return Planted(cell.corpus)
    return Planted(
        cell.corpus,
        str(said.get("attack", "stance")),
        cell.direction,
        int(said.get("n", 0)),
        cell.share,
    )
