"""An outcome or a command's reply -> messages. Pure; text of others passes through :mod:`bots.discord.parts`."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import dropwhile
from textwrap import wrap
from typing import Any

from bots.chat import proposals
from bots.chat.incoming import FAULTS, REMARK
from bots.chat.markdown.blocks import plain_quote
from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import is_blank, line, web_link
from bots.chat.platform import Approver, Footnotes
from bots.chat.proposals import excerpts_by_citation, marked_lines
from bots.chat.render import Block, Layout, Part
from bots.chat.texts import (
    ENGLISH,
    QUOTE_SHOWN,
    clipped,
    columns_of,
    omissions,
    remarks,
    say_in,
    title_and_origin,
)
from bots.discord import parts
from bots.discord.dialect import DISCORD
from bots.discord.parts import TEXT, link, small_print, text, words
from core.conversation import QUERY_LIMIT, Citation, Proposal, Verdict, value
from core.text.language import language_of
from core.turns.messenger import ReplyRoute

QUOTE_PIECE = 1_500  # characters; escaping doubles them at most
LINK_SHOWN = 1_000  # characters of a URL; a longer one would crowd out the other footnotes
PIECE = 3_500  # characters of one piece of an answer; leaves room for the line above it
ANSWER_SHOWN = 3_000  # characters; of one that is escaped to more than fits, half as many
LEARNED = "learn"  # the custom id of the form in which files are uploaded
FILES_UPLOADED = 10  # "Component Reference, File Upload"
SELECT, SHORT = 3, 1  # a select of texts, and the style of a text input of one line

_SMALL = re.compile("^-# ", re.MULTILINE)
_STRUCTURE = re.compile("^[> ]*```.*$|[>#─-]", re.MULTILINE)  # marks without words: fences, lines
#: The card's edge, 0xRRGGBB: amber while it waits, green and grey once it was decided.
_COLOURS: Mapping[Verdict | None, int] = {
    None: 0xF0B232,
    "approve": 0x23A55A,
    "deny": 0x80848E,
    "expire": 0x80848E,
}


@value
class Message:
    """The body of "Create Message" with the flag ``IS_COMPONENTS_V2``, which allows no other content."""

    text: str  #: the Markdown alone, with the small print
    components: tuple[Block, ...]
    pings: tuple[Approver, ...] = ()  #: the only ones whom it notifies


def message_of(made: Sequence[Block], notification: str = "", pings: Sequence[Approver] = ()) -> Message:  # noqa: ARG001 - a notification shows no words
    markdown = "\n".join(each["content"] for each in parts.walk(made) if each["type"] == TEXT)
    return Message(text=_SMALL.sub("", markdown), components=tuple(made), pings=tuple(pings))


def _quotes(footnotes: Footnotes) -> Iterator[Part]:
    """Every quote in its paragraph, below its title, and the sentences that were left out."""
    outcome = footnotes.outcome
    for citation, excerpts in excerpts_by_citation(footnotes):
        above = _title_line(citation, outcome.language)
        for excerpt in excerpts:
            yield from parts.quotation(marked_lines(excerpt), above=above)
            above = ""
            if not excerpt.is_current:
                yield from parts.small(say_in(outcome.language)("source_changed"))
    above = words(remarks(outcome)[-1]) if omissions(outcome) else ""
    for sentence in omissions(outcome):
        for piece in wrap(line(sentence), QUOTE_PIECE, break_on_hyphens=False) or [""]:
            yield text("\n".join(filter(None, (above, f"> {words(piece)}" if piece else ""))))
            above = ""


def _footnote(citation: Citation, language: str, with_quote: bool) -> Block:
    """Number, title and source in small print, with its quote below."""
    quote = clipped(plain_quote(citation.quote), QUOTE_SHOWN) if with_quote else ""
    below = "" if is_blank(quote) else small_print(f"{columns_of(citation)}“{quote}”")
    return text(f"-# {_title_line(citation, language)}\n{below}".rstrip())


def _title_line(citation: Citation, language: str) -> str:
    title, origin = title_and_origin(citation, language)
    beside = f" · {words(origin)}" if origin else ""
    return f"**{citation.number}** {_linked(web_link(citation.url), title)}{beside}"


def _linked(url: str | None, title: str) -> str:
    """The title as a link, unless the URL is too long or would have another effect."""
    # A label shows no backticks.
    shown = link(url, title.replace("`", "'")) if url and len(url) <= LINK_SHOWN else ""
    return shown if shown and DISCORD.is_harmless(shown, (url or "",)) else words(title)


def editor(proposal: Proposal, _route: ReplyRoute) -> dict[str, Any]:
    say = say_in(language_of(proposal.question))
    field = {
        "type": parts.TEXT_INPUT, "style": parts.PARAGRAPH, "value": line(proposal.query)[:QUERY_LIMIT],
        "min_length": 1, "max_length": QUERY_LIMIT, "required": True,
    }  # fmt: skip
    label = _label(say("edit_label"), "query", field)
    return _form(say("edit_title"), parts.custom_id("edit", proposal.id), label)


def explanation(turn_id: str, language: str, can_consult: bool, _route: ReplyRoute) -> dict[str, Any]:
    say = say_in(language)
    faults = [{"label": say(key), "value": fault} for fault, key in FAULTS.items()]
    remark = {"type": parts.TEXT_INPUT, "style": SHORT, "max_length": REMARK, "required": False}
    made = [
        _label(say("what_was_wrong"), "fault", {"type": SELECT, "options": faults}),
        _label(say("in_a_line"), "remark", remark),
    ]
    if can_consult:
        yes = [{"label": say("ask_person_too"), "value": "yes"}]
        person = {"type": SELECT, "options": yes, "min_values": 0, "required": False}
        made.append(_label(say("ask_person"), "person", person))
    return _form(say("what_was_wrong"), parts.custom_id("explain", turn_id), *made)


def uploading(language: str) -> dict[str, Any]:
    """The form that uploads files to learn, or takes the address of a page."""
    say = say_in(language)
    files = {"type": parts.FILE_UPLOAD, "max_values": FILES_UPLOADED, "required": False}
    address = {"type": parts.TEXT_INPUT, "style": SHORT, "required": False}
    labels = [_label(say("learn_files"), "files", files), _label(say("learn_page"), "url", address)]
    return _form(say("learn_title"), LEARNED, *labels)


def _form(title: str, name: str, *labels: Block) -> dict[str, Any]:
    """The data of a modal, for the response to an interaction."""
    return {"title": title, "custom_id": name, "components": [*labels]}


def _label(label: str, name: str, component: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": parts.LABEL, "label": label, "component": {**component, "custom_id": name}}


def _pieces(markdown: str, language: str, links: Collection[str] = ()) -> tuple[str, ...]:
    """The text, without leading pieces that show no words."""
    found = pieces(markdown, links=links, limit=PIECE, dialect=DISCORD)
    worded = dropwhile(lambda piece: is_blank(_STRUCTURE.sub("", piece)), found)
    return tuple(worded) or (say_in(language)("unfinished"),)


def _exactly(query: str) -> Block:
    return parts.text(DISCORD.fence(proposals.whole_query(query), ""))


def _quoted(answer: str) -> list[Block]:
    """The first lines as a quotation without markup; the whole text is above."""
    for limit in (len(answer), ANSWER_SHOWN, ANSWER_SHOWN // 2):
        shown = answer if limit >= len(answer) else f"{answer[:limit]}…"
        quotation = "\n".join(f"> {words(line)}".rstrip() for line in shown.splitlines())
        if len(quotation) <= parts.TEXT_SIZE:
            break
    return [text(quotation[: parts.TEXT_SIZE])]


def _boxed(made: Sequence[Block], verdict: Verdict | None) -> list[Block]:
    return [parts.container(made, colour=_COLOURS[verdict])]


LAYOUT: Layout[Message] = Layout(
    message=message_of, markdown=text, fits=parts.fits, trimmed=parts.trimmed, pieces=_pieces,
    failure=_pieces, words=words, text=text, small=lambda markup: text(f"-# {markup}"), lines=parts.lines, exact=_exactly,
    quoted=_quoted, footnote=_footnote, button=parts.button, rows=parts.rows, feedback=parts.feedback,
    choice=lambda _option, turn: turn, boxed=_boxed, time=parts.time,
    date=lambda seconds: f"<t:{int(seconds)}:f>",
    bold=parts.bold, italic="", code="", bullet="- ", line_size=parts.LINE, label_size=parts.BUTTON_LABEL,
    mention=lambda one: f"<@&{one.id}>" if one.is_group else f"<@{one.id}>", quoted_parts=_quotes,
    call=lambda said, below, called: message_of([text(said(words)), *below], pings=called),
    editor=editor, explanation=explanation, ended=lambda first, _outcome: first,
    window=lambda _footnotes: None,  # an ephemeral message shows the quotes
    divider=parts.DIVIDER, has_one_row=True, with_buttons=(parts.ROW,),
    room=(*_boxed([text("x" * 300)] * 6, None), *parts.rows(parts.feedback("", say_in(ENGLISH)))),
)  # fmt: skip
