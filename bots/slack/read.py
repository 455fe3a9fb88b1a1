"""A Slack payload -> a turn, a word to the bot, or nothing. Pure: what it depends on is handed in.

What arrives twice is read as the same id: from workspace, channel and timestamp for a message,
whichever event names it, and from the press's own timestamp for a button.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from bots.slack.address import PLATFORM, Address, Me, Payload, address_of, conversation_of, id_of, metadata_of
from bots.slack.entities import Spoken, spoken
from bots.slack.presses import press, submission
from bots.slack.said import Attachment, Feedback, Said, Word, WordName, checked_query
from core.assistant import check_question
from core.conversation import Question
from core.values import value

__all__ = [
    "PLATFORM",
    "Address",
    "Attachment",
    "Feedback",
    "Me",
    "Room",
    "Said",
    "Word",
    "WordName",
    "address_of",
    "conversation_of",
    "metadata_of",
    "read",
]

Follow = Literal["mention", "asker", "thread"]

#: Message subtypes that people write; all others are notices, edits and other bots. A reply that is also
#: sent to the channel has one timestamp in both places, so it is one turn.
_WRITTEN = (None, "file_share", "thread_broadcast")


@value
class Room:
    """What is known of the channel and thread that a message came in."""

    follow: Follow = "thread"  #: which messages of a thread need no mention
    knows_thread: bool = False  #: the bot answered here, or was pulled in
    asker: str | None = None  #: who first asked the bot in this thread


def read(payload: Payload, me: Me, room: Room, *, now: float = 0.0) -> Said | None:
    """None for what the bot leaves alone; QuestionRejected when what is said is too long or empty.

    ``now`` is in seconds since the epoch: a modal carries no time of its own.
    """
    if payload.get("type") == "view_submission":
        return submission(payload, me, now)
    if payload.get("type") == "block_actions":
        return press(payload, me)
    event = payload.get("event") or {}
    kind = event.get("type")
    if kind == "agent_session_stopped" and event.get("thread_ts"):
        return _word("stop", "", payload, me)
    if kind not in ("app_mention", "message") or not _is_written_by_a_person(event, me):
        return None
    return _message(payload, me, room)


def _is_written_by_a_person(event: Payload, me: Me) -> bool:
    return (
        event.get("subtype") in _WRITTEN
        and not event.get("hidden")
        and not event.get("edited")
        and not event.get("bot_id")
        and not event.get("bot_profile")
        and event.get("user") not in (None, "", "USLACKBOT", me.user_id)
    )


def _message(payload: Payload, me: Me, room: Room) -> Question | Word | None:
    event = payload["event"]
    address = address_of(payload, me)
    said = spoken(event.get("text") or "", me.user_id)
    is_called = said.mentions_me or event["type"] == "app_mention" or address["is_direct"]
    if not is_called and not _is_follow_up(event, said, room):
        return None
    files = tuple(_attachment(file) for file in event.get("files") or ())
    if word := _spoken_word(said.text, has_files=bool(files), is_called=is_called):
        return _word(*word, payload, me, files=files)
    if not said.text:
        # A file alone is to be learned, a mention alone calls for help; anything else says nothing.
        return _word("learn" if files else "help", "", payload, me, files=files) if is_called else None
    return Question(
        id=id_of(address),
        conversation=conversation_of(address),
        author=event["user"],
        text=check_question(said.text),
        asked_at=float(event["ts"]),
    )


def _is_follow_up(event: Payload, said: Spoken, room: Room) -> bool:
    if not event.get("thread_ts") or not room.knows_thread or said.addresses_another:
        return False
    return room.follow == "thread" or (room.follow == "asker" and event["user"] == room.asker)


def _attachment(file: Payload) -> Attachment:
    return Attachment(
        id=file["id"],
        name=file.get("name") or file["id"],
        url=file.get("url_private_download") or file.get("url_private") or "",
        media_type=file.get("mimetype") or "",
        size=int(file.get("size") or 0),
    )


_PATTERNS: Sequence[tuple[WordName, str, bool]] = (
    ("help", r"help[.!?]?()", False),
    ("sources", r"sources[.!?]?()", False),
    ("forget", r"forget(?: this(?: thread)?)?[.!]?()", False),
    ("stop", r"stop[.!]?()", True),
    ("follow", r"follow(?:\s+(mention|asker|thread))?[.!]?", False),
    ("learn", r"learn(?:\s+(https?://\S+))?", False),
    ("use", r"use\s+([\w.-]*\w)", False),
    ("approve", r"approve[.!]?()", True),
    ("deny", r"deny[.!]?()", True),
    ("approve", r"approve:?\s+(\S.*)", False),
)
#: What a word looks like, and whether a follow-up may say it without a mention.
_WORDS = tuple(
    (name, re.compile(looks, re.IGNORECASE | re.DOTALL), is_bare) for name, looks, is_bare in _PATTERNS
)
_LEARN_FILES = re.compile(r"learn\b.*", re.IGNORECASE | re.DOTALL)


def _spoken_word(text: str, *, has_files: bool, is_called: bool) -> tuple[WordName, str] | None:
    for name, pattern, is_bare in _WORDS:
        if (is_called or is_bare) and (found := pattern.fullmatch(text)):
            return name, _argument(name, found[1] or "")
    if has_files and is_called and _LEARN_FILES.fullmatch(text):
        return "learn", ""
    return None


def _argument(name: WordName, given: str) -> str:
    if name == "approve" and given:
        return checked_query(given)
    return given.lower() if name == "follow" else given


def _word(
    name: WordName, argument: str, payload: Payload, me: Me, *, files: tuple[Attachment, ...] = ()
) -> Word:
    address = address_of(payload, me)
    return Word(
        name=name,
        argument=argument,
        id=id_of(address),
        conversation=conversation_of(address),
        author=address["user"],
        said_at=float(address["message"]),
        files=files,
    )
