import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def test_the_python_of_the_readme_runs_and_balances(capsys):
    (code,) = blocks(ROOT / "README.md", "python")
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    selection = names["selection"]
    assert [choice.retrieval_rank for choice in selection.chosen] == [1, 2, 4, 5, 6]
    assert selection.decision.verdict == "contested"
    assert "Should countries build more nuclear" in capsys.readouterr().out


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_python_block_is_valid_python(path):
    for code in blocks(path, "python"):
        compile(code, path.name, "exec")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_file_of_the_project_leads_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_equipoise_command_named_exists(path):
    from equipoise.cli import app

    known = {command.callback.__name__ for command in app.registered_commands}
    known |= {group.name for group in app.registered_groups}
    code = "\n".join(re.findall(r"`+([^`]*)`+", path.read_text(encoding="utf-8")))
    for name in re.findall(r"(?:^|&& |\| )equipoise ([a-z]+)", code, re.MULTILINE):
        assert name in known, name
