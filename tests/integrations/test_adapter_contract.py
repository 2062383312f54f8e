"""What every adapter owes its host. A new one joins by one line in `adapters.ADAPTERS`."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import Balancer, DetectorError, EquipoiseError, InputError, Quota
from equipoise.testing import FailingDetector, FakeDetector

from .adapters import ADAPTERS, QUESTION, STANCES, Adapter, texts

STANCE_OF = dict(zip(texts(), STANCES, strict=True))
NESTED = {"source": {"pages": [1, 2], "by": ("a", None)}, "when": frozenset({3}), "n": 1.5}


@pytest.fixture(params=ADAPTERS, ids=str)
def adapter(request: pytest.FixtureRequest) -> Adapter:
    return ADAPTERS[request.param]


def balancer(**options: Any) -> Balancer:
    return Balancer(detector=FakeDetector(STANCE_OF, default="neutral"), **options)


def documents(adapter: Adapter) -> list[Any]:
    return [
        adapter.make(f"id-{place}", text, {**NESTED, "place": place})
        for place, text in enumerate(texts(), start=1)
    ]


def ids(adapter: Adapter, chosen: Any) -> list[str]:
    return [adapter.read(document)[0] for document in chosen]


def test_nothing_in_is_nothing_out(adapter):
    assert list(adapter.run(balancer(), QUESTION, [], None)) == []


def test_the_quota_is_chosen_in_retrieval_order(adapter):
    chosen = adapter.run(balancer(), QUESTION, documents(adapter), None)
    assert ids(adapter, chosen) == ["id-1", "id-2", "id-4", "id-5", "id-6"]


def test_k_scales_the_quota(adapter):
    chosen = adapter.run(balancer(), QUESTION, documents(adapter), 2)
    assert ids(adapter, chosen) == ["id-1", "id-4"]


def test_k_above_the_number_of_documents_gives_them_all(adapter):
    chosen = adapter.run(balancer(), QUESTION, documents(adapter), 99)
    assert ids(adapter, chosen) == [f"id-{place}" for place in range(1, 9)]


def test_id_text_and_metadata_of_any_type_survive(adapter):
    chosen = adapter.run(balancer(), QUESTION, documents(adapter), None)
    for document, place in zip(chosen, (1, 2, 4, 5, 6), strict=True):
        own_id, text, metadata = adapter.read(document)
        assert (own_id, text) == (f"id-{place}", texts()[place - 1])
        assert {key: metadata[key] for key in metadata if key != "equipoise"} == {
            **NESTED,
            "place": place,
        }


def test_the_mark_says_stance_rank_and_reason_in_plain_data(adapter):
    chosen = adapter.run(balancer(), QUESTION, documents(adapter), None)
    marks = [adapter.read(document)[2]["equipoise"] for document in chosen]
    assert [type(mark["stance"]) for mark in marks] == [str] * 5
    assert marks[2] == {
        "stance": "con",
        "probabilities": {"pro": pytest.approx(0.05), "con": 0.9, "neutral": pytest.approx(0.05)},
        "unsure": False,
        "retrieval_rank": 4,
        "reason": "quota",
        "balanced": True,
    }


def test_a_question_of_fact_keeps_the_order_of_relevance_and_says_so(adapter):
    chosen = adapter.run(balancer(), "When was bread first baked?", documents(adapter), None)
    assert ids(adapter, chosen) == [f"id-{place}" for place in range(1, 6)]
    assert not any(adapter.read(document)[2]["equipoise"]["balanced"] for document in chosen)


def test_what_went_in_is_not_changed(adapter):
    given = documents(adapter)
    before = copy.deepcopy(given)
    chosen = adapter.run(balancer(), QUESTION, given, None)
    assert given == before
    assert all("equipoise" not in adapter.read(document)[2] for document in given)
    assert not {id(document) for document in chosen} & {id(document) for document in given}


async def test_the_asynchronous_form_gives_the_same(adapter):
    for k in (None, 1, 3, 99):
        sync = adapter.run(balancer(), QUESTION, documents(adapter), k)
        assert list(await adapter.arun(balancer(), QUESTION, documents(adapter), k)) == list(sync)
    assert list(await adapter.arun(balancer(), QUESTION, [], None)) == []


def test_k_below_one_and_a_blank_question_are_input_errors(adapter):
    with pytest.raises(InputError, match="k must be an int >= 1, got 0"):
        adapter.run(balancer(), QUESTION, documents(adapter), 0)
    with pytest.raises(InputError, match="question"):
        adapter.run(balancer(), "  ", documents(adapter), None)


def test_a_document_of_another_class_is_an_input_error_that_names_it(adapter):
    with pytest.raises(InputError, match=r"document 2 must be a \w+ of .+, got str"):
        adapter.run(balancer(), QUESTION, [documents(adapter)[0], "text"], None)


async def test_a_detector_that_fails_raises_the_error_of_the_package(adapter):
    failing = Balancer(detector=FailingDetector())
    with pytest.raises(DetectorError, match="always fails"):
        adapter.run(failing, QUESTION, documents(adapter), None)
    with pytest.raises(DetectorError, match="always fails"):
        await adapter.arun(failing, QUESTION, documents(adapter), None)


def test_a_failing_detector_may_keep_relevance_and_is_then_not_balanced(adapter):
    failing = Balancer(detector=FailingDetector(), on_error="relevance")
    chosen = adapter.run(failing, QUESTION, documents(adapter), 2)
    assert ids(adapter, chosen) == ["id-1", "id-2"]
    assert {adapter.read(document)[2]["equipoise"]["balanced"] for document in chosen} == {False}


def test_blank_documents_take_no_seat(adapter):
    given = [adapter.make("blank", " \n", {}), *documents(adapter)]
    assert "blank" not in ids(adapter, adapter.run(balancer(), QUESTION, given, 99))


def test_a_key_of_the_same_name_is_replaced_on_the_copy_alone(adapter):
    given = [adapter.make("1", texts()[0], {"equipoise": "mine"})]
    (chosen,) = adapter.run(balancer(), QUESTION, given, None)
    assert adapter.read(chosen)[2]["equipoise"]["stance"] == "pro"
    assert adapter.read(given[0])[2] == {"equipoise": "mine"}


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


@given(
    names=st.lists(st.text(min_size=1), max_size=12),
    stances=st.lists(st.sampled_from(["pro", "con", "neutral"]), min_size=12, max_size=12),
    metadata=st.dictionaries(st.text(), PLAIN, max_size=3),
    k=st.integers(1, 15),
)
@pytest.mark.parametrize("name", ADAPTERS)
def test_what_comes_out_is_what_the_balancer_chose(name, names, stances, metadata, k):
    adapter = ADAPTERS[name]
    words = texts(len(names))
    table = dict(zip(words, stances, strict=False))
    metadata.pop("equipoise", None)
    made = [adapter.make(i, t, dict(metadata)) for i, t in zip(names, words, strict=True)]
    ours = Balancer(detector=FakeDetector(table), quota=Quota(pool=3, depth=6))
    expected = ours.balance(QUESTION, list(words), k=k).items
    chosen = [adapter.read(document) for document in adapter.run(ours, QUESTION, made, k)]
    assert [text for _, text, _ in chosen] == list(expected)
    for own_id, text, kept in chosen:
        assert own_id == names[words.index(text)]
        assert {key: kept[key] for key in kept if key != "equipoise"} == metadata


def test_every_error_is_of_the_package(adapter):
    for question, retrieved, k in (
        (QUESTION, [None], None),
        (QUESTION, documents(adapter), -3),
        ("", documents(adapter), None),
        (None, documents(adapter), None),
    ):
        with pytest.raises(EquipoiseError):
            adapter.run(balancer(), question, retrieved, k)
