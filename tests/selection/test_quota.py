import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.selection.quota import QuotaRule
from equipoise.types import Candidate, Quota, Reason, Stance, StanceScore

SCORES = {
    "p": StanceScore(0.8, 0.1, 0.1),
    "c": StanceScore(0.1, 0.8, 0.1),
    "n": StanceScore(0.1, 0.1, 0.8),
}
LABELS = {"p": Stance.PRO, "c": Stance.CON, "n": Stance.NEUTRAL}


def ranks(labels, quota=None, skip=frozenset()):
    """Chosen ranks, in retrieval order, for labels such as "ppcn"."""
    docs = [Candidate(str(i), f"text {i}") for i in range(len(labels))]
    picks = QuotaRule(quota or Quota()).select(docs, [SCORES[x] for x in labels], skip=skip)
    return sorted(pick.index + 1 for pick in picks)


def three_steps(labels, quota):
    """SP 3.4 read literally: the pool, then beyond it for what is short, then by rank."""
    room = {x: quota.of(stance) for x, stance in LABELS.items()}
    taken = []
    for start, end in ((0, quota.pool), (quota.pool, quota.depth)):
        for kind in "pcn":
            for index in range(start, min(end, len(labels))):
                if labels[index] == kind and room[kind] > 0:
                    room[kind] -= 1
                    taken.append(index)
    for index in range(len(labels)):
        if len(taken) < quota.total and index not in taken:
            taken.append(index)
    return sorted(index + 1 for index in taken)


def test_worked_example_of_the_paper_takes_the_first_five_labels():
    # SP F.2, table 20: labels con, pro, neutral, pro, con.
    assert ranks("cpnpc" + "p" * 15) == [1, 2, 3, 4, 5]


def test_missing_neutral_is_filled_by_rank():
    # SP table 19: 11 pro, 9 con, no neutral down to rank 50 gives 3 pro + 2 con.
    labels = "ppppppcppcccpcccpccp" + "pc" * 15
    assert labels[:20].count("p") == 11
    assert labels[:20].count("c") == 9
    chosen = ranks(labels)
    assert [labels[rank - 1] for rank in chosen].count("p") == 3
    assert [labels[rank - 1] for rank in chosen].count("c") == 2
    assert chosen == [1, 2, 3, 7, 10]


def test_a_stance_short_in_the_pool_is_reached_beyond_it():
    docs = [Candidate(str(i), "x") for i in range(50)]
    labels = "p" * 30 + "c" + "p" * 10 + "n" + "p" * 8
    picks = QuotaRule().select(docs, [SCORES[x] for x in labels])
    assert [(p.index, p.reason) for p in picks] == [
        (0, Reason.QUOTA),
        (1, Reason.QUOTA),
        (30, Reason.REACHED),
        (41, Reason.REACHED),
        (2, Reason.FILLED),
    ]


def test_a_document_at_depth_is_reached_and_one_past_it_is_not():
    assert ranks("p" * 49 + "c")[-1] == 50
    assert ranks("p" * 50 + "c")[-1] == 5


def test_fewer_documents_than_seats_gives_all_of_them():
    assert ranks("ppp") == [1, 2, 3]
    assert ranks("") == []


def test_skipped_documents_take_no_seat_and_keep_their_rank():
    assert ranks("ppppccn", skip={0, 2}) == [2, 4, 5, 6, 7]


def test_no_label_is_read_past_the_document_that_takes_the_last_seat():
    class Watched(list):
        read = 0

        def __getitem__(self, index):
            Watched.read = max(Watched.read, index + 1)
            return super().__getitem__(index)

    docs = [Candidate(str(i), "x") for i in range(50)]
    QuotaRule().select(docs, Watched(SCORES[x] for x in "ppcpcn" + "p" * 44))
    assert Watched.read == 6


@st.composite
def quota_strategy(draw):
    p, c, n = (draw(st.integers(0, 3)) for _ in range(3))
    pool = draw(st.integers(1, 8))
    return Quota(p or int(not (c or n)), c, n, pool=pool, depth=pool + draw(st.integers(0, 8)))


@given(st.text("pcn", max_size=24), quota_strategy())
def test_one_pass_equals_the_three_steps_of_the_paper(labels, quota):
    assert ranks(labels, quota) == three_steps(labels, quota)


@given(st.text("pcn", max_size=60), quota_strategy(), st.sets(st.integers(0, 59)))
def test_every_choice_is_unique_allowed_and_as_many_as_possible(labels, quota, skip):
    chosen = ranks(labels, quota, skip)
    free = [i for i in range(len(labels)) if i not in skip]
    assert len(set(chosen)) == len(chosen) == min(quota.total, len(free))
    assert not {rank - 1 for rank in chosen} & skip


def test_the_last_rank_of_the_pool_is_in_it_and_the_next_is_beyond():
    def reason(rank):
        labels = "p" * (rank - 1) + "c"
        docs = [Candidate(str(i), "x") for i in range(rank)]
        picks = QuotaRule().select(docs, [SCORES[x] for x in labels])
        return next(pick.reason for pick in picks if pick.index == rank - 1)

    assert reason(20) is Reason.QUOTA
    assert reason(21) is Reason.REACHED


UNSURE = {
    **{mark.upper(): score for mark, score in SCORES.items()},
    "p": StanceScore(0.52, 0.38, 0.1),
    "c": StanceScore(0.38, 0.52, 0.1),
    "n": StanceScore(0.25, 0.25, 0.5),
}


def picked(labels, quota=None, *, unsure_below=0.6, skip=frozenset()):
    """(rank, reason) of each pick for labels such as "cPnP"; small letters are unsure under 0.6."""
    docs = [Candidate(str(i), "x") for i in range(len(labels))]
    rule = QuotaRule(quota or Quota(), unsure_below)
    picks = rule.select(docs, [UNSURE[x] for x in labels], skip=skip)
    return [(pick.index + 1, pick.reason.value) for pick in picks]


def test_unsure_documents_are_passed_over_for_sure_ones_further_down():
    #         rank 12345678: the unsure con at 1 and neutral at 3 give way to those at 7 and 8.
    assert picked("cPnPCPCN") == [
        (2, "quota"),
        (4, "quota"),
        (5, "quota"),
        (7, "quota"),
        (8, "quota"),
    ]
    assert picked("cPnPCPCN", unsure_below=0.0) == [
        (1, "quota"),
        (2, "quota"),
        (3, "quota"),
        (4, "quota"),
        (5, "quota"),
    ]


def test_an_unsure_document_fills_a_seat_left_over_by_its_rank_alone():
    # One sure con only: of the sure pro at 3 and the unsure con at 4 the better rank comes in.
    assert picked("PPPcCN") == [
        (1, "quota"),
        (2, "quota"),
        (5, "quota"),
        (6, "quota"),
        (3, "filled"),
    ]
    assert picked("PPcPCN")[-1] == (3, "filled")


def test_a_side_of_unsure_documents_only_sends_the_pass_down_to_the_depth():
    picks = picked("PPN" + "c" * 30 + "C" + "c" * 30)
    assert picks[3:] == [(34, "reached"), (4, "filled")]


def test_a_label_at_the_threshold_is_sure():
    assert picked("pc", Quota(1, 1, 0), unsure_below=0.52) == [(1, "quota"), (2, "quota")]
    assert picked("pc", Quota(1, 1, 0), unsure_below=0.53) == [(1, "filled"), (2, "filled")]


def test_the_name_tells_a_threshold_that_is_in_force():
    assert QuotaRule(unsure_below=0.0).name == "quota(2+2+1, pool 20, depth 50)"
    assert QuotaRule(unsure_below=0.6).name == "quota(2+2+1, pool 20, depth 50, unsure below 0.6)"


@pytest.mark.parametrize("value", [1, 1.5, -0.01, float("nan"), True, "0.5", None])
def test_a_threshold_out_of_its_range_is_refused(value):
    with pytest.raises(InputError, match=r"unsure_below must be a number in \[0, 1\), got"):
        QuotaRule(unsure_below=value)


shares = st.tuples(*(st.integers(0, 9) for _ in range(3))).filter(any)
scores = st.lists(
    shares.map(lambda s: StanceScore(*(x / sum(s) for x in s))), max_size=24
)  # ties and near-certain labels among them
MARKS = {Stance.PRO: "p", Stance.CON: "c", Stance.NEUTRAL: "n"}


def chosen_by(rule, read, skip=frozenset()):
    docs = [Candidate(str(i), "x") for i in range(len(read))]
    return rule.select(docs, read, skip=skip)


@given(scores, quota_strategy())
def test_a_threshold_of_0_chooses_as_the_paper_does(read, quota):
    picks = chosen_by(QuotaRule(quota, 0.0), read)
    labels = "".join(MARKS[score.label] for score in read)
    assert sorted(pick.index + 1 for pick in picks) == three_steps(labels, quota)


def seated(picks, read):
    """How many of each stance have a seat of their own."""
    own = [read[pick.index] for pick in picks if pick.reason is not Reason.FILLED]
    return {stance: sum(score.label is stance for score in own) for stance in Stance}


@given(
    scores,
    quota_strategy(),
    st.tuples(st.floats(0, 0.99), st.floats(0, 0.99)).map(sorted),
    st.sets(st.integers(0, 23)),
)
def test_a_higher_threshold_never_seats_more_of_a_stance(read, quota, thresholds, skip):
    low, high = (seated(chosen_by(QuotaRule(quota, t), read, skip), read) for t in thresholds)
    assert all(high[stance] <= low[stance] for stance in Stance)


@given(scores, quota_strategy(), st.floats(0, 0.99), st.sets(st.integers(0, 23)))
def test_seats_go_to_sure_documents_and_none_is_lost(read, quota, threshold, skip):
    picks = chosen_by(QuotaRule(quota, threshold), read, skip)
    free = [index for index in range(len(read)) if index not in skip]
    assert len({pick.index for pick in picks}) == len(picks) == min(quota.total, len(free))
    own = [pick.index for pick in picks if pick.reason is not Reason.FILLED]
    assert all(read[index].confidence >= threshold for index in own)
    # By hand: each stance gets its first sure documents down to the depth.
    for stance in Stance:
        fit = [
            i
            for i in free
            if i < quota.depth and read[i].label is stance and read[i].confidence >= threshold
        ]
        assert [i for i in own if read[i].label is stance] == fit[: quota.of(stance)]


@given(scores, quota_strategy(), st.floats(0, 0.99))
def test_no_label_is_read_past_the_last_seat_whatever_the_threshold(read, quota, threshold):
    class Watched(list):
        last = 0

        def __getitem__(self, index):
            Watched.last = max(Watched.last, index + 1)
            return super().__getitem__(index)

    Watched.last = 0
    picks = chosen_by(QuotaRule(quota, threshold), Watched(read))
    own = [pick.index + 1 for pick in picks if pick.reason is not Reason.FILLED]
    full = len(own) == quota.total
    assert Watched.last == (max(own) if full else min(quota.depth, len(read)))
