"""Seats by source through the Balancer: what is chosen, and what the result says of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import Balancer, Quota, Selection, Stance
from equipoise.data import contested
from equipoise.errors import InputError
from equipoise.render import render_html, render_text
from equipoise.selection import RandomRule, Sources
from equipoise.testing import FakeDetector

QUESTION = "Should tea be banned?"
STANCES = {"p": "pro", "c": "con", "n": "neutral"}


def balance(labels, sites, question=QUESTION, **options):
    """Documents of labels such as "ppc", of sites such as "aab"; a dot names no site."""
    texts = [f"{kind}{index}" for index, kind in enumerate(labels)]
    detector = FakeDetector({text: STANCES[text[0]] for text in texts})
    given = [
        {"text": text} | ({} if site == "." else {"source": site})
        for text, site in zip(texts, sites, strict=True)
    ]
    options = {"sources": Sources(), **options}
    return Balancer(detector=detector, **options).balance(question, given)


def ranks(selection):
    return [choice.retrieval_rank for choice in selection.chosen]


def test_a_toy_world_by_hand():
    #                     123456789
    selection = balance("pppppcnpc", "aaaabbb..")
    assert ranks(selection) == [1, 5, 6, 7, 9]
    assert {out.retrieval_rank: out.why for out in selection.left_out} == {
        2: "source_full",
        3: "source_full",
        4: "source_full",
        8: "quota_full",
    }
    assert selection.shortfalls == ()
    assert selection.unsourced == (8, 9)
    assert selection.rule == "quota(2+2+1, pool 20, depth 50, 1 a source)"
    assert selection.settings["sources"] == {"key": "source", "most": 1}


def test_a_shortfall_counts_what_was_passed_over_for_its_source():
    selection = balance("ppppnc", "aaaabb")
    pro, con = selection.shortfalls
    assert (pro.stance, pro.wanted, pro.found, pro.same_source) == (Stance.PRO, 2, 1, 3)
    assert (con.stance, con.found, con.same_source) == (Stance.CON, 1, 0)
    assert ranks(selection) == [1, 2, 3, 5, 6]  # two fill, for nothing else is left
    assert selection.left_out[0].why == "source_full"


def test_the_order_of_relevance_and_other_rules_stand_without_it():
    assert ranks(balance("ppppp", "aaaaa", question="When was tea banned?")) == [1, 2, 3, 4, 5]
    by_rule = balance("ppppp", "aaaaa", rule=RandomRule(3))
    assert len(by_rule.chosen) == 3
    assert {out.why for out in by_rule.left_out} == {"not_selected"}


def test_without_the_option_nothing_is_counted():
    selection = balance("pppcn", "aaaaa", sources=None)
    assert selection.unsourced == ()
    assert selection.settings["sources"] is None
    assert "source_full" not in {out.why for out in selection.left_out}


@given(st.text("pcn", min_size=1, max_size=20), st.data())
def test_a_document_is_source_full_exactly_when_another_of_its_source_sits_on_its_side(
    labels, data
):
    sites = data.draw(st.text("ab.", min_size=len(labels), max_size=len(labels)))
    selection = balance(labels, sites, quota=Quota(2, 2, 1, pool=8, depth=12), gate="always")
    heard = {
        (c.candidate.metadata.get("source"), c.stance)
        for c in selection.chosen
        if c.reason != "filled"
    }
    for out in selection.left_out:
        if out.why == "source_full":
            assert (out.candidate.metadata["source"], out.stance) in heard
        if out.why == "quota_full":
            full = [c for c in selection.chosen if c.stance is out.stance and c.reason != "filled"]
            assert len(full) == selection.quota.of(out.stance)
    for short in selection.shortfalls:
        if short.stance is not None:
            of_stance = sum(STANCES[x] == short.stance for x in labels[:12])
            assert short.same_source == of_stance - short.found


def test_a_result_goes_through_json_and_those_stored_before_still_load():
    data = json.loads(balance("pppcn", "aa.aa").to_json())
    assert Selection.from_dict(data).to_dict() == data
    del data["unsourced"]
    for short in data["shortfalls"]:
        del short["same_source"]
    del data["settings"]["sources"]
    old = Selection.from_dict(data)
    assert old.unsourced == ()
    assert {short.same_source for short in old.shortfalls} == {0}
    assert render_text(data)
    assert render_html(data)


@pytest.mark.parametrize("draw", [str, Selection.to_html], ids=["text", "html"])
def test_both_pictures_tell_it(draw):
    picture = draw(balance("pppp.n".replace(".", "p"), "aaaa.b"))
    for words in (
        "at most 1 place of one stance each, by source; rank 5 without one",
        "Nothing against was found down to rank 6",
    ):
        assert words in picture


def test_a_key_that_no_document_has_is_told_in_one_word():
    told = " ".join(str(balance("pppcn", ".....")).split())
    assert "by source; no document has that key" in told
    assert "without one" not in told


def test_the_words_for_what_was_passed_over():
    picture = str(balance("pppnc", "aaabc"))
    assert (
        "Only 1 of 2 in favour was found down to rank 5; 2 more documents were passed over, of"
        in " ".join(picture.split())
    )
    table = balance("ppppcn", "aaab..", quota=Quota(2, 1, 1)).to_html()
    assert "its source has its share of the places for its stance" in table


def test_a_wrong_kind_of_option_is_refused():
    with pytest.raises(InputError, match="sources must be a Sources"):
        Balancer(sources="source")


def test_with_the_bundled_detector_one_site_that_floods_a_side_gets_one_seat_of_it():
    topic = contested()[0]
    planted = [(doc, "flood.example") for doc in topic.planted("pro")]
    others = [(doc, f"site{i}.example") for i, doc in enumerate(topic.clean())]
    given = [{"id": d.id, "text": d.text, "url": f"https://{s}/1"} for d, s in planted + others]

    def flooding(**options):
        chosen = Balancer(**options).balance(topic.question, given).chosen
        flood = [c for c in chosen if "flood" in c.candidate.metadata["url"]]
        return sum(c.stance is Stance.PRO for c in flood)

    assert (flooding(), flooding(sources=Sources("url"))) == (2, 1)
