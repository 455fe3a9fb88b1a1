"""Drafts: shown with their grounds, written as files, or opened as pull requests.

A draft is remembered until its document states the answer, which is retired then.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from core.answers import store as kept
from core.answers.answers import Answers
from core.characters import one_line
from core.gaps.drafts import GapDraft, format_answer, insert_answer, states
from core.gaps.questions import DraftNote, GapStore
from core.library.documents import Scope
from core.library.retriever import Query
from core.settings import Settings
from core.sources.git.address import PREFIXES, GitAddress
from core.sources.git.address import parse as parse_address
from core.sources.git.proposing import ProposalRefused, ProposedChange, propose

TITLE = 80  # characters of a question in the title of a pull request
FIRST = 5  # passages, among which a question finds the document that answers it
WORDS_SHOWN = 1_000  # characters of each saying that stand beside a draft


async def retire_stated(answers: Answers, store: GapStore) -> Sequence[kept.KeptAnswer]:
    """Retire the kept answers whose draft was taken over. Their documents state them now, and their questions
    find those. What they answered stays answered."""
    retired = []
    for note in await store.drafts():
        answer = await answers.get(note.answer)
        if answer is None:
            await store.settle(note.answer)
            continue
        entry = await asyncio.to_thread(answers.library.store.entry, note.collection, note.address)
        if entry is None or entry.hash == note.version or not answer.is_usable(answers.now()):
            continue
        scope = Scope(collections=frozenset({note.collection}), addresses=(note.address,))
        passages = await asyncio.to_thread(answers.library.store.reading, note.address, scope)
        here = Scope(collections=frozenset({entry.collection}))
        query = Query(text=answer.question, scope=here, limit=FIRST)
        hits = (await asyncio.to_thread(answers.library.retrieve, query)).passages
        # The question must find the document: its answer must not be lost with the answer of a person.
        is_found = entry.source in {hit.passage.source for hit in hits}
        if not (is_found and states("\n".join(each.text for each in passages), answer.text)):
            await store.note_draft(replace(note, version=entry.hash))
            continue
        await store.settle(answer.id)
        if (done := await answers.retire(answer, by=entry.source)) is not None:
            retired.append(done)
    return retired


def note_of(draft: GapDraft, at: float, url: str = "") -> DraftNote | None:
    """The note of a draft that was written; None for one whose document is not known."""
    if draft.entry is None or not draft.answer.is_kept:
        return None
    entry = draft.entry
    return DraftNote(
        answer=draft.answer.id, collection=entry.collection, address=entry.address, version=entry.hash,
        made_at=at, url=url,
    )  # fmt: skip


def grounds_of(draft: GapDraft) -> str:
    """The reason for a draft and the authors of its words, in Markdown."""
    answer = draft.answer
    times = "once" if answer.asked == 1 else f"{answer.asked:,} times"
    lines = [f"The documents did not answer this, and it was asked {times}: {_as_code(answer.question)}", ""]
    for each in answer.said:
        whose = f"[{_as_code(each.by)}](<{each.url}>)" if each.url else _as_code(each.by)
        lines.append(f"- {whose}: {_as_code(each.words)}")
    lines += ["", "Every sentence that is added is theirs, word for word. Footnote merges nothing by itself."]
    return "\n".join(lines)


def warning_of(draft: GapDraft) -> str:
    """A sentence about who will read an answer who does not by now; empty: nobody."""
    if draft.entry is None or not draft.is_wider:
        return ""
    what = f"said by {draft.answer.said[0].by}" if draft.answer.is_kept else "asked"
    return f"Whoever reads {draft.entry.source} will read what was {what}."


def _as_code(words: str) -> str:
    """Words of people, in which a host sees nobody who is mentioned and no issue that is closed."""
    fence = "`" * (1 + max((len(each) for each in re.findall("`+", words)), default=0))
    blank = " " if len(fence) > 1 else ""
    return f"{fence}{blank}{one_line(words, WORDS_SHOWN)}{blank}{fence}"


def file_of(draft: GapDraft) -> tuple[str, str]:
    """The name and the text of a draft's file. It is a patch with its grounds before it, or the words to put
    in."""
    grounds = "\n\n".join(filter(None, (grounds_of(draft), warning_of(draft))))
    if patch := draft.patch:
        return f"{draft.name}.patch", f"{grounds}\n\n{where_it_applies(draft)}\n\n{patch}"
    where = f"It belongs into {target_of(draft)}." if draft.entry else ""
    words = "\n\n".join(format_answer(draft.answer, True))
    by_hand = f"{draft.why} {where} Put it in by hand:".replace("  ", " ")
    return f"{draft.name}.md", f"{grounds}\n\n{by_hand}\n\n{words}\n"


def where_it_applies(draft: GapDraft) -> str:
    """A sentence that says where the patch of a draft applies."""
    if draft.root.startswith(PREFIXES):
        path = parse_address(draft.root).path.strip("/").removesuffix(".git")
        return f"It applies in a checkout of {path}."
    return f"It applies in the folder {PurePath(draft.root).name}: git apply FILE"


def target_of(draft: GapDraft) -> str:
    """ "handbook/leave.md › Leave › Parental leave"."""
    source = [draft.entry.source] if draft.entry else []
    return " › ".join((*source, *draft.section))


def repository_of(draft: GapDraft) -> GitAddress | None:
    """The repository on whose host a draft can be proposed; None for a file."""
    address = parse_address(draft.root) if draft.after and draft.root.startswith(PREFIXES) else None
    return address if address is not None and address.scheme != "file" else None


async def publish(draft: GapDraft, settings: Settings) -> str | None:
    """The page of the pull request of a draft; None where its file states the answer by now. SourceUnavailable."""
    address = repository_of(draft)
    if address is None or draft.near is None:
        raise ProposalRefused(f"{target_of(draft)} is in no repository of a host.")
    if not (token := settings.git_tokens.get(address.host, "")):
        raise ProposalRefused(f"A pull request needs a token: GIT_TOKENS={address.host}=TOKEN.")

    near = replace(draft.near, path=draft.section)  # it is found by its section if the file changed meanwhile

    def change(content: bytes) -> bytes | None:
        text = content.decode("utf-8")
        if states(text, *(each.words for each in draft.answer.said)):
            return None
        made = insert_answer(text, draft.path, near, draft.answer)
        return None if made is None else made.text.encode()

    wanted = ProposedChange(
        path=draft.path,
        branch=f"footnote/{draft.name}",
        title=f"Answer “{one_line(re.sub('[@#]', '', draft.answer.question), TITLE)}”",
        body=grounds_of(draft),
    )
    return await propose(address, change, wanted, token=token, private=settings.private_hosts)
