"""An outcome or a command's reply -> messages. Pure; text of others passes through :mod:`bots.slack.blocks`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from bots.chat import proposals
from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import line, web_link
from bots.chat.platform import CardContext, CommandReply, Footnotes, Note, Sources
from bots.chat.texts import (
    FOOTNOTES_SHOWN,
    QUOTE_SHOWN,
    answered_in,
    clipped,
    more_label,
    omissions,
    place_of,
    provenance,
    remarks,
    say_in,
    source_lists,
    text_of,
)
from bots.slack import blocks, limits
from bots.slack.blocks import Block, Part, escaped, escaped_link, fallback
from bots.slack.dialect import SLACK
from bots.slack.interactions import CALLBACK
from bots.slack.route import metadata_of
from core.conversation import QUERY_LIMIT, Answer, Citation, Outcome, OutcomeKind, Proposal, value
from core.library.store import Entry
from core.text.language import language_of
from core.turns.messenger import ReplyRoute
from core.wording import Wording


@value
class Message:
    """A message as the Web API takes it: ``chat.postMessage(text=…, blocks=…)``."""

    text: str  #: for notifications and clients without blocks
    blocks: tuple[Block, ...] = ()


def packed(parts: Iterable[Part]) -> tuple[Message, ...]:
    return tuple(message_of(made) for made in blocks.packed(parts))


def message_of(made: Sequence[Block]) -> Message:
    return Message(text=_words_of(made), blocks=tuple(made))


def note(sentence: str) -> Message:
    """A short message of the bot itself; cut to what one message takes."""
    return packed(blocks.lines([*sentence.split("\n"), "" if line(sentence) else "…"]))[0]


def _words_of(made: Sequence[Block]) -> str:
    """The text of the blocks, without their small print."""
    words = "\n\n".join(filter(None, map(_text_in, made))) or "Footnote"
    shown = fallback(words)
    while len(shown) > limits.FALLBACK_TEXT:
        words = words[: len(words) * limits.FALLBACK_TEXT // (len(shown) + 1)]
        shown = fallback(f"{words}…")
    return shown


def _text_in(block: Block) -> str:
    text = {
        "markdown": lambda: block["text"],
        "section": lambda: block["text"]["text"],
        "rich_text": lambda: block["elements"][0]["elements"][0]["text"],  # a query, to be read as it is
    }.get(block["type"])
    if text is None:
        return ""
    words: str = text().replace("`", "")
    return words.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


QUOTE_PIECE = limits.SECTION_TEXT // 5  # characters; escaping makes five of one at most


def all_footnotes(outcome: Outcome) -> tuple[Message, ...]:
    """Every footnote with its whole quote, and the sentences that were left out."""
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
    """Number, title › location and source of each, with its quote beneath."""
    for citation in citations:
        quote = f"\n“{escaped(clipped(line(citation.quote), QUOTE_SHOWN))}”" if with_quotes else ""
        yield _footnote(citation, language, quote=quote)


def _footnote(citation: Citation, language: str, *, quote: str) -> Block:
    title, origin = place_of(citation, language)
    beside = f" · {escaped(origin)}" if origin else ""
    url = web_link(citation.url)
    linked = f"*{citation.number}* {escaped_link(url, title)}{beside}{quote}" if url else ""
    if 0 < len(linked) <= limits.SECTION_TEXT:
        return blocks.context(linked)
    return blocks.context(f"*{citation.number}* {escaped(title)}{beside}{quote}")


def proposal_card(proposal: Proposal, card_context: CardContext) -> Message:
    """What was searched for, what is closest, and the exact query to send; open or decided."""
    shown = FOOTNOTES_SHOWN
    while shown and not blocks.fits([*_card(proposal, card_context, shown)]):
        shown -= 1
    return message_of([*_card(proposal, card_context, shown)])


def _card(proposal: Proposal, card_context: CardContext, shown: int) -> Iterator[Block]:
    language = language_of(proposal.question)
    yield blocks.section(escaped(proposals.reason(proposal)))
    if looked_for := proposals.looked_for(proposal):
        yield blocks.context(escaped(looked_for))
    if proposal.closest[:shown]:
        yield blocks.context(escaped(say_in(language)("closest")))
        yield from footnotes(proposal.closest[:shown], language)
    yield from request(proposal, card_context)


def request(proposal: Proposal, card_context: CardContext) -> Iterator[Block]:
    """The exact query with the buttons, or once it is decided, who decided and when."""
    say = say_in(language_of(proposal.question))
    yield blocks.section(escaped(proposals.would_search(proposal, card_context)))
    yield blocks.preformatted(proposals.whole_query(proposal.query))
    if not proposal.is_open:
        if proposal.allowed not in (None, proposal.query):
            yield blocks.context(escaped(say("edited")))
            yield blocks.preformatted(proposals.whole_query(proposal.allowed or ""))
        yield blocks.context(escaped(proposals.decision(proposal, card_context)))
        return
    yield blocks.actions(
        blocks.button(say("search"), "approve", proposal.id, is_primary=True),
        blocks.button(say("edit"), "edit", proposal.id),
        blocks.button(say("deny"), "deny", proposal.id),
    )
    yield blocks.context(escaped(proposals.waiting(proposal, card_context)))


def editor(proposal: Proposal, route: ReplyRoute) -> dict[str, Any]:
    """A view for ``views.open``."""
    say = say_in(language_of(proposal.question))
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "title": blocks.plain(say("edit_title")),
        "submit": blocks.plain(say("search")),
        "close": blocks.plain(say("cancel")),
        "private_metadata": metadata_of(proposal.id, route),
        "blocks": [
            {
                "type": "input",
                "block_id": "query",
                "label": blocks.plain(say("edit_label")),
                "element": {
                    "type": "plain_text_input",
                    "action_id": "query",
                    "initial_value": line(proposal.query)[:QUERY_LIMIT],
                    "max_length": QUERY_LIMIT,
                },
            }
        ],
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
    return packed(_source_lists(entries, say)) or (note(say("no_documents")),)


def _source_lists(entries: Sequence[Entry], say: Wording) -> Iterator[Part]:
    for name, size, lines, more in source_lists(entries, say):
        yield blocks.section(f"*{escaped(name)}*: {size}")
        yield from blocks.lines(f"• {each}" for each in lines)
        if more:
            yield blocks.context(more)


PIECE = 11_500  # characters of one piece of an answer, below the limit of a message's Markdown
#: Room that is kept beneath an answer for a proposed search, decided or not.
REQUEST = ({"type": "divider"}, *([blocks.section("x" * 500)] * 6))


def messages(outcome: Outcome, card_context: CardContext) -> tuple[Message, ...]:
    """The outcome as one message, or as several in order where it is longer than Slack takes."""
    if outcome.answer is not None:
        answer = packed(_answer(outcome, outcome.answer))
        return _with_request(answer, outcome.proposal, card_context) if outcome.proposal else answer
    if outcome.kind == "approval_needed" and outcome.proposal is not None:
        return (proposal_card(outcome.proposal, card_context),)
    return packed(_ENDINGS.get(outcome.kind, _failed)(outcome, card_context))


def _with_request(
    answer: tuple[Message, ...], proposal: Proposal, card_context: CardContext
) -> tuple[Message, ...]:
    """The search beneath the answer, or in a message of its own if there is no room."""
    card, (*others, last) = [*request(proposal, card_context)], answer
    if blocks.fits([*last.blocks, *REQUEST]):
        return (*others, message_of([*last.blocks, dict(blocks.DIVIDER), *card]))
    return (*answer, message_of(card))


def _answer(outcome: Outcome, answer: Answer) -> Iterator[Part]:
    if lead := provenance(outcome, answer):
        yield blocks.context(f"_{escaped(lead)}_")
    yield from pieces(answer.text, links=_links(answer.citations), limit=PIECE, dialect=SLACK)
    if answer.citations:
        yield dict(blocks.DIVIDER)
        # An answer of quotes alone has shown them above.
        yield from footnotes(
            answer.citations[:FOOTNOTES_SHOWN], outcome.language, with_quotes=answer.composed
        )
    if more := more_label(outcome, answer):
        yield blocks.actions(blocks.button(more, "footnotes", outcome.turn_id))
    # The reason: an answer in spite of an error, such as a model out of reach.
    for remark in (outcome.reason or "", *remarks(outcome), answered_in(outcome)):
        if words := clipped(line(remark), blocks.LINE):
            yield blocks.context(escaped(words))
    yield blocks.feedback(outcome.turn_id, say_in(outcome.language))


def _links(citations: Iterable[Citation]) -> tuple[str, ...]:
    return tuple(url for one in citations if (url := web_link(one.url)))


def _no_answer(outcome: Outcome, _card_context: CardContext) -> Iterator[Part]:
    say = say_in(outcome.language)
    yield from pieces(outcome.reason or say("not_found"), limit=PIECE, dialect=SLACK)
    if outcome.closest:
        yield blocks.context(escaped(say("closest")))
        yield from footnotes(outcome.closest, outcome.language)
    yield blocks.context(f"{say('what_else')} {say('how_to_add')}")
    yield blocks.feedback(outcome.turn_id, say)


def _clarify(outcome: Outcome, _card_context: CardContext) -> Iterator[Part]:
    yield from pieces(text_of(outcome), limit=PIECE, dialect=SLACK)
    if options := [option for option in outcome.options if line(option)][: limits.ACTIONS]:
        yield blocks.actions(
            *(blocks.button(option, f"choose:{n}", line(option)) for n, option in enumerate(options, start=1))
        )


def _failed(outcome: Outcome, card_context: CardContext) -> Iterator[Part]:
    say = say_in(outcome.language)
    yield from blocks.lines([text_of(outcome), "" if line(text_of(outcome)) else say("unfinished")])
    if card_context.can_retry:
        yield blocks.actions(blocks.button(say("try_again"), "again", outcome.turn_id))


#: Every other outcome without an answer is shown as a failure.
_ENDINGS: Mapping[OutcomeKind, Callable[[Outcome, CardContext], Iterator[Part]]] = {
    "no_answer": _no_answer,
    "clarify": _clarify,
}
