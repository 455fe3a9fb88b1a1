"""What is kept of an answer that a chat model wrote.

``[n]`` that names no strip is dropped, ``[1, 2]`` becomes ``[1][2]``, images go, and an
address that no strip holds goes too: a document could have talked the model into carrying
a secret out by one. Code is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from core.model.plain import plain
from core.prompts import NO_ANSWER
from core.reasoner import Draft, Strip
from core.text.sentences import split_units

DRAFT_LIMIT = 8_000  # characters; an answer of five sentences has about 800

_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
_MARKERS = re.compile(r"[ \t]?\[\s*(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\s*\](?!\()")
_RULE = re.compile(r"^[ \t>]*(?:-[-\s]*|=[=\s]*|\*{3,}[*\s]*|_{3,}[_\s]*)$", re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s[^)\n]*)?\)")
_ADDRESS = re.compile(r"(?:https?|ftp)://[^\s<>)\]\"'`]+", re.IGNORECASE)
_NO_ANSWER = re.compile(rf"^[^\w\n]*{NO_ANSWER}[^\w\n]*$", re.MULTILINE)


def to_draft(text: str, strips: tuple[Strip, ...]) -> Draft:
    """The draft that a reply holds; its text may be empty when the writer says that nothing answers."""
    written = plain(text)[:DRAFT_LIMIT]
    kept = _NO_ANSWER.sub("", written)
    pieces = _CODE.split(kept)
    pieces[::2] = [_prose(piece, strips) for piece in pieces[::2]]
    text = _without_unclaimed("".join(pieces)).strip()
    return Draft(text=text, composed=True, answers=kept == written)


def _without_unclaimed(text: str) -> str:
    """The draft without headings, rules, comments and directives: what they say, no footnote could be held to."""
    while unclaimed := [unit for unit in split_units(text) if unit.kind in ("heading", "markup")]:
        for unit in reversed(unclaimed):
            text = text[: unit.start] + text[unit.end :]
    return text


def _prose(text: str, strips: tuple[Strip, ...]) -> str:
    known = "\n".join(f"{strip.text}\n{strip.retrieved.passage.url or ''}" for strip in strips)
    numbers = {strip.number for strip in strips}
    text = _LINK.sub(_link(known), text)
    text = _ADDRESS.sub(lambda found: found[0] if found[0].rstrip(".,;:!?") in known else "", text)
    text = _RULE.sub("", text)  # below a paragraph it would make a heading of it
    return _MARKERS.sub(_marker(numbers), text)


def _link(known: str) -> Callable[[re.Match[str]], str]:
    def keep(found: re.Match[str]) -> str:
        image, label, target = found.groups()
        if not image and target and target in known:
            return found[0]
        return f"[{label}]" if label.isdecimal() else label

    return keep


def _marker(numbers: set[int]) -> Callable[[re.Match[str]], str]:
    def keep(found: re.Match[str]) -> str:
        named = [int(number) for number in re.findall(r"\d+", found[1])]
        marks = "".join(f"[{number}]" for number in dict.fromkeys(named) if number in numbers)
        space = found[0][: found[0].index("[")]
        return f"{space}{marks}" if marks else ""

    return keep
