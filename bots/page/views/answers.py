"""Kept answers: who said them, where and when, how often they were used, and when somebody must review them."""

import asyncio
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from aiohttp import web

from bots.chat.channels import own_collection
from bots.chat.markdown.safe import clean
from bots.chat.texts import counted
from bots.page.rights import Audience, all_audiences, collections_called
from bots.page.site import Record, View, Visit, go_to, number_in
from bots.page.templating import answer_path
from core.answers.store import (
    AnswerFilter,
    AnswerVersion,
    KeptAnswer,
    ListedAnswer,
    check_answer,
    title_of,
)
from core.conversation import Conversation, check_question, value
from core.errors import AnswerRejected, FootnoteError, QuestionRejected
from core.traces.search import has_all, typed_words

DID = {"edit": "edited an answer", "extend": "extended an answer", "retire": "retired an answer",
       "forget": "forgot an answer"}  # fmt: skip
AFTER = {"extend": "used", "retire": "retired", "forget": "gone"}
SHOWN = 100  # answers on one page
NOT_THERE = "There is no such answer, or it is closed to you."
NO_READERS = "Choose who reads the answer."
UNREADABLE = "An answer needs a collection that is there and that you may read."
CLOSED_DOCUMENT = "A document"
FORGOTTEN = "This answer was forgotten while you wrote. What you wrote is below: kept, it is a new answer."

VIEW = View(title="Answers", path="/answers", key="w")


@value
class Typed:
    """An editor's form of an answer, and what is wrong with it."""

    question: str = ""
    text: str = ""
    collection: str = ""
    faults: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, str]:
        return {"question": self.question, "text": self.text, "collection": self.collection}


def typed_in(form: Mapping[str, str], offered: Collection[Audience]) -> Typed:
    """The form as it is shown and stored, with its faults; line ends are unified, invisible characters dropped."""
    question, text = (as_typed(form.get(name, "")) for name in ("question", "text"))
    collection, faults = form.get("collection", ""), []
    for check, typed in ((check_question, question), (check_answer, text)):
        try:
            check(typed)
        except (QuestionRejected, AnswerRejected) as fault:
            faults.append(str(fault))
    if collection not in {each.collection for each in offered}:
        faults.append(UNREADABLE if collection else NO_READERS)
    return Typed(question=question, text=text, collection=collection, faults=tuple(faults))


def as_typed(text: str) -> str:
    return clean(text).strip()


@VIEW.get("/answers")
async def show_answers(visit: Visit, typed: Typed | None = None, *, status: int = 200) -> web.Response:
    wanted, text = visit.query("show"), visit.query("text")
    page = visit.page_of(await answers_of(visit, wanted, text), SHOWN, show=wanted, text=text)
    listed = [_visible(visit, each) for each in await visit.site.answers.list_answers(page.shown)]
    return visit.show(
        "answers.html", status=status, title="Answers", page=page, listed=listed,
        called=await collections_called(visit, {each.answer.collection for each in listed}),
        wanted=wanted, text=text, now=visit.site.answers.now(),
        typed=typed or Typed(question=visit.query("question")),
        audiences=await all_audiences(visit) if visit.session.is_editor else (),
    )  # fmt: skip


async def answers_of(visit: Visit, wanted: str, text: str = "") -> list[str]:
    """The ids of the answers that the session may read: "due" ones, "disputed" ones, or all; with these words."""
    answers = visit.site.answers
    due_at, is_disputed = (answers.now() if wanted == "due" else None), wanted == "disputed"
    filtered = AnswerFilter(due_at=due_at, is_disputed=is_disputed, collections=visit.session.collections)
    found = await answers.find(filtered)
    if is_disputed and visit.session.collections is not None:
        found = [
            each.answer.id for each in await answers.list_answers(found) if _visible(visit, each).disputed_by
        ]
    words = typed_words(text)
    return await asyncio.to_thread(_with_words, found, await answers.words(), words) if words else found


def _with_words(found: Iterable[str], texts: Mapping[str, str], words: Sequence[str]) -> list[str]:
    """The answers that have all of these words, in the question or in the text."""
    return [each for each in found if has_all(words, texts.get(each, ""))]


@VIEW.get("/answers/{id}")
async def show_answer(visit: Visit) -> web.Response:
    listed = await _named(visit)
    return visit.sorry(NOT_THERE) if listed is None else await _shown(visit, listed)


async def _shown(
    visit: Visit, listed: ListedAnswer, typed: Typed | None = None, *, status: int = 200, is_changed: bool = False
) -> web.Response:  # fmt: skip
    """``typed``: what is shown in the form in place of what is kept; ``is_changed``: somebody changed it meanwhile."""
    answer = listed.answer
    versions = await visit.site.answers.versions(answer.id)
    return visit.show(
        "answer.html", status=status, title=answer.question[:80], listed=listed, answer=answer,
        called=await collections_called(visit, [answer.collection]), cited_as=title_of(answer),
        is_due=answer.is_due(visit.site.answers.now()), changes=_changes(visit, versions),
        changed=versions[-1].change if is_changed and versions else None, typed=typed or _words_of(answer),
        audiences=await _audiences(visit, answer) if visit.session.is_editor else (),
    )  # fmt: skip


def _words_of(answer: KeptAnswer) -> Typed:
    return Typed(question=answer.question, text=answer.text, collection=answer.collection)


async def _audiences(visit: Visit, answer: KeptAnswer) -> tuple[Audience, ...]:
    """The audiences to choose from: its own, its channel's, and the operator's collections."""
    own = own_collection(Conversation.parse(answer.conversation)) if answer.conversation else ""
    return await all_audiences(visit, answer.collection, own)


#: What a change made of an answer, and what it was before.
Changed = tuple[AnswerVersion, AnswerVersion | None]


def _changes(visit: Visit, versions: Sequence[AnswerVersion]) -> list[Changed]:
    """The changes of an answer, newest first, without those that the session may not read."""
    may_read = visit.session.may_read
    both = [(after, before) for before, after in pairwise((None, *versions)) if after is not None]
    return [
        (
            _without_closed_name(visit, after),
            before if before is not None and may_read((before.collection,)) else None,
        )
        for after, before in reversed(both)
        if may_read((after.collection,))
    ]


def _without_closed_name(visit: Visit, version: AnswerVersion) -> AnswerVersion:
    """The version without the name of the document that states it now, where that is closed to the session."""
    open_to, change = visit.session.collections, version.change
    if open_to is None or change.change != "retired":
        return version
    known = visit.site.library.store.with_sources([change.name])
    if not known or any(each.collection in open_to for each in known):
        return version
    return replace(version, change=replace(change, name=CLOSED_DOCUMENT))


@VIEW.post("/answers/{id}")
async def change(visit: Visit) -> web.StreamResponse:
    """Edit, extend, retire or forget an answer, unless it was changed meanwhile."""
    listed, form = await _named(visit), await visit.form()
    name = form.get("change", "")
    if name not in DID or (listed is None and name != "edit"):
        return visit.sorry(NOT_THERE)
    if listed is None:
        return await _gone(visit, form)
    typed = typed_in(form, await _audiences(visit, listed.answer)) if name == "edit" else None
    details = _details(visit, listed.answer, form, typed)
    if (refused := await _refused(visit, listed, details, typed)) is not None:
        return refused
    try:
        done = await visit.site.work.carry_out("change_answer", details)
    except FootnoteError as trouble:
        again = replace(typed or _words_of(listed.answer), faults=(str(trouble),))
        return await _shown(visit, listed, again, status=503)
    if not done["is_done"]:
        return await _changed_meanwhile(visit, form, typed)
    answer, path = listed.answer, "" if name == "forget" else answer_path(listed.answer.id)
    before = f"version {answer.revision}" if name == "edit" else answer.state
    after = AFTER.get(name, f"version {answer.revision + 1}")
    change = {"before": before, "after": after}
    await visit.record(
        DID[name], f"answer {answer.id}", path=path, collections=(answer.collection,), **change
    )
    return go_to(path, "saved") if path else go_to("/answers", "forgotten")


async def _refused(
    visit: Visit, listed: ListedAnswer, details: Record, typed: Typed | None
) -> web.Response | None:
    """The faults of the form, or a question before an answer is forgotten; None if neither."""
    if typed is not None and typed.faults:
        return await _shown(visit, listed, typed, status=422)
    answer = listed.answer
    if details["change"] != "forget" or details["revision"] != answer.revision:
        return None
    gone = (
        f"What {answer.name or 'an editor'} wrote, in all its versions: {answer.revision:,}",
        f"A source that was cited {counted(listed.used, 'time')}",
    )
    return await visit.asks_first("Forget this answer?", gone, back=answer_path(answer.id))


def _details(visit: Visit, answer: KeptAnswer, form: Mapping[str, str], typed: Typed | None) -> Record:
    """The details of the operation: what to do with the answer as the form showed it. Where what was typed is
    what it showed, it is what is kept: nobody edits what they only saved.
    """
    details: Record = {
        "id": answer.id, "change": form["change"], "name": visit.session.name,
        "revision": number_in(form.get("revision", ""), answer.revision),
    }  # fmt: skip
    if typed is not None:
        kept = {"question": answer.question, "text": answer.text}
        same = {name: words for name, words in kept.items() if as_typed(words) == typed.fields[name]}
        details |= typed.fields | same
    return details


async def _changed_meanwhile(
    visit: Visit, form: Mapping[str, str], typed: Typed | None
) -> web.StreamResponse:
    """The reply when somebody changed it meanwhile: both what it says now and what was typed."""
    listed = await _named(visit)
    if listed is not None:
        return await _shown(visit, listed, typed, status=409, is_changed=True)
    return visit.sorry(NOT_THERE) if typed is None else await _gone(visit, form)


async def _gone(visit: Visit, form: Mapping[str, str]) -> web.Response:
    """The reply when the answer was forgotten meanwhile, with what was typed."""
    typed = typed_in(form, await all_audiences(visit))
    return await show_answers(visit, replace(typed, faults=(FORGOTTEN,)), status=409)


@VIEW.post("/answers")
async def teach(visit: Visit) -> web.StreamResponse:
    """An editor's own answer, or the correction of one."""
    typed = await keep_answer(visit, await visit.form(), await all_audiences(visit))
    if isinstance(typed, Typed):
        return await show_answers(visit, typed, status=422)
    return go_to("/answers", "kept")


async def keep_answer(visit: Visit, form: Mapping[str, str], offered: Collection[Audience]) -> Typed | str:
    """Keep what an editor wrote, for one of these audiences: the answer's id; or what was typed, with what is wrong."""
    typed = typed_in(form, offered)
    if typed.faults:
        return typed
    details = {**typed.fields, "message": f"page/{uuid.uuid4().hex}", "name": visit.session.name}
    try:
        kept = str((await visit.site.work.carry_out("teach", details))["id"])
    except FootnoteError as trouble:
        return replace(typed, faults=(str(trouble),))
    read = (typed.collection,)
    await visit.record(
        "kept an answer", f"answer {kept}", path=answer_path(kept), after="used", collections=read
    )
    return kept


async def _named(visit: Visit) -> ListedAnswer | None:
    found = await visit.site.answers.list_answers([visit.part("id")])
    may_read = found and visit.session.may_read((found[0].answer.collection,))
    return _visible(visit, found[0]) if may_read else None


def _visible(visit: Visit, listed: ListedAnswer) -> ListedAnswer:
    """The answer without disputing documents that are closed to the session."""
    open_to, store = visit.session.collections, visit.site.library.store
    if open_to is None or not listed.disputed_by:
        return listed
    known = (each for each in listed.disputed_by if any(store.find_named(name, each) for name in open_to))
    return replace(listed, disputed_by=tuple(known))
