"""General reasons for and against an act: arguments of our own, for questions of our own.

`{act}` is what the question asks about, `{opp}` its opposite (see `judge_words`). Source: ours.
"""

from typing import Final

REASONS_FOR: Final = (
    "{act} would save a good deal of public money",
    "{act} has worked well wherever it was tried",
    "people who have lived with it would not want to go back, so {act} is a success",
    "{act} makes everyday life easier for families",
    "studies link {act} to better results",
    "{act} is only fair to those who have the least",
    "most of the people concerned want {act}",
    "{opp} costs far more than anyone admits",
    "{opp} harms people who cannot defend themselves",
    "{opp} is a habit of the past that helps nobody",
    "nothing would be lost by {act}, and a lot could be won",
    "{act} would make the place safer",
    "{act} protects health and nature",
    "the worries about {act} have not come true elsewhere",
    "there is no good reason to go on with {opp}",
    "{opp} has led to waste and to complaints",
    "{act} gives people more time and more choice",
    "experts have recommended {act} for a long time",
)
REASONS_AGAINST: Final = (
    "{act} would cost more than it brings in",
    "{act} has failed wherever it was tried",
    "{act} takes a choice away from people who are able to decide for themselves",
    "{act} makes everyday life harder for many families",
    "studies find no gain from {act}",
    "{act} would hit those who have the least",
    "most of the people concerned do not want {act}",
    "{opp} has served people well for a long time",
    "{opp} brings in money that is needed elsewhere",
    "{opp} leaves room for good sense where a rule would not",
    "{act} solves a problem that hardly exists",
    "{act} would make the place less safe",
    "{act} creates a lot of paperwork and no benefit",
    "the hopes put into {act} have not come true elsewhere",
    "{opp} is cheaper and simpler",
    "jobs would be lost through {act}",
    "{act} would be impossible to enforce",
    "experts have warned of {act} for a long time",
)
