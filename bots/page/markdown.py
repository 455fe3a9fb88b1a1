"""CommonMark from an untrusted source -> HTML without scripts, images, or links that say something else."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from bots.chat.markdown.safe import clean, names_another_host, web_link

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 20_000  # characters; an answer is far shorter
_MARKER = re.compile(r"\[(\d{1,4})\]")

#: The tags that may come out, and nothing else.
_TAGS = frozenset(
    ("p", "em", "strong", "s", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "br", "hr")
)  # fmt: skip


def to_html(text: str, *, turn: str = "", numbers: Collection[int] = ()) -> Markup:
    """``numbers``: the footnotes below, to which the markers of the turn lead."""
    parsed = _parser().parse(clean(text[:LONGEST]))
    return Markup("").join(_blocks(parsed, turn, numbers))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # A link definition in a quoted document could turn our [1] into its link.
    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("reference")


def _blocks(tokens: Sequence[Token], turn: str, numbers: Collection[int]) -> Iterator[Markup]:
    for token in tokens:
        if token.type == "inline":
            yield from _inline(token.children or (), turn, numbers)
        elif token.type in ("fence", "code_block"):
            yield Markup('<pre tabindex="0"><code>{}</code></pre>\n').format(clean(token.content))
        elif token.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):  # the page has the headings
            yield Markup("<p><strong>") if token.nesting == 1 else Markup("</strong></p>\n")
        elif token.tag in _TAGS and not token.hidden:
            yield _tag(token)


def _tag(token: Token) -> Markup:
    if token.nesting == -1:
        return Markup("</{}>{}").format(token.tag, "\n" if token.block else "")
    start = token.attrs.get("start") if token.tag == "ol" else None
    return Markup("<{}{}>").format(token.tag, Markup(' start="{}"').format(int(start)) if start else "")


def _inline(tokens: Iterable[Token], turn: str, numbers: Collection[int]) -> Iterator[Markup]:
    tokens = list(tokens)
    open_links: list[str | None] = []
    for place, token in enumerate(tokens):
        if token.type == "link_open":
            open_links.append(None if any(open_links) else _address(token, tokens[place + 1 :]))
            if open_links[-1]:
                yield Markup('<a href="{}" rel="noreferrer nofollow">').format(open_links[-1])
        elif token.type == "link_close":
            if open_links.pop():
                yield Markup("</a>")
        else:
            yield _piece(token, turn, () if any(open_links) else numbers)


def _piece(token: Token, turn: str, numbers: Collection[int]) -> Markup:
    if token.type == "text":
        return _with_markers(clean(token.content), turn, numbers)
    if token.type == "code_inline":
        return Markup("<code>{}</code>").format(clean(token.content))
    if token.type == "hardbreak":
        return Markup("<br>")
    if token.tag in _TAGS:
        return _tag(token)
    return escape("\n" if token.type == "softbreak" else clean(token.content))


def _address(token: Token, following: Iterable[Token]) -> str | None:
    """Where a link leads; None where it may not lead, or names another place than it leads to."""
    address = web_link(str(token.attrs.get("href", "")))
    label = ""
    for each in following:
        if each.type == "link_close":
            break
        label += each.content
    return None if address is None or names_another_host(label, address) else address


def _with_markers(text: str, turn: str, numbers: Collection[int]) -> Markup:
    pieces = _MARKER.split(text)
    shown = [escape(pieces[0])]
    for number, after in zip(pieces[1::2], pieces[2::2], strict=True):
        if int(number) in numbers:
            link = Markup('<a class="marker" href="#{}-{}" aria-label="Footnote {}">{}</a>')
            shown.append(link.format(f"footnote-{turn}", number, number, number))
        else:
            shown.append(escape(f"[{number}]"))
        shown.append(escape(after))
    return Markup("").join(shown)
