"""The table (to stdout) and the picture of what `degrade.py` found, from its file alone."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
SHOWN = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
LINES = {"uniform": "errors at random", "bundled": "errors like the bundled detector's"}
PANELS = {  # measure -> title, top of its scale, step between ticks
    "skew": ("|pro - con| of the five, as a share (0 is balanced)", 1.0, 0.25),
    "both": ("share of questions with both a true pro and a true con", 1.0, 0.25),
    "nearest": ("share of questions with 2 + 2 + 1, or as near as the pool allows", 1.0, 0.25),
}
WIDTH, LEFT, GAP, HIGH = 720, 46, 22, 128
FIRST, LAST = 0.35, 1.0  # macro-F1 at the ends of the horizontal axis
# Subtle: `path.range` outweighs the strokes of the dark block that follow it.
STYLE = """
    text {
      font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
      font-size: 13px; fill: #1b2026;
    }
    .name { font-weight: 650; }
    .note { font-size: 12px; fill: #56606b; }
    .end { text-anchor: end; }
    .middle { text-anchor: middle; }
    .paper { fill: #ffffff; }
    .grid { stroke: #e3e6ea; fill: none; }
    .axis { stroke: #8b949e; fill: none; }
    .uniform { stroke: #1a659e; stroke-width: 2; fill: none; }
    .bundled { stroke: #b24e06; stroke-width: 2; stroke-dasharray: 6 3; fill: none; }
    .five { stroke: #5c646e; stroke-width: 1.6; stroke-dasharray: 2 3; fill: none; }
    path.range { stroke: none; fill-opacity: .16; }
    .range.uniform { fill: #1a659e; }
    .range.bundled { fill: #b24e06; }
    .real { fill: #1b2026; stroke: #ffffff; }
    .bar { stroke: #1b2026; stroke-width: 1.4; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e9ebee; }
      .note { fill: #a7afb9; }
      .paper { fill: #14171b; }
      .grid { stroke: #2a3037; }
      .axis { stroke: #76808b; }
      .uniform { stroke: #74b7ea; }
      .bundled { stroke: #f39a58; }
      .five { stroke: #b3bac3; }
      .range.uniform { fill: #74b7ea; }
      .range.bundled { fill: #f39a58; }
      .real { fill: #e9ebee; stroke: #14171b; }
      .bar { stroke: #e9ebee; }
    }
"""


def table(rows: Sequence[dict]) -> str:
    """Markdown: a block for each corpus; intervals are 95%, over questions."""
    head = (
        "| labels | macro-F1 | accuracy | \\|pro - con\\| of 5 | both sides | 2+2+1 "
        "| `Balancer()`: \\|pro - con\\| |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    blocks = []
    for world in dict.fromkeys(row["world"] for row in rows):
        mine = [row for row in rows if row["world"] == world]
        pool = ", ".join(f"{count} {stance}" for stance, count in mine[0]["pool"].items())
        lines = [f"**{world}**: {mine[0]['n']} questions, {pool}", "", head]
        lines += [_line(row, mine) for row in sorted(mine, key=_order) if _is_shown(row)]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _order(row: dict) -> tuple:
    names = ("top five", "true labels", "bundled detector", "uniform", "bundled")
    return names.index(row["labels"]), -row.get("target", 0)


def _is_shown(row: dict) -> bool:
    return row.get("rule") in ("none", "always") and row.get("target", SHOWN[0]) in SHOWN


def _line(row: dict, rows: Sequence[dict]) -> str:
    key = (row["labels"], row.get("target"), "default")
    other = [r for r in rows if (r["labels"], r.get("target"), r.get("rule")) == key]
    known = row["macro_f1"] is not None
    cells = [
        LINES.get(row["labels"], row["labels"]),
        f"{row['macro_f1']:.2f}" if known else "-",
        f"{row['accuracy']:.2f}" if known else "-",
        *(_cell(row[name]) for name in ("skew", "both", "nearest")),
        f"{other[0]['skew']['mean']:.2f}" if other else "-",
    ]
    return "| " + " | ".join(cells) + " |"


def _cell(found: dict) -> str:
    return f"{found['mean']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"


def picture(rows: Sequence[dict]) -> str:
    """An SVG: a column for each corpus, a row for each measure."""
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    wide = (WIDTH - LEFT - 14 - GAP * (len(worlds) - 1)) / len(worlds)
    parts, top = [], 134
    for measure, (title, most, step) in PANELS.items():
        parts.append(f'<text class="name" x="12" y="{top - 30}">{escape(title)}</text>')
        for column, world in enumerate(worlds):
            left = LEFT + column * (wide + GAP)
            mine = [row for row in rows if row["world"] == world]
            parts.append(f'<text class="note" x="{left:.1f}" y="{top - 9}">{escape(world)}</text>')
            parts += _frame(left, top, wide, most, step, numbers=column == 0)
            parts += _panel(mine, measure, (left, top, wide, most))
        top += HIGH + 82
    height = top - 26
    parts.append(
        f'<text class="note middle" x="{WIDTH / 2}" y="{height - 12}">'
        "macro-F1 of the labels over the whole pool (1 is perfect)</text>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-labelledby="title description">\n'
        '  <title id="title">How good must the stance labels be?</title>\n'
        '  <desc id="description">True balance of the five chosen documents against the macro-F1 '
        "of the stance labels, for labels that are wrong at random, and for the bundled "
        "detector; the figures are in benchmarks/RESULTS.md.</desc>\n"
        f"  <style>{STYLE}  </style>\n"
        f'  <rect class="paper" width="{WIDTH}" height="{height}" rx="10"/>\n  '
        + "\n  ".join([*_legend(), *parts])
        + "\n</svg>\n"
    )


def _frame(left: float, top: float, wide: float, most: float, step: float, *, numbers: bool):
    """Grid, axes and the numbers beside them."""
    for tick in range(round(most / step) + 1):
        y = top + HIGH * (1 - tick * step / most)
        yield f'<path class="{"grid" if tick else "axis"}" d="M{left:.1f} {y:.1f}h{wide:.1f}"/>'
        if numbers:
            text = f"{tick * step:.2f}".removesuffix("0")
            yield f'<text class="note end" x="{left - 6:.1f}" y="{y + 4:.1f}">{text}</text>'
    for tick in (0.4, 0.6, 0.8, 1.0):
        x = left + wide * (tick - FIRST) / (LAST - FIRST)
        yield f'<path class="axis" d="M{x:.1f} {top + HIGH}v4"/>'
        yield f'<text class="note middle" x="{x:.1f}" y="{top + HIGH + 17}">{tick}</text>'


def _panel(rows: Sequence[dict], measure: str, box: tuple[float, float, float, float]):
    """The lines, their intervals and the marks of one corpus and one measure."""
    left, top, wide, most = box

    def place(macro_f1: float, value: float) -> str:
        x = left + wide * (macro_f1 - FIRST) / (LAST - FIRST)
        return f"{x:.1f} {top + HIGH * (1 - min(value, most) / most):.1f}"

    paper = [row for row in rows if row.get("rule") == "always"]
    perfect = [row for row in paper if row["labels"] == "true labels"]
    curves = {
        labels: perfect
        + sorted((r for r in paper if r["labels"] == labels), key=lambda r: -r["macro_f1"])
        for labels in LINES
    }
    for labels, line in curves.items():
        low = [place(row["macro_f1"], row[measure]["low"]) for row in line]
        high = [place(row["macro_f1"], row[measure]["high"]) for row in line]
        yield f'<path class="range {labels}" d="M{"L".join([*low, *reversed(high)])}z"/>'
    for row in (row for row in rows if row["labels"] == "top five"):
        ends = [place(x, row[measure]["mean"]) for x in (FIRST, LAST)]
        yield f'<path class="five" d="M{"L".join(ends)}"/>'
    for labels, line in curves.items():
        points = "L".join(place(row["macro_f1"], row[measure]["mean"]) for row in line)
        yield f'<path class="{labels}" d="M{points}"/>'
    for row in (row for row in paper if row["labels"] == "bundled detector"):
        ends = [place(row["macro_f1"], row[measure][end]) for end in ("low", "high")]
        yield f'<path class="bar" d="M{"L".join(ends)}"/>'
        x, y = place(row["macro_f1"], row[measure]["mean"]).split()
        yield f'<circle class="real" cx="{x}" cy="{y}" r="5"/>'


def _legend():
    """Two lines of what the signs mean."""
    yield '<path class="uniform" d="M14 22h30"/><text x="52" y="26">labels wrong at random</text>'
    yield '<path class="bundled" d="M294 22h30"/>'
    yield '<text x="332" y="26">labels wrong in the proportions of the bundled card</text>'
    yield '<path class="five" d="M14 44h30"/><text x="52" y="48">top five, not balanced</text>'
    yield '<path class="bar" d="M309 35v18"/><circle class="real" cx="309" cy="44" r="5"/>'
    yield '<text x="332" y="48">the bundled detector itself</text>'
    yield '<text class="note" x="14" y="70">Shaded areas and bars: 95% over questions.</text>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "degrade.jsonl")
    parser.add_argument("--picture", type=Path, default=HERE.parent / "docs/images/degrade.svg")
    arguments = parser.parse_args()
    lines = arguments.results.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines[1:]]
    known = [row for row in rows if "unreachable" not in row]
    arguments.picture.write_text(picture(known), encoding="utf-8")
    print(table(known), end="\n\n")
    for row in rows:
        if "unreachable" in row:
            why = f"{row['world']}, {LINES[row['labels']]}, {row['target']}: {row['unreachable']}"
            print(f"- Not drawn: {why}")


if __name__ == "__main__":
    main()
