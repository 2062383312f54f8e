"""LangChain agents: a middleware that balances what a retriever tool found (extra `langchain`)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from equipoise._extras import require
from equipoise.balancer import Balancer
from equipoise.errors import InputError
from equipoise.integrations._documents import is_balanced
from equipoise.integrations.langchain import DOCUMENTS
from equipoise.prompt import DEFAULT
from equipoise.result import Selection

require("langchain", extra="langchain")

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ToolCallRequest
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool

__all__ = ["EquipoiseMiddleware"]

HOW = 'make the tool with response_format="content_and_artifact"'


class EquipoiseMiddleware(AgentMiddleware):
    """Balances the documents of retriever tools, and asks the model to be even-handed.

    A tool's documents (its message's `artifact`) become the balanced ones, and the message's
    `content` their text. While the newest documents are those of a balanced question, the system
    message ends with the even-handedness instruction.

    Args:
        retriever_tools: tools or their names, made with `response_format="content_and_artifact"`.
            Set their retrievers to return 50 documents.
        balancer, k, on_selection: as in `equipoise.integrations.langchain.EquipoiseCompressor`.
        question: what stance is judged against. Default: the call's argument `query`, which the
            agent wrote.
        render: the content that stands for some documents. Default: their texts, a blank line
            between two, as in LangChain's own retriever tool.

    Raises:
        InputError: a tool is neither a name nor a tool that returns an artifact.
    """

    def __init__(
        self,
        retriever_tools: Sequence[BaseTool | str],
        *,
        balancer: Balancer | None = None,
        k: int | None = None,
        question: Callable[[ToolCallRequest], str] | None = None,
        render: Callable[[Sequence[Document]], str] | None = None,
        on_selection: Callable[[Selection], object] | None = None,
    ) -> None:
        super().__init__()
        self.names = _names(retriever_tools)
        self.balancer = balancer if balancer is not None else Balancer()
        self.k = k
        self.question = question or _query
        self.render = render or (lambda found: "\n\n".join(one.page_content for one in found))
        self.on_selection = on_selection

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        """The tool's message, balanced.

        Raises:
            InputError: a named tool returned no list of Documents, or there is no question.
            DetectorError: labelling failed, and the balancer's `on_error` is "raise".
        """
        result = handler(request)
        if not self._concerns(request, result):
            return result
        asked, found = self.question(request), result.artifact
        return self._told(result, *DOCUMENTS.balance(self.balancer, asked, found, k=self.k))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """`wrap_tool_call`, labelling in a worker thread."""
        result = await handler(request)
        if not self._concerns(request, result):
            return result
        asked, found = self.question(request), result.artifact
        return self._told(result, *await DOCUMENTS.abalance(self.balancer, asked, found, k=self.k))

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """The model's answer, with the instruction where it applies."""
        return handler(self._instructed(request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> Any:
        """`wrap_model_call` for an asynchronous run."""
        return await handler(self._instructed(request))

    def _concerns(self, request: ToolCallRequest, result: Any) -> bool:
        name = request.tool_call["name"]
        if name not in self.names or getattr(result, "status", None) == "error":
            return False
        found = getattr(result, "artifact", None)
        if not isinstance(found, list):
            kind = type(found).__name__
            raise InputError(f"{name!r} must return a list as its artifact, got {kind}: {HOW}")
        return bool(found)

    def _told(self, message: Any, chosen: list[Document], selection: Selection) -> Any:
        if self.on_selection:
            self.on_selection(selection)
        return message.model_copy(update={"artifact": chosen, "content": self.render(chosen)})

    def _instructed(self, request: ModelRequest) -> ModelRequest:
        if not self._even_handed(request.messages):
            return request
        system, text = request.system_message, DEFAULT.instruction
        if system is None:
            return request.override(system_message=SystemMessage(text))
        old = system.content  # a text, or a list of blocks
        new = f"{old}\n\n{text}" if isinstance(old, str) else [*old, {"type": "text", "text": text}]
        return request.override(system_message=system.model_copy(update={"content": new}))

    def _even_handed(self, messages: Sequence[Any]) -> bool:
        """True when a question of the last turn that found documents was balanced."""
        found: list[bool] = []
        for message in reversed(messages):
            if isinstance(message, HumanMessage) and found:
                break
            if isinstance(message, ToolMessage) and message.name in self.names:
                found += [is_balanced(document) for document in message.artifact or ()]
        return any(found)


def _names(tools: Sequence[BaseTool | str]) -> frozenset[str]:
    if isinstance(tools, str) or not tools:
        raise InputError(f"retriever_tools must be a list of tools or names, got {tools!r}")
    for tool in tools:
        if not isinstance(tool, str) and tool.response_format != "content_and_artifact":
            raise InputError(f"the tool {tool.name!r} must return its documents; {HOW}")
    return frozenset(tool if isinstance(tool, str) else tool.name for tool in tools)


def _query(request: ToolCallRequest) -> str:
    given = request.tool_call["args"]
    if not isinstance(given.get("query"), str):
        raise InputError(f"the call must have a str 'query', got {given}; or give question=")
    return str(given["query"])
