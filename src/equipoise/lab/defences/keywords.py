"""The words and phrases of an answer that carry something, without a tagger."""

import re
from typing import Final

_TOKEN = re.compile(r"[^\W_]+(?:[-'\N{RIGHT SINGLE QUOTATION MARK}][^\W_]+)*|[^\w\s]")

FUNCTION_WORDS: Final = frozenset(
    """
    a about above after again against all also although am among an and any are as at be because
    been before being below between both but by can cannot could did do does doing down during each
    either else even every few for from further had has have having he her here hers him his how
    however i if in into is it its itself just may me might more most much must my neither no nor
    not of off on once only or other our ours out over own perhaps quite rather same shall she
    should since so some still such than that the their theirs them then there therefore these they
    this those though through thus to too toward towards under unless until up upon us very was we
    were what whatever when where whether which while who whom whose why will with within without
    would yes yet you your yours
    """.split()  # noqa: SIM905  (a list of 170 quoted words is harder to read)
)


def keywords_of(text: str) -> frozenset[str]:
    """Content words, and runs of two or more of them that nothing interrupts, case folded.

    A content word has a letter or digit and is no English function word; a function word and any
    punctuation end a run. Source: ours, after the keyword sets of Xiang et al. 2024.

    >>> sorted(keywords_of("The carbon tax is fair."))
    ['carbon', 'carbon tax', 'fair', 'tax']
    """
    found: set[str] = set()
    run: list[str] = []
    for token in [*_TOKEN.findall(text.casefold()), "."]:
        if token[0].isalnum() and token not in FUNCTION_WORDS:
            run.append(token)
            continue
        found.update(run)
        if len(run) > 1:
            found.add(" ".join(run))
        run = []
    return frozenset(found)
