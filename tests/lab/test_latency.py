"""The arithmetic of latencies, with a clock that a detector and a generator turn by hand."""

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.latency import Timed, drawn, machine, measure, spread
from equipoise.prompt import COMPACT
from equipoise.testing import EchoGenerator, FakeDetector
from equipoise.types import Candidate


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class SlowDetector(FakeDetector):
    """10 ms a text; the first call loads for a minute."""

    def __init__(self, clock, table):
        super().__init__(table)
        self.clock = clock

    def detect(self, question, texts):
        self.clock.now += 0.010 * len(texts) + (60.0 if self.calls == 0 else 0.0)
        return super().detect(question, texts)


class SlowGenerator(EchoGenerator):
    """2 s the first answer, 1 s more for each further one."""

    def __init__(self, clock, **options):
        super().__init__("Both.", **options)
        self.clock = clock

    def generate(self, prompt):
        self.clock.now += 2.0 + len(self.prompts)
        return super().generate(prompt)


def toy(count=20, questions=3):
    """Candidates in turn pro, con, neutral."""
    stances = ("pro", "con", "neutral")
    texts = [f"text {at}" for at in range(count)]
    table = {text: stances[at % 3] for at, text in enumerate(texts)}
    candidates = tuple(Candidate(text, text, score=1 - at / 100) for at, text in enumerate(texts))
    return [Timed(f"q{n}", f"Is {n} so?", candidates) for n in range(questions)], table


def run(counts=(1, 5, 20), generator=None, count=20, questions=3, **options):
    clock = Clock()
    asked, table = toy(count, questions)
    detector = SlowDetector(clock, table)
    writer = SlowGenerator(clock, **options) if generator else None
    found = measure(asked, detector, counts=counts, generator=writer, template=COMPACT, clock=clock)
    return found, detector, writer


def test_a_row_times_one_call_a_question_for_so_many_candidates():
    found, _, _ = run()
    assert [(row["count"], row["n"], row["median_ms"]) for row in found["labelling"]] == [
        (1, 3, 10.0),
        (5, 3, 50.0),
        (20, 3, 200.0),
    ]
    assert found["labelling"][2]["ms"] == [200.0] * 3
    assert found["questions"] == ["q0", "q1", "q2"]


def test_loading_the_model_is_in_no_row():
    found, detector, _ = run(counts=(1,))
    assert detector.texts[0] == "text 0"
    assert found["labelling"][0]["ms"] == [10.0] * 3


def test_questions_with_fewer_candidates_are_counted_as_short():
    found, _, _ = run(counts=(4, 50), count=5)
    assert [row["short"] for row in found["labelling"]] == [0, 3]
    assert found["labelling"][1]["median_ms"] == 50.0


def test_a_count_given_twice_is_one_row():
    assert len(run(counts=(5, 5))[0]["labelling"]) == 1


def test_lazy_selection_reports_the_labels_that_it_read():
    # In turn pro, con, neutral: 2 + 2 + 1 is full after the fifth text.
    found, _, _ = run()
    lazy = found["lazy"]
    assert lazy["labels"]["least"] <= lazy["labels"]["mean"] <= lazy["labels"]["most"] <= 20
    assert lazy["labels"]["least"] >= 5
    assert lazy["of_which_labels"]["median_ms"] <= lazy["median_ms"] + 1e3
    assert lazy["median_ms"] == pytest.approx(10.0 * lazy["labels"]["mean"])


def test_shares_are_of_the_median_answer_in_the_same_run():
    found, _, writer = run(generator=True)
    assert found["generation"]["median_ms"] == 3000.0  # 2, 3, 4 s
    assert found["generation"]["outcomes"] == {"answered": 3}
    assert [row["share_of_generation"] for row in found["labelling"]] == [
        round(ms / 3000, 6) for ms in (10, 50, 200)
    ]
    assert found["lazy"]["share_of_generation"] == round(found["lazy"]["median_ms"] / 3000, 6)
    assert len(writer.prompts) == 3
    assert "text 4" in writer.prompts[0]
    assert "text 5" not in writer.prompts[0]  # the first five documents


def test_without_a_generator_there_is_no_share():
    found, _, _ = run()
    assert found["generation"] is None
    assert all(row["share_of_generation"] is None for row in found["labelling"])


def test_answers_that_failed_are_counted_and_in_no_time():
    found, _, _ = run(generator=True, outcome="error")
    assert (found["generation"]["n"], found["generation"]["median_ms"]) == (0, None)
    assert found["generation"]["outcomes"] == {"error": 3}
    assert found["labelling"][0]["share_of_generation"] is None


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_the_spread_is_in_order_and_its_median_the_median(values):
    found = spread(values)
    assert min(values) - 1e-3 <= found["p10_ms"] <= found["median_ms"] <= found["p90_ms"]
    assert found["median_ms"] == pytest.approx(statistics.median(values), abs=1e-3)
    assert found["p90_ms"] == pytest.approx(np.percentile(values, 90), abs=1e-3)


@settings(deadline=None)  # the machine may be busy
@given(st.integers(1, 40), st.integers(1, 40))
def test_questions_are_drawn_once_each_in_their_own_order(total, number):
    ids = [f"q{n}" for n in range(total)]
    found = drawn(ids, number)
    assert len(found) == min(total, number)
    assert list(found) == [name for name in ids if name in set(found)]
    assert found == drawn(ids, number)


def test_the_machine_is_told_with_how_busy_it_was():
    found = machine(2)
    assert found["threads"] == 2
    assert found["cores"] >= 1
    assert isinstance(found["cpu"], str)
    assert found["load"] is None or found["load"] >= 0


def test_what_cannot_be_timed_is_an_error():
    asked, table = toy()
    detector = FakeDetector(table)
    for wrong in ({"counts": ()}, {"counts": (0,)}, {"generator": EchoGenerator()}):
        with pytest.raises(InputError):
            measure(asked, detector, **wrong)
    with pytest.raises(InputError):
        measure([], detector)
    with pytest.raises(InputError, match="candidate"):
        measure([Timed("q", "?", ())], detector)
    with pytest.raises(InputError, match=">= 1"):
        drawn(["q"], 0)
