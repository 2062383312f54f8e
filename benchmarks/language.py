"""How many texts of a file does the bundled detector take for another language than English?

    python benchmarks/language.py FILE [FILE ...]

JSON Lines (the fields text, passage or sentence; .gz too), manual pages (.gz), or texts parted by
lines with a "%" alone. Per file, by the number of word pieces (12 to 19, 20 to 39, 40 and more):
texts, and the share taken for another language. Files of several folders are joined by folder.
"""

import argparse
import gzip
import json
import re
import time
from collections import defaultdict
from pathlib import Path

from equipoise.stance import load_detector
from equipoise.stance.language import is_foreign

EDGES = (12, 20, 40)


def texts_of(path: Path) -> list[str]:
    """The texts of one file."""
    data = path.read_bytes()
    raw = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")
    if ".json" in path.name:
        rows = [json.loads(line) for line in raw.splitlines() if line.strip()]
        return [row.get("text") or row.get("passage") or row.get("sentence") or "" for row in rows]
    if path.parent.name.startswith("man"):
        plain = re.sub(r"\\f.|\\", "", re.sub(r"^[.'].*$", "", raw, flags=re.M))
        return re.split(r"\n\s*\n", plain)
    return raw.split("\n%\n")


def main() -> None:
    """Print a line a group of files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    groups: dict[str, list[str]] = defaultdict(list)
    for path in parser.parse_args().files:
        groups[path.name if ".json" in path.name else str(path.parent)] += texts_of(path)
    pieces_of = load_detector("default")._loaded().tokenizer.pieces
    for name, texts in groups.items():
        taken: list[list[bool]] = [[], [], []]
        spent = 0.0
        for text in texts:
            size = pieces_of(text[:3_000])
            began = time.perf_counter()
            foreign = is_foreign(text, pieces_of)
            spent += time.perf_counter() - began
            if size >= EDGES[0]:
                taken[sum(size >= edge for edge in EDGES) - 1].append(foreign)
        shares = [f"{100 * sum(t) / len(t):5.1f}% of {len(t)}" if t else "-" for t in taken]
        print(f"{name}: {', '.join(shares)}; {1e3 * spent / max(1, len(texts)):.2f} ms a text")


if __name__ == "__main__":
    main()
