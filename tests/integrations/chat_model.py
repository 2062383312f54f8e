"""A chat model without a model: calls tools as told, and keeps what it was sent."""

from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic import Field


class ToolCallingModel(GenericFakeChatModel):
    """LangChain's own fake, which may be given tools; `sent` has every list of messages."""

    sent: list[Any] = Field(default_factory=list)

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, *args, **kwargs):
        self.sent.append(messages)
        return super()._generate(messages, *args, **kwargs)


def calls(*queries: str, tool: str = "search", key: str = "query") -> AIMessage:
    """A message that calls the tool once a query."""
    return AIMessage(
        "",
        tool_calls=[
            {"name": tool, "args": {key: query}, "id": f"{query}-{place}"}
            for place, query in enumerate(queries)
        ],
    )


def model(*messages: AIMessage | str) -> ToolCallingModel:
    return ToolCallingModel(messages=iter(messages), sent=[])
