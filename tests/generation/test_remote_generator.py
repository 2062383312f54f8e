"""The generator behind an API, over a real loopback server."""

import asyncio
import gc
import importlib.util
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from equipoise.errors import GenerationError, InputError, MissingExtraError
from equipoise.generation import RemoteGenerator, Retry
from equipoise.types import Answer, Generator, Outcome

from .conftest import KEY, ChatServer, Reply, chat, failed

pytest.importorskip("pydantic_ai.models.openai")

AT_ONCE = Retry(attempts=3, first_wait_s=0.0)


@pytest.fixture
def make(server: ChatServer, request: pytest.FixtureRequest) -> Callable[..., RemoteGenerator]:
    """Makes generators that ask the loopback server, and closes them."""

    def made(model: str = "openai:toy", **options: Any) -> RemoteGenerator:
        options = {"base_url": server.url, "api_key": KEY, "retry": AT_ONCE, **options}
        generator = RemoteGenerator(model, **options)
        request.addfinalizer(generator.close)
        return generator

    return made


Make = Callable[..., RemoteGenerator]


def test_good_answer_comes_back_with_its_tokens(server: ChatServer, make: Make) -> None:
    generator = make(max_tokens=77, temperature=0.25, seed=5)
    answer = generator.generate("What now?")
    assert isinstance(generator, Generator)
    assert answer.outcome is Outcome.ANSWERED
    assert (answer.text, answer.model, answer.detail) == ("An answer.", "openai:toy", "")
    assert (answer.attempts, answer.input_tokens, answer.output_tokens) == (1, 12, 3)
    assert answer.latency_ms > 0
    sent = server.requests[0]
    assert sent["path"] == "/v1/chat/completions"
    assert sent["headers"]["authorization"] == f"Bearer {KEY}"
    assert sent["body"]["messages"] == [{"role": "user", "content": "What now?"}]
    asked = {name: sent["body"][name] for name in ("model", "max_tokens", "temperature", "seed")}
    assert asked == {"model": "toy", "max_tokens": 77, "temperature": 0.25, "seed": 5}


def test_refusal_that_the_vendor_marks_is_refused(server: ChatServer, make: Make) -> None:
    server.replies = [chat(None, refusal="That is not for me.")]
    answer = make(read_refusals=False).generate("Q")
    assert answer.outcome is Outcome.REFUSED
    assert answer.text == "That is not for me."
    assert "vendor marked" in answer.detail


def test_refusal_in_words_is_refused_unless_switched_off(server: ChatServer, make: Make) -> None:
    server.replies = [chat("I'm sorry, but I can't help with that.")]
    answer = make().generate("Q")
    assert answer.outcome is Outcome.REFUSED
    assert "pattern" in answer.detail
    assert answer.text.startswith("I'm sorry")
    assert make(read_refusals=False).generate("Q").outcome is Outcome.ANSWERED


def test_content_filter_is_filtered_and_not_refused(server: ChatServer, make: Make) -> None:
    server.replies = [chat("Half an ans", finish="content_filter")]
    answer = make().generate("Q")
    assert answer.outcome is Outcome.FILTERED
    assert answer.text == "Half an ans"
    assert "content filter" in answer.detail


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
def test_prompt_rejected_by_a_filter_is_filtered(server: ChatServer, make: Make, code: str) -> None:
    server.replies = [failed(400, "prompt flagged", code=code)]
    answer = make().generate("Q")
    assert answer.outcome is Outcome.FILTERED
    assert "prompt flagged" in answer.detail
    assert len(server.requests) == 1


@pytest.mark.parametrize("content", ["", "  \n ", None])
def test_answer_without_text_is_empty(server: ChatServer, make: Make, content: str | None) -> None:
    server.replies = [chat(content)]
    answer = make().generate("Q")
    assert (answer.outcome, answer.text) == (Outcome.EMPTY, "")
    assert answer.detail


def test_answer_cut_at_the_limit_says_so(server: ChatServer, make: Make) -> None:
    server.replies = [chat("An answ", finish="length")]
    answer = make(max_tokens=3).generate("Q")
    assert (answer.outcome, answer.text) == (Outcome.ANSWERED, "An answ")
    assert "cut at max_tokens=3" in answer.detail


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_passing_trouble_is_tried_again(server: ChatServer, make: Make, status: int) -> None:
    server.replies = [failed(status), chat("Fine.")]
    answer = make().generate("Q")
    assert (answer.outcome, answer.text, answer.attempts) == (Outcome.ANSWERED, "Fine.", 2)
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_lasting_trouble_is_not_tried_again(server: ChatServer, make: Make, status: int) -> None:
    server.replies = [failed(status, "because"), chat()]
    answer = make().generate("Q")
    assert (answer.outcome, answer.text, answer.attempts) == (Outcome.ERROR, "", 1)
    assert f"HTTP {status}: because" in answer.detail


def test_spent_quota_is_not_tried_again(server: ChatServer, make: Make) -> None:
    server.replies = [failed(429, "pay first", code="insufficient_quota"), chat()]
    answer = make().generate("Q")
    assert (answer.outcome, answer.attempts) == (Outcome.ERROR, 1)
    assert "pay first" in answer.detail


def test_trouble_that_stays_ends_after_the_last_attempt(server: ChatServer, make: Make) -> None:
    server.replies = [failed(500, "down")]
    answer = make().generate("Q")
    assert (answer.outcome, answer.attempts, len(server.requests)) == (Outcome.ERROR, 3, 3)
    assert "HTTP 500: down" in answer.detail
    assert "gave up after 3 calls" in answer.detail


def test_wait_that_the_vendor_asks_for_is_kept(server: ChatServer, make: Make) -> None:
    server.replies = [failed(429, Retry_After="1"), chat()]
    started = time.perf_counter()
    assert make().generate("Q").attempts == 2
    assert time.perf_counter() - started >= 1.0


def test_wait_over_the_limit_ends_the_tries(server: ChatServer, make: Make) -> None:
    server.replies = [failed(429, Retry_After="3000"), chat()]
    answer = make().generate("Q")
    assert (answer.outcome, answer.attempts) == (Outcome.ERROR, 1)
    assert "3000 s" in answer.detail


def test_slow_server_is_a_timeout_on_each_attempt(server: ChatServer, make: Make) -> None:
    server.replies = [Reply(delay_s=30)]
    answer = make(timeout_s=0.3, retry=Retry(attempts=2, first_wait_s=0)).generate("Q")
    assert (answer.outcome, answer.attempts) == (Outcome.ERROR, 2)
    assert "timed out" in answer.detail


def test_server_that_trickles_bytes_is_a_timeout_too(server: ChatServer, make: Make) -> None:
    slow = chat()
    slow.trickle_s = 0.1
    server.replies = [slow]
    answer = make(timeout_s=0.5, retry=Retry(attempts=1)).generate("Q")
    assert answer.outcome is Outcome.ERROR
    assert "timed out" in answer.detail


def test_server_that_is_not_there_is_an_error_after_retries(make: Make) -> None:
    answer = make(base_url="http://127.0.0.1:9/v1").generate("Q")
    assert (answer.outcome, answer.attempts) == (Outcome.ERROR, 3)
    assert "no connection" in answer.detail


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body="{not json"),
        Reply(body=""),
        Reply(body="<html>hello</html>", headers={"Content-Type": "text/html"}),
        Reply(body="just text", headers={"Content-Type": "text/plain"}),
        Reply(body="null"),
        Reply(body="[]"),
        Reply(body={}),
        Reply(body={"choices": []}),
        Reply(body={"choices": [{"message": {"content": 5}}]}),
        Reply(body={"error": {"message": "inside a 200"}}),
    ],
    ids=lambda reply: str(reply.body)[:20],
)
def test_junk_is_an_error_and_never_an_exception(
    server: ChatServer, make: Make, reply: Reply
) -> None:
    server.replies = [reply]
    answer = make(retry=Retry(attempts=1)).generate("Q")
    assert (answer.outcome, answer.text) == (Outcome.ERROR, "")
    assert answer.detail


def test_key_is_nowhere_to_be_seen(
    server: ChatServer, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.replies = [
        failed(500, f"cannot use {KEY} now"),
        failed(401, f"Incorrect API key provided: {KEY[:12]}****{KEY[-4:]} Bearer {KEY}"),
    ]
    generator = make()
    answer = generator.generate("Q")
    assert answer.attempts == 2
    assert "check the key" in answer.detail
    shown = (repr(generator), str(generator), repr(answer), caplog.text)
    assert not [text for text in shown if KEY in text or KEY[-6:] in text]
    assert caplog.records  # or the check above looked at nothing


def test_openai_key_of_the_environment_is_not_sent_to_another_server(
    server: ChatServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    make(api_key=None).generate("Q")
    assert KEY not in str(server.requests[0])


def test_works_inside_a_running_event_loop(server: ChatServer, make: Make) -> None:
    server.replies = [lambda body: chat(body["messages"][0]["content"] + "!")]
    generator = make()

    async def main() -> list[Answer]:
        blocking = generator.generate("a")
        return [blocking, *await asyncio.gather(*(generator.agenerate(text) for text in "bcd"))]

    assert [answer.text for answer in asyncio.run(main())] == ["a!", "b!", "c!", "d!"]
    # A second loop, and then none: the connections of the first must not matter.
    assert asyncio.run(generator.agenerate("e")).text == "e!"
    assert generator.generate("f").text == "f!"


def test_many_threads_share_one_generator(server: ChatServer, make: Make) -> None:
    server.replies = [lambda body: chat(body["messages"][0]["content"] + "!")]
    generator = make()
    found: dict[int, str] = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: generator.generate(str(n)).text}))
        for n in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == {n: f"{n}!" for n in range(16)}


def test_cancelled_wait_cancels_the_retries(server: ChatServer, make: Make) -> None:
    server.replies = [failed(500)]
    generator = make(retry=Retry(attempts=50, first_wait_s=0.05, factor=1.0))

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(generator.agenerate("Q"), 0.3)

    asyncio.run(main())
    time.sleep(0.2)  # a call that was on its way may still arrive
    before = len(server.requests)
    time.sleep(0.4)
    assert 1 <= before < 50
    assert len(server.requests) == before


def test_closed_generator_leaves_no_thread_and_can_be_used_again(
    server: ChatServer, make: Make
) -> None:
    def alive() -> int:
        return sum(thread.name == "equipoise-generator" for thread in threading.enumerate())

    generator = make()
    assert alive() == 0  # construction alone starts nothing
    with generator:
        assert generator.generate("Q").outcome is Outcome.ANSWERED
        assert alive() == 1
    assert alive() == 0
    assert generator.generate("Q").outcome is Outcome.ANSWERED
    generator.close()
    generator.close()
    assert alive() == 0


def test_forgotten_generator_leaves_no_thread(server: ChatServer) -> None:
    generator = RemoteGenerator("openai:toy", base_url=server.url)
    generator.generate("Q")
    del generator
    gc.collect()
    assert not [t for t in threading.enumerate() if t.name == "equipoise-generator"]


def test_lone_surrogates_in_a_prompt_are_sent_as_replacement_characters(
    server: ChatServer, make: Make
) -> None:
    assert make().generate("a\ud800b\U0001f600").outcome is Outcome.ANSWERED
    assert server.requests[0]["body"]["messages"][0]["content"] == "a\ufffdb\U0001f600"


@pytest.mark.parametrize("prompt", ["", " \n", None, 5])
def test_blank_prompt_is_refused_without_a_call(
    server: ChatServer, make: Make, prompt: Any
) -> None:
    with pytest.raises(InputError, match="prompt"):
        make().generate(prompt)
    assert not server.requests


def test_missing_key_is_said_at_construction() -> None:
    with pytest.raises(GenerationError, match=r"openai:gpt-x.*OPENAI_API_KEY"):
        RemoteGenerator("openai:gpt-x")


def test_key_of_the_environment_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert repr(RemoteGenerator("openai:gpt-x")) == "RemoteGenerator('openai:gpt-x')"


@pytest.mark.skipif(importlib.util.find_spec("groq") is not None, reason="groq is installed")
def test_missing_vendor_library_is_said_with_its_install_line() -> None:
    with pytest.raises(MissingExtraError, match=r"groq:x.*pip install"):
        RemoteGenerator("groq:x", api_key=KEY)


def test_missing_pydantic_ai_is_said_with_our_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pydantic_ai.models", None)
    with pytest.raises(MissingExtraError, match=r"equipoise\[remote\]"):
        RemoteGenerator("openai:x", api_key=KEY)


@pytest.mark.parametrize("model", ["gpt-x", "", ":", "openai:", ":x", "openai: ", None])
def test_model_must_read_vendor_and_name(model: Any) -> None:
    with pytest.raises(InputError, match="vendor:model"):
        RemoteGenerator(model)


def test_unknown_vendor_is_named() -> None:
    with pytest.raises(InputError, match="'acme' is not known"):
        RemoteGenerator("acme:x")


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "", "http://", 5])
def test_base_url_must_be_http(url: Any) -> None:
    with pytest.raises(InputError, match="base URL"):
        RemoteGenerator("openai:x", base_url=url)


def test_password_in_a_base_url_is_refused_and_not_shown() -> None:
    with pytest.raises(InputError, match="must not carry") as raised:
        RemoteGenerator("openai:x", base_url="https://me:hunter2@host/v1")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": float("inf")}, "timeout_s"),
        ({"timeout_s": float("nan")}, "timeout_s"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
    ],
)
def test_numbers_out_of_range_are_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        RemoteGenerator("openai:x", api_key=KEY, **options)
