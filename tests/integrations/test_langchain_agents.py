"""The middleware in a real agent: what the model is sent, and what the tool's message holds."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import create_retriever_tool, tool
from langgraph.checkpoint.memory import InMemorySaver

from equipoise import Balancer, InputError
from equipoise.integrations.langchain_agents import EquipoiseMiddleware
from equipoise.prompt import DEFAULT
from equipoise.testing import FakeDetector

from .adapters import QUESTION, STANCES, texts
from .chat_model import calls, model

FACT = "When was bread first baked?"
BALANCED = "\n\n".join(texts()[place] for place in (0, 1, 3, 4, 5))


class Bread(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        if query == "nothing":
            return []
        return [Document(text, id=f"id-{place}") for place, text in enumerate(texts(), start=1)]


def search_tool(response_format: str = "content_and_artifact", name: str = "search") -> Any:
    return create_retriever_tool(Bread(), name, "Finds.", response_format=response_format)


def middleware(**options: Any) -> EquipoiseMiddleware:
    table = dict(zip(texts(), STANCES, strict=True))
    return EquipoiseMiddleware(
        options.pop("tools", [search_tool()]),
        balancer=Balancer(detector=FakeDetector(table)),
        **options,
    )


def run(chat: Any, *, tools: Any = None, system: Any = None, **options: Any) -> list[Any]:
    """The conversation after one question."""
    balancing = middleware(**options)
    tools = [search_tool()] if tools is None else tools
    agent = create_agent(chat, tools, middleware=[balancing], system_prompt=system)
    return agent.invoke({"messages": [("user", QUESTION)]})["messages"]


def found(messages: Any) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]


def systems(chat: Any) -> list[str | None]:
    """The system message of each call of the model, None where there was none."""
    return [sent[0].text if isinstance(sent[0], SystemMessage) else None for sent in chat.sent]


def test_an_agent_gets_the_balanced_documents_their_text_and_the_instruction():
    chat = model(calls(QUESTION), "Both sides have a case.")
    messages = run(chat, system="You are a baker.")
    (message,) = found(messages)
    assert [document.id for document in message.artifact] == [
        "id-1",
        "id-2",
        "id-4",
        "id-5",
        "id-6",
    ]
    assert [document.metadata["equipoise"]["stance"] for document in message.artifact] == [
        "pro",
        "pro",
        "con",
        "neutral",
        "con",
    ]
    assert message.content == BALANCED
    assert found(chat.sent[1])[0].content == BALANCED
    assert systems(chat) == ["You are a baker.", f"You are a baker.\n\n{DEFAULT.instruction}"]
    assert messages[-1].content == "Both sides have a case."


async def test_an_asynchronous_run_gives_the_same():
    chat = model(calls(QUESTION), "Both sides have a case.")
    agent = create_agent(chat, [search_tool()], middleware=[middleware()])
    messages = (await agent.ainvoke({"messages": [("user", QUESTION)]}))["messages"]
    assert found(messages)[0].content == BALANCED
    assert systems(chat) == [None, DEFAULT.instruction]


def test_a_question_of_fact_gets_no_instruction():
    chat = model(calls(FACT), "Long ago.")
    (message,) = found(run(chat))
    assert message.content == "\n\n".join(texts()[:5])
    assert systems(chat) == [None, None]


def test_one_balanced_question_among_several_of_a_turn_is_enough():
    chat = model(calls(QUESTION, FACT), "Both.")
    assert len(found(run(chat))) == 2
    assert systems(chat) == [None, DEFAULT.instruction]


def test_the_instruction_follows_the_newest_documents_of_a_conversation():
    chat = model(
        calls(QUESTION), "Both.", "More.", calls("nothing"), "Still.", calls(FACT), "Then."
    )
    agent = create_agent(
        chat, [search_tool()], middleware=[middleware()], checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": "1"}}
    for text in (QUESTION, "Say more.", "And that?", FACT):
        agent.invoke({"messages": [("user", text)]}, config)
    told = DEFAULT.instruction
    # asked, answered; said more; asked for nothing, answered; asked for a fact, answered it
    assert systems(chat) == [None, told, told, told, told, told, None]


def test_other_tools_are_left_alone():
    other = search_tool(name="other")
    chat = model(calls(QUESTION, tool="other"), "Well.")
    (message,) = found(run(chat, tools=[search_tool(), other]))
    assert len(message.artifact) == len(texts())
    assert systems(chat) == [None, None]


def test_the_artifact_of_another_tool_is_not_read_whatever_it_claims():
    @tool(response_format="content_and_artifact")
    def other(query: str):
        """Finds."""
        return "", [Document("x", metadata={"equipoise": {"balanced": True}})]

    chat = model(calls(QUESTION, tool="other"), "Well.")
    run(chat, tools=[search_tool(), other])
    assert systems(chat) == [None, None]


def test_a_call_that_failed_stays_as_it_is():
    chat = model(AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "1"}]), "Oh.")
    (message,) = found(run(chat))
    assert message.status == "error"
    assert message.artifact is None


def test_an_empty_find_keeps_the_words_of_its_tool():
    @tool(response_format="content_and_artifact")
    def search(query: str):
        """Finds."""
        return "Nothing was found.", []

    (message,) = found(run(model(calls(QUESTION), "Nothing."), tools=[search]))
    assert (message.artifact, message.content) == ([], "Nothing was found.")


def test_a_system_message_of_blocks_gets_one_more_block():
    blocks = [{"type": "text", "text": "You are a baker.", "cache_control": {"type": "ephemeral"}}]
    chat = model(calls(QUESTION), "Both.")
    run(chat, system=SystemMessage(blocks))
    assert chat.sent[1][0].content == [*blocks, {"type": "text", "text": DEFAULT.instruction}]
    assert chat.sent[0][0].content == blocks


def test_a_model_request_is_not_changed():
    message = ToolMessage("", artifact=[Document("x")], tool_call_id="1", name="search")
    message.artifact[0].metadata["equipoise"] = {"balanced": True}
    request = ModelRequest(model=model(), messages=[message], system_message=SystemMessage("Hi."))
    sent = middleware().wrap_model_call(request, lambda changed: changed)
    assert sent.system_message.text == f"Hi.\n\n{DEFAULT.instruction}"
    assert request.system_message.text == "Hi."


def test_the_question_the_number_and_the_words_may_be_given():
    told = []
    (message,) = found(
        run(
            model(calls("bread, the case for"), "Both."),
            k=2,
            question=lambda request: request.state["messages"][0].text,
            render=lambda documents: " / ".join(document.id for document in documents),
            on_selection=told.append,
        )
    )
    assert message.content == "id-1 / id-4"
    assert [selection.question for selection in told] == [QUESTION]


def test_a_tool_that_keeps_its_documents_to_itself_is_refused():
    with pytest.raises(InputError, match=r"'search' must return its documents.*artifact"):
        middleware(tools=[search_tool("content")])
    with pytest.raises(InputError, match=r"'search' must return a list.*NoneType.*artifact"):
        run(model(calls(QUESTION), "x"), tools=[search_tool("content")])


def test_a_call_without_a_query_is_refused_with_the_way_out():
    @tool(response_format="content_and_artifact")
    def search(words: str):
        """Finds."""
        return "", [Document(texts()[0])]

    with pytest.raises(InputError, match=r"must have a str 'query'.*'words'.*question="):
        run(model(calls(QUESTION, key="words"), "x"), tools=[search])


@pytest.mark.parametrize("tools", ["search", []])
def test_the_tools_must_be_a_list_of_some(tools):
    with pytest.raises(InputError, match="must be a list of tools or names"):
        EquipoiseMiddleware(tools)
