"""A kept answer as a proposed change of a document: the patch, and the pull request that an operator opens with it."""

from dataclasses import replace

from aiohttp import web

from bots.page.site import Visit
from bots.page.templating import answer_path
from bots.page.views.answers import NOT_THERE, VIEW
from core.answers.store import KeptAnswer
from core.gaps import drafts, proposals
from core.sources.source import SourceUnavailable

STATED = "The documents state this answer by now."


@VIEW.get("/answers/{id}/draft")
async def show_draft(visit: Visit) -> web.Response:
    return await _shown(visit)


async def _shown(visit: Visit, *, fault: str = "", opened: str = "", status: int = 200) -> web.Response:
    answer = await _answer(visit)
    if answer is None:
        return visit.sorry(NOT_THERE)
    draft = await _draft(visit, answer)
    if draft is None:
        return visit.sorry(STATED, status=200)
    notes = {each.answer: each.url for each in await visit.site.gaps.finder.store.drafts()}
    return visit.show(
        "draft.html", status=status, title=f"A change: {answer.question[:80]}", answer=answer, draft=draft,
        place=proposals.target_of(draft), warning=proposals.warning_of(draft),
        applies=proposals.where_it_applies(draft) if draft.patch else "",
        lines=(draft.patch or answer.text).splitlines(), fault=fault,
        opened=opened or notes.get(answer.id, ""), may_open=_may_open(visit, draft),
    )  # fmt: skip


@VIEW.get("/answers/{id}/draft/file")
async def download(visit: Visit) -> web.Response:
    answer = await _answer(visit)
    draft = await _draft(visit, answer) if answer is not None else None
    if draft is None:
        return visit.sorry(NOT_THERE)
    name, text = proposals.file_of(draft)
    await _note(visit, draft)
    return visit.download(text, name.encode("ascii", "ignore").decode(), kind="text/plain")


@VIEW.post("/answers/{id}/draft")
async def open_pull_request(visit: Visit) -> web.Response:
    """Open the pull request; asks first if other people will read the answer there."""
    answer = await _answer(visit)
    draft = await _draft(visit, answer) if answer is not None else None
    if answer is None or draft is None or not _may_open(visit, draft):
        return visit.sorry(NOT_THERE)
    if warning := proposals.warning_of(draft):
        yes, no = "Propose it", "Keep it where it is"
        back = f"{answer_path(answer.id)}/draft"
        asked = await visit.asks_first("Propose this answer?", (warning,), back=back, yes=yes, no=no)
        if asked is not None:
            return asked
    try:
        page = await proposals.publish(draft, visit.site.settings)
    except SourceUnavailable as refused:
        return await _shown(visit, fault=str(refused), status=502)
    if page is None:
        return visit.sorry(STATED, status=200)
    await _note(visit, draft, page)
    about, path = f"answer {answer.id}", answer_path(answer.id)
    await visit.record("proposed a change", about, path=path, after=page, collections=(answer.collection,))
    return await _shown(visit, opened=page)


async def _answer(visit: Visit) -> KeptAnswer | None:
    """The answer, where it is used and the session may read it."""
    site = visit.site
    answer = await site.answers.get(visit.part("id"))
    is_read = answer is not None and visit.session.may_read((answer.collection,))
    return answer if answer is not None and is_read and answer.is_usable(site.answers.now()) else None


async def _draft(visit: Visit, answer: KeptAnswer) -> drafts.GapDraft | None:
    site = visit.site
    drafter = drafts.Drafter(
        library=site.library, sources=site.sightings.sources, data_dir=site.settings.data_dir
    )
    found = await drafts.answer_of(answer, site.gaps.finder.store, site.log)
    read = visit.session.collections
    return await drafter.draft(found if read is None else replace(found, targets=found.targets & read))


def _may_open(visit: Visit, draft: drafts.GapDraft) -> bool:
    """True if the session may open pull requests in the document's repository."""
    is_operator = visit.session.is_editor and visit.session.collections is None
    return is_operator and proposals.repository_of(draft) is not None


async def _note(visit: Visit, draft: drafts.GapDraft, page: str = "") -> None:
    if (note := proposals.note_of(draft, visit.site.answers.now(), page)) is not None:
        await visit.site.gaps.finder.store.note_draft(note)
