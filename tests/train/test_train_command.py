"""`equipoise train` through its runner, on tiny data."""

import json
import sys

import pytest
from rich.progress import Progress
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.cli._training import TerminalWatcher, time_left
from equipoise.errors import InputError, MissingExtraError
from equipoise.train.run import Stage

# ibm_wiki_passages and procon20 alone: the tiny data has no other source of the other presets.
TINY = ("--preset", "paper", "--epochs", "1", "--max-length", "80", "--threads", "1")


@pytest.fixture
def call(data, make_base):
    base = make_base("bert")

    def run(*arguments, folder=data):
        given = ["--data", folder, "--base", base, *TINY, *arguments]
        return CliRunner().invoke(app, ["train", *map(str, given)])

    return run


def error(result, kind=InputError):
    assert isinstance(result.exception, kind), result.exception
    return str(result.exception)


def test_a_run_is_trained_scored_and_reported(call, tmp_path):
    out = tmp_path / "run"
    result = call("--out", out, "--folds", 3, "--seed", 7, "--batch-tokens", 600)
    assert result.exit_code == 0, result.exception
    report = json.loads((out / "report.json").read_text())
    assert report["recipe"]["seed"] == 7
    assert report["recipe"]["batch_rows"] is None  # tokens were asked for
    assert set(report["scores"]) == {"model", "text-only", "majority"}
    assert (out / "report.md").read_text() in result.stdout
    for said in ("training rows: procon20", "held-out rows:", "tokens", "steps", "Wrote"):
        assert said in result.stderr
    again = call("--out", out, "--folds", 3, "--seed", 7, "--batch-tokens", 600)
    assert again.stdout == result.stdout
    assert "stance:" not in again.stderr  # it was not trained again


def test_cross_validation_makes_one_report(call, tmp_path):
    result = call("--out", tmp_path, "--cv", "--folds", 2, "--max-rows", 24, "--json")
    assert result.exit_code == 0, result.exception
    report = json.loads(result.stdout)
    assert report["folds"] == 2
    assert [sum(rows["train"].values()) for rows in report["rows"]] == [24, 24]
    assert {path.name for path in tmp_path.glob("fold-*")} == {"fold-0", "fold-1"}
    assert "fold 2 of 2" in result.stderr


def test_no_fold_holds_out_the_worked_example_alone(call, tmp_path):
    result = call("--out", tmp_path, "--no-fold", "--json")
    assert result.exit_code == 0, result.exception
    report = json.loads(result.stdout)
    assert report["fold"] is None
    assert report["rows"][0]["held"] == {"procon20": 6, "ibm_wiki_passages": 5}


def test_every_option_reaches_the_recipe(call, tmp_path):
    options = {
        "--learning-rate": ("learning_rate", 0.002),
        "--layers": ("layers", 1),
        "--min-count": ("min_count", 1),
        "--crossed": ("crossed", 0),
        "--max-length": ("max_length", 90),
        "--dropout": ("dropout", 0.2),
        "--teacher-share": ("teacher_share", 0.0),
    }
    arguments = [str(part) for name, (_, value) in options.items() for part in (name, value)]
    result = call("--out", tmp_path, "--max-rows", 8, "--bfloat16", *arguments)
    assert result.exit_code == 0, result.exception
    recipe = json.loads((tmp_path / "recipe.json").read_text())["recipe"]
    assert recipe["bfloat16"] is True
    assert {recipe[field] == value for field, value in options.values()} == {True}


def test_layers_zero_keeps_all(data, make_base, tmp_path):
    from equipoise.train.recipe import PRESETS

    assert PRESETS["equipoise"].layers == 10
    given = ["--data", data, "--out", tmp_path, "--preset", "equipoise", "--layers", "0"]
    result = CliRunner().invoke(app, ["train", *map(str, given)])
    assert "no file perspectrum_passages" in error(result)  # the data is too small for it
    recipe = json.loads((tmp_path / "recipe.json").read_text())["recipe"]
    assert recipe["layers"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--preset", "best"), "preset must be one of paper, equipoise, continue, small, taught"),
        (("--fold", "9"), r"fold must lie in"),
        (("--folds", "1"), "folds >= 2"),
        (("--fold", "1", "--cv"), "only one of --fold, --no-fold and --cv"),
        (("--no-fold", "--cv"), "only one of"),
        (("--max-rows", "1"), "max_rows must give each of 2 sources a row"),
        (("--warm-start", "/nowhere"), "whose warm-up is finished"),
        (("--crossed", "4"), "they need a teacher"),
        (("--learning-rate", "0"), "learning_rate must be > 0"),
        (("--dropout", "1"), r"dropout must lie in \[0, 1\)"),
    ],
)
def test_misuse_is_named(arguments, message, call, tmp_path):
    assert message.replace("\\", "") in error(call("--out", tmp_path / "run", *arguments))


def test_a_data_folder_without_stance_is_named(call, tmp_path):
    said = error(call("--out", tmp_path / "run", folder=tmp_path))
    assert "--data must be a folder with stance/" in said
    assert not (tmp_path / "run").exists()


def test_another_recipe_in_the_folder_is_named(call, tmp_path):
    assert call("--out", tmp_path, "--max-rows", 8).exit_code == 0
    assert "Give another folder" in error(call("--out", tmp_path, "--max-rows", 8, "--seed", 1))


@pytest.mark.parametrize("missing", ["torch", "transformers", "sklearn"])
def test_the_missing_extra_is_named(missing, call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    said = error(call("--out", tmp_path / "run"), MissingExtraError)
    assert "pip install 'equipoise[train]'" in said


def test_an_interrupt_says_how_to_go_on(call, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(TerminalWatcher, "rows", interrupted)
    result = call("--out", tmp_path / "run")
    assert result.exit_code == 130
    assert (
        f"The same command goes on from the last checkpoint in {tmp_path / 'run'}" in result.stderr
    )


def test_the_command_line_starts_without_torch():
    import subprocess

    code = (
        "import sys, equipoise.cli; print('torch' in sys.modules, 'equipoise.train' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


# Progress


def test_time_left_is_from_the_speed_of_this_sitting(monkeypatch, capsys):
    clock = iter([0.0, 10.0, 50.0, 50.0])
    monkeypatch.setattr("equipoise.cli._training.time.monotonic", lambda: next(clock))
    watcher = TerminalWatcher(Progress(disable=True))
    watcher.stage(Stage("stance", 900, 1_000, 1_000))
    watcher.step(500, 1_000, 0.5)  # a run that went on from step 480
    watcher.step(600, 1_000, 0.25)  # 100 steps in 40 s
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "stance: 900 pairs, 1,000 tokens, 1,000 steps",
        "stance 600 of 1,000, loss 0.250, 3 min left",
    ]


def test_a_terminal_gets_a_bar():
    bar = Progress(disable=False)
    watcher = TerminalWatcher(bar)
    for name in ("warm-up", "stance"):
        watcher.stage(Stage(name, 10, 10, 10))
        watcher.step(5, 10, None)
    [task] = bar.tasks
    assert (task.description, task.completed, task.total) == ("stance", 5, 10)


def test_time_is_said_in_seconds_minutes_and_hours():
    assert [time_left(s) for s in (59.4, 60, 3_600 * 2)] == ["59 s", "1 min", "2 h 0 min"]
