"""The words people say to the bot itself: what each one does, and what it is answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from bots.chat.channels import ChannelStore, may_read, own_collection
from bots.chat.incoming import Attachment, ChatCommand, CommandName, Follow, is_page
from bots.chat.platform import CommandReply, Footnotes, Note, People, Sources, Uploads
from bots.chat.texts import clipped, forgotten, help_lines, say_in, synced
from bots.chat.uploads import check_size, discard, folder_of
from bots.indexing import Targets, Watch, in_thread, take_in
from core.bootstrap import Footnote, make_fetcher
from core.conversation import Conversation
from core.errors import DocumentError, FootnoteError
from core.library.sync import SyncReport
from core.turns.archive import forget_turns, outcome_of
from core.turns.messenger import ReplyRoute

#: What only some may say, and what the others are told.
FOR_LEARNERS: Mapping[str, str] = {
    "learn": "only_learners_add",
    "unlearn": "only_learners_remove",
    "use": "only_learners_choose",
}
FOLLOWING: Mapping[Follow, str] = {
    "mention": "follows_mention",
    "asker": "follows_asker",
    "thread": "follows_thread",
}

Replies = tuple[CommandReply, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCommands:
    """Each word as a method that gives what is said in return. Every one may be carried out twice."""

    footnote: Footnote
    channel_store: ChannelStore
    people: People
    uploads: Uploads

    async def carry_out(self, word: ChatCommand, route: ReplyRoute) -> Replies:
        """Raises FootnoteError with a sentence."""
        refusal = await self.refusal(word, route)  # once more: it may have been stored for a while
        if refusal is not None:
            return (Note(text=refusal),)
        return await self._does()[word.name](word, route)

    async def refusal(self, word: ChatCommand, route: ReplyRoute) -> str | None:
        """Why whoever said it may not say it; None when they may."""
        learners, key = self.footnote.settings.learners, FOR_LEARNERS.get(word.name)
        if key is None or not learners or word.author in learners:
            return None
        is_learner = await self.people.groups_of(route, word.author, learners)
        return None if is_learner else say_in(word.language)(key)

    def has_forgotten(self, conversation: Conversation) -> bool:
        """Whether somebody had this conversation forgotten."""
        return self.channel_store.was_forgotten(_forgetting(conversation))

    def _does(self) -> Mapping[CommandName, Callable[[ChatCommand, ReplyRoute], Awaitable[Replies]]]:
        return {
            "help": self._help, "sources": self._sources, "forget": self._forget,
            "follow": self._follow, "learn": self._learn, "use": self._use, "footnotes": self._footnotes,
            "unlearn": self._unlearn,
        }  # fmt: skip

    async def _help(self, word: ChatCommand, _route: ReplyRoute) -> Replies:
        library = self.footnote.library
        read = self.channel_store.reads(word.conversation, library)
        documents = sum(entry.collection in read for entry in library.store.entries())
        collections = tuple(sorted(_as_called_by(word, name) for name in read))
        age = None if library.looked_at is None else time.monotonic() - library.looked_at
        lines = help_lines(word.language, collections=collections, documents=documents, age=age)
        return (Note(text="\n".join(lines)),)

    async def _sources(self, word: ChatCommand, _route: ReplyRoute) -> Replies:
        read = self.channel_store.reads(word.conversation, self.footnote.library)
        entries = [
            replace(entry, collection=_as_called_by(word, entry.collection))
            for entry in self.footnote.library.store.entries()
            if entry.collection in read
        ]
        entries.sort(key=lambda entry: entry.collection)
        return (Sources(language=word.language, entries=tuple(entries)),)

    async def _forget(self, word: ChatCommand, _route: ReplyRoute) -> Replies:
        """The conversation's memory and what the queue keeps of it; not that its turns were taken."""
        await self.footnote.assistant.forget(word.conversation)
        self.channel_store.remember_forgotten(await forget_turns(word.conversation))
        self.channel_store.forget_thread(word.conversation)
        self.channel_store.remember_forgotten([_forgetting(word.conversation)])
        return (Note(text=say_in(word.language)("forgot_thread")),)

    async def _follow(self, word: ChatCommand, _route: ReplyRoute) -> Replies:
        if word.argument and word.argument not in FOLLOWING:
            known = say_in(word.language)("follow_what", ways=", ".join(FOLLOWING))
            return (Note(text=f"{known} {self._following(word)}"),)
        if word.argument:
            self.channel_store.set_follow(word.conversation, cast("Follow", word.argument))
        return (Note(text=self._following(word)),)

    def _following(self, word: ChatCommand) -> str:
        return say_in(word.language)(FOLLOWING[self.channel_store.room_of(word.conversation).follow])

    async def _use(self, word: ChatCommand, _route: ReplyRoute) -> Replies:
        known = sorted(
            name
            for name in self.footnote.library.store.collections()
            if may_read(word.conversation, name) and name != own_collection(word.conversation)
        )
        say = say_in(word.language)
        takes = say("use_what", collections=", ".join(known) or say("no_collections"))
        if not word.argument:
            return (Note(text=takes),)
        if not self.channel_store.use(word.conversation, word.argument, self.footnote.library):
            return (Note(text=f"{say('unknown_collection')} {takes}"),)
        return (Note(text=say("collection_chosen", name=word.argument)),)

    async def _footnotes(self, word: ChatCommand, _route: ReplyRoute) -> Replies:
        outcome = await outcome_of(word.argument)
        lost = say_in(word.language)("no_footnotes_left")
        return (Footnotes(outcome=outcome) if outcome else Note(text=lost),)

    async def _learn(self, word: ChatCommand, _route: ReplyRoute) -> Replies:
        if not word.files and not is_page(word.argument):
            return (Note(text=say_in(word.language)("what_to_learn")),)
        fetched = [await self._fetched(word, file) for file in word.files]
        files = [each for each in fetched if isinstance(each, Path)]
        targets = Targets(paths=tuple(files), urls=(word.argument,) if word.argument else ())

        def work(watch: Watch) -> SyncReport:
            return take_in(
                self.footnote.library,
                targets,
                make_fetcher(self.footnote.settings),
                notify=watch,
                collection=own_collection(word.conversation),
            )

        try:
            report = await in_thread(work, _unwatched) if files or word.argument else SyncReport()
        except FootnoteError:  # nothing was learned: of what is not known from before, nothing is kept
            known = {entry.address for entry in self.footnote.library.store.entries()}
            self._discard(file for file in files if str(file) not in known)
            raise
        for failure in report.failed:
            self._discard(file for file in files if file.name == Path(failure.source).name)
        failed = [f"{Path(failure.source).name}: {failure.reason}" for failure in report.failed]
        amiss = [str(trouble) for trouble in fetched if isinstance(trouble, DocumentError)]
        summary = [synced(report, word.language)] if targets != Targets() else []
        named = ", ".join([*(file.name for file in word.files), *filter(None, [word.argument])])
        return (Note(text="\n".join([f"{clipped(named)}: {line}" for line in summary] + failed + amiss)),)

    async def _unlearn(self, word: ChatCommand, _route: ReplyRoute) -> Replies:
        """Only what was learned in this channel; the operator's documents are the operator's."""
        library, own = self.footnote.library, own_collection(word.conversation)
        named = [
            entry.address
            for entry in library.store.entries()
            if entry.collection == own and word.argument in (entry.url, Path(entry.address).name)
        ]
        if not named:
            return (Note(text=say_in(word.language)("not_learned", name=word.argument)),)
        self._discard(map(Path, named))  # first: what is still listed can be forgotten once more after a kill
        gone = [
            entry
            for address_ in named
            for entry in await asyncio.to_thread(library.forget, address_, collection=own)
        ]
        told = (forgotten(Path(entry.source).name, entry.passages, word.language) for entry in gone)
        return (Note(text="\n".join(told)),)

    def _discard(self, files: Iterable[Path]) -> None:
        discard(self.footnote.settings.data_dir, files)

    async def _fetched(self, word: ChatCommand, file: Attachment) -> Path | DocumentError:
        """One file that cannot be had keeps no other from being learned."""
        try:
            return await self._fetch(word, file)
        except DocumentError as trouble:
            return trouble

    async def _fetch(self, word: ChatCommand, file: Attachment) -> Path:
        """The file on the disk, where it stays, so that the library can be rebuilt."""
        check_size(file.name, file.size)
        content = await self.uploads.fetch(file)
        # By its name, so that a newer version takes the place of the one before.
        folder = folder_of(self.footnote.settings.data_dir, own_collection(word.conversation))
        target = folder / (Path(file.name).name or file.id)
        part = folder.parent / f"{file.id}.part"
        try:
            await asyncio.to_thread(_write, target, part, content)
        except OSError as fault:
            reason = (fault.strerror or "the disk refused").lower()
            raise DocumentError(f"{file.name} cannot be kept: {reason}.") from fault
        return target.resolve()


def _write(target: Path, part: Path, content: bytes) -> None:
    """All of it, or none: what stood there before is not lost to a full disk."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        part.write_bytes(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _as_called_by(word: ChatCommand, collection: str) -> str:
    """A collection's name for the people of a channel, to whom its own one has none."""
    is_own = collection == own_collection(word.conversation)
    return say_in(word.language)("own_collection") if is_own else collection


def _forgetting(conversation: Conversation) -> str:
    return f"{conversation.id}/forgotten"


def _unwatched(_kind: object, _done: int, _total: int) -> None:
    return None
