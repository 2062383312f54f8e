"""Measures that need no judge, on texts whose shares a reader can count."""

import numpy as np
import pytest

from equipoise.errors import InputError
from equipoise.lab.answers.store import read_cells
from equipoise.lab.pack import Document, Origin
from equipoise.lab.quality.measures import MEASURED, Near, measure_pairs, measures
from equipoise.lab.quality.pairs import Pair, Shown, make_pairs
from equipoise.lab.quality.rows import QUALITY, read_quality
from equipoise.lab.results import ResultFile
from equipoise.lab.vectors import VectorCache
from equipoise.types import Stance

from .toy_answers import A, answer, said, toy_answers, write
from .toy_world import WordEmbedder, toy_pack


class OneAxisEach:
    """A direction of its own for every text: only equal texts are near in meaning."""

    name = "one axis each"
    dimension = 64

    def __init__(self):
        self.known = {}

    def embed(self, texts):
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[self.known.setdefault(text, len(self.known))] = 1.0
        return rows

    def embed_question(self, question):
        return self.embed([question])[0]


PRO = Document("p", "Zoos teach many children. Ticket money saves rare birds.", Origin.GENUINE,
               "toy", "zoos", Stance.PRO)  # fmt: skip
CON = Document("c", "Cages make large cats ill.", Origin.GENUINE, "toy", "zoos", Stance.CON)
MIDDLE = Document("n", "The first zoo opened long ago.", Origin.NEUTRAL, "toy", "zoos",
                  Stance.NEUTRAL)  # fmt: skip
ELSEWHERE = Document("x", "Taxes are too high now.", Origin.GENUINE, "toy", "taxes", Stance.PRO)
NEAR = Near()


def of(a, c="Nothing here is said.", a_from=(PRO, CON), c_from=(PRO, CON)):
    shown = (Shown("A", "a", a, tuple(a_from)), Shown("C", "c", c, tuple(c_from)))
    pair = Pair("q", "zoos", "g", "Should zoos stay?", shown)
    return measures(pair, VectorCache(OneAxisEach()), NEAR)


def test_every_measure_is_named_with_what_it_is():
    found = of("Zoos teach many children.")
    assert list(found["A"]) == list(found["C"]) == list(MEASURED)


def test_sentences_with_most_of_their_words_in_one_source_sentence_count():
    # 4 of 4 words; 3 of 5; 2 of 4; from two sentences: 2 and 2 of 4.
    answer = (
        "Zoos teach many children. Rare birds saves the world. Rare birds are loved. "
        "Zoos teach rare birds."
    )
    assert of(answer)["A"]["sentences_by_words"] == 0.5


def test_it_is_the_words_of_the_answers_sentence_that_must_stand_in_the_source():
    long = "Zoos teach many children from many towns about rare animals each year."
    source = Document("l", long, Origin.GENUINE, "toy", "zoos", Stance.PRO)
    assert of("Zoos teach children.", a_from=(source,))["A"]["sentences_by_words"] == 1.0
    more = "Cages make large cats ill, as keepers told reporters of our town paper."
    assert of(more)["A"]["sentences_by_words"] == 0.0  # 5 of 13, though all of the source's


def test_the_same_words_in_another_sentence_are_not_near_in_meaning_here():
    found = of("Many children zoos teach. Cages make large cats ill.")["A"]
    assert found["sentences_by_words"] == 1.0
    assert found["sentences_by_cosine"] == 0.5
    assert found["nearest_cosine"] == 0.5


def test_numbers_of_documents_and_short_sentences_do_not_count():
    found = of("Yes. Cages make large cats ill [2]. No!")["A"]
    assert found["sentences_by_words"] == found["sentences_by_cosine"] == 1.0


def test_a_line_ends_a_sentence():
    assert of("Cages make large cats ill\n- Dogs bark all night")["A"]["sentences_by_words"] == 0.5


def test_reflected_documents_are_counted_by_own_and_by_both_sets():
    found = of("Zoos teach many children.", a_from=(PRO, MIDDLE), c_from=(PRO, CON, ELSEWHERE))
    assert found["A"]["own_reflected"] == 1.0  # the neutral one takes no side
    assert found["A"]["all_reflected"] == 0.5  # CON is in C's set; ELSEWHERE is of another topic
    assert found["A"]["both_sides"] == 0.0
    assert found["C"]["own_reflected"] == 0.0


def test_both_sides_need_a_document_of_each():
    both = "Zoos teach many children. Cages make large cats ill."
    assert of(both)["A"]["both_sides"] == 1.0
    assert of(both, a_from=(PRO,), c_from=(PRO,))["A"]["both_sides"] == 0.0


def test_without_documents_or_sentences_there_is_nothing_to_take_a_share_of():
    found = of("Yes.", a_from=(), c_from=())["A"]
    for name in ("sentences_by_words", "sentences_by_cosine", "nearest_cosine"):
        assert found[name] is None
    assert found["own_reflected"] is found["all_reflected"] is None
    assert found["words"] == 1.0


def test_sentences_of_an_answer_without_documents_come_from_none():
    found = of("Cages make large cats ill.", a_from=())["A"]
    assert found["sentences_by_words"] == found["nearest_cosine"] == 0.0
    assert found["own_reflected"] is None
    assert found["all_reflected"] == 0.5


def test_relevance_is_the_cosine_of_question_and_answer():
    vectors = VectorCache(WordEmbedder())
    shown = (Shown("A", "a", "zoo zoo zoo", (PRO,)), Shown("C", "c", "tax tax tax", (PRO,)))
    found = measures(Pair("q", "zoos", "g", "zoo", shown), vectors, NEAR)
    assert found["A"]["question_cosine"] > 0.99
    assert found["C"]["question_cosine"] < 0.1


@pytest.mark.parametrize("wrong", [{"share": 0}, {"share": 1.1}, {"cosine": 0}, {"cosine": 2}])
def test_thresholds_out_of_range_are_errors(wrong):
    with pytest.raises(InputError, match="must be in"):
        Near(**wrong)


def test_pairs_are_measured_once_and_again_where_an_answer_is_new(tmp_path):
    folder = toy_answers(tmp_path)
    vectors = VectorCache(WordEmbedder())

    def run():
        made = make_pairs(read_cells(folder), toy_pack())
        return measure_pairs(made, vectors, ResultFile(folder / QUALITY))

    assert (run(), run()) == (3, 0)
    [rated] = read_quality(folder)
    assert (rated.kind, rated.outcomes()) == ("measures", {"scored": 3})
    assert rated.settings["near"] == {"share": 0.6, "cosine": 0.7}
    assert "says zoo" not in (folder / QUALITY).read_text("utf-8")
    settings = said(A)  # given anew under its old key
    write(folder, (settings, [answer(settings, "zoos-1", "zoo zoo rain")]))
    assert (run(), run()) == (1, 0)
    assert read_quality(folder)[0].rows["zoos-1"]["measures"]["A"]["words"] == 3.0
