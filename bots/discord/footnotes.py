"""Footnotes: where each claim stands, and the quote it stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap

from bots.chat.markdown.safe import line, web_link
from bots.chat.texts import clipped, headings, omissions, remarks, say_in, whence
from bots.discord.components import Component, Part, is_blank, text
from bots.discord.dialect import DISCORD
from bots.discord.message import Message, note, packed
from bots.discord.safe import link, small_print, words
from core.conversation import Citation, Outcome

TITLE_SHOWN = 150  # characters of a footnote's title, and of where it is from
QUOTE_SHOWN = 200  # characters of a quote beneath an answer; "Show all footnotes" has all of it
QUOTE_PIECE = 1_500  # characters; escaping makes two of one at most
LINK_SHOWN = 1_000  # characters of a URL; a longer one would crowd out the other footnotes


def all_footnotes(outcome: Outcome) -> tuple[Message, ...]:
    """Every footnote with its whole quote, and what was left out, for whoever asked to see them."""
    return packed(_all_footnotes(outcome)) or (note(say_in(outcome.language)("no_footnotes")),)


def _all_footnotes(outcome: Outcome) -> Iterator[Part]:
    for citation in outcome.answer.citations if outcome.answer else outcome.closest:
        yield from _whole(_place(citation, outcome.language), _quoted(line(citation.quote)))
    above = words(remarks(outcome)[-1]) if omissions(outcome) else ""
    for sentence in omissions(outcome):
        yield from _whole(above, line(sentence))
        above = ""


def _whole(above: str, quote: str) -> Iterator[Part]:
    for piece in wrap(quote, QUOTE_PIECE, break_on_hyphens=False) or [""]:
        yield text("\n".join(filter(None, (above, f"> {words(piece)}" if piece else ""))))
        above = ""


def footnotes(
    citations: Iterable[Citation], language: str, *, with_quotes: bool = True
) -> Iterator[Component]:
    """Number, title › place and source of each in small_print print, with its quote beneath."""
    for citation in citations:
        quote = small_print(_quoted(clipped(line(citation.quote), QUOTE_SHOWN))) if with_quotes else ""
        yield text(f"-# {_place(citation, language)}\n{quote}".rstrip())


def _place(citation: Citation, language: str) -> str:
    title = clipped(line(headings(citation)), TITLE_SHOWN)
    title = say_in(language)("untitled") if is_blank(title) else title
    origin = clipped(line(whence(citation, language)), TITLE_SHOWN)
    beside = f" · {words(origin)}" if origin and origin != title else ""
    return f"**{citation.number}** {_linked(web_link(citation.url), title)}{beside}"


def _linked(url: str | None, title: str) -> str:
    """The title leads to the URL, unless that is too long or would do more than lead there."""
    # A label shows no backticks; without them it is what its reader sees.
    shown = link(url, title.replace("`", "'")) if url and len(url) <= LINK_SHOWN else ""
    return shown if shown and DISCORD.is_harmless(shown, (url or "",)) else words(title)


def _quoted(quote: str) -> str:
    return "" if is_blank(quote) else f"“{quote}”"
