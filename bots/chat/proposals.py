"""The sentences about what is proposed, a search or the reading of files: who may decide and who decided, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from bots.chat.markdown.plain import plain_line
from bots.chat.markdown.safe import is_blank, line
from bots.chat.platform import CardContext
from bots.chat.texts import clipped, say_in
from core.conversation import QUERY_LIMIT, Outcome, Proposal, Question
from core.text.language import language_of
from core.wording import Wording

TRIED_SHOWN = 5  # earlier queries named on the card
REASON_SHOWN = 500  # characters
APPROVERS_SHOWN = 5  # names of those who may decide beside the asker


def reason(proposal: Proposal) -> str:
    """Why the documents were not enough."""
    sentence = clipped(plain_line(proposal.reason), REASON_SHOWN)
    return say_in(language_of(proposal.question))("not_answered") if is_blank(sentence) else sentence


def looked_for(proposal: Proposal) -> str:
    """The queries that were tried; empty where there was none."""
    queries = ", ".join(f"“{clipped(line(query))}”" for query in proposal.tried[:TRIED_SHOWN])
    return say_in(language_of(proposal.question))("looked_for", queries=queries) if queries else ""


def would_search(proposal: Proposal, card_context: CardContext) -> str:
    """Above the query."""
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
    proposal: Proposal, card_context: CardContext, *, name: Callable[[str], str], time: Callable[[float], str]
) -> str:
    """The sentence that replaces the buttons; ``name`` and ``time`` write a name and a moment in the platform's markup."""
    return _decided(("allowed", "denied"), proposal, card_context, name, time)


def decided_already(
    proposal: Proposal, card_context: CardContext, *, name: Callable[[str], str], time: Callable[[float], str]
) -> str:
    """The same for a person who decides too late."""
    return _decided(("already_allowed", "already_denied"), proposal, card_context, name, time)


def refused(proposal: Proposal, card_context: CardContext) -> str:
    """The sentence for a person who may not decide: who may."""
    say = say_in(language_of(proposal.question))
    return _of_deciders("only_they_decide", proposal, card_context, say)


def unread_files(outcome: Outcome) -> str:
    """Which attached files were not read."""
    say = say_in(outcome.language)
    names = ", ".join(clipped(name) or say("unnamed_file") for name in outcome.unread)
    return say("files_unread", count=len(outcome.unread), names=names)


def reading_allowed(
    question: Question, card_context: CardContext, *, name: Callable[[str], str], time: Callable[[float], str]
) -> str:
    """The sentence that replaces the button which lets the files of a question be read."""
    say = say_in(language_of(question.text))
    who = card_context.name(question.reading_allowed_by or "") or say("somebody")
    return say(
        "reading_allowed", who=name(who), time=time(question.asked_at), count=len(question.attachments)
    )


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


def _decided(
    keys: tuple[str, str],
    proposal: Proposal,
    card_context: CardContext,
    name: Callable[[str], str],
    time: Callable[[float], str],
) -> str:
    say = say_in(language_of(proposal.question))
    who = card_context.name(proposal.decided_by or "") or say("somebody")
    key = keys[0] if proposal.verdict == "approve" else keys[1]
    return say(key, who=name(who), time=time(proposal.decided_at or 0.0))
