"""Seats by source: the cap by hand, by brute force, and as properties beside the quota's own."""

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.selection.quota import QuotaRule
from equipoise.selection.sources import Sources
from equipoise.types import Candidate, Quota, Reason, Stance, StanceScore

SCORES = {
    "p": StanceScore(0.8, 0.1, 0.1),
    "c": StanceScore(0.1, 0.8, 0.1),
    "n": StanceScore(0.1, 0.1, 0.8),
}
LABELS = {"p": Stance.PRO, "c": Stance.CON, "n": Stance.NEUTRAL}
ONE = Sources()


def documents(sites):
    """A candidate for each letter of `sites`, its source; a dot names none."""
    return [
        Candidate(str(i), f"text {i}", metadata={} if site == "." else {"source": site})
        for i, site in enumerate(sites)
    ]


def picked(labels, sites, quota=None, *, sources=ONE, skip=frozenset()):
    """(rank, reason) of each pick, in the order made, for labels such as "ppc" from sites "aab"."""
    rule = QuotaRule(quota or Quota(), sources=sources)
    picks = rule.select(documents(sites), [SCORES[x] for x in labels], skip=skip)
    return [(pick.index + 1, pick.reason.value) for pick in picks]


def ranks(*given, **options):
    return sorted(rank for rank, _ in picked(*given, **options))


def test_ten_pages_of_one_site_are_one_voice():
    #      rank 1234567890123   twelve for it, of which ten are of site a
    labels = "ppppppppppppcnc"
    sites = "aaaaaaaaaabc..."
    assert picked(labels, sites) == [
        (1, "quota"),
        (11, "quota"),
        (13, "quota"),
        (14, "quota"),
        (15, "quota"),
    ]
    assert ranks(labels, sites, sources=None) == [1, 2, 13, 14, 15]


def test_a_source_heard_on_one_side_is_not_in_the_way_of_the_other():
    # A debate site has the only document against: it keeps its seat.
    assert picked("ppc", "aba", Quota(1, 1, 0)) == [(1, "quota"), (3, "quota")]


def test_a_seat_left_over_goes_to_a_source_not_heard_yet_then_to_any():
    # Seats of pro: 1 and 4. Left over are three: 5 and 6 name no source, then 2 by rank.
    assert picked("pppppp", "aaab..") == [
        (1, "quota"),
        (4, "quota"),
        (5, "filled"),
        (6, "filled"),
        (2, "filled"),
    ]


def test_where_one_source_is_all_there_is_no_seat_stays_empty():
    assert picked("pppppp", "aaaaaa") == [(1, "quota"), *((r, "filled") for r in (2, 3, 4, 5))]


def test_documents_that_name_no_source_are_sources_of_their_own():
    assert ranks("ppccn", ".....") == [1, 2, 3, 4, 5]


def test_more_than_one_seat_may_be_allowed():
    quota = Quota(3, 0, 0)
    assert ranks("ppppp", "aaabc", quota, sources=Sources(most=2)) == [1, 2, 4]
    assert ranks("ppppp", "aaabc", quota, sources=Sources(most=3)) == [1, 2, 3]


def test_what_is_skipped_takes_no_place_of_its_source():
    assert ranks("pp", "aa", Quota(1, 0, 0), skip={0}) == [2]


def test_the_pass_reads_on_for_another_source_to_the_depth_and_no_further():
    assert picked("p" * 30 + "pcnc", "a" * 30 + "bcde")[1] == (31, "reached")
    quota = Quota(2, 0, 0, pool=2, depth=4)
    assert picked("pppp", "aaab", quota)[1] == (4, "reached")
    assert picked("ppppp", "aaaab", quota)[1] == (5, "filled")


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("Example.org", "example.org"),
        (" ｅxample.ORG ", "example.org"),
        ("https://www.example.org/page?x=1#y", "example.org"),
        ("http://user@EXAMPLE.org:8080/a", "example.org"),
        ("https://news.example.org/a", "news.example.org"),
        ("http://[broken", "http://[broken"),
        ("https:///only/a/path", "https:///only/a/path"),
        (7, "7"),
        ("", None),
        (" \u200b", None),
        (None, None),
    ],
)
def test_a_source_is_a_folded_name_or_the_host_of_an_address(value, source):
    assert ONE.of(Candidate("1", "x", metadata={"source": value})) == source


def test_what_names_no_source_is_told():
    assert ONE.missing(documents("a.b.")) == (1, 3)


@pytest.mark.parametrize("options", [{"key": ""}, {"key": 3}, {"most": 0}, {"most": True}])
def test_an_option_out_of_its_range_is_refused(options):
    with pytest.raises(InputError, match=r"Sources\.(key|most) must"):
        Sources(**options)


def test_the_name_tells_what_one_source_may_have():
    assert QuotaRule(sources=ONE).name == "quota(2+2+1, pool 20, depth 50, 1 a source)"


@st.composite
def quotas(draw):
    p, c, n = (draw(st.integers(0, 3)) for _ in range(3))
    pool = draw(st.integers(1, 6))
    return Quota(p or int(not (c or n)), c, n, pool=pool, depth=pool + draw(st.integers(0, 8)))


def worlds(most):
    """(labels, sites) of equal length."""
    pairs = st.lists(st.tuples(st.sampled_from("pcn"), st.sampled_from("aab.")), max_size=most)
    return pairs.map(lambda rows: ("".join(x for x, _ in rows), "".join(s for _, s in rows)))


def best(labels, sites, quota, kind, most, skip):
    """By brute force: the largest set of that stance within quota and cap, the first by rank."""
    fit = [i for i, x in enumerate(labels[: quota.depth]) if x == kind and i not in skip]
    for size in range(quota.of(LABELS[kind]), 0, -1):
        for indices in combinations(fit, size):
            named = [sites[i] for i in indices if sites[i] != "."]
            if all(named.count(site) <= most for site in named):
                return list(indices)
    return []


@given(worlds(8), quotas(), st.integers(1, 3), st.sets(st.integers(0, 7), max_size=3))
def test_each_stance_gets_the_best_set_that_quota_and_cap_allow(world, quota, most, skip):
    labels, sites = world
    made = picked(labels, sites, quota, sources=Sources(most=most), skip=skip)
    seated = sorted(rank - 1 for rank, reason in made if reason != "filled")
    expected = [best(labels, sites, quota, kind, most, skip) for kind in "pcn"]
    assert seated == sorted(chain(*expected))


@given(worlds(24), quotas(), st.sets(st.integers(0, 23), max_size=6))
def test_a_cap_that_binds_nobody_changes_nothing(world, quota, skip):
    labels, sites = world
    plain = picked(labels, sites, quota, sources=None, skip=skip)
    assert picked(labels, sites, quota, sources=Sources(most=99), skip=skip) == plain
    assert picked(labels, "." * len(labels), quota, skip=skip) == plain
    assert picked(labels, sites, quota, sources=Sources("elsewhere"), skip=skip) == plain


@given(worlds(24), quotas(), st.sets(st.integers(0, 23), max_size=6))
def test_the_cap_costs_no_document_and_no_side(world, quota, skip):
    labels, sites = world
    made = picked(labels, sites, quota, skip=skip)
    free = [i for i in range(len(labels)) if i not in skip]
    assert len({rank for rank, _ in made}) == len(made) == min(quota.total, len(free))
    plain = picked(labels, sites, quota, sources=None, skip=skip)

    def heard(picks):
        return {labels[rank - 1] for rank, reason in picks if reason != "filled"}

    assert heard(made) == heard(plain)


@given(worlds(24), quotas(), st.integers(1, 2))
def test_of_the_documents_that_fill_none_repeats_a_source_while_another_waits(world, quota, most):
    labels, sites = world
    made = picked(labels, sites, quota, sources=Sources(most=most))
    chosen = []
    for rank, reason in made:
        site = sites[rank - 1]
        if reason == "filled" and site != "." and chosen.count(site) >= most:
            taken = {r for r, _ in made}
            waiting = [s for r, s in enumerate(sites, start=1) if r not in taken]
            assert all(s != "." and chosen.count(s) >= most for s in waiting)
        chosen.append(site)


@given(worlds(24), quotas())
def test_no_label_is_read_past_the_last_seat(world, quota):
    labels, sites = world

    class Watched(list):
        last = 0

        def __getitem__(self, index):
            Watched.last = max(Watched.last, index + 1)
            return super().__getitem__(index)

    Watched.last = 0
    rule = QuotaRule(quota, sources=ONE)
    picks = rule.select(documents(sites), Watched(SCORES[x] for x in labels))
    own = [pick.index + 1 for pick in picks if pick.reason is not Reason.FILLED]
    full = len(own) == quota.total
    assert Watched.last == (max(own) if full else min(quota.depth, len(labels)))
