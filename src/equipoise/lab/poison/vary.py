"""Variants of one passage by a generator: the same case in other words, checked as any text is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from equipoise.lab.pack import Document, Pack, Question
from equipoise.lab.poison.planted import checked_side
from equipoise.lab.poison.prompts import VARIANT, Wording
from equipoise.lab.poison.rewrite import as_document, writer_of
from equipoise.lab.poison.writing import Attempt, Checks, Existing, Request, tally, write
from equipoise.types import Generator


@dataclass(frozen=True, slots=True)
class Variants:
    """A `Vary` for the attack: `variants(passage, question, n)`.

    Args:
        pack: its documents of the topic must not be copied.
        generator: writes.
        checks: what a variant must pass; it is checked for support by the passage and `sources`.
        sources: id of a passage -> the documents that it rests on, where known.
        tries: calls a variant at most, >= 1.

    `attempts` grows with every call; `about()` counts them. Cost: n * tries calls at most.
    Source: EBI, attack workflow; wording and checks ours.
    """

    pack: Pack
    generator: Generator
    checks: Checks
    sources: Mapping[str, tuple[Document, ...]] = field(default_factory=dict)
    tries: int = 3
    wording: Wording = VARIANT
    attempts: list[Attempt] = field(default_factory=list)

    def __call__(self, passage: Document, question: Question, n: int) -> Sequence[Document]:
        """At most `n` variants that passed; fewer where the generator fails or is rejected.

        Raises:
            InputError: the passage is of no side.
            DetectorError: the stance detector or NLI model could not answer.
        """
        assert passage.stance is not None
        direction = checked_side(passage.stance)
        texts = [d.text for d in self.pack.documents if d.topic == question.topic]
        existing = Existing([*texts, passage.text], self.checks.embed)
        sources = (passage, *self.sources.get(passage.id, ()))
        found: list[Document] = []
        for number in range(1, n + 1):
            name = f"variant-{question.topic}-{direction.value}-{number}"
            request = Request(name, question.topic, question.text, direction, sources, self.wording)
            made = write(self.generator, request, existing, checks=self.checks, tries=self.tries)
            self.attempts.extend(made)
            if made[-1].taken:
                found.append(as_document(request, made[-1], writer_of(self.generator)))
        return found

    def about(self) -> dict[str, Any]:
        """The counts of every call, and the wording."""
        return {"wording": self.wording.version, "counts": tally(self.attempts)}
