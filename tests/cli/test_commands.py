"""The command line as a user runs it: real processes, the bundled models, no generator."""

import json
import os
import subprocess
import sys

import pytest

from equipoise.data import contested

TOPIC = contested()[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli")
    lines = [json.dumps({"id": d.id, "text": d.text}) for d in TOPIC.documents]
    (path / "docs.jsonl").write_text("\n".join(lines))
    (path / "array.json").write_text(json.dumps([d.text for d in TOPIC.documents]))
    (path / "broken.jsonl").write_text('{"text": "fine"}\n{"text": \n')
    (path / "latin.jsonl").write_bytes(b'{"text": "caf\xe9"}\n')
    return path


@pytest.fixture(scope="module")
def run(folder):
    def call(*arguments, stdin="", code=0, environment=None):
        done = subprocess.run(
            [sys.executable, "-c", "from equipoise.cli import main; main()", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=folder,
            env=os.environ | (environment or {}),
        )
        assert "Traceback" not in done.stderr
        assert done.returncode == code, (done.returncode, done.stderr)
        return done

    return call


@pytest.fixture(scope="module")
def index(run, folder):
    run("index", "docs.jsonl", "-o", "index")
    return folder / "index"


def test_balance_reads_a_file_or_standard_input_and_gives_the_same(run, folder):
    from_file = json.loads(run("balance", TOPIC.question, "-c", "docs.jsonl", "--json").stdout)
    text = (folder / "docs.jsonl").read_text()
    piped = json.loads(run("balance", TOPIC.question, "--json", stdin=text).stdout)
    for result in (from_file, piped):
        del result["timings_ms"]
    assert from_file == piped
    assert sum(row["chosen"] for row in from_file["documents"]) == 5


def test_a_json_array_of_texts_is_read_too(run):
    result = json.loads(run("balance", TOPIC.question, "-c", "array.json", "--json").stdout)
    assert len(result["documents"]) == len(TOPIC.documents)
    assert result["documents"][0]["id"] == "1"


def test_balance_shows_the_choice_the_prompt_or_a_page(run, folder):
    shown = run("balance", TOPIC.question, "-c", "docs.jsonl", "-k", 3).stdout
    assert TOPIC.question in shown
    prompt = run("balance", TOPIC.question, "-c", "docs.jsonl", "--prompt").stdout
    assert f"Question: {TOPIC.question}" in prompt
    run("balance", TOPIC.question, "-c", "docs.jsonl", "--html", "out.html")
    assert "<html" in (folder / "out.html").read_text(encoding="utf-8")


def test_label_prints_one_line_a_document(run):
    rows = [
        json.loads(x)
        for x in run("label", TOPIC.question, "-c", "docs.jsonl", "--json").stdout.splitlines()
    ]
    assert [row["id"] for row in rows] == [d.id for d in TOPIC.documents]
    assert all(abs(row["pro"] + row["con"] + row["neutral"] - 1) < 1e-6 for row in rows)


def test_ask_shows_two_settings_from_one_retrieval(run, index):
    arguments = ("ask", TOPIC.question, "--index", index, "--setting", "A,C", "--model", "none")
    shown = run(*arguments).stdout
    assert "Setting A" in shown
    assert "Setting C" in shown
    both = json.loads(run(*arguments, "--json").stdout)
    assert [answer["setting"] for answer in both] == ["A", "C"]
    pools = [[row["id"] for row in answer["selection"]["documents"]] for answer in both]
    assert pools[0] == pools[1]
    assert both[0]["answer"] is None


@pytest.mark.parametrize("mode", ["dense", "bm25", "fused"])
def test_ask_retrieves_in_three_modes(run, index, mode):
    done = run("ask", TOPIC.question, "-i", index, "--mode", mode, "--model", "none", "--json")
    assert json.loads(done.stdout)[0]["retrieved"] > 5


def test_demo_plants_documents_and_compares(run, folder):
    assert TOPIC.name in run("demo", "--topic", "list").stdout
    both = json.loads(
        run("demo", "--topic", TOPIC.name, "--model", "none", "--json", "--html", "d.html").stdout
    )
    planted = [row["id"] for row in both[0]["selection"]["documents"] if "plant" in row["id"]]
    assert len(planted) == 7
    assert (folder / "d.html").read_text(encoding="utf-8").count("<section") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("balance", "", "-c", "docs.jsonl"), "question must be"),
        (("balance", "Should it?", "-c", "missing.jsonl"), "cannot read missing.jsonl"),
        (("balance", "Should it?", "-c", "."), "cannot read"),
        (("balance", "Should it?", "-c", "broken.jsonl"), "broken.jsonl:2 must be JSON"),
        (("balance", "Should it?", "-c", "latin.jsonl"), "must be UTF-8"),
        (("balance", "Should it?", "-c", "docs.jsonl", "-k", "0"), "k must be"),
        (("balance", "Should it?", "-c", "docs.jsonl", "--gate", "perhaps"), "gate must be"),
        (("balance", "Should it?", "-c", "docs.jsonl", "--detector", "nothing"), "bundled name"),
        (("label", "Should it?", "-c", "broken.jsonl"), "broken.jsonl:2 must be JSON"),
        (("demo", "--topic", "tea", "--model", "none"), "no topic 'tea'"),
        (("demo", "--stance", "both", "--model", "none"), "--stance must be"),
        (("ask", "Should it?", "-i", "index", "--setting", "X", "--model", "none"), "A, B, C, D"),
        (
            ("ask", "Should it?", "-i", "index", "--mode", "magic", "--model", "none"),
            "mode must be",
        ),
    ],
)
def test_misuse_is_one_clear_line_and_exit_2(run, index, arguments, message):
    done = run(*arguments, code=2)
    assert message in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1


def test_what_is_not_there_is_exit_1(run):
    assert "manifest" in run("ask", "Should it?", "-i", "nowhere", "--model", "none", code=1).stderr


def test_a_model_that_was_asked_for_and_is_not_there_is_exit_1(run, index, tmp_path):
    empty = {"EQUIPOISE_CACHE_DIR": str(tmp_path)}
    done = run("ask", "Should it?", "-i", index, "--model", "local", code=1, environment=empty)
    assert "equipoise models pull smollm2" in done.stderr
    note = run("ask", TOPIC.question, "-i", index, environment=empty)
    assert "No answers will be written" in note.stderr
    assert "Setting C" in note.stdout


def test_output_survives_a_terminal_without_unicode(run):
    run(
        "balance",
        TOPIC.question + " é \N{FAMILY}",
        "-c",
        "docs.jsonl",
        environment={"PYTHONIOENCODING": "ascii"},
    )


def test_a_reader_that_goes_away_is_no_traceback(folder):
    command = f"{sys.executable} -c 'from equipoise.cli import main; main()' label 'Should it?' -c docs.jsonl --json | head -n 1"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert "Traceback" not in done.stderr
    assert done.stdout.count("\n") == 1
