"""An outcome -> messages. Pure; whatever others wrote passes through :mod:`bots.slack.safe`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import groupby
from typing import Any

from bots.messages import (
    CLOSEST,
    FOOTNOTES_SHOWN,
    WHAT_ELSE,
    answered_in,
    clipped,
    counted,
    headings,
    progress_note,
    provenance,
    text_of,
    whence,
)
from bots.slack import blocks, limits
from bots.slack.blocks import Block, Part
from bots.slack.pieces import pieces
from bots.slack.safe import escaped, escaped_link, fallback, line, web_link
from core.conversation import Answer, Citation, Outcome, Progress
from core.library.catalogue import Entry
from core.settings import WebApproval
from core.values import value

PIECE = 11_500  # characters of one piece of an answer, below the limit of a message's Markdown
TITLE_SHOWN = 150  # characters of a footnote's title, and of where it is from
QUOTE_SHOWN = 200  # characters of a quote beneath an answer; "Show all footnotes" has all of it
QUOTE_PIECE = limits.SECTION_TEXT // 5  # characters; escaping makes five of one at most
LISTED = 40  # documents; more would only scroll away

UNSAID = "I could not finish this."
LEARN = "Add one: `learn` with a file attached."


@value
class Message:
    """What the Web API is given: ``chat.postMessage(text=…, blocks=…)``."""

    text: str  #: the words alone, for notifications and clients without blocks
    blocks: tuple[Block, ...] = ()


@value
class Setting:
    """What the layout depends on beside the outcome."""

    engine: str = "the web"  #: the search engine, as people know it
    approval: WebApproval = "asker"
    names: Mapping[str, str] = field(default_factory=dict)  #: what people are called, by user id

    def name(self, user: str | None) -> str:
        return clipped(line(self.names.get(user or "", user or ""))) or "somebody"


def messages(outcome: Outcome, setting: Setting) -> tuple[Message, ...]:
    """The outcome as one message, or as several in order where it is longer than Slack takes."""
    from bots.slack.cards import proposal_card

    if outcome.answer is not None:
        return packed(_answered(outcome, outcome.answer))
    if outcome.kind == "approval_needed" and outcome.proposal is not None:
        return (proposal_card(outcome.proposal, setting),)
    return packed(_ENDINGS[outcome.kind](outcome))


def answer(outcome: Outcome, setting: Setting) -> Message:
    """The message that takes the place of the one that was shown while it worked; others follow it."""
    return messages(outcome, setting)[0]


def progress(noted: Progress) -> str:
    """The status line."""
    return progress_note(noted)


def packed(parts: Iterable[Part]) -> tuple[Message, ...]:
    return tuple(message_of(made) for made in blocks.packed(parts))


def message_of(made: Sequence[Block]) -> Message:
    return Message(text=_words_of(made), blocks=tuple(made))


def failed(reason: str) -> Message:
    """Why there is no answer; the reason is a sentence for a person."""
    return note(reason if line(reason) else UNSAID)


def note(sentence: str) -> Message:
    """A short word of ours, private ones too; as much of it as one message takes."""
    return packed(blocks.lines([*sentence.split("\n"), "" if line(sentence) else "…"]))[0]


def _answered(outcome: Outcome, given: Answer) -> Iterator[Part]:
    if lead := provenance(given):
        yield blocks.context(f"_{escaped(lead)}_")
    yield from pieces(given.text, links=_links(given.citations), limit=PIECE)
    if given.citations:
        yield dict(blocks.DIVIDER)
        # What was only quoted stands above already.
        yield from footnotes(given.citations[:FOOTNOTES_SHOWN], with_quotes=given.composed)
        yield from _more(outcome.turn_id, given)
    # An answer in spite of trouble: the model could not be reached, for one.
    if trouble := clipped(line(outcome.reason or ""), blocks.LINE):
        yield blocks.context(escaped(trouble))
    yield blocks.context(escaped(answered_in(outcome)))
    yield blocks.feedback(outcome.turn_id)


def _more(turn_id: str, given: Answer) -> Iterator[Part]:
    hidden = len(given.citations) - FOOTNOTES_SHOWN
    is_cut = given.composed and any(len(line(one.quote)) > QUOTE_SHOWN for one in given.citations)
    if hidden > 0 or is_cut:
        label = f"{hidden} more: show all footnotes" if hidden > 0 else "Show all footnotes"
        yield blocks.actions(blocks.button(label, "footnotes", turn_id))


def all_footnotes(outcome: Outcome) -> tuple[Message, ...]:
    """Every footnote with its whole quote, for whoever asked to see them."""
    citations = outcome.answer.citations if outcome.answer else outcome.closest
    return packed(part for one in citations for part in (_footnote(one, quote=""), *_whole_quote(one)))


def _whole_quote(citation: Citation) -> Iterator[Part]:
    words = line(citation.quote)
    for start in range(0, len(words), QUOTE_PIECE):
        yield blocks.context(escaped(f"“{words}”"[start : start + QUOTE_PIECE]))


def footnotes(citations: Iterable[Citation], *, with_quotes: bool = True) -> Iterator[Block]:
    """Number, title › place and source of each, with its quote beneath."""
    for citation in citations:
        quote = f"\n“{escaped(clipped(line(citation.quote), QUOTE_SHOWN))}”" if with_quotes else ""
        yield _footnote(citation, quote=quote)


def _footnote(citation: Citation, *, quote: str) -> Block:
    title = clipped(line(headings(citation)), TITLE_SHOWN) or "Untitled"
    origin = clipped(line(whence(citation)), TITLE_SHOWN)
    beside = f" · {escaped(origin)}" if origin and origin != title else ""
    url = web_link(citation.url)
    linked = f"*{citation.number}* {escaped_link(url, title)}{beside}{quote}" if url else ""
    if 0 < len(linked) <= limits.SECTION_TEXT:
        return blocks.context(linked)
    return blocks.context(f"*{citation.number}* {escaped(title)}{beside}{quote}")


def _links(citations: Iterable[Citation]) -> tuple[str, ...]:
    return tuple(url for one in citations if (url := web_link(one.url)))


def _no_answer(outcome: Outcome) -> Iterator[Part]:
    yield from pieces(outcome.reason or "", limit=PIECE)
    if outcome.closest:
        yield blocks.context(CLOSEST)
        yield from footnotes(outcome.closest)
    yield blocks.context(f"{escaped(WHAT_ELSE)} {LEARN}")
    yield blocks.feedback(outcome.turn_id)


def _clarify(outcome: Outcome) -> Iterator[Part]:
    yield from pieces(text_of(outcome), limit=PIECE)
    if options := [option for option in outcome.options if line(option)][: limits.ACTIONS]:
        yield blocks.actions(
            *(blocks.button(option, f"choose:{n}", option) for n, option in enumerate(options, start=1))
        )


def _failed(outcome: Outcome) -> Iterator[Part]:
    yield from blocks.lines([text_of(outcome), "" if line(text_of(outcome)) else UNSAID])


_ENDINGS: Mapping[str, Any] = {
    "answered": _failed,
    "approval_needed": _failed,
    "no_answer": _no_answer,
    "clarify": _clarify,
    "failed": _failed,
}


def help_text(*, collections: Sequence[str], documents: int, synced: str = "") -> Message:
    """What it reads here, how to ask, and the words it knows; ``synced`` is when, as people say it."""
    reads = counted(documents, "document")
    where = f" in {', '.join(collections)}" if collections else ""
    when = f", last brought up to date {synced}" if synced else ""
    return message_of(
        [
            *blocks.lines(
                [
                    f"I answer from {reads}{where}{when}, and show where each claim stands.",
                    "Mention me with a question; in the thread, just go on. Before I search the web, I ask.",
                    f"I also know: {', '.join(WORDS_KNOWN)}.",
                ]
            )
        ]
    )


#: The mention words, as help lists them.
WORDS_KNOWN = (
    "help",
    "sources",
    "learn (with a file or a URL)",
    "use COLLECTION",
    "follow mention, asker or thread",
    "approve or deny",
    "stop",
    "forget",
)


def sources_text(entries: Sequence[Entry]) -> tuple[Message, ...]:
    """Documents by collection, each with its title and number of passages."""
    if not entries:
        return (note(f"I read no documents in this channel yet. {LEARN}".replace("`", "")),)
    return packed(
        part
        for name, members in groupby(entries, lambda entry: entry.collection)
        for part in _collection(name, list(members))
    )


def _collection(name: str, entries: Sequence[Entry]) -> Iterator[Part]:
    total = counted(sum(entry.passages for entry in entries), "passage")
    yield blocks.section(
        f"*{escaped(clipped(line(name), TITLE_SHOWN))}*: {counted(len(entries), 'document')}, {total}"
    )
    yield from blocks.lines(
        f"• {entry.source} · {entry.title} · {counted(entry.passages, 'passage')}"
        for entry in entries[:LISTED]
    )
    if len(entries) > LISTED:
        yield blocks.context(f"and {len(entries) - LISTED:,} more")


def _words_of(made: Sequence[Block]) -> str:
    """The words of what is shown, without its small print."""
    said = [_said(block) for block in made]
    words = "\n\n".join(each for each in said if each) or "Footnote"
    shown = fallback(words)
    while len(shown) > limits.FALLBACK_TEXT:
        words = words[: len(words) * limits.FALLBACK_TEXT // (len(shown) + 1)]
        shown = fallback(f"{words}…")
    return shown


def _said(block: Block) -> str:
    text = {"markdown": lambda: block["text"], "section": lambda: block["text"]["text"]}.get(block["type"])
    if text is None:
        return ""
    words: str = text().replace("`", "")
    return words.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
