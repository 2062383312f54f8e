"""Settings: one frozen object, read in one place.

Argument > environment > file > default. Environment variables are `EQUIPOISE_` and the field's
name in capitals; the file is TOML with the fields' names as keys. Keys of vendors are never
fields: they stay in the environment, and `api_key_env` holds at most the name of the variable.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast, get_args

from equipoise.errors import InputError

PREFIX: Final = "EQUIPOISE_"
DEFAULT_FILE: Final = "equipoise.toml"
NOT_SETTINGS: Final = frozenset({"EQUIPOISE_KEYS"})
"""Variables of this prefix that are no settings: keys that `serve --keys-env` is told to read."""


def default_cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """The platform's folder for cached files, with `equipoise` under it; it may not exist yet.

    `XDG_CACHE_HOME` where set, else `LOCALAPPDATA` on Windows, `~/Library/Caches` on macOS and
    `~/.cache` elsewhere. A user without a home folder (a container's, say) gets
    `equipoise-<user number>` in the folder for temporary files.
    """
    env = os.environ if environ is None else environ
    if base := env.get("XDG_CACHE_HOME"):
        return Path(base) / "equipoise"
    if sys.platform == "win32" and (base := env.get("LOCALAPPDATA")):
        return Path(base) / "equipoise"
    try:
        home = Path.home()
    except RuntimeError:  # neither HOME nor an entry in the list of users
        user = os.getuid() if hasattr(os, "getuid") else "user"
        return Path(tempfile.gettempdir()) / f"equipoise-{user}"
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "equipoise"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a command or a program runs with.

    Attributes:
        cache_dir: where downloaded models are kept.
        detector: the stance detector's name: `classifier` is the bundled one, `small` another.
        detector_threads: threads of a local detector, >= 1, or None for the number of cores.
        embedder: the name of the embedder of new indexes: `minilm` is the bundled one.
        model: the generator: `local` or `smollm2`, or `vendor:model` such as `openai:NAME`; on
            the command line also `none`, no answers.
        base_url: an OpenAI-compatible server in place of the vendor's own, or None.
        api_key_env: the NAME of the environment variable that holds the key for `base_url`.
        timeout_s: the longest wait for one answer of a remote model, seconds, > 0.
        max_tokens: the longest answer in tokens, >= 1, or None for the generator's own default.
        generator_threads: threads of the embedded generator, >= 1.
        unsure_below: the probability in [0, 1) under which a label is unsure; 0 makes none so.

    Raises:
        InputError: a value is of another type or out of its range.
    """

    cache_dir: Path = field(default_factory=default_cache_dir)
    detector: str = "classifier"
    detector_threads: int | None = None
    embedder: str = "minilm"
    model: str = "local"
    base_url: str | None = None
    api_key_env: str | None = None
    timeout_s: float = 60.0
    max_tokens: int | None = None
    generator_threads: int = 1
    unsure_below: float = 0.0

    def __post_init__(self) -> None:
        for name, (_, optional) in _kinds().items():
            value = getattr(self, name)
            if value is not None or not optional:
                object.__setattr__(self, name, _typed(name, value, "Settings"))

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values, to be stored with results."""
        return {**asdict(self), "cache_dir": str(self.cache_dir)}


def load_settings(
    *,
    environ: Mapping[str, str] | None = None,
    file: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings in force: `overrides` > `environ` > `file` > defaults.

    `environ` is the process's environment where None. `file` is `equipoise.toml` in the current
    folder where None, if there is one. An override of None counts as not given, so that a command
    can pass its options as they came. An empty environment variable counts as not set.

    Raises:
        InputError: a value of a wrong type or out of range, an unknown key or variable, a file
            that cannot be read or is not TOML. The message names source and key.

    Source: ours.
    """
    env = os.environ if environ is None else environ
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    layers = (_from_file(file), _from_environ(env), _checked(given, "argument"))
    merged: dict[str, Any] = {"cache_dir": default_cache_dir(env)}
    for layer in layers:
        merged = {**merged, **layer}
    return Settings(**merged)


def _from_file(file: str | Path | None) -> dict[str, Any]:
    path = Path(DEFAULT_FILE if file is None else file)
    if file is None and not path.is_file():
        return {}
    import tomllib

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"the settings file {str(path)!r} cannot be read: {reason}") from error
    except (ValueError, RecursionError) as error:  # no UTF-8, no TOML, or nested too deep
        raise InputError(f"the settings file {str(path)!r} must be TOML: {error}") from error
    return _checked(table, f"file {str(path)!r}")


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    kinds = _kinds()
    values = {}
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or not text.strip() or variable in NOT_SETTINGS:
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name not in kinds:
            known = ", ".join(PREFIX + known.upper() for known in kinds)
            raise InputError(f"the environment variable {variable} is not known. Known are {known}")
        kind, _ = kinds[name]
        values[name] = _typed(name, _parsed(text.strip(), kind), f"environment variable {variable}")
    return values


def _checked(values: Mapping[str, Any], source: str) -> dict[str, Any]:
    kinds = _kinds()
    unknown = sorted(set(values).difference(kinds))
    if unknown:
        raise InputError(
            f"{source} has settings that are not known: {', '.join(unknown)}. "
            f"Known are {', '.join(kinds)}"
        )
    return {name: _typed(name, value, source) for name, value in values.items()}


def _kinds() -> dict[str, tuple[type, bool]]:
    """For each field its type, and whether it may be None; read off the annotations."""
    kinds: dict[str, tuple[type, bool]] = {}
    for entry in fields(Settings):
        members = get_args(entry.type)
        kinds[entry.name] = (members[0], True) if members else (cast(type, entry.type), False)
    return kinds


def _parsed(text: str, kind: type) -> Any:
    # A text that is no number stays text, so that _typed() reports it together with its source.
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return text
    return text


def _typed(name: str, value: Any, source: str) -> Any:
    """`value` in the type of the field `name`, or an error that names the source."""
    kind, _ = _kinds()[name]
    if kind is Path and isinstance(value, str | Path) and str(value).strip():
        try:
            return Path(value).expanduser()
        except RuntimeError as error:
            raise InputError(f"{source}: {name} must be a path, got {value!r}: {error}") from error
    if kind is str and isinstance(value, str) and value.strip():
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in _SHARES:
        if number and 0 <= value < 1:
            return float(value)
        raise InputError(f"{source}: {name} must be a number in [0, 1), got {value!r}")
    if kind is int and number and isinstance(value, int) and value >= 1:
        return value
    if kind is float and number and 0 < value < float("inf"):
        return float(value)
    raise InputError(f"{source}: {name} must be {_HOLDS[kind]}, got {value!r}")


_SHARES: Final = frozenset({"unsure_below"})
"""The fields that hold a probability: 0 is allowed, 1 is not."""

_HOLDS: Final[Mapping[type, str]] = MappingProxyType(
    {
        Path: "a path",
        str: "a text that is not blank",
        int: "a whole number >= 1",
        float: "a number > 0",
    }
)
