"""``footnote gaps --draft``: what people answered, as proposed changes to the documents."""

import asyncio
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from bots.chat.indexing import embedder_of_index, with_embedder
from bots.chat.texts import counted
from bots.commands.backend import until_free
from bots.terminal.screen import Screen
from core.answers.answers import Answers, open_answers
from core.bootstrap import open_library, own_data_dir
from core.errors import FootnoteError, IndexInUse, reason_of
from core.gaps import drafts, proposals
from core.gaps.questions import GapStore, TimeSpan, open_gap_store
from core.library.data_lock import make_data_dir
from core.settings import Settings
from core.sources.source import SourceUnavailable
from core.sources.sources import open_source_store
from core.storage.storage import open_storage
from core.traces.log import QuestionLog, open_question_log


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The stores that drafts are made from."""

    drafter: drafts.Drafter
    answers: Answers
    store: GapStore
    log: QuestionLog


@contextmanager
def open_desk(settings: Settings, screen: Screen) -> Iterator[Desk]:
    """Open the stores and update the index, unless a bot does so. Raises SettingsError."""
    with ExitStack() as stack:
        is_owner = not until_free(settings, screen)
        try:
            stack.enter_context(own_data_dir(settings, "footnote gaps") if is_owner else nullcontext())
        except IndexInUse:  # somebody came first
            is_owner = False
        storage = stack.enter_context(open_storage(settings))
        library = stack.enter_context(closing(open_library(settings, storage, is_owner=is_owner)))
        with screen.indexing() as notify:
            if is_owner:
                library.refresh(notify=notify)
            library = with_embedder(library, embedder_of_index(library, settings, screen.note, notify))
        sources = stack.enter_context(open_source_store(storage))
        yield Desk(
            drafter=drafts.Drafter(library=library, sources=sources, data_dir=settings.data_dir),
            answers=stack.enter_context(open_answers(storage, library, review_after=settings.review_after)),
            store=stack.enter_context(open_gap_store(storage)),
            log=stack.enter_context(open_question_log(storage, days=settings.trace_days)),
        )


def draft(arguments: Namespace, settings: Settings) -> int:
    make_data_dir(settings.data_dir)
    screen = Screen()
    with open_desk(settings, screen) as desk:
        return asyncio.run(_draft(desk, settings, screen, arguments))


async def _draft(desk: Desk, settings: Settings, screen: Screen, arguments: Namespace) -> int:
    retired = await proposals.retire_stated(desk.answers, desk.store)
    for answer in retired:
        screen.note(f"A document states this now, so what {answer.name} said is retired: {answer.question}")
    now = desk.answers.now()
    span = TimeSpan(since=now - arguments.since, until=now)
    found = await drafts.gap_answers(span, desk.store, desk.answers, desk.log)
    made = [each for gap in found if (each := await desk.drafter.draft(gap)) is not None]
    if not made:
        if not retired:
            screen.note(no_drafts(len(found)))
        return 0
    folder, faults = Path(arguments.draft), 0
    for each in made:
        page, fault = await _proposed(each, settings) if arguments.pull_requests else ("", "")
        if fault:
            faults += 1
            screen.fault(fault)
        file = _written(each, folder)
        if (note := proposals.note_of(each, now, page)) is not None:
            await desk.store.note_draft(note)
        screen.write("\n".join(lines_of(each, page or str(file))))
    screen.note(summary_of(made))
    return 1 if faults else 0


async def _proposed(each: drafts.GapDraft, settings: Settings) -> tuple[str, str]:
    """The URL of a draft's pull request, and a sentence about why it was not opened."""
    if proposals.repository_of(each) is None:
        return "", ""
    if each.is_wider:
        return "", f"{proposals.warning_of(each)} The page opens a pull request where you allow that."
    try:
        return await proposals.publish(each, settings) or "", ""
    except SourceUnavailable as refused:
        return "", str(refused)


def _written(each: drafts.GapDraft, folder: Path) -> Path:
    """The file of a draft, beside an earlier one that somebody may have edited. FootnoteError if it cannot be written."""
    name, text = proposals.file_of(each)
    first, content = folder / name, text.encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = chain([first], (first.with_stem(f"{first.stem}-{number}") for number in count(2)))
        file = next(each for each in names if not each.exists() or each.read_bytes() == content)
        file.write_bytes(content)
    except OSError as fault:
        raise FootnoteError(f"{first} cannot be written: {reason_of(fault)}.") from fault
    return file


def no_drafts(answered: int) -> str:
    if answered:
        return "The documents state by now what people answered."
    return "Nobody answered what the documents left open in this time: “footnote gaps” lists it."


def lines_of(each: drafts.GapDraft, where: str) -> Sequence[str]:
    """The question, whose words are proposed, where, and the file or the page."""
    by = "; ".join(dict.fromkeys(said.by for said in each.answer.said))
    place = proposals.target_of(each) or each.why
    by_hand = f" (by hand: {each.why})" if each.entry is not None and each.why else ""
    return (" ".join(each.answer.question.split()), f"  {by}", f"  {place}{by_hand}", f"  {where}", "")


def summary_of(made: Sequence[drafts.GapDraft]) -> str:
    """ "2 drafts. No document was changed: in handbook, `git apply FILE` applies one." """
    roots = sorted({each.root for each in made if each.after and proposals.repository_of(each) is None})
    how = f" In {' or '.join(roots)}, `git apply FILE` applies one." if roots else ""
    return f"{counted(len(made), 'draft')}. No document was changed.{how}"
