"""A debate with its arguments, and the small changes that let its words stand in a sentence."""

import re
from dataclasses import dataclass, replace

from equipoise.errors import InputError
from equipoise.train.judge_reasons import REASONS_AGAINST, REASONS_FOR


@dataclass(frozen=True, slots=True)
class Subject:
    """A debate: its question, what it asks about, and arguments on both sides.

    Attributes:
        topic: slug.
        question, claim: the question, and the statement that is "yes" to it.
        subject, act: what the debate is about, and what the question asks about; `act` is empty
            where that cannot be named ("Does X bring more harm than good?").
        opposite_question: a question to which the claim is "no".
        opposite_act: what is done where the answer is "no"; empty as `act` is.
        pros, cons: arguments for "yes" and for "no".
        facts: sentences about the subject that take no side.
        strays: texts without a stance on this: passages about something else.
        others: arguments of other debates.
    """

    topic: str
    question: str
    claim: str
    subject: str
    act: str
    opposite_question: str
    opposite_act: str
    pros: tuple[str, ...] = ()
    cons: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def slots(self) -> dict[str, str]:
        """What stands in the places of a frame."""
        claim = small(self.claim)
        filled = {"np": self.subject, "act": self.act, "opp": self.opposite_act}
        capitals = {key.capitalize(): big(value) for key, value in filled.items()}
        return {**filled, **capitals, "claim": claim, "denial": denial(claim)}


def small(text: str) -> str:
    """The text as part of a sentence: no mark at its end, a small first letter where that is safe.

    >>> small("We should ban whaling."), small("I agree"), small("TV is bad")
    ('we should ban whaling', 'I agree', 'TV is bad')
    """
    part = text.strip().rstrip(".?! ")
    first = part.split(" ", 1)[0]
    if re.match(r"I\b", part) or (len(first) > 1 and not first[1:].islower()):
        return part
    return part[:1].lower() + part[1:]


def big(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def denial(claim: str) -> str:
    """The statement turned round.

    Raises:
        InputError: its verb is none of those that the table of debates uses.

    >>> denial("we should ban whaling"), denial("homeopathy brings more harm than good")
    ('we should not ban whaling', 'homeopathy does not bring more harm than good')
    """
    for found, put in _NOTS:
        if found in claim:
            return claim.replace(found, put, 1)
    raise InputError(f"a claim must have one of {[f for f, _ in _NOTS]}; got {claim!r}")


_NOTS = (
    (" should ", " should not "),
    (" brings more ", " does not bring more "),
    (" bring more ", " do not bring more "),
    (" is ", " is not "),
)


def ended(sentence: str) -> str:
    """The sentence with a mark at its end.

    >>> ended("It is so"), ended("Is it so?")
    ('It is so.', 'Is it so?')
    """
    return sentence + ("" if sentence[-1:] in ".?!" else ".")


def split(text: str) -> list[str]:
    """The sentences of a plain text, cut after marks that a space and a capital follow."""
    parts = re.split(r"(?<=[.?!])\s+(?=[A-Z\"'])", text.strip())
    return [part for part in parts if part]


def with_reasons(subject: Subject) -> Subject:
    """The debate with general reasons of our own for arguments."""
    slots = subject.slots
    return replace(
        subject,
        pros=tuple(reason.format(**slots) for reason in REASONS_FOR),
        cons=tuple(reason.format(**slots) for reason in REASONS_AGAINST),
    )
