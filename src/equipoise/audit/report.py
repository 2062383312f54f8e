"""An audit as one page of HTML that needs nothing else: figures and styles are in it."""

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from equipoise.audit.chance import Mix
from equipoise.audit.figures import balance_bar, interval, legend, scale_of
from equipoise.audit.records import SHOWN, UNKNOWN, Audit, Audited, Finding, Kind, mix_of
from equipoise.audit.totals import Total, totals
from equipoise.audit.words import MEANINGS, TITLES, sentence, unknowns
from equipoise.errors import StoreError
from equipoise.render.markup import Markup, element, join
from equipoise.render.style import DARK, LIGHT

ROWS: Final = 25
"""Rows of a table of sources or months; the file of the audit has them all."""


def write_report(audit: Audit, path: str | Path) -> None:
    """The report in a file.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        Path(path).write_text(report(audit), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def report(audit: Audit) -> str:
    """The whole page: what was found, each question, sources, months, languages, and the method.

    Light and dark, wide and narrow; every figure has its numbers in words for who cannot see it.
    """
    title = f"Audit of {audit.corpus}" if audit.corpus else "Audit of a corpus"
    style = resources.files("equipoise.audit").joinpath("report.css").read_text("utf-8")
    head = join(
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", {}, title),
        Markup(f"<style>{_palette()}{style}</style>"),
    )
    body = join(_header(audit, title), element("main", {}, *_sections(audit)))
    return "<!DOCTYPE html>\n" + element(
        "html", {"lang": "en"}, element("head", {}, head), element("body", {}, body)
    )


def _palette() -> str:
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in colours.items())
        for colours in (LIGHT, DARK)
    )
    dark_rule = f"@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return f":root{{color-scheme:light dark;{light}}}{dark_rule}"


def _header(audit: Audit, title: str) -> Markup:
    passages = sum(len(q.passages) for q in audit.questions)
    date = f" on {audit.date}" if audit.date else ""
    since = "" if audit.against is None else f" Compared with the audit of {audit.against}."
    flagged = sum(bool(question.findings) for question in audit.questions)
    tiles = [
        element(
            "li",
            {"class": "some" if found else "none"},
            element("b", {}, str(len(found))),
            TITLES[kind],
        )
        for kind in Kind
        if kind is not Kind.SHIFT or audit.against is not None
        for found in [audit.with_finding(kind)]
    ]
    links = [("found", "Found"), ("questions", "Questions"), ("groups", "Sources, months")]
    links += [("details", "Each question"), ("method", "How to read this")]
    nav = [element("li", {}, element("a", {"href": f"#{to}"}, name)) for to, name in links]
    return element(
        "header",
        {},
        element("h1", {}, title),
        element(
            "p",
            {},
            f"{len(audit.questions)} questions were asked{date}; for each, up to "
            f"{audit.settings.near} passages near it were labelled ({passages} in all). At "
            f"{flagged} questions something was found.{since}",
        ),
        element("ul", {"class": "tiles", "aria-label": "Questions with each finding"}, *tiles),
        element("nav", {"aria-label": "Contents"}, element("ul", {}, *nav)),
    )


def _sections(audit: Audit) -> list[Markup]:
    found = totals(audit)
    groups = [
        _groups(audit, "Sources", found["source"]),
        _groups(audit, "Months of arrival", dict(sorted(found["month"].items()))),
        _groups(audit, "Languages", found["language"]),
    ]
    return [
        _section("found", "What was found", *_found(audit)),
        _section("questions", "Every question", *_overview(audit)),
        _section("groups", "Sources, months, languages", *groups),
        _section("details", "Each question in detail", *map(_detail, _ordered(audit))),
        _section("method", "How to read this", *_method(audit)),
    ]


def _section(name: str, title: str, *children: str) -> Markup:
    return element("section", {"id": name}, element("h2", {}, title), *children)


def _found(audit: Audit) -> list[Markup]:
    rows = [
        (
            element("th", {"scope": "row"}, _link(question)),
            element("td", {}, _chip(finding)),
            element("td", {}, sentence(finding)),
        )
        for question in _ordered(audit)
        for finding in question.findings
    ]
    if not rows:
        return [element("p", {}, "Nothing: no question was beyond the thresholds below.")]
    return [_table("Findings", ("Question", "Found", "In numbers"), rows)]


def _overview(audit: Audit) -> list[Markup]:
    scale = scale_of([q.mix() for q in audit.questions])
    rows = [
        (
            element("th", {"scope": "row"}, _link(question)),
            element("td", {}, balance_bar(mix, scale, top=question.mix(audit.settings.shown))),
            element("td", {"class": "n"}, str(mix.neutral)),
            element("td", {"class": "n"}, interval(mix.pro, mix.sided)),
            element("td", {}, *(_chip(f) for f in question.findings)),
        )
        for question in _ordered(audit)
        for mix in [question.mix()]
    ]
    head = ("Question", "Con | pro", "Neutral", "Pro of those with a side", "Found")
    return [legend(audit.settings.shown), _table("Stance of what is near", head, rows)]


def _groups(audit: Audit, title: str, rows: Mapping[str, Total]) -> Markup:
    if set(rows) <= {UNKNOWN}:
        return element("p", {}, f"{title}: not known, for no passage's metadata tell.")
    scale = scale_of([one.mix for one in rows.values()])
    made = [
        (
            element("th", {"scope": "row"}, name),
            element("td", {}, balance_bar(one.mix, scale)),
            element("td", {"class": "n"}, str(one.mix.neutral)),
            element("td", {"class": "n"}, interval(one.mix.pro, one.mix.sided)),
            element("td", {"class": "n"}, str(one.questions)),
            element("td", {"class": "n"}, str(one.most_of or "-")),
        )
        for name, one in list(rows.items())[:ROWS]
    ]
    more = f" The first {ROWS} of {len(rows)}." if len(rows) > ROWS else ""
    head = (title, "Con | pro", "Neutral", "Pro of those with a side", "Near questions",
            "Gives half of a side or more")  # fmt: skip
    return _table(f"{title}.{more}", head, made)


def _detail(question: Audited) -> Markup:
    findings = [
        element("li", {}, _chip(f), " ", sentence(f), *_named(f, question))
        for f in question.findings
    ]
    rows = [
        _depth(f"top {depth}", question.mix(depth), question.mix(depth, once=False))
        for depth in SHOWN
        if depth < len(question.passages)
    ]
    rows.append(_depth("near", question.mix(), question.mix(once=False)))
    head = ("Depth", "Pro", "Con", "Neutral", "Pro of those with a side", "With copies")
    parts = [
        element("summary", {}, question.question.text),
        element("ul", {}, *findings) if findings else element("p", {}, "Nothing was found."),
        _table("Families, a text and its copies counted once", head, rows),
        element("p", {}, _sources(question)),
        element("p", {}, _spread(question)),
    ]
    # Subtle: browsers open a closed part for a link to what is inside, not to the part itself.
    inside = element("div", {"id": _anchor(question)}, *parts[1:])
    return element("details", {}, parts[0], inside)


def _depth(name: str, mix: Mix, with_copies: Mix) -> Sequence[Markup]:
    cells = (mix.pro, mix.con, mix.neutral, interval(mix.pro, mix.sided), with_copies.total)
    return (
        element("th", {"scope": "row"}, name),
        *(element("td", {"class": "n"}, str(cell)) for cell in cells),
    )


def _sources(question: Audited) -> str:
    groups = question.by(lambda passage: passage.source)
    told = [
        f"{name} ({mix.pro} pro, {mix.con} con, {mix.neutral} neutral)"
        for name, passages in list(groups.items())[:5]
        for mix in [mix_of(passages)]
    ]
    more = f", and {len(groups) - 5} more" if len(groups) > 5 else ""
    return f"Sources: {', '.join(told)}{more}."


def _spread(question: Audited) -> str:
    spread = question.spread
    if spread is None:
        return "Polarization Scores: not had, for the passages came without vectors."
    way = "positive is pro" if spread.sign_fixed else "which end is pro is not known"
    aligned = "" if spread.alignment is None else f", alignment {spread.alignment:+.2f}"
    return (
        f"Polarization Scores: standard deviation {spread.sd:.3f}, from {spread.low:+.3f} to "
        f"{spread.high:+.3f} (tenth to ninetieth of a hundred); the top is {spread.shown:+.3f} off "
        f"the mean of all ({way}{aligned}; the axis explains {100 * spread.explained:.0f}%)."
    )


def _method(audit: Audit) -> list[Markup]:
    settings = audit.settings
    meanings = [
        element("li", {}, element("b", {}, f"{TITLES[kind]}: "), MEANINGS[kind], ".")
        for kind in Kind
    ]
    points = [
        f"Labels are those of {audit.detector}. They err; every count here errs with them.",
        f"Near: the first {settings.near} passages that retrieval finds"
        + ("." if settings.floor is None else f", with a cosine of {settings.floor} or more."),
        "Intervals (95%, Wilson) and tests take families as independent of one another. Texts by "
        "one hand are not: read them as the least that should be doubted.",
        f"A test counts with p up to {settings.level} after correction (Benjamini and Hochberg) "
        f"over all tests of its kind, and where one side has {100 * settings.share:.0f}% or more "
        f"of the families that take a side, {settings.least} at least.",
        "One-sided is not wrong. On some questions the evidence itself is.",
        *unknowns(audit),
    ]
    return [
        element("ul", {}, *meanings),
        element("ul", {}, *(element("li", {}, point) for point in points)),
    ]


def _ordered(audit: Audit) -> list[Audited]:
    """Questions with findings first, then by how far they lean."""

    def key(question: Audited) -> tuple[bool, float]:
        mix = question.mix()
        return not question.findings, -abs(mix.net) / max(1, mix.sided)

    return sorted(audit.questions, key=key)


def _link(question: Audited) -> Markup:
    return element("a", {"href": f"#{_anchor(question)}"}, question.question.text)


def _anchor(question: Audited) -> str:
    return "q-" + "".join(c if c.isalnum() else "-" for c in question.question.id)


def _named(finding: Finding, question: Audited) -> list[Markup]:
    """The passages of a finding, best first: id, rank and source. The audit keeps no texts."""
    if not finding.passages:
        return []
    places = {p.id: (rank, p) for rank, p in enumerate(question.passages, 1)}
    rows = []
    for name in finding.passages:
        rank, passage = places.get(name, (None, None))
        known = [f"rank {rank}"] if rank else ["no longer near"]
        if passage is not None and passage.source != UNKNOWN:
            known.append(passage.source)
        rows.append(element("li", {}, element("code", {}, name), f" ({', '.join(known)})"))
    number = len(rows)
    head = f"{number} passage{'' if number == 1 else 's'} of that side"
    return [element("details", {}, element("summary", {}, head), element("ul", {}, *rows))]


def _chip(finding: Finding) -> Markup:
    side = finding.side.value
    name = "too few " + side if finding.kind is Kind.MISSING_SIDE else side
    return element("span", {"class": f"chip {side}"}, f"{finding.kind.value}: {name}")


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[Markup]]) -> Markup:
    """A table in a box that scrolls by itself, and by keyboard."""
    # A heading stands over its numbers: on the right, where they are.
    right = ['class="n"' in cell for cell in rows[0]] if rows else [False] * len(head)
    columns = [
        element("th", {"scope": "col", "class": "n" if numbers else None}, name)
        for name, numbers in zip(head, right, strict=True)
    ]
    return element(
        "div",
        {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": caption},
        element(
            "table",
            {},
            element("caption", {}, caption),
            element("thead", {}, element("tr", {}, *columns)),
            element("tbody", {}, *(element("tr", {}, *row) for row in rows)),
        ),
    )
