"""What a client makes of a Markdown block, read by a CommonMark parser.

Which of Slack's own sequences such a block honours is not documented. The strict reading is taken:
every one in the source counts, even behind a backslash; only ``&lt;`` disarms it.
Source of the supported kinds: "Markdown block", and images become links there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from fakes.slack.rendering import CONTROL, Entity, Names, Span, bare_links, control, controls

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


def markdown(text: str, names: Names) -> list[Span]:
    spans = [span for token in _parser().parse(text) for span in _block(token, names)]
    while spans and not spans[-1].text.strip() and spans[-1].entity is None:
        spans.pop()
    return [*spans, *_escaped(text, spans, names)]


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Escapes and character references stay tokens of their own, so that what they hide is never
    # taken for a sequence in angle brackets.
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("text_join")


def _block(token: Token, names: Names) -> Iterator[Span]:
    match token.type:
        case "inline":
            yield from _inline(token.children or [], names)
        case "fence" | "code_block":
            yield from controls(token.content, names, in_code=True)
        case "hr":
            yield Span("───\n")
        case "list_item_open":
            yield Span(f"{token.info}{token.markup} " if token.info else "• ")
        case "th_close" | "td_close":
            yield Span(" | ")
        case "heading_close" | "paragraph_close" | "tr_close":
            yield Span("\n")


def _inline(tokens: list[Token], names: Names) -> Iterator[Span]:
    link: Token | None = None
    label: list[Span] = []
    for token in tokens:
        if token.type == "link_open":
            link, label = token, []
        elif token.type == "link_close" and link is not None:
            yield _link(link, "".join(span.text for span in label))
            yield from (Span("", span.entity) for span in label if span.entity)
            link = None
        elif link is not None:
            label += _leaf(token, names, in_link=True)
        else:
            yield from _leaf(token, names)


def _leaf(token: Token, names: Names, *, in_link: bool = False) -> list[Span]:
    match token.type:
        case "text":
            spans = controls(token.content, names)
            return [one for span in spans for one in (_plain(span) if not in_link else [span])]
        case "code_inline":
            return controls(token.content, names, in_code=True)
        case "image":
            return [Span(token.content, Entity("image", str(token.attrGet("src")), token.content))]
        case "softbreak" | "hardbreak":
            return [Span("\n")]
    return [Span(token.content)]


def _plain(span: Span) -> list[Span]:
    return [span] if span.entity else bare_links(span.text)


def _link(token: Token, label: str) -> Span:
    url = str(token.attrGet("href"))
    if token.markup == "autolink" and "|" in label:  # <https://…|label> is a sequence of Slack's
        url, _, label = label.partition("|")
    return Span(label, Entity("link", url, label))


def _escaped(text: str, spans: list[Span], names: Names) -> Iterator[Span]:
    """The sequences that stand in the source and did not come out of the parser."""
    found = [control(match, names) for match in CONTROL.finditer(text)]
    known = Counter((span.entity.kind, span.entity.target) for span in spans if span.entity)
    for span in found:
        if span.entity is None:
            continue
        key = (span.entity.kind, span.entity.target)
        if known[key] > 0:
            known[key] -= 1
        else:
            yield Span("", span.entity)
