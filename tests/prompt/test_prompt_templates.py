"""Templates: what they must hold, and reading them from files."""

from pathlib import Path

import pytest

from equipoise.errors import InputError
from equipoise.prompt import DEFAULT, Template, load_template, render_prompt

BODY = "Docs:\n{documents}\nQ: {question}\n{instruction}\nA:"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "mine.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_file_replaces_the_words_and_keeps_our_instruction(tmp_path: Path) -> None:
    template = load_template(written(tmp_path, BODY + "\n"))
    assert template.body == BODY
    assert template.instruction == DEFAULT.instruction
    assert render_prompt("Why?", ["T"], template=template, even_handed=False) == (
        "Docs:\n[1] T\nQ: Why?\nA:"
    )


def test_file_may_bring_its_own_instruction(tmp_path: Path) -> None:
    path = written(tmp_path, f"\ufeff{BODY}\n=== instruction ===\nWeigh {{both}} sides.\n")
    template = load_template(str(path))
    assert template.body == BODY
    assert template.instruction == "Weigh {both} sides."
    assert "Weigh {both} sides." in render_prompt("Why?", ["T"], template=template)


def test_version_follows_the_text_of_the_file(tmp_path: Path) -> None:
    first = load_template(written(tmp_path, BODY)).version
    second = load_template(written(tmp_path, BODY + " now")).version
    assert first.startswith("mine.txt@")
    assert first != second
    assert first == load_template(written(tmp_path, BODY)).version


def test_windows_line_ends_are_read_as_plain_ones(tmp_path: Path) -> None:
    template = load_template(written(tmp_path, BODY.replace("\n", "\r\n")))
    assert "\r" not in template.body


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (BODY + " {answer} {docs}", "{answer}, {docs}"),
        ("{documents} {instruction}", "lacks {question}"),
        ("{question}", "lacks {documents}, {instruction}"),
        ("", "lacks {documents}, {question}, {instruction}"),
        ("{{documents}} {question} {instruction}", "lacks {documents}"),
        (BODY + '\n{"json": 1}', "single '{' in line 6"),
        (BODY + " }", "single '}' in line 5"),
        (BODY + " {Documents}", "{Documents}"),
        (BODY + " {question.upper}", "single '{'"),
        (BODY + " {question!r}", "single '{'"),
        (BODY + " {}", "single '{'"),
    ],
)
def test_wrong_placeholders_are_named(tmp_path: Path, body: str, named: str) -> None:
    with pytest.raises(InputError) as raised:
        Template("t", body, "")
    assert named in str(raised.value)
    with pytest.raises(InputError) as raised:
        load_template(written(tmp_path, body))
    assert named in str(raised.value)
    assert "mine.txt" in str(raised.value)


def test_template_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt.*cannot be read"):
        load_template(tmp_path / "none.txt")
    with pytest.raises(InputError, match="must be UTF-8"):
        load_template(written(tmp_path, BODY.encode() + b"\xff"))


def test_two_instruction_headings_are_refused(tmp_path: Path) -> None:
    heading = "\n=== instruction ===\nx"
    with pytest.raises(InputError, match="at most once"):
        load_template(written(tmp_path, BODY + heading + heading))


def test_template_fields_must_be_text() -> None:
    with pytest.raises(InputError, match="Template.body must be a str, got NoneType"):
        Template("t", None, "")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="version"):
        Template(" ", BODY, "")


def test_a_template_that_is_no_path_is_refused() -> None:
    with pytest.raises(InputError, match="given by its path, got NoneType"):
        load_template(None)  # type: ignore[arg-type]
