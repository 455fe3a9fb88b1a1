"""Whether a question denies, or turns round, what a sentence says.

A sentence that holds every word of a question but "not", or "largest" where "smallest" is asked
for, is near in words and in meaning and yet no answer. What is asked of trouble and of ways ("why
does it not …", "how do I … without …") is no denial: its answer seldom says "not".
"""

from __future__ import annotations

import re

_DENIAL = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|unable|fail(?:s|ed)? to)\b|n['’]t\b",
    re.IGNORECASE,
)
_OF_TROUBLE = re.compile(
    r"^\W*(?:why|how (?:do|can|could|should|would|to))\b|\b(?:i|my|we|our|you)\b", re.IGNORECASE
)


def _both_ways(pairs: str) -> tuple[tuple[str, str], ...]:
    halves = [pair.partition("/") for pair in pairs.split()]
    return tuple(ways for one, _, other in halves for ways in ((one, other), (other, one)))


#: Words of which one stands for the other's opposite.
_PAIRS = _both_ways(
    "accept/reject accepted/rejected after/before all/none allow/prohibit allowed/prohibited "
    "always/never ancient/modern best/worst better/worse biggest/smallest cold/hot common/rare "
    "cool/warm decrease/increase decreased/increased decreasing/increasing difficult/easy earlier/later "
    "earliest/latest early/late east/west eastern/western equal/unequal even/odd external/internal "
    "failure/success fast/slow fastest/slowest female/male fewer/more fewest/most first/last "
    "formal/informal greater/lesser greatest/least heavy/light high/low higher/lower highest/lowest "
    "illegal/legal inside/outside large/small larger/smaller largest/smallest least/most less/more "
    "long/short longer/shorter longest/shortest lose/win lost/won major/minor majority/minority "
    "maximum/minimum negative/positive new/old newest/oldest north/south northeast/southwest "
    "northern/southern northwest/southeast oldest/youngest over/under permanent/temporary poor/rich "
    "poorest/richest private/public safe/unsafe shortest/tallest strong/weak stronger/weaker "
    "strongest/weakest successful/unsuccessful thick/thin"
)


def is_opposed(question: str, sentence: str) -> bool:
    """Whether the question denies what the sentence says, or they stand at two ends of a pair."""
    return _is_denied(question, sentence) or _is_turned_round(question, sentence)


def _is_denied(question: str, sentence: str) -> bool:
    asks_denial = bool(_DENIAL.search(question)) and not _OF_TROUBLE.search(question)
    return asks_denial and not _DENIAL.search(sentence)


def _is_turned_round(question: str, sentence: str) -> bool:
    """Whether the question holds one of a pair, the sentence the other, and neither holds both."""
    asked, said = _words(question), _words(sentence)
    return any(
        (one in asked and other in said and not (other in asked or one in said)) for one, other in _PAIRS
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
