"""Every experiment from a run written by hand: numbers, what is missing, pictures."""

import json
import re
import xml.etree.ElementTree as ET

import pytest

from equipoise.errors import InputError
from equipoise.lab.answers.store import read_cells
from equipoise.lab.experiments import (
    EXPERIMENTS,
    ablation,
    benefit,
    boundary,
    experiment,
    generators,
    human,
    leave_one_out,
    missing,
    outcomes,
    paper,
    read_study,
    robustness,
    selection,
    sweep,
)
from equipoise.lab.experiments.base import Plan
from equipoise.lab.experiments.study import Study
from equipoise.lab.report.blocks import Number, Points, Table, Text, shown
from equipoise.lab.stats import Estimate, holm
from equipoise.types import Stance

from . import toy_run

QUESTIONS = ("a-1", "a-2", "b-1", "b-2")


def cell(corpus, defence, stances, evidence=None, **more):
    said = toy_run.settings(corpus, defence, **more)
    rows = []
    for number, (question, stance) in enumerate(zip(QUESTIONS, stances, strict=True)):
        parts = evidence[number] if evidence else None
        rows.append((toy_run.answer(said, question, question[0], parts), stance))
    return said, rows


def study_of(folder, *cells, **more):
    return Study.of(read_cells(toy_run.write_run(folder, cells)), **more)


def tables(found):
    return [block for block in found if isinstance(block, Table)]


def row_of(table, *start):
    (row,) = [row for row in table.rows if row[: len(start)] == start]
    return dict(zip(table.head, row, strict=True))


PRO, CON = "stance-pro-3", "stance-con-3"
ALL_PRO, ALL_CON, EVEN = ("pro",) * 4, ("con",) * 4, ("pro", "con", "neutral", "neutral")


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    folder = toy_run.full_run(tmp_path_factory.mktemp("runs") / "full", topics=12)
    return read_study([folder])


def test_the_sweep_has_scores_effects_and_holm_by_hand(tmp_path):
    study = study_of(
        tmp_path,
        cell(PRO, "none", ALL_PRO),
        cell(PRO, "quota_prompt", EVEN),
        cell(CON, "none", ALL_CON),
        cell(CON, "quota_prompt", EVEN),
    )
    first, *_, shifts, reductions = tables(sweep.tables(study))
    assert row_of(first, "pro")["A, ours"].value == 1.0
    assert row_of(first, "con")["A, ours"].value == -1.0
    assert row_of(first, "pro")["A, paper"] == "+0.373 [+0.260, +0.483] at 18.9%"
    assert row_of(shifts, "con")["s_A - s_C, ours"].value == -1.0
    found = row_of(reductions, "con")
    assert found["|s_A| - |s_C|, ours"].value == 1.0
    p = [row[reductions.head.index("p")].value for row in reductions.rows]
    adjusted = [row[reductions.head.index("Holm p")].value for row in reductions.rows]
    assert tuple(adjusted) == holm(p)
    assert found["paper: p, Holm p"] == "0.00020, 0.00160"


def test_holm_covers_every_direction_and_share_of_the_sweep(full):
    reductions = tables(sweep.tables(full))[-1]
    assert len(reductions.rows) == 4
    p = [row[reductions.head.index("p")].value for row in reductions.rows]
    adjusted = [row[reductions.head.index("Holm p")].value for row in reductions.rows]
    assert tuple(adjusted) == holm(p)
    assert adjusted != p


def test_the_largest_share_comes_last_and_pro_before_con(full):
    rows = tables(sweep.tables(full))[0].rows
    assert [(row[0], row[2]) for row in rows] == [("pro", 2), ("pro", 3), ("con", 2), ("con", 3)]


def test_the_ablation_has_intervals_and_says_what_was_not_run(tmp_path):
    study = study_of(
        tmp_path,
        cell(PRO, "none", ALL_PRO),
        cell(PRO, "prompt_only", EVEN),
        cell(PRO, "quota_prompt", EVEN),
    )
    (table,) = tables(ablation.tables(study))
    told = {row[1]: row[2] for row in table.rows}
    assert told["B"] == "not run"
    assert isinstance(told["D"], Estimate)
    assert row_of(table, "pro 20.0%", "D")["|s_A| - |s|, paired"].value == 1.0
    assert row_of(table, "pro 20.0%", "D")["score, paper"] == "+0.256 at 18.9%"
    assert any("B: quota" in told for told in missing(ablation.PLAN, study))


def test_generators_stand_side_by_side_with_the_papers(tmp_path):
    for name in ("one", "two"):
        toy_run.write_run(
            tmp_path / name,
            [
                cell(PRO, "none", ALL_PRO, generator=f"toy/{name}"),
                cell(PRO, "quota_prompt", EVEN, generator=f"toy/{name}"),
            ],
        )
    study = read_study([tmp_path / "one", tmp_path / "two"])
    scores, counts = tables(generators.tables(study))
    assert [row[0] for row in scores.rows[:2]] == ["toy/one", "toy/two"]
    assert row_of(scores, "toy/two")["|s_A| - |s_C|"].value == 1.0
    assert row_of(scores, "paper: Kimi-K2.6", "con")["A"] == "-0.353 [-0.454, -0.252]"
    assert row_of(counts, "toy/one", "pro", "A")["scored"] == 4
    assert row_of(counts, "paper: Gemma-4-31B", "pro", "A")["refused"] == 7
    assert "fewer than 2 generators" not in str(missing(generators.PLAN, study))


def test_the_papers_outcomes_add_up_to_210_questions():
    for found in paper.OUTCOMES.values():
        assert {sum(counts) for counts in found.values()} == {210}


def test_the_papers_numbers_lie_within_their_intervals():
    parts = [
        *(i for side in paper.SCORES.values() for letter in side.values() for i in letter),
        *(i for side in (paper.SHIFTS, paper.REDUCTIONS) for found in side.values() for i in found),
        *(i for found in paper.GENERATORS.values() for i in found.values()),
        *(i for found in paper.ROBUSTNESS.values() for i in found),
        *(i for side in (paper.SELECTION, paper.AGAINST_QUOTA) for f in side.values()
          for i in f.values()),
        *(i for _, _, i in paper.CLEAN.values()),
    ]  # fmt: skip
    assert len(parts) > 80
    assert all(low <= value <= high for value, low, high in parts)


def test_the_papers_holm_column_is_that_of_its_raw_one():
    raw = [p for side in ("pro", "con") for p in paper.RAW_P[side]]
    told = [p for side in ("pro", "con") for p in paper.HOLM_P[side]]
    assert holm(raw) == pytest.approx(told, abs=1e-9)


def test_the_papers_reductions_are_what_its_scores_leave():
    for side in ("pro", "con"):
        for a, c, found in zip(
            paper.SCORES[side]["A"], paper.SCORES[side]["C"], paper.REDUCTIONS[side], strict=True
        ):
            # Paired over 206 to 208 of 210 questions, so not to the last digit.
            assert abs(a[0]) - abs(c[0]) == pytest.approx(found[0], abs=0.012)


def test_ways_of_choosing_are_compared_with_the_quota(tmp_path):
    planted = [toy_run.part("pro", "pro", planted=True)] * 2 + [toy_run.part("con", "con")] * 3
    study = study_of(
        tmp_path,
        cell(PRO, "none", ALL_PRO, [planted] * 4),
        cell(PRO, "quota", EVEN),
        cell(PRO, "mmr", ALL_PRO, [planted, planted, [], planted]),
    )
    scores, counts = tables(selection.tables(study))
    assert row_of(scores, "pro 20.0%", "mmr")["less the quota's, paired"].value == 1.0
    assert row_of(scores, "pro 20.0%", "random5")["score, ours"] == "not run"
    assert row_of(counts, "pro 20.0%", "A: none")["mean, ours"].value == 2.0
    assert row_of(counts, "pro 20.0%", "mmr")["mean, ours"].value == 1.5
    assert row_of(counts, "pro 20.0%", "mmr")["mean, paper"] == Number(1.048)


def test_a_question_whose_defence_failed_has_no_planted_documents(tmp_path):
    said, rows = cell(PRO, "mmr", ALL_PRO, [[toy_run.part(planted=True)]] * 4)
    rows[0][0].update(
        error="the defence failed", chosen=[], evidence=[], planted=0, outcome="error"
    )
    study = study_of(tmp_path, (said, [(rows[0][0], None), *rows[1:]]))
    (series,) = study.series
    assert selection.planted(series, series.find(PRO, "mmr")).n == 3


WRONG = [toy_run.part("con", "pro"), *toy_run.BALANCED[1:]]
UNKNOWN = [toy_run.part("con", None)] * 5


def test_questions_are_grouped_by_a_wrong_label_in_the_quotas_choice(tmp_path):
    study = study_of(
        tmp_path,
        cell(CON, "none", ("con", "con", "con", "pro")),
        cell(CON, "quota", ("con", "neutral", "neutral", "pro"),
             [WRONG, WRONG, toy_run.BALANCED, UNKNOWN]),
    )  # fmt: skip
    text, table = robustness.tables(study)
    assert "2 of 3 questions (66.7%; paper 49 of 210" in text.text
    assert "For 1 no label can be checked" in text.text
    found = {(row[0], row[1]): row[2] for row in table.rows}
    # Toward con is +1: A is 1 in both groups; B is 1/2 with a wrong label and 0 without.
    assert found["A", "difference"].value == 0.0
    assert found["B", "with a wrong label"].value == 0.5
    assert found["B", "all known labels right"].value == 0.0
    assert found["B", "difference"].value == 0.5
    assert found["C", "difference"] == "not run"


def test_a_document_of_unknown_truth_is_neither_right_nor_wrong():
    assert robustness.wrong({"evidence": UNKNOWN}) is None
    assert robustness.wrong({"evidence": [*UNKNOWN, toy_run.part()]}) is False
    assert robustness.wrong({"evidence": [*UNKNOWN, toy_run.part("pro", "con")]}) is True


def test_unfilled_quotas_are_counted_and_listed_by_topic(tmp_path):
    short = [toy_run.part("pro")] * 3 + [toy_run.part("con", "con")] * 2
    study = study_of(
        tmp_path,
        cell(PRO, "none", ALL_PRO, [[toy_run.part(planted=True)] * 5] * 4),
        cell(PRO, "quota", EVEN, [short, toy_run.BALANCED, toy_run.BALANCED, toy_run.BALANCED]),
    )
    text, table, even = boundary.tables(study)
    assert "1 of 4 questions (25.0%; paper 4 of 210)" in text.text
    assert table.rows[0][:4] == ("a-1", "a", "3/2/0/0", "3/2/0/0")
    assert row_of(table, "a-1")["planted, A to B"] == "5 to 0"
    assert row_of(table, "a-1")["pool, by label"] is None
    assert "no question is balanced by its labels and one-sided in truth" in even.text


def test_the_candidates_of_an_unfilled_quota_come_from_the_comparison(tmp_path):
    short = [toy_run.part("pro")] * 3 + [toy_run.part("con", "con")] * 2
    made = {
        "pool": {"pro": 11, "con": 9, "neutral": 0},
        "depth": {"pro": 30, "con": 20, "neutral": 0},
    }
    choices = {("toy-detector@1", PRO, toy_run.FULL["quota"], "a-1"): {"composition": made}}
    study = study_of(
        tmp_path,
        cell(PRO, "quota", EVEN, [short, *[toy_run.BALANCED] * 3]),
        files={"choices": choices},
    )
    found = row_of(tables(boundary.tables(study))[0], "a-1")
    assert (found["pool, by label"], found["depth, by label"]) == ("11/9/0", "30/20/0")


def test_documents_of_the_furthest_question_are_listed_by_id_alone(tmp_path):
    worse = [toy_run.part("pro"), toy_run.part("pro"), toy_run.part("con", "pro", planted=True),
             toy_run.part("con", "pro"), toy_run.part("neutral", "neutral")]  # fmt: skip
    bad = [*toy_run.BALANCED[:3], toy_run.part("con", "pro"), toy_run.BALANCED[4]]
    study = study_of(tmp_path, cell(PRO, "quota", EVEN, [bad, worse, *[toy_run.BALANCED] * 2]))
    table = tables(boundary.tables(study))[0]
    assert table.title.startswith("The five documents of a-2")
    assert table.rows[2] == (3, "a-2", "planted", "con", "pro", "yes")
    assert [row[-1] for row in table.rows] == ["no", "no", "yes", "yes", "no"]
    assert "An answer to" not in str(table)


def test_injections_are_compared_by_attack(full):
    (table,) = tables(human.tables(full))
    assert "`toy` comes from data sets" in human.tables(full)[0].text
    assert [(row[0], row[1]) for row in table.rows] == [
        ("ebi", "pro"), ("ebi", "con"), ("stance", "pro"), ("stance", "con"),
    ]  # fmt: skip


def test_passages_of_this_project_are_not_called_written_by_people(tmp_path):
    study = study_of(tmp_path, cell(PRO, "none", ALL_PRO, pack="embedded-12"))
    assert "written for this project" in human.tables(study)[0].text
    assert "comes from data sets" not in human.tables(study)[0].text


def test_one_topic_left_out_names_who_moves_it_most(tmp_path):
    study = study_of(
        tmp_path,
        cell(PRO, "none", ("pro", "pro", "neutral", "pro")),
        cell(PRO, "quota_prompt", EVEN),
    )
    (table,) = tables(leave_one_out.tables(study))
    found = row_of(table, "pro 20.0%")
    # All: 3/4 - 0. Without a: 1/2 - 0. Without b: 1 - 0.
    assert found["|s_A| - |s_C|"].value == 0.75
    assert (found["least without one"].value, found["most without one"].value) == (0.5, 1.0)
    assert abs(found["by"].value) == 0.25


def test_benefit_stands_by_the_accuracy_of_labels(tmp_path):
    labels = {"oracle": EVEN, "degraded:0.8 (seed 20260905)": ("pro", "con", "neutral", "pro")}
    cells = [cell(PRO, "none", ALL_PRO, labels="oracle")]
    cells += [cell(PRO, "quota", found, labels=name) for name, found in labels.items()]
    study = study_of(tmp_path, *cells)
    (table,) = tables(benefit.tables(study))
    assert [row[table.head.index("accuracy")].value for row in table.rows] == [0.8, 1.0]
    # The undefended cell reads no label: that of the other series stands in.
    assert [row[-1].value for row in table.rows] == [0.75, 1.0]
    assert benefit.figure(study).startswith("<svg")


def test_a_detectors_accuracy_is_measured_on_the_chosen(tmp_path):
    study = study_of(
        tmp_path,
        cell(PRO, "none", ALL_PRO),
        cell(PRO, "quota", EVEN, [WRONG, *[toy_run.BALANCED] * 3]),
    )
    (table,) = tables(benefit.tables(study))
    assert table.rows[0][table.head.index("accuracy")].value == 0.95
    assert benefit.figure(study) is None


def test_outcomes_are_counted_for_every_cell_and_refusals_assigned(tmp_path):
    study = study_of(
        tmp_path,
        cell(PRO, "none", ("pro", "pro", "pro", "refused")),
        cell(PRO, "quota_prompt", ("con", "pro", "unparsed", "con")),
    )
    counts, assigned = tables(outcomes.tables(study))
    found = row_of(counts, "pro 20.0%", "A: none")
    assert (found["scored"], found["refused"], found["pro"]) == (3, 1, 3)
    assert [row[1] for row in assigned.rows] == ["refused", "unparsed", "all of these"]
    everything = assigned.rows[-1]
    # As con: A (3 - 1) / 4, C (-1 + 1 - 1 - 1) / 4: 1/2 - 1/2. As pro: 1 - 0.
    assert (everything[3].value, everything[5].value) == (0.0, 1.0)


def test_without_exclusions_there_is_nothing_to_assign(tmp_path):
    study = study_of(tmp_path, cell(PRO, "none", ALL_PRO), cell(PRO, "quota_prompt", EVEN))
    assert isinstance(outcomes.tables(study)[-1], Text)
    assert "nothing to assign" in outcomes.tables(study)[-1].text


def test_a_plan_says_what_was_not_run_or_not_answered(tmp_path):
    said, rows = cell(PRO, "none", ALL_PRO)
    study = study_of(tmp_path, (said, rows), cell(PRO, "quota_prompt", ("pro", None, None, "con")))
    told = missing(
        Plan(defences=("none", "quota_prompt", "mmr"), clean=True, files=("shift",)), study
    )
    assert "not run: the clean corpus" in told
    assert "not run: a con corpus of the stance attack" in told
    assert "not run on pro 20.0%: mmr" in told
    assert "not answered or not judged yet on pro 20.0%, C: quota_prompt: 2 of 4" in told
    assert "not on file: shift" in told
    assert missing(Plan(defences=("none",), directions=("pro",)), study) == ()


def test_shares_of_the_plan_that_are_missing_are_named(full):
    told = missing(sweep.PLAN, full)
    assert any("pro shares other than 14.3%, 20.0%" in one for one in told)


def test_series_with_other_settings_do_not_mix(tmp_path):
    more = {"generator_settings": {"max_tokens": 400}}
    study = study_of(tmp_path, cell(PRO, "none", ALL_PRO), cell(PRO, "none", ALL_CON, **more))
    scores = [series.stances.score(series.cells[0]).value for series in study.series]
    assert scores == [1.0, -1.0]
    titles = [table.title for table in tables(sweep.tables(study))]
    assert titles == [
        "Stance scores by share: setting A (toy/model-135M, generator_settings {'max_tokens': 160})",
        "Stance scores by share: setting A (toy/model-135M, generator_settings {'max_tokens': 400})",
    ]


def test_of_two_cells_of_one_corpus_and_defence_the_later_counts(tmp_path):
    study = study_of(tmp_path, cell(PRO, "none", ALL_PRO), cell(PRO, "none", ALL_CON, code="2"))
    (series,) = study.series
    assert series.stances.score(series.find(PRO, "A")).value == -1.0


def test_an_unknown_experiment_names_the_known_ones():
    with pytest.raises(InputError, match="sweep, ablation"):
        experiment("swep")
    with pytest.raises(InputError, match="at least one run"):
        Study.of([])


def test_names_are_those_of_the_files():
    for name, one in EXPERIMENTS.items():
        assert one.__name__.rpartition(".")[2] == name.replace("-", "_")
        assert one.TITLE
        assert isinstance(one.PLAN, Plan)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_says_so_where_nothing_was_run(name, tmp_path):
    study = study_of(tmp_path, cell("other-pro-3", "none", ALL_PRO))
    one = experiment(name)
    for block in one.tables(study):
        assert isinstance(block, Table | Text | Points)
    assert missing(one.PLAN, study) or name in ("outcomes",)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_draws_the_full_run(name, full):
    one = experiment(name)
    for table in tables(one.tables(full)):
        assert all(len(row) == len(table.head) for row in table.rows)
        assert all(isinstance(shown(each), str) for row in table.rows for each in row)
    drawn = one.figure(full)
    if drawn is not None:
        assert drawn == one.figure(full)  # the same results, the same picture
        ET.fromstring(drawn)
        assert all(i.startswith(f"{name}-") for i in re.findall(r'\bid="([^"]+)"', drawn))


def test_these_have_pictures(full):
    drawn = {name for name, one in EXPERIMENTS.items() if one.figure(full) is not None}
    assert drawn == {"sweep", "generators", "robustness", "defences", "leave-one-out"}


def test_files_beside_the_answers_are_read(tmp_path, full):
    folder = toy_run.write_run(tmp_path, [cell(PRO, "none", ALL_PRO)])
    rows = [{"group": "injected", "documents": 3, "words_median": 9.0, "words_sd": 1.0,
             "words_least": 8, "words_most": 10}]  # fmt: skip
    said = {"pack": "toy", "embedder": "none", "rows": rows}
    (folder / "properties.json").write_text(json.dumps(said), "utf-8")
    study = read_study([folder])
    (table,) = tables(experiment("properties").tables(study))
    assert row_of(table, "injected")["range"] == "8 to 10"
    assert row_of(table, "paper: injected")["nearest cosine, median"] == Number(0.798)
    (folder / "properties.json").write_text("[1]", "utf-8")
    with pytest.raises(InputError, match="JSON objects"):
        read_study([folder])


def test_latency_stands_beside_the_papers(tmp_path):
    spread = {"median_ms": 200.0, "p10_ms": 150.0, "p90_ms": 300.0}
    said = {
        "labelling": [{"count": 20, "n": 2, "short": 0, **spread, "share_of_generation": 0.05}],
        "lazy": {"defence": "quota", "labels": {"mean": 21.5, "least": 20, "most": 50}, **spread,
                 "of_which_labels": spread, "share_of_generation": None},
        "generation": {"n": 2, "median_ms": 4000.0, "p10_ms": 3000.0, "p90_ms": 5000.0},
        "questions": ["a", "b"],
        "machine": {"cpu": "toy", "threads": None},
    }  # fmt: skip
    study = study_of(tmp_path, cell(PRO, "none", ALL_PRO), files={"latency": said})
    first, lazy, routing = tables(experiment("latency").tables(study))
    assert first.rows[0][:4] == (20, Number(200.0, ".1f"), "150.0 to 300.0", Number(0.05, ".2%"))
    assert first.rows[0][-1] == "16.19% / 1.51%"
    assert lazy.rows[0][1] == "21.5 (20 to 50)"
    assert row_of(routing, "single model, 20 documents")["ours"] == Number(200.0, ".1f")
    assert row_of(routing, "six-fold routing, 20 documents")["ours"] is None


def test_a_recall_comes_from_the_comparison(tmp_path):
    corpus = "ebi-pro-3"
    recall = {("toy-detector@1", corpus, toy_run.FULL["none"], q): {"measures": {"a_recall": v}}
              for q, v in zip(QUESTIONS, (1.0, 1.0, 0.5, None), strict=True)}  # fmt: skip
    study = study_of(tmp_path, cell(corpus, "none", ALL_PRO), files={"choices": recall})
    (table,) = tables(experiment("ebi").tables(study))
    assert (table.rows[0][1].value, table.rows[0][1].n) == (pytest.approx(2.5 / 3), 3)


def test_a_check_of_the_judge_corrects_scores(tmp_path):
    pytest.importorskip("equipoise.lab.judge.correct")
    path = tmp_path / "check.json"
    perfect = [[500, 0, 0], [0, 500, 0], [0, 0, 500]]
    path.write_text(json.dumps({"judge": "toy-judge", "confusion": perfect}), "utf-8")
    cells = (cell(PRO, "none", ALL_PRO), cell(PRO, "quota_prompt", EVEN))
    study = study_of(tmp_path, *cells, check=path)
    scores, pairs = tables(experiment("judged").tables(study))
    assert row_of(scores, "pro 20.0%", "A")["score, corrected"].value == pytest.approx(1.0)
    assert row_of(pairs, "pro 20.0%")["|s_A| - |s|, corrected"].value == pytest.approx(1.0)


def test_a_check_of_another_judge_corrects_nothing(tmp_path):
    path = tmp_path / "check.json"
    path.write_text(json.dumps({"judge": "other", "confusion": [[1, 0, 0]] * 3}), "utf-8")
    study = study_of(tmp_path, cell(PRO, "none", ALL_PRO), check=path)
    found = experiment("judged").tables(study)
    assert not tables(found)
    assert "not of `toy-judge`" in found[-1].text


@pytest.mark.parametrize(
    "said", ["no JSON", "{}", '{"judge": "x", "confusion": [[1, 2], [3, 4]]}',
             '{"judge": "x", "confusion": [[0,0,0],[0,0,0],[0,0,0]]}']
)  # fmt: skip
def test_a_check_must_have_a_matrix(said, tmp_path):
    from equipoise.lab.experiments.check import read_check

    path = tmp_path / "check.json"
    path.write_text(said, "utf-8")
    with pytest.raises(InputError, match="confusion"):
        read_check(path)


def test_kappa_of_the_papers_check_is_reachable():
    from equipoise.lab.experiments.check import kappa

    # 45 of 50 alike, as the paper has it.
    matrix = [[16, 1, 0], [1, 14, 1], [0, 2, 15]]
    hits, of, reported = paper.JUDGE
    assert (sum(matrix[i][i] for i in range(3)), sum(map(sum, matrix))) == (hits, of)
    assert kappa(matrix) == pytest.approx(reported, abs=0.0005)
    assert kappa([[5, 0], [0, 0]]) is None


def test_a_direction_is_a_stance(full):
    assert {corpus.direction for corpus in full.series[0].corpora()} == {Stance.PRO, Stance.CON}
    assert [corpus.name for corpus in full.series[0].corpora(None)] == ["clean"]


def test_a_comparison_counts_the_labels_that_were_read_in_the_pool_and_in_all():
    from equipoise.lab.compare import _composition
    from equipoise.stance.base import LazyScores
    from equipoise.testing import FakeDetector

    texts = ["yes"] * 15 + ["no"] * 10
    scores = LazyScores(FakeDetector({"no": "con"}, default="pro"), "?", texts)
    nothing = {"pro": 0, "con": 0, "neutral": 0}
    assert _composition(scores) == {"pool": nothing, "depth": nothing}
    assert [scores[index].label.value for index in (0, 16, 24)] == ["pro", "con", "con"]
    found = _composition(scores)
    read = len(scores.seen)
    assert sum(found["depth"].values()) == read
    assert found["depth"]["con"] > found["pool"]["con"] >= 1
    everything = _composition(tuple(scores))
    assert everything["pool"] == {"pro": 15, "con": 5, "neutral": 0}
    assert everything["depth"] == {"pro": 15, "con": 10, "neutral": 0}
