"""The registry: every name leads somewhere, and unknown names say what is known."""

import subprocess
import sys

import pytest

from equipoise.errors import InputError
from equipoise.registry import PARTS, names, resolve


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, known in PARTS.items() for name in known]
)
def test_every_name_leads_to_a_class(kind: str, name: str) -> None:
    part = resolve(kind, name)
    assert isinstance(part, type)
    assert part.__name__ == PARTS[kind][name].partition(":")[2]


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="rule must be one of mmr, quota, random, relevance"):
        resolve("rule", "best")
    with pytest.raises(InputError, match="kind of part must be one of detector, "):
        names("colour")


def test_registry_itself_loads_no_part() -> None:
    code = "import sys, equipoise.registry as r; r.names('rule')\n" + (
        "print([m for m in sys.modules if m.startswith('equipoise.') and m.count('.') > 1])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
