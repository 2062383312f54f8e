"""From `vendor:model` to a pydantic-ai model, with our errors and our idea of where keys go."""

import inspect
from typing import Any, Final
from urllib.parse import urlsplit

from equipoise._extras import require
from equipoise.errors import GenerationError, InputError, MissingExtraError

EXTRA: Final = "remote"

# With a base URL these mean "any server that speaks OpenAI's chat completions" (or responses).
_OPENAI: Final = ("openai", "openai-chat", "openai-responses")

# What pydantic-ai calls its vendors, for the time when it is not installed: whoever mistypes a
# vendor should not be told to install something first. Once installed, its own list holds.
_VENDORS: Final = (
    "alibaba anthropic azure azure-responses bedrock bedrock-mantle cerebras cohere crusoe "
    "deepseek fireworks github github-copilot google google-cloud groq heroku huggingface litellm "
    "meta mistral moonshotai nebius ollama openai openai-chat openai-chatgpt openai-codex "
    "openai-responses openrouter ovhcloud sambanova snowflake together vercel vllm xai zai"
)


def open_model(model: str, *, base_url: str | None, api_key: str | None) -> Any:
    """The pydantic-ai model for `vendor:model`.

    Without `base_url` the vendor's own service is asked, and its library reads the vendor's
    variables of the environment where `api_key` is None. With `base_url` and `openai:` an
    OpenAI-compatible server is asked, with `api_key` or with no key at all: the key in
    OPENAI_API_KEY is for OpenAI and is not sent elsewhere.

    Raises:
        InputError: `model` is not `vendor:model`, the vendor is not known or takes no base URL,
            or `base_url` is not http(s) or carries a password.
        MissingExtraError: pydantic-ai or the vendor's library is not installed.
        GenerationError: a key is missing, or the vendor's library refuses its settings.
    """
    vendor, _, name = model.partition(":") if isinstance(model, str) else ("", "", "")
    if not vendor.strip() or not name.strip():
        raise InputError(
            "the model must read vendor:model, such as openai:NAME or anthropic:NAME, or local, or "
            f"local:PATH for a GGUF file, got {model!r}"
        )
    if base_url is not None:
        _check_url(base_url)
    models = _pydantic_models(vendor)
    exceptions = require("pydantic_ai.exceptions", extra=EXTRA)
    try:
        if base_url is not None and vendor in _OPENAI:
            return _compatible(vendor, name, base_url, api_key)
        provider_class = _provider_class(vendor)
        options = {"base_url": base_url, "api_key": api_key}
        given = {option: value for option, value in options.items() if value is not None}
        if not given:
            return models.infer_model(model)
        _check_options(vendor, provider_class, given)
        return models.infer_model(model, lambda _: provider_class(**given))
    except ImportError as error:
        raise MissingExtraError(f"{model!r} needs its vendor's library. {error}") from error
    except exceptions.UserError as error:
        # The library goes on about its own test model; the first sentence is what helps here.
        said = str(error).partition(" To try ")[0]
        raise GenerationError(f"the generator {model!r} could not be set up. {said}") from error


def takes_temperature(model: Any) -> bool:
    """False for models that reason by default or refuse sampling settings: it is not sent there."""
    profile = model.profile
    if profile.get("anthropic_disallows_sampling_settings"):
        return False
    reasons = profile.get("openai_supports_reasoning") and profile.get(
        "thinking_enabled_by_default"
    )
    return not reasons


def _compatible(vendor: str, name: str, base_url: str, api_key: str | None) -> Any:
    openai = require("pydantic_ai.models.openai", extra=EXTRA)
    providers = require("pydantic_ai.providers.openai_compatible", extra=EXTRA)
    # max_tokens is the field that every compatible server knows; the newer max_completion_tokens
    # is silently ignored by some, and then nothing bounds the answer.
    provider = providers.OpenAICompatibleProvider(
        "openai-compatible",
        base_url=base_url,
        api_key=api_key,
        profile={"openai_chat_supports_max_completion_tokens": False},
    )
    if vendor == "openai-responses":
        return openai.OpenAIResponsesModel(name, provider=provider)
    return openai.OpenAIChatModel(name, provider=provider)


def _pydantic_models(vendor: str) -> Any:
    try:
        return require("pydantic_ai.models", extra=EXTRA)
    except MissingExtraError as error:
        if vendor in _VENDORS.split():
            raise
        raise _unknown(vendor) from error


def _provider_class(vendor: str) -> Any:
    providers = require("pydantic_ai.providers", extra=EXTRA)
    try:
        return providers.infer_provider_class(vendor)
    except ValueError as error:
        raise _unknown(vendor) from error


def _unknown(vendor: str) -> InputError:
    return InputError(
        f"the vendor {vendor!r} is not known. Known are openai, anthropic, google, mistral, "
        "groq, ollama and the others of pydantic-ai; any OpenAI-compatible server is "
        "openai:NAME with a base URL, and a GGUF file is local:PATH"
    )


def _check_options(vendor: str, provider_class: Any, given: dict[str, str]) -> None:
    accepted = inspect.signature(provider_class).parameters
    for option in given:
        if option not in accepted:
            raise InputError(
                f"the vendor {vendor!r} takes no {option}: leave it out, or use openai:NAME with "
                "a base URL for an OpenAI-compatible server"
            )


def _check_url(base_url: str) -> None:
    parts = urlsplit(base_url) if isinstance(base_url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"the base URL must start with http:// or https://, got {base_url!r}")
    if parts.username or parts.password:
        # Not shown: the message would carry the password on.
        raise InputError("the base URL must not carry a user name or password: use an API key")
