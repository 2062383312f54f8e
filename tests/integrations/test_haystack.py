"""The Haystack ranker in real pipelines: run, saved and loaded again, warmed up."""

import doctest
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder

from equipoise import Balancer, DetectorError, Gate, InputError, Quota, Selection
from equipoise.prompt import DEFAULT
from equipoise.testing import FailingDetector, FakeDetector
from haystack_integrations.components.rankers.equipoise import EquipoiseRanker

from .adapters import QUESTION, STANCES, texts

TEMPLATE = """\
{% for document in documents %}{{ document.id }} {% endfor %}
{{ query }}
{{ instruction }}"""


def documents() -> list[Document]:
    return [Document(id=f"id-{place}", content=text) for place, text in enumerate(texts(), start=1)]


def balancer(**options: Any) -> Balancer:
    table = dict(zip(texts(), STANCES, strict=True))
    return Balancer(detector=FakeDetector(table, default="neutral"), **options)


def pipeline(ranker: EquipoiseRanker) -> Pipeline:
    made = Pipeline()
    made.add_component("ranker", ranker)
    made.add_component("prompt", PromptBuilder(TEMPLATE, required_variables="*"))
    made.connect("ranker.documents", "prompt.documents")
    made.connect("ranker.instruction", "prompt.instruction")
    return made


def asked(question: str = QUESTION) -> dict[str, Any]:
    return {"ranker": {"query": question, "documents": documents()}, "prompt": {"query": question}}


EXPECTED = f"id-1 id-2 id-4 id-5 id-6 \n{QUESTION}\n{DEFAULT.instruction}"


async def test_a_pipeline_gets_documents_instruction_and_selection():
    made = pipeline(EquipoiseRanker(balancer=balancer()))
    for out in (made.run(asked()), await made.run_async(asked())):
        assert out["prompt"]["prompt"] == EXPECTED
        selection = Selection.from_dict(out["ranker"]["selection"])
        assert selection.composition == {"pro": 2, "con": 2, "neutral": 1}
        assert [row.why for row in selection.left_out] == ["quota_full", "not_needed", "not_needed"]


def test_a_question_of_fact_gets_no_instruction():
    made = pipeline(EquipoiseRanker(balancer=balancer()))
    fact = "When was bread first baked?"
    prompt = made.run(asked(fact))["prompt"]["prompt"]
    assert prompt == f"id-1 id-2 id-3 id-4 id-5 \n{fact}\n"


def test_the_run_s_top_k_goes_before_the_ranker_s():
    ranker = EquipoiseRanker(4, balancer=balancer())
    assert len(ranker.run(QUESTION, documents())["documents"]) == 4
    assert len(ranker.run(QUESTION, documents(), top_k=2)["documents"]) == 2


def test_a_pipeline_is_saved_and_loaded_without_allow_listing():
    ranker = EquipoiseRanker(
        3,
        detector="zero_shot:some/model",
        quota=Quota(pro=3, con=3, neutral=2, pool=30, depth=60),
        gate="always",
        merge_duplicates=False,
        on_error="relevance",
        unsure_below=0.4,
    )
    loaded = Pipeline.loads(pipeline(ranker).dumps()).get_component("ranker")
    assert type(loaded) is EquipoiseRanker
    assert loaded.top_k == 3
    assert loaded.balancer.detector_name == "zero_shot:some/model"
    assert loaded.balancer.quota == Quota(pro=3, con=3, neutral=2, pool=30, depth=60)
    assert loaded.balancer.gate == Gate("always")
    assert loaded.balancer.duplicates is None
    assert loaded.balancer.on_error == "relevance"
    assert loaded.balancer.unsure_below == 0.4
    assert loaded.to_dict() == ranker.to_dict()


def test_saving_before_or_after_the_model_is_loaded_gives_the_same():
    ranker = EquipoiseRanker()
    before = ranker.to_dict()
    ranker.warm_up()
    assert ranker.to_dict() == before


def test_a_file_may_name_only_what_it_changes():
    data = {"type": EquipoiseRanker().to_dict()["type"], "init_parameters": {"quota": {"pro": 1}}}
    assert EquipoiseRanker.from_dict(data).balancer.quota == Quota(pro=1)


@pytest.mark.parametrize(
    "options",
    [
        {"balancer": Balancer()},
        {"detector": FakeDetector({})},
        {"gate": Gate("auto", sure=0.9)},
    ],
    ids=str,
)
def test_a_ranker_with_an_object_in_it_cannot_be_saved_and_says_so(options):
    with pytest.raises(InputError, match="must have names and numbers only"):
        EquipoiseRanker(**options).to_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_k": 0}, "k must be an int >= 1, got 0"),
        ({"quota": {"pros": 2}}, "quota must have keys of .*'depth'.*, got .*'pros'"),
        ({"quota": 5}, "quota must be a Quota"),
        ({"gate": "sometimes"}, "gate must be"),
        ({"unsure_below": 2}, "unsure_below"),
    ],
)
def test_an_option_that_does_not_hold_is_refused_when_it_is_given(options, message):
    with pytest.raises(InputError, match=message):
        EquipoiseRanker(**options)


class Slow(FakeDetector):
    """Counts how often it is warmed up; fails where it is told to."""

    fails = False
    warmed = 0

    def warm_up(self):
        self.warmed += 1
        if self.fails:
            raise DetectorError("no such file")


def test_warm_up_loads_the_model_once():
    ranker = EquipoiseRanker()
    ranker.warm_up()
    detector = ranker.balancer.detector
    ranker.warm_up()
    assert ranker.balancer.detector is detector
    pair_model = detector._loaded()
    ranker.warm_up()
    assert detector._loaded() is pair_model


def test_warm_up_asks_the_detector_and_needs_none_that_can_be_asked():
    slow = Slow({}, default="pro")
    EquipoiseRanker(detector=slow).warm_up()
    assert slow.warmed == 1
    EquipoiseRanker(detector=FailingDetector()).warm_up()


def test_a_model_that_cannot_be_loaded_stops_warm_up_unless_relevance_was_chosen():
    slow = Slow({}, default="pro")
    slow.fails = True
    with pytest.raises(DetectorError, match="no such file"):
        EquipoiseRanker(detector=slow).warm_up()
    EquipoiseRanker(detector=slow, on_error="relevance").warm_up()


def test_a_document_without_text_takes_no_seat():
    given = [Document(id="table", content=None, meta={"x": 1}), *documents()]
    chosen = EquipoiseRanker(99, balancer=balancer()).run(QUESTION, given)["documents"]
    assert [document.id for document in chosen] == [document.id for document in documents()]


class KeepsUneven:
    """A filter that flags documents by their embedding."""

    name = "keeps-uneven"

    def flag(self, question, candidates):
        places = range(len(candidates))
        return frozenset(i for i in places if candidates[i].embedding[0] % 2 == 0)


def test_a_filter_reads_the_embeddings():
    given = [
        Document(id=f"id-{place}", content=text, embedding=[float(place)])
        for place, text in enumerate(texts(), start=1)
    ]
    ranker = EquipoiseRanker(balancer=balancer(filter=KeepsUneven()))
    chosen = ranker.run(QUESTION, given)["documents"]
    assert [document.id for document in chosen] == ["id-1", "id-3", "id-5", "id-7"]


def test_the_example_of_the_ranker_holds():
    # Not among the modules that tests/core walks: those are of the package equipoise alone.
    from haystack_integrations.components.rankers.equipoise import ranker

    assert doctest.testmod(ranker) == doctest.TestResults(failed=0, attempted=5)
