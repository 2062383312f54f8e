import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from equipoise.audit import (
    Audit,
    Kind,
    Spread,
    failures,
    parse_limits,
    read_audit,
    read_questions,
    report,
    summary,
    write_audit,
)
from equipoise.audit.judging import judged
from equipoise.errors import InputError


@pytest.fixture
def seen(passages, audit_of) -> Audit:
    old = passages("pro con neutral neutral " * 12, source="<b>wiki</b>", month="2026-01")
    new = [*passages("pro " * 7, start=500, source="blog", month="2026-02"), *old]
    made = judged(audit_of(new, passages("pro " * 12)), audit_of(old, date="then"))
    spread = Spread(0.2, -0.3, 0.3, 0.1, 0.4, 0.8, True)
    return replace(made, questions=(replace(made.questions[0], spread=spread), made.questions[1]))


def test_an_audit_comes_back_as_it_was_written(seen: Audit, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    write_audit(seen, path)
    assert read_audit(path) == seen
    head, first, _ = map(json.loads, path.read_text().splitlines())
    assert head["found"] == {kind.value: len(seen.with_finding(kind)) for kind in Kind}
    assert head["totals"]["source"]["blog"]["pro"]["n"] == 7
    assert first["near"]["families"]["pro"]["n"] == 19
    assert first["shown"]["5"]["families"] == {"pro": 5, "con": 0, "neutral": 0}
    assert first["months"]["2026-02"] == {"pro": 7, "con": 0, "neutral": 0}
    assert not path.with_name("audit.jsonl.part").exists()


def test_a_damaged_audit_is_named_by_its_line(seen: Audit, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    write_audit(seen, path)
    lines = path.read_text().splitlines()
    for broken, match in (
        (lines[1:], "header"),
        ([lines[0].replace('"format": 1', '"format": 9')], "format 1"),
        ([lines[0], lines[1][:50]], ":2 must be a JSON object"),
        ([lines[0], lines[1], '{"record": "question", "id": "x"}'], ":3 must be a whole record"),
        ([], "header"),
    ):
        path.write_text("\n".join(broken))
        with pytest.raises(InputError, match=match):
            read_audit(path)


class Checker(HTMLParser):
    """Collects open elements, ids, links, and texts that a reader sees."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.figures: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        values = dict(attrs)
        if tag not in ("meta",):
            self.open.append(tag)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if tag == "a" else []
        if tag == "svg":
            assert values["role"] == "img"
            self.figures.append(values["aria-label"])

    def handle_startendtag(self, tag, attrs) -> None:
        pass

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


def test_the_report_is_whole_and_needs_nothing_else(seen: Audit) -> None:
    page = report(seen)
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    assert {link.removeprefix("#") for link in checker.links} <= set(checker.ids)
    assert "19 pro" in page
    assert any(
        figure.startswith("12 con, 19 pro, 24 neutral; at the top") for figure in checker.figures
    )
    assert not re.search(r'(src|href)="(?!#)|url\(|@import|<script', page)
    assert "<b>wiki" not in page
    assert "prefers-color-scheme:dark" in page


def test_the_report_names_the_passages_of_a_finding(seen: Audit) -> None:
    (shift,) = [f for q in seen.questions for f in q.findings if f.kind is Kind.SHIFT]
    assert len(shift.passages) == 7
    page = report(seen)
    for rank, name in enumerate(shift.passages, 1):
        assert f"<code>{name}</code> (rank {rank}, blog)" in page
    assert "7 passages of that side" in page


def test_shifts_cannot_be_limited_without_an_earlier_audit(seen: Audit) -> None:
    with pytest.raises(InputError, match="needs an earlier audit"):
        failures(judged(seen), parse_limits("shift"))


def test_the_summary_names_what_was_found_and_what_is_unknown(seen: Audit) -> None:
    text = summary(seen)
    assert "Shift since the earlier audit: 1 of 2 questions" in text
    assert "Of what arrived, 7 pro, 0 con, 0 neutral" in text
    assert "The language of 67 of 67 passages is unknown" in text


def test_limits_say_how_many_questions_are_too_many(seen: Audit) -> None:
    assert failures(seen, parse_limits("shift, one-sided:1")) == (
        "shift: 1 of 2 questions, 1 is too many",
        "one-sided: 1 of 2 questions, 1 is too many",
    )
    assert failures(seen, parse_limits("shift:2,copies")) == ()
    assert parse_limits("") == {}
    for wrong in ("shift:0", "shift:x", "shift:", "bias"):
        with pytest.raises(InputError, match="--fail-on"):
            parse_limits(wrong)


def test_questions_come_as_lines_or_as_json(tmp_path: Path) -> None:
    path = tmp_path / "q"
    path.write_text(
        '# mine\nShould it?\n\n{"id": "b", "text": "And this?"}\n{"question": "That?"}\n'
    )
    assert [(q.id, q.text) for q in read_questions(path)] == [
        ("2", "Should it?"),
        ("b", "And this?"),
        ("5", "That?"),
    ]
    for wrong, match in (("{", ":1"), ('{"id": 1}', ":1"), ("# none", "at least one")):
        path.write_text(wrong)
        with pytest.raises(InputError, match=match):
            read_questions(path)
    with pytest.raises(InputError, match="file of questions"):
        read_questions(tmp_path / "none")
