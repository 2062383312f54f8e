"""RobustRAG: one answer a document, then only what several of them say."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from equipoise.errors import InputError
from equipoise.lab.defences.base import Case, Defended, K
from equipoise.lab.defences.keywords import keywords_of
from equipoise.prompt import Template, render_prompt
from equipoise.types import Answer, Candidate, Generator, Outcome, is_number

UNKNOWN: Final = "I don't know"
ABSTAINED: Final = "abstained"

# {instruction} is asked for by every Template; these two are rendered without it.
ALONE: Final = Template(
    "robustrag-alone-1",
    "You are given one document and a question.\n\n{documents}\n\nQuestion: {question}\n"
    "{instruction}\n"
    "Answer from this document only, in at most three sentences. If it holds no answer, write "
    f"exactly: {UNKNOWN}\nAnswer:",
    "",
)
TOGETHER: Final = Template(
    "robustrag-together-1",
    "Several readers each saw one document. These are the words and phrases on which enough of "
    "them agreed:\n\n{documents}\n\nQuestion: {question}\n{instruction}\n"
    "Answer the question from these words and phrases where they are to the point.\nAnswer:",
    "",
)


@dataclass(frozen=True, slots=True)
class IsolatedAnswers:
    """One answer a document, none of which saw another document. `answers` are in their order."""

    question: str
    answers: tuple[Answer, ...]

    @property
    def usable(self) -> tuple[Answer, ...]:
        """Those that answered and did not abstain."""
        return tuple(a for a in self.answers if a.outcome is Outcome.ANSWERED and not abstains(a))

    @property
    def counts(self) -> dict[str, int]:
        """How many of each outcome, all of them named; "abstained" is not among "answered"."""
        found = Counter(
            ABSTAINED if a.outcome is Outcome.ANSWERED and abstains(a) else a.outcome.value
            for a in self.answers
        )
        return {name: found[name] for name in (*(o.value for o in Outcome), ABSTAINED)}


@dataclass(frozen=True, slots=True)
class AggregatedAnswer:
    """What the isolated answers agree on, and the answer from it.

    `keywords` maps a word or phrase to how many answers have it, most first. `answer` is None where
    there was nothing to aggregate: too few usable answers, or no keyword that enough of them share.
    """

    isolated: IsolatedAnswers
    keywords: dict[str, int]
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class RobustRagDefence:
    """Isolate, then aggregate, by keywords.

    The original asks the model once a document, gathers the keywords of the answers, keeps those
    that at least min(`count`, `share` * usable answers) of them have, and asks once more with
    these keywords in place of the documents. A few planted documents can then only plant what
    others say too; the authors prove it for small numbers. As a selection it is the top `k`;
    `aggregate` tells a runner to call `respond` in place of one prompt.

    Simplified: keywords are words that are no function words, and runs of them (the original drops
    verbs too, by a tagger); no certificate is computed; the variant on decoding is left out. The
    numbers 0.3 and 3 are the authors' program's. The wording of the prompts is ours.

    Cost: k + 1 calls of the generator a question. Not for contested questions with one-sided
    evidence: when most documents are of one side, so are the words that they share.

    Raises:
        InputError: k or count < 1, or share not in (0, 1].

    Source: Xiang et al. 2024 (arXiv 2405.15556) and SP 2.2.2.
    """

    label: str = "robustrag"
    k: int = K
    share: float = 0.3
    count: int = 3
    aggregate: bool = True

    def __post_init__(self) -> None:
        for name in ("k", "count"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"RobustRagDefence.{name} must be an int >= 1, got {value!r}")
        if not is_number(self.share) or not 0.0 < self.share <= 1.0:
            raise InputError(f"RobustRagDefence.share must lie in (0, 1], got {self.share!r}")

    @property
    def name(self) -> str:
        """`robustrag: keywords(5, share 0.3, count 3)`."""
        return f"{self.label}: keywords({self.k}, share {self.share:g}, count {self.count})"

    def defend(self, case: Case) -> Defended:
        """The first `k` documents: what happens to them happens at the answer."""
        return Defended(tuple(range(min(self.k, len(case.candidates)))))

    def respond(
        self, generator: Generator, question: str, candidates: Sequence[Candidate]
    ) -> AggregatedAnswer:
        """The answer from what the first `k` documents' isolated answers agree on."""
        isolated = isolate(generator, question, candidates[: self.k])
        return combine(generator, isolated, share=self.share, count=self.count)


def abstains(answer: Answer) -> bool:
    """True when the text says that it does not know."""
    text = answer.text.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return UNKNOWN.casefold() in text or "i do not know" in text


def isolate(
    generator: Generator, question: str, candidates: Sequence[Candidate]
) -> IsolatedAnswers:
    """One answer for each candidate alone; failures stay in the list as their outcome."""
    prompts = [
        render_prompt(question, [candidate.text], even_handed=False, template=ALONE)
        for candidate in candidates
    ]
    return IsolatedAnswers(question, tuple(generator.generate(prompt) for prompt in prompts))


def combine(
    generator: Generator, isolated: IsolatedAnswers, *, share: float = 0.3, count: int = 3
) -> AggregatedAnswer:
    """One more answer, from the keywords that enough of the isolated answers have."""
    agreed = shared_keywords([a.text for a in isolated.usable], share=share, count=count)
    if not agreed:
        return AggregatedAnswer(isolated, agreed, None)
    prompt = render_prompt(
        isolated.question, ["; ".join(agreed)], even_handed=False, template=TOGETHER
    )
    return AggregatedAnswer(isolated, agreed, generator.generate(prompt))


def shared_keywords(texts: Sequence[str], *, share: float, count: int) -> dict[str, int]:
    """Keyword -> texts that have it, for those in at least min(count, share * texts) of them.

    Most texts first, then longer, then by alphabet.

    >>> shared_keywords(["It is Paris.", "Paris, of course", "Rome"], share=0.6, count=3)
    {'paris': 2}
    """
    found = Counter(word for text in texts for word in keywords_of(text))
    least = min(count, share * len(texts))
    # Rounding: 0.28 * 25 is 7.000000000000001, and seven texts are enough.
    kept = [(word, number) for word, number in found.items() if number >= least - 1e-9]
    return dict(sorted(kept, key=lambda pair: (-pair[1], -len(pair[0]), pair[0])))
