from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.selection.gate import Gate, QuestionKind, Verdict, decide, question_kind
from equipoise.types import Quota, Stance, StanceScore

S = {
    "P": StanceScore(0.9, 0.05, 0.05),
    "p": StanceScore(0.45, 0.3, 0.25),
    "C": StanceScore(0.05, 0.9, 0.05),
    "c": StanceScore(0.3, 0.45, 0.25),
    "n": StanceScore(0.1, 0.1, 0.8),
}


def decided(question, labels, gate=None, *, skip=frozenset(), unsure_below=0.0, quota=None):
    return decide(
        gate or Gate(),
        question,
        [S[x] for x in labels],
        quota=quota or Quota(),
        skip=skip,
        unsure_below=unsure_below,
    )


def verdict(question, labels, gate=None, skip=frozenset()):
    decision = decided(question, labels, gate, skip=skip)
    return decision.verdict, decision.balance


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many points did the Panthers defense surrender?", QuestionKind.FACTUAL),
        ("In what year was the tower built?", QuestionKind.FACTUAL),
        ("Who wrote the book?", QuestionKind.FACTUAL),
        ("Name the largest moon of Saturn.", QuestionKind.FACTUAL),
        ("Should birth control pills be available over the counter?", QuestionKind.NORMATIVE),
        ("What should be done about tips?", QuestionKind.NORMATIVE),
        ("What are the arguments for nuclear power?", QuestionKind.NORMATIVE),
        ("Abortion should be legal", QuestionKind.NORMATIVE),
        ("Ought we to eat meat?", QuestionKind.NORMATIVE),
        ("Is it morally right to eat meat?", QuestionKind.NORMATIVE),
        ("Zoos, which hold animals captive, are cruel", QuestionKind.OPEN),
        ("Death penalty for those who kill", QuestionKind.OPEN),
        ("Nobody knows how harmful tea is", QuestionKind.OPEN),
        ("Which is better, capitalism or socialism?", QuestionKind.OPEN),
        ("The tower was built in which year?", QuestionKind.FACTUAL),
        ("who wrote hamlet", QuestionKind.FACTUAL),
        ("Is the Nile longer than the Danube?", QuestionKind.OPEN),
        ("Do you know who invented tea?", QuestionKind.OPEN),
        ("school uniforms", QuestionKind.OPEN),
        ("Soll die Todesstrafe abgeschafft werden?", QuestionKind.OPEN),
    ],
)
def test_the_wording_tells_the_kind_of_question(question, kind):
    assert question_kind(question) is kind


def test_a_question_of_fact_reads_no_label():
    class Unreadable:
        def __len__(self):
            return 50

        def __getitem__(self, index):
            raise AssertionError("a label was read")

    decision = decide(Gate(), "Who wrote the book?", Unreadable(), quota=Quota())
    assert decision.verdict is Verdict.NOT_CONTESTED
    assert not decision.balance


def test_both_sides_sure_within_the_pool_is_contested_whatever_the_wording():
    assert verdict("school uniforms", "nPnC") == (Verdict.CONTESTED, True)
    assert verdict("Is tea good?", "nPnC") == (Verdict.CONTESTED, True)


def test_unsure_labels_do_not_make_an_open_question_contested():
    assert verdict("Is the Nile longer than the Danube?", "npncn") == (Verdict.NOT_CONTESTED, False)


def test_unsure_labels_do_for_a_question_of_what_ought_to_be():
    assert verdict("Should tea be banned?", "npncn") == (Verdict.CONTESTED, True)


def test_a_second_side_beyond_the_pool_counts_only_for_a_question_of_what_ought_to_be():
    labels = "P" * 25 + "C"
    assert verdict("Should tea be banned?", labels) == (Verdict.CONTESTED, True)
    assert verdict("Is tea healthy?", labels) == (Verdict.ONE_SIDED, False)


def test_one_side_only_is_said_and_never_taken_for_balance():
    assert verdict("Should tea be banned?", "PPnPP") == (Verdict.ONE_SIDED, True)
    assert verdict("Is tea healthy?", "PPnPP") == (Verdict.ONE_SIDED, False)


def test_no_side_at_all_keeps_the_order_of_relevance():
    assert verdict("Should I restart the router?", "nnnn") == (Verdict.NOT_CONTESTED, False)
    assert verdict("Should tea be banned?", "") == (Verdict.NOT_CONTESTED, False)


def test_skipped_documents_have_no_voice():
    assert verdict("Is tea good?", "PC", skip={1}) == (Verdict.ONE_SIDED, False)


def test_always_and_never_do_not_look():
    assert verdict("Who wrote it?", "", Gate("always")) == (Verdict.ALWAYS, True)
    assert verdict("Should it?", "PC", Gate("never")) == (Verdict.NEVER, False)


@pytest.mark.parametrize("make", [lambda: Gate("sometimes"), lambda: Gate(sure=1.5)])
def test_a_gate_that_cannot_be_is_refused(make):
    with pytest.raises(InputError):
        make()


NORMATIVE, OPEN = "Should tea be banned?", "Is tea healthy?"


TOP = "in the top 20"


@pytest.mark.parametrize(
    ("question", "labels", "expected", "balance", "why"),
    [
        # "p" and "c" have 0.45, so 0.5 makes them unsure; capitals have 0.9.
        (NORMATIVE, "npncn", "not_contested", False, "no document takes a side but unsure ones"),
        (NORMATIVE, "nnnnn", "not_contested", False, "no document takes a side"),
        (
            NORMATIVE,
            "nPncn",
            "one_sided",
            True,
            "no con document down to the depth but unsure ones",
        ),
        (NORMATIVE, "nPnnn", "one_sided", True, "no con document down to the depth"),
        (NORMATIVE, "nPpnn", "one_sided", True, "no con document down to the depth"),
        (NORMATIVE, "npPcC", "contested", True, "both sides are present in the pool"),
        (OPEN, "npncn", "not_contested", False, f"no document {TOP} takes a side but unsure ones"),
        (OPEN, "nnnnn", "not_contested", False, f"no document {TOP} takes a side with confidence"),
        (
            OPEN,
            "ncnPn",
            "one_sided",
            False,
            f"no con document {TOP} but unsure ones; it may be a fact",
        ),
        (OPEN, "nnnPn", "one_sided", False, f"no sure con document {TOP}; it may be a fact"),
    ],
)
def test_unsure_labels_show_no_side_and_the_reason_says_so(
    question, labels, expected, balance, why
):
    decision = decided(question, labels, unsure_below=0.5)
    assert (decision.verdict.value, decision.balance, decision.why) == (expected, balance, why)


def test_the_side_that_only_unsure_labels_show_is_missing():
    assert decided(OPEN, "ncnPn", unsure_below=0.5).missing is Stance.CON


def test_a_label_the_gate_doubts_but_that_is_not_unsure_is_not_called_so():
    # 0.45 is under Gate.sure (0.6) and not under 0.4.
    for labels in ("npn", "nPc"):
        decision = decided(OPEN, labels, unsure_below=0.4)
        assert decision == decided(OPEN, labels)
        assert "unsure" not in decision.why
    # 0.9 is doubted by the gate and 0.45 unsure: not all that takes a side is unsure.
    why = decided(OPEN, "Pc", Gate(sure=0.95), unsure_below=0.5).why
    assert why == f"no document {TOP} takes a side with confidence"


def test_in_the_pool_the_stricter_of_both_thresholds_decides():
    assert decided(OPEN, "PC", Gate(sure=0.3), unsure_below=0.95).balance is False
    assert decided(OPEN, "pc", Gate(sure=0.3), unsure_below=0.5).balance is False
    assert decided(OPEN, "pc", Gate(sure=0.3), unsure_below=0.4).balance is True
    assert decided(OPEN, "pc", Gate(sure=0.6), unsure_below=0.4).balance is False


def test_a_gate_told_to_balance_does_not_ask_how_sure_the_labels_are():
    assert decided(OPEN, "pc", Gate("always"), unsure_below=0.9).balance


@given(st.text("PpCcn", max_size=30), st.sampled_from([NORMATIVE, OPEN, "Who made tea?"]))
def test_with_all_labels_sure_enough_the_threshold_changes_nothing(labels, question):
    # 0.45 is the least of all.
    assert decided(question, labels, unsure_below=0.45) == decided(question, labels)


@given(st.text("PpCcn", max_size=30), st.sampled_from([NORMATIVE, OPEN]))
def test_unsure_labels_weigh_as_much_as_neutral_ones(labels, question):
    plain = labels.replace("p", "n").replace("c", "n")
    quota = Quota(pool=6, depth=12)
    doubted = decided(question, labels, unsure_below=0.5, quota=quota)
    neutral = decided(question, plain, quota=quota)
    assert replace(doubted, why="") == replace(neutral, why="")
