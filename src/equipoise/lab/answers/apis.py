"""Our own generators as inspect's provider `equipoise`: `equipoise/quote`, `equipoise/smollm2`.

This file imports inspect-ai; inspect loads it itself, by the entry point of this package.
"""

from pathlib import Path
from typing import Any, Final

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from equipoise.errors import InputError
from equipoise.lab.answers.quote import quoted

QUOTE: Final = "quote"
MAX_TOKENS: Final = 160
"""Of an answer, where nobody says."""


class QuoteAPI(ModelAPI):
    """`quoted` as a model. A token is a word; answers are cut at `max_tokens` words."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """The documents of the last message, read back."""
        prompt = input[-1].text
        words = quoted(prompt).split()
        limit = config.max_tokens or MAX_TOKENS
        read, wrote = len(prompt.split()), min(len(words), limit)
        message = ChatMessageAssistant(content=" ".join(words[:limit]), model=self.model_name)
        return ModelOutput(
            model=self.model_name,
            choices=[
                ChatCompletionChoice(
                    message=message, stop_reason="max_tokens" if len(words) > limit else "stop"
                )
            ],
            usage=ModelUsage(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote),
        )

    def max_connections(self) -> int:
        """Any number will do: nothing is waited for."""
        return 32


@modelapi(name="equipoise")
def equipoise() -> Any:
    """The provider; what comes after the slash says which generator."""
    return _made


def _made(
    model_name: str,
    base_url: str | None = None,
    api_key: str | None = None,
    config: GenerateConfig | None = None,
    **model_args: Any,
) -> ModelAPI:
    """The generator of that name.

    Raises:
        InputError: no such generator, or an option that it does not take.
        GenerationError: the embedded model is not there.
    """
    from equipoise.generation.models import MODELS

    config = config or GenerateConfig()
    if model_name == QUOTE:
        if model_args:
            raise InputError(f"equipoise/quote takes no options, got {sorted(model_args)}")
        return QuoteAPI(model_name, base_url, api_key, [], config)
    if model_name in MODELS:
        return embedded(model_name, config, **model_args)
    known = ", ".join((QUOTE, *MODELS))
    raise InputError(f"a generator of this package must be one of {known}, got {model_name!r}")


def embedded(
    model_name: str,
    config: GenerateConfig,
    *,
    threads: int = 1,
    context_tokens: int = 4096,
    path: str | Path | None = None,
) -> ModelAPI:
    """A GGUF model of `generation.local`, served on loopback, as a model of inspect.

    Options are those of `LocalGenerator`; `path` is another GGUF file.

    Raises:
        MissingExtraError: openai or xllamacpp is not installed.
        GenerationError: there is no such file, or it cannot be loaded.
    """
    from equipoise._extras import require
    from equipoise.generation.local import LocalGenerator
    from equipoise.generation.models import fetched_path
    from equipoise.lab.answers.serve import Loopback

    require("openai", extra="lab")
    from equipoise.lab.answers.loopback_api import LoopbackAPI

    max_tokens = config.max_tokens or MAX_TOKENS
    generator = LocalGenerator(
        fetched_path(model_name) if path is None else path,
        threads=threads,
        context_tokens=context_tokens,
        max_tokens=max_tokens,
        read_refusals=False,  # outcomes are read in one place, for every generator alike
    )
    server = Loopback(generator, model=model_name, max_tokens=max_tokens)
    return LoopbackAPI(model_name, server, generator, config)
