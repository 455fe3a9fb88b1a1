"""The assistant on the page: threads of questions, answers with their quotes, and searches to decide."""

import asyncio
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from aiohttp import web
from markupsafe import Markup

from bots.chat import texts
from bots.chat.markdown.safe import names_another_host, web_link
from bots.chat.platform import CardContext, Excerpt
from bots.chat.proposals import excerpts_by_citation, footnotes_of, in_utc, would_search
from bots.chat.texts import counted
from bots.page.rights import reads_in
from bots.page.site import Site, View, Visit, go_to
from bots.page.templating import to_html
from bots.page.threads import PageTurn, channel_id, conversation_of
from core.conversation import (
    Citation,
    Conversation,
    Decision,
    Outcome,
    Proposal,
    Question,
    Turn,
    check_question,
    value,
)
from core.errors import QuestionRejected
from core.graph.approval import check_query
from core.grounding.citations import merge_footnotes
from core.library.readers import base_of
from core.wording import Sentence

LOOK_EVERY = 0.25  # seconds between two looks at a thread that is watched
WATCHED = 600.0  # seconds after which the browser has to ask again
KEEP_ALIVE = 15.0  # seconds
NO_THREAD = "There is no such thread."


# How a thread looks

VIEW = View(title="Ask", path="/ask", key="a")


@value
class ShownQuote:
    """A footnote and its quotes, each in its paragraph."""

    number: int
    title: str
    origin: str
    link: str
    excerpts: tuple[Excerpt, ...]


@value
class ShownProposal:
    """ "May I search the web for this?", and what became of it."""

    id: str
    request: str  #: "I would search DuckDuckGo for:"
    query: str
    decided: str  #: who said what when; empty: it is open
    until: str  #: when it expires; empty: never


@value
class ShownTurn:
    """One turn of a thread."""

    id: str
    author: str
    said_at: float
    said: str  #: the question, or the decision in words
    language: str
    stage: str  #: what it is doing; empty: it has ended
    kind: str  #: of the outcome; empty: it runs
    lead: str = ""  #: where an answer comes from
    answer: Markup = Markup("")
    reason: str = ""
    notes: tuple[str, ...] = ()
    quotes: tuple[ShownQuote, ...] = ()
    options: tuple[str, ...] = ()
    closing: str = ""  #: how long it took, from how many passages
    proposal: ShownProposal | None = None


async def _shown_thread(visit: Visit, conversation: Conversation) -> tuple[ShownTurn, ...]:
    """The turns in their order, with what may be read around the quotes."""
    turns = await visit.site.threads.turns(conversation)
    here = conversation.id, ""
    collections = (await reads_in(visit.site, [here]))[here]
    shown = []
    for held in turns:
        outcome = held.outcome
        if outcome is None and held.beginning is not None:  # shown like the whole
            language = texts.language_of_turn(held.turn)
            outcome = Outcome(kind="answered", turn_id=held.turn.id, answer=held.beginning, language=language)
        by_now = await visit.site.answers.within(outcome, collections) if outcome else None
        ended = outcome, by_now
        shown.append(await asyncio.to_thread(_shown, visit.site, held, ended, turns, collections))
    return tuple(shown)


def _shown(
    site: Site, held: PageTurn, ended: tuple[Outcome | None, Outcome | None], turns: Sequence[PageTurn],
    collections: frozenset[str],
) -> ShownTurn:  # fmt: skip
    """``ended``: what it came to so far, and the same as far as it may still be read."""
    turn = held.turn
    basis = ShownTurn(
        id=turn.id, author=turn.author,
        said_at=turn.asked_at if isinstance(turn, Question) else turn.decided_at,
        said=_said(turn),
        language=held.outcome.language if held.outcome else texts.language_of_turn(turn),
        stage=held.stage or "Waiting…" if held.outcome is None else "",
        kind=held.outcome.kind if held.outcome else "",
    )  # fmt: skip
    outcome, by_now = ended
    if outcome is None or by_now is None:
        return basis
    cited = outcome.answer.citations if outcome.answer else outcome.closest
    read_from = {*outcome.collections, *(each.collection for each in cited)} - {""}
    if closed := read_from - collections:
        names = ", ".join(sorted(set(map(base_of, closed))))
        return replace(basis, reason=f"This read {names}, which you may not read any more.")
    outcome = by_now
    answer = merge_footnotes(outcome.answer) if outcome.answer else None
    shown = footnotes_of(outcome, site.library.store, collections)
    return replace(
        basis,
        lead=texts.provenance(outcome, outcome.answer) if outcome.answer else "",
        answer=to_html(answer.text, turn=basis.id, numbers={each.number for each in answer.citations}) if answer else Markup(""),
        reason=outcome.reason or "",
        notes=(*texts.remarks(outcome), *texts.omissions(outcome)),
        quotes=tuple(_quote(citation, excerpts, outcome.language) for citation, excerpts in excerpts_by_citation(shown)),
        options=outcome.options,
        closing=texts.answered_in(outcome) if held.outcome and outcome.answer else "",
        proposal=_proposal(outcome.proposal, turns, site) if outcome.proposal else None,
    )  # fmt: skip


def _quote(citation: Citation, excerpts: Sequence[Excerpt], language: str) -> ShownQuote:
    title, origin = texts.title_and_origin(citation, language)
    link = web_link(citation.url) or ""
    link = "" if link and names_another_host(title, link) else link
    return ShownQuote(number=citation.number, title=title, origin=origin, link=link, excerpts=tuple(excerpts))


def _proposal(proposal: Proposal, turns: Sequence[PageTurn], site: Site) -> ShownProposal:
    context = CardContext(engine=texts.ENGINE_NAMES[site.settings.web_search])
    return ShownProposal(
        id=proposal.id, request=would_search(proposal, context), query=proposal.query,
        decided=_decision(proposal, turns),
        until=in_utc(proposal.expires_at) if proposal.expires_at else "",
    )  # fmt: skip


def _decision(proposal: Proposal, turns: Sequence[PageTurn]) -> str:
    """The newest decision about it that did not fail, or that its time is over. A search that was allowed in time and
    failed can be allowed again.
    """
    for held in reversed(turns):
        turn = held.turn
        if isinstance(turn, Decision) and turn.proposal_id == proposal.id:
            if held.outcome is None or held.outcome.kind != "failed":
                did = "allowed this search" if turn.verdict == "approve" else "said no"
                return f"{turn.author} {did} at {in_utc(turn.decided_at)}."
            if proposal.is_open_at(turn.decided_at):
                return ""
    expired = Sentence("expired", time=in_utc(proposal.expires_at or 0.0))
    return "" if proposal.is_open_at(time.time()) else expired


def _said(turn: Question | Decision) -> str:
    if isinstance(turn, Question):
        return turn.text
    if turn.verdict == "deny":
        return "No web search."
    return f"Search the web: {turn.query}" if turn.query else "Search the web."


# What can be asked for


@VIEW.get("/ask")
async def show_threads(visit: Visit) -> web.Response:
    threads = await visit.site.threads.recent(channel_id(visit.session))
    entries = await asyncio.to_thread(visit.site.library.store.entries)
    documents = [each for each in entries if visit.session.may_read((each.collection,))]
    return visit.show("ask.html", title="Ask", threads=threads, documents=len(documents))


@VIEW.post("/threads")
async def begin(visit: Visit) -> web.StreamResponse:
    conversation = conversation_of(visit.session, secrets.token_hex(6))
    assert conversation is not None
    return await _ask(visit, conversation)


@VIEW.post("/threads/{thread}")
async def follow_up(visit: Visit) -> web.StreamResponse:
    conversation = await _known(visit)
    return visit.sorry(NO_THREAD) if conversation is None else await _ask(visit, conversation)


async def _ask(visit: Visit, conversation: Conversation) -> web.StreamResponse:
    try:
        text = check_question((await visit.form()).get("text", ""))
    except QuestionRejected as rejected:
        return visit.sorry(str(rejected), status=422)
    question = Question(
        id=_turn_id(), conversation=conversation, author=visit.session.name, text=text, asked_at=time.time()
    )
    return await _accept(visit, question)


@VIEW.post("/threads/{thread}/decision")
async def decide_search(visit: Visit) -> web.StreamResponse:
    """An empty query is the one that was proposed."""
    conversation = await _known(visit)
    if conversation is None:
        return visit.sorry(NO_THREAD)
    form = await visit.form()
    is_allowed, query = form.get("verdict") == "approve", form.get("query", "")
    try:
        edited = check_query(query) if is_allowed and query.strip() else None
    except QuestionRejected as rejected:
        return visit.sorry(str(rejected), status=422)
    decision = Decision(
        id=_turn_id(), conversation=conversation, author=visit.session.name,
        proposal_id=form.get("proposal", ""), verdict="approve" if is_allowed else "deny", query=edited,
        decided_at=time.time(),
    )  # fmt: skip
    return await _accept(visit, decision)


def _turn_id() -> str:
    return f"page-{uuid4().hex}"


async def _accept(visit: Visit, turn: Turn) -> web.StreamResponse:
    await visit.site.work.accept(turn, {})
    await visit.site.threads.put(turn)  # shown before the queue comes to it
    return go_to(f"/threads/{turn.conversation.thread}#turn-{turn.id}")


@VIEW.get("/threads/{thread}")
async def show_thread(visit: Visit) -> web.Response:
    conversation = await _known(visit)
    if conversation is None:
        return visit.sorry(NO_THREAD)
    turns = await _shown_thread(visit, conversation)
    running = any(not turn.kind for turn in turns)
    thread, title = conversation.thread, turns[0].said[:80]
    return visit.show("thread.html", title=title, thread=thread, turns=turns, is_running=running)


@VIEW.get("/threads/{thread}/turns/{turn}")
async def show_turn(visit: Visit) -> web.Response:
    """One turn as it is now, for the script that updates the page."""
    conversation = await _known(visit)
    turns = await _shown_thread(visit, conversation) if conversation else ()
    turn = next((each for each in turns if each.id == visit.part("turn")), None)
    if turn is None or conversation is None:
        return visit.sorry("There is no such turn.")
    return visit.show("turn_alone.html", thread=conversation.thread, turn=turn)


@VIEW.post("/threads/{thread}/forget")
async def forget(visit: Visit) -> web.StreamResponse:
    conversation = await _known(visit)
    if conversation is None:
        return visit.sorry(NO_THREAD)
    turns = len(await visit.site.threads.turns(conversation))
    gone = (
        f"{counted(turns, 'turn')} of this thread, with answers and quotes",
        "What it knows of them when you go on",
    )
    back = f"/threads/{conversation.thread}"
    if (ask := await visit.asks_first("Forget this thread?", gone, back=back)) is not None:
        return ask
    await visit.site.work.carry_out("forget_conversation", {"conversation": conversation.id})
    await visit.site.threads.forget(conversation)
    read = visit.session.collections
    about, before = f"thread {conversation.thread}", counted(turns, "turn")
    await visit.record("forgot a thread", about, before=before, after="gone", collections=read)
    return go_to("/ask")


@VIEW.get("/threads/{thread}/events")
async def watch(visit: Visit) -> web.StreamResponse:
    """Server-sent events: each names a turn that looks different now."""
    conversation = await _known(visit)
    if conversation is None:
        return visit.sorry(NO_THREAD)
    stream = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
    await stream.prepare(visit.request)
    loop = asyncio.get_running_loop()
    until, spoke_at = loop.time() + WATCHED, loop.time()
    seen: dict[str, tuple[str, bool]] = {}
    while loop.time() < until:
        now = await visit.site.threads.progress(conversation)
        for turn, state in now.items():
            if seen.get(turn) != state:
                await stream.write(f"data: {json.dumps({'turn': turn, 'ended': state[1]})}\n\n".encode())
                spoke_at = loop.time()
        seen = now
        if now and all(has_ended for _, has_ended in now.values()):
            await stream.write(b"event: rest\ndata: {}\n\n")
            break
        if loop.time() - spoke_at > KEEP_ALIVE:
            await stream.write(b": still here\n\n")
            spoke_at = loop.time()
        await asyncio.sleep(LOOK_EVERY)
    return stream


async def _known(visit: Visit) -> Conversation | None:
    """The thread of the address, if it has turns and the session may see it."""
    conversation = conversation_of(visit.session, visit.part("thread"))
    if conversation is None or not await visit.site.threads.progress(conversation):
        return None
    return conversation
