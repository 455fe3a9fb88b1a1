"""``footnote decide``: allow or decline a proposed web search."""

from __future__ import annotations

from argparse import Namespace

from bots import process
from bots.commands.ask import run_turn
from bots.commands.preparing import prepare
from bots.indexing import Targets
from bots.terminal.receive import decide
from bots.terminal.screen import Screen
from bots.terminal.session import conversation_named, situation
from core.bootstrap import open_footnote, reads_everything
from core.conversation import Conversation, Proposal
from core.errors import NotFound, SettingsError
from core.settings import Settings
from core.turns.assistant import Assistant


def run(arguments: Namespace, settings: Settings) -> int:
    if arguments.query is not None and arguments.verdict == "deny":
        raise SettingsError("--query names what to search for instead; use it with --approve.")
    return process.run(_decide(arguments, settings))


async def _decide(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    async with open_footnote(settings, purpose="footnote decide", reads=reads_everything) as footnote:
        conversation = await _find(footnote.assistant, arguments.proposal, arguments.thread)
        turn = decide(arguments.proposal, arguments.verdict, situation(conversation), query=arguments.query)
        await prepare(footnote, Targets(), screen)
        return await run_turn(turn, footnote, screen, arguments)


async def _find(assistant: Assistant, proposal_id: str, thread: str | None) -> Conversation:
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
