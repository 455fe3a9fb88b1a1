"""The words people say to the bot itself: what each one does, and what it is answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from bots.indexing import Targets, Watch, in_thread, take_in
from bots.messages import synced
from bots.slack.calls import SlackCalls, SlackRefused
from bots.slack.people import People
from bots.slack.posts import Posts
from bots.slack.read import Address, Attachment, Follow, Word, WordName
from bots.slack.rooms import Rooms, own_collection
from bots.slack.settings import SlackSettings
from bots.slack.write import Message, all_footnotes, help_text, note, sources_text
from core.bootstrap import Footnote, make_fetcher
from core.errors import DocumentError, FootnoteError
from core.library.library import SyncReport
from core.turns import Turns, Unreachable

logger = logging.getLogger(__name__)

FILE_LIMIT = 32_000_000  # bytes of one attached file, as for a page
FILES_HOSTS = ("files.slack.com", "slack.com")  # where the bot's token may go, "Working with files"

NOT_RUNNING = "Nothing is running in this thread."
FORGOTTEN = "I forgot this thread. Mention me to begin anew."
NOTHING_TO_LEARN = "Attach a file to learn, or name a URL: learn https://…"
UNKNOWN_COLLECTION = "There is no collection of that name that may be read here."
FOLLOWING: Mapping[Follow, str] = {
    "mention": "In this channel I answer only when I am mentioned.",
    "asker": "In this channel I follow up with whoever asked, without a mention.",
    "thread": "In this channel I follow up in my threads without a mention.",
}

Replies = tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Each word as a method that gives what is said in return."""

    settings: SlackSettings
    footnote: Footnote
    rooms: Rooms
    calls: SlackCalls
    posts: Posts
    people: People
    turns: Turns

    async def carry_out(self, word: Word, place: Address) -> None:
        """Do what the word says, and answer: in the thread, or privately what concerns one person."""
        try:
            replies = await self._does()[word.name](word, place)
        except FootnoteError as trouble:
            replies = (note(str(trouble)),)
        try:
            for part, reply in enumerate(replies):
                if word.name in _PRIVATE:
                    await self.posts.whisper(place, reply)
                else:
                    await self.posts.say(place, word.id, part, reply, is_again=False)
        except (SlackRefused, Unreachable):
            logger.warning("a word was not answered", extra={"turn": word.id, "word": word.name})

    def _does(self) -> Mapping[WordName, Callable[[Word, Address], Awaitable[Replies]]]:
        return {
            "help": self._help, "sources": self._sources, "forget": self._forget, "stop": self._stop,
            "follow": self._follow, "learn": self._learn, "use": self._use, "footnotes": self._footnotes,
        }  # fmt: skip

    async def _help(self, word: Word, _place: Address) -> Replies:
        library = self.footnote.library
        read = self.rooms.reads(word.conversation, library)
        documents = sum(entry.collection in read for entry in library.entries())
        return (help_text(collections=sorted(read), documents=documents),)

    async def _sources(self, word: Word, _place: Address) -> Replies:
        read = self.rooms.reads(word.conversation, self.footnote.library)
        entries = [entry for entry in self.footnote.library.entries() if entry.collection in read]
        return sources_text(sorted(entries, key=lambda entry: entry.collection))

    async def _forget(self, word: Word, _place: Address) -> Replies:
        await self.footnote.assistant.forget(word.conversation)
        self.rooms.forget_thread(word.conversation)
        return (note(FORGOTTEN),)

    async def _stop(self, word: Word, _place: Address) -> Replies:
        # A turn that is stopped says so itself.
        return () if self.turns.stop(word.conversation) else (note(NOT_RUNNING),)

    async def _follow(self, word: Word, _place: Address) -> Replies:
        if word.argument:
            self.rooms.set_follow(word.conversation, cast("Follow", word.argument))
        return (note(FOLLOWING[self.rooms.room_of(word.conversation).follow]),)

    async def _use(self, word: Word, _place: Address) -> Replies:
        if not self.rooms.use(word.conversation, word.argument, self.footnote.library):
            return (note(UNKNOWN_COLLECTION),)
        return (note(f"This channel now reads the collection {word.argument}."),)

    async def _footnotes(self, word: Word, _place: Address) -> Replies:
        outcome = await self.turns.outcome_of(word.argument)
        return all_footnotes(outcome) if outcome else (note("I no longer have these footnotes."),)

    async def _learn(self, word: Word, place: Address) -> Replies:
        if self.settings.learners and not await self.people.is_one_of(word.author, self.settings.learners):
            return (note("Only those whom LEARNERS names may add documents."),)
        if not word.argument and not word.files:
            return (note(NOTHING_TO_LEARN),)
        self.rooms.set_privacy(word.conversation, is_private=await self._is_private(place))
        files = [await self._fetch(word, file) for file in word.files]
        targets = Targets(paths=tuple(files), urls=(word.argument,) if word.argument else ())

        def work(watch: Watch) -> SyncReport:
            return take_in(
                self.footnote.library,
                targets,
                make_fetcher(self.footnote.settings),
                notify=watch,
                collection=own_collection(word.conversation),
            )

        report = await in_thread(work, _unwatched)
        failed = [f"{Path(failure.source).name}: {failure.reason}" for failure in report.failed]
        return (note("\n".join([synced(report), *failed])),)

    async def _is_private(self, place: Address) -> bool:
        """Fails closed: a channel that cannot be asked about counts as private."""
        if place["is_private"] is not None:
            return place["is_private"]
        try:
            info = await self.calls.call("conversations.info", channel=place["channel"])
        except (SlackRefused, Unreachable):
            return True
        return bool(info["channel"].get("is_private", True))

    async def _fetch(self, word: Word, file: Attachment) -> Path:
        """The file on the disk, where it stays, so that the library can be rebuilt."""
        if file.size > FILE_LIMIT:
            raise DocumentError(f"{file.name} is larger than {FILE_LIMIT // 1_000_000} MB.")
        if not _may_have_token(file.url, self.settings.api_url):
            raise DocumentError(f"{file.name} is not kept in Slack, so I cannot fetch it.")
        folder = self.footnote.settings.data_dir / "learned" / own_collection(word.conversation) / file.id
        target = folder / (Path(file.name).name or file.id)
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        await asyncio.to_thread(target.write_bytes, await self._download(file))
        return target.resolve()

    async def _download(self, file: Attachment) -> bytes:
        from aiohttp import ClientError

        session = self.calls.client.session
        assert session is not None
        headers = {"Authorization": f"Bearer {self.settings.bot_token}"}
        try:
            # Elsewhere the token must not go, so no redirect is followed.
            async with session.get(file.url, headers=headers, allow_redirects=False) as reply:
                if reply.status == 200 and not reply.content_type.startswith("text/html"):
                    return await reply.read()
        except (ClientError, TimeoutError) as fault:
            raise DocumentError(f"{file.name} could not be fetched from Slack.") from fault
        raise DocumentError(f"{file.name} could not be fetched: the app needs the scope files:read.")


#: Words whose answer is for whoever said them.
_PRIVATE: frozenset[WordName] = frozenset({"footnotes", "stop"})


def _may_have_token(url: str, api_url: str) -> bool:
    """Only Slack's own hosts are sent the token, or the one that the operator named in its place."""
    parts, own = urlsplit(url), urlsplit(api_url)
    if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
        return True
    host = parts.hostname or ""
    return parts.scheme == "https" and (host in FILES_HOSTS or host.endswith(".slack.com"))


def _unwatched(_kind: object, _done: int, _total: int) -> None:
    return None
