"""Answers that were rated down, with what people said is wrong, until somebody is done with them."""

from __future__ import annotations

from aiohttp import web

from bots.log_words import FAULTS, ended
from bots.page.feedback import FeedbackMark
from bots.page.names import Speaker
from bots.page.rights import channel_told, readable
from bots.page.site import PageRoute, View, Visit, go_to
from bots.page.views.questions import path_of
from core.traces.feedback import RatedDown, rated_down

SHOWN = 50  # answers on one page
STATES = ("open", "done", "all")
NO_DECISION = "Nothing of that name can be decided about feedback."
NOT_THERE = "No answer to that question was rated down."


async def show_feedback(visit: Visit) -> web.Response:
    state = visit.query("state") if visit.query("state") in STATES else "open"
    marks = await visit.site.feedback.all()
    chosen = [
        each for each in await _rated_down(visit) if state in ("all", _state(each, marks.get(each.turn)))
    ]
    page = visit.page_of(chosen, SHOWN, state=state)
    questions = await visit.site.log.questions([each.turn for each in page.shown])
    allowed = await readable(visit.site, visit.session, questions.values())
    shown = [(each, questions[each.turn]) for each in page.shown if each.turn in questions]
    return visit.show(
        "feedback.html",
        title="Feedback",
        page=page,
        shown=shown,
        allowed=allowed,
        state=state,
        states=STATES,
        marks=marks,
        state_of=_state,
        faults=FAULTS,
        ended=ended,
        channels={question.channel: channel_told(visit.session, question.channel) for _, question in shown},
        names=await visit.site.names.of(
            Speaker(conversation=question.conversation, author=remark.author)
            for each, question in shown
            for remark in each.remarks
            if each.turn in allowed
        ),
        path_of=path_of,
    )


async def count_open(visit: Visit) -> int:
    marks = await visit.site.feedback.all()
    return sum(_state(each, marks.get(each.turn)) == "open" for each in await _rated_down(visit))


async def decide(visit: Visit) -> web.Response:
    """Somebody is done with the feedback about an answer, or it is open again."""
    turn, form = visit.part("turn"), await visit.form()
    question = await visit.site.log.question(turn)
    found = next((each for each in await _rated_down(visit) if each.turn == turn), None)
    if question is None or found is None or turn not in await readable(visit.site, visit.session, [question]):
        return visit.sorry(NOT_THERE)
    if form.get("state") not in ("open", "done"):
        return visit.sorry(NO_DECISION, status=422)
    marks, is_done = visit.site.feedback, form["state"] == "done"
    before = _state(found, (await marks.all()).get(turn))
    if is_done:
        await marks.mark(turn, visit.session.name)
    else:
        await marks.reopen(turn)
    after, path, read = "done" if is_done else "open", path_of(turn), visit.session.collections
    await visit.record(
        "looked at feedback", "1 answer", path=path, before=before, after=after, collections=read
    )
    return go_to("/feedback", "decided")


def _state(rated: RatedDown, mark: FeedbackMark | None) -> str:
    """Open again where somebody rated it down since."""
    return "done" if mark is not None and mark.done_at >= rated.given_at else "open"


async def _rated_down(visit: Visit) -> tuple[RatedDown, ...]:
    database = visit.site.log.database
    return await database.call(rated_down, database.database)


VIEW = View(
    title="Feedback",
    path="/feedback",
    key="f",
    routes=(
        PageRoute("GET", "/feedback", show_feedback),
        PageRoute("POST", "/feedback/{turn:.+}", decide),
    ),
)
