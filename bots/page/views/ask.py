"""The assistant on the page: threads of questions, answers with their quotes, and searches to decide."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from uuid import uuid4

from aiohttp import web

from bots.chat.texts import counted
from bots.page.render import shown_thread
from bots.page.rights import reads_in
from bots.page.site import PageRoute, View, Visit, go_to
from bots.page.threads import ask, channel_id, conversation_of, decide
from core.conversation import Conversation, Turn
from core.errors import QuestionRejected

LOOK_EVERY = 0.25  # seconds between two looks at a thread that is watched
WATCHED = 600.0  # seconds after which the browser has to ask again
KEEP_ALIVE = 15.0  # seconds


async def show_threads(visit: Visit) -> web.Response:
    threads = await visit.site.threads.recent(channel_id(visit.session))
    entries = await asyncio.to_thread(visit.site.library.store.entries)
    documents = [each for each in entries if visit.session.may_read((each.collection,))]
    return visit.show("ask.html", title="Ask", threads=threads, documents=len(documents))


async def begin(visit: Visit) -> web.StreamResponse:
    conversation = conversation_of(visit.session, secrets.token_hex(6))
    assert conversation is not None
    return await _ask(visit, conversation)


async def follow_up(visit: Visit) -> web.StreamResponse:
    conversation = await _known(visit)
    return (
        visit.sorry("There is no such thread.") if conversation is None else await _ask(visit, conversation)
    )


async def _ask(visit: Visit, conversation: Conversation) -> web.StreamResponse:
    text = (await visit.form()).get("text", "")
    try:
        question = ask(text, conversation, visit.session, turn_id=_turn_id(), now=time.time())
    except QuestionRejected as rejected:
        return visit.sorry(str(rejected), status=422)
    return await _accept(visit, question)


async def show_thread(visit: Visit) -> web.Response:
    conversation = await _known(visit)
    if conversation is None:
        return visit.sorry("There is no such thread.")
    turns = await _shown(visit, conversation)
    is_running = any(not turn.kind for turn in turns)
    return visit.show(
        "thread.html",
        title=turns[0].said[:80],
        thread=conversation.thread,
        turns=turns,
        is_running=is_running,
    )


async def show_turn(visit: Visit) -> web.Response:
    """One turn alone, as it stands now: what the script puts in its place."""
    conversation = await _known(visit)
    turns = await _shown(visit, conversation) if conversation else ()
    turn = next((each for each in turns if each.id == visit.part("turn")), None)
    if turn is None or conversation is None:
        return visit.sorry("There is no such turn.")
    return visit.show("turn_alone.html", thread=conversation.thread, turn=turn)


async def _shown(visit: Visit, conversation: Conversation):  # type: ignore[no-untyped-def]  # noqa: ANN202
    turns = await visit.site.threads.turns(conversation)
    here = conversation.id, ""
    return await shown_thread(visit.site, turns, (await reads_in(visit.site, [here]))[here])


async def decide_search(visit: Visit) -> web.StreamResponse:
    conversation = await _known(visit)
    if conversation is None:
        return visit.sorry("There is no such thread.")
    form = await visit.form()
    try:
        decision = decide(
            form.get("proposal", ""),
            "approve" if form.get("verdict") == "approve" else "deny",
            form.get("query", ""),
            conversation,
            visit.session,
            turn_id=_turn_id(),
            now=time.time(),
        )
    except QuestionRejected as rejected:
        return visit.sorry(str(rejected), status=422)
    return await _accept(visit, decision)


async def _accept(visit: Visit, turn: Turn) -> web.StreamResponse:
    await visit.site.work.accept(turn, {})
    await visit.site.threads.put(turn)  # shown before the queue comes to it
    return go_to(f"/threads/{turn.conversation.thread}#turn-{turn.id}")


async def forget(visit: Visit) -> web.StreamResponse:
    conversation = await _known(visit)
    if conversation is None:
        return visit.sorry("There is no such thread.")
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


async def watch(visit: Visit) -> web.StreamResponse:
    """Server-sent events: each names a turn that looks different now."""
    conversation = await _known(visit)
    if conversation is None:
        return visit.sorry("There is no such thread.")
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
    """The thread of the address, if this session may see it and something was said in it."""
    conversation = conversation_of(visit.session, visit.part("thread"))
    if conversation is None or not await visit.site.threads.progress(conversation):
        return None
    return conversation


def _turn_id() -> str:
    return f"page-{uuid4().hex}"


VIEW = View(
    title="Ask",
    path="/ask",
    key="a",
    routes=(
        PageRoute("GET", "/ask", show_threads),
        PageRoute("POST", "/threads", begin),
        PageRoute("GET", "/threads/{thread}", show_thread),
        PageRoute("POST", "/threads/{thread}", follow_up),
        PageRoute("GET", "/threads/{thread}/events", watch),
        PageRoute("GET", "/threads/{thread}/turns/{turn}", show_turn),
        PageRoute("POST", "/threads/{thread}/decision", decide_search),
        PageRoute("POST", "/threads/{thread}/forget", forget),
    ),
)
