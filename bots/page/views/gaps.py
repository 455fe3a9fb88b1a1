"""What was not answered, in groups, and what somebody decides about a group."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from urllib.parse import quote

from aiohttp import web

from bots.csv_rows import write_gaps
from bots.gap_words import REASONS, left_out, people_of, reasons_of, trend_of
from bots.page.names import Speaker
from bots.page.rights import reads_in
from bots.page.site import PageRoute, View, Visit, go_to
from bots.page.views.answers import keep_answer
from bots.page.views.questions import path_of
from core.conversation import Conversation
from core.errors import FootnoteError
from core.gaps.finder import GapReport
from core.gaps.groups import GapGroup
from core.gaps.questions import GapQuestion, still_open
from core.gaps.store import STATES
from core.library.library import DEFAULT_COLLECTION
from core.traces.log import DAY
from core.turns.archive import command_from

SPANS: dict[str, float] = {"1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY, "90d": 90 * DAY}
USUAL = "7d"
SHOWN = 50  # groups on the page
QUESTIONS_SHOWN = 30  # of a group
ASKED_ABOUT = 20  # questions of a group, the newest: one of them is in a channel where experts can be asked
REOPENED, WRITTEN, CONSULT = "open", "written", "consult"


async def show_gaps(visit: Visit) -> web.Response:
    span, state = _span(visit), visit.query("state")
    report = await _report(visit, span)
    if state == "all":
        chosen: Sequence[GapGroup] = report.groups
    else:
        chosen = [each for each in report.groups if each.state == state] if state else report.open_groups
    return visit.show(
        "gaps.html",
        title="Gaps",
        groups=chosen[:SHOWN],
        more=len(chosen) - len(chosen[:SHOWN]),
        report=report,
        span=span,
        spans=tuple(SPANS),
        state=state,
        states=(*STATES, "all"),
        notes=left_out(report),
        trend_of=trend_of,
        reasons_of=reasons_of,
        gap_path=gap_path,
    )


def gap_path(turn: str) -> str:
    return f"/gaps/{quote(turn, safe='')}"


async def show_gap(visit: Visit) -> web.Response:
    span = _span(visit)
    group = await _group(visit, span)
    if group is None:
        return visit.sorry("There is no such group any more, or none that you may read.")
    return visit.show(
        "gap.html",
        title=group.name[:80],
        group=group,
        questions=group.questions[:QUESTIONS_SHOWN],
        more=group.count - len(group.questions[:QUESTIONS_SHOWN]),
        names=await visit.site.names.of(
            Speaker(conversation=each.conversation, author=each.author)
            for each in group.questions[:QUESTIONS_SHOWN]
        ),
        span=span,
        reasons=REASONS,
        trend_of=trend_of,
        reasons_of=reasons_of,
        people_of=people_of,
        path_of=path_of,
        gap_path=gap_path,
        collection=DEFAULT_COLLECTION,
    )


async def decide(visit: Visit) -> web.StreamResponse:
    """Answer a group, ignore it, note that it is asked or answered elsewhere, or open it again."""
    form = await visit.form()
    state, span = form.get("state", ""), _span(visit)
    group = await _group(visit, span)
    if group is None:
        return visit.sorry("There is no such group any more, or none that you may read.")
    finder = visit.site.gaps.finder
    if state == WRITTEN:
        if (refused := await keep_answer(visit, form)) is not None:
            return refused
        state = "answered"
    if state == CONSULT:
        if (refused := await _ask_person(visit, group)) is not None:
            return refused
        state = "asked"
    if state == REOPENED:
        await finder.store.reopen(group.turns)
    elif state in STATES:
        await finder.store.mark(group.turns, state, author=visit.session.name, at=finder.now())
    else:
        return visit.sorry("Nothing of that name can be decided about a group.", status=422)
    visit.site.gaps.drop()
    return go_to(f"/gaps?since={span}")


async def _ask_person(visit: Visit, group: GapGroup) -> web.Response | None:
    """Have experts asked in the thread of a question of the group; a page that says why not, None where they are."""
    work = visit.site.work
    try:
        request = await work.carry_out("ask_person", {"turns": list(group.turns[:ASKED_ABOUT])})
    except FootnoteError as trouble:
        return visit.sorry(str(trouble), status=409)
    await work.accept(command_from(request["command"]), request["route"])
    return None


async def export(visit: Visit) -> web.Response:
    report = await _report(visit, _span(visit))
    text = io.StringIO()
    write_gaps(text, report.groups)
    return web.Response(
        text=text.getvalue(),
        content_type="text/csv",
        headers={"Content-Disposition": 'attachment; filename="gaps.csv"'},
    )


def _span(visit: Visit) -> str:
    named = visit.query("since")
    return named if named in SPANS else USUAL


async def _report(visit: Visit, span: str) -> GapReport:
    async def may_read(questions: Sequence[GapQuestion]) -> frozenset[str]:
        return await readable_turns(visit, questions)

    return await visit.site.gaps.get((SPANS[span], visit.session.collections), may_read)


async def _group(visit: Visit, span: str) -> GapGroup | None:
    """The group that holds a question: so a link to it stays while the group grows."""
    turn = visit.part("turn")
    report = await _report(visit, span)
    return next((group for group in report.groups if turn in group.turns), None)


async def readable_turns(visit: Visit, questions: Sequence[GapQuestion]) -> frozenset[str]:
    """Of these questions, those of conversations that read nothing else than the session does."""
    session = visit.session
    if session.collections is None:
        return frozenset(each.turn for each in questions)
    asked_where: dict[tuple[str, str], bool] = {}  # by conversation and who asked
    for each in questions:
        where = each.conversation, each.author
        if where not in asked_where:
            reads = await reads_in(visit.site, Conversation.parse(each.conversation), each.author)
            asked_where[where] = session.may_read(reads)
    open_here = [
        each
        for each in questions
        if asked_where[each.conversation, each.author] and session.may_read(each.collections)
    ]
    database = visit.site.library.store.database
    return await asyncio.to_thread(still_open, database, open_here, session.collections)


VIEW = View(
    title="Gaps",
    path="/gaps",
    key="p",
    routes=(
        PageRoute("GET", "/gaps", show_gaps),
        PageRoute("GET", "/gaps.csv", export),
        PageRoute("GET", "/gaps/{turn:.+}", show_gap),
        PageRoute("POST", "/gaps/{turn:.+}", decide),
    ),
)
