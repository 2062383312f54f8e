"""What a run's folder says: which row counts, whose verdicts, and that nothing is scored unseen."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.answers.store import (
    ANSWERS,
    VALUES,
    VERDICTS,
    Cell,
    Judged,
    published,
    read_cells,
)
from equipoise.lab.results import result_path
from equipoise.types import Outcome, Stance

from .toy_answers import C, answer, judge, said, toy_answers, verdict, write, write_verdicts

FIRST = said()


def one_cell(folder, **options):
    [cell] = read_cells(folder, **options)
    return cell


def test_cells_come_in_the_order_in_which_they_were_first_asked_for(tmp_path):
    other = said(C)
    write(tmp_path, (FIRST, []), (other, []), (FIRST, [answer(FIRST, "zoos-1")]))
    assert [cell.setting for cell in read_cells(tmp_path)] == ["A", "C"]


def test_of_two_rows_of_one_question_the_last_counts(tmp_path):
    rows = [answer(FIRST, "zoos-1", text) for text in ("old", "new")]
    write(tmp_path, (FIRST, rows))
    cell = one_cell(tmp_path)
    assert len(cell.answers) == 1
    assert cell.answers["zoos-1"]["text"] == "new"


def test_rows_of_one_question_under_two_keys_are_one_answer(tmp_path):
    rows = [answer(FIRST, "zoos-1", "old"), answer(FIRST, "zoos-1", "new", key="other")]
    write(tmp_path, (FIRST, rows))
    assert one_cell(tmp_path).answers["zoos-1"]["text"] == "new"


def test_the_last_verdict_on_an_answer_counts(tmp_path):
    row = answer(FIRST, "zoos-1")
    write(tmp_path, (FIRST, [row]))
    write_verdicts(tmp_path, (judge(), [verdict(judge(), row, s) for s in ("pro", "con")]))
    assert one_cell(tmp_path).value("zoos-1") == -1.0


def test_without_a_name_the_judge_named_last_is_read_and_with_one_that_one(tmp_path):
    row = answer(FIRST, "zoos-1")
    write(tmp_path, (FIRST, [row]))
    write_verdicts(
        tmp_path,
        (judge("early"), [verdict(judge("early"), row, "con")]),
        (judge("late"), [verdict(judge("late"), row, "pro")]),
    )
    assert one_cell(tmp_path).judge["judge"] == "late"
    assert one_cell(tmp_path).value("zoos-1") == 1.0
    assert one_cell(tmp_path, judge="early").judge["judge"] == "early"
    assert one_cell(tmp_path, judge="early").value("zoos-1") == -1.0


def test_verdicts_of_two_judges_are_never_mixed(tmp_path):
    rows = [answer(FIRST, q) for q in ("zoos-1", "zoos-2")]
    write(tmp_path, (FIRST, rows))
    write_verdicts(
        tmp_path,
        (judge("early"), [verdict(judge("early"), row) for row in rows]),
        (judge("late"), [verdict(judge("late"), rows[0])]),
    )
    cell = one_cell(tmp_path)
    assert [cell.outcome(q) for q in ("zoos-1", "zoos-2")] == [Judged.SCORED, Judged.MISSING]


def test_one_judge_may_have_a_run_for_each_generator(tmp_path):
    other = said(generator="openai/gpt-5")
    mine, theirs = answer(FIRST, "zoos-1"), answer(other, "zoos-1")
    write(tmp_path, (FIRST, [mine]), (other, [theirs]))
    chains = [judge(left_out=[]), judge(left_out=["openai/gpt-5"])]
    write_verdicts(
        tmp_path,
        (chains[0], [verdict(chains[0], mine, "pro")]),
        (chains[1], [verdict(chains[1], theirs, "con")]),
    )
    first, second = read_cells(tmp_path)
    assert (first.value("zoos-1"), second.value("zoos-1")) == (1.0, -1.0)
    assert second.judge["left_out"] == ["openai/gpt-5"]


def test_a_verdict_on_another_answer_to_the_question_is_not_taken(tmp_path):
    row = answer(FIRST, "zoos-1")
    write(tmp_path, (FIRST, [row]))
    write_verdicts(tmp_path, (judge(), [verdict(judge(), {**row, "key": "gone"})]))
    cell = one_cell(tmp_path)
    assert cell.outcome("zoos-1") is Judged.MISSING
    assert cell.value("zoos-1") is None


def test_an_unknown_judge_is_an_error_that_lists_the_known(tmp_path):
    row = answer(FIRST, "zoos-1")
    write(tmp_path, (FIRST, [row]))
    write_verdicts(tmp_path, (judge("early"), [verdict(judge("early"), row)]))
    with pytest.raises(InputError, match="'late'.*early"):
        read_cells(tmp_path, judge="late")


def test_a_named_judge_without_a_verdict_file_is_an_error(tmp_path):
    write(tmp_path, (FIRST, [answer(FIRST, "zoos-1")]))
    with pytest.raises(InputError, match="its judges are: none"):
        read_cells(tmp_path, judge="late")


def test_without_verdicts_answered_questions_are_missing_and_others_keep_their_outcome(tmp_path):
    rows = [answer(FIRST, "zoos-1"), answer(FIRST, "zoos-2", None, outcome="empty")]
    write(tmp_path, (FIRST, rows))
    cell = one_cell(tmp_path)
    assert dict(cell.judge) == {}
    assert [cell.outcome(q) for q in ("zoos-1", "zoos-2", "never asked")] == [
        Judged.MISSING,
        Judged.EMPTY,
        Judged.MISSING,
    ]


def test_a_last_line_that_was_cut_is_passed_over(tmp_path):
    write(tmp_path, (FIRST, [answer(FIRST, "zoos-1"), answer(FIRST, "zoos-2")]))
    path = tmp_path / ANSWERS
    path.write_bytes(path.read_bytes()[:-20])
    assert set(one_cell(tmp_path).answers) == {"zoos-1"}


def test_a_broken_line_in_the_middle_is_an_error(tmp_path):
    write(tmp_path, (FIRST, [answer(FIRST, "zoos-1")]))
    path = tmp_path / ANSWERS
    path.write_bytes(b'{"run": \n' + path.read_bytes())
    with pytest.raises(InputError, match=r"answers.jsonl:1"):
        read_cells(tmp_path)


def test_a_folder_without_answers_is_an_error(tmp_path):
    with pytest.raises(InputError, match="answers.jsonl"):
        read_cells(tmp_path)


# Every outcome of a generator with every outcome of a judge: only answered + scored has a value.
@pytest.mark.parametrize("of_judge", [*(j.value for j in Judged), None])
@pytest.mark.parametrize("of_generator", [o.value for o in Outcome])
def test_only_a_scored_verdict_on_an_answer_has_a_value(of_generator, of_judge):
    row = answer(FIRST, "zoos-1", outcome=of_generator)
    stance = "con" if of_judge == "scored" else None
    said_of_it = {} if of_judge is None else {"zoos-1": verdict(judge(), row, stance, of_judge)}
    cell = Cell(FIRST, {"zoos-1": row}, judge(), said_of_it)
    if of_generator != "answered":
        assert cell.outcome("zoos-1") is Judged(of_generator)
    else:
        assert cell.outcome("zoos-1") is Judged(of_judge or "missing")
    expected = -1.0 if (of_generator, of_judge) == ("answered", "scored") else None
    assert cell.value("zoos-1") == expected


def test_values_are_those_of_the_paper():
    assert {s.value: v for s, v in VALUES.items()} == {"pro": 1.0, "neutral": 0.0, "con": -1.0}


def test_a_cell_tells_its_setting_side_and_share():
    cell = Cell(said(C, corpus="stance-pro-3"), {})
    assert (cell.setting, cell.defence, cell.direction) == ("C", "quota_prompt", Stance.PRO)
    assert (cell.share, cell.generator) == (0.3, "hf/toy-1")
    clean = Cell(said("mmr: mmr(5 of 20)"), {})
    assert (clean.setting, clean.defence, clean.direction, clean.share) == (None, "mmr", None, 0.0)


def test_packed_files_are_read_and_a_plain_one_comes_first(tmp_path):
    row = answer(FIRST, "zoos-1", "packed")
    write(tmp_path, (FIRST, [row]))
    write_verdicts(tmp_path, (judge(), [verdict(judge(), row)]))
    for name in (ANSWERS, VERDICTS):
        plain = tmp_path / name
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    assert one_cell(tmp_path).value("zoos-1") == 1.0
    write(tmp_path, (FIRST, [answer(FIRST, "zoos-1", "plain")]))
    assert result_path(tmp_path, ANSWERS).suffix == ".jsonl"
    assert one_cell(tmp_path).answers["zoos-1"]["text"] == "plain"


def test_a_damaged_packed_file_is_an_error(tmp_path):
    (tmp_path / f"{ANSWERS}.gz").write_bytes(gzip.compress(b"x" * 1000)[:-12])
    with pytest.raises(InputError, match="can be read"):
        read_cells(tmp_path)


def test_published_rows_have_no_words_and_the_rows_stay_as_they_were():
    row = answer(FIRST, "zoos-1", detail="quotes somebody")
    [bare] = published([row])
    assert set(row) - set(bare) == {"text", "detail"}
    assert row["text"]


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.tuples(st.sampled_from(["zoos-1", "zoos-2"]), st.integers(0, 9)), min_size=1))
def test_what_is_read_is_what_was_written_last(tmp_path_factory, written):
    folder = tmp_path_factory.mktemp("run")
    write(folder, (FIRST, [answer(FIRST, q, f"text {n}") for q, n in written]))
    found = {q: row["text"] for q, row in one_cell(folder).answers.items()}
    assert found == {q: f"text {n}" for q, n in written}


def test_rows_may_stand_before_the_settings_of_their_run(tmp_path):
    folder = toy_answers(tmp_path / "run")
    lines = (folder / ANSWERS).read_text("utf-8").splitlines(keepends=True)
    turned = tmp_path / "turned"
    turned.mkdir()
    (turned / ANSWERS).write_text("".join(reversed(lines)), "utf-8")
    by_setting = {cell.setting: cell.answers for cell in read_cells(turned)}
    assert by_setting == {cell.setting: cell.answers for cell in read_cells(folder)}
    assert set(by_setting) == {"A", "C"}
