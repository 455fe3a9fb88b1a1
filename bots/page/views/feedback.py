"""Answers that were rated down, with what people said is wrong, until somebody is done with them. What people said
stands in the log of questions; here is who has looked at it since.
"""

import time

from aiohttp import web

from bots.page.rights import readable, shown_channel
from bots.page.site import View, Visit, go_to
from bots.page.templating import question_path
from core.conversation import value
from core.traces.search import RatedDown, rated_down

SHOWN = 50  # answers on one page
STATES = ("open", "done", "all")
NO_DECISION = "Nothing of that name can be decided about feedback."
NOT_THERE = "No answer to that question was rated down."

VIEW = View(title="Feedback", path="/feedback", key="f")


@value
class FeedbackMark:
    """A mark that the feedback about an answer was dealt with, up to that time."""

    done_at: float  #: seconds since the epoch
    who: str  #: the name of the session


@VIEW.get("/feedback")
async def show_feedback(visit: Visit) -> web.Response:
    state = visit.query("state") if visit.query("state") in STATES else "open"
    marks = await _marks(visit)
    chosen = [
        each for each in await _rated_down(visit) if state in ("all", _state(each, marks.get(each.turn)))
    ]
    page = visit.page_of(chosen, SHOWN, state=state)
    questions = await visit.site.log.questions([each.turn for each in page.shown])
    allowed = await readable(visit.site, visit.session, questions.values())
    shown = [(each, questions[each.turn]) for each in page.shown if each.turn in questions]
    return visit.show(
        "feedback.html", title="Feedback", page=page, shown=shown, allowed=allowed, state=state,
        states=STATES, marks=marks, state_of=_state,
        channels={question.channel: shown_channel(visit.session, question.channel) for _, question in shown},
        names=await visit.site.names.of(
            (question.conversation, remark.author)
            for each, question in shown
            for remark in each.remarks
            if each.turn in allowed
        ),
    )  # fmt: skip


async def count_open(visit: Visit) -> int:
    marks = await _marks(visit)
    return sum(_state(each, marks.get(each.turn)) == "open" for each in await _rated_down(visit))


@VIEW.post("/feedback/{turn:.+}")
async def decide(visit: Visit) -> web.Response:
    """Somebody is done with the feedback about an answer, or it is open again."""
    turn, after = visit.part("turn"), (await visit.form()).get("state")
    question = await visit.site.log.question(turn)
    found = next((each for each in await _rated_down(visit) if each.turn == turn), None)
    if question is None or found is None or turn not in await readable(visit.site, visit.session, [question]):
        return visit.sorry(NOT_THERE)
    if after not in ("open", "done"):
        return visit.sorry(NO_DECISION, status=422)
    before, database = _state(found, (await _marks(visit)).get(turn)), visit.site.sessions.database
    if after == "done":
        await database.write(
            "INSERT INTO page_feedback (turn, done_at, who) VALUES (?, ?, ?)"
            " ON CONFLICT (turn) DO UPDATE SET done_at = excluded.done_at, who = excluded.who",
            (turn, time.time(), visit.session.name),
        )
    else:
        await database.write("DELETE FROM page_feedback WHERE turn = ?", (turn,))
    path, read = question_path(turn), visit.session.collections
    await visit.record(
        "looked at feedback", "1 answer", path=path, before=before, after=after, collections=read
    )
    return go_to("/feedback", "decided")


def _state(rated: RatedDown, mark: FeedbackMark | None) -> str:
    """The state of a mark; open again if somebody rated it down since."""
    return "done" if mark is not None and mark.done_at >= rated.given_at else "open"


async def _marks(visit: Visit) -> dict[str, FeedbackMark]:
    """The marks by the turn of the question."""
    rows = await visit.site.sessions.database.rows("SELECT turn, done_at, who FROM page_feedback")
    return {turn: FeedbackMark(done_at=at, who=who) for turn, at, who in rows}


async def _rated_down(visit: Visit) -> tuple[RatedDown, ...]:
    database = visit.site.log.database
    return await database.call(rated_down, database.database)
