"""`equipoise lab answer` on the embedded corpus with the generator that quotes, and in inspect."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import equipoise
from equipoise.cli.lab_answer import _tell, answer
from equipoise.errors import InputError
from equipoise.lab.answers.run import Answered
from equipoise.lab.answers.store import read_cells
from equipoise.lab.embedded import embedded_pack
from equipoise.lab.pack import write_pack

app = typer.Typer()
app.command()(answer)


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab") / "pack"
    write_pack(embedded_pack(background=(), topics=2), folder)
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "inspect-cache"))


def invoke(pack, out, *options):
    arguments = [str(pack), "-o", str(out), "--detector", "oracle", "--model", "quote", *options]
    arguments += ["--cache", str(pack.parent / "cache")]  # vectors are made once for this file
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


SWEEP = ("--direction", "both", "--n", "3", "--limit-questions", "4")


@pytest.mark.slow
def test_a_sweep_is_run_gone_on_with_and_read_by_the_store(pack, tmp_path):
    out = tmp_path / "run"
    first = invoke(pack, out, *SWEEP)
    assert first.exit_code == 0
    assert "stance-pro-3 / quota_prompt: 4 answered" in first.stdout
    assert "Asked now: 48 answered" in first.stderr
    again = invoke(pack, out, *SWEEP, "--json")
    said = json.loads(again.stdout)
    assert (again.exit_code, said["kept"], said["asked"]) == (0, 48, {})
    cells = {(cell.corpus, cell.setting): cell for cell in read_cells(out)}
    assert len(cells) == 3 * 4
    assert {cell.generator for cell in cells.values()} == {"equipoise/quote"}
    for corpus in ("clean", "stance-pro-3", "stance-con-3"):
        for left, right in (("A", "D"), ("B", "C")):  # quoting follows no instruction
            one, other = cells[corpus, left].answers, cells[corpus, right].answers
            assert {q: r["text"] for q, r in one.items()} == {
                q: r["text"] for q, r in other.items()
            }
    planted = [row["planted"] for row in cells["stance-pro-3", "A"].answers.values()]
    assert sum(planted) > 0
    assert {row["planted"] for row in cells["clean", "A"].answers.values()} == {0}


@pytest.mark.slow
def test_a_limit_on_cost_ends_with_1_and_says_how_to_go_on(pack, tmp_path):
    out = tmp_path / "run"
    limits = ("--defences", "none", "--limit-questions", "3", "--price", "1,1", "--max-cost")
    stopped = invoke(pack, out, *limits, "0.0000001")
    assert stopped.exit_code == 1
    assert "1 answered, 2 missing" in stopped.stdout
    assert "--max-cost" in stopped.stderr
    assert invoke(pack, out, *limits, "1").exit_code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--direction", "pro"), "--n"),
        (("--defences", "none,robustrag"), "robustrag"),
        (("--defences", "shield"), "'shield'"),
        (("--model", "equipoise/gpt"), "quote, smollm2"),
        (("-M", "threads"), "key=value"),
        (("--price", "1"), "1.25,10"),
        (("--max-cost", "1"), "--price"),
        (("--max-cost", "0"), "> 0"),
        (("--no-clean",), "nothing to ask about"),
    ],
)
def test_misuse_is_told(pack, tmp_path, options, said):
    with pytest.raises(InputError, match=said):
        invoke(pack, tmp_path / "run", *options, "--limit-questions", "1")


def test_a_folder_that_holds_a_pack_is_no_run(pack):
    with pytest.raises(InputError, match="holds a pack"):
        invoke(pack, pack)


DONE = Answered({"answered": 2}, {}, 0, {"answered": 2}, ())


def told(capsys, **more):
    """Exit status and what goes to standard error."""
    from dataclasses import replace

    code = 0
    try:
        _tell(replace(DONE, **more), Path("RUN"), as_json=False)
    except typer.Exit as end:
        code = end.exit_code
    return code, capsys.readouterr().err


def test_only_a_whole_run_ends_with_0(capsys):
    assert told(capsys)[0] == 0
    assert told(capsys, outcomes={"answered": 1, "refused": 1, "filtered": 1, "empty": 1})[0] == 0
    assert told(capsys, judged={"scored": 1, "unparsed": 1})[0] == 0
    code, said = told(
        capsys,
        outcomes={"answered": 1, "error": 1},
        asked={"error": 1, "answered": 1},
        first_failure="no route",
    )
    assert (code, "no route" in said) == (1, True)
    assert told(capsys, outcomes={"answered": 1, "missing": 1})[0] == 1
    assert told(capsys, judged={"error": 1})[0] == 1
    assert told(capsys, stopped="no money")[0] == 1


def test_a_run_in_which_every_call_fails_says_so_and_why(capsys):
    code, said = told(
        capsys, asked={"error": 9}, outcomes={"error": 9}, first_failure="no route to the model"
    )
    assert code == 1
    assert "Every call failed. The first failure: no route to the model" in said


@pytest.mark.slow
def test_inspect_runs_one_setting_by_name(pack, tmp_path):
    """`inspect eval equipoise/stance`, found by the entry point of the package."""
    source = Path(equipoise.__file__).parents[1]
    # What `pip install -e .` writes: the checkout may be installed as an older version.
    about = tmp_path / "site" / f"equipoise-{equipoise.__version__}.dist-info"
    about.mkdir(parents=True)
    name = f"Metadata-Version: 2.1\nName: equipoise\nVersion: {equipoise.__version__}\n"
    (about / "METADATA").write_text(name, "utf-8")
    points = "[inspect_ai]\nequipoise = equipoise.lab.answers.registry\n"
    (about / "entry_points.txt").write_text(points, "utf-8")
    origin = {"url": source.parent.as_uri(), "dir_info": {"editable": True}}
    (about / "direct_url.json").write_text(json.dumps(origin), "utf-8")
    path = os.pathsep.join([str(tmp_path / "site"), str(source)])
    settings = {"pack": pack, "out": tmp_path / "run", "defence": "quota", "detector": "oracle"}
    settings |= {
        "direction": "con",
        "n": 2,
        "limit_questions": 2,
        "cache_dir": pack.parent / "cache",
    }
    options = [part for key, value in settings.items() for part in ("-T", f"{key}={value}")]
    command = [sys.executable, "-m", "inspect_ai", "eval", "equipoise/stance", *options]
    command += ["--model", "equipoise/quote", "--display", "plain"]
    done = subprocess.run(
        [*command, "--log-dir", str(tmp_path / "logs")],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    (cell,) = read_cells(tmp_path / "run")
    assert (cell.corpus, cell.setting, len(cell.answers)) == ("stance-con-2", "B", 2)
    assert len(list((tmp_path / "logs").glob("*.eval"))) == 1
