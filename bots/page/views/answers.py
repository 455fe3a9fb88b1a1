"""What people taught: who said it, where and when, how often it was used, and when somebody must review it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote

from aiohttp import web

from bots.page.site import PageRoute, View, Visit, go_to
from core.answers.store import ListedAnswer
from core.errors import FootnoteError
from core.library.library import DEFAULT_COLLECTION

QUESTION_LIMIT, TEXT_LIMIT = 4_000, 8_000  # characters of the fields
CHANGES = ("edit", "extend", "retire", "forget")
NOT_THERE = "There is no such answer, or it is closed to you."
INCOMPLETE = (
    f"An answer needs a question of at most {QUESTION_LIMIT:,} characters, a text of at most {TEXT_LIMIT:,}, and a "
    "collection that is there and that you may read."
)


async def show_answers(visit: Visit) -> web.Response:
    now = visit.site.answers.now()
    listed = [_told(visit, each) for each in await visit.site.answers.listed() if _may_read(visit, each)]
    wanted = visit.query("show")
    if wanted == "due":
        listed = [each for each in listed if each.answer.is_due(now)]
    elif wanted == "disputed":
        listed = [each for each in listed if each.disputed_by]
    return visit.show(
        "answers.html",
        title="Answers",
        listed=listed,
        wanted=wanted,
        now=now,
        path_of=path_of,
        typed={"question": visit.query("question"), "collection": DEFAULT_COLLECTION},
    )


async def show_answer(visit: Visit) -> web.Response:
    listed = await _named(visit)
    if listed is None:
        return visit.sorry(NOT_THERE)
    return visit.show(
        "answer.html",
        title=listed.answer.question[:80],
        listed=listed,
        answer=listed.answer,
        is_due=listed.answer.is_due(visit.site.answers.now()),
        path_of=path_of,
    )


async def change(visit: Visit) -> web.StreamResponse:
    """Edit it, extend, retire or forget it; the process that serves does so."""
    listed, typed = await _named(visit), await visit.form()
    if listed is None or typed.get("change") not in CHANGES:
        return visit.sorry(NOT_THERE)
    details = {"id": listed.answer.id, "change": typed["change"]}
    if typed["change"] == "edit":
        if (fields := await _fields(visit, typed, before=listed.answer.collection)) is None:
            return visit.sorry(INCOMPLETE, status=422)
        details |= fields
    there = "/answers" if typed["change"] == "forget" else path_of(listed.answer.id)
    return await _carry_out(visit, "change_answer", details) or go_to(there)


async def teach(visit: Visit) -> web.StreamResponse:
    """An editor's own answer, or the correction of one."""
    return await keep_answer(visit, await visit.form()) or go_to("/answers")


async def keep_answer(visit: Visit, typed: Mapping[str, str]) -> web.Response | None:
    """Keep what an editor wrote; a page that says why not, None where it is kept."""
    fields = await _fields(visit, typed)
    if fields is None:
        return visit.sorry(INCOMPLETE, status=422)
    details = {**fields, "message": f"page/{uuid.uuid4().hex}", "name": visit.session.name}
    return await _carry_out(visit, "teach", details)


async def _carry_out(visit: Visit, name: str, details: dict[str, str]) -> web.Response | None:
    try:
        await visit.site.work.carry_out(name, details)
    except FootnoteError as trouble:
        return visit.sorry(str(trouble), status=503)
    return None


async def _fields(visit: Visit, typed: Mapping[str, str], *, before: str = "") -> dict[str, str] | None:
    """None if one is missing, or the collection is closed to the session or not there. A new one would be closed
    to everybody, so an answer with a misspelled name would be kept and never read.

    Args:
        before: the collection that the answer is in
    """
    fields = {name: typed.get(name, "").strip() for name in ("question", "text", "collection")}
    fits = len(fields["question"]) <= QUESTION_LIMIT and len(fields["text"]) <= TEXT_LIMIT
    is_whole = all(fields.values()) and fits and visit.session.may_read((fields["collection"],))
    there = await asyncio.to_thread(visit.site.library.store.collections)
    return fields if is_whole and fields["collection"] in there | {DEFAULT_COLLECTION, before} else None


async def _named(visit: Visit) -> ListedAnswer | None:
    wanted = visit.part("id")
    listed = await visit.site.answers.listed()
    found = next((each for each in listed if each.answer.id == wanted), None)
    return _told(visit, found) if found is not None and _may_read(visit, found) else None


def _told(visit: Visit, listed: ListedAnswer) -> ListedAnswer:
    """Without the names of documents that dispute it and are closed to the session."""
    open_to, store = visit.session.collections, visit.site.library.store
    if open_to is None or not listed.disputed_by:
        return listed
    known = (each for each in listed.disputed_by if any(store.named(name, each) for name in open_to))
    return replace(listed, disputed_by=tuple(known))


def _may_read(visit: Visit, listed: ListedAnswer) -> bool:
    return visit.session.may_read((listed.answer.collection,))


def path_of(answer: str) -> str:
    return f"/answers/{quote(answer, safe='')}"


VIEW = View(
    title="Answers",
    path="/answers",
    key="w",
    routes=(
        PageRoute("GET", "/answers", show_answers),
        PageRoute("POST", "/answers", teach),
        PageRoute("GET", "/answers/{id}", show_answer),
        PageRoute("POST", "/answers/{id}", change),
    ),
)
