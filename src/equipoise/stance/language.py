"""Whether an English text stands there at all: a model of one language labels any other as well.

A pair model gives a text in a language that it never saw a label, with confidence, that means
nothing. English words are mostly whole in an English vocabulary, others fall into pieces; and an
English sentence is held together by a few dozen small words. A text that lacks both is not read.
Either sign alone would err: medical English falls into pieces too, and a headline has no small
words.

Of 37,000 English texts of 20 pieces and more it takes about 10 for another language, one of them
Spanish indeed (0.9% of short medical texts); of texts of 40 pieces and more in ten other languages
in Latin letters it tells 93 to 100%, of Finnish and Hungarian ones with English terms 75 and 87%,
and all in other letters. Short texts in Latin letters often pass (benchmarks/RESULTS.md).

Source: ours.
"""

import re
from collections.abc import Callable

LANGUAGE_VERSION = 1
"""Part of the name of a detector that has this check: cached labels are for one reading."""

# Not \w: it leaves out the vowel signs that hold Thai or Hindi words together.
_WORDS = re.compile(r"[^\s\d!-/:-@\[-`{-~\x80-\xbf\u2000-\u206f]+")
_MOST_WORDS = 300
_MOST_CHARACTERS = 3_000
_SMALL = frozenset(
    _WORDS.findall(
        "the of and to in is that for it with as was on are be by this from or an not have has had "
        "at which but they their would should does do did can will more than been were there if "
        "when who what all we you he she no its"
    )
)


def is_foreign(text: str, pieces_of: Callable[[str], int]) -> bool:
    """True when `text` is hardly English.

    `pieces_of` counts the tokens of a text, an unknown one as often as it has characters. Looks at
    the first 300 words. Digits and signs do not count, so tables, links and code are read.
    Cost: one tokenization of 3,000 characters at most.
    """
    found = _WORDS.findall(text[:_MOST_CHARACTERS])[:_MOST_WORDS]
    words = [word for word in found if any(map(str.isalpha, word))]
    if not words:
        return False
    pieces, small = pieces_of(" ".join(words)), sum(word.lower() in _SMALL for word in words)
    if pieces < 12:
        return not any(map(str.isascii, "".join(words)))  # a few Latin words tell nothing
    if pieces < 20:
        return small == 0 and pieces >= 1.7 * len(words)
    return small < 0.12 * len(words) and pieces > (1.3 + 4 / pieces) * len(words)
