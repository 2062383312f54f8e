"""Retry policy, reading of texts, hiding of secrets, and generators by name."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import GenerationError, InputError
from equipoise.generation import RemoteGenerator, Retry, declines, load_generator
from equipoise.generation.base import checked_prompt, read_text, redacted
from equipoise.settings import Settings
from equipoise.types import Outcome

from .conftest import KEY, ChatServer


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m sorry, but I can\u2019t assist with that request.",
        "I cannot answer this question.",
        "I can't answer that because the documents do not address it.",
        "Sorry, I am unable to help you with this topic",
        "As an AI language model, I cannot engage with this topic.",
        "Unfortunately, I am not able to comply with your request.",
        "I must decline to answer.",
        "I apologize, but I won't discuss this topic. Is there anything else?",
        "**I can't help with this.**",
    ],
)
def test_plain_refusals_are_recognised(text: str) -> None:
    assert declines(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot say that the evidence favours either side.",
        "I can't help but notice that both sides cite the same study.",
        "I cannot answer with certainty, but the documents lean toward yes.",
        "I am sorry to say that the costs are higher than the gains.",
        "The council said: I can't help with that.",
        "Critics say they cannot comply with the rule.",
        "I can do that: the answer is yes.",
        "I will not discuss the cost, which document 2 covers; the benefits are clear.",
        "Unfortunately, the policy does not help.",
        "I cannot assist with the claim in document 3, which is contradicted by document 1.",
        "I can't answer this question. " + "But here is what the documents say. " * 10,
    ],
)
def test_answers_are_not_taken_for_refusals(text: str) -> None:
    assert not declines(text)


@given(st.text(max_size=200))
def test_reading_a_text_gives_one_of_three_outcomes(text: str) -> None:
    outcome, detail = read_text(text, read_refusals=True)
    assert outcome in (Outcome.EMPTY, Outcome.ANSWERED, Outcome.REFUSED)
    assert (outcome is Outcome.EMPTY) == (not text.strip())
    assert (outcome is Outcome.ANSWERED) == (not detail)


def test_waits_grow_up_to_their_limit() -> None:
    retry = Retry(attempts=9, first_wait_s=0.5, factor=3.0, max_wait_s=5.0)
    assert [retry.wait_s(n) for n in (1, 2, 3, 4)] == [0.5, 1.5, 4.5, 5.0]
    assert [Retry().wait_s(n) for n in (1, 2, 6, 9)] == [1.0, 2.0, 30.0, 30.0]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"attempts": 0}, "attempts"),
        ({"attempts": 1.5}, "attempts"),
        ({"attempts": True}, "attempts"),
        ({"first_wait_s": -1}, "first_wait_s"),
        ({"factor": 0.5}, "factor"),
        ({"max_wait_s": float("inf")}, "max_wait_s"),
        ({"max_wait_s": float("nan")}, "max_wait_s"),
    ],
)
def test_retry_refuses_what_makes_no_sense(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=f"Retry.{named}"):
        Retry(**options)


@pytest.mark.parametrize(
    "text",
    [
        f"cannot use {KEY}",
        f"Authorization: Bearer {KEY}",
        f'{{"api_key": "{KEY}"}}',
        f"Incorrect API key provided: {KEY}.",
        f"https://user:{KEY}@host/v1 is down",
        "x" * 290 + KEY,
        f"line one\n{KEY}\nline three",
    ],
)
def test_keys_are_hidden_with_and_without_being_known(text: str) -> None:
    for shown in (redacted(text, [KEY]), redacted(text)):
        assert KEY not in shown
        assert "SECRET" not in shown
        assert len(shown) <= 300
        assert "\n" not in shown


def test_key_of_no_known_shape_is_hidden_when_it_is_known() -> None:
    assert redacted("the word is tulip", ["tulip"]) == "the word is [hidden]"
    assert redacted("all is well", ["", "absent"]) == "all is well"


def test_prompt_keeps_its_text_and_loses_lone_surrogates() -> None:
    assert checked_prompt("a\udc00b \U0001f600\n") == "a\ufffdb \U0001f600\n"
    assert checked_prompt("\ud83d\ude00") == "\U0001f600"


def test_generator_by_name_follows_the_settings(server: ChatServer) -> None:
    settings = Settings(model="openai:toy", base_url=server.url, max_tokens=9, timeout_s=5)
    with load_generator(settings=settings) as generator:
        assert isinstance(generator, RemoteGenerator)
        assert generator.generate("Q").outcome is Outcome.ANSWERED
    assert server.requests[0]["body"]["max_tokens"] == 9


def test_spec_beats_the_model_of_the_settings(server: ChatServer) -> None:
    settings = Settings(model="local", base_url=server.url)
    with load_generator("openai:other", settings=settings) as generator:
        assert generator.model == "openai:other"


def test_key_comes_from_the_named_variable(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(model="openai:toy", base_url=server.url, api_key_env="MY_GATEWAY_KEY")
    with pytest.raises(GenerationError, match="'MY_GATEWAY_KEY'.*is not set"):
        load_generator(settings=settings)
    monkeypatch.setenv("MY_GATEWAY_KEY", KEY)
    with load_generator(settings=settings) as generator:
        generator.generate("Q")
    assert server.requests[0]["headers"]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("spec", ["local", "smollm2"])
def test_embedded_model_that_is_not_there_says_how_to_get_it(tmp_path: Path, spec: str) -> None:
    with pytest.raises(GenerationError, match="equipoise models pull smollm2"):
        load_generator(spec, settings=Settings(cache_dir=tmp_path))


def test_unknown_generator_is_refused() -> None:
    with pytest.raises(InputError, match="vendor:model"):
        load_generator("gpt", settings=Settings())


def test_package_loads_no_vendor_library_by_itself() -> None:
    code = (
        "import sys, equipoise.generation, equipoise.prompt, equipoise.generation.models\n"
        "heavy = {'pydantic_ai', 'openai', 'httpx', 'xllamacpp', 'numpy', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
