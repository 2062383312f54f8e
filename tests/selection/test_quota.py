from hypothesis import given
from hypothesis import strategies as st

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
