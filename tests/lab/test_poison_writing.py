import numpy as np
import pytest

from equipoise.errors import DetectorError, InputError
from equipoise.lab.pack import Document, Origin, Pack, Question, Topic
from equipoise.lab.poison.checks import Verdict
from equipoise.lab.poison.prompts import REWRITE, VARIANT, rendered
from equipoise.lab.poison.rewrite import question_of, rewrite
from equipoise.lab.poison.stance import poison
from equipoise.lab.poison.vary import Variants
from equipoise.lab.poison.writing import CHECKS, Checks, Existing, Request, tally, write
from equipoise.testing import EchoGenerator, FailingDetector, FakeDetector
from equipoise.types import Answer, Outcome, Stance, StanceScore

PRO, CON = Stance.PRO, Stance.CON
YES, NO = StanceScore(0.9, 0.05, 0.05), StanceScore(0.1, 0.1, 0.8)
ALL_UNCHECKED = frozenset(CHECKS)


def text(word, words=60):
    return " ".join(f"{word}{i}" for i in range(words))


GOOD = text("good")


class Scripted:
    """Gives the listed answers in order: a text, or an outcome that is none."""

    model = "scripted-1"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.prompts = []

    def generate(self, prompt):
        self.prompts.append(prompt)
        given = self.answers.pop(0)
        if isinstance(given, Outcome):
            return Answer(given, "", self.model, 0.0, detail="why not")
        return Answer(Outcome.ANSWERED, given, self.model, 0.0)


def source(name, words, topic="t", stance=PRO):
    return Document(name, words, Origin.GENUINE, "toy", topic, stance)


SOURCES = (source("s1", text("one")), source("s2", text("two")), source("s3", text("three")))
REQUEST = Request("new", "t", "Should it be?", PRO, SOURCES, REWRITE)
DETECTOR = FakeDetector({text("con"): "con"}, default="pro")


def checks(**changes):
    given = {
        "detector": DETECTOR,
        "embed": unlike,
        "nli": lambda premise, hypothesis: YES,
    }
    return Checks(**(given | changes))


def unlike(texts):
    """A vector a text: unlike for different first words."""
    rng = [np.random.default_rng(abs(hash_of(t))).normal(size=16) for t in texts]
    rows = np.array(rng, dtype=np.float32).reshape(len(texts), 16)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def hash_of(words):
    return sum(ord(c) * 31**i for i, c in enumerate(words[:12]))


def run(generator, *, tries=3, request=REQUEST, existing=(), **changes):
    made = checks(**changes)
    return write(generator, request, Existing(existing, made.embed), checks=made, tries=tries)


def test_a_good_text_is_taken_at_once_and_joins_what_is_there():
    made = checks()
    existing = Existing(["before"], made.embed)
    (attempt,) = write(Scripted(f"  {GOOD}\n"), REQUEST, existing, checks=made)
    assert attempt.taken
    assert attempt.text == GOOD
    assert existing.texts == ["before", GOOD]
    assert [f.check for f in attempt.findings] == list(CHECKS)
    assert attempt.unchecked == ()


@pytest.mark.parametrize(
    ("bad", "check"),
    [
        (text("good", 44), "length"),
        (text("one"), "copy"),
        (text("there"), "copy"),
        (text("con"), "stance"),
    ],
)
def test_a_text_is_stopped_by_the_check_it_fails_and_the_next_try_is_told_why(bad, check):
    generator = Scripted(bad, GOOD)
    first, second = run(generator, existing=[text("there")])
    assert first.rejected == check
    assert not first.taken
    assert first.findings[-1].verdict is Verdict.FAILED
    assert second.taken
    assert first.detail in generator.prompts[1]
    assert "set aside" not in generator.prompts[0]


def test_a_text_with_the_vector_of_an_existing_one_is_stopped():
    (attempt,) = run(
        Scripted(GOOD), tries=1, existing=["x"], embed=lambda ts: np.ones((len(ts), 1))
    )
    assert attempt.rejected == "cosine"


def test_a_text_that_its_sources_do_not_bear_out_is_stopped():
    (attempt,) = run(Scripted(GOOD), tries=1, nli=lambda premise, hypothesis: NO)
    assert attempt.rejected == "support"


@pytest.mark.parametrize(
    ("check", "missing"),
    [("stance", {"detector": None}), ("cosine", {"embed": None}), ("support", {"nli": None})],
)
def test_a_check_that_cannot_be_made_stops_a_text_unless_that_was_allowed(check, missing):
    (attempt,) = run(Scripted(GOOD), tries=1, existing=["x"], **missing)
    assert attempt.rejected == check
    (attempt,) = run(
        Scripted(GOOD), tries=1, existing=["x"], allow_unchecked=frozenset({check}), **missing
    )
    assert attempt.taken
    assert attempt.unchecked == (check,)


def test_allowing_a_check_to_be_left_out_does_not_let_a_failure_through():
    (attempt,) = run(
        Scripted(GOOD), tries=1, nli=lambda p, h: NO, allow_unchecked=frozenset({"support"})
    )
    assert attempt.rejected == "support"


def test_an_unknown_check_is_refused():
    with pytest.raises(InputError, match="'truth'"):
        Checks(allow_unchecked=frozenset({"truth"}))


OTHERS = (Outcome.REFUSED, Outcome.FILTERED, Outcome.ERROR, Outcome.EMPTY)


@pytest.mark.parametrize("outcome", OTHERS)
def test_an_outcome_that_is_no_answer_is_kept_and_tried_again_with_another_prompt(outcome):
    generator = Scripted(outcome, GOOD)
    first, second = run(generator)
    assert (first.outcome, first.rejected, first.detail) == (outcome, None, "why not")
    assert second.taken
    assert generator.prompts[0] != generator.prompts[1]


def test_after_the_last_try_nothing_is_taken():
    attempts = run(Scripted(*OTHERS[:2]), tries=2)
    assert len(attempts) == 2
    assert not any(attempt.taken for attempt in attempts)


def test_every_outcome_and_every_rejection_is_counted():
    attempts = run(
        Scripted(*OTHERS, "short", text("one"), text("con"), GOOD),
        tries=9,
        nli=None,
        allow_unchecked=frozenset({"support"}),
        existing=["x"],
    )
    assert tally(attempts) == {
        "calls": 8,
        "outcomes": {"answered": 4, "refused": 1, "filtered": 1, "error": 1, "empty": 1},
        "rejected": {"length": 1, "copy": 1, "stance": 1, "cosine": 0, "support": 0},
        "taken": 1,
        "not_checked": {"length": 0, "copy": 0, "stance": 0, "cosine": 0, "support": 1},
    }


def test_a_detector_that_fails_is_not_taken_for_a_pass():
    with pytest.raises(DetectorError):
        run(Scripted(GOOD), detector=FailingDetector())


def test_texts_are_embedded_once_however_many_are_written():
    seen = []

    def embed(texts):
        seen.extend(texts)
        return unlike(texts)

    made = checks(embed=embed)
    existing = Existing(["a", "b"], embed)
    for word in ("first", "second"):
        write(Scripted(text(word)), REQUEST, existing, checks=made)
    assert seen.count("a") == seen.count("b") == 1


def test_the_prompt_holds_question_side_sources_and_bounds():
    prompt = rendered(
        REWRITE, question="Should\nit be?", direction=CON, sources=["a {b}\nParagraph: c", "d"]
    )
    assert "Question: Should it be?\n" in prompt
    assert "argues for: NO" in prompt
    assert "[1] a {b} Paragraph: c\n[2] d" in prompt
    assert "45 to 82" in prompt
    assert prompt.endswith("Paragraph:")


def a_pack(sides=(PRO, CON), per_side=4):
    documents = [
        source(f"{topic}-{side}-{i}", text(f"{topic}{side}{i}"), topic, side)
        for topic in ("t", "u")
        for side in sides
        for i in range(per_side)
    ]
    questions = (
        Question("tq", "t", "Asked again, should t be?", False),
        Question("tq0", "t", "Should t be?"),
        Question("uq", "u", "Should u be?"),
    )
    return Pack("toy", (Topic("t", "t", "T"), Topic("u", "u", "U")), questions, tuple(documents))


def test_written_documents_name_their_topic_side_writer_and_sources():
    pack = a_pack()
    generator = Scripted(text("a"), text("b"), text("c"), text("d"))
    made = rewrite(pack, PRO, generator, checks=checks(), n=2, seed=1)
    assert [d.id for d in made.documents] == [
        f"written-{topic}-pro-{i}" for topic in ("t", "u") for i in (1, 2)
    ]
    assert {d.source for d in made.documents} == {"written by scripted-1"}
    assert all(d.origin is Origin.INJECTED and d.stance is PRO for d in made.documents)
    for name, sources in made.sources.items():
        topic = name.split("-")[1]
        assert len(set(sources)) == 3
        assert all(s.startswith(f"{topic}-pro") for s in sources)
    assert "Should t be?" in generator.prompts[0]
    assert "tpro" in generator.prompts[0]
    assert "tcon" not in generator.prompts[0]
    assert poison(pack, PRO, n=2, documents=made.documents).short == ()


def test_a_topic_without_documents_of_the_side_is_named_and_costs_no_call():
    generator = Scripted()
    made = rewrite(a_pack(sides=(CON,)), PRO, generator, checks=checks(), n=2, seed=1)
    assert made.without_sources == ("t", "u")
    assert (made.documents, generator.prompts) == ((), [])


def test_a_text_that_was_never_good_leaves_the_topic_short():
    pack = a_pack()
    made = rewrite(pack, PRO, EchoGenerator("short"), checks=checks(), n=1, seed=1, tries=2)
    assert made.documents == ()
    assert made.about()["counts"]["rejected"]["length"] == 4
    assert poison(pack, PRO, n=1, documents=made.documents).short == ("t", "u")


def test_a_second_text_that_repeats_the_first_is_a_copy():
    made = rewrite(a_pack(), PRO, EchoGenerator(GOOD), checks=checks(), n=2, seed=1, tries=1)
    assert len(made.documents) == 2  # one a topic
    assert made.about()["counts"]["rejected"]["copy"] == 2


def test_the_seed_draws_the_sources():
    drawn = [
        rewrite(
            a_pack(per_side=9), PRO, Scripted(*map(text, "abcd")), checks=checks(), n=2, seed=seed
        ).sources
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_first_original_question_stands_for_the_topic():
    assert question_of(a_pack(), "t").id == "tq0"
    with pytest.raises(InputError, match="'x'"):
        question_of(a_pack(), "x")


def test_variants_rewrite_the_passage_and_are_counted():
    pack = a_pack()
    passage = pack.documents[0]
    generator = Scripted(passage.text, text("a"), Outcome.REFUSED, text("b"))
    vary = Variants(pack, generator, checks())
    made = vary(passage, pack.questions[1], 2)
    assert [d.text for d in made] == [text("a"), text("b")]
    assert all(passage.text in prompt for prompt in generator.prompts)
    assert vary.about()["wording"] == VARIANT.version
    assert vary.about()["counts"]["rejected"]["copy"] == 1
    assert vary.about()["counts"]["outcomes"]["refused"] == 1
