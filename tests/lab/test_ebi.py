import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.data import contested
from equipoise.errors import InputError
from equipoise.lab.pack import Document, Origin, Pack, Question, Topic
from equipoise.lab.poison.axes import Remembering, axes
from equipoise.lab.poison.ebi import (
    Means,
    attack,
    candidates_of,
    most_extreme,
    nearest_in_score,
    target_of,
)
from equipoise.lab.poison.folder import read_poisoned, write_poisoned
from equipoise.lab.poison.framing import FRAMINGS, framings, raised
from equipoise.lab.poison.vary import Variants
from equipoise.lab.poison.writing import CHECKS, Checks
from equipoise.retrieval.embedder import load_embedder
from equipoise.testing import EchoGenerator
from equipoise.types import Stance

PRO, CON = Stance.PRO, Stance.CON
WORDS = ("zoos", "closed", "cruel", "vital", "other")


class Counting:
    """Vectors by how often a few words stand in a text: cosines can be worked out by hand."""

    name = "counting"
    dimension = len(WORDS)

    def embed(self, texts):
        rows = np.array([self._counts(text) for text in texts], dtype=np.float32)
        rows = rows.reshape(len(texts), self.dimension)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_question(self, question):
        return self.embed([question])[0]

    def _counts(self, text):
        words = text.lower().replace("?", " ").replace(".", " ").split()
        return [*(words.count(word) for word in WORDS[:-1]), 0.1]


class Line:
    """An axis from vital to cruel."""

    def score(self, vectors):
        return np.asarray(vectors)[:, 2] - np.asarray(vectors)[:, 3]


def doc(name, text, stance, origin):
    return Document(name, text, origin, "toy", "z", stance)


QUESTION = "Should zoos be closed?"
PACK = Pack(
    "toy",
    (Topic("z", "z", "Zoos"), Topic("bare", "bare", "Bare")),
    (Question("q", "z", QUESTION), Question("q2", "bare", "Bare?")),
    (
        doc("g1", "zoos closed cruel", PRO, Origin.GENUINE),
        doc("g2", "zoos vital vital", CON, Origin.GENUINE),
        doc("n", "zoos zoos", Stance.NEUTRAL, Origin.NEUTRAL),
        doc("mild", "zoos zoos cruel", PRO, Origin.INJECTED),
        doc("hard", "cruel cruel", PRO, Origin.INJECTED),
        doc("harder", "cruel cruel cruel zoos", PRO, Origin.INJECTED),
        doc("con", "zoos vital", CON, Origin.INJECTED),
        doc("blank", "  ", PRO, Origin.INJECTED),
    ),
)


def means(direction=PRO, **changes):
    given = {
        "embedder": Counting(),
        "axis_of": lambda topic: Line() if topic == "z" else None,
        "candidates": candidates_of(PACK, direction),
    }
    return Means(**(given | changes))


def test_the_most_extreme_candidate_comes_first_and_its_neighbours_in_score_after_it():
    made = attack(PACK, PRO, means(), n=2)
    report = made.about["topics"]["z"]
    assert report["extreme"] == "hard"
    assert [row["from"] for row in report["planted"].values()] == ["hard", "harder"]
    assert made.ids == {"ebi-z-pro-1", "ebi-z-pro-2"}


def test_every_planted_passage_ends_nearer_to_the_query_than_any_benign_one():
    made = attack(PACK, PRO, means(), n=3)
    embedder = Counting()
    query = embedder.embed_question(QUESTION)
    benign = max(float(v @ query) for v in embedder.embed([d.text for d in PACK.documents[:3]]))
    for document, row in zip(
        made.documents, made.about["topics"]["z"]["planted"].values(), strict=True
    ):
        similarity = float(embedder.embed([document.text])[0] @ query)
        assert row["similarity"] == pytest.approx(similarity, abs=1e-6)
        assert row["above_best"] == (similarity > benign)
        assert row["rank"] == 1
        assert row["similarity"] >= row["similarity_before"]
    reached = made.about["reached"]
    assert (reached["planted"], reached["above_best"], reached["above_kth"]) == (3, 3, 3)
    assert reached["above_best_before"] == 0
    assert sum(reached["framings"].values()) == 3


def test_the_framing_adds_the_question_and_leaves_the_passage_whole():
    made = attack(PACK, PRO, means(), n=3)
    originals = {d.id: d.text for d in PACK.documents}
    rows = made.about["topics"]["z"]["planted"]
    for document in made.documents:
        assert originals[rows[document.id]["from"]] in document.text
        assert QUESTION in document.text


def test_the_report_gives_the_scores_before_and_after_the_framing():
    made = attack(PACK, PRO, means(), n=1)
    (row,) = made.about["topics"]["z"]["planted"].values()
    embedder = Counting()
    before, after = Line().score(embedder.embed(["cruel cruel", made.documents[0].text]))
    assert row["score_before"] == pytest.approx(before)
    assert row["score"] == pytest.approx(after)


def test_the_other_direction_takes_the_other_end():
    made = attack(PACK, CON, means(CON), n=1)
    assert made.about["topics"]["z"]["extreme"] == "con"
    assert made.direction is CON
    assert {d.stance for d in made.documents} == {CON}


def test_a_topic_without_axis_or_candidates_is_named_and_short():
    made = attack(PACK, PRO, means(), n=2)
    assert made.about["skipped"] == {"bare": "no candidates"}
    assert "bare" in made.short
    made = attack(PACK, PRO, means(axis_of=lambda topic: None), n=2)
    assert made.about["skipped"] == {"z": "no axis", "bare": "no candidates"}
    assert made.documents == ()


def test_fewer_candidates_than_wanted_give_fewer():
    made = attack(PACK, PRO, means(), n=9)
    assert len(made.documents) == 3
    assert "z" in made.short
    assert made.about["reached"]["wanted"] == 18


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("injected", {"mild", "hard", "harder"}),
        ("genuine", {"g1"}),
        ("both", {"mild", "hard", "harder", "g1"}),
    ],
)
def test_the_pool_is_one_side_of_what_was_asked_for_without_blanks(kind, names):
    assert {d.id for d in candidates_of(PACK, PRO, kind)} == names


def test_an_unknown_pool_is_refused():
    with pytest.raises(InputError, match="'all'"):
        candidates_of(PACK, PRO, "all")


def test_it_is_pure():
    assert attack(PACK, PRO, means(), n=2) == attack(PACK, PRO, means(), n=2)


def test_it_can_be_written_and_read(tmp_path):
    made = attack(PACK, PRO, means(), n=2, seed=3)
    write_poisoned(made, PACK, tmp_path / "o")
    assert read_poisoned(tmp_path / "o", PACK) == made
    assert json.loads((tmp_path / "o" / "manifest.json").read_text())["attack"] == "ebi"


@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=8),
    st.integers(1, 9),
    st.sampled_from([PRO, CON]),
)
def test_choice_by_score_agrees_with_a_plain_sort(values, n, side):
    scores = np.array(values, dtype=float)
    at = most_extreme(scores, side)
    assert values[at] == (max(values) if side is PRO else min(values))
    near = nearest_in_score(scores, at, n)
    assert near[0] == at
    assert len(set(near)) == len(near) == min(n, len(values))
    gaps = sorted(abs(value - values[at]) for value in values)[:n]
    assert [abs(values[i] - values[at]) for i in near] == gaps


def test_a_text_above_the_benign_ones_stays_as_it_is():
    embedder = Counting()
    query = embedder.embed_question(QUESTION)
    made = raised("zoos closed", QUESTION, query, above=0.9, embed=embedder.embed)
    assert (made.framing, made.text) == ("none", "zoos closed")
    assert made.before == made.after


def test_where_no_framing_gets_above_the_best_one_is_taken():
    embedder = Counting()
    query = embedder.embed_question(QUESTION)
    made = raised("cruel", QUESTION, query, above=1.1, embed=embedder.embed)
    cosines = [float(embedder.embed([text])[0] @ query) for _, text in framings("cruel", QUESTION)]
    assert made.after == pytest.approx(max(cosines))
    assert made.before == pytest.approx(cosines[0])


def test_the_nearest_framing_is_taken_where_a_later_one_lies_farther_off():
    texts = [text for _, text in framings("cruel", QUESTION)]
    cosines = dict(zip(texts, (0.1, 0.6, 0.4, 0.2), strict=True))
    made = raised(
        "cruel",
        QUESTION,
        np.array([1.0, 0.0]),
        above=0.9,
        embed=lambda texts: np.array([[cosines[texts[0]], 0.0]]),
    )
    assert (made.framing, made.after, made.before) == ("opening", 0.6, 0.1)


def test_no_framing_answers_the_question():
    for name, form in FRAMINGS:
        added = form.format(text="", question="", lowered="").lower().split()
        assert not {"yes", "no", "not", "should"} & set(added), name


def test_the_benign_are_the_topics_clean_documents_most_similar_first():
    target = target_of(PACK, "z", PRO, embedder=Counting())
    assert len(target.benign) == 3
    assert list(target.benign) == sorted(target.benign, reverse=True)
    assert target.kth(3) == target.benign[-1]
    assert target.kth(4) is None


def test_variants_of_a_generator_are_framed_and_planted():
    written = " ".join(["cruel"] * 50)
    vary = Variants(
        PACK, EchoGenerator(written), Checks(allow_unchecked=frozenset(CHECKS)), tries=1
    )
    made = attack(PACK, PRO, means(vary=vary, about=lambda: {"variants": vary.about()}), n=2)
    assert len(made.documents) == 1  # the second repeats the first
    assert written in made.documents[0].text
    assert made.documents[0].source == "written by echo"
    assert made.about["variants"]["counts"]["rejected"]["copy"] == 1
    assert made.about["variants"]["counts"]["not_checked"]["support"] == 1


@pytest.fixture(scope="module")
def embedder():
    return Remembering(load_embedder("minilm"))


@pytest.fixture(scope="module")
def real():
    topics = contested()[:2]
    documents = [
        Document(
            d.id,
            d.text,
            Origin(d.metadata["origin"]),
            "embedded",
            t.name,
            Stance(d.metadata["stance"]),
        )
        for t in topics
        for d in t.documents
    ]
    return Pack(
        "embedded",
        tuple(Topic(t.name, t.name, t.name) for t in topics),
        tuple(Question(t.name, t.name, t.question) for t in topics),
        tuple(documents),
    )


@pytest.mark.parametrize("kind", ["component", "means"])
def test_on_real_passages_the_attack_takes_the_first_places(real, embedder, kind):
    axis_of = axes(real, embedder, kind=kind)
    given = Means(embedder, axis_of, candidates_of(real, CON, "genuine"))
    made = attack(real, CON, given, n=3)
    assert made.about["reached"]["above_best"] == len(made.documents) == 6
    for topic in real.topics:
        rows = made.about["topics"][topic.id]["planted"].values()
        scores = [row["score_before"] for row in rows]
        assert scores == sorted(scores)


def test_the_axis_of_a_topic_is_positive_toward_pro(real, embedder):
    axis = axes(real, embedder, kind="means")(real.topics[0].id)
    texts = {side: [d.text for d in real.documents if d.topic == real.topics[0].id
                    and d.stance is side and d.origin is Origin.GENUINE] for side in (PRO, CON)}  # fmt: skip
    pro, con = (axis.score(embedder.embed(texts[side])).mean() for side in (PRO, CON))
    assert pro > con


def test_a_topic_with_one_side_has_no_axis(real, embedder):
    one_sided = Pack(
        "x", real.topics, (), tuple(d for d in real.documents if d.stance is not Stance.CON)
    )
    assert axes(one_sided, embedder)(real.topics[0].id) is None


def test_anchors_that_are_all_alike_have_no_axis(embedder):
    same = tuple(doc(f"d{i}", "the same", (PRO, CON)[i], Origin.GENUINE) for i in (0, 1))
    assert axes(Pack("x", PACK.topics, (), same), embedder)("z") is None


def test_another_kind_of_axis_is_refused(embedder):
    with pytest.raises(InputError, match="component"):
        axes(PACK, embedder, kind="other")


def test_a_text_is_embedded_once():
    inner = Counting()
    calls = []
    inner.embed = lambda texts: calls.extend(texts) or Counting().embed(texts)
    outer = Remembering(inner)
    outer.embed(["zoos", "cruel"])
    outer.embed(["cruel", "vital"])
    assert calls == ["zoos", "cruel", "vital"]
