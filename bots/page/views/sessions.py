"""Who is in: every session with when and where it was used last. An editor of everything may end them."""

from __future__ import annotations

from aiohttp import web

from bots.page.sessions import PageSession
from bots.page.site import PageRoute, View, Visit, go_to

NOT_YOURS = "Only an editor who reads everything ends the sessions of others."
NOT_THERE = "There is no such session any more."


async def show_sessions(visit: Visit) -> web.Response:
    return visit.show("sessions.html", title="Sessions", sessions=await _seen(visit), own=visit.session.id)


async def end_sessions(visit: Visit) -> web.Response:
    """One that was named, or all but this one."""
    if not visit.session.may_change_all:
        return visit.sorry(NOT_YOURS, status=403)
    wanted = (await visit.form()).get("session", "")
    others = [each for each in await _seen(visit) if each.id != visit.session.id]
    ended = others if wanted == "others" else [each for each in others if each.id == wanted]
    if not ended and wanted != "others":
        return visit.sorry(NOT_THERE)
    await visit.site.sessions.end(*ended)
    for each in ended:
        await visit.record("ended a session", f"{each.name}, {each.id}", before=each.place, after="ended")
    return go_to("/sessions", "ended")


async def _seen(visit: Visit) -> tuple[PageSession, ...]:
    """All, for who may end them; else one's own."""
    listed = await visit.site.sessions.listed()
    return tuple(each for each in listed if visit.session.may_change_all or each.id == visit.session.id)


VIEW = View(
    title="Sessions",
    path="/sessions",
    key="i",
    routes=(PageRoute("GET", "/sessions", show_sessions), PageRoute("POST", "/sessions", end_sessions)),
)
