"""An outcome or a command's reply -> messages. Pure; text of others passes through :mod:`bots.slack.parts`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from bots.chat import proposals
from bots.chat.layout import (
    NOTIFIED,
    as_many_as_fit,
    card_of,
    first_sentence,
    notification,
    of_search,
    offers_person,
    places_in,
    with_card,
)
from bots.chat.markdown.blocks import plain_line, plain_quote
from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import is_blank, line, web_link
from bots.chat.platform import Approver, CardContext, Footnotes, Sources
from bots.chat.texts import (
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
from bots.slack import parts
from bots.slack.dialect import SLACK
from bots.slack.parts import Block, Part, escaped, escaped_link, fallback, table_words, with_table
from bots.slack.receive import CALLBACK
from bots.slack.route import metadata_of
from core.conversation import QUERY_LIMIT, Answer, Citation, Outcome, OutcomeKind, Proposal, Question, value
from core.grounding.citations import by_place
from core.library.entries import Entry
from core.text.language import language_of
from core.turns.messenger import ReplyRoute
from core.wording import Wording


@value
class Message:
    """A message as the Web API takes it: ``chat.postMessage(text=…, blocks=…)``."""

    text: str  #: for notifications, and all that there is without blocks
    blocks: tuple[Block, ...] = ()
    words: str = ""  #: of the blocks, without their small print, in case that Slack refuses the layout


def packed(made: Iterable[Part]) -> tuple[Message, ...]:
    return tuple(message_of(each) for each in parts.packed(made))


def message_of(made: Sequence[Block], told: str = "") -> Message:
    """``told`` is what a notification says, in plain words; if empty, what the blocks begin with."""
    told = told or " ".join(filter(None, map(_plain_words_in, made)))
    told = clipped(told.replace("`", ""), NOTIFIED)
    return Message(
        text=fallback("Footnote" if is_blank(told) else told), blocks=tuple(made), words=_words_of(made)
    )


def note(sentence: str) -> Message:
    """A short message of the bot itself; cut to what one message takes."""
    return packed(parts.lines([*sentence.split("\n"), "" if line(sentence) else "…"]))[0]


def _words_of(made: Sequence[Block]) -> str:
    """The text of the blocks, without their small print."""
    words = "\n\n".join(filter(None, map(_text_in, made))) or "Footnote"
    shown = fallback(words)
    while len(shown) > parts.FALLBACK_TEXT:
        words = words[: len(words) * parts.FALLBACK_TEXT // (len(shown) + 1)]
        shown = fallback(f"{words}…")
    return shown


_BOLD = re.compile(r"(?<!\w)\*(?=\S)([^*\n]+)(?<=\S)\*(?!\w)")  # "Formatting text for app surfaces"


def _plain_words_in(block: Block) -> str:
    if block["type"] == "markdown":
        return first_sentence(block["text"])
    words = _text_in(block)
    return _BOLD.sub(r"\1", words) if block["type"] == "section" else words


def _text_in(block: Block) -> str:
    text: Callable[[], str] | None = {
        "markdown": lambda: block["text"],
        "section": lambda: block["text"]["text"],
        "table": lambda: table_words(block),
        "rich_text": lambda: _rich_words(block),
    }.get(block["type"])
    if text is None:
        return ""
    words = text().replace("`", "")
    return words.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _rich_words(block: Block) -> str:
    """A query or a quote, to be read as it is."""
    return "".join(each["text"] for each in block["elements"][0]["elements"])


OMISSION_PIECE = parts.SECTION_TEXT // 5  # characters; escaping makes five of one at most


def window(footnotes: Footnotes) -> dict[str, Any] | None:
    """The quotes as a view for ``views.open``; None if there are too many."""
    say, made = say_in(footnotes.outcome.language), list(_quotes(footnotes))
    if not 0 < len(made) <= parts.VIEW_BLOCKS:
        return None
    title, close = parts.plain(say("quotes_title")), parts.plain(say("close"))
    return {"type": "modal", "title": title, "close": close, "blocks": made}


def _quotes(footnotes: Footnotes) -> Iterator[Block]:
    """Every quote in its paragraph, below its place, and the sentences that were left out."""
    outcome = footnotes.outcome
    for place, excerpts in places_in(footnotes):
        yield _footnote(place, outcome.language, quote="")
        for excerpt in excerpts:
            yield from parts.quotation(excerpt.before, excerpt.citation.quote, excerpt.after)
            if not excerpt.is_current:
                yield parts.context(escaped(say_in(outcome.language)("source_changed")))
    if left_out := omissions(outcome):
        yield parts.section(escaped(remarks(outcome)[-1]))
        for sentence in left_out:
            yield from _whole(line(sentence))


def _whole(words: str) -> Iterator[Block]:
    for start in range(0, len(words), OMISSION_PIECE):
        yield parts.context(escaped(words[start : start + OMISSION_PIECE]))


def footnotes(citations: Iterable[Citation], language: str, *, with_quotes: bool = True) -> Iterator[Block]:
    """Number, title › location and source of each, with its quote beneath."""
    for citation in citations:
        quote = (
            f"\n{escaped(columns_of(citation))}“{escaped(clipped(plain_quote(citation.quote, code='`'), QUOTE_SHOWN))}”"
            if with_quotes
            else ""
        )
        yield _footnote(citation, language, quote=quote)


def _footnote(citation: Citation, language: str, *, quote: str) -> Block:
    title, origin = place_of(citation, language)
    beside = f" · {escaped(origin)}" if origin else ""
    url = web_link(citation.url)
    linked = f"*{citation.number}* {escaped_link(url, title)}{beside}{quote}" if url else ""
    if 0 < len(linked) <= parts.SECTION_TEXT:
        return parts.context(linked)
    return parts.context(f"*{citation.number}* {escaped(title)}{beside}{quote}")


def proposal_card(proposal: Proposal, card_context: CardContext) -> Message:
    """The card of a proposal: what was searched for, what is closest, and the exact query to send; open or
    decided.
    """
    card = as_many_as_fit(
        lambda shown: [*_card(proposal, card_context, shown)], FOOTNOTES_SHOWN, fits=parts.fits
    )
    return message_of(card, of_search(proposal, card_context))


def _card(proposal: Proposal, card_context: CardContext, shown: int) -> Iterator[Block]:
    language = language_of(proposal.question)
    yield parts.section(escaped(proposals.reason(proposal)))
    if looked_for := proposals.looked_for(proposal):
        yield parts.context(escaped(looked_for))
    if proposal.closest[:shown]:
        yield parts.context(escaped(say_in(language)("closest")))
        yield from footnotes(proposal.closest[:shown], language)
    yield from request(proposal, card_context)


def request(proposal: Proposal, card_context: CardContext) -> Iterator[Block]:
    """The exact query with the buttons, or once it is decided, who decided and when."""
    say = say_in(language_of(proposal.question))
    yield parts.section(escaped(proposals.would_search(proposal, card_context)))
    yield parts.preformatted(proposals.whole_query(proposal.query))
    if not proposal.is_open:
        if proposal.allowed not in (None, proposal.query):
            yield parts.context(escaped(say("edited")))
            yield parts.preformatted(proposals.whole_query(proposal.allowed or ""))
        yield parts.context(proposals.decision(proposal, card_context, name=escaped, time=parts.date))
        return
    yield parts.actions(
        parts.button(say("search"), "approve", proposal.id, is_primary=True),
        parts.button(say("edit"), "edit", proposal.id),
        parts.button(say("deny"), "deny", proposal.id),
        *([_ask_person(proposal.turn_id, say)] if card_context.can_consult else ()),
    )
    yield parts.context(escaped(proposals.waiting(proposal, card_context)))


def _ask_person(turn_id: str, say: Wording) -> Block:
    return parts.button(say("ask_person"), "consult", turn_id)


def decided_already(proposal: Proposal, card_context: CardContext) -> Message:
    sentence = proposals.decided_already(proposal, card_context, name=escaped, time=parts.date)
    return message_of([parts.section(sentence)])


def call_approvers(proposal: Proposal, approvers: Sequence[Approver]) -> Message:
    mentions = [f"<!subteam^{one.id}>" if one.is_group else f"<@{one.id}>" for one in approvers]
    in_block = proposals.call_approvers(proposal, mentions=mentions, name=escaped)
    text = proposals.call_approvers(proposal, mentions=mentions, name=fallback)
    return Message(text=text, blocks=(parts.section(in_block),))


def editor(proposal: Proposal, route: ReplyRoute) -> dict[str, Any]:
    """A view for ``views.open``."""
    say = say_in(language_of(proposal.question))
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "title": parts.plain(say("edit_title")),
        "submit": parts.plain(say("search")),
        "close": parts.plain(say("cancel")),
        "private_metadata": metadata_of(proposal.id, route),
        "blocks": [
            {
                "type": "input",
                "block_id": "query",
                "label": parts.plain(say("edit_label")),
                "element": {
                    "type": "plain_text_input",
                    "action_id": "query",
                    "initial_value": line(proposal.query)[:QUERY_LIMIT],
                    "max_length": QUERY_LIMIT,
                },
            }
        ],
    }


def quotes(footnotes: Footnotes) -> tuple[Message, ...]:
    return packed(_quotes(footnotes))


def sources(sources: Sources) -> tuple[Message, ...]:
    return packed(_source_lists(sources.entries, say_in(sources.language)))


def _source_lists(entries: Sequence[Entry], say: Wording) -> Iterator[Part]:
    for name, size, lines, more in source_lists(entries, say):
        yield parts.section(f"*{escaped(name)}*: {size}")
        yield from parts.lines(f"• {each}" for each in lines)
        if more:
            yield parts.context(more)


PIECE = 11_500  # characters of one piece of an answer, below the limit of a message's Markdown
#: Room that is kept beneath an answer for a proposed search, decided or not.
REQUEST = ({"type": "divider"}, *([parts.section("x" * 500)] * 6))


def messages(outcome: Outcome, card_context: CardContext) -> tuple[Message, ...]:
    """The outcome as one message, or as several in order where it is longer than Slack takes."""
    if outcome.kind == "approval_needed" and outcome.proposal is not None:
        unreadable = (note("\n".join(outcome.unreadable)),) if outcome.unreadable else ()
        return (*unreadable, _sole_card(outcome, outcome.proposal, card_context))
    made = _in_messages(outcome, card_context)
    first, *others = map(parts.without_buttons, made) if card_context.is_forgotten else made
    return (message_of(first, notification(outcome, card_context)), *map(message_of, others))


def _sole_card(outcome: Outcome, proposal: Proposal, card_context: CardContext) -> Message:
    if card_context.is_forgotten:
        return note(say_in(outcome.language)("card_forgotten"))
    return proposal_card(proposal, card_context)


def _in_messages(outcome: Outcome, card_context: CardContext) -> list[list[Block]]:
    """The blocks of an outcome by message: its proposal beneath it, or in one of its own if there is no room."""
    if outcome.answer is not None:
        made: Iterable[Part] = _answer(outcome, outcome.answer, card_context)
    else:
        ending = _ENDINGS.get(outcome.kind, _failed)(outcome, card_context)
        made = chain(parts.lines(outcome.unreadable), ending)
    card = [*_beneath(outcome, card_context)]
    return with_card(
        [*parts.packed(made)], card, room=REQUEST, fits=parts.fits, divider=[dict(parts.DIVIDER)]
    )


def _beneath(outcome: Outcome, card_context: CardContext) -> Iterator[Block]:
    match card_of(outcome, card_context):
        case Proposal() as proposal:
            yield from request(proposal, card_context)
        case "files":
            yield from offer(outcome, card_context)
        case "forgotten":
            yield parts.context(escaped(say_in(outcome.language)("card_forgotten")))
        case None:
            return


#: Who pressed the button and when, in Slack's markup.
_allowed = partial(proposals.reading_allowed, name=escaped, time=parts.date)


def offer(outcome: Outcome, card_context: CardContext) -> Iterator[Block]:
    """The attached files with the button that lets them be read, or who pressed it and when."""
    if question := card_context.reading:
        yield parts.context(_allowed(question, card_context))
        return
    yield parts.context(escaped(clipped(line(proposals.unread_files(outcome)), parts.LINE)))
    label = say_in(outcome.language)("read_files", count=len(outcome.unread))
    yield parts.actions(parts.button(label, "read", outcome.turn_id))


def reading_allowed(question: Question, card_context: CardContext) -> Message:
    return message_of([parts.section(_allowed(question, card_context))])


def _answer(outcome: Outcome, answer: Answer, card_context: CardContext) -> Iterator[Part]:
    answer = by_place(answer)
    if lead := provenance(outcome, answer):
        yield parts.context(f"_{escaped(lead)}_")
    yield from with_table(pieces(answer.text, links=_links(answer.citations), limit=PIECE, dialect=SLACK))
    if answer.citations:
        yield dict(parts.DIVIDER)
        # An answer of quotes alone has shown them above.
        yield from footnotes(
            places_of(answer.citations)[:FOOTNOTES_SHOWN], outcome.language, with_quotes=answer.composed
        )
    yield from _quotes_button(outcome)
    if offers_person(outcome, card_context):
        yield parts.actions(_ask_person(outcome.turn_id, say_in(outcome.language)))
    # The reason: an answer in spite of an error, such as a model out of reach.
    for remark in (outcome.reason or "", *remarks(outcome), answered_in(outcome)):
        if words := clipped(plain_line(remark, code="`"), parts.LINE):
            yield parts.context(escaped(words))
    say = say_in(outcome.language)
    if card_context.is_unasked:
        yield parts.actions(parts.button(say("not_helpful_here"), "withdraw", outcome.turn_id))
    elif not outcome.is_small_talk:
        yield parts.feedback(outcome.turn_id, say)


def _quotes_button(outcome: Outcome) -> Iterator[Block]:
    if label := quotes_label(outcome):
        yield parts.actions(parts.button(label, "footnotes", outcome.turn_id))


def _links(citations: Iterable[Citation]) -> tuple[str, ...]:
    return tuple(url for one in citations if (url := web_link(one.url)))


def _no_answer(outcome: Outcome, card_context: CardContext) -> Iterator[Part]:
    say = say_in(outcome.language)
    yield from pieces(outcome.reason or say("not_found"), limit=PIECE, dialect=SLACK)
    if closest := closest_shown(outcome):
        yield parts.context(escaped(say("closest")))
        yield from footnotes(closest, outcome.language)
    yield from _quotes_button(outcome)
    if not outcome.unread:  # else what can be done stands beneath
        yield parts.context(f"{say('what_else')} {say('how_to_add')}")
    if offers_person(outcome, card_context):
        yield parts.actions(_ask_person(outcome.turn_id, say))
    yield parts.feedback(outcome.turn_id, say)


def _clarify(outcome: Outcome, _card_context: CardContext) -> Iterator[Part]:
    said = asked_back(outcome, buttons=parts.ACTIONS, length=parts.BUTTON_LABEL)
    made = pieces(said, limit=PIECE, dialect=SLACK)
    yield from made or pieces(say_in(outcome.language)("which"), limit=PIECE, dialect=SLACK)
    if options := [option for option in outcome.options if line(option)][: parts.ACTIONS]:
        yield parts.actions(
            *(parts.button(option, f"choose:{n}", line(option)) for n, option in enumerate(options, start=1))
        )


def _failed(outcome: Outcome, card_context: CardContext) -> Iterator[Part]:
    say = say_in(outcome.language)
    yield from parts.lines([text_of(outcome), "" if line(text_of(outcome)) else say("unfinished")])
    if card_context.can_retry:
        yield parts.actions(parts.button(say("try_again"), "again", outcome.turn_id))


#: Every other outcome without an answer is shown as a failure.
_ENDINGS: Mapping[OutcomeKind, Callable[[Outcome, CardContext], Iterator[Part]]] = {
    "no_answer": _no_answer,
    "clarify": _clarify,
}
