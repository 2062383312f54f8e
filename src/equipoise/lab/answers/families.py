"""Which family a model is of: whether a judge may judge a generator depends on it."""

import re
from typing import Final

from equipoise.errors import InputError

# Series of one maker are one family: they share data, and a taste for one another's words.
# Subtle: smollm before llama would not matter, but "smollm" must not be read as a llama, and
# "deepseek-r1-distill-llama" has two makers: the first family named in this list wins, so those
# whose name says what a model was made from come after those that say who made it.
_FAMILIES: Final = (
    ("smollm", ("smollm",)),
    ("deepseek", ("deepseek",)),
    ("openai", ("openai", "gpt", "chatgpt", "davinci", "o1", "o3", "o4", "codex")),
    ("anthropic", ("anthropic", "claude")),
    ("google", ("google", "gemini", "gemma", "palm", "t5")),
    ("mistral", ("mistral", "mixtral", "ministral", "magistral", "codestral")),
    ("qwen", ("qwen", "qwq", "tongyi")),
    ("grok", ("grok", "xai")),
    ("cohere", ("cohere", "command", "aya")),
    ("phi", ("phi",)),
    ("llama", ("llama", "vicuna", "alpaca", "tinyllama")),
)
# Providers that serve models of others: their own name says nothing about the family.
_HOSTS: Final = frozenset(
    (
        *("hf", "vllm", "sglang", "ollama", "together", "groq", "openrouter", "azureai", "bedrock"),
        *("fireworks", "sambanova", "cloudflare", "sagemaker", "openai-api", "perplexity"),
        *("openai-api-completions", "llama-cpp-python", "hf-inference-providers", "nnterp"),
        *("litellm-proxy", "transformer_lens"),
    )
)
_OWN: Final = {"local": "smollm", "quote": "quote"}
"""Generators that this package names itself."""


def family_of(model: str) -> str:
    """The family of a model string such as `openai/gpt-5` or `hf/SmolLM2-135M-Instruct`.

    A name that no list here knows is a family of its own: what comes before the first digit or
    sign of its last part, in lower case. A provider that serves models of others is passed over, so
    `together/meta-llama/Llama-3` is a llama.

    Raises:
        InputError: there is no name in it.

    Source: ours; SP 4.1 asks that judge and generator be of different families.

    >>> [family_of(name) for name in ("openai/gpt-5", "local", "hf/SmolLM2-135M", "groq/llama-4")]
    ['openai', 'smollm', 'smollm', 'llama']
    >>> family_of("mockllm/model"), family_of("hf/zephyr-7b")
    ('mockllm', 'zephyr')
    """
    name = model.strip(" \t\n/").lower()
    if not name:
        raise InputError(f"a model must have a name, got {model!r}")
    if name in _OWN:
        return _OWN[name]
    provider, _, rest = name.partition("/")
    if provider == "equipoise" and rest:  # our own model APIs: equipoise/quote, equipoise/local
        return family_of(rest)
    if provider == "mockllm":
        return "mockllm"
    said = rest if rest and provider in _HOSTS else name
    for family, starts in _FAMILIES:
        if any(_begins(said, start) for start in starts):
            return family
    last = said.rsplit("/", 1)[-1]
    found = re.match(r"[^\W\d_]+", last)
    return found[0] if found else last


def _begins(name: str, start: str) -> bool:
    """True where a word of the name begins with `start`: `gpt` in `openai/gpt-5`, not in `egpt`.

    A start that ends in a digit must be the whole word: o1 is not o12.
    """
    end = r"(?![a-z0-9])" if start[-1].isdigit() else ""
    return re.search(rf"(?<![a-z]){re.escape(start)}{end}", name) is not None
