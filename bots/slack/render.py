"""An outcome or a command's reply -> messages. Pure; text of others passes through :mod:`bots.slack.parts`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bots.chat import proposals
from bots.chat.incoming import FAULTS, REMARK
from bots.chat.markdown.blocks import plain_quote
from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import clean, is_blank, line, web_link
from bots.chat.platform import Approver, Consultation, ExplanationForm, Footnotes
from bots.chat.proposals import NOTIFIED, first_sentence, places_in
from bots.chat.render import QUESTION_SHOWN, Block, Layout, Part
from bots.chat.texts import QUOTE_SHOWN, clipped, columns_of, omissions, place_of, remarks, say_in
from bots.slack import parts
from bots.slack.dialect import SLACK
from bots.slack.parts import escaped, escaped_link, fallback, table_words, with_table
from bots.slack.receive import CALLBACK, EXPLAIN
from bots.slack.route import metadata_of
from core.conversation import QUERY_LIMIT, Citation, Proposal, value
from core.text.language import language_of
from core.turns.messenger import ReplyRoute

PIECE = 11_500  # characters of one piece of an answer, below the limit of a message's Markdown
OMISSION_PIECE = parts.SECTION_TEXT // 5  # characters; escaping makes five of one at most
ANSWER_PIECE = parts.SECTION_TEXT // 2  # characters


@value
class Message:
    """A message as the Web API takes it: ``chat.postMessage(text=…, blocks=…)``."""

    text: str  #: for notifications, and all that there is without blocks
    blocks: tuple[Block, ...] = ()
    words: str = ""  #: of the blocks, without their small print, in case that Slack refuses the layout


def message_of(made: Sequence[Block], told: str = "") -> Message:
    """``told`` is what a notification says, in plain words; if empty, what the blocks begin with."""
    told = told or " ".join(filter(None, map(_plain_words_in, made)))
    told = clipped(told.replace("`", ""), NOTIFIED)
    return Message(
        text=fallback("Footnote" if is_blank(told) else told), blocks=tuple(made), words=_words_of(made)
    )


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
        # A query or a quote, to be read as it is.
        "rich_text": lambda: "".join(each["text"] for each in block["elements"][0]["elements"]),
    }.get(block["type"])
    if text is None:
        return ""
    words = text().replace("`", "")
    return words.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


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
        yield _footnote(place, outcome.language, False)
        for excerpt in excerpts:
            yield from parts.quotation(excerpt.before, excerpt.citation.quote, excerpt.after)
            if not excerpt.is_current:
                yield parts.context(escaped(say_in(outcome.language)("source_changed")))
    if left_out := omissions(outcome):
        yield parts.section(escaped(remarks(outcome)[-1]))
        for words in map(line, left_out):
            for start in range(0, len(words), OMISSION_PIECE):
                yield parts.context(escaped(words[start : start + OMISSION_PIECE]))


def quotes(footnotes: Footnotes) -> tuple[Message, ...]:
    return LAYOUT.shown(_quotes(footnotes))


def _footnote(citation: Citation, language: str, with_quote: bool) -> Block:
    """Number, title › location and source, with its quote beneath."""
    quote = ""
    if with_quote:
        words = clipped(plain_quote(citation.quote, code="`"), QUOTE_SHOWN)
        quote = f"\n{escaped(columns_of(citation))}“{escaped(words)}”"
    title, origin = place_of(citation, language)
    beside = f" · {escaped(origin)}" if origin else ""
    url = web_link(citation.url)
    linked = f"*{citation.number}* {escaped_link(url, title)}{beside}{quote}" if url else ""
    if 0 < len(linked) <= parts.SECTION_TEXT:
        return parts.context(linked)
    return parts.context(f"*{citation.number}* {escaped(title)}{beside}{quote}")


def call_approvers(proposal: Proposal, approvers: Sequence[Approver]) -> Message:
    mentions = [f"<!subteam^{one.id}>" if one.is_group else f"<@{one.id}>" for one in approvers]
    in_block = proposals.call_approvers(proposal, mentions=mentions, name=escaped)
    text = proposals.call_approvers(proposal, mentions=mentions, name=fallback)
    return Message(text=text, blocks=(parts.section(in_block),))


def consultation(asked: Consultation) -> Message:
    say = say_in(asked.language)
    mentions = ", ".join(f"<!subteam^{one.id}>" if one.is_group else f"<@{one.id}>" for one in asked.experts)
    question = clipped(asked.question, QUESTION_SHOWN)
    in_block = say("call_experts", who=mentions, asker=escaped(asked.asker), question=escaped(question))
    text = say("call_experts", who=mentions, asker=fallback(asked.asker), question=fallback(question))
    made = (
        parts.section(in_block),
        *parts.rows([parts.button(say("keep_answer"), "keep", "reply")]),
        parts.context(escaped(say("can_be_kept"))),
    )
    return Message(text=text, blocks=made)


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


def explanation(form: ExplanationForm, route: ReplyRoute) -> dict[str, Any]:
    """A view for ``views.open``."""
    say = say_in(form.language)
    options = [_option(say(key), fault) for fault, key in FAULTS.items()]
    made = [
        _input("fault", say("what_was_wrong"), {"type": "radio_buttons", "options": options}),
        _input(
            "remark", say("in_a_line"), {"type": "plain_text_input", "max_length": REMARK}, is_optional=True
        ),
    ]
    if form.can_consult:
        person = {"type": "checkboxes", "options": [_option(say("ask_person_too"), "yes")]}
        made.append(_input("person", say("ask_person"), person, is_optional=True))
    return {
        "type": "modal",
        "callback_id": EXPLAIN,
        "title": parts.plain(say("what_was_wrong")),
        "submit": parts.plain(say("send")),
        "close": parts.plain(say("cancel")),
        "private_metadata": metadata_of(form.turn_id, route),
        "blocks": made,
    }


def _option(label: str, name: str) -> dict[str, Any]:
    return {"text": parts.plain(label), "value": name}


def _input(name: str, label: str, element: Mapping[str, Any], *, is_optional: bool = False) -> dict[str, Any]:
    return {
        "type": "input", "block_id": name, "optional": is_optional, "label": parts.plain(label),
        "element": {**element, "action_id": name},
    }  # fmt: skip


def _pieces(markdown: str, _language: str, links: Collection[str]) -> Iterable[Part]:
    return with_table(pieces(markdown, links=links, limit=PIECE, dialect=SLACK))


def _failure(said: str, language: str) -> Iterable[Block]:
    return parts.lines([said, "" if line(said) else say_in(language)("unfinished")])


def _quoted(answer: str) -> Iterator[Block]:
    words = clean(answer)
    for start in range(0, len(words), ANSWER_PIECE):
        yield from parts.quotation("", "", words[start : start + ANSWER_PIECE])


LAYOUT: Layout[Message] = Layout(
    message=message_of, packed=parts.packed, fits=parts.fits, pieces=_pieces, failure=_failure,
    words=escaped, text=parts.section, small=parts.context, lines=parts.lines, exact=parts.preformatted,
    quoted=_quoted, footnote=_footnote, button=parts.button, rows=parts.rows, feedback=parts.feedback,
    choice=lambda option, _turn: line(option), boxed=lambda made, _verdict: [*made], time=parts.date,
    bold="*", italic="_", code="`", bullet="• ", line_size=parts.LINE, label_size=parts.BUTTON_LABEL,
    divider=parts.DIVIDER, above_card=(parts.DIVIDER,), room=(parts.DIVIDER, *[parts.section("x" * 500)] * 6),
    has_one_row=False, with_buttons=("actions", "context_actions"),
)  # fmt: skip
messages, note, sources, kept = LAYOUT.messages, LAYOUT.note, LAYOUT.sources, LAYOUT.kept
proposal_card, decided_already = LAYOUT.proposal_card, LAYOUT.decided_already
reading_allowed = LAYOUT.reading_allowed
