"""Answers as a terminal shows them: Markdown without links of its own, footnote markers made visible."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.markdown import Heading, Markdown

from bots.terminal.safe import plain

_MARKER = re.compile(r"(\[\d+\])")
_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)\b[^<>]*>|<!--.*?-->", re.DOTALL)

#: Tags that a browser would not show either; ``vector<int>`` is no such tag and stays as it was written.
_HTML = frozenset(
    """
    a abbr b big br center cite code dd del details dfn div dl dt em embed figcaption figure font h1 h2 h3 h4
    h5 h6 hr i iframe img ins kbd li mark ol p picture pre q s samp script section small source span strike
    strong style sub summary sup svg table tbody td th thead tr tt u ul var video
    """.split()  # noqa: SIM905 - words read better than a list of quoted ones
)


class LeftHeading(Heading):
    """A heading at the left margin whatever its level."""

    LEVEL_ALIGN: ClassVar = {}


class AnswerMarkdown(Markdown):
    """CommonMark from an untrusted writer."""

    elements: ClassVar = {**Markdown.elements, "heading_open": LeftHeading}
    inlines = {*Markdown.inlines, "mark"}  # noqa: RUF012 - rich's own declaration; _marked makes the "mark"

    def __init__(self, text: str) -> None:
        # The palette of the terminal itself, so that code reads well on light and dark.
        super().__init__("", code_theme="ansi_dark", hyperlinks=False)
        # Link definitions in a quoted document could turn our [1] into a link of theirs.
        parser = MarkdownIt().enable("strikethrough").enable("table").disable("reference")
        self.parsed = _safe(parser.parse(plain(text)))


def _safe(tokens: Iterable[Token]) -> list[Token]:
    return [made for token in tokens for made in _made_of(token)]


def _made_of(token: Token) -> Iterator[Token]:
    if token.children:
        token.children = _safe(_without_local_links(token.children))
    # Entities were decoded by the parser, so what they spelled is looked at here.
    token.content = plain(token.content)
    if token.type == "text":
        yield from _marked(token.content)
    elif token.type == "html_inline":
        yield _text(_without_tags(token.content))
    elif token.type == "html_block":
        yield from _paragraph(_without_tags(token.content).strip())
    else:
        yield token


def _without_local_links(tokens: Iterable[Token]) -> Iterator[Token]:
    """Where a link leads inside a documentation tree says nothing here; its words stay."""
    are_shown: list[
        bool
    ] = []  # of the links that are open: an address in angle brackets may stand within one
    for token in tokens:
        if token.type == "link_open":
            are_shown.append(str(token.attrs.get("href", "")).lower().startswith(("http://", "https://")))
        if token.type not in ("link_open", "link_close") or are_shown[-1]:
            yield token
        if token.type == "link_close":
            are_shown.pop()


def _marked(text: str) -> Iterator[Token]:
    """Text with each ``[n]`` in a token of its own."""
    for part in _MARKER.split(text):
        yield Token("marker", "mark", 0, content=part) if _MARKER.fullmatch(part) else _text(part)


def _without_tags(html: str) -> str:
    return _TAG.sub(lambda tag: tag[0] if tag[1] and tag[1].lower() not in _HTML else "", html)


def _paragraph(text: str) -> Iterator[Token]:
    if text:
        yield Token("paragraph_open", "p", 1, block=True)
        yield Token("inline", "", 0, children=[_text(text)], block=True)
        yield Token("paragraph_close", "p", -1, block=True)


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
