"""Auditing a corpus: on which questions is it one-sided, since when, and by which sources?

audit -> Audit -> write_audit, write_report; screen keeps what would tilt it from coming in
"""

from equipoise.audit.files import header, read_audit, record, write_audit
from equipoise.audit.ingest import Mode, Reason, Screening, screen
from equipoise.audit.propose import Proposal, propose
from equipoise.audit.questions import read_questions
from equipoise.audit.records import (
    Audit,
    Audited,
    Fields,
    Finding,
    Kind,
    Passage,
    Question,
    Settings,
    Spread,
)
from equipoise.audit.report import report, write_report
from equipoise.audit.run import again, audit
from equipoise.audit.source import Source, open_source
from equipoise.audit.thresholds import failures, parse_limits
from equipoise.audit.words import held_row, sentence, summary

__all__ = [
    "Audit",
    "Audited",
    "Fields",
    "Finding",
    "Kind",
    "Mode",
    "Passage",
    "Proposal",
    "Question",
    "Reason",
    "Screening",
    "Settings",
    "Source",
    "Spread",
    "again",
    "audit",
    "failures",
    "header",
    "held_row",
    "open_source",
    "parse_limits",
    "propose",
    "read_audit",
    "read_questions",
    "record",
    "report",
    "screen",
    "sentence",
    "summary",
    "write_audit",
    "write_report",
]
