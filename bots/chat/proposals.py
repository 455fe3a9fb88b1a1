"""The sentences about proposals, of a search or of reading files, what a notification says of an outcome, and the quotes of
an answer, each within its paragraph as the library has it now.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby

from bots.chat.markdown.blocks import plain_line, plain_words
from bots.chat.markdown.safe import is_blank, line
from bots.chat.platform import CardContext, Excerpt, Footnotes
from bots.chat.texts import clipped, say_in, text_of
from core.conversation import QUERY_LIMIT, Citation, Outcome, Proposal, Question
from core.graph.rights import collections_of, documents_in, outcome_within
from core.grounding.citations import merge_footnotes
from core.library.documents import Passage, Scope
from core.library.readers import ReaderSets
from core.library.store import DocumentStore
from core.text.blocks import split_blocks
from core.text.inline import without_markers
from core.text.language import language_of
from core.text.sentences import split_sentences
from core.wording import Wording

TRIED_SHOWN = 5  # earlier queries named on the card
REASON_SHOWN = 500  # characters
APPROVERS_SHOWN = 5  # names of those who may decide beside the asker


def reason(proposal: Proposal) -> str:
    """The reason why the documents were not enough."""
    sentence = clipped(plain_line(proposal.reason), REASON_SHOWN)
    return say_in(language_of(proposal.question))("not_answered") if is_blank(sentence) else sentence


def looked_for(proposal: Proposal) -> str:
    """The queries that were tried; empty where there was none."""
    queries = ", ".join(f"“{clipped(line(query))}”" for query in proposal.tried[:TRIED_SHOWN])
    return say_in(language_of(proposal.question))("looked_for", queries=queries) if queries else ""


def would_search(proposal: Proposal, card_context: CardContext) -> str:
    """The sentence above the query."""
    engine = clipped(line(card_context.engine))
    return say_in(language_of(proposal.question))("would_search", engine=engine)


def whole_query(query: str) -> str:
    """The query on one line. It is never longer than QUERY_LIMIT; if it were, "…" would show that."""
    words = line(query)
    return words if 0 < len(words) <= QUERY_LIMIT else f"{words[:QUERY_LIMIT]}…"


def waiting(proposal: Proposal, card_context: CardContext) -> str:
    """The sentence below the buttons."""
    say = say_in(language_of(proposal.question))
    if card_context.approval == "anyone":
        return say("waiting_for_anyone")
    return _of_deciders("waiting_for", proposal, card_context, say)


def decision(
    proposal: Proposal, card_context: CardContext, *, name: Callable[[str], str],
    time: Callable[[float], str], is_late: bool = False,
) -> str:  # fmt: skip
    """The sentence in place of the buttons, or for a person who is late; ``name`` and ``time`` write a name and a moment
    in the platform's markup.
    """
    say = say_in(language_of(proposal.question))
    who = card_context.name(proposal.decided_by or "") or say("somebody")
    keys = {"approve": ("allowed", "already_allowed"), "deny": ("denied", "already_denied")}
    key = keys.get(proposal.verdict or "", ("expired", "expired"))[is_late]
    return say(key, who=name(who), time=time(proposal.decided_at or proposal.expires_at or 0.0))


def refused(proposal: Proposal, card_context: CardContext) -> str:
    """The sentence for a person who may not decide: who may."""
    say = say_in(language_of(proposal.question))
    return _of_deciders("only_they_decide", proposal, card_context, say)


def unread_files(outcome: Outcome) -> str:
    say = say_in(outcome.language)
    names = ", ".join(clipped(name) or say("unnamed_file") for name in outcome.unread)
    return say("files_unread", count=len(outcome.unread), names=names)


def reading_allowed(
    question: Question, card_context: CardContext, *, name: Callable[[str], str], time: Callable[[float], str]
) -> str:
    """The sentence that replaces the button which lets the files of a question be read."""
    say = say_in(language_of(question.text))
    who = card_context.name(question.reading_allowed_by or "") or say("somebody")
    at, count = time(question.asked_at), len(question.attachments)
    return say("reading_allowed", who=name(who), time=at, count=count)


def in_utc(seconds: float) -> str:
    """ "14:05 UTC", where a client cannot show the reader's own time; seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M UTC")


def call_approvers(proposal: Proposal, *, mentions: Sequence[str], name: Callable[[str], str]) -> str:
    """The sentence that notifies those who may decide; ``name`` writes the query in the platform's markup."""
    query = name(whole_query(proposal.query))
    return say_in(language_of(proposal.question))("call_approvers", who=" ".join(mentions), query=query)


def _of_deciders(key: str, proposal: Proposal, card_context: CardContext, say: Wording) -> str:
    sentence = say(key, who=_deciders(proposal, card_context, say))
    return f"{sentence} {say('ask_elsewhere')}" if card_context.is_hidden else sentence


def _deciders(proposal: Proposal, card_context: CardContext, say: Wording) -> str:
    """ "Ann, the librarians or another approver"."""
    is_askers = card_context.approval != "approvers"
    known = card_context.approvers[:APPROVERS_SHOWN]
    asker = card_context.name(proposal.asker) or say("somebody")
    names = dict.fromkeys(([asker] if is_askers else []) + [clipped(line(one)) for one in known])
    if not known and (card_context.has_approvers or not is_askers):
        names[say("an_approver")] = None
    elif len(card_context.approvers) > len(known):
        names[say("another_approver")] = None
    *others, last = names
    return say("either", names=", ".join(others), last=last) if others else last


NOTIFIED = 300  # characters; clients cut what they show, a phone at about 150


def notification(outcome: Outcome, card_context: CardContext) -> str:
    """The words for the message that shows this outcome; an answer's may go on with the query of a search."""
    said = "" if outcome.kind == "approval_needed" else first_sentence(text_of(outcome))
    asks = (
        of_search(outcome.proposal, card_context)
        if outcome.proposal and not card_context.is_forgotten
        else ""
    )
    return " ".join(filter(None, (said, asks))) or say_in(outcome.language)("unfinished")


def of_search(proposal: Proposal, card_context: CardContext) -> str:
    """The exact query, and who decided about it."""
    if proposal.is_open:
        return f"{would_search(proposal, card_context)} {whole_query(proposal.query)}"
    decided = decision(proposal, card_context, name=line, time=in_utc)
    return f"{whole_query(proposal.allowed or proposal.query)} · {decided}"


def first_sentence(markdown: str) -> str:
    """The first sentence in plain words, without footnotes."""
    words = plain_words(without_markers(markdown))
    for start, end in split_sentences(words):
        if not is_blank(words[start:end]):
            return clipped(words[start:end], NOTIFIED)
    return clipped(plain_line(markdown), NOTIFIED)


AROUND = 300  # characters shown on each side of a quote


def footnotes_of(outcome: Outcome, store: DocumentStore, collections: frozenset[str]) -> Footnotes:
    """The footnotes below the answer, else the closest passages, as far as they may be read now."""
    closed = ReaderSets(store.database).withdrawn(documents_in(outcome), collections_of(outcome), collections)
    outcome = outcome_within(outcome, collections, closed)
    citations = merge_footnotes(outcome.answer).citations if outcome.answer else outcome.closest
    scope = Scope(collections=collections)
    return Footnotes(outcome=outcome, excerpts=tuple(_excerpt(one, store, scope) for one in citations))


def _excerpt(citation: Citation, store: DocumentStore, scope: Scope) -> Excerpt:
    if citation.origin == "web":  # its page is not kept
        return Excerpt(citation=citation)
    passage = store.find_quote(citation.source, citation.quote, citation.start, scope)
    return excerpt_from(passage, citation) if passage else Excerpt(citation=citation, is_current=False)


def excerpt_from(passage: Passage, citation: Citation) -> Excerpt:
    """The quote in its paragraph, list item, code block or table; ``passage`` holds the quote."""
    text, quote = passage.text, citation.quote
    start = citation.start - passage.start
    if start < 0 or not text.startswith(quote, start):  # it has moved
        start = text.index(quote)
    end = start + len(quote)
    around = [block for block in split_blocks(text) if block.start < end and block.end > start]
    first = min((block.start for block in around), default=start)
    last = max((block.end for block in around), default=end)
    return Excerpt(
        citation=citation,
        before=_tail(text[min(first, start) : start]),
        after=_head(text[end : max(last, end)]),
    )


def _tail(text: str) -> str:
    if len(text) <= AROUND:
        return text
    _, space, words = text[-AROUND:].partition(" ")
    return f"…{words}" if space else f"…{text[-AROUND:]}"


def _head(text: str) -> str:
    if len(text) <= AROUND:
        return text
    words, space, _ = text[:AROUND].rpartition(" ")
    return f"{words}…" if space else f"{text[:AROUND]}…"


def excerpts_by_citation(footnotes: Footnotes) -> Iterator[tuple[Citation, list[Excerpt]]]:
    """The quotes of each footnote, with a citation that has its number and location."""
    for _, group in groupby(footnotes.excerpts, lambda each: (each.citation.number, each.citation.url)):
        excerpts = list(group)
        yield excerpts[0].citation, excerpts


def marked_lines(excerpt: Excerpt) -> Iterator[tuple[str, list[tuple[str, bool]]]]:
    """Lines that are not blank: the indentation, and pieces, each with True if it is quoted."""
    lines: list[list[tuple[str, bool]]] = [[]]
    pieces = ((excerpt.before, False), (excerpt.citation.quote, True), (excerpt.after, False))
    for text, is_quote in pieces:
        first, *others = text.splitlines() or [""]
        lines[-1].append((first, is_quote))
        lines += [[(other, is_quote)] for other in others]
        if text.endswith(("\n", "\r")):
            lines.append([])
    for row in lines:
        words = "".join(text for text, _ in row)
        if words.strip():
            yield words[: len(words) - len(words.lstrip())], [each for each in row if each[0].strip()]
