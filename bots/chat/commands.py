"""The commands that people give the bot in a chat, and how their replies are shown."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Generic, cast

from bots.chat.access import forget_documents, trusted_in
from bots.chat.channel_source import person_of
from bots.chat.channels import ChannelStore, own_collection, source_of, thread_collection
from bots.chat.incoming import ChatCommand, CommandName, Follow, is_page, unqueued
from bots.chat.platform import CommandReply, Note, People, Refused, Shown, Sources
from bots.chat.proposals import footnotes_of
from bots.chat.replies import Replies
from bots.chat.texts import clipped, forgotten, help_lines, say_in, synced
from bots.chat.uploads import UploadIndex
from core.bootstrap import Footnote
from core.conversation import Command, Conversation, log_fields
from core.errors import FootnoteError, NotFound, StoreUnavailable, for_people
from core.library.library import DEFAULT_COLLECTION
from core.library.readers import base_of
from core.library.sync import SyncReport
from core.sources.source import kind_of
from core.turns.archive import forget_turns, outcome_of, stored_turn
from core.turns.messenger import ReplyRoute, Unreachable
from core.turns.waiting import disk_trouble
from core.wording import Sentence, in_language

logger = logging.getLogger(__name__)

#: The commands that only learners may give, and the sentence for others.
FOR_LEARNERS: Mapping[str, str] = {
    "learn": "only_learners_add",
    "unlearn": "only_learners_remove",
    "use": "only_learners_choose",
    "learn_channel": "only_learners_add",
    "forget_channel": "only_learners_remove",
}
FOLLOWING: Mapping[Follow, str] = {
    "mention": "follows_mention",
    "asker": "follows_asker",
    "thread": "follows_thread",
    "channel": "follows_channel",
}

EVERY = 86_400.0  # seconds between two syncs of a learned channel, which find what events did not tell

CommandReplies = tuple[CommandReply, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCommands:
    """Each command as a method that returns its replies. Every one may be carried out twice."""

    footnote: Footnote
    channel_store: ChannelStore
    people: People
    upload_index: UploadIndex
    slash_commands: tuple[str, ...] = ()  #: that the platform has beside the words

    async def carry_out(self, command: ChatCommand, route: ReplyRoute) -> CommandReplies:
        """Raises FootnoteError with a sentence, and Unreachable."""
        refusal = await self.refusal(command, route)  # checked again: it may have been stored for a while
        if refusal is not None:
            return (Note(text=refusal, is_private=True),)
        methods: Mapping[CommandName, Callable[[ChatCommand, ReplyRoute], Awaitable[CommandReplies]]] = {
            "help": self._help, "sources": self._sources, "forget": self._forget,
            "follow": self._follow, "learn": self._learn, "use": self._use, "footnotes": self._footnotes,
            "unlearn": self._unlearn, "learn_channel": self._learn_channel,
            "forget_channel": self._forget_channel, "learn_me": self._learn_me, "forget_me": self._forget_me,
        }  # fmt: skip
        return await methods[command.name](command, route)

    async def refusal(self, command: ChatCommand, route: ReplyRoute) -> str | None:
        """The reason why the author may not give this command; None if they may. Raises Unreachable."""
        if command.name in ("keep", "unkeep"):
            return await self._refusal_to_teach(command, route)
        learners, key = self.footnote.settings.learners, FOR_LEARNERS.get(command.name)
        if key is None or not learners or command.author in learners:
            return None
        is_learner = await self.people.groups_of(route, command.author, learners)
        return None if is_learner else say_in(command.language)(key)

    async def _refusal_to_teach(self, command: ChatCommand, route: ReplyRoute) -> str | None:
        if command.author in await self.trusted_among({command.author}, command, route):
            return None
        say = say_in(command.language)
        if command.name == "keep":
            return say("only_experts_keep")
        answer = await self.footnote.answers.get(command.argument)
        if answer is None or answer.author == command.author:
            return None
        return say("only_they_forget", who=answer.name)

    async def trusted_among(
        self, people: Collection[str], command: ChatCommand, route: ReplyRoute
    ) -> frozenset[str]:
        """The people among these whose answers may be kept; all if nobody is named. Raises Unreachable."""
        experts, learners = self.footnote.settings.experts, self.footnote.settings.learners
        trusted = learners
        if experts:
            where = command.conversation
            trusted = trusted_in(experts, where, await self.readable(where, command.author))
        if not (experts or learners):
            return frozenset(people)
        groups_of = self.people.groups_of
        return frozenset([one for one in people if one in trusted or await groups_of(route, one, trusted)])

    async def forget_message(self, key: str) -> None:
        """Forget what was kept of a message that was deleted."""
        answers = self.footnote.answers
        if (answer := await answers.of_message(key)) is not None:
            await answers.forget(answer)

    async def _help(self, command: ChatCommand, _route: ReplyRoute) -> CommandReplies:
        library = self.footnote.library
        read = await self.readable(command.conversation, command.author)
        documents = sum(entry.collection in read for entry in library.store.entries())
        collections = tuple(sorted({_display_name(command, name) for name in read}))
        age = await asyncio.to_thread(library.refresh_age)
        unasked = await self.channel_store.unasked(command.conversation, time.time())
        lines = help_lines(
            command.language, collections=collections, documents=documents, age=age,
            slash_commands=self.slash_commands, unasked=unasked,
        )  # fmt: skip
        shown = Note(text="\n".join(lines))
        if await self.channel_store.has_more_directly(command.conversation, command.author, library):
            return (shown, Note(text=say_in(command.language)("more_directly"), is_private=True))
        return (shown,)

    async def _sources(self, command: ChatCommand, _route: ReplyRoute) -> CommandReplies:
        read = await self.readable(command.conversation, command.author)
        entries = [
            replace(entry, collection=_display_name(command, entry.collection))
            for entry in self.footnote.library.store.entries()
            if entry.collection in read
        ]
        entries.sort(key=lambda entry: (entry.collection, entry.source, entry.address))
        return (Sources(language=command.language, entries=tuple(entries)),)

    async def _forget(self, command: ChatCommand, route: ReplyRoute) -> CommandReplies:
        """Delete the conversation, its files and its turns, but not their ids, so that no redelivery runs them again."""
        await self.upload_index.forget([thread_collection(command.conversation)])
        await self.footnote.assistant.forget(command.conversation)
        await self.channel_store.remember_forgotten(await forget_turns(command.conversation))
        await self.channel_store.forget_thread(command.conversation)
        staying = await self._forget_answers(command, route)
        say = say_in(command.language)
        more = [say("answers_stay", count=staying)] if staying else []
        return (Note(text="\n".join([say("forgot_thread"), *more])),)

    async def _forget_answers(self, command: ChatCommand, route: ReplyRoute) -> int:
        """Forget the answers kept from the thread that the author may forget; returns how many stay."""
        answers, staying = self.footnote.answers, 0
        await answers.forget_requests(command.conversation)
        for answer in await answers.of_conversation(command.conversation):
            unkeep = replace(command, name="unkeep", argument=answer.id)
            if await self.refusal(unkeep, route) is None:
                await answers.forget(answer)
            else:
                staying += 1
        return staying

    async def _follow(self, command: ChatCommand, _route: ReplyRoute) -> CommandReplies:
        if command.argument and command.argument not in FOLLOWING:
            known = say_in(command.language)("follow_what", ways=", ".join(FOLLOWING))
            return (Note(text=f"{known} {await self._following(command)}", is_private=True),)
        if command.argument:
            await self.channel_store.set_follow(command.conversation, cast("Follow", command.argument))
        return (Note(text=await self._following(command)),)

    async def _following(self, command: ChatCommand) -> str:
        thread = await self.channel_store.thread_state(command.conversation)
        return say_in(command.language)(FOLLOWING[thread.follow])

    async def _use(self, command: ChatCommand, _route: ReplyRoute) -> CommandReplies:
        say, name, library = say_in(command.language), command.argument, self.footnote.library
        opened = await self.channel_store.open_to(command.conversation, command.author, library)
        listed = ", ".join(sorted(opened)) or say("no_collections")
        takes = say("use_what", collections=listed)
        if not name:
            return (Note(text=takes),)
        if not await self.channel_store.use(command.conversation, command.author, name, library):
            here = command.conversation
            is_direct = self.people.is_direct_message(here)
            option = f"--people {command.author}" if is_direct else f"--channels {here.channel}"
            closed = say("collection_closed", name=clipped(name), command=f"footnote access NAME {option}")
            return (Note(text=f"{closed} {takes}", is_private=True),)
        if name == DEFAULT_COLLECTION:
            return (Note(text=say("collections_open", collections=listed)),)
        return (Note(text=say("collection_chosen", name=name)),)

    async def readable(self, where: Conversation, person: str) -> frozenset[str]:
        """The collections that a person reads there now."""
        return (await self.channel_store.reads(where, person, self.footnote.library)).collections

    async def _footnotes(self, command: ChatCommand, _route: ReplyRoute) -> CommandReplies:
        """The quotes of a turn of this conversation, from what the channel reads now."""
        turn, outcome = await stored_turn(command.argument), await outcome_of(command.argument)
        if turn is None or turn.conversation != command.conversation or outcome is None:
            return (Note(text=say_in(command.language)("no_footnotes_left")),)
        store, collections = (
            self.footnote.library.store,
            await self.readable(command.conversation, command.author),
        )
        readable = await self.footnote.answers.within(outcome, collections)
        if (outcome.answer or outcome.closest) and not (readable.answer or readable.closest):
            return (Note(text=say_in(outcome.language)("no_longer_readable")),)
        return (await asyncio.to_thread(footnotes_of, readable, store, collections),)

    async def _learn(self, command: ChatCommand, _route: ReplyRoute) -> CommandReplies:
        url = command.argument
        if not command.files and not is_page(url):
            return (Note(text=say_in(command.language)("what_to_learn"), is_private=True),)
        indexed = await self.upload_index.add(command.files, own_collection(command.conversation), url)
        is_new = indexed.files or indexed.report != SyncReport()
        summary = [synced(indexed.report, command.language)] if is_new else []
        named = ", ".join(filter(None, [*indexed.names, url]))
        lines = [f"{clipped(named)}: {line}" for line in summary]
        is_in_vain = len(indexed.failures) >= len(command.files) + bool(url)
        return (Note(text="\n".join([*lines, *indexed.failures]), is_private=is_in_vain),)

    async def _unlearn(self, command: ChatCommand, _route: ReplyRoute) -> CommandReplies:
        """Forgets documents that were learned in this channel, never the operator's."""
        own = (own_collection(command.conversation), thread_collection(command.conversation))
        gone = await self.upload_index.forget(own, [command.argument])
        if not gone:
            sentence = say_in(command.language)("not_learned", name=command.argument)
            return (Note(text=sentence, is_private=True),)
        lines = (forgotten(Path(entry.source).name, entry.passages, command.language) for entry in gone)
        return (Note(text="\n".join(lines)),)

    async def _learn_channel(self, command: ChatCommand, route: ReplyRoute) -> CommandReplies:
        """Read the channel from now on, for itself alone."""
        here, say = command.conversation, say_in(command.language)
        if self.people.is_direct_message(here):
            return (Note(text=say("direct_not_learned"), is_private=True),)
        address = source_of(here)
        if kind_of(address, self.footnote.sources.kinds) is None:
            return (Note(text=say("platform_not_learned"), is_private=True),)
        await self.footnote.sources.add(address, collection=own_collection(here), every=EVERY)
        channel = await self.people.channel_name(route)
        return (Note(text=f"{say('channel_learned', channel=channel or here.channel)} {say('can_opt_out')}"),)

    async def _forget_channel(self, command: ChatCommand, route: ReplyRoute) -> CommandReplies:
        """Forgets what was read of the channel for itself; an operator's collections stay."""
        here, say, footnote = command.conversation, say_in(command.language), self.footnote
        address = source_of(here)
        try:
            await asyncio.to_thread(
                forget_documents, footnote.library, footnote.storage, address, collection=own_collection(here)
            )
        except NotFound:
            return (Note(text=say("channel_not_learned"), is_private=True),)
        channel = await self.people.channel_name(route)
        return (Note(text=say("channel_forgotten", channel=channel or here.channel)),)

    async def _forget_me(self, command: ChatCommand, _route: ReplyRoute) -> CommandReplies:
        """Opts the author out first, so that no sync reads them again, then forgets what was read."""
        person = person_of(command.conversation.platform, command.author)
        await self.channel_store.opt_out(person)
        await self.footnote.sources.forget_author(person)
        return (Note(text=say_in(command.language)("opted_out"), is_private=True),)

    async def _learn_me(self, command: ChatCommand, _route: ReplyRoute) -> CommandReplies:
        await self.channel_store.opt_in(person_of(command.conversation.platform, command.author))
        return (Note(text=say_in(command.language)("opted_in"), is_private=True),)


def _display_name(command: ChatCommand, collection: str) -> str:
    """A collection's name for people in the channel; the channel's and the thread's own have none."""
    own = {
        own_collection(command.conversation): "own_collection",
        thread_collection(command.conversation): "thread_collection",
    }
    base = base_of(collection)
    return say_in(command.language)(own[base]) if base in own else base


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRunner(Generic[Shown]):
    """Runs each command once for all its deliveries. What it does may be done twice after a kill."""

    commands: ChatCommands
    replies: Replies[Shown]

    async def run(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        is_private = unqueued(command).is_private
        messages = [
            (message, is_private or (isinstance(reply, Note) and reply.is_private))
            for reply in await self._replies(command, route)
            for message in self.replies.renderer.reply(reply)
        ]
        try:
            for part, (message, is_hidden) in enumerate(messages):
                if is_hidden:
                    name = str(part)
                    await self.replies.send_direct(command, route, message, name=name, may_be_public=False)
                else:
                    await self.replies.posts.say(route, command.id, part, message, is_again=is_again)
        except Refused as refused:
            await self.replies.explain(command, route, refused, unqueued(command).language)

    async def _replies(self, command: Command, route: ReplyRoute) -> CommandReplies:
        chat_command = unqueued(command)
        say = say_in(chat_command.language)
        if chat_command.name == "forget":
            await self.replies.close_all(command, route)
        try:
            return await self.commands.carry_out(chat_command, route)
        except Unreachable:  # carried out again when the platform can be reached
            raise
        except StoreUnavailable as trouble:
            logger.exception("a command could not be stored", extra=log_fields(command))
            reason = disk_trouble(trouble) or Sentence("disk_refused")
            return (Note(text=say("not_written", trouble=reason), is_private=True),)
        except FootnoteError as trouble:
            sentence = in_language(for_people(trouble), chat_command.language)
            return (Note(text=sentence, is_private=True),)
        except Exception:
            # The boundary of a command: the person learns of every failure.
            logger.exception("a command failed", extra=log_fields(command))
            return (Note(text=say("own_fault"), is_private=True),)

    async def withdraw(self, command: Command, route: ReplyRoute) -> None:
        """Replace an answer that nobody asked the bot for by one line; repeated, it changes nothing more."""
        turn_id, language = unqueued(command).argument, unqueued(command).language
        outcome = await self.replies.outcomes(turn_id)
        line = self.replies.renderer.note(say_in(outcome.language if outcome else language)("withdrawn"))
        if first := await self.replies.posts.find(route, turn_id, 0):
            try:
                await self.replies.posts.change(route, first, turn_id, 0, line)
            except Refused as refused:  # a locked thread, for one
                await self.replies.explain(command, route, refused, language)
                return
        others: list[str] = []
        for part in count(1):
            handle = await self.replies.posts.find(route, turn_id, part)
            if handle is None:
                break
            others.append(handle)
        for handle in reversed(others):  # cut off in between, those that are left are found again
            await self.replies.posts.delete(route, handle)
