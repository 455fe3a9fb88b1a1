"""Markdown as Slack reads it in a Markdown block: CommonMark with tables and strikethrough.

Slack also obeys sequences in angle brackets, which ping and link. A backslash does not stop them,
so their "<" is escaped. Source: "Markdown block" and "Formatting message
text", docs.slack.dev.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache
from typing import TYPE_CHECKING

from bots.chat.markdown.blocks import NESTING
from bots.chat.markdown.inline import Dialect, guarded_line
from bots.chat.markdown.safe import addresses, same_place
from bots.slack.parts import TABLE_ROWS

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

#: What Slack obeys: mentions, broadcasts, channels and links, but no tags, comments or C++.
_CONTROL = re.compile(r"<(?=[@#]|!(?!--|doctype\b|\[cdata\[)|[a-z][a-z0-9+.-]*:(?!:))", re.IGNORECASE)
_INFO = re.compile(r"[\w+#.-]{1,20}")
_BACKTICKS = re.compile(r"`+")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~]|\Z)")
_LINK_LIKE = re.compile(r"\](?=\()")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_LABEL_SIGNS = {"<": "&lt;", "&": "&amp;"} | {sign: f"\\{sign}" for sign in "\\`*_[]|~"}
#: What would open a block at the start of a line, up to the character that is escaped.
_OPENER = re.compile(
    r"( *)(?:(?=[-+*](?:\s|$))|(?=#{1,6}(?:\s|$))|(?=>)|(?=~~~)|(?=\|)|(?==+ *$)|(?=[-:| ]*-[-:| ]*$)"
    r"|(\d{1,9})(?=[.)](?:\s|$)))"
)


def _disarmed(text: str) -> str:
    """The text without Slack's escape sequences, for code, which has no other escapes."""
    return _CONTROL.sub("&lt;", text)


def _plain(text: str, is_escaped: Callable[[int], bool]) -> str:
    """The text with escaped characters and entities escaped again."""
    if not any(map(is_escaped, range(len(text)))):
        text = _BACKSLASH.sub(r"\\\\", text)
        text = _ENTITY.sub("&amp;", text)
        return _LINK_LIKE.sub(r"]\\", text).replace("<", "&lt;").replace("`", "\\`")
    signs = []
    for index, sign in enumerate(text):
        if is_escaped(index) and _PUNCTUATION.match(sign):
            signs.append({"<": "&lt;", "&": "&amp;"}.get(sign, f"\\{sign}"))
        else:
            signs.append({"<": "&lt;", "`": "\\`"}.get(sign, sign))
    return "".join(signs)


def _code(inner: str) -> str:
    mark = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(inner)), default=0))
    is_padded = inner.startswith((" ", "`")) or inner.endswith((" ", "`"))
    pad = " " if is_padded and inner.strip() else ""
    return f"{mark}{pad}{_disarmed(inner)}{pad}{mark}"


def _fence(lines: str, info: str) -> str:
    mark = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(lines)), default=0))
    language = info.strip().partition(" ")[0]
    opening = mark + (language if _INFO.fullmatch(language) else "")
    body = lines if lines.endswith("\n") else f"{lines}\n"
    return f"{opening}\n{_disarmed(body)}{mark}"


def _link(url: str, label: str) -> str:
    shown = "".join(_LABEL_SIGNS.get(sign, sign) for sign in label)
    target = url if url.count("(") == url.count(")") else url.replace("(", "%28").replace(")", "%29")
    return f"[{shown}]({target})"


def _heading(level: int, title: str) -> str:
    words, closing = title.rstrip("#"), len(title) - len(title.rstrip("#"))
    return f"{'#' * level} {words}" + "\\#" * closing


def _guarded(lines: str) -> str:
    """The lines, escaped so that none opens another block or defines a link."""
    guards = "\n".join(guarded_line(each, _OPENER) for each in lines.split("\n"))
    return f"\\{guards}" if guards.startswith("[") and "]:" in guards else guards


def _is_harmless(markdown: str, links: Collection[str]) -> bool:
    """True if the result is still harmless when it is parsed with looser rules."""
    if _CONTROL.search(markdown):
        return False
    lines = (found.children for found in _loose_reader().parse(markdown) if found.children)
    return all(_are_harmless(line, links) for line in lines)


@cache
def _loose_reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": 4 * NESTING})
    return reader.enable(["table", "strikethrough"])


def _are_harmless(line: list[Token], links: Collection[str]) -> bool:
    is_in_link = False  # a link's label was checked when it was written
    for token in line:
        if token.type == "link_open" and same_place(str(token.attrs.get("href", "")), links) is None:
            return False
        if token.type == "image":
            return False
        if token.type == "text" and not is_in_link and addresses(token.content):
            return False
        is_in_link = token.type == "link_open" or (is_in_link and token.type != "link_close")
    return True


SLACK = Dialect(
    plain=_plain, code=_code, fence=_fence, link=_link, emphasis=lambda node: node.markup, heading=_heading,
    marker=lambda number, sign: f"{sign} " if number is None else f"{number}{sign} ",
    guarded=_guarded, is_harmless=_is_harmless, table_rows=TABLE_ROWS,
)  # fmt: skip
