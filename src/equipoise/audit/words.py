"""Findings in words, for the terminal, the report and whoever must look into a held document."""

from typing import Any, Final

from equipoise.audit.chance import Mix
from equipoise.audit.ingest import Screening
from equipoise.audit.records import UNKNOWN, Audit, Finding, Kind
from equipoise.render.cleaning import clip, one_line
from equipoise.types import Candidate

TITLES: Final = {
    Kind.ONE_SIDED: "One side leads",
    Kind.MISSING_SIDE: "A side is missing",
    Kind.SHOWN: "The top leans",
    Kind.SOURCE: "A source leans",
    Kind.MONTH: "A month leans",
    Kind.COPIES: "Copies at the top",
    Kind.SHIFT: "Shift since the earlier audit",
}
MEANINGS: Final = {
    Kind.ONE_SIDED: "among all that is near, one side has far more than even chance gives",
    Kind.MISSING_SIDE: "a balanced selection could not fill the seats of one side",
    Kind.SHOWN: "what retrieval shows first leans farther than what is near",
    Kind.SOURCE: "one source gives half of a side or more, and leans farther than the rest",
    Kind.MONTH: "what arrived in one month leans farther than the rest",
    Kind.COPIES: "copies of one text take several of the first places",
    Kind.SHIFT: "what came or went since the earlier audit leans farther than the rest",
}


def sentence(finding: Finding) -> str:
    """What was found, with its numbers, as a sentence.

    >>> from equipoise.types import Stance
    >>> found = Finding(Kind.SHIFT, Stance.PRO, "arrived", Mix(7, 0, 1), Mix(20, 14, 60), 1e-4, .002)
    >>> sentence(found)
    'Of what arrived, 7 pro, 0 con, 1 neutral (before and with it: 20 pro, 14 con, 60 neutral; p 0.0020)'
    """  # noqa: E501  # a doctest's line cannot be broken
    mix, against = counted(finding.mix), counted(finding.against)
    chance = "" if finding.adjusted is None else f"p {_p(finding.adjusted)}"
    p = chance and f"; {chance}"
    match finding.kind:
        case Kind.ONE_SIDED:
            return f"Near it: {mix} ({chance})"
        case Kind.MISSING_SIDE:
            return f"Too few {finding.side.value} in the {finding.group}: {mix}"
        case Kind.COPIES:
            return f"{finding.mix.total} {finding.group} say {finding.side.value} at the top"
        case Kind.SHIFT:
            when = "before and with it" if finding.group == "arrived" else "before"
            verb = "arrived" if finding.group == "arrived" else "went"
            return f"Of what {verb}, {mix} ({when}: {against}{p})"
        case Kind.SHOWN:
            return f"In the {finding.group}: {mix} (near: {against}{p})"
        case Kind.SOURCE:
            return f"From {one_line(finding.group)}: {mix} (all sources: {against}{p})"
        case Kind.MONTH:
            return f"Arrived in {finding.group}: {mix} (all months: {against}{p})"


def counted(mix: Mix) -> str:
    """`7 pro, 0 con, 1 neutral`."""
    return f"{mix.pro} pro, {mix.con} con, {mix.neutral} neutral"


def summary(audit: Audit) -> str:
    """The audit on a few lines: how much was read, what was found, and where."""
    passages = sum(len(q.passages) for q in audit.questions)
    lines = [
        f"{len(audit.questions)} questions, {passages} passages near them, read by "
        f"{audit.detector}",
        f"Corpus: {one_line(audit.corpus)}",
    ]
    lines += unknowns(audit)
    for kind in Kind:
        found = audit.with_finding(kind)
        if found:
            lines.append(f"\n{TITLES[kind]}: {len(found)} of {len(audit.questions)} questions")
        for question in found:
            text = clip(one_line(question.question.text), 70)
            for finding in (f for f in question.findings if f.kind is kind):
                lines.append(f"  {text}\n    {sentence(finding)}")
    if not any(question.findings for question in audit.questions):
        lines.append("\nNothing was found.")
    return "\n".join(lines)


def unknowns(audit: Audit) -> list[str]:
    """A sentence for each of source, language and month that passages do not tell."""
    everything = [p for q in audit.questions for p in q.passages]
    said = []
    for name, fields in (
        ("source", audit.settings.fields.source),
        ("language", audit.settings.fields.language),
        ("month", audit.settings.fields.arrived),
    ):
        missing = sum(getattr(p, name) == UNKNOWN for p in everything)
        if missing:
            keys = " or ".join(fields) or "no key"
            said.append(
                f"The {name} of {missing} of {len(everything)} passages is unknown: their metadata "
                f"have no {keys}, or nothing that can be read as one."
            )
    return said


def screened(result: Screening) -> str:
    """What became of a batch, on a few lines."""
    total = len(result.accepted) + len(result.held)
    lines = [f"{len(result.accepted)} of {total} documents accepted, {len(result.held)} held"]
    for question, finding in result.findings:
        lines.append(f"  {clip(one_line(question.text), 70)}\n    {sentence(finding)}")
    if result.reasons and not result.held:
        lines.append("  Would be held: " + ", ".join(map(one_line, result.reasons)))
    return "\n".join(lines)


def held_row(result: Screening, document: Candidate, row: Any) -> dict[str, Any]:
    """A held document for a file: the row as it came, and the reasons."""
    reasons = [
        {
            "question": reason.question.text,
            "side": reason.finding.side.value,
            "rank": reason.rank,
            "p": round(reason.finding.adjusted or 0.0, 6),
            "why": sentence(reason.finding),
        }
        for reason in result.reasons.get(document.id, ())
    ]
    if not reasons:
        reasons = [{"why": "strict: another document of the batch would tilt a question"}]
    return {"id": document.id, "reasons": reasons, "document": row}


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
