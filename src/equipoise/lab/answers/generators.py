"""From a generator's name to a model of inspect, and what results say of it."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from equipoise._extras import require
from equipoise.errors import EquipoiseError, GenerationError, InputError
from equipoise.lab.answers.families import family_of
from equipoise.lab.answers.prices import Price, price_of
from equipoise.prompt import COMPACT, DEFAULT, Template, load_template

if TYPE_CHECKING:
    from inspect_ai.model import Model

RETRIES: Final = 4
"""Calls after the first one, with inspect's growing waits between."""
NAMES: Final = {"local": "equipoise/smollm2", "quote": "equipoise/quote"}
"""Short names, and what inspect calls them."""
_READING: Final = ("generation/base.py", "lab/answers/outcomes.py")
_MADE_BY: Final = {
    "equipoise/quote": ("lab/answers/quote.py", "lab/answers/apis.py"),
    "equipoise/smollm2": ("generation/local.py", "lab/answers/serve.py"),
}
_UNSAID: Final = frozenset({"device", "threads", "batch_size"})
"""Options that say where or how fast a model runs, not what it writes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A model that is asked, and what results say of it.

    `said` has "generator" (provider/name), "generator_settings", "family" and "code". `price` is
    None where nobody knows it. `context_tokens` is what the model can hold, where it says so.
    """

    model: "Model"
    said: Mapping[str, Any]
    price: Price | None
    context_tokens: int | None

    @property
    def name(self) -> str:
        """The model as `provider/name`."""
        return str(self.said["generator"])

    @property
    def family(self) -> str:
        """Whose model it is."""
        return str(self.said["family"])


def load_model(
    name: str,
    *,
    options: Mapping[str, Any] | None = None,
    max_tokens: int = 160,
    batch: int = 1,
    price: Price | None = None,
) -> Asked:
    """The model of that name.

    Args:
        name: "local" (the embedded model, on loopback), "quote" (no model: see `quote`), or any
            model string of inspect, such as "openai/gpt-5" or "hf/NAME".
        options: of the model, as inspect takes them with -M.
        max_tokens: of an answer, >= 1.
        batch: calls at a time, >= 1; for `hf/` the prompts that are read together.
        price: of the model; None: what inspect knows of it, if anything.

    Raises:
        InputError: no such provider or an option that it does not take, or a number < 1.
        MissingExtraError: inspect-ai is not installed.
        GenerationError: the model cannot be set up (a key or a library is missing, a file broken).
    """
    for label, value in (("max_tokens", max_tokens), ("batch", batch)):
        if value < 1:
            raise InputError(f"{label} must be >= 1, got {value}")
    require("inspect_ai", extra="lab")
    from inspect_ai.model import GenerateConfig, get_model

    import equipoise.lab.answers.apis  # noqa: F401  (registers our provider)

    options = dict(options or {})
    config = GenerateConfig(max_tokens=max_tokens, max_connections=batch, max_retries=RETRIES)
    full = NAMES.get(name, name)
    try:
        model = get_model(full, config=config, memoize=False, **options)
    except EquipoiseError:
        raise
    except (ValueError, TypeError) as error:  # an unknown provider, a wrong option
        raise InputError(f"the model {full!r} cannot be set up: {error}") from error
    except Exception as error:  # each provider fails in its own way; all mean: no model
        said = f"{type(error).__name__}: {error}"
        raise GenerationError(f"the model {full!r} cannot be set up: {said}") from error
    return describe(model, options=options, max_tokens=max_tokens, price=price)


def describe(
    model: "Model",
    *,
    options: Mapping[str, Any],
    max_tokens: int,
    price: Price | None = None,
) -> Asked:
    """What results say of a model of inspect that is there; arguments as in `load_model`."""
    name = str(model)
    settings = {
        "max_tokens": max_tokens,
        **{key: _said(value) for key, value in options.items() if _is_said(key)},
    }
    said = {
        "generator": name,
        "generator_settings": settings,
        "family": family_of(name),
        "code": answer_code(name),
    }
    return Asked(model, said, price or price_of(model), _context_of(model))


def template_of(spec: str | None, family: str) -> Template:
    """The template "compact", "default" or in a file; None: the one that suits the family.

    Small models do not follow the longer wording, and `quote` reads none.

    Raises:
        InputError: the file cannot be read, or is no template.
    """
    if spec is None:
        spec = "compact" if family in ("smollm", "quote") else "default"
    named = {"compact": COMPACT, "default": DEFAULT}
    return named[spec] if spec in named else load_template(spec)


def keep_cache_in(folder: Path) -> None:
    """Let inspect keep answers in `folder`, unless INSPECT_CACHE_DIR names another one."""
    os.environ.setdefault("INSPECT_CACHE_DIR", str(folder.resolve()))


def answer_code(generator: str) -> str:
    """The package's version and a digest of the sources that the reading of an answer depends on.

    Sources of the choice of documents and of the prompt are left out: a prompt that has changed is
    asked again, and one that has not need not be.
    """
    import equipoise

    home = Path(equipoise.__file__).parent
    found = hashlib.sha256()
    for name in (*_READING, *_MADE_BY.get(generator, ())):
        found.update(name.encode() + b"\0" + (home / name).read_bytes() + b"\0")
    return f"{equipoise.__version__}+{found.hexdigest()[:8]}"


def _is_said(key: str) -> bool:
    """False for what does not matter, and for secrets."""
    secret = "key" in key or "secret" in key or key in ("token", "hf_token", "password")
    return key not in _UNSAID and not secret


def _said(value: Any) -> Any:
    """An option as results say it: of a path the last part, which names the model."""
    if isinstance(value, str | Path) and os.path.exists(value):
        return Path(value).name
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _context_of(model: "Model") -> int | None:
    """Tokens that a model on this machine can hold; None where it does not say."""
    config = getattr(getattr(model.api, "model", None), "config", None)
    found = getattr(config, "max_position_embeddings", None)
    return found if isinstance(found, int) else None
