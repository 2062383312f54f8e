"""The pages on the server and on reranker URLs: what they show runs, and what they list is there."""

import json
import re
import subprocess
from dataclasses import fields
from pathlib import Path

import httpx
import pytest

from equipoise.prompt import DEFAULT
from equipoise.server import Limits, create_app
from equipoise.server.errors import _TYPES

PAGES = Path(__file__).resolve().parents[2] / "docs" / "hosts"


def blocks(page, kind):
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


@pytest.fixture(scope="module")
def bundled():
    from .conftest import serve

    with serve(create_app()) as url:
        yield url


def test_the_instruction_to_paste_is_that_of_the_template():
    assert blocks("reranker-url.md", "text") == [DEFAULT.instruction + "\n"]


def test_the_request_on_the_page_gives_the_answer_on_the_page(bundled):
    (command,) = blocks("reranker-url.md", "bash")
    ran = subprocess.run(
        ["bash", "-c", command.replace("http://127.0.0.1:8000", bundled)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    results = json.loads(ran.stdout)["results"]
    found = {result["index"]: result["stance"] for result in results}
    assert found == {0: "pro", 3: "con", 4: "neutral"}
    assert "returns documents 0, 3 and 4" in (PAGES / "reranker-url.md").read_text()


def test_the_programs_on_the_servers_page_run(bundled, capsys):
    request, application = blocks("server.md", "python")
    exec(compile(request.replace("http://127.0.0.1:8000", bundled), "server.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.count("True ") == 3
    assert DEFAULT.instruction in printed
    names: dict = {}
    exec(compile(application, "server.md", "exec"), names)
    assert names["app"].state.service.balancer.quota.total == 10


def test_every_route_stands_on_the_servers_page(bundled):
    paths = httpx.get(f"{bundled}/openapi.json").json()["paths"]
    page = (PAGES / "server.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:GET |POST )?(/[a-z0-9/.]*)`", page))
    assert set(paths) <= named


def test_every_limit_and_status_stands_on_the_servers_page():
    page = (PAGES / "server.md").read_text(encoding="utf-8")
    for entry in fields(Limits):
        assert f"| `{entry.name}` |" in page
    table = page[page.index("| status | when |") :].split("\n\n")[0]
    statuses = {int(found) for found in re.findall(r"\b[45]\d\d\b", table)}
    assert statuses == set(_TYPES)
