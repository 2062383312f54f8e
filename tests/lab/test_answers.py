"""A run of answers from end to end, on a toy pack, with inspect and a model that obeys."""

import json
import os
import shutil
import signal
from collections import Counter

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import ModelOutput

from equipoise.errors import InputError, StoreError
from equipoise.lab.answers.book import Limits, locked, open_book
from equipoise.lab.answers.evidence import gather, spread
from equipoise.lab.answers.plan import plan
from equipoise.lab.answers.prices import Price
from equipoise.lab.answers.run import answer_all
from equipoise.lab.answers.store import ANSWERS, VERDICTS, Judged, read_cells
from equipoise.lab.compare import clean_corpus
from equipoise.lab.defences import defence
from equipoise.lab.labels import DetectorLabels
from equipoise.lab.pack import Question
from equipoise.lab.vectors import VectorCache
from equipoise.prompt import Template, render_prompt
from equipoise.testing import FakeDetector

from .answers_world import Model, WordJudge, plain_settings, toy_settings
from .toy_world import WordEmbedder, toy_pack

TOY = Template("toy-1", "{documents}\nQuestion: {question}\n{instruction}\nA:", "Be fair.")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "inspect-cache"))


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return toy_settings(tmp_path_factory.mktemp("choices"))


def answer(settings, folder, model=None, **more):
    return answer_all(settings, (model or Model()).asked, TOY, folder, **more)


def rows(folder, name=ANSWERS):
    lines = [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]
    return [line for line in lines if "key" in line]


def test_every_question_of_every_setting_has_one_row(settings, tmp_path):
    done = answer(settings, tmp_path)
    assert done.outcomes == {"answered": 12}
    assert (done.failed, done.stopped, done.kept) == (0, "", 0)
    cells = read_cells(tmp_path)
    assert [(cell.corpus, cell.defence, cell.setting) for cell in cells] == [
        ("clean", "none", "A"),
        ("clean", "quota_prompt", "C"),
        ("attacked", "none", "A"),
        ("attacked", "quota_prompt", "C"),
    ]
    assert all(set(cell.answers) == {"zoos-1", "zoos-2", "taxes-1"} for cell in cells)
    assert {cell.generator for cell in cells} == {"mockllm/model"}


def test_a_row_says_what_was_chosen_and_what_came_of_it(settings, tmp_path):
    answer(settings, tmp_path)
    cell = next(c for c in read_cells(tmp_path) if (c.corpus, c.setting) == ("attacked", "A"))
    row = cell.answers["zoos-2"]
    # Of the vectors (zoos, 0.1) the question's is (1, 0.1): three zoos are nearer than four.
    assert row["chosen"][:3] == ["zoo-injected-1", "zoo-injected-2", "zoo-pro-1"]
    assert "zoo-con-1" in row["chosen"]
    assert len(row["chosen"]) == len(row["evidence"]) == 5
    planted = [name for name in row["chosen"] if "injected" in name]
    assert row["planted"] == len(planted) == sum(part["planted"] for part in row["evidence"]) > 0
    by_id = dict(zip(row["chosen"], row["evidence"], strict=True))
    assert by_id["zoo-con-1"] == {"label": "con", "truth": "con", "planted": False}
    assert by_id["zoo-injected-1"] == {"label": "pro", "truth": "pro", "planted": True}
    assert (row["topic"], row["group"]) == ("zoos", "animals")
    assert (row["outcome"], row["text"], row["words"]) == ("answered", "Zoos are good.", 3)
    assert (row["input_tokens"], row["output_tokens"]) == (1000, 100)
    assert row["latency_ms"] >= 0
    assert "cost" not in row  # nobody knows a price


def test_the_settings_say_who_answered_and_from_what(settings, tmp_path):
    answer(settings, tmp_path)
    said = dict(read_cells(tmp_path)[2].settings)
    assert said["generator_settings"] == {"max_tokens": 160}
    assert (said["family"], said["template"]) == ("mockllm", "toy-1")
    wanted = {"format", "pack", "pack_checksum", "labels", "embedder", "depth", "corpus", "planted"}
    wanted |= {"planted_checksum", "attack", "defence", "generator", "generator_settings"}
    assert set(said) == wanted | {"family", "template", "code"}
    assert said["planted"] == 3


def test_the_prompt_is_rendered_with_the_instruction_only_where_the_setting_has_one(
    settings, tmp_path
):
    model = Model()
    answer(settings, tmp_path, model)
    # Taxes are not attacked: their prompts are those of the clean corpus, and are not sent twice.
    assert sum("Be fair." in prompt for prompt in model.prompts) == 5
    assert len(model.prompts) == len(set(model.prompts)) == 10
    documents = {d.id: d.text for d in toy_pack().documents}
    row = read_cells(tmp_path)[0].answers["taxes-1"]
    prompt = render_prompt(
        "Should a tax be high?",
        [documents[name] for name in row["chosen"]],
        even_handed=False,
        template=TOY,
    )
    assert prompt in model.prompts


def test_prompts_are_asked_in_ascending_length(settings, tmp_path):
    model = Model()
    answer(settings[:1], tmp_path, model)
    lengths = [len(prompt) for prompt in model.prompts]
    assert lengths == sorted(lengths)
    assert len(set(lengths)) > 1


def test_what_is_there_is_not_asked_again(settings, tmp_path):
    answer(settings[:2], tmp_path)
    shutil.rmtree(tmp_path / "inspect-cache")
    model = Model()
    done = answer(settings, tmp_path, model)
    assert len(model.prompts) == 6
    assert (done.kept, sum(done.asked.values())) == (6, 6)
    assert len({row["key"] for row in rows(tmp_path)}) == len(rows(tmp_path)) == 12


def test_another_template_or_limit_is_another_run(settings, tmp_path):
    answer(settings[:1], tmp_path)
    other = Template("toy-2", TOY.body, TOY.instruction)
    answer_all(settings[:1], Model().asked, other, tmp_path)
    answer(settings[:1], tmp_path, Model(max_tokens=7))
    assert len(read_cells(tmp_path)) == 3


def test_a_changed_prompt_is_asked_again_and_the_new_answer_counts(settings, tmp_path):
    """The same template version with other words: only the prompt tells."""
    answer(settings[:1], tmp_path, judge=WordJudge())
    other = Template("toy-1", TOY.body + "!", TOY.instruction)
    model = Model(lambda prompt: "Zoos are bad.")
    answer_all(settings[:1], model.asked, other, tmp_path, judge=WordJudge())
    (cell,) = read_cells(tmp_path)
    assert {row["text"] for row in cell.answers.values()} == {"Zoos are bad."}
    assert {cell.value(question) for question in cell.answers} == {-1.0}  # not the old verdict
    assert len({row["key"] for row in rows(tmp_path)}) == 6  # so that no verdict is for both
    # And back again: the first rows are no longer the last of their questions.
    answer(settings[:1], tmp_path, judge=WordJudge())
    (cell,) = read_cells(tmp_path)
    assert {row["text"] for row in cell.answers.values()} == {"Zoos are good."}
    assert {cell.value(question) for question in cell.answers} == {1.0}


def test_outcomes_of_every_kind_are_told_apart_and_none_ends_the_run(settings, tmp_path):
    """The clean corpus without a defence: three questions of three prompts, told by length."""
    said = iter(
        [
            ModelOutput.from_content("m", "half an ans", stop_reason="content_filter"),
            "   ",
            "I'm sorry, but I can't help with that.",
            RuntimeError("the wire is cut; api_key=sk-abcdefghijklmnop"),
            ModelOutput(model="m", error="the socket was closed"),
            ModelOutput.from_content("m", "one two", stop_reason="max_tokens"),
        ]
    )
    done = answer(settings[:2], tmp_path, Model(lambda prompt: next(said)), limits=Limits())
    outcomes = Counter(row["outcome"] for row in rows(tmp_path))
    assert outcomes == {"filtered": 1, "empty": 1, "refused": 1, "error": 2, "answered": 1}
    failed = [row for row in rows(tmp_path) if row["outcome"] == "error"]
    assert all("error" in row and row["detail"] == row["error"] for row in failed)
    assert "RuntimeError: the wire is cut" in failed[0]["detail"]
    assert "sk-abc" not in json.dumps(failed)
    assert failed[1]["detail"] == "the socket was closed"
    assert (done.failed, done.hopeless) == (2, False)
    cut = next(row for row in rows(tmp_path) if row["outcome"] == "answered")
    assert "cut" in cut["detail"]


def test_what_failed_is_asked_again_and_nothing_else(settings, tmp_path):
    said = iter(["good", OSError("down"), "good"])
    answer(settings[:1], tmp_path, Model(lambda prompt: next(said)))
    shutil.rmtree(tmp_path / "inspect-cache")
    model = Model()
    done = answer(settings[:1], tmp_path, model)
    assert len(model.prompts) == 1
    assert done.outcomes == {"answered": 3}


def test_a_run_in_which_every_call_fails_says_so(settings, tmp_path):
    done = answer(settings, tmp_path, Model(lambda prompt: OSError("no route")))
    assert done.hopeless
    assert "no route" in done.first_failure
    assert done.outcomes == {"error": 12}


def test_after_twenty_failures_without_one_answer_nothing_more_is_asked(tmp_path):
    model = Model(lambda prompt: OSError("no route"))
    done = answer(plain_settings(15), tmp_path, model)
    assert len(model.prompts) == 20
    assert "each of the first 20 calls failed" in done.stopped
    assert done.outcomes == {"error": 20, "missing": 10}
    assert done.failed == 30


def test_verdicts_are_written_and_counted_by_outcome(settings, tmp_path):
    said = iter(["good", "bad", "so so", "unclear", "crash", "I'm sorry, but I can't help."])
    judge = WordJudge()
    done = answer(settings[:2], tmp_path, Model(lambda prompt: next(said)), judge=judge)
    assert done.judged == {"scored": 3, "unparsed": 1, "error": 1}
    assert len(judge.read) == 5  # a refusal is nothing to judge
    cells = read_cells(tmp_path)
    found = Counter(cell.outcome(question) for cell in cells for question in cell.answers)
    assert found == {Judged.SCORED: 3, Judged.UNPARSED: 1, Judged.ERROR: 1, Judged.REFUSED: 1}
    values = [cell.value(question) for cell in cells for question in cell.answers]
    assert sorted(values, key=str) == sorted([1.0, -1.0, 0.0, None, None, None], key=str)
    assert judge.read[0][0] in {question.text for question in toy_pack().questions}


def test_answers_without_a_verdict_are_judged_and_not_asked_again(settings, tmp_path):
    answer(settings, tmp_path)
    model, judge = Model(), WordJudge()
    done = answer(settings, tmp_path, model, judge=judge)
    assert model.prompts == []
    assert done.judged == {"scored": 12}
    again = WordJudge()
    answer(settings, tmp_path, Model(), judge=again)
    assert again.read == []
    assert len(rows(tmp_path, VERDICTS)) == 12


def test_a_verdict_that_failed_is_asked_for_again(settings, tmp_path):
    answer(settings[:1], tmp_path, Model(lambda prompt: "crash"), judge=WordJudge())
    judge = WordJudge()
    done = answer(settings[:1], tmp_path, Model(), judge=judge)
    assert (len(judge.read), done.unjudged) == (3, 3)


def test_inspects_logs_hold_the_samples_and_the_score(settings, tmp_path):
    said = iter(["good", "bad", "good"])
    answer(settings[:1], tmp_path, Model(lambda prompt: next(said)), judge=WordJudge())
    (info,) = list_eval_logs(str(tmp_path / "inspect"))
    log = read_eval_log(info)
    assert log.status == "success"
    metrics = log.results.scores[0].metrics
    assert metrics["stance_score"].value == pytest.approx(1 / 3)
    assert metrics["scored"].value == 3
    sample = next(sample for sample in log.samples if sample.id == "zoos-2")
    assert sample.metadata["topic"] == "zoos"
    assert len(sample.metadata["chosen"]) == 5
    assert [message.role for message in sample.messages] == ["user", "assistant"]


def test_what_has_no_stance_is_unscored_in_inspects_log_and_not_0(settings, tmp_path):
    said = iter(["good", "unclear", "I'm sorry, but I can't help."])
    answer(settings[:1], tmp_path, Model(lambda prompt: next(said)), judge=WordJudge())
    log = read_eval_log(list_eval_logs(str(tmp_path / "inspect"))[0])
    assert log.results.scores[0].metrics["stance_score"].value == 1.0
    assert log.results.scores[0].metrics["scored"].value == 1


def test_the_cost_of_earlier_sittings_counts(tmp_path):
    # 1000 tokens in at 2 dollars a million and 100 out at 10: 0.003 dollars a call.
    settings = plain_settings(6)
    price = Price(2.0, 10.0)
    model = Model(price=price)
    done = answer(settings, tmp_path, model, limits=Limits(max_cost=0.0085))
    assert len(model.prompts) == 3
    assert done.spent == pytest.approx(0.009)
    assert "--max-cost" in done.stopped
    assert done.outcomes == {"answered": 3, "missing": 9}
    model = Model(price=price)
    assert answer(settings, tmp_path, model, limits=Limits(max_cost=0.0085)).stopped
    assert model.prompts == []
    answer(settings, tmp_path, model, limits=Limits(max_cost=0.0125))
    assert len(model.prompts) == 2
    done = answer(settings, tmp_path, model, limits=Limits(max_cost=1.0))
    assert (done.outcomes, done.stopped) == ({"answered": 12}, "")
    assert done.spent == pytest.approx(0.036)


def test_an_answer_from_the_cache_costs_nothing(settings, tmp_path):
    price = Price(2.0, 10.0)
    answer(settings[:1], tmp_path / "one", Model(price=price))
    model = Model(price=price)
    done = answer(settings[:1], tmp_path / "two", model)
    assert model.prompts == []
    assert (done.spent, done.outcomes) == (0.0, {"answered": 3})


def test_a_limit_on_cost_needs_a_price(settings, tmp_path):
    with pytest.raises(InputError, match="--price"):
        answer(settings, tmp_path, limits=Limits(max_cost=1.0))


def test_too_many_empty_answers_stop_the_run(tmp_path):
    settings = plain_settings(15)
    said = iter(["good"] * 15 + [""] * 15)
    done = answer(settings, tmp_path / "run", Model(lambda prompt: next(said)))
    # 5 of 20 are 0.25; a share of 0.2 is only looked at from the 20th on.
    assert sum(done.asked.values()) == 20
    assert "--max-empty" in done.stopped
    said = iter(["good", "", "", "", ""] * 6)
    model = Model(lambda prompt: next(said))
    shutil.rmtree(tmp_path / "inspect-cache")
    done = answer(settings, tmp_path / "all", model, limits=Limits(max_empty=0.8))
    assert (done.outcomes, done.stopped) == ({"answered": 6, "empty": 24}, "")


@pytest.mark.parametrize("wrong", [{"max_cost": 0.0}, {"max_cost": -1.0}, {"max_empty": 1.5}])
def test_limits_out_of_range_are_refused(wrong):
    with pytest.raises(InputError):
        Limits(**wrong)


def test_a_line_cut_short_is_healed_and_its_answer_made_again(settings, tmp_path):
    answer(settings[:1], tmp_path)
    path = tmp_path / ANSWERS
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    model = Model()
    answer(settings[:1], tmp_path, model)
    found = rows(tmp_path)
    assert len({row["question"] for row in found}) == len(found) == 3


def test_an_interrupt_ends_the_run_and_not_only_one_setting(tmp_path):
    def interrupted(prompt):
        if len(model.prompts) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return "good"

    model = Model(interrupted)
    with pytest.raises(KeyboardInterrupt):
        answer(plain_settings(6), tmp_path, model)
    assert 2 <= len(rows(tmp_path)) < 6
    done = answer(plain_settings(6), tmp_path)
    assert done.outcomes == {"answered": 12}
    assert len({row["key"] for row in rows(tmp_path)}) == len(rows(tmp_path)) == 12


def test_a_second_process_may_not_write_to_the_same_folder(settings, tmp_path):
    pytest.importorskip("fcntl")
    with locked(tmp_path), pytest.raises(StoreError, match="one process at a time"):
        answer(settings, tmp_path)


def test_a_file_of_something_else_is_refused(settings, tmp_path):
    (tmp_path / ANSWERS).write_text('{"key": "1", "run": "2", "measures": {}}\n', "utf-8")
    with pytest.raises(InputError, match="must hold answers"):
        answer(settings, tmp_path)


def test_a_defence_that_fails_is_an_error_of_its_question(tmp_path):
    class Failing:
        name = "failing: for taxes"

        def defend(self, case):
            if "tax" in case.question:
                raise InputError("no tax")
            return defence("none").defend(case)

    model = Model()
    done = answer(toy_settings(tmp_path, defences=(Failing(),)), tmp_path / "run", model)
    assert done.outcomes == {"answered": 4, "error": 2}
    assert len(model.prompts) == 4
    failed = [row for row in rows(tmp_path / "run") if row["outcome"] == "error"]
    assert all("the defence failed" in row["error"] and row["chosen"] == [] for row in failed)


def test_a_defence_that_acts_on_the_answer_is_refused(tmp_path):
    with pytest.raises(InputError, match="robustrag"):
        toy_settings(tmp_path, defences=("none", "robustrag"))


def test_labels_are_those_that_some_defence_has_paid_for(tmp_path):
    """`none` reads no label: its evidence has those that `quota` read, from the file."""
    texts = {d.text: d.stance.value for d in toy_pack().documents if d.stance}
    detector = FakeDetector(texts, default="neutral")
    path = tmp_path / "labels.sqlite"
    pack = toy_pack()

    def gathered(*names):
        with DetectorLabels(detector, path) as labels:
            found, _ = gather(
                pack,
                [clean_corpus(pack)],
                [defence(name) for name in names],
                labels=labels,
                label_file=path,
                vectors=VectorCache(WordEmbedder()),
                results=tmp_path / "results.jsonl",
            )
        return [part for chosen in found[0].chosen for part in chosen.evidence]

    assert {part["label"] for part in gathered("none")} == {None}
    assert detector.calls == 0
    labelled = gathered("none", "quota")
    calls = detector.calls
    # The toy detector knows what the pack knows; of another topic's documents both say nothing.
    assert all(part["label"] == (part["truth"] or part["label"]) for part in labelled)
    assert None not in {part["label"] for part in labelled}
    gathered("none", "quota")
    assert detector.calls == calls > 0


def test_choices_are_made_once_and_kept(tmp_path):
    embedder = WordEmbedder()
    pack = toy_pack()

    def made():
        _, summary = gather(
            pack,
            [clean_corpus(pack)],
            [defence("none")],
            labels=DetectorLabels(FakeDetector({}, default="neutral")),
            label_file=None,
            vectors=VectorCache(embedder),
            results=tmp_path / "results.jsonl",
        )
        return summary.written, summary.kept

    assert made() == (3, 0)
    embedder.texts.clear()
    assert made() == (0, 3)
    assert embedder.texts == []


def test_a_limit_takes_questions_from_every_topic_in_turn(tmp_path):
    questions = [Question(f"{topic}{n}", topic, "?") for topic in "abc" for n in (1, 2, 3)]
    ids = [[question.id for question in spread(questions, limit)] for limit in (1, 3, 5, 99)]
    assert ids[0] == ["a1"]
    assert ids[1] == ["a1", "b1", "c1"]
    assert ids[2] == ["a1", "a2", "b1", "b2", "c1"]
    assert ids[3] == [question.id for question in questions]
    with pytest.raises(InputError):
        spread(questions, 0)


def test_answers_to_some_questions_are_kept_when_all_are_asked(settings, tmp_path):
    some = toy_settings(tmp_path, limit=2)
    answer(some, tmp_path / "run")
    shutil.rmtree(tmp_path / "inspect-cache")
    model = Model()
    done = answer(toy_settings(tmp_path), tmp_path / "run", model)
    assert (len(model.prompts), done.kept) == (4, 8)
    assert len(read_cells(tmp_path / "run")) == 4


def test_planning_twice_without_answers_asks_for_the_same(settings, tmp_path):
    with open_book(tmp_path) as book:
        first = plan(settings[0], Model().asked.said, TOY, book)
        second = plan(settings[0], Model().asked.said, TOY, book)
    assert first == second
    assert len({ask.key for ask in first.asks}) == 3


def test_a_full_disk_ends_the_run_and_says_so(settings, tmp_path, monkeypatch):
    from equipoise.lab.results import ResultFile

    whole = ResultFile.append

    def full(self, lines):
        lines = list(lines)
        if self.path.name == ANSWERS and any("key" in line for line in lines):
            raise StoreError("results cannot be written: no space left")
        whole(self, lines)

    monkeypatch.setattr(ResultFile, "append", full)
    with pytest.raises(StoreError, match="no space left"):
        answer(settings[:1], tmp_path)
