"""``footnote lint``: what may be wrong with the documents, for people and for machines, beside a running bot too.

Exit codes: 0 nothing is found beyond the baseline; 1 something is; 2 wrong use or settings.
"""

from __future__ import annotations

import asyncio
import json
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing, nullcontext
from dataclasses import asdict, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from bots.arguments import FAILED
from bots.chat.access import access_rules, open_to_all
from bots.chat.channels import SCHEMA as CHANNELS
from bots.chat.channels import STORE as CHANNEL_STORE
from bots.chat.texts import NOTHING_INDEXED, clipped, counted
from bots.commands.backend import until_free
from bots.record import iso
from bots.terminal.screen import Screen, line
from core.bootstrap import open_library, open_models, own_data_dir
from core.conversation import Citation, Usage, value
from core.errors import IndexInUse, SettingsError
from core.library.library import Library
from core.library.links import SourceLinks
from core.library.readers import base_of
from core.lint.findings import FINDING_KINDS, TITLES, LintFinding, QuotedPlace
from core.lint.judging import CALLS, Judged, judge
from core.lint.lint import LintRun, in_collection, run_lint
from core.lint.store import USUAL, Accepted, LintStore, read_baseline, single_passages, write_baseline
from core.reasoning.calls import Limits
from core.settings import Settings
from core.storage.storage import Storage, open_storage
from core.traces import log

PATIENCE = 3_600.0  # seconds that the model has for all calls of a run
CHANGES = 6  # of a copy that are shown
SHOWN = 240  # characters of a passage that is shown; sentences are shown whole


@value
class Linted:
    """The findings of one run."""

    run: LintRun
    findings: tuple[LintFinding, ...]  #: that are shown, by kind
    left: int = 0  #: pairs that a model was not asked about
    trouble: str = ""
    usage: Usage


async def lint(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    if unknown := sorted(set(arguments.kind) - {*FINDING_KINDS}):
        raise SettingsError(f"There is no kind {', '.join(unknown)}. There are: {', '.join(FINDING_KINDS)}.")
    file = Path(arguments.baseline or USUAL)
    accepted = read_baseline(file, must_exist=bool(arguments.baseline) and not arguments.write_baseline)
    async with AsyncExitStack() as open_now:
        is_owner = not await asyncio.to_thread(until_free, settings, screen)
        try:
            open_now.enter_context(own_data_dir(settings, "footnote lint") if is_owner else nullcontext())
        except IndexInUse:  # somebody came first
            is_owner = False
        storage = open_now.enter_context(open_storage(settings))
        library = open_now.enter_context(closing(open_library(settings, storage, is_owner=is_owner)))
        opened = Opened(settings=settings, storage=storage, library=library, screen=screen, is_owner=is_owner)
        linted = await _linted(arguments, opened, open_now)
        if arguments.write_baseline:
            write_baseline(file, linted.findings, accepted)
            screen.note(f"{file} accepts {counted(len(linted.findings), 'finding')}. Say in it why.")
            return 0
        known, there = {each.id for each in accepted}, {each.id for each in linted.findings}
        is_all = not (arguments.kind or arguments.collection)
        stale = [each for each in accepted if is_all and each.id not in there]
        links = SourceLinks(
            templates=settings.source_url_base, store=library.store, private=settings.data_dir
        )
        found = [
            replace(each, places=tuple(_located(place, links) for place in each.places))
            for each in linted.findings
            if each.id not in known
        ]
    if arguments.json:
        print(json.dumps(record_of(linted, found, stale)))  # noqa: T201 - this is the output
    else:
        for kind, group in groupby(found, key=lambda each: each.kind):
            screen.show(card_of(TITLES[kind], list(group)))
        for sentence in summary_of(linted, found, len(known & there), stale):
            screen.note(sentence)
    return FAILED if found else 0


@value
class Opened:
    """The stores and models of one run."""

    settings: Settings
    storage: Storage
    library: Library
    screen: Screen
    is_owner: bool  #: False: a bot keeps the index in step


async def _linted(arguments: Namespace, opened: Opened, open_now: AsyncExitStack) -> Linted:
    """Reads what has changed on the disk, compares it, asks the model if there is one, and chooses what is shown."""
    library, store, now = opened.library, LintStore(opened.library.store), time.time()
    with opened.screen.indexing() as notify:
        if opened.is_owner:
            await asyncio.to_thread(library.refresh, notify=notify)
        if not library.store.entries():
            raise SettingsError(NOTHING_INDEXED)
        with closing(opened.storage.database(CHANNEL_STORE, CHANNELS)) as channels:
            rules = access_rules(channels, library.store.collections())
        if arguments.collection and arguments.collection not in rules:
            raise SettingsError(
                f"There is no collection {arguments.collection}. There are: {', '.join(rules)}."
            )
        everybody = open_to_all(rules)
        compare = partial(
            run_lint, library.store, everybody=everybody, now=now, notify=partial(notify, "comparing")
        )
        run = await asyncio.to_thread(compare)
        judged = Judged(findings=tuple(store.findings()), left=0, usage=Usage())
        if (models := open_models(opened.settings, opened.storage, open_now)) is not None:
            limits = Limits(calls=2 * CALLS, round_trips=2 * CALLS)
            model = replace(models, limits=limits).reasoner(turn_timeout=PATIENCE)
            judged = await judge(judged.findings, model, store, partial(notify, "judging"))
    with closing(opened.storage.database(log.STORE, log.SCHEMA)) as questions:
        findings = (*judged.findings, *single_passages(questions, store, now))
    wanted, name = {*arguments.kind} or {*FINDING_KINDS}, arguments.collection
    chosen = [each for each in findings if each.is_shown and each.kind in wanted]
    chosen = [each for each in chosen if name is None or in_collection(each, name)]
    chosen.sort(key=lambda each: FINDING_KINDS.index(each.kind))
    return Linted(
        run=run, findings=tuple(chosen), left=judged.left, trouble=judged.trouble, usage=judged.usage
    )


def _located(place: QuotedPlace, links: SourceLinks) -> QuotedPlace:
    """The place with its line and its link, as far as there are any."""
    citation = Citation(
        number=1, title=place.title, location=" > ".join(place.path), source=place.source, url=place.url,
        quote=place.quote, start=place.start, end=place.end, collection=place.collection,
    )  # fmt: skip
    return replace(place, url=links.address(citation), line=place.line or links.line(citation))


def card_of(title: str, findings: Sequence[LintFinding]) -> Group:
    """The findings of one kind, each with its places and what stands there."""
    parts: list[Any] = [Text(f"{title} ({len(findings):,})", style="bold"), Text()]
    for each in findings:
        for place in each.places:
            parts.append(Padding(Text(line(place.where)), (0, 0, 0, 2)))
            if place.url:
                parts.append(Padding(Text(line(place.url), style="dim"), (0, 0, 0, 4)))
            if not each.changes:
                quote = clipped(place.quote, SHOWN) if each.kind in ("copy", "single") else place.quote
                parts.append(Padding(Text(line(f"“{quote}”")), (0, 0, 0, 4)))
        for change in each.changes[:CHANGES]:
            said = [line(f"“{quote}”") if quote else "nothing" for quote in change]
            parts += (
                Padding(Text(f"{sign} {quote}"), (0, 0, 0, 4)) for sign, quote in zip("<>", said, strict=True)
            )
        if more := len(each.changes) - CHANGES:
            parts += [Padding(Text(f"and {more} more"), (0, 0, 0, 4))] if more > 0 else []
        verdict = " A model says that they contradict each other." if each.verdict else ""
        parts += (Padding(Text(f"{line(each.why)}{verdict} [{each.id}]", style="dim"), (0, 0, 0, 2)), Text())
    return Group(*parts)


def summary_of(
    linted: Linted, found: Sequence[LintFinding], accepted: int, stale: Sequence[Accepted]
) -> list[str]:
    """Sentences: how much was read and found, what is accepted, and what was not judged."""
    run, usage = linted.run, linted.usage
    what = counted(len(found), "finding") if found else "Nothing found"
    lines = [f"{what} in {counted(run.documents, 'document')}, of which {run.changed:,} had changed."]
    if accepted > 0:
        lines.append(f"{counted(accepted, 'more finding')} accepted by the baseline.")
    if stale:
        named = ", ".join(f"{each.id} ({each.where})" for each in stale)
        lines.append(f"The baseline accepts what is not found any more: {named}.")
    if usage.calls:
        tokens = usage.input_tokens + usage.output_tokens
        lines.append(f"The model took {counted(usage.calls, 'call')} and {counted(tokens, 'token')}.")
    if linted.left:
        why = linted.trouble or "the next run asks about them."
        lines.append(f"{counted(linted.left, 'pair')} of places not judged: {why}")
    return lines


def record_of(linted: Linted, found: Sequence[LintFinding], stale: Sequence[Accepted]) -> dict[str, Any]:
    """The object that ``footnote lint --json`` prints."""
    usage = linted.usage
    return {
        "findings": [_record(each) for each in found],
        "stale": [asdict(each) for each in stale],
        "documents": linted.run.documents,
        "changed": linted.run.changed,
        "comparisons": linted.run.comparisons,
        "not_judged": linted.left,
        "trouble": linted.trouble or None,
        "model": {
            "calls": usage.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
        },
    }


def _record(finding: LintFinding) -> dict[str, Any]:
    names = ("source", "title", "line", "url", "quote", "start", "end")
    places = [
        {name: getattr(each, name) for name in names}
        | {"collection": base_of(each.collection), "path": list(each.path)}
        for each in finding.places
    ]
    return {
        "id": finding.id, "kind": finding.kind, "why": finding.why, "verdict": finding.verdict or None,
        "found_at": iso(finding.found_at or None), "collections": sorted({*map(base_of, finding.collections)}), "places": places,
        "changes": [list(each) for each in finding.changes],
    }  # fmt: skip
