"""What a mistyped model is told, with and without pydantic-ai installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.errors import InputError
from equipoise.generation import RemoteGenerator, load_generator
from equipoise.generation.vendors import _VENDORS

SOURCE = Path(__file__).resolve().parents[2] / "src"


def told_without_pydantic_ai(spec: str) -> str:
    """The error of loading `spec` in a process that cannot import pydantic-ai."""
    code = (
        "import sys; sys.modules['pydantic_ai'] = None\n"
        "from equipoise.generation import load_generator\n"
        "try: load_generator(sys.argv[1])\n"
        "except Exception as e: print(type(e).__name__, e)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, spec],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return ran.stdout


def test_mistyped_vendor_is_not_told_to_install_something() -> None:
    said = told_without_pydantic_ai("opnai:gpt")
    assert said.startswith("InputError the vendor 'opnai' is not known")
    assert "local:PATH" in said


def test_known_vendor_is_told_what_to_install() -> None:
    said = told_without_pydantic_ai("openai:gpt")
    assert said.startswith("MissingExtraError")
    assert "pip install 'equipoise[remote]'" in said


@pytest.mark.parametrize("spec", ["/x.gguf", "gpt", ":x", "openai:", ""])
def test_spec_without_vendor_and_model_is_refused(spec: str) -> None:
    with pytest.raises(InputError, match=r"must read vendor:model.*local:PATH"):
        load_generator(spec)


def test_vendor_names_are_those_that_pydantic_ai_knows() -> None:
    providers = pytest.importorskip("pydantic_ai.providers")
    for vendor in _VENDORS.split():
        try:
            providers.infer_provider_class(vendor)
        except ImportError:
            continue  # known, and its library is not installed


@pytest.mark.parametrize("option", [{"temperature": "x"}, {"timeout_s": "x"}])
def test_remote_numbers_that_are_texts_are_named(option: dict[str, str]) -> None:
    with pytest.raises(InputError, match=next(iter(option))):
        RemoteGenerator("openai:toy", **option)  # type: ignore[arg-type]
