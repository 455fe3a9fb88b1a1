"""``footnote chat``: a conversation in the terminal."""

from __future__ import annotations

from argparse import Namespace

from bots import process
from bots.chat import texts
from bots.commands.preparing import index_documents, load_embedder
from bots.indexing import BackgroundVectors, Targets, read_targets
from bots.terminal.prompt import open_lines
from bots.terminal.screen import Screen
from bots.terminal.session import Session, conversation_named, fresh_conversation
from core.bootstrap import Footnote, open_footnote, reads_everything
from core.errors import SettingsError
from core.library.library import EMBED_BATCH
from core.settings import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    return process.run(_chat(arguments, settings))


async def _chat(arguments: Namespace, settings: Settings) -> int:
    targets = read_targets(arguments.paths)
    thread = arguments.thread
    conversation = fresh_conversation() if thread is None else conversation_named(thread)
    screen = Screen()
    async with open_footnote(settings, purpose="footnote chat", reads=reads_everything) as footnote:
        library = footnote.library
        if thread is not None and not await footnote.assistant.knows(conversation):
            screen.note(f"There is no thread {conversation.thread} yet: this begins it.")
        await index_documents(footnote, targets, screen)
        if not library.store.entries():
            raise SettingsError(texts.NOTHING_INDEXED)
        vectors = await _vectors(footnote, targets, screen)
        session = Session(
            footnote=footnote,
            conversation=conversation,
            sources=targets.addresses,
            lines=open_lines(
                settings.data_dir / "history", lambda: (entry.source for entry in library.store.entries())
            ),
            screen=screen,
            vectors=vectors,
        )
        try:
            await session.serve()
        finally:
            await vectors.stop()
            if session.turns:
                screen.note(f"Come back with: footnote chat --thread {conversation.thread}")
    return 0


async def _vectors(footnote: Footnote, targets: Targets, screen: Screen) -> BackgroundVectors:
    """What makes the missing vectors.

    The embedder is loaded now where the index or the operator calls for one. ``auto`` alone may find none or
    download for long, so it is left to the background.
    """
    library, settings = footnote.library, footnote.settings
    embedder = None
    if library.store.has_vectors() or (targets.addresses and settings.embedding_model != "auto"):
        embedder = await load_embedder(library, settings, screen)
    if library.store.count_pending_vectors() <= EMBED_BATCH:
        library.embedder = embedder
    return BackgroundVectors(
        library, settings, screen.note, embedder=embedder, may_find=bool(targets.addresses)
    )
