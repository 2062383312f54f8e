"""The command on the embedded corpus, with the bundled embedder."""

import json

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.lab_compare import compare
from equipoise.errors import DetectorError, InputError
from equipoise.lab.defences import NAMES
from equipoise.lab.embedded import embedded_pack
from equipoise.lab.pack import write_pack
from equipoise.lab.poison.folder import write_poisoned
from equipoise.lab.poison.stance import poison
from equipoise.types import Stance

# The embedder's work, about 100 texts a second, is most of this file's time.
pytestmark = pytest.mark.slow

app = typer.Typer()
app.command()(compare)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    pack = embedded_pack(background=(), topics=3)
    write_pack(pack, folder / "pack")
    write_poisoned(poison(pack, Stance.PRO, n=4), pack, folder / "pro-four")
    return folder


def invoke(folder, *options):
    arguments = [str(folder / "pack"), "-o", str(folder / "out"), "--detector", "oracle", *options]
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_results_tables_and_figure_are_written_and_gone_on_with(folder):
    options = ("--poisoned", str(folder / "pro-four"), "--direction", "con", "--n", "2")
    first = invoke(folder, *options)
    assert first.exit_code == 0
    assert {p.name for p in (folder / "out").iterdir()} == {
        "results.jsonl",
        "table.md",
        "figure.svg",
        "cache",
    }
    assert (folder / "out" / "table.md").read_text("utf-8").strip() == first.stdout.strip()
    for corpus in ("clean", "pro-four", "stance-con-2"):
        assert f"### Corpus {corpus}" in first.stdout
    second = invoke(folder, *options, "--json")
    said = json.loads(second.stdout)
    assert (said["summary"]["written"], said["summary"]["kept"]) == (0, 3 * 4 * 15)
    quota = next(
        entry
        for entry in said["means"]
        if entry["corpus"] == "pro-four" and entry["defence"].startswith("quota")
    )
    # With true labels and 8 genuine pro, 8 con and 4 neutral a topic, the quota is always met.
    assert quota["measures"]["exact"]["value"] == 1.0
    assert quota["measures"]["skew"]["value"] == 0.0


def test_poisoning_here_needs_direction_and_number(folder):
    with pytest.raises(ValueError, match="--direction"):
        invoke(folder, "--direction", "pro")
    with pytest.raises(ValueError, match="--direction"):
        invoke(folder, "--n", "2")
    with pytest.raises(ValueError, match="neutral"):
        invoke(folder, "--direction", "neutral", "--n", "2")


def test_an_unknown_defence_is_named(folder):
    with pytest.raises(ValueError, match="'shield'"):
        invoke(folder, "--defences", "none,shield")


def test_a_comparison_with_failures_says_the_first_and_ends_with_1(folder, monkeypatch, tmp_path):
    def broken(self, case):
        raise DetectorError("the model is gone")

    monkeypatch.setattr("equipoise.lab.defences.base.RuleDefence.defend", broken)
    arguments = [str(folder / "pack"), "-o", str(tmp_path / "out"), "--detector", "oracle"]
    arguments += ["--defences", "none,quota", "--cache", str(folder / "out" / "cache")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "15 errors" in result.stderr
    assert "DetectorError: the model is gone" in result.stderr


def test_results_do_not_go_into_a_pack(folder):
    result = CliRunner().invoke(app, [str(folder / "pack"), "-o", str(folder / "pack")])
    assert isinstance(result.exception, InputError)
    assert "holds a pack" in str(result.exception)


def test_all_leaves_out_what_acts_beyond_retrieval():
    from equipoise.cli.lab_compare import BEYOND, _defences

    labels = {made.name.partition(":")[0] for made in _defences("all")}
    assert labels == set(NAMES) - set(BEYOND)
    assert _defences("prompt_only")[0].name.startswith("prompt_only")
