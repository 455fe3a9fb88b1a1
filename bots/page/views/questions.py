"""Every question, and the trace of one of them with the words that its passages have today."""

import asyncio
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from math import isfinite
from typing import Any, Literal, cast
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from aiohttp import web

from bots.page.drawing import draw_graph, time_steps
from bots.page.rights import collections_called, collections_in, readable, shown_channel
from bots.page.sessions import PageSession
from bots.page.site import RANGES, View, Visit, number_in, read_as
from bots.page.templating import to_html
from bots.record import ENDINGS, write_questions
from core.conversation import value
from core.library.documents import Passage, Scope
from core.library.readers import base_of
from core.library.store import DocumentStore
from core.traces.figures import LoggedQuestion
from core.traces.log import DAY, GivenRating
from core.traces.search import FoundQuestion, QuestionFilter, RatedAs, same_question, search
from core.traces.trace import Step, Trace, TracedPassage, TracedStrip

SHOWN = 50  # questions on one page
LOOKED = 1_000  # that are looked through for one page
EXPORTED = 50_000  # rows of a file, the newest; a spreadsheet holds a million
TURN_KINDS = ("question", "approve", "deny")
RATINGS = ("up", "down", "any")
FIELDS = ("text", "outcome", "channel", "author", "rated", "kind", "days", "since", "until", "zone")

VIEW = View(title="Questions", path="/questions", key="q", is_ranged=True)


@value
class FoundPage:
    """Some of the questions that were looked for, newest first."""

    found: tuple[FoundQuestion, ...]
    allowed: frozenset[str]  #: the turns whose words the session may read
    #: Where the next page begins: after this time and turn; None: there is none.
    after: tuple[float, str] | None


@VIEW.get("/questions")
async def show_questions(visit: Visit) -> web.Response:
    typed = {name: visit.query(name) for name in FIELDS}
    wanted = _filter(visit, typed, visit.query("before"))
    page = await _page(visit, wanted, SHOWN)
    kept = {name: content for name, content in typed.items() if content}
    older = urlencode({**kept, "before": f"{page.after[0]!r} {page.after[1]}"}) if page.after else ""
    return visit.show(
        "questions.html", title="Questions", found=page.found, allowed=page.allowed, typed=typed,
        older=older, is_first=not visit.query("before"), newest=urlencode(kept), kinds=TURN_KINDS,
        zone=str(zone_of(typed["zone"])), ratings=RATINGS,
        narrowed=lambda name, content: urlencode({**kept, name: content}),
        names=await visit.site.names.of(
            (each.question.conversation, each.question.author)
            for each in page.found
            if each.question.turn in page.allowed
        ),
    )  # fmt: skip


@VIEW.get("/questions.csv")
async def export(visit: Visit) -> web.Response:
    """Export the newest found questions, without words and names that are closed to the session."""
    typed = {name: visit.query(name) for name in FIELDS}
    wanted = _filter(visit, typed, "")
    rows: list[FoundQuestion] = []
    while len(rows) < EXPORTED:
        page = await _page(visit, wanted, min(LOOKED, EXPORTED - len(rows)))
        rows += [each if each.question.turn in page.allowed else _closed(each) for each in page.found]
        if page.after is None:
            break
        wanted = replace(wanted, before=page.after)
    text = io.StringIO()
    write_questions(text, rows)
    return visit.download(text.getvalue(), "questions.csv")


def _closed(found: FoundQuestion) -> FoundQuestion:
    return replace(
        found, question=replace(found.question, question="", author=""), author_name="", channel_name=""
    )


async def _page(visit: Visit, wanted: QuestionFilter, size: int) -> FoundPage:
    """One page of questions; it may be short, as only so many are looked through."""
    found: list[FoundQuestion] = []
    allowed: set[str] = set()
    looked = 0
    while True:
        batch = await search(visit.site.log, wanted, limit=size + 1)
        readable_here = await readable(visit.site, visit.session, (each.question for each in batch))
        shown_as = [replace(each, question=_with_shown_channel(visit, each.question)) for each in batch]
        # Words and people that may not be read are not searched, nor are channels that the session may not know.
        shown = [
            each
            for each, found_as in zip(shown_as, batch, strict=True)
            if (each.question.turn in readable_here or not (wanted.text or wanted.author))
            and (each == found_as or not wanted.channel)
        ]
        room, allowed = size - len(found), allowed | readable_here
        found += shown[:room]
        if len(shown) > room:
            return FoundPage(found=tuple(found), allowed=frozenset(allowed), after=_position(found[-1]))
        looked += len(batch)
        if len(batch) <= size or looked >= LOOKED:
            after = _position(batch[-1]) if len(batch) > size else None
            return FoundPage(found=tuple(found), allowed=frozenset(allowed), after=after)
        wanted = replace(wanted, before=_position(batch[-1]))


def _position(found: FoundQuestion) -> tuple[float, str]:
    return found.question.asked_at, found.question.turn


def _with_shown_channel(visit: Visit, question: LoggedQuestion) -> LoggedQuestion:
    return replace(question, channel=shown_channel(visit.session, question.channel))


def _filter(visit: Visit, typed: Mapping[str, str], before: str) -> QuestionFilter:
    """The filter of an address; what cannot be read of it counts as empty."""
    at, _, turn = before.partition(" ")
    since, until = (read_as(date.fromisoformat, typed[name]) for name in ("since", "until"))
    seconds, zone = read_as(float, at), zone_of(typed["zone"])
    days, wanted = number_in(typed["days"], 0), typed["outcome"]
    lately = visit.site.log.now() - days * DAY if days in RANGES else None
    return QuestionFilter(
        kind=typed["kind"] if typed["kind"] in TURN_KINDS else "", ending=wanted if wanted in ENDINGS else "",
        channel=typed["channel"], author=typed["author"],
        by_name=visit.session.collections is None,  # others could find out names by looking for them
        rated=cast("RatedAs", typed["rated"] if typed["rated"] in RATINGS else ""),
        text=typed["text"], since=_seconds(since, zone) if since else lately,
        until=_seconds(until + timedelta(days=1), zone) if until and until < date.max else None,
        before=(seconds, turn) if seconds is not None and isfinite(seconds) and turn else None,
    )  # fmt: skip


def zone_of(name: str) -> tzinfo:
    """The time zone of this name, as a browser tells it; UTC where there is none."""
    return read_as(ZoneInfo, name) or UTC


def _seconds(day: date, zone: tzinfo) -> float | None:
    """The time when a day began in a zone; None for one beyond the calendar."""
    try:
        return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
    except (OverflowError, ValueError):
        return None


Standing = Literal["here", "changed", "forgotten", "closed", "web"]


@value
class PassageWords:
    """A passage of a trace, and its words today."""

    traced: TracedPassage
    standing: Standing
    text: str = ""  #: empty where it cannot or may not be shown
    strips: tuple[TracedStrip, ...] = ()  #: of the newest draft, in reading order

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """The text in pieces, each with the number of its strip; 0: none."""
        found: list[tuple[str, int]] = []
        at, begins = 0, self.traced.start
        for strip in self.strips:
            start, end = max(strip.start - begins, at), min(strip.end - begins, len(self.text))
            if start < end:
                found += [(self.text[at:start], 0), (self.text[start:end], strip.number)]
                at = end
        return tuple((text, number) for text, number in (*found, (self.text[at:], 0)) if text)


def words_of(trace: Trace, store: DocumentStore, session: PageSession) -> tuple[PassageWords, ...]:
    """The passages in the order of the trace. Blocks."""
    collections = store.collections()
    open_to = collections if session.collections is None else collections & session.collections
    ids = [one.id for one in trace.passages if one.origin == "documents" and one.id.isdecimal()]
    found = store.passages(ids, Scope(collections=open_to)) if ids and open_to else {}
    strips = trace.drafts[-1].strips if trace.drafts else ()
    return tuple(_words(one, found, strips, store, open_to) for one in trace.passages)


def _words(
    traced: TracedPassage, found: dict[str, Passage], strips: Iterable[TracedStrip], store: DocumentStore,
    open_to: frozenset[str],
) -> PassageWords:  # fmt: skip
    if traced.origin == "web":
        return PassageWords(traced=traced, standing="web")
    if traced.collection not in open_to:
        is_gone = traced.collection not in store.collections()
        return PassageWords(traced=traced, standing="forgotten" if is_gone else "closed")
    passage = found.get(traced.id)
    if passage is not None and (passage.source, passage.start, passage.end) == (
        traced.source, traced.start, traced.end,
    ):  # fmt: skip
        own = sorted((each for each in strips if each.passage == traced.id), key=lambda each: each.start)
        return PassageWords(traced=traced, standing="here", text=passage.text, strips=tuple(own))
    is_known = bool(store.find_named(traced.collection, traced.source))
    return PassageWords(traced=traced, standing="changed" if is_known else "forgotten")


@VIEW.get("/questions/{turn:.+}")
async def show_trace(visit: Visit) -> web.Response:
    site, turn = visit.site, visit.part("turn")
    question = await site.log.question(turn)
    if question is None:
        return visit.sorry("There is no such question, or it was never logged.")
    trace = await site.log.trace(turn)
    is_readable = turn in await readable(site, visit.session, [question])
    related = await same_question(site.log, question.about)
    ratings = await site.log.given_ratings(turn)
    people = [*(each.author for each in ratings), *(each.author for each in related), question.author]
    words = await asyncio.to_thread(words_of, trace, site.library.store, visit.session) if trace else ()
    closed = sorted(set(map(base_of, collections_in(trace)))) if visit.session.collections is None else []
    called = await collections_called(visit, closed)
    cited = {each.number for each in trace.citations} if trace else set()
    return visit.show(
        "trace.html", lost_at=await site.log.quoted.lost_at(turn),
        title=question.question[:80] if question.question and is_readable else f"A {question.kind}",
        question=_with_shown_channel(visit, question), trace=trace, is_readable=is_readable, ratings=ratings,
        names=await site.names.of((question.conversation, each) for each in people if is_readable),
        related=[each for each in related if each.turn != turn],
        mark=(await site.gaps.finder.marks()).get(question.about) if is_readable else None,
        is_gap=is_readable and _is_gap(related, ratings), message=message_of(question.about),
        words=words if is_readable else (), exchanges=await site.log.exchanges(turn) if is_readable else (),
        collections=[called.get(each, each) for each in closed],
        answer=to_html(trace.text, turn="answer", numbers=cited) if trace else "",
        kept_days=site.settings.trace_days, **_drawn(trace.steps if trace else ()),
    )  # fmt: skip


def _is_gap(related: Sequence[LoggedQuestion], ratings: Iterable[GivenRating]) -> bool:
    """True if the question is in a group of gaps. ``related``: all turns about it, oldest first."""
    if any(not each.is_positive for each in ratings):
        return True
    if not related:
        return False
    last = related[-1]
    is_unsure = last.outcome == "answered" and not last.is_sure
    return last.kind == "deny" or last.outcome in ("no_answer", "approval_needed") or is_unsure


def message_of(turn: str) -> tuple[str, str] | None:
    """The label and URL of a link to a question's message; None for a turn without one.

    An address of a message in Slack has the name of the workspace, which is not known here: its channel has to do.
    """
    platform, _, ids = turn.partition("/")
    match platform, ids.split("/"):
        case "discord", [server, channel, message] if f"{server}{channel}{message}".isdecimal():
            return "The message in Discord", f"https://discord.com/channels/{ids}"
        case "slack", [team, channel, _]:
            return (
                "The channel in Slack",
                f"https://slack.com/app_redirect?{urlencode({'team': team, 'channel': channel})}",
            )
    return None


def _drawn(steps: Sequence[Step]) -> dict[str, Any]:
    """The drawing of a turn's steps, for the template."""
    timed = time_steps(steps)
    return {
        "graph": draw_graph(steps),
        "timed": timed,
        "total_ms": max((step.began_ms + step.ms for step in steps), default=0.0),
        "most_tokens": max((step.input_tokens + step.output_tokens for step in steps), default=0),
        "weighed": [each for each in timed if each.step.odds],
        "odds_kinds": list(dict.fromkeys(kind for step in steps for kind in step.odds)),
        "strongest": max((abs(worth) for step in steps for worth in step.odds.values()), default=1.0),
    }
