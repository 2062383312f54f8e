"""Other wires than chat completions, and what is sent to which model."""

from typing import Any

import pytest

from equipoise.errors import InputError
from equipoise.generation import RemoteGenerator, Retry
from equipoise.generation.vendors import open_model, takes_temperature
from equipoise.types import Answer, Outcome

from .conftest import KEY, ChatServer, Reply

pytest.importorskip("pydantic_ai.models.openai")


def ask(model: str, url: str) -> Answer:
    with RemoteGenerator(
        model, base_url=url, api_key=KEY, retry=Retry(attempts=1), read_refusals=False
    ) as generator:
        return generator.generate("Q")


def anthropic(text: str, stop: str, **more: Any) -> Reply:
    content = [{"type": "text", "text": text}] if text else []
    return Reply(
        body={
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "toy",
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 4, "output_tokens": 2},
            **more,
        }
    )


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (anthropic("Hello.", "end_turn"), Outcome.ANSWERED),
        (anthropic("", "refusal"), Outcome.REFUSED),
        (anthropic("", "end_turn"), Outcome.EMPTY),
        (Reply(529, {"type": "error", "error": {"type": "overloaded_error"}}), Outcome.ERROR),
    ],
)
def test_outcomes_on_the_anthropic_wire(server: ChatServer, reply: Reply, outcome: Outcome) -> None:
    pytest.importorskip("anthropic")
    server.replies = [reply]
    answer = ask("anthropic:toy", server.url.removesuffix("/v1"))
    assert answer.outcome is outcome, answer
    assert server.requests[0]["path"].startswith("/v1/messages")


def responses(part: dict[str, Any], **more: Any) -> Reply:
    message = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    return Reply(
        body={
            "id": "r",
            "object": "response",
            "created_at": 1,
            "model": "toy",
            "status": "completed",
            "output": [message],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            **more,
        }
    )


TEXT = {"type": "output_text", "text": "Hello.", "annotations": []}


@pytest.mark.parametrize(
    ("reply", "outcome", "text"),
    [
        (responses(TEXT), Outcome.ANSWERED, "Hello."),
        (responses({"type": "refusal", "refusal": "Not me."}), Outcome.REFUSED, "Not me."),
        (
            responses(TEXT, status="incomplete", incomplete_details={"reason": "content_filter"}),
            Outcome.FILTERED,
            "Hello.",
        ),
    ],
)
def test_outcomes_on_the_responses_wire(
    server: ChatServer, reply: Reply, outcome: Outcome, text: str
) -> None:
    server.replies = [reply]
    answer = ask("openai-responses:toy", server.url)
    assert (answer.outcome, answer.text) == (outcome, text), answer
    assert server.requests[0]["path"] == "/v1/responses"


@pytest.mark.parametrize(
    ("model", "takes"),
    [("gpt-4o", True), ("gpt-5.1", True), ("gpt-5", False), ("o3", False)],
)
def test_temperature_goes_only_to_models_that_take_it(model: str, takes: bool) -> None:
    opened = open_model(f"openai:{model}", base_url=None, api_key=KEY)
    assert takes_temperature(opened) is takes


def test_model_that_reasons_is_asked_without_a_warning(server: ChatServer) -> None:
    # Warnings are errors here, and an error would be the outcome.
    assert ask("openai:o3", server.url).outcome is Outcome.ANSWERED
    assert "temperature" not in server.requests[0]["body"]


def test_vendor_without_base_urls_says_so() -> None:
    with pytest.raises(InputError, match="'deepseek' takes no base_url"):
        open_model("deepseek:x", base_url="http://127.0.0.1:1", api_key=KEY)
