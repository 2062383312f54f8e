"""The program on each host's page runs as it stands, with the bundled detector."""

import re
from pathlib import Path
from typing import Any

import pytest

from .chat_model import calls, model

PAGES = Path(__file__).resolve().parents[2] / "docs" / "hosts"
INSTRUCTION = "Be fair to both sides."


def run(name: str, **given: Any) -> dict[str, Any]:
    """The names that the page's blocks leave behind, run one after the other."""
    page = (PAGES / name).read_text(encoding="utf-8")
    names = dict(given)
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(code, name, "exec"), names)
    return names


def stances(documents: Any, metadata: str) -> list[str]:
    return sorted(getattr(document, metadata)["equipoise"]["stance"] for document in documents)


def test_the_page_of_langchain_runs_and_balances():
    chat = model(calls("Should we build more nuclear plants?"), "Both sides have a case.")
    names = run("langchain.md", model=chat)
    assert stances(names["documents"], "metadata") == ["con", "con", "neutral", "pro", "pro"]
    assert INSTRUCTION in names["prompt"]
    message = names["messages"][-2]
    assert stances(message.artifact, "metadata") == ["con", "con", "neutral", "pro", "pro"]
    assert INSTRUCTION in chat.sent[1][0].text


def test_the_page_of_llama_index_runs_and_balances():
    response = run("llama-index.md")["response"]
    assert stances(response.source_nodes, "metadata") == ["con", "con", "neutral", "pro", "pro"]
    assert INSTRUCTION in str(response)


def test_the_page_of_haystack_runs_and_balances():
    names = run("haystack.md")
    selection = names["result"]["ranker"]["selection"]
    assert selection["composition"] == {"pro": 2, "con": 2, "neutral": 1}
    assert INSTRUCTION in names["result"]["prompt"]["prompt"]
    loaded, saved = (names[name].get_component("ranker") for name in ("loaded", "pipeline"))
    assert loaded.to_dict() == saved.to_dict()


def test_the_page_of_mcp_runs_and_balances():
    made = run("mcp.md")["result"].structured_content
    assert made["composition"] == {"pro": 2, "con": 2, "neutral": 1}
    assert INSTRUCTION in made["instruction"]


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_every_link_to_a_file_of_the_project_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target
