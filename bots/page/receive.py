"""A form that was sent -> a turn. Pure; everything that it depends on is passed in."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from bots.page.sessions import PageSession
from core.conversation import Conversation, Decision, Question, Verdict, check_question
from core.graph.approval import checked_query

PLATFORM, SPACE = "page", "local"
EVERYTHING = "everything"
_THREAD = re.compile(r"[0-9a-f]{12}")


def conversation_of(session: PageSession, thread: str) -> Conversation | None:
    """A thread among those that read what the session reads; None for what is no thread's name."""
    if not _THREAD.fullmatch(thread):
        return None
    return Conversation(platform=PLATFORM, space=SPACE, channel=channel_of(session), thread=thread)


def channel_of(session: PageSession) -> str:
    """Its name says which collections are read in it."""
    if session.collections is None:
        return EVERYTHING
    return "only:" + ",".join(quote(name, safe="") for name in sorted(session.collections))


def channel_id(session: PageSession) -> str:
    return f"{PLATFORM}/{SPACE}/{channel_of(session)}"


def collections_of(channel: str) -> frozenset[str] | None:
    """What may be read in a channel that :func:`channel_of` named; None: everything."""
    if channel == EVERYTHING:
        return None
    names = channel.removeprefix("only:").split(",")
    return frozenset(unquote(name) for name in names if name)


def ask(text: str, conversation: Conversation, session: PageSession, *, turn_id: str, now: float) -> Question:
    """QuestionRejected when it is empty or too long."""
    return Question(
        id=turn_id,
        conversation=conversation,
        author=session.name,
        text=check_question(_encodable(text)),
        asked_at=now,
    )


def decide(
    proposal_id: str, verdict: Verdict, query: str, conversation: Conversation, session: PageSession,
    *, turn_id: str, now: float,
) -> Decision:  # fmt: skip
    """QuestionRejected when an edited query cannot be sent; an empty one is the query that was proposed."""
    return Decision(
        id=turn_id,
        conversation=conversation,
        author=session.name,
        proposal_id=proposal_id,
        verdict=verdict,
        query=checked_query(_encodable(query)) if verdict == "approve" and query.strip() else None,
        decided_at=now,
    )


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
