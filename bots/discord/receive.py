"""Messages and interactions of discord.py -> values; a message -> a question, a command or nothing.

Pure: what a result depends on is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, cast

from bots.chat import incoming
from bots.chat.channels import ELSEWHERE
from bots.chat.texts import ENGLISH, say_in
from bots.discord import content
from bots.discord.calls import Handle
from bots.discord.parts import read_custom_id
from bots.discord.route import DIRECT, DISCORD, TALK, DiscordRoute, Me, conversation_of, said_at, turn_id
from bots.discord.settings import KEEP, SLASH_COMMANDS
from core.conversation import Attachment, Conversation, Decision, Question, ThreadMessage, value
from core.errors import QuestionRejected
from core.text.language import language_of

if TYPE_CHECKING:
    import discord


@value
class Interaction:
    """The parts of an interaction that decide what it means."""

    id: str
    data: Mapping[str, Any]  #: as the API gives it, "Interaction Data"
    route: DiscordRoute
    roles: tuple[str, ...] = ()  #: of the person who acted
    target_text: str = ""  #: of the message whose menu was used, as its author sees it
    target_files: tuple[Attachment, ...] = ()  #: of the same message
    files: Mapping[str, Attachment] = field(default_factory=dict)  #: that came with a command, by id
    language: str = ENGLISH  #: of the person who acted, ISO 639-1

    @property
    def press(self) -> incoming.Press:
        return incoming.Press(
            id=turn_id(self.route, self.id), conversation=conversation_of(self.route), author=self.route["user"],
            at=said_at(self.id), groups=self.roles, language=self.language,
        )  # fmt: skip

    def command(
        self, name: incoming.CommandName, argument: str = "", *, is_private: bool = False
    ) -> incoming.ChatCommand:
        given = tuple(self.files.values())
        return replace(self.press.command(name, argument), files=given, is_private=is_private)

    def question(self, text: str) -> Question:
        return replace(self.press.question(text), attachments=self.target_files)

    def option(self, name: str) -> str:
        """An option of a command; empty when it was left out."""
        options = {each["name"]: each.get("value", "") for each in self.data.get("options") or ()}
        return str(options.get(name, ""))


def read_press(interaction: Interaction) -> incoming.Request | None:
    """The request of a pressed button, None if it is unknown; its id begins with what it does."""
    action, argument = read_custom_id(interaction.data)
    return incoming.pressed(interaction.press, action, argument)


def read_form(interaction: Interaction) -> Decision | incoming.Feedback | incoming.ChatCommand | None:
    """The edited query of a form, what was wrong, or what to learn; QuestionRejected when a query is empty or too long."""
    name, about = read_custom_id(interaction.data)
    entered: dict[str, Mapping[str, Any]] = {}  # by the name of the field
    for each in interaction.data.get("components") or ():
        inner: Mapping[str, Any] = each.get("component") or next(iter(each.get("components") or ()), {})
        entered[str(inner.get("custom_id"))] = inner
    if name == "edit":
        query = str((entered.get("query") or {}).get("value") or "")
        return interaction.press.decision("approve", about, query)
    if name == "explain":
        (fault,) = entered["fault"]["values"]
        remark, person = str(entered["remark"].get("value") or ""), entered.get("person", {}).get("values")
        return interaction.press.explanation(about, fault=fault, remark=remark, wants_person=bool(person))
    if name == "learn":
        address = str((entered.get("url") or {}).get("value") or "").strip()
        return interaction.command("learn", address, is_private=True)
    return None


def read_command(interaction: Interaction) -> incoming.Request | None:
    """A question, or the mention word that a command is named after. QuestionRejected when a question is too long or empty."""
    name = str(interaction.data.get("name", ""))
    if name in _READERS:
        return _READERS[name](interaction)
    if name not in SLASH_COMMANDS:
        return None
    chosen = {str(each.get("value", "")) for each in interaction.data.get("options") or ()}
    files = {file: each for file, each in interaction.files.items() if file in chosen}
    argument = interaction.option(SLASH_COMMANDS[name])
    word = cast("incoming.CommandName", name)
    return replace(interaction, files=files).command(word, argument, is_private=True)


def _ask_about(interaction: Interaction) -> Question:
    if not interaction.target_text:
        raise QuestionRejected(say_in(interaction.language)("no_words_here"))
    return interaction.question(interaction.target_text)


#: The commands that are not mention words.
_READERS: Mapping[str, Callable[[Interaction], incoming.Request]] = {
    "ask": lambda interaction: interaction.question(interaction.option("question")),
    "Ask about this": _ask_about,
    KEEP: lambda interaction: interaction.command("keep", interaction.route["message"]),
}

#: By the interaction's type, "Interaction Type".
READERS: Mapping[str, Callable[[Interaction], incoming.Request | None]] = {
    "component": read_press,
    "modal_submit": read_form,
    "application_command": read_command,
}


@value
class MessageEvent:
    """The parts of a message that decide what it means."""

    id: str
    server: str  #: DIRECT for a direct message
    channel: str  #: of a thread, its parent channel; a private thread counts as a channel
    channel_id: str  #: the channel, thread or direct message that holds it
    is_thread: bool = False
    takes_threads: bool = False  #: whether a thread can be opened on it
    author: str
    is_written: bool = True  #: by a person: no bot, no webhook, no notice
    text: str
    names: Mapping[str, str] = field(default_factory=dict)  #: of mentioned people, roles and channels, by id
    answers_me: bool = False  #: it is a reply to a message of the bot
    answers: str | None = None  #: the first message of the conversation it replies to
    files: tuple[Attachment, ...] = ()
    title: str = ""  #: of the forum post that this message begins
    quoted: tuple[ThreadMessage, ...] = ()  #: what it forwards, or another's message that it replies to
    edited_at: float = 0.0  #: of an edit, seconds since the epoch
    replies_to: str = ""  #: the message of another that it replies to


def message_event(message: discord.Message, my_user_id: str, *, is_edit: bool = False) -> MessageEvent:
    """A message from the gateway or from a channel's history, or an edit of one."""
    from discord import ChannelType, ForumChannel, Message, MessageType, Thread

    channel: Any = message.channel
    is_thread = isinstance(channel, Thread)
    resolved = message.reference.resolved if message.reference else None
    reply = resolved if isinstance(resolved, Message) else None
    answers_me = reply is not None and str(reply.author.id) == my_user_id
    # A thread has the id of its first message; only in a forum is that message inside it.
    begins_post = is_thread and message.id == channel.id and isinstance(channel.parent, ForumChannel)
    return MessageEvent(
        id=str(message.id),
        server=str(message.guild.id) if message.guild else DIRECT,
        channel=_channel_of(channel),
        channel_id=str(channel.id),
        is_thread=is_thread,
        takes_threads=channel.type in (ChannelType.text, ChannelType.news),
        author=str(message.author.id),
        is_written=message.type in (MessageType.default, MessageType.reply)
        and not message.author.bot
        and message.webhook_id is None,
        text=message.content,
        names=_names(message),
        answers_me=answers_me,
        answers=_first_of(reply) if reply is not None else None,
        files=tuple(
            attachment_of(file.to_dict(), Handle(str(channel.id), str(message.id)))
            for file in message.attachments
        ),
        title=channel.name if begins_post else "",
        quoted=_quoted(message, None if answers_me else reply, Me(user_id=my_user_id)),
        replies_to=str(reply.id) if reply is not None and not answers_me else "",
        edited_at=message.edited_at.timestamp() if is_edit and message.edited_at else 0.0,
    )


def channel_name(message: discord.Message) -> dict[str, str]:
    """The channel's name, by the id under which its questions are logged; empty for a direct message."""
    if message.guild is None:
        return {}
    channel: Any = message.channel
    own = _channel_of(channel)
    named = channel if str(channel.id) == own else getattr(channel, "parent", None)
    return {f"{DISCORD}/{message.guild.id}/{own}": named.name} if named else {}


def _quoted(message: discord.Message, reply: discord.Message | None, me: Me) -> tuple[ThreadMessage, ...]:
    text, source = content.beside(content.json_of(message)), message
    if not text and reply is not None:
        text, source = content.words_of(content.json_of(reply)), reply
    text = content.plain_text(text, _names(source), me)
    return (ThreadMessage(author=source.author.display_name, text=text),) if text else ()


def _channel_of(channel: Any) -> str:
    """The parent of a thread, except of a private one: not everyone in the channel may read that."""
    from discord import Thread

    is_open_thread = isinstance(channel, Thread) and not parent_of(channel)
    return str(channel.parent_id if is_open_thread else channel.id)


def parent_of(channel: Any) -> str:
    """The channel of a private thread, whose members all read it; empty for every other channel."""
    from discord import ChannelType, Thread

    is_private = isinstance(channel, Thread) and channel.type is ChannelType.private_thread
    return str(channel.parent_id) if is_private else ""


def _first_of(reply: discord.Message) -> str:
    """The first message of a conversation in a channel: each message of the bot replies to it."""
    reference = reply.reference
    return str(reference.message_id if reference and reference.message_id else reply.id)


def _names(message: discord.Message) -> dict[str, str]:
    people = {str(user.id): user.display_name for user in message.mentions}
    roles = {str(role.id): role.name for role in message.role_mentions}
    channels = {str(channel.id): channel.name for channel in message.channel_mentions}
    return people | roles | channels


def attachment_of(file: Mapping[str, Any], found_in: Handle | None = None) -> Attachment:
    """``found_in``: its message; None for a file that came with a command."""
    return Attachment(
        id=str(file["id"]), name=file["filename"], url=file["url"], media_type=file.get("content_type") or "",
        size=int(file.get("size") or 0), found_in=str(found_in or ""),
    )  # fmt: skip


def interaction_event(interaction: discord.Interaction, me: Me) -> Interaction:
    """A press, a submitted form or a command from the gateway."""
    data: dict[str, Any] = dict(interaction.data or {})
    user: Any = interaction.user
    target, route = _target(data) or {}, _route_of_interaction(interaction, data, me)
    files = () if route["server"] == ELSEWHERE else target.get("attachments", ())
    there = Handle(target["channel_id"], target["id"]) if files else None
    return Interaction(
        id=str(interaction.id),
        data=data,
        route=route,
        roles=tuple(str(role.id) for role in getattr(user, "roles", ())),
        target_text=content.text_of(target, me),
        target_files=tuple(attachment_of(file, there) for file in files),
        language=str(interaction.locale)[:2],
        files={file["id"]: attachment_of(file) for file in _resolved(data, "attachments").values()},
    )


def _resolved(data: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = (data.get("resolved") or {}).get(kind) or {}
    return found


def _target(data: dict[str, Any]) -> dict[str, Any] | None:
    return _resolved(data, "messages").get(str(data.get("target_id")))


def _route_of_interaction(interaction: discord.Interaction, data: dict[str, Any], me: Me) -> DiscordRoute:
    from discord import ChannelType, InteractionType, Thread

    is_brought = interaction.is_user_integration() and not interaction.is_guild_integration()
    if is_brought and not interaction.context.dm_channel:
        # Each command is a conversation of its own; what is pressed on its answer belongs to it.
        made_by = interaction.message.interaction_metadata if interaction.message else None
        return DiscordRoute(
            server=ELSEWHERE, channel=str(interaction.channel_id), thread=str(made_by.id if made_by else interaction.id),
            place=str(interaction.channel_id), message="", user=str(interaction.user.id),
            interaction={"id": str(interaction.id), "token": interaction.token},
        )  # fmt: skip
    channel: Any = interaction.channel
    server = str(interaction.guild_id) if interaction.guild_id else DIRECT
    is_thread = isinstance(channel, Thread)
    takes_threads = channel is not None and channel.type in (ChannelType.text, ChannelType.news)
    message, target = interaction.message, _target(data)
    route = DiscordRoute(
        server=server,
        channel=_channel_of(channel) if channel else str(interaction.channel_id),
        thread=str(interaction.channel_id),
        place=str(interaction.channel_id),
        message=str(message.id) if message else str(target["id"]) if target else "",
        user=str(interaction.user.id),
        interaction={"id": str(interaction.id), "token": interaction.token},
    )
    if server == DIRECT:
        route["thread"] = TALK
    elif message is not None and not is_thread:
        route["thread"] = _first_of(message)
    elif target and takes_threads:
        route |= {"thread": str(target["id"]), "opens": content.text_of(target, me)}
    if interaction.type is InteractionType.application_command and data.get("name") == "ask":
        question = str(next(each["value"] for each in data["options"] if each["name"] == "question"))
        say = say_in(language_of(question))
        route["says"] = say("asks", who=interaction.user.display_name, question=question)
        if takes_threads:
            route |= {"thread": str(interaction.id), "opens": question}
    return route


def route_of(event: MessageEvent, me: Me, moved: Conversation | None = None) -> DiscordRoute:
    """The route of the answer to a message; ``moved`` is the conversation that continues in this thread."""
    thread = thread_of(event)
    route = DiscordRoute(
        server=event.server, channel=event.channel, thread=moved.thread if moved else thread,
        place=event.channel_id, message=event.id, user=event.author,
    )  # fmt: skip
    is_new = event.takes_threads and thread == event.id
    return {**route, "opens": content.plain_text(event.text, event.names, me)} if is_new else route


def thread_of(event: MessageEvent) -> str:
    """The thread of a message; one that is opened on it has its id ("Start Thread from Message")."""
    if event.server == DIRECT:
        return TALK
    if event.is_thread:
        return event.channel_id
    if event.answers_me and event.answers:
        return event.answers
    return event.id if event.takes_threads else event.channel_id


def read(
    event: MessageEvent, me: Me, thread: incoming.ThreadState, route: DiscordRoute
) -> Question | incoming.ChatCommand | None:
    """The request in a message, None if there is none; QuestionRejected when a question is too long or empty."""
    says_anything = event.text or event.title or event.quoted or event.files  # a sticker alone does not
    if not event.is_written or event.author == me.user_id or not says_anything:
        return None
    is_for_me = is_called(event, me)
    follow_up: incoming.FollowUp | None = "addressed" if is_for_me else None
    if not is_for_me and event.answers is None:  # a reply to another person never is
        if event.title or event.takes_threads:
            follow_up = thread.opening(f"{event.title}\n{event.text}".strip())
        elif event.is_thread:
            follow_up = thread.follow_up(event.author, event.text, said_at(event.id))
    if follow_up is None:
        return None
    bare = event.text  # without people, roles and channels
    for pattern in (content.USER_MENTION, content.ROLE_MENTION, content.CHANNEL_MENTION):
        bare = pattern.sub("", bare)
    says_words = any(sign.isalnum() for sign in bare)
    text = content.plain_text(event.text, event.names, me) if says_words else ""
    message = incoming.IncomingMessage(
        id=turn_id(route, event.id), conversation=conversation_of(route), author=event.author,
        text=f"{event.title}\n{text}".strip(), said_at=event.edited_at or said_at(event.id),
        files=event.files, quoted=event.quoted, replies_to=event.replies_to,
        is_called=is_for_me, is_addressed=follow_up == "addressed",
        is_in_thread=event.is_thread, is_edit=bool(event.edited_at),
    )  # fmt: skip
    return incoming.interpret(message)


def is_called(event: MessageEvent, me: Me) -> bool:
    """True for a mention of the bot or its role, a reply to it, or a direct message."""
    # Discord gives the names of the mentioned even where it hides the text.
    written = (*content.USER_MENTION.findall(event.text), *content.ROLE_MENTION.findall(event.text))
    mentioned = {*written, *event.names}
    return event.server == DIRECT or event.answers_me or bool(mentioned & {me.user_id, *me.role_ids})


def with_thread(route: DiscordRoute, request: incoming.Request | None) -> DiscordRoute:
    """The route on which only a question opens a thread, named after it; small talk opens none."""
    there = route.copy()
    if "opens" in there and isinstance(request, Question) and not incoming.is_small_talk(request):
        there["opens"] = request.text
    else:
        there.pop("opens", None)
    return there
