"""An outcome -> messages. Pure; whatever others wrote passes through :mod:`bots.discord.components`.

A message as the API is given it.

Footnotes: where each claim stands, and the quote it stands for.

The card that asks "May I search the web for this?", and what it becomes.

What a word is answered, as messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, groupby
from textwrap import wrap
from typing import Any, assert_never

from bots.chat import proposals
from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import line, web_link
from bots.chat.platform import CardContext, CommandReply, Footnotes, Note, Sources
from bots.chat.texts import (
    FOOTNOTES_SHOWN,
    LISTED,
    answered_in,
    clipped,
    headings,
    omissions,
    origin_of,
    provenance,
    remarks,
    say_in,
    text_of,
)
from bots.discord import components
from bots.discord.components import TEXT, Component, Part, is_blank, link, small_print, text, words
from bots.discord.dialect import DISCORD
from core.conversation import QUERY_LIMIT, Answer, Citation, Outcome, OutcomeKind, Proposal, Verdict, value
from core.library.store import Entry
from core.text.language import language_of
from core.turns.messenger import ReplyRoute
from core.wording import Wording

_SMALL = re.compile("^-# ", re.MULTILINE)


@value
class Message:
    """What "Create Message" is given with the flag ``IS_COMPONENTS_V2``, which allows no other content."""

    text: str  #: the Markdown alone, small print and all
    components: tuple[Component, ...]


def packed(parts: Iterable[Part]) -> tuple[Message, ...]:
    return tuple(message_of(made) for made in components.packed(parts))


def message_of(made: Sequence[Component]) -> Message:
    said = "\n".join(each["content"] for each in components.walk(made) if each["type"] == TEXT)
    return Message(text=_SMALL.sub("", said), components=tuple(made))


def note(sentence: str) -> Message:
    """A short word of ours, private ones too; as much of it as one message takes."""
    return packed(components.lines(["…"] if is_blank(sentence) else sentence.split("\n")))[0]


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
    origin = clipped(line(origin_of(citation, language)), TITLE_SHOWN)
    beside = f" · {words(origin)}" if origin and origin != title else ""
    return f"**{citation.number}** {_linked(web_link(citation.url), title)}{beside}"


def _linked(url: str | None, title: str) -> str:
    """The title leads to the URL, unless that is too long or would do more than lead there."""
    # A label shows no backticks; without them it is what its reader sees.
    shown = link(url, title.replace("`", "'")) if url and len(url) <= LINK_SHOWN else ""
    return shown if shown and DISCORD.is_harmless(shown, (url or "",)) else words(title)


def _quoted(quote: str) -> str:
    return "" if is_blank(quote) else f"“{quote}”"


TRIED_SHOWN = 5  # earlier queries named on the card
REASON_SHOWN = 500  # characters

#: The card's edge, 0xRRGGBB: amber while it waits, green and grey once it was decided.
_COLOURS: Mapping[Verdict | None, int] = {None: 0xF0B232, "approve": 0x23A55A, "deny": 0x80848E}


def proposal_card(proposal: Proposal, card_context: CardContext) -> Message:
    """What was looked for, what is closest, and the exact outgoing query; open or decided."""
    shown = FOOTNOTES_SHOWN
    while shown and not components.fits([_card(proposal, card_context, shown)]):
        shown -= 1
    return message_of([_card(proposal, card_context, shown)])


def request_card(proposal: Proposal, card_context: CardContext) -> Component:
    """The exact query and, while it is open, the buttons; then who decided and when."""
    return components.container([*_request(proposal, card_context)], colour=_COLOURS[proposal.verdict])


def _card(proposal: Proposal, card_context: CardContext, shown: int) -> Component:
    parts = [*_reason(proposal, shown), *_request(proposal, card_context)]
    return components.container(parts, colour=_COLOURS[proposal.verdict])


def _reason(proposal: Proposal, shown: int) -> Iterator[Component]:
    language = language_of(proposal.question)
    say, reason = say_in(language), clipped(line(proposal.reason), REASON_SHOWN)
    yield from components.lines([say("not_answered") if is_blank(reason) else reason])
    if tried := [clipped(line(query)) for query in proposal.tried[:TRIED_SHOWN]]:
        yield from components.small(say("looked_for", queries=", ".join(f"“{query}”" for query in tried)))
    if closest := proposal.closest[:shown]:
        yield from components.small(say("closest"))
        yield from footnotes(closest, language)


def _request(proposal: Proposal, card_context: CardContext) -> Iterator[Component]:
    say = say_in(language_of(proposal.question))
    yield from components.lines([say("would_search", engine=clipped(line(card_context.engine)))])
    yield _exactly(proposal.query)
    if proposal.is_open:
        yield components.row(
            components.button(say("search"), "approve", proposal.id, is_primary=True),
            components.button(say("edit"), "edit", proposal.id),
            components.button(say("deny"), "deny", proposal.id),
        )
        yield from components.small(proposals.waiting(proposal, card_context))
        return
    if proposal.allowed not in (None, proposal.query):
        yield from components.small(say("edited"))
        yield _exactly(proposal.allowed or "")
    yield from components.small(proposals.decision(proposal, card_context))


def _exactly(query: str) -> Component:
    """The query as code, which is never longer than QUERY_LIMIT; one that were would be seen to go on."""
    whole = line(query)
    return components.text(
        DISCORD.fence(whole if 0 < len(whole) <= QUERY_LIMIT else f"{whole[:QUERY_LIMIT]}…", "")
    )


def editor(proposal: Proposal, _address: ReplyRoute) -> dict[str, Any]:
    """The data of a modal, as an interaction is answered with."""
    say = say_in(language_of(proposal.question))
    field = {
        "type": components.TEXT_INPUT,
        "custom_id": "query",
        "style": components.PARAGRAPH,
        "value": line(proposal.query)[:QUERY_LIMIT],
        "min_length": 1,
        "max_length": QUERY_LIMIT,
        "required": True,
    }
    label = {"type": components.LABEL, "label": say("edit_label"), "component": field}
    return {
        "title": say("edit_title"),
        "custom_id": components.custom_id("edit", proposal.id),
        "components": [label],
    }


def reply(reply: CommandReply) -> tuple[Message, ...]:
    match reply:
        case Note():
            return (note(reply.text),)
        case Sources():
            return sources_text(reply.entries, say_in(reply.language))
        case Footnotes():
            return all_footnotes(reply.outcome)
        case _:
            assert_never(reply)


def sources_text(entries: Sequence[Entry], say: Wording) -> tuple[Message, ...]:
    """Documents by collection, each with its title and number of passages."""
    if not entries:
        return (note(say("no_documents")),)
    return packed(
        part
        for name, members in groupby(entries, lambda entry: entry.collection)
        for part in _collection(name, list(members), say)
    )


def _collection(name: str, entries: Sequence[Entry], say: Wording) -> Iterator[Part]:
    documents = say("documents", count=len(entries))
    passages = say("passages", count=sum(entry.passages for entry in entries))
    yield components.text(f"**{words(clipped(line(name), TITLE_SHOWN))}**: {documents}, {passages}")
    yield from components.lines(
        (
            f"{entry.source} · {entry.title} · {say('passages', count=entry.passages)}"
            for entry in entries[:LISTED]
        ),
        bullet="- ",
    )
    if len(entries) > LISTED:
        yield from components.small(say("and_more", count=len(entries) - LISTED))


__all__ = [
    "Message",
    "editor",
    "messages",
    "note",
    "reply",
]

PIECE = 3_500  # characters of one piece of an answer; the line above it fits in the same message
OPTIONS = 25  # buttons to choose from; the text above names any others
_STRUCTURE = re.compile("^[> ]*```.*$|[>#─-]", re.MULTILINE)  # what says nothing alone: no code, a line
#: Kept free beneath an answer: what a search that was proposed beside it needs, decided or not.
REQUEST = (
    components.container([components.text("x" * 300)] * 6, colour=0),
    components.row(*components.feedback("")),
)


def messages(outcome: Outcome, card_context: CardContext) -> tuple[Message, ...]:
    """The outcome as one message, or as several in order where it is longer than Discord takes."""
    if outcome.answer is not None:
        answer = packed(_answered(outcome, outcome.answer))
        return _with_request(answer, outcome.proposal, card_context) if outcome.proposal else answer
    if outcome.kind == "approval_needed" and outcome.proposal is not None:
        return (proposal_card(outcome.proposal, card_context),)
    return packed(_ENDINGS[outcome.kind](outcome, card_context))


def _with_request(
    answer: tuple[Message, ...], proposal: Proposal, card_context: CardContext
) -> tuple[Message, ...]:
    """The search beneath the answer; in a message of its own where there is no room, however it is decided."""
    asked, (*others, last) = request_card(proposal, card_context), answer
    if components.fits([*last.components, *REQUEST]):
        return (*others, message_of([*last.components, asked]))
    return (*answer, message_of([asked]))


def _answered(outcome: Outcome, given: Answer) -> Iterator[Part]:
    yield from components.small(provenance(outcome, given))
    links = [url for one in given.citations if (url := web_link(one.url))]
    yield from _said(given.text, outcome.language, links=links)
    if given.citations:
        yield dict(components.DIVIDER)
        # What was only quoted stands above already.
        yield from footnotes(given.citations[:FOOTNOTES_SHOWN], outcome.language, with_quotes=given.composed)
    # An answer in spite of trouble: the model could not be reached, for one.
    for remark in (outcome.reason or "", *remarks(outcome), answered_in(outcome)):
        yield from components.small(remark)
    more = _more(outcome.turn_id, given, say_in(outcome.language))
    yield components.row(*components.feedback(outcome.turn_id), *more)


def _said(markdown: str, language: str, *, links: Collection[str] = ()) -> tuple[str, ...]:
    """The text from its first words on."""
    made = pieces(markdown, links=links, limit=PIECE, dialect=DISCORD)
    return tuple(dropwhile(_is_mute, made)) or (say_in(language)("unfinished"),)


def _is_mute(piece: str) -> bool:
    return is_blank(_STRUCTURE.sub("", piece))


def _more(turn_id: str, given: Answer, say: Wording) -> Iterator[Component]:
    hidden = len(given.citations) - FOOTNOTES_SHOWN
    is_cut = given.composed and any(len(line(one.quote)) > QUOTE_SHOWN for one in given.citations)
    if hidden > 0 or is_cut or given.left_out:
        label = say("show_more", count=hidden) if hidden > 0 else say("show_all")
        yield components.button(label, "footnotes", turn_id)


def _no_answer(outcome: Outcome, _setting: CardContext) -> Iterator[Part]:
    say = say_in(outcome.language)
    yield from _said(outcome.reason or say("not_found"), outcome.language)
    if outcome.closest:
        yield from components.small(say("closest"))
        yield from footnotes(outcome.closest, outcome.language)
    yield components.text(f"-# {say('what_else')} {say('how_to_add')}")
    yield components.row(*components.feedback(outcome.turn_id))


def _clarify(outcome: Outcome, _setting: CardContext) -> Iterator[Part]:
    yield from _said(text_of(outcome), outcome.language)
    yield from components.rows(
        [
            components.button(option, f"choose:{number}", outcome.turn_id)
            for number, option in enumerate(outcome.options[:OPTIONS], start=1)
            if not is_blank(option)
        ]
    )


def _failed(outcome: Outcome, card_context: CardContext) -> Iterator[Part]:
    yield from _said(text_of(outcome), outcome.language)
    if card_context.can_retry:
        label = say_in(outcome.language)("try_again")
        yield components.row(components.button(label, "again", outcome.turn_id))


_ENDINGS: Mapping[OutcomeKind, Callable[[Outcome, CardContext], Iterator[Part]]] = {
    "answered": _failed,
    "approval_needed": _failed,
    "no_answer": _no_answer,
    "clarify": _clarify,
    "failed": _failed,
}
