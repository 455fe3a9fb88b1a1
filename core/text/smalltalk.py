"""Words of conversation that ask nothing of any document, and what to say to them."""

from __future__ import annotations

import re


def small_talk(text: str) -> str | None:
    """The reply to a greeting, thanks or goodbye; None when the text asks for more."""
    return next((reply for pattern, reply in _SMALL_TALK if pattern.fullmatch(text)), None)


_SMALL_TALK: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"\W*(?:(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening))"
            r"(?:[\s,]+(?:there|all|everyone|everybody|team|folks|again|bot|footnote))*\W*)+",
            re.IGNORECASE,
        ),
        "Hello. Ask me something about your documents.",
    ),
    (
        re.compile(
            r"\W*(?:(?:many thanks|thanks|thank you|thx|ty|cheers|great|perfect|cool|nice|ok(?:ay)?|got it)"
            r"(?:[\s,]+(?:a lot|so much|very much|again|all|everyone|for (?:the|your) (?:help|answer)|that helps))*\W*)+",
            re.IGNORECASE,
        ),
        "You are welcome.",
    ),
    (
        re.compile(r"\W*(?:(?:who|what) are you|what can you do|help)\W*", re.IGNORECASE),
        (
            "I answer questions from your documents, with a footnote for every claim. When they are not enough, "
            "I ask before I search the web."
        ),
    ),
    (
        re.compile(
            r"\W*(?:(?:bye|goodbye|see you)(?:[\s,]+(?:all|everyone|later|soon|tomorrow))*\W*)+",
            re.IGNORECASE,
        ),
        "Goodbye.",
    ),
)
