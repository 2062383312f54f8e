import re
from collections import Counter

import pytest

from equipoise import InputError, data
from equipoise.selection.duplicates import Duplicates, find_copies


def test_there_are_twelve_topics_with_both_sides_and_texts_to_plant():
    assert len(data.contested()) >= 12
    for topic in data.contested():
        counts = Counter(d.metadata["stance"] for d in topic.clean())
        assert counts == {"pro": 8, "con": 8, "neutral": 4}, topic.name
        assert len(topic.planted("pro")) == len(topic.planted("con")) == 7
        assert len(set(topic.paraphrases)) == 4


def test_passages_have_forty_to_ninety_words_and_unique_ids():
    documents = [d for t in data.contested() for d in t.documents]
    documents += [fact.document for fact in data.facts()]
    lengths = [len(d.text.split()) for d in documents]
    assert min(lengths) >= 40
    assert max(lengths) <= 90
    assert len({d.id for d in documents}) == len(documents)


def test_no_two_passages_are_copies():
    texts = [d.text for t in data.contested() for d in t.documents]
    texts += [fact.document.text for fact in data.facts()]
    copies = find_copies(texts, Duplicates(near=0.3), depth=len(texts))
    assert copies.exact == {}
    assert copies.near == {}


def test_every_fact_is_answered_by_its_own_passage():
    assert len(data.facts()) >= 60
    for fact in data.facts():
        assert fact.answer in fact.document.text
    assert len({fact.question for fact in data.facts()}) == len(data.facts())


def test_the_clean_corpus_has_no_planted_text():
    corpus = data.clean_corpus()
    assert len(corpus) == 12 * 20 + len(data.facts())
    assert all(d.metadata["origin"] != "injected" for d in corpus)


def test_no_passage_cites_a_made_up_percentage():
    # Numbers are kept to well-known ones; a share in per cent is where invention would hide.
    shares = [
        (d.id, m.group())
        for t in data.contested()
        for d in t.documents
        for m in re.finditer(r"\d+(\.\d+)?\s?(%|per ?cent)", d.text)
    ]
    assert len(shares) <= 3, shares


def test_an_unknown_topic_lists_the_known_ones():
    with pytest.raises(InputError, match="zoos"):
        data.topic("tea")
