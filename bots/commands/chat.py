"""``footnote chat``: a conversation in the terminal."""

from __future__ import annotations

from argparse import Namespace

from bots import process
from bots.chat import texts
from bots.chat.indexing import read_targets
from bots.commands.backend import open_backend
from bots.terminal.prompt import open_lines
from bots.terminal.screen import Screen
from bots.terminal.session import Session, conversation_named, fresh_conversation
from core.errors import SettingsError
from core.settings import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    return process.run(_chat(arguments, settings))


async def _chat(arguments: Namespace, settings: Settings) -> int:
    targets = read_targets(arguments.paths, settings=settings)
    thread = arguments.thread
    conversation = fresh_conversation() if thread is None else conversation_named(thread)
    screen = Screen()
    async with open_backend(settings, purpose="footnote chat", screen=screen) as backend:
        store = backend.library.store
        if thread is not None and not await backend.assistant.knows(conversation):
            screen.note(f"There is no thread {conversation.thread} yet: this begins it.")
        await backend.prepare(targets, screen, with_vectors=False)
        if not store.entries():
            raise SettingsError(texts.NOTHING_INDEXED)
        vectors = await backend.background_vectors(targets, screen)
        session = Session(
            backend=backend,
            conversation=conversation,
            sources=targets.addresses,
            lines=open_lines(
                settings.data_dir / "history", lambda: (entry.source for entry in store.entries())
            ),
            screen=screen,
            vectors=vectors,
        )
        try:
            await session.serve()
        finally:
            if vectors is not None:
                await vectors.stop()
            if session.turns:
                screen.note(f"Come back with: footnote chat --thread {conversation.thread}")
    return 0
