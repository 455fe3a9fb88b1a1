"""An outcome or a command's reply -> messages. Pure; text of others passes through :mod:`bots.slack.parts`."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from bots.chat import texts
from bots.chat.incoming import FAULTS, REMARK
from bots.chat.markdown.blocks import plain_quote
from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import clean, is_blank, line, names_another_host, web_link
from bots.chat.platform import Approver, Footnotes
from bots.chat.proposals import NOTIFIED, excerpts_by_citation, first_sentence
from bots.chat.render import Block, Layout, Part
from bots.slack import parts
from bots.slack.dialect import SLACK
from bots.slack.parts import escaped, escaped_link, fallback, table_words, with_table
from bots.slack.receive import CALLBACK, EXPLAIN
from bots.slack.route import metadata_of
from core.conversation import QUERY_LIMIT, Citation, Outcome, Proposal, value
from core.text.language import language_of
from core.turns.messenger import ReplyRoute
from core.wording import Wording

PIECE = 11_500  # characters of one piece of an answer, below the limit of a message's Markdown
OMISSION_PIECE = parts.SECTION_TEXT // 5  # characters; escaping makes five of one at most
ANSWER_PIECE = parts.SECTION_TEXT // 2  # characters


@value
class PlanEnding:
    """The last state of the plan above a turn's outcome."""

    title: str  #: such as "Worked for 12 s"
    is_failed: bool = False
    sources: tuple[Block, ...] = ()  #: the pages and documents that the answer cites, ``url`` elements


@value
class Message:
    """A message as the Web API takes it: ``chat.postMessage(text=…, blocks=…)``."""

    text: str  #: for notifications, and all that there is without blocks
    blocks: tuple[Block, ...] = ()
    words: str = ""  #: of the blocks, without their small print, in case that Slack refuses the layout
    ending: PlanEnding | None = None  #: of the first message of an outcome


def message_of(made: Sequence[Block], notification: str = "", pings: Sequence[Approver] = ()) -> Message:  # noqa: ARG001 - a mention notifies
    """``notification`` is what a notification says, in plain words; if empty, what the blocks begin with."""
    notification = notification or " ".join(filter(None, map(_plain_words_in, made)))
    notification = texts.clipped(notification.replace("`", ""), NOTIFIED)
    text = fallback("Footnote" if is_blank(notification) else notification)
    return Message(text=text, blocks=tuple(made), words=_words_of(made))


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
        "data_table": lambda: table_words(block),
        # A query or a quote, to be read as it is.
        "rich_text": lambda: "".join(each["text"] for each in block["elements"][0]["elements"]),
    }.get(block["type"])
    if text is None:
        return ""
    words = text().replace("`", "")
    return words.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def window(footnotes: Footnotes) -> dict[str, Any] | None:
    """The quotes as a view for ``views.open``; None if there are too many."""
    say, made = texts.say_in(footnotes.outcome.language), list(_quotes(footnotes))
    if not 0 < len(made) <= parts.VIEW_BLOCKS:
        return None
    title, close = parts.plain(say("quotes_title")), parts.plain(say("close"))
    return {"type": "modal", "title": title, "close": close, "blocks": made}


def _quotes(footnotes: Footnotes) -> Iterator[Block]:
    """Every quote in its paragraph, below its title, and the sentences that were left out."""
    outcome = footnotes.outcome
    for citation, excerpts in excerpts_by_citation(footnotes):
        yield _footnote(citation, outcome.language, False)
        for excerpt in excerpts:
            yield from parts.quotation(excerpt.before, excerpt.citation.quote, excerpt.after)
            if not excerpt.is_current:
                yield parts.context(escaped(texts.say_in(outcome.language)("source_changed")))
    if left_out := texts.omissions(outcome):
        yield parts.section(escaped(texts.remarks(outcome)[-1]))
        for words in map(line, left_out):
            for start in range(0, len(words), OMISSION_PIECE):
                yield parts.context(escaped(words[start : start + OMISSION_PIECE]))


def _ended(first: Message, outcome: Outcome) -> Message:
    say, sources = texts.say_in(outcome.language), {}
    citations = outcome.answer.citations if outcome.answer else ()
    for citation in texts.distinct_citations(citations)[: texts.FOOTNOTES_SHOWN]:
        if url := web_link(citation.url):
            title = line(texts.title_and_origin(citation, outcome.language)[0])
            title = urlsplit(url).hostname or url if names_another_host(title, url) else title
            sources[url] = {"type": "url", "url": url, "text": texts.clipped(title, parts.TASK_TITLE)}
    is_failed = outcome.kind == "failed"
    is_stopped = is_failed and outcome.reason == say("stopped")
    took = texts.duration(outcome.timing_ms.get("total", 0.0), outcome.language)
    how = "plan_stopped" if is_stopped else "plan_failed" if is_failed else "worked_for"
    ending = PlanEnding(title=say(how, time=took), is_failed=is_failed, sources=tuple(sources.values()))
    return replace(first, ending=ending)


def _footnote(citation: Citation, language: str, with_quote: bool) -> Block:
    quote = ""
    if with_quote:
        words = texts.clipped(plain_quote(citation.quote, code="`"), texts.QUOTE_SHOWN)
        quote = f"\n{escaped(texts.columns_of(citation))}“{escaped(words)}”"
    title, origin = texts.title_and_origin(citation, language)
    beside = f" · {escaped(origin)}" if origin else ""
    url = web_link(citation.url)
    linked = f"*{citation.number}* {escaped_link(url, title)}{beside}{quote}" if url else ""
    if 0 < len(linked) <= parts.SECTION_TEXT:
        return parts.context(linked)
    return parts.context(f"*{citation.number}* {escaped(title)}{beside}{quote}")


def _mention(one: Approver) -> str:
    return f"<!subteam^{one.id}>" if one.is_group else f"<@{one.id}>"


def editor(proposal: Proposal, route: ReplyRoute) -> dict[str, Any]:
    say = texts.say_in(language_of(proposal.question))
    query = line(proposal.query)[:QUERY_LIMIT]
    field = {"type": "plain_text_input", "initial_value": query, "max_length": QUERY_LIMIT}
    made = [_input("query", say("edit_label"), field)]
    return _view(CALLBACK, say("edit_title"), made, say, send="search", about=metadata_of(proposal.id, route))


def explanation(turn_id: str, language: str, can_consult: bool, route: ReplyRoute) -> dict[str, Any]:
    say = texts.say_in(language)
    options = [_option(say(key), fault) for fault, key in FAULTS.items()]
    line_of_text = {"type": "plain_text_input", "max_length": REMARK}
    made = [
        _input("fault", say("what_was_wrong"), {"type": "radio_buttons", "options": options}),
        _input("remark", say("in_a_line"), line_of_text, is_optional=True),
    ]
    if can_consult:
        person = {"type": "checkboxes", "options": [_option(say("ask_person_too"), "yes")]}
        made.append(_input("person", say("ask_person"), person, is_optional=True))
    about = metadata_of(turn_id, route)
    return _view(EXPLAIN, say("what_was_wrong"), made, say, send="send", about=about)


def _view(
    callback: str, title: str, blocks: Sequence[Block], say: Wording, *, send: str, about: str
) -> dict[str, Any]:
    """A view for ``views.open``."""
    return {
        "type": "modal", "callback_id": callback, "private_metadata": about, "title": parts.plain(title),
        "submit": parts.plain(say(send)), "close": parts.plain(say("cancel")), "blocks": blocks,
    }  # fmt: skip


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
    return parts.lines([said, "" if line(said) else texts.say_in(language)("unfinished")])


def _quoted(answer: str) -> Iterator[Block]:
    words = clean(answer)
    for start in range(0, len(words), ANSWER_PIECE):
        yield from parts.quotation("", "", words[start : start + ANSWER_PIECE])


LAYOUT: Layout[Message] = Layout(
    message=message_of, markdown=lambda words: {"type": "markdown", "text": words}, fits=parts.fits,
    trimmed=lambda blocks: blocks, pieces=_pieces, failure=_failure,
    words=escaped, text=parts.section, small=parts.context, lines=parts.lines, exact=parts.preformatted,
    quoted=_quoted, footnote=_footnote, button=parts.button, rows=parts.rows, feedback=parts.feedback,
    choice=lambda option, _turn: line(option), boxed=lambda made, _verdict: [*made], time=parts.date, date=parts.date,
    bold=lambda said: f"*{escaped(said)}*", italic="_", code="`", bullet="• ", line_size=parts.LINE, label_size=parts.BUTTON_LABEL,
    mention=_mention, quoted_parts=_quotes, editor=editor, explanation=explanation, window=window,
    call=lambda said, below, _: Message(text=said(fallback), blocks=(parts.section(said(escaped)), *below)),
    ended=_ended,
    divider=parts.DIVIDER, above_card=(parts.DIVIDER,), room=(parts.DIVIDER, *[parts.section("x" * 500)] * 6),
    has_one_row=False, with_buttons=("actions", "context_actions"),
)  # fmt: skip
