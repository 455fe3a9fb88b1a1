"""``footnote decide``: allow or decline a proposed web search."""

from __future__ import annotations

from argparse import Namespace

from bots import process
from bots.chat.indexing import Targets
from bots.commands.ask import run_turn
from bots.commands.backend import open_backend
from bots.terminal.receive import CommandTurns, decide
from bots.terminal.screen import Screen
from bots.terminal.session import conversation_named, situation
from core.conversation import Conversation, Proposal
from core.errors import NotFound, SettingsError
from core.settings import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    if arguments.query is not None and arguments.verdict == "deny":
        raise SettingsError("--query names what to search for instead; use it with --approve.")
    return process.run(_decide(arguments, settings))


async def _decide(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    async with open_backend(settings, purpose="footnote decide", screen=screen) as backend:
        conversation = await _find(backend.assistant, arguments.proposal, arguments.thread)
        turn = decide(arguments.proposal, arguments.verdict, situation(conversation), query=arguments.query)
        await backend.prepare(Targets(), screen, with_vectors=True)
        return await run_turn(turn, backend, screen, arguments)


async def _find(assistant: CommandTurns, proposal_id: str, thread: str | None) -> Conversation:
    """The conversation that holds the proposal; NotFound when none does."""
    if thread is None:
        found = await assistant.find_proposal(proposal_id)
        if found is None:
            raise NotFound(f"There is no proposed web search with the id {proposal_id}.")
        return found[0]
    conversation = conversation_named(thread)
    if not await assistant.knows(conversation):
        raise NotFound(f"There is no conversation called {conversation.thread}.")
    proposals: tuple[Proposal, ...] = await assistant.proposals(conversation)
    if not any(proposal.id == proposal_id for proposal in proposals):
        raise NotFound(f"There is no proposed web search with the id {proposal_id} in {conversation.thread}.")
    return conversation
