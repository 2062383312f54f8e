"""A text that repeats the question is read as if it did not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import data
from equipoise.stance import ClassifierDetector, load_detector
from equipoise.stance.echo import without_echo

ZOOS = "Should zoos be banned?"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Should zoos be banned? They teach children.", "They teach children."),
        ("They teach children. Should zoos be banned?", "They teach children."),
        ("On the question: Should zoos be banned? They teach.", "They teach."),
        ("Should zoos be banned\nThey teach.", "They teach."),  # a headline
        ("Is it time to shut the zoos? They teach.", "They teach."),  # in other words, in front
        (
            "They teach. Is it time to shut the zoos? Yes.",
            "They teach. Is it time to shut the zoos? Yes.",
        ),
        (
            "They teach. Must we keep them? Can zoos ever be banned? No.",
            "They teach. Must we keep them? No.",
        ),
        ('"Should zoos be banned?" They teach.', "They teach."),
        (
            "It costs $7.25 to see the zoos. Should zoos be banned?",
            "It costs $7.25 to see the zoos.",
        ),
    ],
)
def test_a_restated_question_is_left_out(text, read):
    assert without_echo(ZOOS, text) == read


@pytest.mark.parametrize(
    "text",
    [
        "Zoos should be banned.",  # a statement
        "Why should zoos be banned? They teach.",  # asks for reasons: it may take a side
        "What if zoos were banned? Children would lose.",
        "They teach. Should we let children grow up without seeing an elephant? No.",
        "Should we let children grow up without that? They teach.",  # no word of the question
        "",
        "   \n",
        "Should zoos be banned?",  # nothing would be left
        "Should zoos be banned? Should we ban zoos?",
    ],
)
def test_all_else_is_read(text):
    assert without_echo(ZOOS, text) == text


def test_without_content_words_only_the_very_question_is_left_out():
    assert without_echo("Should we?", "Should we? No.") == "No."
    assert without_echo("Should we?", "Should they? No.") == "Should they? No."
    assert without_echo("Ist das gut?", "Ist das gut? Nein.") == "Nein."


def test_decimals_and_abbreviations_inside_a_word_do_not_end_a_sentence():
    text = "The minimum wage is $7.25 an hour. That is too little."
    assert without_echo("Should the federal minimum wage be raised?", text) == text


@given(st.text("ab?. \nSshouldz", max_size=80), st.text("zoos? ban", min_size=1, max_size=30))
def test_what_is_read_is_the_text_or_pieces_of_it_in_order(text, question):
    rest = iter(text)
    assert all(character in rest for character in without_echo(question, text))


@given(st.text(max_size=200))
def test_a_text_never_becomes_blank(text):
    assert bool(without_echo(ZOOS, text).strip()) == bool(text.strip())


def test_the_rule_is_part_of_the_name():
    assert "echo=v1" in ClassifierDetector("default").name


@pytest.mark.slow  # the bundled models read some passages
@pytest.mark.parametrize("name", ["default", "small"])
def test_the_question_in_front_or_behind_changes_no_label(name):
    detector = load_detector(name)
    for topic in data.contested()[:4]:
        texts = [doc.text for doc in topic.planted("con")[:2]]
        plain = detector.detect(topic.question, texts)
        other = topic.paraphrases[0]
        for frame in ("{q} {t}", "{t} {q}", "On the question: {q}\n{t}"):
            echoed = [frame.format(q=topic.question, t=text) for text in texts]
            assert detector.detect(topic.question, echoed) == plain
            assert detector.detect(other, texts) == detector.detect(
                other, [f"{other} {text}" for text in texts]
            )
