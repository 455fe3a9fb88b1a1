"""Changes that were made on the page, the newest first, as far as the session may read what it concerns."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

from aiohttp import web

from bots.page.changes import PageChange
from bots.page.site import PageRoute, View, Visit
from bots.page.templating import iso
from bots.record import write_csv

SHOWN = 100  # on one page
AT_ONCE = 500  # read from the store
COLUMNS = ("who", "session", "did", "about", "before", "after")


async def show_changes(visit: Visit) -> web.Response:
    shown: list[PageChange] = []
    async for change in _readable(visit, _position(visit)):
        shown.append(change)
        if len(shown) > SHOWN:
            break
    last = shown[SHOWN - 1] if len(shown) > SHOWN else None
    older = f"/changes?before={last.at!r}-{last.id}" if last else ""
    return visit.show("changes.html", title="Changes", changes=shown[:SHOWN], older=older)


async def export(visit: Visit) -> web.Response:
    changes = [change async for change in _readable(visit, None)]
    text = io.StringIO()
    write_csv(
        text,
        ("time", *COLUMNS),
        ([iso(each.at), *(getattr(each, name) for name in COLUMNS)] for each in changes),
    )
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
    """Of the last change on the page before; what is no position begins with the newest."""
    at, _, last = visit.query("before").partition("-")
    try:
        return float(at), last
    except ValueError:
        return None


VIEW = View(
    title="Changes",
    path="/changes",
    key="c",
    routes=(PageRoute("GET", "/changes", show_changes), PageRoute("GET", "/changes.csv", export)),
)
