"""Gaps in groups, and the decisions about them."""

import asyncio
import hashlib
import io
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from aiohttp import web

from bots.chat.texts import counted
from bots.page.gap_reports import ReportKey
from bots.page.rights import audiences_of, reads_in, state_of_rights
from bots.page.site import View, Visit, go_to
from bots.page.templating import gap_path
from bots.page.views.answers import Typed, keep_answer, typed_in
from bots.record import left_out, write_gaps
from core.answers.store import KeptAnswer
from core.conversation import QUESTION_LIMIT, Command
from core.errors import FootnoteError
from core.gaps.groups import GapGroup, GapReport, MayRead
from core.gaps.questions import STATES, GapMark, GapQuestion, readable_turns
from core.traces.log import DAY
from core.traces.search import has_all, typed_words
from core.turns import archive

SHOWN = 50  # groups on the page
QUESTIONS_SHOWN = 100  # of a group: a decision is about those
ASKED_ABOUT = 20  # questions of a group, the newest: one of them is in a channel where experts can be asked
REOPENED, WRITTEN, CONSULT = "open", "written", "consult"
NO_GROUP = "There is no such group any more, or none that you may read."

VIEW = View(title="Gaps", path="/gaps", key="p", is_ranged=True)


@VIEW.get("/gaps")
async def show_gaps(visit: Visit) -> web.Response:
    state, text = visit.query("state"), visit.query("text")
    report = await visit.site.gaps.first(*await _wanted(visit))
    groups = [
        each for each in report.groups if state == "all" or (each.state == state if state else each.is_open)
    ]
    if words := typed_words(text):
        groups = await asyncio.to_thread(_with_words, groups, words)
    return visit.show(
        "gaps.html", title="Gaps",
        page=visit.page_of(groups, SHOWN, days=str(visit.days), state=state, text=text),
        report=report, state=state, states=(*STATES, "all"), text=text, notes=left_out(report),
    )  # fmt: skip


def _with_words(groups: Iterable[GapGroup], words: Sequence[str]) -> list[GapGroup]:
    """The groups with a question that has all of these words."""
    return [
        group
        for group in groups
        if any(has_all(words, f"{each.text}\n{each.asked}") for each in group.questions)
    ]


@VIEW.get("/gaps/{turn:.+}")
async def show_gap(visit: Visit) -> web.Response:
    first = await visit.site.gaps.first(*await _wanted(visit))
    group = _holding(first, visit.part("turn")) or await _group(visit)
    return visit.sorry(NO_GROUP) if group is None else await _shown(visit, group)


async def _shown(
    visit: Visit, group: GapGroup, typed: Typed | None = None, *, status: int = 200, is_decided: bool = False
) -> web.Response:
    """``typed``: what somebody wrote as its answer; ``is_decided``: another decided about it meanwhile."""
    # Stable: each part newest first.
    first = sorted(group.questions, key=lambda each: each.turn in group.marks)
    questions = first[:QUESTIONS_SHOWN]
    decided = [each.turn for each in questions if each.turn in group.marks]
    # What a decision is about: what nobody decided about, or all.
    undecided = [each for each in questions if each.turn not in group.marks] or questions
    turns = [each.turn for each in undecided]
    audiences = await audiences_of(visit, undecided) if visit.session.is_editor else ()
    narrowest = audiences[0].collection if audiences and audiences[0].is_of_channel else ""
    marks = dict.fromkeys(group.marks[turn] for turn in decided)
    return visit.show(
        "gap.html", status=status, title=group.name[:80], group=group, questions=questions,
        more=group.count - len(questions),
        names=await visit.site.names.of((each.conversation, each.author) for each in questions),
        decisions=[(mark, await _answer_of(visit, mark)) for mark in marks],
        is_decided=is_decided, turns=turns, seen=_digest(group.marks, turns), decided=decided,
        has_experts=bool(visit.site.settings.experts), seen_decided=_digest(group.marks, decided),
        typed=typed or Typed(question=group.name[:QUESTION_LIMIT], collection=narrowest),
        audiences=audiences,
    )  # fmt: skip


async def _answer_of(visit: Visit, mark: GapMark) -> KeptAnswer | None:
    """The answer of a group, where the session may read it."""
    answer = await visit.site.answers.get(mark.answer) if mark.answer else None
    return answer if answer is not None and visit.session.may_read((answer.collection,)) else None


def _digest(marks: Mapping[str, GapMark], turns: Iterable[str]) -> str:
    """The decisions about these questions, by which a form tells whether they changed meanwhile."""
    decided = sorted((turn, mark.state, mark.set_at) for turn in turns if (mark := marks.get(turn)))
    return hashlib.sha256(repr(decided).encode()).hexdigest()[:16]


@VIEW.post("/gaps/{turn:.+}")
async def decide(visit: Visit) -> web.StreamResponse:
    """Answer questions of a group, ignore them, have a person asked, or open them again: those that the form showed."""
    form = await visit.form()
    state, finder = form.get("state", ""), visit.site.gaps.finder
    group = await _group(visit)
    questions = await _chosen(visit, group) if group is not None else []
    if group is None or not questions:
        return visit.sorry(NO_GROUP)
    turns = [each.turn for each in questions]
    marks = await finder.marks()
    if form.get("seen") not in (None, _digest(marks, turns)):
        return await _decided_meanwhile(visit, form)
    answer, count = "", counted(len(turns), "question")
    before = ", ".join(sorted({marks[turn].state if turn in marks else "open" for turn in turns}))
    if state == WRITTEN:
        audiences = await audiences_of(visit, questions)
        kept = await keep_answer(visit, form, audiences)
        if isinstance(kept, Typed):
            return await _shown(visit, group, kept, status=422)
        state, answer = "answered", kept
        # Whoever asked where it is not read has no answer still.
        chosen = next(each for each in audiences if each.collection == form["collection"])
        turns = [turn for turn in turns if turn in chosen.turns]
    if state == CONSULT:
        if (refused := await _ask_person(visit, turns)) is not None:
            return refused
        state = "asked"
    if state == REOPENED:
        await finder.store.reopen(turns)
    elif state in STATES:
        await finder.store.mark(turns, state, author=visit.session.name, at=finder.now(), answer=answer)
    else:
        return visit.sorry("Nothing of that name can be decided about a group.", status=422)
    visit.site.gaps.turn_old()
    read = visit.session.collections
    path = gap_path(turns[0])
    await visit.record("decided about a gap", count, path=path, before=before, after=state, collections=read)
    return go_to(f"/gaps?days={visit.days}", "decided")


async def _decided_meanwhile(visit: Visit, form: Mapping[str, str]) -> web.Response:
    """The reply when another decided meanwhile: the decision, and what was typed."""
    group = await _group(visit)
    if group is None:
        return visit.sorry(NO_GROUP)
    typed = typed_in(form, ()) if form.get("state") == WRITTEN else None
    return await _shown(visit, group, typed and replace(typed, faults=()), status=409, is_decided=True)


async def _chosen(visit: Visit, group: GapGroup) -> Sequence[GapQuestion]:
    """The questions that the form showed and the session still reads; else those of the group."""
    shown = await visit.chosen("turn")
    if not shown:
        return group.questions
    report = await visit.site.gaps.whole(*await _wanted(visit))
    known = {each.turn: each for one in report.groups for each in one.questions}
    return [known[turn] for turn in dict.fromkeys(shown[:QUESTIONS_SHOWN]) if turn in known]


async def _ask_person(visit: Visit, turns: Sequence[str]) -> web.Response | None:
    """Have experts asked in the thread of one of these questions; returns a page if that fails."""
    work = visit.site.work
    try:
        request = await work.carry_out("ask_person", {"turns": list(turns[:ASKED_ABOUT])})
    except FootnoteError as trouble:
        return visit.sorry(str(trouble), status=409)
    await work.accept(archive.read(Command, request["command"]), request["route"])
    return None


@VIEW.get("/gaps.csv")
async def export(visit: Visit) -> web.Response:
    report = await visit.site.gaps.whole(*await _wanted(visit))
    text = io.StringIO()
    write_gaps(text, report.groups)
    return visit.download(text.getvalue(), "gaps.csv")


async def _wanted(visit: Visit) -> tuple[ReportKey, MayRead, Hashable]:
    """The key of the report, the check of what the session may read, and the state of what that looks at."""
    key = (visit.days * DAY, visit.session.collections)
    rights = await state_of_rights(visit.site) if visit.session.collections is not None else None
    return key, partial(turns_for, visit), rights


async def report_soon(visit: Visit) -> GapReport | None:
    """The report; None while it is still being made."""
    return await visit.site.gaps.soon(*await _wanted(visit))


async def _group(visit: Visit) -> GapGroup | None:
    return _holding(await visit.site.gaps.whole(*await _wanted(visit)), visit.part("turn"))


def _holding(report: GapReport, turn: str) -> GapGroup | None:
    """The group of a question. A link by question stays valid while the group grows."""
    return next((group for group in report.groups if turn in group.turns), None)


async def turns_for(visit: Visit, questions: Sequence[GapQuestion]) -> frozenset[str]:
    """The questions of conversations that read nothing else than the session does."""
    session = visit.session
    if session.collections is None:
        return frozenset(each.turn for each in questions)
    reads = await reads_in(visit.site, ((each.conversation, each.author) for each in questions))
    database = visit.site.library.store.database
    return await asyncio.to_thread(readable_turns, database, questions, reads, session.collections)
