"""Outcomes, footnotes, proposals and replies to commands -> messages. Pure.

Text that others wrote is made safe by :mod:`bots.discord.parts`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, dropwhile
from textwrap import wrap
from typing import Any

from bots.chat import proposals
from bots.chat.layout import as_many_as_fit, card_of, marked_lines, offers_person, places_in, with_card
from bots.chat.markdown.blocks import plain_line, plain_quote
from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import is_blank, line, web_link
from bots.chat.platform import Approver, CardContext, Footnotes, Sources
from bots.chat.texts import (
    ENGLISH,
    FOOTNOTES_SHOWN,
    QUOTE_SHOWN,
    answered_in,
    asked_back,
    clipped,
    closest_shown,
    columns_of,
    omissions,
    place_of,
    places_of,
    provenance,
    quotes_label,
    remarks,
    say_in,
    source_lists,
    text_of,
)
from bots.discord import parts
from bots.discord.dialect import DISCORD
from bots.discord.parts import TEXT, Component, Part, link, small_print, text, words
from core.conversation import (
    QUERY_LIMIT,
    Answer,
    Citation,
    Outcome,
    OutcomeKind,
    Proposal,
    Question,
    Verdict,
    value,
)
from core.grounding.citations import by_place
from core.library.entries import Entry
from core.text.language import language_of
from core.turns.messenger import ReplyRoute
from core.wording import Wording

QUOTE_PIECE = 1_500  # characters; escaping doubles them at most
LINK_SHOWN = 1_000  # characters of a URL; a longer one would crowd out the other footnotes
PIECE = 3_500  # characters of one piece of an answer; leaves room for the line above it
OPTIONS = 25  # buttons; the text above them lists further options

_SMALL = re.compile("^-# ", re.MULTILINE)


@value
class Message:
    """The body of "Create Message" with the flag ``IS_COMPONENTS_V2``, which allows no other content."""

    text: str  #: the Markdown alone, with the small print
    components: tuple[Component, ...]
    pings: tuple[Approver, ...] = ()  #: the only ones whom it notifies


def packed(made: Iterable[Part]) -> tuple[Message, ...]:
    return tuple(message_of(each) for each in parts.packed(made))


def message_of(made: Sequence[Component]) -> Message:
    markdown = "\n".join(each["content"] for each in parts.walk(made) if each["type"] == TEXT)
    return Message(text=_SMALL.sub("", markdown), components=tuple(made))


def note(sentence: str) -> Message:
    """A short message from the bot; cut to what one message takes."""
    return packed(parts.lines(["…"] if is_blank(sentence) else sentence.split("\n")))[0]


def window(_footnotes: Footnotes) -> None:
    """Discord has none: an ephemeral message shows the quotes."""


def _quotes(footnotes: Footnotes) -> Iterator[Part]:
    """Every quote in its paragraph, below its place, and the sentences that were left out."""
    outcome = footnotes.outcome
    for place, excerpts in places_in(footnotes):
        above = _place(place, outcome.language)
        for excerpt in excerpts:
            yield from parts.quotation(marked_lines(excerpt), above=above)
            above = ""
            if not excerpt.is_current:
                yield from parts.small(say_in(outcome.language)("source_changed"))
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
    """Number, title › place and source of each in small print, with its quote below."""
    for citation in citations:
        quote = _quoted(clipped(plain_quote(citation.quote), QUOTE_SHOWN)) if with_quotes else ""
        quote = small_print(f"{columns_of(citation)}{quote}") if quote else ""
        yield text(f"-# {_place(citation, language)}\n{quote}".rstrip())


def _place(citation: Citation, language: str) -> str:
    title, origin = place_of(citation, language)
    beside = f" · {words(origin)}" if origin else ""
    return f"**{citation.number}** {_linked(web_link(citation.url), title)}{beside}"


def _linked(url: str | None, title: str) -> str:
    """The title as a link, unless the URL is too long or would have another effect."""
    # A label shows no backticks.
    shown = link(url, title.replace("`", "'")) if url and len(url) <= LINK_SHOWN else ""
    return shown if shown and DISCORD.is_harmless(shown, (url or "",)) else words(title)


def _quoted(quote: str) -> str:
    return "" if is_blank(quote) else f"“{quote}”"


#: The card's edge, 0xRRGGBB: amber while it waits, green and grey once it was decided.
_COLOURS: Mapping[Verdict | None, int] = {None: 0xF0B232, "approve": 0x23A55A, "deny": 0x80848E}


def proposal_card(proposal: Proposal, card_context: CardContext) -> Message:
    """The card of a proposal: what was looked for, the closest passages, and the exact outgoing query; open
    or decided.
    """
    card = as_many_as_fit(
        lambda shown: [_card(proposal, card_context, shown)], FOOTNOTES_SHOWN, fits=parts.fits
    )
    return message_of(card)


def request_card(proposal: Proposal, card_context: CardContext) -> Component:
    """The exact query and, while it is open, the buttons; then who decided and when."""
    return parts.container([*_request(proposal, card_context)], colour=_COLOURS[proposal.verdict])


def _card(proposal: Proposal, card_context: CardContext, shown: int) -> Component:
    made = [*_reason(proposal, shown), *_request(proposal, card_context)]
    return parts.container(made, colour=_COLOURS[proposal.verdict])


def _reason(proposal: Proposal, shown: int) -> Iterator[Component]:
    language = language_of(proposal.question)
    yield from parts.lines([proposals.reason(proposal)])
    yield from parts.small(proposals.looked_for(proposal))
    if closest := proposal.closest[:shown]:
        yield from parts.small(say_in(language)("closest"))
        yield from footnotes(closest, language)


def _request(proposal: Proposal, card_context: CardContext) -> Iterator[Component]:
    say = say_in(language_of(proposal.question))
    yield from parts.lines([proposals.would_search(proposal, card_context)])
    yield _exactly(proposal.query)
    if proposal.is_open:
        yield parts.row(
            parts.button(say("search"), "approve", proposal.id, is_primary=True),
            parts.button(say("edit"), "edit", proposal.id),
            parts.button(say("deny"), "deny", proposal.id),
            *([_ask_person(proposal.turn_id, say)] if card_context.can_consult else ()),
        )
        yield from parts.small(proposals.waiting(proposal, card_context))
        return
    if proposal.allowed not in (None, proposal.query):
        yield from parts.small(say("edited"))
        yield _exactly(proposal.allowed or "")
    sentence = proposals.decision(proposal, card_context, name=words, time=parts.time)
    yield text(f"-# {sentence}")


def _ask_person(turn_id: str, say: Wording) -> Component:
    return parts.button(say("ask_person"), "consult", turn_id)


def _exactly(query: str) -> Component:
    """The query as code."""
    return parts.text(DISCORD.fence(proposals.whole_query(query), ""))


def decided_already(proposal: Proposal, card_context: CardContext) -> Message:
    return message_of([text(proposals.decided_already(proposal, card_context, name=words, time=parts.time))])


def call_approvers(proposal: Proposal, approvers: Sequence[Approver]) -> Message:
    mentions = [f"<@&{one.id}>" if one.is_group else f"<@{one.id}>" for one in approvers]
    made = text(proposals.call_approvers(proposal, mentions=mentions, name=words))
    return replace(message_of([made]), pings=tuple(approvers))


def editor(proposal: Proposal, _route: ReplyRoute) -> dict[str, Any]:
    """The data of a modal, for the response to an interaction."""
    say = say_in(language_of(proposal.question))
    field = {
        "type": parts.TEXT_INPUT,
        "custom_id": "query",
        "style": parts.PARAGRAPH,
        "value": line(proposal.query)[:QUERY_LIMIT],
        "min_length": 1,
        "max_length": QUERY_LIMIT,
        "required": True,
    }
    label = {"type": parts.LABEL, "label": say("edit_label"), "component": field}
    return {
        "title": say("edit_title"),
        "custom_id": parts.custom_id("edit", proposal.id),
        "components": [label],
    }


def quotes(footnotes: Footnotes) -> tuple[Message, ...]:
    return packed(_quotes(footnotes))


def sources(sources: Sources) -> tuple[Message, ...]:
    return packed(_source_lists(sources.entries, say_in(sources.language)))


def _source_lists(entries: Sequence[Entry], say: Wording) -> Iterator[Part]:
    for name, size, lines, more in source_lists(entries, say):
        yield parts.text(f"**{words(name)}**: {size}")
        yield from parts.lines(lines, bullet="- ")
        yield from parts.small(more)


_STRUCTURE = re.compile("^[> ]*```.*$|[>#─-]", re.MULTILINE)  # marks without words: fences, lines
#: Room kept below an answer for a search that is proposed with it, decided or not.
REQUEST = (
    parts.container([parts.text("x" * 300)] * 6, colour=0),
    parts.row(*parts.feedback("", say_in(ENGLISH))),
)


def messages(outcome: Outcome, card_context: CardContext) -> tuple[Message, ...]:
    """The outcome as one message, or as several in order where it is longer than Discord takes."""
    if outcome.kind == "approval_needed" and outcome.proposal is not None:
        unreadable = (note("\n".join(outcome.unreadable)),) if outcome.unreadable else ()
        return (*unreadable, _sole_card(outcome, outcome.proposal, card_context))
    made = _in_messages(outcome, card_context)
    return tuple(map(message_of, map(parts.without_buttons, made) if card_context.is_forgotten else made))


def _sole_card(outcome: Outcome, proposal: Proposal, card_context: CardContext) -> Message:
    if card_context.is_forgotten:
        return note(say_in(outcome.language)("card_forgotten"))
    return proposal_card(proposal, card_context)


def _in_messages(outcome: Outcome, card_context: CardContext) -> list[list[Component]]:
    """The components of an outcome by message: its proposal beneath it, or in one of its own if there is no
    room.
    """
    if outcome.answer is not None:
        made: Iterable[Part] = _answer(outcome, outcome.answer, card_context)
    else:
        ending = _ENDINGS.get(outcome.kind, _failed)(outcome, card_context)
        made = chain(parts.lines(outcome.unreadable), ending)
    card = [*_beneath(outcome, card_context)]
    return with_card([*parts.packed(made)], card, room=REQUEST, fits=parts.fits)


def _beneath(outcome: Outcome, card_context: CardContext) -> Iterator[Component]:
    match card_of(outcome, card_context):
        case Proposal() as proposal:
            yield request_card(proposal, card_context)
        case "files":
            yield offer(outcome, card_context)
        case "forgotten":
            forgotten = text(f"-# {words(say_in(outcome.language)('card_forgotten'))}")
            yield parts.container([forgotten], colour=_COLOURS["deny"])
        case None:
            return


#: Who pressed the button and when, in Discord's markup.
_allowed = partial(proposals.reading_allowed, name=words, time=parts.time)


def offer(outcome: Outcome, card_context: CardContext) -> Component:
    """The attached files with the button that lets them be read, or who pressed it and when."""
    if question := card_context.reading:
        allowed = text(f"-# {_allowed(question, card_context)}")
        return parts.container([allowed], colour=_COLOURS["approve"])
    label = say_in(outcome.language)("read_files", count=len(outcome.unread))
    made = [
        *parts.small(proposals.unread_files(outcome)),
        parts.row(parts.button(label, "read", outcome.turn_id)),
    ]
    return parts.container(made, colour=_COLOURS[None])


def reading_allowed(question: Question, card_context: CardContext) -> Message:
    return message_of([text(_allowed(question, card_context))])


def _answer(outcome: Outcome, answer: Answer, card_context: CardContext) -> Iterator[Part]:
    answer = by_place(answer)
    yield from parts.small(provenance(outcome, answer))
    links = [url for one in answer.citations if (url := web_link(one.url))]
    yield from _pieces(answer.text, outcome.language, links=links)
    if answer.citations:
        yield dict(parts.DIVIDER)
        # An answer that only quotes shows the quotes already.
        yield from footnotes(
            places_of(answer.citations)[:FOOTNOTES_SHOWN], outcome.language, with_quotes=answer.composed
        )
    # An answer may have a reason too, such as a model that could not be reached.
    for remark in (outcome.reason or "", *remarks(outcome), answered_in(outcome)):
        yield from parts.small(plain_line(remark))
    if not outcome.is_small_talk:
        yield _buttons(outcome, card_context)


def _buttons(outcome: Outcome, card_context: CardContext) -> Component:
    label = quotes_label(outcome)
    quotes = [parts.button(label, "footnotes", outcome.turn_id)] if label else []
    say = say_in(outcome.language)
    withdraw = parts.button(say("not_helpful_here"), "withdraw", outcome.turn_id)
    ratings = (withdraw,) if card_context.is_unasked else parts.feedback(outcome.turn_id, say)
    person = [_ask_person(outcome.turn_id, say)] if offers_person(outcome, card_context) else []
    return parts.row(*ratings, *quotes, *person)


def _pieces(markdown: str, language: str, *, links: Collection[str] = ()) -> tuple[str, ...]:
    """The text, without leading pieces that show no words."""
    found = pieces(markdown, links=links, limit=PIECE, dialect=DISCORD)
    return tuple(dropwhile(_is_wordless, found)) or (say_in(language)("unfinished"),)


def _is_wordless(piece: str) -> bool:
    return is_blank(_STRUCTURE.sub("", piece))


def _no_answer(outcome: Outcome, card_context: CardContext) -> Iterator[Part]:
    say = say_in(outcome.language)
    yield from _pieces(outcome.reason or say("not_found"), outcome.language)
    if closest := closest_shown(outcome):
        yield from parts.small(say("closest"))
        yield from footnotes(closest, outcome.language)
    if not outcome.unread:  # else what can be done stands beneath
        yield parts.text(f"-# {say('what_else')} {say('how_to_add')}")
    yield _buttons(outcome, card_context)


def _clarify(outcome: Outcome, _card_context: CardContext) -> Iterator[Part]:
    said = asked_back(outcome, buttons=OPTIONS, length=parts.BUTTON_LABEL)
    yield from _pieces(said, outcome.language)
    yield from parts.rows(
        [
            parts.button(option, f"choose:{number}", outcome.turn_id)
            for number, option in enumerate(outcome.options[:OPTIONS], start=1)
            if not is_blank(option)
        ]
    )


def _failed(outcome: Outcome, card_context: CardContext) -> Iterator[Part]:
    yield from _pieces(text_of(outcome), outcome.language)
    if card_context.can_retry:
        label = say_in(outcome.language)("try_again")
        yield parts.row(parts.button(label, "again", outcome.turn_id))


#: Every other outcome without an answer is shown as a failure.
_ENDINGS: Mapping[OutcomeKind, Callable[[Outcome, CardContext], Iterator[Part]]] = {
    "no_answer": _no_answer,
    "clarify": _clarify,
}
