"""Words as the eye reads them: one alphabet, nothing invisible, nothing encoded.

Only to judge them by; what is shown is what was written. The letters are those of Unicode's confusables
(UTS 39) that look like Latin ones and occur in the names of sites.
"""

from __future__ import annotations

import re
import unicodedata
from html import unescape
from urllib.parse import unquote

#: Latin letters, each before those of other scripts that look like it.
_ALIKE = (
    "a\u0430\u03b1\u0251", "b\u044c\u0432\u03b2", "c\u0441\u03f2", "d\u0501", "e\u0435\u03b5\u0454", "f\u0192", "g\u0581\u0261",
    "h\u04bb\u043d\u0570", "i\u0456\u03b9\u0131", "j\u0458\u03f3", "k\u043a\u03ba", "l\u04cf\u217c\u01c0", "m\u043c",
    "n\u043f\u03b7\u0578", "o\u043e\u03bf\u0585\u1d0f", "p\u0440\u03c1", "q\u051b\u0566", "r\u0433\u1d26", "s\u0455\ua731",
    "t\u0442\u03c4", "u\u057d\u03c5\u1d1c", "v\u03bd\u0475\u1d20", "w\u051d\u03c9\u0461", "x\u0445\u03c7", "y\u0443\u03b3", "z\u1d22",
    ".\u3002\uff0e\uff61\u2024\u00b7\u2027\u22c5\u0387\ua4f8\u0701\u0702\u06d4\u2022\u2219\u2e31\ua78f\u30fb\uff65", "/\u2044\u2215\u29f8\u2571\\",
)  # fmt: skip
_LETTERS = str.maketrans({other: alike[0] for alike in _ALIKE for other in alike[1:]})
_UNSEEN = frozenset(("Cf", "Cc", "Mn", "Me"))
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")  # letters that show nothing
_BETWEEN = re.compile(
    r"(?<![:/])//+|[|\u00a6,;()\[\]{}<>]+"
)  # what a reader takes for the end of one address
_ONE_SLASH = re.compile(r"(?<=http|ttps):/(?!/)")  # which browsers mend
_LEADING = re.compile(r"(?<!\S)[@/.]+(?=\w)")  # what stands before a name is not read as part of it


def read_as(text: str) -> str:
    """What a reader takes the words for, in lower case."""
    plain = unicodedata.normalize("NFKD", unquote(unescape(text)).translate(_LETTERS))
    shown = plain.casefold().translate(_LETTERS)
    seen = (sign for sign in shown if unicodedata.category(sign) not in _UNSEEN and sign not in _FILLERS)
    return _LEADING.sub(" ", _ONE_SLASH.sub("://", _BETWEEN.sub(" ", "".join(seen))))
