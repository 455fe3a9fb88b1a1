"""What a notification says of an outcome, in plain words: an answer's first sentence, a card's query, a reason."""

from __future__ import annotations

from bots.chat.markdown.plain import plain_line, plain_words
from bots.chat.markdown.safe import is_blank, line
from bots.chat.platform import CardContext
from bots.chat.proposals import decision, in_utc, whole_query, would_search
from bots.chat.texts import clipped, say_in, text_of
from core.conversation import Outcome, Proposal
from core.text.inline import without_markers
from core.text.sentences import split_sentences

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
