"""A comparison from end to end: what is written, what is kept, what the tables say of it."""

import json
import re
from dataclasses import dataclass, replace

import pytest

from equipoise.errors import DetectorError, InputError, MissingExtraError
from equipoise.lab.cases import Corpus
from equipoise.lab.cells import cell, table
from equipoise.lab.compare import checked, clean_corpus, compare
from equipoise.lab.defences.base import Defended, RuleDefence
from equipoise.lab.figures import draw
from equipoise.lab.frame import Frame
from equipoise.lab.labels import DetectorLabels, OracleLabels
from equipoise.lab.measures import KEYS
from equipoise.lab.results import ResultFile, code_version, read_results
from equipoise.lab.tables import markdown, means
from equipoise.lab.vectors import VectorCache
from equipoise.selection.quota import QuotaRule
from equipoise.selection.relevance import RelevanceRule
from equipoise.testing import FakeDetector
from equipoise.types import Quota

from .toy_world import WordEmbedder, toy_attack, toy_pack

NONE = RuleDefence("none: relevance(5)", RelevanceRule(5))
QUOTA = RuleDefence("quota: 2+2+1", QuotaRule(Quota()))


NO_VECTOR = InputError("no vector")


@dataclass
class Counting:
    """The first five, counted; fails for questions that are named."""

    name: str = "counting"
    fails_for: tuple = ()
    error: Exception = NO_VECTOR
    calls: int = 0

    def defend(self, case):
        self.calls += 1
        if case.question in self.fails_for:
            raise self.error
        return Defended(tuple(range(min(5, len(case.candidates)))))


def run(path, defences=(NONE, QUOTA), corpora=None, pack=None, labels=None, **options):
    pack = pack or toy_pack()
    return compare(
        pack,
        corpora or [clean_corpus(pack), toy_attack()],
        defences,
        labels=labels or OracleLabels(),
        vectors=VectorCache(WordEmbedder()),
        results=ResultFile(path),
        **options,
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out" / "results.jsonl"


def rows(path):
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [line for line in lines if "key" in line]


def test_there_is_one_line_for_each_corpus_defence_and_question(path):
    summary = run(path)
    found = rows(path)
    assert summary.written == len(found) == 2 * 2 * 3
    assert len({row["key"] for row in found}) == 12
    assert all(tuple(row["measures"]) == KEYS for row in found)
    assert {row["group"] for row in found} == {"animals", "money"}


def test_the_measures_are_those_of_what_was_chosen(path):
    run(path)
    (group,) = read_results(path)
    quota = next(r for r in group if r.label == "quota" and r.corpus == "attacked")
    row = quota.rows["zoos-1"]
    assert len(row["chosen"]) == 5
    assert row["measures"]["exact"] == 1
    assert row["measures"]["planted"] == sum("injected" in name for name in row["chosen"])
    none = next(r for r in group if r.label == "none" and r.corpus == "attacked")
    assert none.rows["zoos-1"]["measures"]["planted"] == 3


def test_a_second_run_keeps_every_line_and_asks_no_defence(path):
    first = Counting()
    run(path, [first])
    before = rows(path)
    second = Counting()
    summary = run(path, [second])
    assert (summary.written, summary.kept, second.calls) == (0, 6, 0)
    assert rows(path) == before


def test_a_stopped_run_goes_on_where_it_was(path):
    class Stopped(Counting):
        def defend(self, case):
            if self.calls == 4:
                raise KeyboardInterrupt
            return super().defend(case)

    with pytest.raises(KeyboardInterrupt):
        run(path, [Stopped()])
    assert len(rows(path)) == 4
    # The stop may also cut a line short.
    with path.open("a") as file:
        file.write('{"key": "abc", "ru')
    going_on = Counting()
    summary = run(path, [going_on])
    assert (summary.kept, summary.written, going_on.calls) == (4, 2, 2)
    whole = path.with_name("whole.jsonl")
    run(whole, [Counting()])

    def comparable(found):
        return sorted((r["key"], json.dumps(r["measures"])) for r in found)

    assert comparable(rows(path)) == comparable(rows(whole))


@pytest.mark.parametrize(
    "changed",
    [
        {"labels": OracleLabels(0.9)},
        {"depth": 4},
        {"pack": replace(toy_pack(), questions=toy_pack().questions[:2])},
        {"corpora": [toy_attack(1)]},
        {"defences": [replace(NONE, label="none: other settings")]},
    ],
)
def test_another_setting_is_another_run(path, changed):
    base = {"defences": [NONE], "corpora": [toy_attack()]}
    run(path, **base)
    summary = run(path, **{**base, **changed})
    assert summary.kept == 0
    assert summary.written > 0


def test_what_failed_is_told_not_scored_and_tried_again(path):
    pack = toy_pack()
    failing = Counting(fails_for=("zoo",))
    summary = run(path, [NONE, failing])
    assert summary.errors == 2
    failed = [row for row in rows(path) if "error" in row]
    assert [row["error"] for row in failed] == ["InputError: no vector"] * 2
    assert "measures" not in failed[0]
    text = markdown(read_results(path))
    assert "counting: 1 errors, 0 not run yet" in text
    (group,) = read_results(path)
    (run_,) = [r for r in group if r.label == "counting" and r.corpus == "attacked"]
    frame = Frame.of(group, lambda row: True)
    assert frame.estimate(run_, "planted").n == len(pack.questions) - 1
    mended = Counting()
    assert run(path, [NONE, mended]).written == 2
    assert mended.calls == 2
    assert "not run yet" not in markdown(read_results(path))


def test_a_detector_that_fails_is_told_as_well(path):
    failing = Counting(fails_for=("zoo",), error=DetectorError("no model"))
    assert run(path, [failing]).errors == 2


def test_a_missing_library_ends_the_comparison(path):
    failing = Counting(fails_for=("zoo",), error=MissingExtraError("pip install"))
    with pytest.raises(MissingExtraError):
        run(path, [failing])


def test_names_must_differ(path):
    with pytest.raises(InputError, match="defences"):
        run(path, [NONE, NONE])
    with pytest.raises(InputError, match="corpora"):
        run(path, corpora=[toy_attack(), toy_attack()])
    with pytest.raises(InputError, match="defences"):
        run(path, [])


@pytest.mark.parametrize(
    "defended",
    [
        Defended((0, 9)),
        Defended((1, 0)),
        Defended((0, 0)),
        Defended((0,), frozenset({0})),
        Defended((), frozenset({-1})),
    ],
)
def test_a_decision_that_does_not_hold_together_is_refused(defended):
    with pytest.raises(InputError, match="'odd'"):
        checked(defended, 5, "odd")


def test_a_defence_that_reads_no_label_costs_none(path):
    detector = FakeDetector({}, default="pro")
    run(path, [NONE], labels=DetectorLabels(detector))
    assert detector.texts == []
    assert {row["labels"]["read"] for row in rows(path)} == {0}


def test_labels_that_were_read_are_counted_and_held_against_the_truth(path):
    detector = FakeDetector({}, default="pro")
    run(path, [QUOTA], [toy_attack()], labels=DetectorLabels(detector))
    row = next(r for r in rows(path) if r["question"] == "zoos-1")
    # All pro: the pass goes through every candidate. Zoos have 2 + 3 pro of 8, of the topic.
    assert row["labels"] == {"read": 11, "known": 8, "right": 5}
    assert row["ms"]["label"] > 0


def test_each_defence_pays_for_its_own_reading(path):
    labels = DetectorLabels(FakeDetector({}, default="pro"))
    run(path, [QUOTA, NONE], [toy_attack()], labels=labels)
    read = {run.label: run.rows["zoos-1"]["labels"]["read"] for run in read_results(path)[0]}
    assert read == {"quota": 11, "none": 0}


def test_other_planted_documents_share_no_line(path):
    pack = toy_pack()
    run(path, [NONE], [Corpus("attacked", pack.clean, toy_attack().planted[:2])], pack)
    assert run(path, [NONE], [Corpus("attacked", pack.clean, toy_attack().planted[1:])]).kept == 0


def test_tables_say_the_attack_and_every_number_with_interval_and_n(path):
    run(path)
    text = markdown(read_results(path))
    assert text.index("Corpus clean") < text.index("Corpus attacked")
    assert "3 planted documents." in text
    line = next(
        line
        for line in text.split("### Corpus attacked")[1].splitlines()
        if line.startswith("| quota |")
    )
    for number in line.strip("| ").split(" | ")[1:]:
        assert number == "-" or re.fullmatch(
            r"-?\d+\.\d{3} \[(-?\d+\.\d{3}, -?\d+\.\d{3}|one topic)\] \d+", number
        )


def test_the_first_table_has_every_defence_and_corpus(path):
    run(path)
    text = markdown(read_results(path))
    first = text.split("### At a glance")[1].split("###")[0].strip().splitlines()
    heads = [head.strip() for head in first[0].strip("| ").split("|")]
    assert heads == [
        "defence",
        "planted in the five, attacked",
        "skew, clean",
        "skew, attacked",
        "nDCG@5, clean",
    ]
    whole = text.split("### Corpus attacked")[1]
    planted = next(row for row in first if row.startswith("| quota |")).split("|")[2].strip()
    assert f"| quota | {planted} |" in whole


def test_the_tables_last_word_is_the_run_asked_for_last(path, monkeypatch):
    monkeypatch.setattr("equipoise.lab.compare.code_version", lambda: "old")
    run(path, [NONE], [toy_attack()])
    monkeypatch.setattr("equipoise.lab.compare.code_version", lambda: "new")
    run(path, [NONE], [toy_attack()])
    assert "code new." in markdown(read_results(path))
    monkeypatch.setattr("equipoise.lab.compare.code_version", lambda: "old")
    assert run(path, [NONE], [toy_attack()]).written == 0
    assert "code old." in markdown(read_results(path))


def test_other_labels_make_other_tables_and_those_asked_for_last_come_last(path):
    run(path, [NONE, QUOTA])
    run(path, [QUOTA], labels=OracleLabels(0.9))
    run(path, [QUOTA])
    assert [g[0].settings["labels"] for g in read_results(path)] == [
        "degraded:0.9 (seed 20260905)",
        "oracle",
    ]


def test_topics_that_the_detector_has_not_seen_come_apart(path):
    groups = {"animals": {"seen_in_training": True}, "money": {"seen_in_training": False}}
    labels = DetectorLabels(FakeDetector({}, default="pro"))
    run(path, pack=toy_pack(detector_folds={"groups": groups}), labels=labels)
    text = markdown(read_results(path))
    assert "seen the topics of 2 questions in training, not those of 1" in text
    unseen = text.split("topics not seen in training")[1]
    assert re.search(r"\| quota \| .*\[one topic\] 1 \|", unseen)


def test_a_pack_that_says_nothing_of_training_is_told(path):
    run(path)
    assert "is not said" in markdown(read_results(path))


def test_true_labels_were_trained_on_nothing(path):
    groups = {"animals": {"seen_in_training": False}}
    run(path, pack=toy_pack(detector_folds={"groups": groups}))
    assert {row["seen"] for row in rows(path)} == {None}


def test_two_versions_of_a_pack_never_stand_in_one_table(path):
    pack = toy_pack()
    run(path, [NONE])
    run(path, [NONE], pack=replace(pack, questions=pack.questions[:2]))
    assert [len(group[0].rows) for group in read_results(path)] == [3, 2]


def test_a_comparison_stopped_before_its_first_line_makes_no_table(path):
    stopping = Counting(fails_for=("Should a zoo be open?",), error=MissingExtraError("stopped"))
    with pytest.raises(MissingExtraError):
        run(path, [stopping])
    assert read_results(path) == ()


def test_runs_of_several_versions_are_told(path, monkeypatch):
    monkeypatch.setattr("equipoise.lab.compare.code_version", lambda: "old")
    run(path, [NONE])
    monkeypatch.setattr("equipoise.lab.compare.code_version", lambda: "new")
    run(path, [QUOTA])
    assert "code new, old. Runs of several versions" in markdown(read_results(path))


def test_means_are_json_with_every_measure(path):
    run(path)
    found = means(read_results(path))
    assert {entry["corpus"] for entry in found} == {"clean", "attacked"}
    json.dumps(found, allow_nan=False)
    assert set(found[0]["measures"]) == set(KEYS)


def test_two_defences_of_one_label_are_told_apart(path):
    run(path, [NONE, replace(NONE, label="none: relevance(3)", rule=RelevanceRule(3))])
    text = markdown(read_results(path))
    assert "| none: relevance(3) |" in text
    assert "| none: relevance(5) |" in text


def test_a_bar_in_a_cell_does_not_break_the_table():
    assert table(["a|b"], [["c"]]).splitlines()[0] == r"| a\|b |"


def test_the_same_results_give_the_same_figure(path):
    run(path)
    (group,) = read_results(path)
    one, two = path.with_name("one.svg"), path.with_name("two.svg")
    draw(group, one)
    draw(group, two)
    assert one.read_bytes() == two.read_bytes()
    text = one.read_text("utf-8")
    assert all(word in text for word in ("none", "quota", "attacked", "clean", "skew"))


def test_a_figure_of_nothing_is_refused(tmp_path):
    with pytest.raises(InputError, match="at least one"):
        draw([], tmp_path / "x.svg")


@pytest.mark.parametrize("line", ["[1]", "{}", "not json", '{"run": "x"}'])
def test_a_file_that_holds_something_else_is_refused(tmp_path, line):
    path = tmp_path / "results.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=r"results\.jsonl:1"):
        read_results(path)
    with pytest.raises(InputError, match=r"results\.jsonl:1"):
        ResultFile(path)


def test_the_code_version_is_a_version_and_a_digest():
    assert re.fullmatch(r"\d+\.\d+.*\+[0-9a-f]{8}", code_version())


def test_an_estimate_of_one_topic_says_so():
    frame = Frame.of((), lambda row: True)
    assert frame.questions == ()
    assert cell(frame.bootstrap.estimate([])) == "-"
