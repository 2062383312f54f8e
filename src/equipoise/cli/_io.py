"""What several commands share: reading documents, settings, and printing."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.errors import GenerationError, InputError, StoreError

if TYPE_CHECKING:
    from equipoise.prompt import Template
    from equipoise.result import Selection
    from equipoise.settings import Settings
    from equipoise.types import DocumentFilter, Generator


def note(message: str) -> None:
    """A message for the person at the terminal, on stderr."""
    from equipoise.render.cleaning import clean

    sys.stderr.write(clean(message) + "\n")


def print_json(data: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(data, allow_nan=False, indent=2) + "\n")


def show(text: str) -> None:
    """Text on stdout: control codes as their pictures, for documents and models may hold any.

    Characters that the terminal cannot show become escapes.
    """
    from equipoise.render.cleaning import clean

    _write(clean(text))


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def show_selection(selection: "Selection") -> None:
    """The picture of a selection for the terminal."""
    import shutil

    from equipoise.render import render_text

    # A picture has at least 40 columns: in a narrower terminal its lines are broken there.
    width = max(40, min(shutil.get_terminal_size((100, 24)).columns, 120))
    # Not `show`: the picture has cleaned its texts, and its colours are control codes.
    _write(render_text(selection.to_dict(), width=width, color=_in_colour()))


def _in_colour() -> bool:
    """True for a terminal that has colours and whose user has not said no (no-color.org)."""
    dumb = os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and not dumb


def check_page_path(path: Path | None) -> None:
    """Nothing, when a page may be written to `path`: told before the work, not after.

    Raises:
        InputError: it is a folder, its folder does not exist, or may not be written to.
    """
    if path is None:
        return
    if os.path.isdir(path):
        raise InputError(f"--html must name a file, and {path} is a folder")
    if not os.path.isdir(path.parent):
        raise InputError(f"--html must name a file in a folder that exists, got {path}")
    if not os.access(path if os.path.exists(path) else path.parent, os.W_OK):
        raise InputError(f"--html must name a file that may be written, and {path} may not")


def write_file(path: Path, text: str) -> None:
    """The text in a file.

    Raises:
        StoreError: the file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
    note(f"Wrote {path}")


def read_candidates(source: str) -> list[Any]:
    """Documents in retrieval order from a file or, for "-", from stdin.

    JSON Lines (an object with "text", or a string, a line), or one JSON array of such.

    Raises:
        InputError: the file cannot be read, or a line is no JSON or nested too deep.
    """
    name = "standard input" if source == "-" else source
    if source == "-" and sys.stdin is None:
        raise InputError("standard input must be open, and is closed: name a file with -c")
    try:
        raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} must be UTF-8 text: {error}") from error
    if text.lstrip().startswith("["):
        whole = _parse(text, name)
        if isinstance(whole, list):
            return whole
    # Not `splitlines`: a JSON string may hold U+2028 and U+0085 as they are.
    return [
        _parse(line, f"{name}:{number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]


def _parse(text: str, where: str) -> Any:
    from equipoise.retrieval.readers import parsed_json

    try:
        return parsed_json(text)
    except ValueError as error:
        raise InputError(
            f"{where} must be JSON (an object with 'text', or a string): {error}"
        ) from error


def settings_with(overrides: Mapping[str, Any]) -> "Settings":
    """The settings of environment and file, with the options that were given."""
    from equipoise.settings import load_settings

    return load_settings(overrides={k: v for k, v in overrides.items() if v is not None})


def named_filter(name: str | None) -> "DocumentFilter | None":
    """The filter of that name with its defaults; None for no name.

    Raises:
        InputError: an unknown name; the message lists the known ones.
    """
    from equipoise.registry import resolve

    if name is None:
        return None
    made: DocumentFilter = resolve("filter", name)()
    return made


NO_MODEL = "none"


def generator_or_note(
    settings: "Settings", *, asked_for: bool, server_given: bool = False
) -> "Generator | None":
    """The generator; None for the model "none", and with a note when nobody asked for one.

    Raises:
        InputError: a server was named for a model that is not a vendor's.
        GenerationError, MissingExtraError: a model was named and cannot be had.
    """
    from equipoise.errors import MissingExtraError
    from equipoise.generation import load_generator

    unasked = settings.base_url is not None and settings.model != NO_MODEL and not asked_for
    if (server_given or unasked) and ":" not in settings.model:
        raise InputError(
            "a base URL (--base-url, EQUIPOISE_BASE_URL) goes with --model vendor:name, such as "
            f"openai:NAME; the model is {settings.model!r}"
        )
    if settings.model == NO_MODEL:
        return None
    try:
        return load_generator(settings=settings)
    except (GenerationError, MissingExtraError) as error:
        if asked_for:
            raise
        note(f"No answers will be written: {error}")
        return None


def prompt_template(path: Path | None, generator: "Generator | None") -> "Template":
    """The template in the file, or the one that suits the generator."""
    from equipoise.prompt import COMPACT, DEFAULT, load_template

    if path is not None:
        return load_template(path)
    from equipoise.generation.local import LocalGenerator

    # The embedded model is too small to follow the longer wording.
    return COMPACT if isinstance(generator, LocalGenerator) else DEFAULT


def page(parts: Sequence[tuple[str, str]], *, title: str) -> str:
    """A self-contained HTML page of (heading, HTML fragment) parts."""
    from html import escape

    body = "".join(f"<h1>{escape(heading)}</h1>{fragment}" for heading, fragment in parts)
    style = (
        "body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;"
        "color-scheme:light dark}h1{font-size:1.25rem;margin:2.5rem 0 1rem}"
        "blockquote{border-left:.25rem solid;margin:1rem 0;padding:.25rem 1rem;"
        "white-space:pre-wrap}"
        "pre{white-space:pre-wrap}"
    )
    return (
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{escape(title)}</title><style>{style}</style></head><body>{body}</body></html>\n"
        )
        .encode("utf-8", "replace")
        .decode("utf-8")
    )
