"""What an adapter says when its host is not installed, and what importing the package loads."""

import importlib
import subprocess
import sys

import pytest

from equipoise.errors import MissingExtraError


@pytest.mark.parametrize(
    ("module", "host", "extra"),
    [
        ("equipoise.integrations.langchain", "langchain_core", "langchain"),
        ("equipoise.integrations.langchain_agents", "langchain", "langchain"),
        ("equipoise.integrations.mcp", "mcp", "mcp"),
        ("equipoise.integrations.llama_index", "llama_index", "llama-index"),
        ("haystack_integrations.components.rankers.equipoise.ranker", "haystack", "haystack"),
    ],
)
def test_a_missing_host_names_the_line_that_installs_it(monkeypatch, module, host, extra):
    monkeypatch.delitem(sys.modules, module, raising=False)
    for name in [name for name in sys.modules if name.split(".")[0] == host]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, host, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'equipoise\[{extra}\]'"):
        importlib.import_module(module)


def test_importing_the_integrations_loads_no_host():
    code = "import sys, equipoise.integrations; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert not {"langchain", "langchain_core", "llama_index", "haystack", "mcp"} & set(loaded)
