"""The MCP server in the process that serves the platforms."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from uuid import uuid4

from bots.chat.channels import ChannelStore
from bots.mcp.callers import MCP, Caller, Note, PeopleByEmail
from bots.mcp.http import PATH, McpSite
from bots.mcp.identity import Identities, Issuer
from bots.mcp.settings import McpSettings
from bots.mcp.tokens import open_mcp_store
from bots.mcp.tools import AGAIN
from bots.page.threads import PAGE, PageThreads
from core.bootstrap import Footnote, Reads
from core.conversation import Conversation, Outcome, Proposal, Question, Turn
from core.errors import FootnoteError, QuestionRejected
from core.library.library import Library, Refresh
from core.library.passage_search import Hits
from core.settings import WebSearch
from core.text.language import language_of
from core.traces.trace import Trace
from core.turns.messenger import SHOWN_BY
from core.turns.rate_limits import Admission
from core.turns.turns import Turns, TurnsClosed
from core.wording import in_language

SEARCHES = "searches"  # the thread of what callers search for: it is in the log alone
TURN = "mcp-"  # begins the ids of turns that came over MCP
ENDING = "Footnote is being stopped. Ask again in a minute."
LOOK_EVERY = 0.15  # seconds between two looks at a turn that another process may run
#: What came over MCP is kept for somebody who lost the connection: longer than the queue recognizes the same turn.
KEPT = 15 * 86_400.0  # seconds
SWEEP_EVERY = 3_600.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedService:
    """The Service of the process that serves."""

    footnote: Footnote
    turns: Turns
    threads: PageThreads
    reads: Reads
    refresh: Refresh
    admission: Admission | None  #: None without rates
    is_stopping: Callable[[], bool] = lambda: False  #: whether this process ends
    turn_prefix: str = TURN

    @property
    def web_search(self) -> WebSearch:
        return self.footnote.settings.web_search

    async def run(self, turn: Turn, note: Note) -> Outcome:
        """A turn that was begun is ended if the caller goes away; not if it may be asked for again, and not if this
        process ends, since another goes on with it.
        """
        stage, outcome = await self.threads.look(turn.id)
        if outcome is None:
            if isinstance(turn, Question) and not stage:
                await self._admit(turn)
            await self.threads.put(turn)
            try:
                await self.turns.accept(turn, {SHOWN_BY: PAGE})
                outcome = await self._ended(turn, note)
            except TurnsClosed as closed:
                raise FootnoteError(ENDING) from closed
            except asyncio.CancelledError:
                if not (self.is_stopping() or turn.id.startswith(f"{TURN}{AGAIN}")):
                    await asyncio.shield(self._stop(turn))
                raise
        readable = await self.reads(turn.conversation, turn.author, self.footnote.library)
        return await self.footnote.answers.within(outcome, readable.collections)

    async def _stop(self, turn: Turn) -> None:
        """Ends the turn if it has begun: else another one of its conversation runs."""
        stage, _ = await self.threads.look(turn.id)
        if stage:
            await self.turns.stop(turn.conversation)

    async def _ended(self, turn: Turn, note: Note) -> Outcome:
        noted = ""
        while True:
            stage, outcome = await self.threads.look(turn.id)
            if outcome is not None:
                return outcome
            if stage and stage != noted:
                note(noted := stage)
            await asyncio.sleep(LOOK_EVERY)

    async def _admit(self, question: Question) -> None:
        if self.admission is not None and not self.turns.has(question.id):
            refusal = await self.admission.admit(question)
            if refusal is not None:
                raise QuestionRejected(in_language(refusal.sentence, language_of(question.text)))

    async def within(self, caller: Caller, conversation: Conversation, outcome: Outcome) -> Outcome:
        readable = await self.reads(conversation, caller.author, self.footnote.library)
        return await self.footnote.answers.within(outcome, readable.collections)

    async def proposal(self, caller: Caller, proposal_id: str) -> tuple[Conversation, Proposal] | None:
        found = await self.footnote.assistant.find_proposal(proposal_id)
        return found if found is not None and caller.owns(found[0]) else None

    async def search(self, caller: Caller, query: str, limit: int) -> Hits:
        """Search; admitted, logged and traced as a question is."""
        began = perf_counter()
        asked = Question(
            id=f"{TURN}{uuid4().hex}", conversation=caller.conversation(SEARCHES), author=caller.author, text=query,
            asked_at=time.time(),
        )  # fmt: skip
        await self._admit(asked)
        collections = await self.collections(caller)
        hits = await self.footnote.search(collections, query, limit, self.refresh)
        outcome = hits.outcome(asked.id, language_of(query), (perf_counter() - began) * 1000)
        trace = Trace(collections=tuple(sorted(collections)), question=query, queries=(query,))
        await self.footnote.log.record(asked, outcome, trace)
        return hits

    async def collections(self, caller: Caller) -> frozenset[str]:
        """The collections that a new conversation of the caller may read."""
        return (await self.reads(caller.conversation("-"), caller.author, self.footnote.library)).collections

    @asynccontextmanager
    async def library(self) -> AsyncIterator[Library]:
        yield self.footnote.library


async def keep_sweeping(threads: PageThreads, now: Callable[[], float] = time.time) -> None:
    """Forget what came over MCP too long ago."""
    while True:
        with suppress(FootnoteError):  # the store is away; the next sweep deletes it
            await threads.forget_older(TURN, now() - KEPT)
        await asyncio.sleep(SWEEP_EVERY)


STATES = "states"  # the key that seals what clients carry


@asynccontextmanager
async def open_mcp(
    settings: McpSettings,
    footnote: Footnote,
    turns: Turns,
    *,
    channels: ChannelStore,
    threads: PageThreads,
    reads: Reads,
    refresh: Refresh,
    admission: Admission | None,
    signing_secret: str,
    is_stopping: Callable[[], bool],
    spaces: Callable[[], tuple[str, ...]],
) -> AsyncIterator[tuple[McpSite, str]]:
    """The site and the key of its states. ``spaces``: Slack's workspaces that are served."""
    channels.people[MCP] = PeopleByEmail()
    issuer = (
        Issuer(address=settings.issuer, audience=f"{settings.http.url}{PATH}") if settings.issuer else None
    )
    service = ServedService(
        footnote=footnote, turns=turns, threads=threads, reads=reads, refresh=refresh,
        admission=admission, is_stopping=is_stopping,
    )  # fmt: skip
    sweeping = asyncio.create_task(keep_sweeping(threads))
    with open_mcp_store(footnote.storage) as store:
        identities = Identities(store=store, signing_secret=signing_secret, spaces=spaces, issuer=issuer)
        site = McpSite(service=service, identities=identities, http=settings.http, issuer=settings.issuer)
        try:
            yield site, await store.key(STATES)
        finally:
            sweeping.cancel()
            await asyncio.wait([sweeping])
