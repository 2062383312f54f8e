"""The report: one page without outside parts, everything escaped, limits worked out from runs."""

import json
import re
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.errors import InputError, StoreError
from equipoise.lab.answers.store import ANSWERS, published
from equipoise.lab.experiments import EXPERIMENTS, read_study
from equipoise.lab.report.blocks import Number, Picture, Points, Section, Text, plain, shown, table
from equipoise.lab.report.build import sections, summary
from equipoise.lab.report.html import page
from equipoise.lab.report.limits import limits, size_of
from equipoise.lab.report.markdown import markdown
from equipoise.lab.stats import Estimate

from . import toy_run
from .test_experiments import ALL_CON, ALL_PRO, CON, EVEN, PRO, cell

VOID = {"meta", "br", "link", "img", "path", "use", "line", "rect", "circle"}


class Reader(HTMLParser):
    """Tags that were opened and not closed, addresses, ids, links."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attrs = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attrs += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attrs += attrs

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    folder = toy_run.full_run(tmp_path_factory.mktemp("runs") / "full", topics=4)
    return folder


@pytest.fixture(scope="module")
def text(full):
    study = read_study([full])
    return page("A report", sections(study), said=summary(study))


def test_the_page_is_one_file_that_asks_for_nothing_else(text):
    read = Reader(text)
    assert not read.open
    assert not {"script", "link", "img", "iframe", "object"} & set(read.tags)
    for name, value in read.attrs:
        if name in ("src", "href", "xlink:href"):
            assert value.startswith("#")
    outside = re.findall(r"(?:@import|url\((?!#))[^;)]*", text)
    assert not outside


def test_every_section_has_a_place_in_the_contents(text, full):
    read = Reader(text)
    ids = [value for name, value in read.attrs if name == "id"]
    assert len(ids) == len(set(ids))  # pictures included
    links = [v[1:] for n, v in read.attrs if n == "href" and v[1:] in EXPERIMENTS]
    assert links == list(EXPERIMENTS)
    assert set(links) <= set(ids)
    assert text.count("<svg") == 5


def test_the_page_follows_light_and_dark_and_scrolls_its_tables(text):
    assert "prefers-color-scheme:dark" in text
    assert 'name="viewport"' in text
    assert text.count("<table>") == text.count('class="scroll"')


def test_what_was_not_run_is_said_and_not_left_out(text):
    assert "Not run: there are no results to show here." in text
    assert "not on file: latency" in text


def test_names_from_files_are_escaped(tmp_path):
    evil = '<script>alert("x")</script>'
    run = toy_run.write_run(
        tmp_path,
        [
            cell(PRO, "none", ALL_PRO, generator=evil, labels=f"{evil}@1", pack=evil),
            cell(PRO, evil, EVEN, generator=evil, labels=f"{evil}@1", pack=evil),
        ],
        {**toy_run.JUDGE, "judge": evil},
    )
    made = sections(read_study([run]))
    for found in (page(evil, made, said=evil), markdown(evil, made)):
        assert "<script" not in found
        assert "&lt;script" in found
    assert not Reader(page(evil, made)).open


def test_a_bar_in_a_name_stays_in_its_cell():
    block = table("a|b", ["x|y"], [["1|2"]])
    assert markdown("t", [Section("s", "s", (block,))]).endswith("| x\\|y |\n| --- |\n| 1\\|2 |\n")


def test_cells_in_words_and_for_machines():
    found = Estimate(-0.25, -0.5, 0.0, 210, 42)
    assert shown(found) == "-0.250 [-0.500, +0.000] 210"
    assert shown(Estimate(0.5, None, None, 5, 1)) == "+0.500 [one topic] 5"
    block = table("t", ["a", "b", "c"], [[found, Number(0.5, ".1%"), None]])
    assert json.loads(json.dumps(plain(block)))["rows"] == [
        [{"value": -0.25, "low": -0.5, "high": 0.0, "n": 210, "topics": 42}, 0.5, None]
    ]
    assert plain(Picture("p", "<svg/>", "c")) == {"picture": "p", "caption": "c"}
    assert plain(Points(("a",))) == {"items": ("a",)}
    assert plain(Text("a")) == {"text": "a"}


def said_of(*cells, tmp_path, **more):
    run = toy_run.write_run(tmp_path / "run", cells)
    _, points = limits(read_study([run], **more))
    return "\n".join(points.items)


def test_limits_name_the_size_of_the_generator(tmp_path):
    said = said_of(cell(PRO, "none", ALL_PRO), tmp_path=tmp_path)
    assert "`toy/model-135M` has 135 million parameters" in said
    assert "2 groups of topics (paper: 210 in 42)" in said
    assert "too narrow" in said
    assert "No check of a judge" in said


@pytest.mark.parametrize(
    ("name", "size"),
    [("hf/SmolLM2-135M-Instruct", 135e6), ("x/Qwen2.5-1.5B", 1.5e9), ("openai/gpt-5-mini", None),
     ("together/Llama-4-Maverick-17B", 17e9), ("quote", None), ("a/Model-8Bit", None)],
)  # fmt: skip
def test_a_size_is_read_from_a_name(name, size):
    assert size_of(name) == size


def test_limits_say_that_quoting_is_no_language_model(tmp_path):
    said = said_of(cell(PRO, "none", ALL_PRO, generator="quote/first"), tmp_path=tmp_path)
    assert "its size is not in its name" in said or "no language model" in said
    said = said_of(cell(PRO, "none", ALL_PRO, generator="equipoise/quote"), tmp_path=tmp_path)
    assert "`equipoise/quote` is no language model" in said


def test_limits_follow_the_runs(tmp_path):
    check = tmp_path / "check.json"
    check.write_text(json.dumps({"judge": "toy-judge", "confusion": [[9, 1, 0], [0, 9, 1], [0, 0, 10]],
                                 "stances": {"low": 0.8, "high": 0.99}}), "utf-8")  # fmt: skip
    said = said_of(
        cell(PRO, "none", ("pro", "refused", "unparsed", None)),
        cell(PRO, "quota", ALL_PRO),
        cell(PRO, "quota_prompt", EVEN),
        tmp_path=tmp_path,
        check=check,
    )
    assert "agrees in 93.3%, kappa 0.900 [0.800, 0.990]" in said
    assert "2 of 11 answers (18.2%) have no stance" in said
    assert "1 questions of these cells are not answered or judged yet" in said
    assert "100.0% of the chosen documents with a known truth are labelled right" in said
    assert "Mean shares of planted documents: 20.0%" in said
    assert re.search(r"Not run at all: .*Latency", said)


def test_topics_seen_in_training_come_from_the_comparison(tmp_path):
    from equipoise.lab.experiments.study import Study

    study = read_study([toy_run.write_run(tmp_path, [cell(PRO, "none", ALL_PRO)])])
    rows = {("toy", PRO, "none", f"q{n}"): {"seen": n < 3} for n in range(5)}
    study = Study(study.series, {"choices": rows})
    said = "\n".join(limits(study)[1].items)
    assert "saw the topics of 3 questions in training and not those of 2" in said


def test_runs_of_several_generators_are_joined(tmp_path):
    for name in ("one-1B", "two-9B"):
        toy_run.write_run(tmp_path / name, [cell(PRO, "none", ALL_PRO, generator=f"toy/{name}")])
    study = read_study([tmp_path / "one-1B", tmp_path / "two-9B"])
    assert summary(study).startswith("8 answers in 2 cells")
    found = page("t", sections(study))
    assert "toy/one-1B" in found
    assert "has 9.0 billion parameters" in found


def test_each_series_has_its_own_picture_and_no_id_twice(tmp_path):
    for name in ("one", "two"):
        toy_run.write_run(
            tmp_path / name,
            [cell(PRO, d, ALL_PRO, generator=f"toy/{name}") for d in ("none", "quota_prompt")],
        )
    made = sections(read_study([tmp_path / "one", tmp_path / "two"]))
    pictures = [b for s in made for b in s.blocks if isinstance(b, Picture)]
    assert [p.caption.rpartition(" ")[2] for p in pictures if p.name == "sweep"] == [
        "toy/one.",
        "toy/two.",
    ]
    assert sum(p.name == "generators" for p in pictures) == 1
    ids = [value for name, value in Reader(page("t", made)).attrs if name == "id"]
    assert len(ids) == len(set(ids))


def test_answers_without_a_judge_have_no_pictures(tmp_path):
    run = toy_run.write_run(
        tmp_path, [cell(PRO, d, (None,) * 4) for d in ("none", "quota", "quota_prompt")]
    )
    made = sections(read_study([run]))
    assert not [b for s in made for b in s.blocks if isinstance(b, Picture)]


def test_a_published_copy_gives_the_same_report(tmp_path, full):
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in full.iterdir():
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        kept = published(rows) if path.name == ANSWERS else rows
        (copy / path.name).write_text("".join(json.dumps(r) + "\n" for r in kept), "utf-8")
    assert "An answer to" not in (copy / ANSWERS).read_text("utf-8")
    ours, theirs = (sections(read_study([folder])) for folder in (full, copy))
    assert [s.blocks for s in ours[:-1]] == [s.blocks for s in theirs[:-1]]


def run(*arguments):
    return CliRunner().invoke(app, ["lab", *map(str, arguments)])


def test_the_command_writes_page_and_markdown(tmp_path, full):
    out, document = tmp_path / "r.html", tmp_path / "r.md"
    found = run("report", full, "-o", out, "--markdown", document)
    assert found.exit_code == 0, found.output
    assert out.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert document.read_text("utf-8").startswith("# Stance of answers under attack")
    again = tmp_path / "again.html"
    run("report", full, "-o", again)
    assert again.read_bytes() == out.read_bytes()


def test_the_command_prints_one_experiment(full, tmp_path):
    found = run("table", "sweep", full, "--figure", tmp_path / "f.svg")
    assert found.exit_code == 0
    assert found.stdout.startswith("# Concentration sweep")
    assert (tmp_path / "f.svg").read_text("utf-8").startswith("<svg")
    found = run("table", "sweep", full, "--json")
    blocks = json.loads(found.stdout)["blocks"]
    assert blocks[0]["rows"][0][3]["n"] == 18
    assert run("table", "list").stdout.splitlines()[0] == "sweep: Concentration sweep"


def test_misuse_is_refused_before_anything_is_written(tmp_path, full):
    assert isinstance(run("table", "nothing", full).exception, InputError)  # `main`: exit 2
    assert isinstance(run("table", "sweep").exception, InputError)
    out = tmp_path / "r.html"
    assert isinstance(run("report", tmp_path, "-o", out).exception, InputError)
    assert isinstance(run("report", full, "-o", out, "--judge", "other").exception, InputError)
    assert not out.exists()


def test_a_place_that_cannot_be_written_is_a_failure(tmp_path, full):
    found = run("report", full, "-o", tmp_path / "no" / "r.html")
    assert isinstance(found.exception, StoreError)  # `main`: exit 1


def test_both_directions_reach_the_page(tmp_path):
    made = toy_run.write_run(tmp_path, [cell(PRO, "none", ALL_PRO), cell(CON, "none", ALL_CON)])
    found = page("t", sections(read_study([made])))
    assert "+1.000" in found
    assert "-1.000" in found
