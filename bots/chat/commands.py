"""The commands that people give the bot in a chat: what each one does, and its reply."""

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
from bots.indexing import Targets, ingest_targets, run_in_thread
from core.bootstrap import Footnote, make_fetcher
from core.errors import DocumentError, FootnoteError
from core.library.library import Notify
from core.library.sync import SyncReport
from core.turns.archive import forget_turns, outcome_of
from core.turns.messenger import ReplyRoute

#: The commands that only learners may give, and the sentence for others.
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
    """Each command as a method that returns its replies. Every one may be carried out twice."""

    footnote: Footnote
    channel_store: ChannelStore
    people: People
    uploads: Uploads

    async def carry_out(self, command: ChatCommand, route: ReplyRoute) -> Replies:
        """Raises FootnoteError with a sentence."""
        refusal = await self.refusal(command, route)  # checked again: it may have been stored for a while
        if refusal is not None:
            return (Note(text=refusal),)
        return await self._methods()[command.name](command, route)

    async def refusal(self, command: ChatCommand, route: ReplyRoute) -> str | None:
        """Why its author may not give this command; None if they may."""
        learners, key = self.footnote.settings.learners, FOR_LEARNERS.get(command.name)
        if key is None or not learners or command.author in learners:
            return None
        is_learner = await self.people.groups_of(route, command.author, learners)
        return None if is_learner else say_in(command.language)(key)

    def _methods(self) -> Mapping[CommandName, Callable[[ChatCommand, ReplyRoute], Awaitable[Replies]]]:
        return {
            "help": self._help, "sources": self._sources, "forget": self._forget,
            "follow": self._follow, "learn": self._learn, "use": self._use, "footnotes": self._footnotes,
            "unlearn": self._unlearn,
        }  # fmt: skip

    async def _help(self, command: ChatCommand, _route: ReplyRoute) -> Replies:
        library = self.footnote.library
        read = self.channel_store.reads(command.conversation, library)
        documents = sum(entry.collection in read for entry in library.store.entries())
        collections = tuple(sorted(_display_name(command, name) for name in read))
        age = None if library.refreshed_at is None else time.monotonic() - library.refreshed_at
        lines = help_lines(command.language, collections=collections, documents=documents, age=age)
        return (Note(text="\n".join(lines)),)

    async def _sources(self, command: ChatCommand, _route: ReplyRoute) -> Replies:
        read = self.channel_store.reads(command.conversation, self.footnote.library)
        entries = [
            replace(entry, collection=_display_name(command, entry.collection))
            for entry in self.footnote.library.store.entries()
            if entry.collection in read
        ]
        entries.sort(key=lambda entry: entry.collection)
        return (Sources(language=command.language, entries=tuple(entries)),)

    async def _forget(self, command: ChatCommand, _route: ReplyRoute) -> Replies:
        """Delete the conversation and its turns, but not their ids, so that no redelivery runs them again."""
        await self.footnote.assistant.forget(command.conversation)
        self.channel_store.remember_forgotten(await forget_turns(command.conversation))
        self.channel_store.forget_thread(command.conversation)
        return (Note(text=say_in(command.language)("forgot_thread")),)

    async def _follow(self, command: ChatCommand, _route: ReplyRoute) -> Replies:
        if command.argument and command.argument not in FOLLOWING:
            known = say_in(command.language)("follow_what", ways=", ".join(FOLLOWING))
            return (Note(text=f"{known} {self._following(command)}"),)
        if command.argument:
            self.channel_store.set_follow(command.conversation, cast("Follow", command.argument))
        return (Note(text=self._following(command)),)

    def _following(self, command: ChatCommand) -> str:
        return say_in(command.language)(
            FOLLOWING[self.channel_store.thread_state(command.conversation).follow]
        )

    async def _use(self, command: ChatCommand, _route: ReplyRoute) -> Replies:
        known = sorted(
            name
            for name in self.footnote.library.store.collections()
            if may_read(command.conversation, name) and name != own_collection(command.conversation)
        )
        say = say_in(command.language)
        takes = say("use_what", collections=", ".join(known) or say("no_collections"))
        if not command.argument:
            return (Note(text=takes),)
        if not self.channel_store.use(command.conversation, command.argument, self.footnote.library):
            return (Note(text=f"{say('unknown_collection')} {takes}"),)
        return (Note(text=say("collection_chosen", name=command.argument)),)

    async def _footnotes(self, command: ChatCommand, _route: ReplyRoute) -> Replies:
        outcome = await outcome_of(command.argument)
        lost = say_in(command.language)("no_footnotes_left")
        return (Footnotes(outcome=outcome) if outcome else Note(text=lost),)

    async def _learn(self, command: ChatCommand, _route: ReplyRoute) -> Replies:
        if not command.files and not is_page(command.argument):
            return (Note(text=say_in(command.language)("what_to_learn")),)
        fetched = [await self._fetched(command, file) for file in command.files]
        files = [each for each in fetched if isinstance(each, Path)]
        targets = Targets(paths=tuple(files), urls=(command.argument,) if command.argument else ())

        def work(notify: Notify) -> SyncReport:
            return ingest_targets(
                self.footnote.library,
                targets,
                make_fetcher(self.footnote.settings),
                notify=notify,
                collection=own_collection(command.conversation),
            )

        try:
            report = (
                await run_in_thread(work, _ignore_progress) if files or command.argument else SyncReport()
            )
        except FootnoteError:  # nothing was learned: of what is not known from before, nothing is kept
            known = {entry.address for entry in self.footnote.library.store.entries()}
            self._discard(file for file in files if str(file) not in known)
            raise
        for failure in report.failed:
            self._discard(file for file in files if file.name == Path(failure.source).name)
        failed = [f"{Path(failure.source).name}: {failure.reason}" for failure in report.failed]
        amiss = [str(trouble) for trouble in fetched if isinstance(trouble, DocumentError)]
        summary = [synced(report, command.language)] if targets != Targets() else []
        named = ", ".join([*(file.name for file in command.files), *filter(None, [command.argument])])
        return (Note(text="\n".join([f"{clipped(named)}: {line}" for line in summary] + failed + amiss)),)

    async def _unlearn(self, command: ChatCommand, _route: ReplyRoute) -> Replies:
        """Only what was learned in this channel, never the operator's documents."""
        library, own = self.footnote.library, own_collection(command.conversation)
        named = [
            entry.address
            for entry in library.store.entries()
            if entry.collection == own and command.argument in (entry.url, Path(entry.address).name)
        ]
        if not named:
            return (Note(text=say_in(command.language)("not_learned", name=command.argument)),)
        self._discard(map(Path, named))  # first: after a kill, what is still listed can be forgotten again
        gone = [
            entry
            for address in named
            for entry in await asyncio.to_thread(library.forget, address, collection=own)
        ]
        lines = (forgotten(Path(entry.source).name, entry.passages, command.language) for entry in gone)
        return (Note(text="\n".join(lines)),)

    def _discard(self, files: Iterable[Path]) -> None:
        discard(self.footnote.settings.data_dir, files)

    async def _fetched(self, command: ChatCommand, file: Attachment) -> Path | DocumentError:
        """One file that cannot be fetched does not keep the others from being learned."""
        try:
            return await self._fetch(command, file)
        except DocumentError as trouble:
            return trouble

    async def _fetch(self, command: ChatCommand, file: Attachment) -> Path:
        """Store the file in the data folder, so that the library can be rebuilt."""
        check_size(file.name, file.size)
        content = await self.uploads.fetch(file)
        # By its name, so that a newer version replaces an older one.
        folder = folder_of(self.footnote.settings.data_dir, own_collection(command.conversation))
        target = folder / (Path(file.name).name or file.id)
        part = folder.parent / f"{file.id}.part"
        try:
            await asyncio.to_thread(_write, target, part, content)
        except OSError as fault:
            reason = (fault.strerror or "the disk refused").lower()
            raise DocumentError(f"{file.name} cannot be kept: {reason}.") from fault
        return target.resolve()


def _write(target: Path, part: Path, content: bytes) -> None:
    """Write all or nothing: a full disk does not destroy the older file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        part.write_bytes(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _display_name(command: ChatCommand, collection: str) -> str:
    """A collection's name as the people of the channel know it; the channel's own has no name."""
    is_own = collection == own_collection(command.conversation)
    return say_in(command.language)("own_collection") if is_own else collection


def _ignore_progress(_kind: object, _done: int, _total: int) -> None:
    return None
