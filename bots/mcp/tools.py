"""The tools and resources of the MCP server, over a Service that answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, Protocol
from uuid import uuid4

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import is_version_at_least
from pydantic import Field

from bots.chat.texts import ENGINE_NAMES
from bots.mcp import results
from bots.mcp.callers import Caller, Note
from core.conversation import (
    QUERY_LIMIT,
    QUESTION_LIMIT,
    Conversation,
    Decision,
    Outcome,
    Proposal,
    Question,
    Turn,
    check_question,
)
from core.errors import FootnoteError
from core.graph.approval import check_query
from core.library.documents import Scope
from core.library.entries import Entry
from core.library.library import Library
from core.library.passage_search import Hits, document_numbers, text_of_document
from core.settings import WebSearch

PART = 60_000  # characters of a document that are sent at once
CANCELLED = "The client did not want this any more."
MOST_FOUND = 50  # passages of one search
MOST_LISTED = 500  # documents of one list
#: From this protocol on a server asks by its result, and the client calls again (2026-07-28).
ASKS_BY_RESULT = "2026-07-28"
ROUNDS = 3  # searches that a person is asked for in one call
AGAIN = "again-"  # begins, after the prefix, the ids of turns that may be asked for again
ANSWER = "approval"  # the name of the request for it

Thread = Annotated[
    str | None,
    Field(description="`thread` of an earlier result, to follow up on it; left out: a new conversation"),
]


class Service(Protocol):
    """Answers a caller within the caller's rights."""

    @property
    def web_search(self) -> WebSearch: ...

    @property
    def turn_prefix(self) -> str:
        """Begins the ids of turns."""

    async def run(self, turn: Turn, note: Note) -> Outcome:
        """Run a turn; a known one returns its first outcome. FootnoteError if it is refused."""

    async def within(self, caller: Caller, conversation: Conversation, outcome: Outcome) -> Outcome:
        """A stored outcome as far as the caller may read it in the conversation now."""

    async def proposal(self, caller: Caller, proposal_id: str) -> tuple[Conversation, Proposal] | None:
        """One in the caller's own conversations."""

    async def search(self, caller: Caller, query: str, limit: int) -> Hits: ...

    async def collections(self, caller: Caller) -> frozenset[str]:
        """The collections that the caller may read now."""

    @asynccontextmanager
    def library(self) -> AsyncIterator[Library]:
        """To be read."""


class Tools:
    """The tools: each reads a call, has the service do it, and writes the result."""

    def __init__(self, service: Service, caller_of: Callable[[Context[Any, Any]], Caller]) -> None:
        self.service, self._caller_of = service, caller_of
        self._running: dict[tuple[str, str], list[asyncio.Future[Outcome]]] = {}

    def cancel(self, caller: Caller, request_id: object) -> None:
        """End a request that a caller cancels; nothing if two clients of the caller use the same id."""
        running = self._running.get((caller.id, str(request_id)), [])
        if len(running) == 1:
            running[0].cancel()

    async def ask(
        self,
        question: Annotated[str, Field(description=f"In any language, up to {QUESTION_LIMIT} characters")],
        ctx: Context[Any, Any],
        thread: Thread = None,
        request_id: Annotated[
            str | None,
            Field(
                description="A fresh random id for each question. Sent again with the same question after a lost connection, it is not asked twice."
            ),
        ] = None,
    ) -> Annotated[CallToolResult, results.AskResult] | InputRequiredResult:
        """Answer a question from the team's documents, with footnotes whose quotes stand word for word in them. Says so
        if they do not answer it, and may then propose a web search, which is sent only after a person allowed it."""
        caller, service = self._caller_of(ctx), self.service
        if ctx.request_state:  # the person was asked, and said something
            return await self._after(caller, json.loads(ctx.request_state), ctx)
        try:
            turn_id = _turn_id(service.turn_prefix, caller, request_id, question, thread)
            conversation = caller.conversation(thread or hashlib.sha256(turn_id.encode()).hexdigest()[:12])
            asked = Question(
                id=turn_id, conversation=conversation, author=caller.author, text=check_question(question),
                asked_at=time.time(),
            )  # fmt: skip
            return await self._carry_out(caller, asked, ctx)
        except FootnoteError as error:
            return results.refused(str(error))

    async def decide(
        self,
        proposal_id: Annotated[str, Field(description="`approval_needed.proposal_id` of the answer")],
        allow: Annotated[bool, Field(description="What the person said")],
        ctx: Context[Any, Any],
        query: Annotated[
            str | None,
            Field(description=f"What the person wants sent instead, up to {QUERY_LIMIT} characters"),
        ] = None,
    ) -> Annotated[CallToolResult, results.AskResult]:
        """Allow or decline a proposed web search, as the person said who asked. Never decide it yourself: show them the
        exact query first."""
        caller = self._caller_of(ctx)
        try:
            held = await self.service.proposal(caller, proposal_id)
            if held is None:
                return results.refused(f"There is no proposed web search with the id {proposal_id}.")
            turn_id = f"{self.service.turn_prefix}{uuid4().hex}"
            decision = _decision(turn_id, caller, held[0], held[1].id, allow=allow, query=query)
            return await self._result(caller, held[0], await self._run(decision, ctx))
        except FootnoteError as error:
            return results.refused(str(error))

    async def search(
        self,
        query: Annotated[str, Field(description="A question, or words that stand in the documents")],
        ctx: Context[Any, Any],
        limit: Annotated[int, Field(ge=1, le=MOST_FOUND)] = 8,
    ) -> Annotated[CallToolResult, results.SearchResult]:
        """Find passages of the team's documents by words and by meaning, best first, each verbatim with its place."""
        try:
            return results.found(
                await self.service.search(self._caller_of(ctx), check_question(query), limit)
            )
        except FootnoteError as error:
            return results.refused(str(error))

    async def sources(
        self,
        ctx: Context[Any, Any],
        contains: Annotated[str, Field(description="Only documents whose title or name contains this")] = "",
        limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 100,
    ) -> Annotated[CallToolResult, results.SourcesResult]:
        """List the documents that may be read, with their collections."""
        try:
            wanted = contains.casefold()
            entries = [
                each
                for each in await self._entries(self._caller_of(ctx))
                if wanted in each.title.casefold() or wanted in each.source.casefold()
            ]
            return results.listed(entries[:limit], len(entries))
        except FootnoteError as error:
            return results.refused(str(error))

    async def document(self, number: str, ctx: Context[Any, Any]) -> str:
        """A document as it was read: the offsets of citations count its characters. Of a long one the beginning."""
        text = await self._read(number, ctx)
        if len(text) <= PART:
            return text
        rest = f"{results.DOCUMENTS}{number}/{PART}-{min(2 * PART, len(text))}"
        return f"{text[:PART]}\n\n[The first {PART:,} of {len(text):,} characters. Read on at {rest}]"

    async def part(self, number: str, start: str, end: str, ctx: Context[Any, Any]) -> str:
        """The characters of a document from one offset to another, as citations count them."""
        text = await self._read(number, ctx)
        if not (start.isdecimal() and end.isdecimal() and int(start) < int(end) <= int(start) + PART):
            raise ResourceNotFoundError(f"A part is START-END in characters, at most {PART:,} of them.")
        if int(start) >= len(text):
            raise ResourceNotFoundError(f"The document has {len(text):,} characters.")
        return text[int(start) : int(end)]

    async def _read(self, number: str, ctx: Context[Any, Any]) -> str:
        try:
            scope = Scope(collections=await self.service.collections(self._caller_of(ctx)))
            async with self.service.library() as library:
                text = await asyncio.to_thread(text_of_document, library.store, number, scope)
            if text is None:
                raise ResourceNotFoundError("There is no such document.")
            return text
        except FootnoteError as error:
            raise ResourceError(str(error)) from error

    async def _entries(self, caller: Caller) -> list[Entry]:
        collections = await self.service.collections(caller)
        async with self.service.library() as library:
            entries = await asyncio.to_thread(library.store.entries)
        return [each for each in entries if each.collection in collections]

    async def _carry_out(
        self, caller: Caller, turn: Turn, ctx: Context[Any, Any], rounds: int = ROUNDS
    ) -> CallToolResult | InputRequiredResult:
        """The turn's result; where a person can be asked through the client, after they were."""
        outcome = await self._run(turn, ctx)
        proposal = outcome.proposal
        if proposal is None or not proposal.is_open or not _can_ask(ctx) or not rounds:
            return await self._result(caller, turn.conversation, outcome)
        field = {
            "type": "string", "title": "Query", "description": "Sent as it stands here", "default": proposal.query,
            "maxLength": QUERY_LIMIT,
        }  # fmt: skip
        engine = ENGINE_NAMES[self.service.web_search]
        would = f"Footnote would search {engine} for:\n{proposal.query}"
        request = ElicitRequestFormParams(
            message=f"{proposal.reason}\n\n{would}\n\nNothing is sent until you allow it.",
            requested_schema={"type": "object", "properties": {"query": field}},
        )
        if is_version_at_least(ctx.protocol_version or "", ASKS_BY_RESULT):
            state = {
                "conversation": turn.conversation.id,
                "proposal": proposal.id,
                "rounds": rounds,
                "id": uuid4().hex,
            }
            return InputRequiredResult(
                input_requests={ANSWER: ElicitRequest(params=request)}, request_state=json.dumps(state)
            )
        said = await ctx.session.elicit_form(request.message, request.requested_schema, ctx.request_id)
        return await self._decided(
            caller, (turn.conversation, proposal), said, ctx, rounds=rounds, number=uuid4().hex
        )

    async def _after(
        self, caller: Caller, state: Mapping[str, Any], ctx: Context[Any, Any]
    ) -> CallToolResult | InputRequiredResult:
        """Carries on after a person decided about a search. The state is sealed for that person and names the decision, so
        a second copy of it decides nothing more.
        """
        try:
            held = await self.service.proposal(caller, state["proposal"])
            if held is None:
                return results.refused("What was proposed is forgotten by now.")
            said = (ctx.input_responses or {}).get(ANSWER)
            answer = said if isinstance(said, ElicitResult) else ElicitResult(action="cancel")
            return await self._decided(caller, held, answer, ctx, rounds=state["rounds"], number=state["id"])
        except FootnoteError as error:
            return results.refused(str(error))

    async def _decided(
        self,
        caller: Caller,
        held: tuple[Conversation, Proposal],
        said: ElicitResult,
        ctx: Context[Any, Any],
        *,
        rounds: int,
        number: str,
    ) -> CallToolResult | InputRequiredResult:
        conversation, proposal = held
        if said.action == "cancel":  # it stays open
            outcome = Outcome(kind="approval_needed", turn_id=proposal.turn_id, proposal=proposal)
            return await self._result(
                caller, conversation, await self.service.within(caller, conversation, outcome)
            )
        typed = (said.content or {}).get("query")
        query = typed if isinstance(typed, str) and typed.strip() and typed != proposal.query else None
        turn_id, allow = f"{self.service.turn_prefix}{number}", said.action == "accept"
        decision = _decision(turn_id, caller, conversation, proposal.id, allow=allow, query=query)
        return await self._carry_out(caller, decision, ctx, rounds - 1)

    async def _run(self, turn: Turn, ctx: Context[Any, Any]) -> Outcome:
        """Run it and tell the client how far it is."""
        steps: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        async def tell() -> None:
            count = 0
            while True:
                step = await steps.get()
                count += 1
                await ctx.report_progress(count, None, step)

        def note(step: str) -> None:
            loop.call_soon_threadsafe(steps.put_nowait, step)

        telling = asyncio.create_task(tell())
        key = (self._caller_of(ctx).id, str(ctx.request_id))
        running = asyncio.ensure_future(self.service.run(turn, note))
        self._running.setdefault(key, []).append(running)
        try:
            await asyncio.wait([running])
            if running.cancelled():
                raise FootnoteError(CANCELLED)
            return running.result()
        finally:
            running.cancel()
            telling.cancel()
            self._running[key].remove(running)
            if not self._running[key]:
                del self._running[key]

    async def _result(self, caller: Caller, conversation: Conversation, outcome: Outcome) -> CallToolResult:
        cited = {
            each.source for each in (*(outcome.answer.citations if outcome.answer else ()), *outcome.closest)
        }
        collections = await self.service.collections(caller) if cited else frozenset()
        named = [(collection, source) for collection in collections for source in cited]
        async with self.service.library() as library:
            numbers = await asyncio.to_thread(document_numbers, library.store, named)
        return results.answered(
            outcome,
            thread=conversation.thread,
            engine=ENGINE_NAMES[self.service.web_search],
            documents=numbers,
        )


def _turn_id(prefix: str, caller: Caller, request_id: str | None, question: str, thread: str | None) -> str:
    """The id of a turn: the same each time a request with the same id asks the same."""
    if request_id is None:
        return f"{prefix}{uuid4().hex}"
    named = json.dumps([caller.id, request_id, question, thread])
    return f"{prefix}{AGAIN}{hashlib.sha256(named.encode()).hexdigest()[:32]}"


def _decision(
    turn_id: str,
    caller: Caller,
    conversation: Conversation,
    proposal_id: str,
    *,
    allow: bool,
    query: str | None,
) -> Decision:
    """QuestionRejected for a query that cannot be sent."""
    return Decision(
        id=turn_id, conversation=conversation, author=caller.author, proposal_id=proposal_id,
        verdict="approve" if allow else "deny", query=check_query(query) if allow and query else None,
        decided_at=time.time(),
    )  # fmt: skip


def _can_ask(ctx: Context[Any, Any]) -> bool:
    """True if the client shows its person a form. One that names no mode does (before modes existed)."""
    capabilities = ctx.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return is_version_at_least(ctx.protocol_version or "", ASKS_BY_RESULT) or ctx.session.can_send_request
