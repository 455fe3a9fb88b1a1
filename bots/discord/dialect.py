r"""Markdown as Discord reads it.

Discord has headings, lists, quotations, code, masked links and spoilers, no tables and no images
("Markdown Text 101", support.discord.com/hc/articles/210298617), and its own sequences in angle
brackets ("Message Formatting", discord.com/developers/docs/reference#message-formatting). How its
reader differs from CommonMark is not documented; github.com/LyricLy/parse-discord found it out by
experiment, and these rules follow from it:

- A backslash escapes any character but a letter, a digit or a space, except in code, in the label of a
  link and in a URL; entities such as ``&lt;`` are plain text.
- Marks are parsed from the outside in: a ``*`` in inline code ends the emphasis around it, and ``](``
  in it ends the label of a link that began before it.
- Every fence has three backticks, so three in a row within code would close it; an empty fence takes
  what follows as its content.
- Quotations do not nest, and an item of a list holds neither headings nor empty lines.
- A label with a URL, a mention or an emoji makes the whole link plain text; an emoji within code does not.

The server finds pings even in code and behind backslashes, so a zero-width space breaks them. It is the
only invisible character that is added to text of others; it also separates characters that would form
another mark together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from bots.chat.markdown.inline import Dialect, guarded_line

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node


APART = "\u200b"  # a zero-width space

_PING = re.compile(r"@(?=everyone|here)|(?<=<)@(?=[!&]?\d)", re.IGNORECASE)
#: ``:name:`` would be an emoji; ``](`` would begin the URL of a link.
_SIGN = re.compile(r"[\\*_`~|<]|:(?=[A-Za-z][\w+-]*:)|(?<=\])\(")
#: Up to the character that is escaped; after marks it can still open a block.
_OPENER = re.compile(
    r"(?:\*\*|~~|\*)*(?:(?=[-*](?:\s|$))|(?=-#(?:\s|$))|(?=#{1,3}(?:\s|$))|(?=>)|\d+(?=\.(?:\s|$)))"
)
_LANGUAGE = re.compile(r"[A-Za-z0-9_+.-]{1,20}")  # characters that a fence takes for its language
_COLOURS = "ansi"  # the language whose escape sequences colour and hide
_EMOJI = "\u2600-\u27bf\u2b00-\u2bff\ufe0f\u20e3\U0001f000-\U0001faff"
#: What a label shows as text only within code.
_LABEL_SIGN = re.compile(rf"[\\*`~|<{_EMOJI}]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:[\w+-]+:")
#: What makes Discord refuse a label, within code too.
_NO_LABEL = re.compile(
    r"[a-z][a-z0-9+.-]*:/|discord\.gg|@(?:everyone|here)|<(?:@[!&]?\d|#\d|/[^:>]+:\d|a?:\w+:\d|t:|id:)",
    re.IGNORECASE,
)
_MARKS = {"em": "*", "strong": "**", "s": "~~", "heading": "**"}
_LISTED = 1_000_000_000  # the largest number of an item; the smallest is 1
_PAIR = re.compile(r"`(?=`)")
_TRIPLE = re.compile(r"`(?=``)")
#: ``](``, except right after its own bracket, where it ends no label that began elsewhere.
_LABEL_END = re.compile(r"(\[[^\[\]]*\]\()|\]\(")

_READ = re.compile(
    r"""
      \\[^A-Za-z0-9\s] | ```.+?``` | (?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)
    | \]\((?P<masked>[^)]*)\)
    | (?P<address>(?:https?|steam|discord)://[^\s<>]+)
    | (?P<sequence>\|\||<(?:[@\#:/]|(?:a|t|id):|[^:\s>]+:/))
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def _plain(text: str, _is_escaped: Callable[[int], bool]) -> str:
    return _unpinged(_SIGN.sub(r"\\\g<0>", text))


def _inert(code: str) -> str:
    """Code that does not change the text around it."""
    return _unpinged(_LABEL_END.sub(lambda found: found[1] or f"]{APART}(", code))


def _unpinged(text: str) -> str:
    return _PING.sub(f"@{APART}", text)


def _code(inner: str) -> str:
    code = _inert(_PAIR.sub(f"`{APART}", inner))
    if "`" not in code:
        return f"`{code}`"
    pad = " " if "`" in (code[0], code[-1]) else ""
    return f"``{pad}{code}{pad}``"


def _fence(lines: str, info: str) -> str:
    language = info.strip().partition(" ")[0]
    is_known = _LANGUAGE.fullmatch(language) and language.lower() != _COLOURS
    body = _inert(_TRIPLE.sub(f"`{APART}", lines.removesuffix("\n")))
    return f"```{language if is_known else ''}\n{body if body.strip() else APART}\n```"


def _link(url: str, label: str) -> str:
    """A link in angle brackets, which loads no preview; a URL that would ping is code."""
    if _PING.search(url):
        return _code(url) if label == url else f"{_code(label)} ({_code(url)})"
    target = f"<{_target(url)}>"
    if _NO_LABEL.search(label):
        return target if label.rstrip("/") == url.rstrip("/") else f"{_code(label)} ({target})"
    # Brackets cannot be escaped here.
    words = label.replace("[", "(").replace("]", ")")
    if _LABEL_SIGN.search(words):
        words = f"`{words.replace('`', chr(39))}`"
    return f"[{words}]({target})"


def _target(url: str) -> str:
    return url.replace("(", "%28").replace(")", "%29")


def _emphasis(node: Node) -> str:
    """Emphasis, but none within another with the same character, and none around that character."""
    mark = _MARKS[node.type]
    kinds = {kind for kind, each in _MARKS.items() if each[0] == mark[0] and kind != "heading"}
    parent = node.parent
    while parent is not None:
        if parent.type in kinds:
            return ""
        parent = parent.parent
    return "" if any(mark[0] in f"{each.content}{each.attrs}" for each in node.walk()) else mark


def _heading(level: int, title: str) -> str:
    """Characters that close a heading would not be shown."""
    return f"{'#' * level} {guarded_line(title, _OPENER)}{APART if title.endswith('#') else ''}"


def _marker(number: int | None, _sign: str) -> str:
    if number is None:
        return "- "
    return f"{number}. " if 1 <= number <= _LISTED else f"{number}\\. "


def _guarded(lines: str) -> str:
    return "\n".join(guarded_line(each, _OPENER) for each in lines.split("\n"))


def _is_harmless(markdown: str, links: Collection[str]) -> bool:
    known = {_target(link) for link in links}
    if _PING.search(markdown):
        return False
    for found in _READ.finditer(markdown):
        leads = found["masked"] or found["address"]
        if found["sequence"] and not markdown.startswith(tuple(f"<{one}>" for one in known), found.start()):
            return False
        if leads and leads.strip("<>") not in known:
            return False
    return True


DISCORD = Dialect(
    plain=_plain, code=_code, fence=_fence, link=_link, emphasis=_emphasis, heading=_heading, marker=_marker,
    guarded=_guarded, is_harmless=_is_harmless, soft_break=" ", hard_break="\n", rule="───",
    touching=("``", "**", "]("), between=APART, quoted_blank="> ", deepest_heading=3, nests=False,
)  # fmt: skip
