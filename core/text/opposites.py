"""Opposites: a sentence may share every word with a question and still be no answer.

It lacks the "not", or says "largest" where the question says "smallest".
"""

from __future__ import annotations

import re

_DENIAL = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|unable|fail(?:s|ed)? to)\b|n['’]t\b",
    re.IGNORECASE,
)
# "Why does it not …" and "how do I … without …": their answers seldom say "not".
_OF_TROUBLE = re.compile(
    r"^\W*(?:why|how (?:do|can|could|should|would|to))\b|\b(?:i|my|we|our|you)\b", re.IGNORECASE
)


_PAIRS = (
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
_OPPOSITES: dict[str, list[str]] = {}
for _one, _other in (pair.split("/") for pair in _PAIRS.split()):
    _OPPOSITES.setdefault(_one, []).append(_other)
    _OPPOSITES.setdefault(_other, []).append(_one)


def is_opposed(question: str, sentence: str) -> bool:
    """True if question and sentence contradict: one has a "not", or one word of a pair and the sentence the other."""
    asks_denial = bool(_DENIAL.search(question)) and not _OF_TROUBLE.search(question)
    if asks_denial and not _DENIAL.search(sentence):
        return True
    asked, said = (set(re.findall(r"\w+", text.lower())) for text in (question, sentence))
    return any(
        other in said and other not in asked and one not in said
        for one in asked & _OPPOSITES.keys()
        for other in _OPPOSITES[one]
    )
