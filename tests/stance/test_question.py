import json
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.stance import canonical_question, clean_text
from equipoise.stance.question import clean_question, is_blank

SHARED = Path(__file__).resolve().parents[3] / "shared"

NEGATED = {
    "Should X not be legal?": "Should X be legal?",
    "Should abortion not be legal": "Should abortion be legal",
    "should the death penalty NOT be allowed?": "should the death penalty be allowed?",
    "Should vaccines not be mandatory for schoolchildren?": (
        "Should vaccines be mandatory for schoolchildren?"
    ),
    "Should we not eat meat?": "Should we eat meat?",
    "Should teachers not get tenure?": "Should teachers get tenure?",
    "Should governments not legalise drugs?": "Should governments legalise drugs?",
    "Should Mossad not carry out extrajudicial killings?": (
        "Should Mossad carry out extrajudicial killings?"
    ),
    "Should drugs not be illegal?": "Should drugs be illegal?",
    "Should people who lie not be punished?": "Should people who lie be punished?",
    "Should euthanasia or assisted suicide not be legal?": (
        "Should euthanasia or assisted suicide be legal?"
    ),
    "Must employers not be told about it?": "Must employers be told about it?",
    "Ought zoos not to be closed?": "Ought zoos to be closed?",
    "Should robots not frobnicate?": "Should robots frobnicate?",
    "Is nuclear power not safe?": "Is nuclear power safe?",
    "Is voting at 16 not a good idea?": "Is voting at 16 a good idea?",
    "Are zoos not cruel to animals?": "Are zoos cruel to animals?",
    "Is homework not needed?": "Is homework needed?",
    "Do zoos not harm animals?": "Do zoos harm animals?",
    "Does the death penalty not deter crime?": "Does the death penalty deter crime?",
    "Can machines not be trusted?": "Can machines be trusted?",
    "Will robots not take our jobs?": "Will robots take our jobs?",
    "Has globalization not helped the poor?": "Has globalization helped the poor?",
    "X should not be legal": "X should be legal",
    "X should not be legal.": "X should be legal.",
    "X shouldn't be legal": "X should be legal",
    "Google shouldn\u2019t censor its search results": "Google should censor its search results",
    "Poetry should not be taught in schools": "Poetry should be taught in schools",
    "Turkey is not a democracy": "Turkey is a democracy",
    "Religion isn't necessary": "Religion is necessary",
    "CO2 Does Not Cause Global Warming": "CO2 Does Cause Global Warming",
    "Homework doesn't help pupils": "Homework does help pupils",
    "We cannot afford a basic income": "We can afford a basic income",
    "We can't afford it": "We can afford it",
    "Gender equality will not come soon": "Gender equality will come soon",
    "Gender equality won't come soon": "Gender equality will come soon",
    "It is not wrong to eat meat": "It is wrong to eat meat",
    "Religions should not qualify as charities": "Religions should qualify as charities",
    "Is it true that X should not be legal?": "Is it true that X should be legal?",
    "Is it true that Turkey is not a democracy?": "Is it true that Turkey is a democracy?",
    "Do you think X should not be legal?": "Do you think X should be legal?",
    "This house believes that states should not subsidize tobacco": (
        "This house believes that states should subsidize tobacco"
    ),
    "  Should \u200bX\u00a0not\tbe   legal?  ": "Should X be legal?",
}

LEFT_ALONE = [
    "Should X be legal?",
    "Shouldn't X be legal?",
    "And shouldn't X be legal?",
    "In your view, shouldn't X be legal?",
    "Should not X be legal?",
    "Should we not only ban X but tax it?",
    "Should we not just talk about it?",
    "Should X be legal or not?",
    "Should X be legal, or should it not be?",
    "Should X be legal or Y not be banned?",
    "Should we decide whether or not to ban X?",
    "Should not-for-profit hospitals pay tax?",
    "Should a not-for-profit hospital pay tax?",
    "Should forget-me-nots be planted?",
    "Is voting a privilege, not a right?",
    "Is voting a privilege and not a right?",
    "Are drugs not safe for children banned?",
    "Are pupils not fluent excused?",
    "Was milk from cows not given hormones better?",
    "Is X not only cheap?",
    "Do we not owe it to them?",
    "Has it not been shown?",
    "Has the man not in office left?",
    "Is it not time to ban X?",
    "Aren't zoos cruel?",
    "Why should X not be legal?",
    "Who should not vote?",
    "Should people who are not citizens vote?",
    "Should children not vaccinated attend school?",
    "Should pupils not fluent in English take the test?",
    "Should drugs not on the list be banned?",
    "Should people not keen on sport pay for it?",
    "People who do not vote lose their say",
    "Should we allow parents to not vaccinate?",
    "Should parents choose not to vaccinate?",
    "Should X not be legal if it harms others?",
    "Should we agree that X should not be legal?",
    "Should nobody be forced to not smoke?",
    'Should the flag "do not tread on me" be banned?',
    "The flag 'do not tread on me' is racist",
    "X should be legal, not banned",
    "Not all drugs should be legal",
    "X is not always good",
    "X should not be legal because it harms",
    "Children should not inherit wealth as this harms them",
    "X is cheap and is not safe",
    "Voting may not matter",
    "Homework need not be long",
    "X should not be legal, should it?",
    "People who are not citizens should vote",
    "No animal should be in a zoo",
    "X should never be legal",
    "X should not be legal. Y should.",
    "Do not ban X",
    "Not",
    "not X",
    "Should not",
    "Should X not",
    "X should not",
    "Geen kernenergie?",
    "Sollte X nicht legal sein?",
]


@pytest.mark.parametrize(("text", "positive"), NEGATED.items())
def test_a_plain_negation_is_taken_out(text: str, positive: str) -> None:
    assert canonical_question(text) == (positive, True)


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_anything_less_plain_is_left_as_it_is(text: str) -> None:
    assert canonical_question(text) == (text, False)


@pytest.mark.parametrize("positive", NEGATED.values())
def test_the_positive_form_is_stable(positive: str) -> None:
    assert canonical_question(positive) == (positive, False)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data beside this checkout")
def test_most_real_should_questions_negate_to_themselves() -> None:
    """`Should S be P?` -> `Should S not be P?` -> back, on every such question of a real set."""
    questions: set[str] = set()
    for name in ("ukp_room_for_debate", "perspectrum", "ibm_wiki_passages"):
        lines = (SHARED / f"data/stance/{name}.jsonl").read_text("utf-8").splitlines()
        questions |= {clean_question(json.loads(line)["question"]) for line in lines}
    tried = [q for q in questions if q.startswith("Should ") and " be " in q and " not " not in q]
    tried = [q for q in tried if "who" not in q and "that" not in q and "when" not in q]
    back = sum(canonical_question(q.replace(" be ", " not be ", 1)) == (q, True) for q in tried)
    assert len(tried) > 60
    assert back / len(tried) > 0.85


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\ud800\x00"])
def test_a_question_must_show_something(text: str) -> None:
    with pytest.raises(InputError, match="a question must have text"):
        canonical_question(text)


def test_a_question_must_be_a_str() -> None:
    with pytest.raises(InputError, match="got NoneType"):
        canonical_question(None)  # type: ignore[arg-type]


def test_a_question_is_read_in_nfkc_with_single_spaces() -> None:
    assert clean_question("\uff33hould\u3000\ufb01rearms\n be e\u0301gal ?") == (
        "Should firearms be \xe9gal ?"
    )


DRAWN = {
    *range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD,
    *range(0x13430, 0x13440), *range(0x1BCA0, 0x1BCA4),
}  # fmt: skip
JOINERS = {0x200C, 0x200D}


def test_every_format_character_without_width_is_taken_out_of_latin_text() -> None:
    for code in range(sys.maxunicode + 1):
        sign = chr(code)
        if unicodedata.category(sign) == "Cf":
            kept = f"nu{sign}clear" if code in DRAWN else "nuclear"
            assert clean_text(f"nu{sign}clear") == kept, f"U+{code:04X}"


UNSEEN = [chr(code) for code in (0, 0xD800, 0xDFFF, 0xFE0F, 0x034F)]


@pytest.mark.parametrize("sign", UNSEEN)
def test_nul_lone_surrogates_and_selectors_are_taken_out(sign: str) -> None:
    assert clean_text(f"nu{sign}clear\xe9") == "nuclear\xe9"


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f469\u200d\U0001f4bb",
        "\u0915\u094d\u200d\u0937",
    ],
)
def test_joiners_stay_where_a_script_needs_them(text: str) -> None:
    assert clean_text(text) == text


def test_joiners_at_an_edge_are_noise() -> None:
    assert clean_text("\u200d\u0915\u200c a\u200db\u200c") == "\u0915 ab"


def test_white_space_and_other_signs_are_kept() -> None:
    text = "a\n\tb  c\u00a0d \u202f caf\xe9 \u5f20 \U0001f600"
    assert clean_text(text) == text


@given(st.text())
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    once = clean_text(text)
    assert clean_text(once) == once
    once.encode("utf-8")
    assert is_blank(text) == (not once.strip())
