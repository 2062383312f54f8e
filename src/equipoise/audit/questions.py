"""Questions from a file: a question a line, or JSON Lines."""

from pathlib import Path

from equipoise.audit.records import Question
from equipoise.errors import InputError
from equipoise.retrieval.readers import parsed_json


def read_questions(path: str | Path) -> tuple[Question, ...]:
    """The questions of a file, in order.

    A line is a question as it is, or a JSON object with "text" (or "question") and, where wanted,
    "id"; without one a question is named by its line. Blank lines, and lines that begin with #,
    are left out.

    Raises:
        InputError: the file cannot be read, has no question, or a line is malformed; with
            `file:line`.
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} must be a file of questions in UTF-8: {error}") from error
    found = [
        _question(line.strip(), number, f"{path}:{number}")
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not found:
        raise InputError(f"{path} must hold at least one question, and holds none")
    return tuple(found)


def _question(line: str, number: int, place: str) -> Question:
    if not line.startswith("{"):
        return Question(str(number), line)
    try:
        row = parsed_json(line)
    except ValueError as error:
        raise InputError(f"{place}: a line that begins with {{ must be JSON: {error}") from error
    text = row.get("text", row.get("question"))
    if not isinstance(text, str) or not text.strip():
        raise InputError(f'{place}: a question must have "text" that is not blank, got {text!r}')
    return Question(str(row.get("id", number)), text)
