"""Taking a plain "not" out of an English question or statement, and only a plain one.

Three forms are read:

1. question: AUXILIARY SUBJECT not VERB ... ?  ("Should X not be legal?", "Is X not a good idea?")
2. statement: SUBJECT AUXILIARY not ...  ("X should not be legal", "Homework does not help")
3. the same as 2 with a contraction or "cannot"

and 2 and 3 also after "Is it true that", "Do you think that", "This house believes that".

A "not" that moved to the front ("Isn't X cruel?", "Is it not cruel?") expects yes and asks the
positive question already; one that stayed behind the subject negates it (Romero and Han 2004, "On
negative yes/no questions"). So the first kind is left alone, like every text with a second
negation, a quotation, a clause that could own the "not", or an alternative. A wrong rewrite swaps
pro and con of every document; a missed one swaps none.

Source: ours. The word lists are a version of the detector's behaviour: `NEGATION_VERSION`.
"""

import re
from itertools import pairwise

NEGATION_VERSION = 1


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DEONTIC = frozenset({"should", "must", "shall", "ought"})
_FINITE = _DEONTIC | _words("can could would will is are was were am does did has had")
_AUXILIARIES = _FINITE | frozenset({"do", "have"})
_MODALS = _DEONTIC | _words("can could will would")
_BE = _words("is are was were")
_HAVE = _words("has have had")
_PRONOUNS = _words("it they we you i he she this that these those there")
_NO_SUBJECT_END = _AUXILIARIES | _words("may might need to and or the a be")
# "may not", "might not" and "need not" are no opposites of "may", "might" and "need": left alone.
_CONTRACTED = {
    **{f"{word}n't": word for word in _AUXILIARIES - {"can", "will", "shall", "am"}},
    "can't": "can",
    "cannot": "can",
    "won't": "will",
    "shan't": "shall",
}
_FRAME = re.compile(
    r"(?i)^((is it|it is) (true|right|correct) that|(this house|i|we) (believes?|thinks?)( that)?"
    r"|do you (think|believe|agree)( that)?) (?=\S)"
)
_QUOTED = re.compile("[\"\u201c\u201d\u00ab]|(?<!\\w)['\u2018](?=\\w)")

# Before a "not", these open a clause that may own it; the others turn the
# sense wherever they stand.
_RELATIVE_WORDS = _words("who whom whose which that what where whether why how than so")
_TURNING_WORDS = _words(
    "if unless until because since although though but or nor when while whereas except"
)
_NEGATIVE_WORDS = _words(
    "no not never nobody none nothing nowhere neither without hardly scarcely barely rarely"
)
# After "not", these make it a negation of something else than the verb.
_NOT_PLAIN = _words(
    "only just merely simply solely necessarily always all every everyone everything enough even "
    "much many more most less least yet also both entirely completely fully totally wholly exactly "
    "really too very quite long later far"
)
_NEVER_A_VERB = _NOT_PLAIN | _words(
    "a an the this that these those any some one in on of at by for from to with under over about "
    "as into within his her its their our my your and good bad able free safe sure ready legal "
    "illegal right wrong new old young rich poor fit eligible"
)
_VERBS = _words(
    "abandon abolish accept act adopt affect aim allow amend apply arm arrest ask attack attend "
    "avoid back ban be become believe benefit block boycott break bring build buy call cancel "
    "care carry cause cede censor change charge choose close collect come commit compete "
    "consider continue control cooperate count cover create cut deal decide defend define delay "
    "deny depend deploy deport detain develop disband disclose discourage do drill drink drive "
    "drop eat edit elect employ enact encourage end enforce engage ensure enter establish "
    "exceed exist expand expect expel explore export express extend face favor favour feed "
    "fight finance fine focus follow force fund get give go govern grade grant grow guarantee "
    "hate have help hire hold host hunt impose improve incarcerate include increase influence "
    "inherit interfere intervene introduce invade invest investigate join judge keep kill last "
    "lead learn leave let lie lift limit live lose lower maintain make manipulate marry matter "
    "meet move need negotiate obey offer oppose overturn own participate pass pay permit play "
    "police postpone practice practise praise prevent produce profit prohibit promote protect "
    "prove provide pull punish put qualify question raise reach read receive reduce refuse "
    "regain regulate reject rely remain remove rent repeal replace require resign resist "
    "restrict retain return reveal rule run save say search secede see seek sell send serve set "
    "shame share shoot show sign smoke spank speak spend stay step stop strike study subsidise "
    "subsidize succeed suffer support surveil take talk tax teach tell test think torture track "
    "trade train travel treat try turn undergo understand use vaccinate vote wait wear withdraw "
    "work worship"
)
_DETERMINERS = _words("a an the our their its his her my your")
_JUDGEMENTS = _words(
    "acceptable bad beneficial better cruel dangerous democratic effective ethical fair good "
    "harmful healthy humane illegal immoral important justified legal moral natural necessary "
    "possible right safe sustainable true unethical unfair useful valid worth wrong"
)
_PARTICIPLES = _words("been become brought come cost done gone grown had led lost made won")
_VERB_ENDS = ("ise", "ize", "ify")
# Of participles, adverbs and adjectives.
_NOT_VERB_ENDS = tuple(_words("ed ing ly able ible ful ous al ive ent ant ic ary less"))


def without_negation(question: str) -> str | None:
    """The positive form of `question`, or None when there is no plain negation to take out.

    `question` has single spaces. Cost O(number of words).

    >>> without_negation("Homework does not help pupils.")
    'Homework does help pupils.'
    >>> without_negation("Aren't zoos cruel?") is None
    True
    """
    frame = _FRAME.match(question)
    head = question[: frame.end()] if frame else ""
    words = question[len(head) :].split(" ")
    bare = [_bare(word) for word in words]
    asks = not frame and bare[0] in _AUXILIARIES
    if _QUOTED.search(question) or not _is_one_clause(words, bare, asks=asks):
        return None
    if asks:
        kept = _from_question(words, bare)
    elif frame or not question.endswith("?"):
        kept = _from_statement(words, bare)
    else:
        kept = None
    return None if kept is None else head + " ".join(kept)


def _bare(word: str) -> str:
    """The word in lower case, without punctuation at its ends, with a straight apostrophe."""
    return word.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").strip(".,;:!?()[]'")


def _is_one_clause(words: list[str], bare: list[str], *, asks: bool) -> bool:
    """One sentence with exactly one negative word, which belongs to its main clause."""
    negatives = [
        at for at, word in enumerate(bare) if word in _NEGATIVE_WORDS or word in _CONTRACTED
    ]
    if len(negatives) != 1:
        return False
    before, after = set(bare[: negatives[0]]), set(bare[negatives[0] + 1 :])
    # After should, a bare "not be" is the main verb's: a relative clause would have "are not",
    # and an "or" before it joins two subjects unless a verb stands there too.
    main_be = asks and bare[0] in _MODALS and bare[negatives[0] + 1 : negatives[0] + 2] == ["be"]
    joined = main_be and not _VERBS & before
    if _TURNING_WORDS & after or (_TURNING_WORDS & before and not joined):
        return False
    if _RELATIVE_WORDS & before and not main_be:
        return False
    # "as this harms them" gives a reason; "as charities" does not.
    reason = any(
        word == "as" and then in {"it", "this", "that", "they", "these", "we"}
        for word, then in pairwise(bare)
    )
    inner_end = any(word.endswith((".", "?", "!", ";", ":")) for word in words[:-1])
    tag = any(word.endswith(",") for word in words) and bare[-1] in {"it", "they", "we", "right"}
    return not (reason or inner_end or tag)


def _from_question(words: list[str], bare: list[str]) -> list[str] | None:
    """Form 1. The "not" must stand before the main verb, with a subject before it."""
    opener = bare[0]
    at = bare.index("not") if "not" in bare else 0
    if at < 2 or words[at].lower() != "not" or bare[at - 1] in _NO_SUBJECT_END:
        return None
    if words[at - 1].endswith(","):
        return None
    if opener in _DEONTIC:
        sole = sum(word in _DEONTIC for word in bare) == 1
    else:
        sole = not _FINITE & set(bare[1:]) and not (at == 2 and bare[1] in _PRONOUNS)
    after = at + 1
    if opener == "ought" and bare[after : after + 1] == ["to"]:
        after += 1
    if opener in _BE:
        plain = _is_complement(bare[after:])
    elif opener in _HAVE:
        plain = bool(bare[after:]) and (bare[after].endswith("ed") or bare[after] in _PARTICIPLES)
    else:
        plain = _is_main_verb(bare, after)
    return words[:at] + words[at + 1 :] if sole and plain else None


def _is_complement(rest: list[str]) -> bool:
    """True when `rest` reads as what a subject is said to be: "a good idea", "safe for pupils".

    "Are drugs not safe for children banned?" and "Are pupils not fluent excused?" have their verb
    at the end, and the "not" belongs to the subject.
    """
    if not rest or rest[0] in _NOT_PLAIN:
        return False
    if len(rest) == 1:
        return rest[0] not in _NEVER_A_VERB - _DETERMINERS or rest[0] in _JUDGEMENTS
    return rest[0] in _DETERMINERS | _JUDGEMENTS and not rest[-1].endswith("ed")


def _is_main_verb(bare: list[str], at: int) -> bool:
    """True when the word at `at` reads as the base form of the clause's main verb.

    A word in no list counts only when no known verb follows it: "Should pupils not fluent in
    English take the test?" has its verb in "take".
    """
    if at >= len(bare):
        return False
    word = bare[at]
    if word in _VERBS or word.endswith(_VERB_ENDS):
        return True
    if word in _NEVER_A_VERB or word.endswith(_NOT_VERB_ENDS):
        return False
    return not any(later in _VERBS for later in bare[at + 1 :])


def _from_statement(words: list[str], bare: list[str]) -> list[str] | None:
    """Forms 2 and 3: the auxiliary keeps its place, the negation after it or in it goes."""
    finite = sum(word in _FINITE or word in _CONTRACTED for word in bare)
    at = next(i for i, word in enumerate(bare) if word in _NEGATIVE_WORDS or word in _CONTRACTED)
    plain = bare[at + 1 : at + 2] and bare[at + 1] not in _NOT_PLAIN
    # With two finite verbs ("is cheap and is not safe") the "not" may own only one of them.
    if not plain or finite > 1 or at < 1:
        return None
    if bare[at] in _CONTRACTED:
        return [*words[:at], _CONTRACTED[bare[at]], *words[at + 1 :]]
    if at < 2 or words[at].lower() != "not" or bare[at - 1] not in _AUXILIARIES:
        return None
    return words[:at] + words[at + 1 :]
