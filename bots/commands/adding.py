"""``footnote ingest`` without arguments: a person is asked what to add, step by step, before anything is kept.

What is named is looked at first: its credentials are tried, and the titles that would be read are shown.
"""

import argparse
import asyncio
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bots.arguments import every_of, span_of
from bots.chat.access import check_name
from bots.chat.addresses import ingest_command
from bots.chat.indexing import Targets, document_of, read_targets
from bots.chat.texts import counted, nothing_to_read
from bots.terminal.screen import Screen, line
from core.bootstrap import make_fetcher
from core.conversation import value
from core.errors import FootnoteError, SettingsError
from core.library.formats.read import SUFFIXES
from core.library.library import DEFAULT_COLLECTION
from core.library.sync import list_files
from core.settings import ENV_FILE, Settings
from core.sources.kinds import TITLES, Glimpse, probe
from core.sources.source import Credential, SourceGuide, SourceKinds, is_exposed, kind_of

NAMED_COLLECTIONS = 10  # that are offered by name
NOTHING_ADDED = "Nothing was added."


class AskLine(Protocol):
    """Asks one question. KeyboardInterrupt and EOFError for a person who leaves."""

    def __call__(
        self, prompt: str, /, *, default: str = "", completes_paths: bool = False
    ) -> Awaitable[str]: ...


@value
class Addition:
    """A person's choice of what to add."""

    targets: Targets
    collection: str
    #: Seconds between two syncs; 0: only when it is ingested. None for what is no source.
    every: float | None = None

    @property
    def command(self) -> str:
        """The command that does the same without questions."""
        span = "" if self.every is None else span_of(self.every) if self.every else "off"
        (named,) = self.targets.addresses
        command = ingest_command(named, collection=self.collection)
        return f"{command} --every {span}" if span else command


@value
class Choice:
    """One kind of thing that can be added."""

    title: str
    asks: str
    example: str
    targets: Callable[[str], Targets]  #: of what was typed; SettingsError


def choices_of(kinds: SourceKinds) -> Sequence[Choice]:
    """Files first, then each kind of source that has a guide, then single pages."""
    files = Choice(
        title="A folder or a file of this machine", asks="Its path", example="handbook",
        targets=lambda typed: read_targets([typed]),
    )  # fmt: skip
    page = Choice(
        title="A single page of the web", asks="Its address", example="https://docs.example.org/guide/start.html",
        targets=lambda typed: Targets(urls=(typed if "://" in typed else f"https://{typed}",)),
    )  # fmt: skip
    return (files, *(_choice_of(kind.guide) for kind in kinds.values() if kind.guide is not None), page)


def _choice_of(guide: SourceGuide) -> Choice:
    return Choice(
        title=guide.title, asks=guide.asks, example=guide.example,
        targets=lambda typed: Targets(sources=(guide.address(typed),)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The steps. Nothing is stored in any of them, so a person may leave at each."""

    ask: AskLine
    screen: Screen
    read_settings: Callable[[], Settings]  #: anew, as a credential may have been put there meanwhile
    kinds: SourceKinds
    collections: Sequence[str]  #: that there are

    async def addition(self, *, collection: str | None = None, every: float | None = None) -> Addition:
        """A person's choice of what to add; ``collection`` and ``every`` are from the command line."""
        while True:
            targets = await self._targets()
            if await self._look(targets):
                break
        name = await self._collection(collection or DEFAULT_COLLECTION)
        seconds = await self._every(targets, every) if targets.sources else None
        return Addition(targets=targets, collection=name, every=seconds)

    async def addition_or_none(
        self, *, collection: str | None = None, every: float | None = None
    ) -> Addition | None:
        """The same; None, and a note, for a person who leaves by Ctrl-C or Ctrl-D."""
        try:
            return await self.addition(collection=collection, every=every)
        except (EOFError, KeyboardInterrupt):
            self.screen.note(NOTHING_ADDED)
            return None
        except asyncio.CancelledError:  # Ctrl-C while something was looked at
            self.screen.note(NOTHING_ADDED)
            raise

    # What

    async def _targets(self) -> Targets:
        choices = choices_of(self.kinds)
        self.screen.write("What do you want to add?\n")
        width = max(len(each.title) for each in choices)
        for number, each in enumerate(choices, start=1):
            self.screen.write(f"  {number:>2}  {each.title:<{width}}  {each.example}")
        self.screen.write("")
        typed = ""
        while True:
            reply = await self.ask(f"1 to {len(choices)}, or an address or a path › ", completes_paths=True)
            is_number = reply.isascii() and reply.isdecimal() and 1 <= int(reply) <= len(choices)
            try:
                if is_number:
                    return await self._named(choices[int(reply) - 1], typed)
                # An address that can be of one kind only needs no number.
                if reply and not (found := read_targets([reply], settings=self.read_settings())).urls:
                    return found
            except SettingsError as fault:
                self.screen.fault(str(fault))
                continue
            if reply:
                typed = reply
                self.screen.note("Which of these is it? Its number:")

    async def _named(self, choice: Choice, typed: str) -> Targets:
        self.screen.note(f"{choice.asks}. As in: {choice.example}")
        while True:
            reply = await self.ask("› ", default=typed, completes_paths=True)
            try:
                if reply:
                    return choice.targets(reply)
            except SettingsError as fault:
                self.screen.fault(str(fault))
                typed = ""

    # Looking

    async def _look(self, targets: Targets) -> bool:
        """Show what would be read; False if the person names something else."""
        while True:
            lacking: Sequence[Credential] = ()
            try:
                settings = self.read_settings()
                lacking = [
                    credential
                    for address in targets.sources
                    if (kind := kind_of(address, self.kinds)) and kind.guide
                    for credential in kind.guide.credentials(address, settings)
                    if not credential.is_set
                ]
                if not any(each.is_needed for each in lacking):
                    self._show(await self._glimpse(targets, settings))
                    return True
            except FootnoteError as trouble:
                self.screen.fault(str(trouble))
            for each in lacking:
                self._tell(each, settings)
            if await self.ask("Enter to try again, n to name something else › "):
                return False

    async def _glimpse(self, targets: Targets, settings: Settings) -> Glimpse:
        """FootnoteError says what is in the way."""
        with self.screen.looking("Looking at it…"):
            for address in targets.sources:
                return await probe(address, settings, kinds=self.kinds)
            if targets.urls:
                resource = await make_fetcher(settings, for_operator=True).get_public(targets.urls[0])
                page = await asyncio.to_thread(document_of, resource)
                return Glimpse(titles=[page.title or targets.urls[0]], count=1, is_estimate=False)
            listing = await asyncio.to_thread(list_files, targets.paths)
        if not (files := listing.files):
            raise SettingsError(nothing_to_read(str(targets.paths[0]), SUFFIXES, listing.notes))
        return Glimpse(titles=[each.source for each in files[:TITLES]], count=len(files), is_estimate=False)

    def _show(self, found: Glimpse) -> None:
        about = "about " if found.is_estimate else ""
        self.screen.write(f"It can be read, {about}{counted(found.count, 'document')}:")
        for title in found.titles:
            self.screen.write(f"  {line(title)}")
        if (more := found.count - len(found.titles)) > 0:
            self.screen.write(f"  … and {about}{more:,} more")
        if found.note:
            self.screen.note(found.note)

    def _tell(self, credential: Credential, settings: Settings) -> None:
        """Say where a credential is made, and where it is put."""
        name, file = credential.setting, ENV_FILE.absolute()
        may = "It needs" if credential.is_needed else "If it is not open to everybody, it needs"
        rights = f" ({credential.rights})" if credential.rights else ""
        self.screen.note(f"{may} {name}. Make one at {credential.made_at}{rights}")
        if getattr(settings, name.lower(), None):
            self.screen.note(f"and add it to {name} in {file}, after a comma:")
            self.screen.write(f"  {credential.entry}")
        else:
            self.screen.note(f"and put this line into {file}:")
            self.screen.write(f"  {name}={credential.entry}")
        if is_exposed(ENV_FILE):
            self.screen.fault(f"Others on this machine may read {file}: chmod 600 {shlex.quote(str(file))}")

    # Where and how often

    async def _collection(self, default: str) -> str:
        named = [each for each in dict.fromkeys((DEFAULT_COLLECTION, *self.collections)) if _is_name(each)]
        offered = named[:NAMED_COLLECTIONS]
        are = f"{'is' if len(offered) == 1 else 'are'} {', '.join(offered)}"
        self.screen.note(f"Which collection is it for? There {are}; a new name makes one.")
        while True:
            name = await self.ask(f"Collection, or Enter for {default} › ") or default
            try:
                check_name(name)
            except SettingsError as fault:
                self.screen.fault(str(fault))
                continue
            if name not in named:
                self.screen.note(
                    f"Nobody reads {name} in chats until you open it: footnote access {shlex.quote(name)}"
                )
            return name

    async def _every(self, targets: Targets, given: float | None) -> float:
        kind = kind_of(targets.sources[0], self.kinds)
        default = kind.guide.every if kind and kind.guide else "off"
        if given is not None:
            default = span_of(given) if given else "off"
        self.screen.note("How often is it read again while footnote run serves? As 30m, 1h or 7d, or off.")
        while True:
            try:
                return every_of(await self.ask(f"Every, or Enter for {default} › ") or default)
            except argparse.ArgumentTypeError as fault:
                self.screen.fault(f"{fault}.")


def _is_name(collection: str) -> bool:
    try:
        check_name(collection)
    except SettingsError:
        return False
    return True
