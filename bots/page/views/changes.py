"""The sessions, which an editor of everything may end, and the changes made on the page, the newest first.

A change is listed if the session may read what it concerns.
"""

import io
from collections.abc import AsyncIterator

from aiohttp import web

from bots.page.sessions import PageChange, PageSession
from bots.page.site import View, Visit, go_to, read_as
from bots.page.templating import iso
from bots.record import write_csv

SHOWN = 100  # on one page
AT_ONCE = 500  # read from the store
COLUMNS = ("who", "session", "did", "about", "before", "after")
NOT_YOURS = "Only an editor who reads everything ends the sessions of others."
NOT_THERE = "There is no such session any more."

CHANGES = View(title="Changes", path="/changes", key="c")
SESSIONS = View(title="Sessions", path="/sessions", key="i")


@SESSIONS.get("/sessions")
async def show_sessions(visit: Visit) -> web.Response:
    return visit.show("sessions.html", title="Sessions", sessions=await _seen(visit), own=visit.session.id)


@SESSIONS.post("/sessions")
async def end_sessions(visit: Visit) -> web.Response:
    """End one named session, or all but this one."""
    if not visit.session.may_change_all:
        return visit.sorry(NOT_YOURS, status=403)
    wanted = (await visit.form()).get("session", "")
    others = [each for each in await _seen(visit) if each.id != visit.session.id]
    ended = others if wanted == "others" else [each for each in others if each.id == wanted]
    if not ended and wanted != "others":
        return visit.sorry(NOT_THERE)
    await visit.site.sessions.end(*ended)
    for each in ended:
        await visit.record("ended a session", f"{each.name}, {each.id}", before=each.client, after="ended")
    return go_to("/sessions", "ended")


async def _seen(visit: Visit) -> tuple[PageSession, ...]:
    """The sessions that this one may see: all if it may end them, else its own."""
    listed = await visit.site.sessions.listed()
    return tuple(each for each in listed if visit.session.may_change_all or each.id == visit.session.id)


@CHANGES.get("/changes")
async def show_changes(visit: Visit) -> web.Response:
    shown: list[PageChange] = []
    async for change in _readable(visit, _position(visit)):
        shown.append(change)
        if len(shown) > SHOWN:
            break
    last = shown[SHOWN - 1] if len(shown) > SHOWN else None
    older = f"/changes?before={last.at!r}-{last.id}" if last else ""
    return visit.show("changes.html", title="Changes", changes=shown[:SHOWN], older=older)


@CHANGES.get("/changes.csv")
async def export(visit: Visit) -> web.Response:
    changes = [change async for change in _readable(visit, None)]
    text = io.StringIO()
    rows = ([iso(each.at), *(getattr(each, name) for name in COLUMNS)] for each in changes)
    write_csv(text, ("time", *COLUMNS), rows)
    return visit.download(text.getvalue(), "changes.csv")


async def _readable(visit: Visit, position: tuple[float, str] | None) -> AsyncIterator[PageChange]:
    while read := await visit.site.changes.listed(before=position, limit=AT_ONCE):
        for each in read:
            concerns_all = each.collections is None and visit.session.collections is not None
            if each.session == visit.session.id or (
                not concerns_all and visit.session.may_read(each.collections or ())
            ):
                yield each
        position = read[-1].at, read[-1].id


def _position(visit: Visit) -> tuple[float, str] | None:
    """The position of the last change on the page before; None begins with the newest."""
    at, _, last = visit.query("before").partition("-")
    seconds = read_as(float, at)
    return None if seconds is None else (seconds, last)
