"""What is kept of an answer that a chat model wrote.

Footnotes are read as models write them (``[1, 2]``, ``[1-3]``, ``【1】``, ``[^1]``, ``[strip 1]``, ``(1)``) and
become ``[1][2]``; one that names no strip is dropped. Headings become bold lines, so that they are judged
with what they lead to. Images go, and an address that no strip holds goes too: a document could have talked
the model into carrying a secret out by one. Code is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from core.reasoning.prompts import NO_ANSWER
from core.reasoning.reasoner import Draft, Strip
from core.text.characters import plain
from core.text.quoting import HEADING_SIGNS
from core.text.sentences import split_units

DRAFT_LIMIT = 8_000  # characters; an answer of five sentences has about 800

_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
_NUMBERS = r"\d{1,4}(?:\s*(?:[,;&–-]|and|und|et|y|e)\s*\^?\d{1,4})*"
_NAMED = r"(?:(?:strips?|sources?|passages?|refs?|notes?|footnotes?)\s*)?"
_MARKERS = re.compile(
    rf"[ \t]?(?:\[\s*\^?{_NAMED}({_NUMBERS})\s*\](?!\()|【\s*{_NAMED}({_NUMBERS})[^】\n]*】)", re.IGNORECASE
)
_MARKS_ALONE = re.compile(r"\A(?:\s*+\[\d{1,4}\])++[ \t]*(?:\n|\Z)")  # before anything that they could be of
_IN_PARENTHESES = re.compile(rf"(?<=\S)([ \t]?)\(({_NUMBERS})\)(?=\s*(?:[.,;:!?。]|$))", re.MULTILINE)
_DEFINITION = re.compile(
    r"^ {0,3}\[\^?[^\]\n]{1,20}\]:.*\n?", re.MULTILINE
)  # "[^1]: …" lists sources of its own
_RULE = re.compile(r"^[ \t>]*(?:-[-\s]*|=[=\s]*|\*{3,}[*\s]*|_{3,}[_\s]*)$", re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s[^)\n]*)?\)")
_ADDRESS = re.compile(r"(?:https?|ftp)://[^\s<>)\]\"'`]+", re.IGNORECASE)
_NO_ANSWER = re.compile(rf"^.*\b{NO_ANSWER}\b.*$", re.MULTILINE)


def to_draft(text: str, strips: tuple[Strip, ...]) -> Draft:
    """The draft that a reply holds. It does not answer when it says NO_ANSWER before it cites anything."""
    written = plain(text)[:DRAFT_LIMIT]
    kept = _NO_ANSWER.sub("", written)
    pieces = _CODE.split(kept)
    is_bracketed = any(_MARKERS.search(piece) for piece in pieces[::2])
    pieces[::2] = [_prose(piece, strips, is_bracketed=is_bracketed) for piece in pieces[::2]]
    text = _MARKS_ALONE.sub("", _with_bold_headings("".join(pieces))).strip()
    return Draft(text=text, composed=True, answers=kept == written or _cites_before_giving_up(written))


def _cites_before_giving_up(written: str) -> bool:
    return bool(_MARKERS.search(written[: written.index(NO_ANSWER)]))


def _with_bold_headings(text: str) -> str:
    """Headings as bold lines; rules, comments and directives, which say nothing, go."""
    for unit in reversed(split_units(text)):
        if unit.kind in ("heading", "markup"):
            words = HEADING_SIGNS.sub("", text[unit.start : unit.end]) if unit.kind == "heading" else ""
            gap = "" if text.startswith("\n\n", unit.end) else "\n"
            text = text[: unit.start] + (f"**{words}**{gap}" if words else "") + text[unit.end :]
    return text


def _prose(text: str, strips: tuple[Strip, ...], *, is_bracketed: bool) -> str:
    known = "\n".join(f"{strip.text}\n{strip.retrieved.passage.url or ''}" for strip in strips)
    numbers = {strip.number for strip in strips}
    if not is_bracketed:  # beside marks in square brackets, "(1)" counts something else
        text = _IN_PARENTHESES.sub(r"\1[\2]", text)
    text = _LINK.sub(_link(known), _DEFINITION.sub("", text))
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
    largest = max(numbers, default=0)

    def keep(found: re.Match[str]) -> str:
        named = dict.fromkeys(_named(found[1] or found[2], largest))
        marks = "".join(f"[{number}]" for number in named if number in numbers)
        space = " " if found[0][0] in " \t" else ""
        return f"{space}{marks}" if marks else ""

    return keep


def _named(written: str, largest: int) -> Iterator[int]:
    """The numbers of "1, 3-5" up to the largest there is; a range that runs backwards names its ends."""
    for first, last in re.findall(r"(\d+)(?:\s*[–-]\s*\^?(\d+))?", written):
        if last and int(first) <= int(last):
            yield from range(int(first), min(int(last), largest) + 1)
        else:
            yield from (int(number) for number in (first, last) if number)
