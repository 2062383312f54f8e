"""A judge beside its readers: counts by hand, kappa beside scikit-learn's, the paper's own check."""

import asyncio
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from equipoise.errors import InputError
from equipoise.lab.answers.store import Judged
from equipoise.lab.experiments.check import read_check
from equipoise.lab.judge import Verdict
from equipoise.lab.judge.check import (
    READ_AS,
    Labelled,
    ask,
    between_readers,
    check,
    label_of,
    labels_digest,
    rate,
    read_labels,
)
from equipoise.lab.judge.correct import CLASSES, CorrectedBootstrap
from equipoise.lab.judge.shown import as_dict, as_json_text, as_text
from equipoise.types import Stance


def labelled(stances, readers=None, groups=None):
    return [
        Labelled(f"a{at}", "Should it?", f"Answer {at}.", stance, readers[at] if readers else {},
                 groups[at] if groups else f"g{at % 5}")
        for at, stance in enumerate(stances)
    ]  # fmt: skip


def verdict(said):
    """What a judge says: a stance, declined, or the name of another outcome."""
    if said in ("pro", "neutral", "con"):
        return Verdict(Judged.SCORED, Stance(said))
    return Verdict(Judged.REFUSED if said == "declined" else Judged(said))


def checked(truth, said, **more):
    return check("judge", "digest", labelled(truth, **more), [verdict(one) for one in said])


def from_matrix(matrix):
    """Lists of truths and labels with these counts, rows truth, in the order of `READ_AS`."""
    pairs = [
        (READ_AS[row], READ_AS[column])
        for row, counts in enumerate(matrix)
        for column, count in enumerate(counts)
        for _ in range(count)
    ]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def test_labels_stand_in_the_order_of_corrections():
    assert READ_AS[:3] == tuple(stance.value for stance in CLASSES)


def test_counts_by_hand():
    truth = ["pro", "pro", "pro", "con", "neutral", "declined", "con"]
    said = ["pro", "pro", "con", "con", "pro", "neutral", "unparsed"]
    found = checked(truth, said)
    assert found.matrix == ((2, 0, 1, 0), (1, 0, 0, 0), (0, 0, 1, 0), (0, 1, 0, 0))
    assert found.unjudged == (0, 0, 1, 0)
    assert found.confusion == ((2, 0, 1), (1, 0, 0), (0, 0, 1))
    assert found.outcomes == {"scored": 6, "unparsed": 1}
    assert (found.agreement.n, found.agreement.equal.hits) == (6, 3)
    assert (found.stances.n, found.stances.equal.hits) == (5, 3)
    pro, against = found.sensitivity["pro"], found.specificity["pro"]
    assert (pro.hits, pro.total) == (2, 3)
    assert (against.hits, against.total) == (2, 3)  # neutral was called pro; con and declined not
    assert (found.sensitivity["declined"].hits, found.sensitivity["declined"].total) == (0, 1)
    assert (found.specificity["declined"].hits, found.specificity["declined"].total) == (5, 5)


def test_what_is_no_verdict_is_counted_and_is_never_a_label():
    found = checked(["neutral"] * 4, ["unparsed", "error", "filtered", "neutral"])
    assert found.agreement.n == 1
    assert found.unjudged == (0, 3, 0, 0)
    assert sum(found.outcomes.values()) == 4
    assert label_of(verdict("refused")) == "declined"


def test_the_papers_check_can_come_from_counts():
    """45 of 50 alike and a kappa of 0.850, which rounds from these counts. Source: SP appendix E."""
    truth, said = from_matrix(((17, 1, 0, 0), (1, 14, 1, 0), (0, 2, 14, 0), (0, 0, 0, 0)))
    found = checked(truth, said)
    assert (found.stances.equal.hits, found.stances.n) == (45, 50)
    assert round(found.stances.kappa, 3) == 0.850
    assert found.stances.equal.value == 0.9
    assert found.stances.low < 0.850 < found.stances.high


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(READ_AS), st.sampled_from(READ_AS)), min_size=1, max_size=40)
)
def test_kappa_is_scikit_learns(pairs):
    truth, said = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = checked(truth, said).agreement
    if len({*truth, *said}) == 1:
        assert found.kappa is None
    else:
        assert found.kappa == pytest.approx(cohen_kappa_score(truth, said), abs=1e-9)
    assert found.equal.value == sum(a == b for a, b in pairs) / len(pairs)


def test_the_interval_is_of_whole_groups():
    # In three groups all is right, in three all is wrong; taken singly it would be narrower.
    truth = ["pro", "con"] * 30
    groups = [f"g{at // 10}" for at in range(60)]
    said = [t if at < 30 else {"pro": "con", "con": "pro"}[t] for at, t in enumerate(truth)]
    by_group = checked(truth, said, groups=groups).stances
    singly = checked(truth, said, groups=[f"g{at}" for at in range(60)]).stances
    assert by_group.kappa == singly.kappa == 0
    assert by_group.high - by_group.low > 1.5 * (singly.high - singly.low)
    assert checked(truth, said, groups=["g"] * 60).stances.low is None


def test_samples_without_a_kappa_are_counted():
    found = checked(["pro", "con"], ["pro", "con"], groups=["g1", "g2"]).agreement
    assert found.kappa == 1
    assert 2_300 < found.undefined < 2_700  # one group twice: half of the samples
    assert (found.low, found.high) == (1, 1)


def test_wilson_by_hand():
    # (45/50 + 1.96²/100) / (1 + 1.96²/50) ± ...: the textbook's numbers for 45 of 50.
    found = rate(45, 50)
    assert (found.low, found.high) == (
        pytest.approx(0.7864, abs=1e-4),
        pytest.approx(0.9565, abs=1e-4),
    )
    assert (rate(0, 0).value, rate(0, 0).low) == (None, None)
    assert rate(0, 10).low == pytest.approx(0, abs=1e-9)


def test_readers_are_compared_pairwise_on_what_both_read():
    readers = [
        {"ann": "pro", "bob": "pro", "cleo": "con"},
        {"ann": "con", "bob": "neutral"},
        {"ann": "con", "bob": "con"},
    ]
    found = between_readers(labelled(["pro", "con", "con"], readers))
    assert {pair: (one.equal.hits, one.n) for pair, one in found.items()} == {
        "ann/bob": (2, 3),
        "ann/cleo": (0, 1),
        "bob/cleo": (0, 1),
    }


# --- files


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


ROW = {"id": "a", "question": "Q?", "answer": "A.", "stance": "pro", "group": "g",
       "readers": {"r1": "pro", "r2": "con"}}  # fmt: skip


def test_labels_are_read(tmp_path):
    (found,) = read_labels(write(tmp_path / "l.jsonl", ROW))
    assert found == Labelled("a", "Q?", "A.", "pro", {"r1": "pro", "r2": "con"}, "g")
    assert len(labels_digest(tmp_path / "l.jsonl")) == 16


@pytest.mark.parametrize(
    "change",
    [{"stance": "maybe"}, {"stance": None}, {"readers": {"r1": "yes"}}, {"answer": " "},
     {"group": None}, {"question": 3}, {"id": ""}, {"readers": 1}],
)  # fmt: skip
def test_labels_that_do_not_hold_are_refused(tmp_path, change):
    with pytest.raises(InputError, match="row 1"):
        read_labels(write(tmp_path / "l.jsonl", {**ROW, **change}))


def test_labels_must_be_there_and_each_once(tmp_path):
    with pytest.raises(InputError, match="once"):
        read_labels(write(tmp_path / "l.jsonl", ROW, ROW))
    with pytest.raises(InputError, match="holds none"):
        read_labels(write(tmp_path / "empty.jsonl"))
    lacking = {name: entry for name, entry in ROW.items() if name != "stance"}
    with pytest.raises(InputError, match="stance"):
        read_labels(write(tmp_path / "l.jsonl", lacking))


def test_the_check_as_json_is_what_reports_and_corrections_read(tmp_path):
    truth, said = from_matrix(((17, 1, 0, 1), (1, 14, 1, 0), (0, 2, 14, 0), (1, 2, 0, 3)))
    found = checked(truth, said)
    path = tmp_path / "check.json"
    path.write_text(as_json_text(found), "utf-8")
    read = read_check(path)
    assert read.judge == "judge"
    assert (read.n, read.agreement, read.kappa) == (50, 0.9, found.stances.kappa)
    assert CorrectedBootstrap(read.confusion, 1).estimate([[1, 1, 1]]).n == 3
    assert json.loads(as_json_text(found)) == json.loads(json.dumps(as_dict(found)))


def test_the_check_as_text_shows_every_count():
    truth, said = from_matrix(((17, 1, 0, 0), (1, 14, 1, 0), (0, 2, 14, 0), (0, 0, 0, 0)))
    text = as_text(checked([*truth, "pro"], [*said, "error"]))
    assert "45/50 = 90.0% [78.6%, 95.7%] equal, kappa 0.850 [" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["pro", "17", "1", "0", "0", "1"] in lines
    assert "declined: sensitivity 0/0" in text
    assert "1 error, 50 scored" in text


# --- asking


class Slow:
    """A judge whose later answers come back first; counts how many it has at a time."""

    name, family = "slow", "toy"

    def __init__(self):
        self.now = self.most = 0

    async def judge(self, question, answer):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.02 / (1 + int(answer.split()[1].strip("."))))
        self.now -= 1
        return Verdict(Judged.SCORED, Stance.PRO, detail=answer)


def test_verdicts_come_back_in_order_and_no_more_than_asked_at_once():
    judge, told = Slow(), []
    items = labelled(["pro"] * 9)
    found = ask(judge, items, at_once=3, progress=lambda *now: told.append(now))
    assert [one.detail for one in found] == [item.answer for item in items]
    assert judge.most == 3
    assert told == [("judging", done, 9) for done in range(1, 10)]


def test_a_judge_that_guesses_has_a_kappa_near_0():
    rng = np.random.default_rng(1)
    truth, said = (rng.choice(["pro", "neutral", "con"], 900).tolist() for _ in range(2))
    found = checked(truth, said).stances
    assert abs(found.kappa) < 0.1
