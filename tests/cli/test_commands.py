"""The command line as a user runs it: real processes, the bundled models, no generator."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.cli._io import show
from equipoise.data import contested

TOPIC = contested()[0]
PROGRAM = (sys.executable, "-c", "from equipoise.cli import main; main()")


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
            [*PROGRAM, *map(str, arguments)],
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
def shell(folder):
    """Runs a command line of bash in which `equipoise` is the program."""

    def call(line, *, code, stdin=None):
        program = f'equipoise() {{ {shlex.join(PROGRAM)} "$@"; }}; '
        done = subprocess.run(
            ["bash", "-c", program + line], input=stdin, capture_output=True, text=True, cwd=folder
        )
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
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


def test_labels_under_the_threshold_are_unsure_in_each_command(run, index):
    def selection(*arguments, environment=None):
        made = json.loads(run(*arguments, "--json", environment=environment).stdout)
        return made[-1]["selection"] if isinstance(made, list) else made

    ask = ("ask", TOPIC.question, "-i", index, "--model", "none")
    demo = ("demo", "--topic", TOPIC.name, "--model", "none")
    for command in (("balance", TOPIC.question, "-c", "docs.jsonl"), ask, demo):
        made = selection(*command, "--unsure-below", 0.9)
        assert made["settings"]["unsure_below"] == 0.9
        for row in made["documents"]:
            odds = row["probabilities"]
            assert row["unsure"] == (odds is not None and odds[row["stance"]] < 0.9)
        assert made["unsure"] > 0
    balance = ("balance", TOPIC.question, "-c", "docs.jsonl")
    variable = {"EQUIPOISE_UNSURE_BELOW": "0.9"}
    assert selection(*balance, environment=variable)["settings"]["unsure_below"] == 0.9
    given = selection(*balance, "--unsure-below", 0, environment=variable)
    assert given["settings"]["unsure_below"] == given["unsure"] == 0
    shown = run(*balance, "--unsure-below", 0.99).stdout
    assert "labels, under 0.99" in shown


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
        (("balance", "Should it?", "-c", "docs.jsonl", "--unsure-below", "1"), "[0, 1), got 1"),
        (
            ("ask", "Should it?", "-i", "index", "--unsure-below", "-0.1", "--model", "none"),
            "[0, 1), got -0.1",
        ),
        (("demo", "--unsure-below", "nan", "--model", "none"), "[0, 1), got nan"),
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


@pytest.mark.parametrize(
    ("variables", "arguments", "message"),
    [
        ({"EQUIPOISE_EMBEDDER": "nope"}, ("index", "docs.jsonl", "-o", "new"), "got 'nope'"),
        ({"EQUIPOISE_FOO": "1"}, ("index", "docs.jsonl", "-o", "new"), "EQUIPOISE_FOO is not"),
        ({"EQUIPOISE_DETECTOR": "nope"}, ("demo", "--model", "none"), "'nope'"),
        ({"EQUIPOISE_EMBEDDER": "nope"}, ("demo", "--model", "none"), "got 'nope'"),
        ({"EQUIPOISE_BASE_URL": "http://127.0.0.1:1"}, ("demo",), "--model vendor:name"),
    ],
)
def test_every_command_heeds_the_settings(run, folder, variables, arguments, message):
    done = run(*arguments, code=2, environment=variables)
    assert message in done.stderr
    assert not (folder / "new").exists()


def test_a_broken_settings_file_stops_every_command(run, folder):
    file = folder / "equipoise.toml"
    file.write_text("model = ")
    try:
        done = run("index", "docs.jsonl", "-o", "new", code=2)
    finally:
        file.unlink()
    assert "must be TOML" in done.stderr


@pytest.mark.parametrize("model", [(), ("--model", "local"), ("--model", "none")])
def test_a_server_needs_the_model_of_a_vendor(run, index, model):
    done = run("ask", "Should it?", "-i", index, "--base-url", "http://127.0.0.1:1", *model, code=2)
    assert "--model vendor:name" in done.stderr


def test_no_model_is_a_setting_too(run, index):
    done = run("ask", TOPIC.question, "-i", index, environment={"EQUIPOISE_MODEL": "none"})
    assert done.stderr == ""
    assert "Answer" not in done.stdout


def test_a_narrow_terminal_gets_the_picture_of_40_columns(run):
    done = run("balance", TOPIC.question, "-c", "docs.jsonl", environment={"COLUMNS": "30"})
    assert 30 < max(map(len, done.stdout.splitlines())) <= 40


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("equipoise balance Q? <&-", 2, "standard input must be open"),
        ("equipoise balance Q? -c docs.jsonl >&-", 1, "standard output must be open"),
        ("equipoise balance '' 2>&-", 2, ""),
        ("equipoise balance '' 2>/dev/full", 2, ""),
        ("equipoise nothing 2>&-", 2, ""),
    ],
)
def test_closed_streams_are_one_line_at_most(shell, line, code, message):
    done = shell(line, code=code, stdin="" if "<&-" not in line else None)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == (1 if message else 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["balance Q? -c docs.jsonl --json", "version"])
def test_a_full_disk_is_exit_1(shell, command):
    done = shell(f"equipoise {command} >/dev/full", code=1)
    assert "No space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_full_disk_under_an_index_is_exit_1_and_leaves_nothing(shell, folder):
    # A limit on the size of files stands for the full disk: 1 block holds the passages, not more.
    (folder / "one.jsonl").write_text('{"text": "One short document."}')
    for limit in (0, 1):
        done = shell(f"ulimit -f {limit}; equipoise index one.jsonl -o full", code=1)
        assert "cannot be written" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not list(folder.glob("*full*"))


def test_an_interrupt_is_exit_130_without_a_traceback(folder):
    os.mkfifo(folder / "pipe")
    process = subprocess.Popen(
        [*PROGRAM, "balance", "Should it?", "-c", "pipe"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    with (folder / "pipe").open("w"):  # waits until the program reads from the pipe
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors


DEEP = '{"text": "a", "metadata": {"m": ' + "[" * 900 + "]" * 900 + "}}"
NESTED = '{"text": "a", "metadata": {"m": ' + "[" * 90 + "]" * 90 + "}}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a", "n": ' + "9" * 5000 + "}", "5000 digits"),
        ("[" * 100_000, "100 deep"),
        ('{"text": ' + "[" * 100_000, "100 deep"),
        (DEEP, "100 deep"),
    ],
)
@pytest.mark.parametrize("command", ["balance", "index"])
def test_json_that_python_cannot_hold_is_misuse(run, folder, command, line, message):
    (folder / "odd.jsonl").write_text(line + "\n")
    options = ("Q?", "-c", "odd.jsonl") if command == "balance" else ("odd.jsonl", "-o", "odd")
    done = run(command, *options, code=2)
    assert message in done.stderr
    assert "odd.jsonl" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_json_nested_to_the_limit_goes_all_the_way(run, folder):
    (folder / "nested.jsonl").write_text(NESTED)
    run("balance", "Should it?", "-c", "nested.jsonl", "--json")
    run("index", "nested.jsonl", "-o", "nested")
    run("ask", "Should it?", "-i", "nested", "--model", "none", "--json")


@pytest.mark.parametrize("out", ["docs.jsonl/x", "/proc/equipoise-x", "loop"])
def test_a_place_that_cannot_hold_an_index_is_exit_1(run, folder, out):
    (folder / "loop").unlink(missing_ok=True)
    (folder / "loop").symlink_to(folder / "loop")
    done = run("index", "docs.jsonl", "-o", out, code=1)
    assert out in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_overwriting_through_a_link_replaces_what_it_leads_to(run, folder):
    (folder / "one.jsonl").write_text('{"text": "One short document."}')
    run("index", "one.jsonl", "-o", "target")
    (folder / "link").symlink_to("target")
    run("index", "docs.jsonl", "-o", "link", "--overwrite")
    assert (folder / "link").is_symlink()
    manifest = json.loads((folder / "target" / "manifest.json").read_text())
    assert manifest["documents"] == len(TOPIC.documents)
    run("index", "one.jsonl", "-o", "link", "--add", "--id-field", "text")
    assert (folder / "link").is_symlink()


def test_lines_end_at_line_feeds_only(run):
    texts = ["one \u2028 two", "three \u0085 four \x0b \x1c five"]
    lines = [json.dumps({"text": text}, ensure_ascii=False) for text in texts]
    for ending in ("\n", "\r\n"):
        done = run("balance", "Should it?", "--json", stdin=ending.join(lines) + ending)
        assert [row["text"] for row in json.loads(done.stdout)["documents"]] == texts


@pytest.mark.parametrize("command", [("label",), ("balance",), ("balance", "--prompt")])
def test_no_document_can_steer_the_terminal(run, command):
    line = json.dumps({"id": "a\x1b]0;x\x07\nb", "text": "It \x1b[31mmust\x07 \x9bgo. " * 3})
    shown = run(command[0], "Should it\x1b[2J?", *command[1:], stdin=line).stdout
    assert "must" in shown
    assert not [c for c in shown if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160]
    if command == ("label",):
        assert shown.count("\n") == 1


def test_no_answer_can_steer_the_terminal(capsys):
    show("two\n lines \x1b[31m\x07\x9b")
    assert capsys.readouterr().out == "two\n lines \u241b[31m\u2407\ufffd\n"


def test_an_error_cannot_steer_the_terminal_either(run):
    done = run("balance", "Should it?", "-c", "no\x1b[31m\nsuch", code=2)
    assert "\x1b" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_colour_is_for_terminals_that_have_and_want_it(folder, variables):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
    process = subprocess.Popen(
        [*PROGRAM, "balance", "Should it?", "-c", "array.json", "-k", "1"],
        stdout=theirs,
        cwd=folder,
        env=environment | variables,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # what Linux says when the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    assert (b"\x1b[" in shown) is not bool(variables)


@pytest.mark.parametrize("command", ["balance", "ask", "demo"])
@pytest.mark.parametrize(("page", "message"), [("index", "a folder"), ("no/x.html", "exists")])
def test_a_page_that_cannot_be_written_is_told_before_the_work(run, index, command, page, message):
    options = {
        "balance": ("Should it?", "-c", "docs.jsonl"),
        "ask": ("Should it?", "-i", index, "--model", "none"),
        "demo": ("--model", "none"),
    }
    done = run(command, *options[command], "--html", page, code=2)
    assert message in done.stderr
    assert done.stdout == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_page_that_fails_in_the_end_is_exit_1(run):
    done = run("balance", "Should it?", "-c", "docs.jsonl", "--html", "/dev/full", code=1)
    assert "cannot write /dev/full" in done.stderr


def test_headings_say_what_happened(run, index):
    options = ("-i", index, "--model", "none", "--setting", "A,B,C,D")
    shown = run("ask", "Who is the mayor of London?", *options).stdout
    for heading in (
        "Setting A: as retrieved ",
        "Setting B: order of relevance kept (not contested)",
        "Setting C: order of relevance kept (not contested)",
        "Setting D: as retrieved, with the even-handedness instruction",
    ):
        assert f"=== {heading}" in shown
    assert "Setting C: balanced, with the" in run("ask", TOPIC.question, *options).stdout
    never = run("ask", TOPIC.question, *options, "--gate", "never").stdout
    assert "Setting C: order of relevance kept (the gate is set to never)" in never


def test_demo_counts_the_planted_documents(run, folder):
    options = ("--topic", TOPIC.name, "--model", "none")
    shown = run("demo", *options, "--html", "d.html").stdout
    answers = json.loads(run("demo", *options, "--json").stdout)
    page = (folder / "d.html").read_text(encoding="utf-8")
    for answer in answers:
        ranks = [
            row["rank"]
            for row in answer["selection"]["documents"]
            if row["chosen"] and row["metadata"]["origin"] == "injected"
        ]
        where = f" (ranks {', '.join(map(str, ranks))})" if ranks else ""
        line = f"Planted documents among the 5 chosen: {len(ranks)}{where}"
        assert line in shown.splitlines()
        assert line in page
    assert "Planted documents among the 5 chosen: 0" in run("demo", *options, "--planted", 0).stdout


def test_the_topics_are_there_as_json(run):
    topics = json.loads(run("demo", "--topic", "list", "--json").stdout)
    assert {"name": TOPIC.name, "question": TOPIC.question} in topics


def test_the_version_is_an_option_too(run):
    assert run("--version").stdout == run("version").stdout != ""


def test_an_index_that_is_a_file_is_told_to_be_a_folder(run):
    done = run("ask", "Should it?", "-i", "docs.jsonl", "--model", "none", code=1)
    assert "an index must be a folder" in done.stderr


def test_a_blank_corpus_counts_its_blanks(run, folder):
    (folder / "blank.jsonl").write_text('{"text": " "}\n{"text": null}\n')
    assert "(2 blank)" in run("index", "blank.jsonl", "-o", "blank", code=2).stderr
