"""The debates that answers are composed for: our table of them, joined with people's arguments."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace

from equipoise.train.data import OWN, Row
from equipoise.train.judge_subject import Subject, with_reasons


def read_table() -> list[dict[str, str]]:
    """The debates: slug, subject, act, its opposite; question and claim too for our own."""
    with (OWN / "judge_topics.tsv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def read_facts() -> dict[str, tuple[str, ...]]:
    """Sentences of our own about a debate's subject that take no side, by slug."""
    with (OWN / "judge_facts.tsv").open(encoding="utf-8", newline="") as lines:
        table = csv.DictReader(lines, delimiter="\t")
        return {line["topic"]: (line["first"], line["second"]) for line in table}


def subjects(
    table: Sequence[Mapping[str, str]], arguments: Mapping[str, Sequence[Row]]
) -> list[Subject]:
    """The table's debates that have arguments, with these and with facts."""
    facts = read_facts()
    made = []
    for line in table:
        rows = arguments.get(line["topic"], [])
        if rows:
            made.append(
                replace(
                    _own(line),
                    question=rows[0].question,
                    claim=rows[0].claim,
                    pros=tuple(row.text for row in rows if row.stance == "pro"),
                    cons=tuple(row.text for row in rows if row.stance == "con"),
                    facts=facts[line["topic"]],
                )
            )
    return made


def _own(line: Mapping[str, str]) -> Subject:
    return Subject(
        topic=line["topic"],
        question=line["question"],
        claim=line["claim"],
        subject=line["subject"],
        act=line["act"],
        opposite_question=line["opposite_question"],
        opposite_act=line["opposite_act"],
    )


def own_subjects(table: Sequence[Mapping[str, str]]) -> list[Subject]:
    """The table's debates that have a question of our own, with general reasons for arguments."""
    return [with_reasons(_own(line)) for line in table if line["question"]]
