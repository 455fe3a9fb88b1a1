"""A first file of questions: of those that people rated helpful, or of the answers that they keep.

The file may go into a repository that anybody reads. So a question is taken only from a channel that its platform says is
public, or from the operator's own terminal; and only where all that its answer cites may be read by whom it is for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from bots.mcp.callers import Caller
from bots.terminal.screen import line
from bots.terminal.session import TERMINAL
from bots.testing.judging import normalized
from core.answers.answers import Answers
from core.conversation import value
from core.errors import SettingsError, reason_of
from core.library.store import DocumentStore
from core.traces.log import QuestionLog
from core.traces.search import FoundQuestion, QuestionFilter, search
from core.traces.trace import Trace

Publics = Callable[[Collection[str]], Awaitable[frozenset[str]]]  # of these channels, those that are public


@value
class NewCase:
    """A question of the new file, and where it is from."""

    origin: str
    fields: Mapping[str, Any]


async def rated_helpful(
    log: QuestionLog, since: float, reader: Caller, readable: Collection[str], publics: Publics,
    *, store: DocumentStore,
) -> tuple[list[NewCase], int]:  # fmt: skip
    """The oldest first, each question once; and how many are from channels that are not known to be public."""
    wanted = QuestionFilter(kind="question", rated="up", since=since)
    found = [
        each for each in reversed(await search(log, wanted)) if each.up > each.down and each.question.question
    ]
    traces = await log.traces([each.question.turn for each in found])
    public = await publics({each.question.channel for each in found})
    behind = {source for trace in traces.values() for source in (*trace.documents, *_cited(trace))}
    entries = await asyncio.to_thread(store.with_sources, behind)
    open_now = {entry.source for entry in entries if entry.collection in readable}
    drafts: dict[str, NewCase] = {}
    private = 0
    for each in found:
        trace = traces.get(each.question.turn)
        cited = _cited(trace) if trace else ()
        collections = {one.collection for one in trace.citations if one.number} if trace else set()
        if trace is None or not cited or collections - frozenset(readable) or not open_now.issuperset(cited):
            continue
        if not (each.question.channel in public or _is_own(each, reader)):
            private += 1
            continue
        # As it was understood with what was said before, unless that was from what others read.
        is_open = open_now.issuperset(trace.documents)
        question = (is_open and trace.standalone) or each.question.question
        named = each.channel_name or each.question.channel
        where = "the terminal" if each.question.channel.startswith(f"{TERMINAL}/") else named
        origin = f"Asked {_day(each.question.asked_at)} in {where}, rated helpful by {each.up:,}."
        fields = {"question": question, "cites": list(cited)}
        drafts.setdefault(normalized(question), NewCase(origin=origin, fields=fields))
    return list(drafts.values()), private


def _cited(trace: Trace) -> tuple[str, ...]:
    """The sources of its footnotes."""
    return tuple(dict.fromkeys(one.source for one in trace.citations if one.number))


def _is_own(found: FoundQuestion, reader: Caller) -> bool:
    """True at the operator's terminal, in the reader's channel, and for what the reader asked."""
    platform, _, channel = found.question.channel.split("/", 2)
    is_same = platform == reader.platform and (
        channel == reader.channel or found.question.author == reader.author
    )
    return platform == TERMINAL or is_same


async def kept(answers: Answers, since: float, readable: Collection[str]) -> list[NewCase]:
    """The answers that are used now, those kept first before others."""
    every = [each.answer for each in reversed(await answers.list_answers())]
    return [
        NewCase(
            origin=f"Kept {_day(each.kept_at)}{f' in {each.place}' if each.place else ''}.",
            fields={"question": each.question, "answer": each.text},
        )
        for each in every
        if each.is_usable(answers.now()) and each.kept_at >= since and each.collection in readable
    ]


def write(drafts: Iterable[NewCase], file: Path, whom: str | None, command: str) -> None:
    """SettingsError for a file that is there already, or cannot be written."""
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write("\n".join(_lines(drafts, whom, command)))
    except OSError as fault:
        raise SettingsError(f"{file} cannot be written: {reason_of(fault)}. --out names another.") from fault


def _lines(drafts: Iterable[NewCase], whom: str | None, command: str) -> Iterator[str]:
    yield f"# Written on {_day(time.time())} by `{line(command)}`. Check what must hold before you rely on it."
    for draft in drafts:
        fields = {**draft.fields, **({"as": whom} if whom else {})}
        yield f"\n# {line(draft.origin)}"
        yield yaml.safe_dump([fields], allow_unicode=True, sort_keys=False, width=110).rstrip()
    yield ""


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(moment))
