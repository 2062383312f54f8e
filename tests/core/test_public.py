import subprocess
import sys

import pytest

import equipoise
from equipoise import errors

PUBLIC = [
    "Answer",
    "Balancer",
    "Candidate",
    "Choice",
    "DetectorError",
    "Duplicates",
    "EmbedderError",
    "EquipoiseError",
    "Gate",
    "GenerationError",
    "Generator",
    "InputError",
    "LeftOut",
    "MissingExtraError",
    "Outcome",
    "Quota",
    "Rag",
    "RagAnswer",
    "Reason",
    "Retriever",
    "Seek",
    "Selection",
    "SelectionRule",
    "Sources",
    "Stance",
    "StanceDetector",
    "StanceScore",
    "StoreError",
]


def test_the_public_names_are_these_and_sorted():
    assert equipoise.__all__ == PUBLIC
    assert all(getattr(equipoise, name) is not None for name in PUBLIC)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = equipoise.no_such_name


def loaded_after(code):
    script = f"import sys; {code}; print(*sorted(m.split('.')[0] for m in sys.modules))"
    return set(
        subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        ).stdout.split()
    )


def test_importing_the_package_loads_the_standard_library_only():
    extra = loaded_after("import equipoise") - loaded_after("pass") - {"equipoise"}
    assert extra <= set(sys.stdlib_module_names)


def test_making_a_balancer_loads_neither_numpy_nor_onnxruntime():
    modules = loaded_after("import equipoise; equipoise.Balancer()")
    assert not modules & {"numpy", "onnxruntime", "tokenizers", "torch", "typer", "rich"}


def test_every_error_is_an_equipoise_error_and_a_builtin_one():
    for name, builtin in {
        "InputError": ValueError,
        "MissingExtraError": ImportError,
        "DetectorError": RuntimeError,
        "EmbedderError": RuntimeError,
        "GenerationError": RuntimeError,
        "StoreError": RuntimeError,
    }.items():
        assert issubclass(getattr(errors, name), (errors.EquipoiseError, builtin))
        assert issubclass(getattr(errors, name), builtin)


def test_a_missing_extra_names_the_install_line():
    from equipoise._extras import require

    with pytest.raises(errors.MissingExtraError, match=r"pip install 'equipoise\[local\]'"):
        require("a_library_that_does_not_exist", extra="local")


def test_an_import_error_inside_an_installed_library_is_not_hidden(tmp_path, monkeypatch):
    from equipoise._extras import require

    (tmp_path / "broken_library.py").write_text("import something_that_is_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_that_is_not_there") as caught:
        require("broken_library", extra="local")
    assert not isinstance(caught.value, errors.MissingExtraError)
