"""Marks of Markdown around text, and text that must not be taken for marks."""

from __future__ import annotations

import re
from urllib.parse import quote

SPACES = re.compile(r"[ \t\r\n\f\u00a0]+")
_SPECIAL = re.compile(r"[\\`*]|<(?=[\w/!?])|(?<!\w)_|_(?!\w)|\[(?=[^\[\]]*\]\()|~(?=~)")
_LINE_BEGIN = re.compile(r"^(\s*\d{1,9})([.)])(?=\s|$)|^(\s*)([#>+\-|=~])")
_TICKS = re.compile(r"`+")


def paragraph(line: list[str]) -> list[str]:
    """Pieces of a line as a paragraph; nothing if they are blank."""
    rows = (SPACES.sub(" ", row).strip() for row in "".join(line).split("\n"))
    text = "\n".join(_unlike_a_block(row) for row in rows if row)
    return [text] if text else []


def _unlike_a_block(row: str) -> str:
    """A line of text that must not be taken for a heading, an item or a rule."""

    def escaped(found: re.Match[str]) -> str:
        return f"{found[1]}\\{found[2]}" if found[1] is not None else f"{found[3]}\\{found[4]}"

    return _LINE_BEGIN.sub(escaped, row)


def escaped(text: str | None) -> str:
    """Text whose signs are no marks of Markdown. Line ends in XML are blanks."""
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", SPACES.sub(" ", text)) if text else ""


def wrapped(text: str, mark: str) -> str:
    """Text between marks, with its blanks outside of them."""
    bare = text.strip()
    if not bare or mark in bare:
        return text
    begin = text[: len(text) - len(text.lstrip())]
    end = text[len(text.rstrip()) :]
    return f"{begin}{mark}{bare}{mark}{end}"


def code_span(text: str) -> str:
    if not text:
        return ""
    ticks = "`" * (1 + max((len(found) for found in _TICKS.findall(text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fenced(text: str, language: str) -> str:
    fence = "`" * max(3, 1 + max((len(found) for found in _TICKS.findall(text)), default=0))
    name = language if re.fullmatch(r"[\w+#.-]{1,40}", language) else ""
    lines = text.replace("\r\n", "\n").strip("\n").rstrip()
    return f"{fence}{name}\n{lines}\n{fence}"


def link_to(text: str, target: str) -> str:
    bare = text.strip()
    if not target.lower().startswith(("http:", "https:", "mailto:")) or not bare:
        return text
    safe = quote(target, safe="/:?&=#%+,;@!$'*[]~")
    return f"[{bare}]({safe})" if bare != target else f"<{safe}>"


def indented(text: str, first: str, others: str) -> str:
    lines = text.split("\n")
    return "\n".join([f"{first}{lines[0]}", *(f"{others}{line}" if line else "" for line in lines[1:])])
