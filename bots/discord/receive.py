"""A Discord message -> a turn, a word to the bot, or nothing. Pure: what it depends on is handed in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from bots.chat.incoming import Heard, Room, meaning
from bots.chat.said import Attachment, Word
from bots.chat.texts import clipped
from bots.discord.address import DIRECT, TALK, Address, Me, conversation_of, said_at, turn_id
from core.conversation import Conversation, Question
from core.values import value

THREAD_NAME = 90  # characters; 100 are allowed, "Start Thread from Message"

_LEADING_MENTIONS = re.compile(r"\s*(?:(?:<@[!&]?\d+>|@everyone\b|@here\b)[\s,:]*)+")
_USER, _ROLE, _CHANNEL = re.compile(r"<@!?(\d+)>"), re.compile(r"<@&(\d+)>"), re.compile(r"<#(\d+)>")
_EMOJI = re.compile(r"<a?:(\w+):\d+>")


@value
class Seen:
    """A message as far as it matters here."""

    id: str
    server: str  #: DIRECT for a direct message
    channel: str  #: of a thread, the channel it is in; a private thread is a channel of its own
    place: str
    is_thread: bool = False
    takes_threads: bool = False  #: whether a thread can be opened on it
    author: str
    is_written: bool = True  #: by a person: no bot, no webhook, no notice
    text: str
    names: Mapping[str, str] = field(
        default_factory=dict
    )  #: of people, roles and channels it mentions, by id
    answers_me: bool = False  #: it is a reply to a message of the bot
    answers: str | None = None  #: the message that begins the conversation it replies to
    files: tuple[Attachment, ...] = ()
    title: str = ""  #: of the forum post that this message begins
    pointed_at: str = ""  #: what stands in the message of somebody else that it replies to


def place_of(seen: Seen, me: Me, moved: Conversation | None = None) -> Address:
    """Where the answer to a message goes; ``moved`` is the conversation that has this thread as its home."""
    thread = thread_of(seen)
    address = Address(
        server=seen.server,
        channel=seen.channel,
        thread=moved.thread if moved else thread,
        place=seen.place,
        message=seen.id,
        user=seen.author,
    )
    is_new = seen.takes_threads and thread == seen.id
    return {**address, "opens": spoken(seen.text, seen.names, me)} if is_new else address


def thread_of(seen: Seen) -> str:
    """A thread that is opened on a message has its id ("Start Thread from Message")."""
    if seen.server == DIRECT:
        return TALK
    if seen.is_thread:
        return seen.place
    if seen.answers_me and seen.answers:
        return seen.answers
    return seen.id if seen.takes_threads else seen.place


def read(seen: Seen, me: Me, room: Room, moved: Conversation | None = None) -> Question | Word | None:
    """None for what the bot leaves alone; QuestionRejected when what is said is too long or empty."""
    if not seen.is_written or seen.author == me.user_id:
        return None
    called = is_called(seen, me)
    if not called and not _is_follow_up(seen, room):
        return None
    address = place_of(seen, me, moved)
    return meaning(
        Heard(
            id=turn_id(address, seen.id),
            conversation=conversation_of(address),
            author=seen.author,
            text=_asked(seen, me),
            said_at=said_at(seen.id),
            files=seen.files,
            is_called=called,
        )
    )


def _asked(seen: Seen, me: Me) -> str:
    """The words; with the title of a new post, and without words of its own what a reply points at."""
    words = spoken(seen.text, seen.names, me)
    if seen.title:
        return f"{seen.title}\n{words}".strip()
    return words or spoken(seen.pointed_at, {}, me)


def is_called(seen: Seen, me: Me) -> bool:
    """By a mention of the bot or of its own role, by a reply to it, or in a direct message."""
    # The names are there even where the words may not be read.
    mentioned = _mentioned(seen.text) | seen.names.keys()
    return seen.server == DIRECT or seen.answers_me or bool(mentioned & {me.user_id, *me.role_ids})


def _mentioned(text: str) -> set[str]:
    return {*_USER.findall(text), *_ROLE.findall(text)}


def _is_follow_up(seen: Seen, room: Room) -> bool:
    """Of what is written in a thread, what is addressed to nobody else."""
    leading = _LEADING_MENTIONS.match(seen.text)
    addresses_another = bool(leading) or (seen.answers is not None and not seen.answers_me)
    return seen.is_thread and not addresses_another and room.follows(seen.author, seen.text, said_at(seen.id))


def spoken(text: str, names: Mapping[str, str], me: Me) -> str:
    """The words as their author reads them, without the bot's own mention; ``names`` by id."""
    mine = "|".join((f"<@!?{re.escape(me.user_id)}>", *(f"<@&{re.escape(role)}>" for role in me.role_ids)))
    text = re.sub(rf"^\s*(?:(?:{mine})[,:;]*\s*)+", "", text)
    text = re.sub(rf"[ \t]?(?:{mine})", "", text)
    for pattern, sign in ((_USER, "@"), (_ROLE, "@"), (_CHANNEL, "#")):
        text = pattern.sub(lambda found, sign=sign: sign + names.get(found[1], found[1]), text)  # type: ignore[misc]
    return _EMOJI.sub(r":\1:", text).strip()


def thread_name(text: str) -> str:
    """What a thread is called that a question opens."""
    return clipped(text, THREAD_NAME) or "Question"
