"""Footnotes: where each claim stands, and the quote it stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bots.chat.markdown.safe import line, web_link
from bots.chat.texts import clipped, headings, omissions, remarks, say_in, whence
from bots.slack import blocks, limits
from bots.slack.blocks import Block, Part
from bots.slack.message import Message, packed
from bots.slack.safe import escaped, escaped_link
from core.conversation import Citation, Outcome

TITLE_SHOWN = 150  # characters of a footnote's title, and of where it is from
QUOTE_SHOWN = 200  # characters of a quote beneath an answer; "Show all footnotes" has all of it
QUOTE_PIECE = limits.SECTION_TEXT // 5  # characters; escaping makes five of one at most


def all_footnotes(outcome: Outcome) -> tuple[Message, ...]:
    """Every footnote with its whole quote, and what was left out, for whoever asked to see them."""
    return packed(_all_footnotes(outcome))


def _all_footnotes(outcome: Outcome) -> Iterator[Part]:
    for citation in outcome.answer.citations if outcome.answer else outcome.closest:
        yield _footnote(citation, outcome.language, quote="")
        yield from _whole(f"“{line(citation.quote)}”")
    if left_out := omissions(outcome):
        yield blocks.section(escaped(remarks(outcome)[-1]))
        for sentence in left_out:
            yield from _whole(line(sentence))


def _whole(words: str) -> Iterator[Part]:
    for start in range(0, len(words), QUOTE_PIECE):
        yield blocks.context(escaped(words[start : start + QUOTE_PIECE]))


def footnotes(citations: Iterable[Citation], language: str, *, with_quotes: bool = True) -> Iterator[Block]:
    """Number, title › place and source of each, with its quote beneath."""
    for citation in citations:
        quote = f"\n“{escaped(clipped(line(citation.quote), QUOTE_SHOWN))}”" if with_quotes else ""
        yield _footnote(citation, language, quote=quote)


def _footnote(citation: Citation, language: str, *, quote: str) -> Block:
    title = clipped(line(headings(citation)), TITLE_SHOWN) or say_in(language)("untitled")
    origin = clipped(line(whence(citation, language)), TITLE_SHOWN)
    beside = f" · {escaped(origin)}" if origin and origin != title else ""
    url = web_link(citation.url)
    linked = f"*{citation.number}* {escaped_link(url, title)}{beside}{quote}" if url else ""
    if 0 < len(linked) <= limits.SECTION_TEXT:
        return blocks.context(linked)
    return blocks.context(f"*{citation.number}* {escaped(title)}{beside}{quote}")
