"""``footnote gaps``: what was not answered, grouped by meaning; beside a running bot too, which is only read."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from contextlib import closing

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from bots.chat.indexing import find_embedder
from bots.chat.texts import counted
from bots.gap_digest import left_out, people_of, reasons_of, trend_of
from bots.record import write_gaps
from bots.terminal.screen import Screen, line
from core.bootstrap import open_library
from core.gaps.groups import GapGroup, GapReport, open_gaps
from core.library.data_lock import make_data_dir
from core.library.embedding.embedder import Embedder
from core.library.library import Library
from core.settings import Settings
from core.storage.storage import open_storage

QUESTIONS_SHOWN = 3  # of a group


def run(arguments: Namespace, settings: Settings) -> int:
    make_data_dir(settings.data_dir)
    screen = Screen()
    with open_storage(settings) as storage, closing(open_library(settings, storage)) as library:
        embedder = _embedder_of(library, settings, screen)
        with open_gaps(storage, lambda: embedder) as finder:
            report = asyncio.run(finder.report(finder.last(arguments.since)))
    if arguments.csv:
        write_gaps(sys.stdout, report.groups)
        return 0
    if not report.groups:
        screen.note(
            "Everything that was asked in this time was answered, or its words are not kept any more."
        )
    for group in report.groups:
        screen.show(card_of(group))
    screen.note(summary_of(report))
    return 0


def _embedder_of(library: Library, settings: Settings, screen: Screen) -> Embedder | None:
    """That of the library's vectors; None where there are none: questions are then grouped by their words."""
    if not library.store.has_vectors():
        return None
    with screen.indexing() as notify:
        return find_embedder(library, settings, insist=False, announce=screen.note, notify=notify)


def card_of(group: GapGroup) -> Group:
    """A group as a few lines, its name first."""
    counts = f"{counted(group.count, 'question')} of {people_of(group)}, {trend_of(group)}"
    facts = [f"{counts}; {reasons_of(group)}"]
    if group.state:
        again = f", {group.since_state:,} not decided" if group.since_state else ""
        facts.append(f"{group.state}{again}")
    if group.missing:
        facts.append(f"missing: {'; '.join(group.missing)}")
    if group.closest:
        facts.append(f"closest: {', '.join(each.source for each in group.closest)}")
    others = [each.asked for each in group.questions if each.text != group.name]
    words = f"  ({', '.join(group.words)})" if group.words else ""
    return Group(
        Text.assemble((line(group.name), "bold"), (line(words), "dim")),
        *(Padding(Text(line(fact), style="dim"), (0, 0, 0, 2)) for fact in facts),
        *(Padding(Text(line(f"“{each}”")), (0, 0, 0, 2)) for each in dict.fromkeys(others[:QUESTIONS_SHOWN])),
        Text(),
    )


def summary_of(report: GapReport) -> str:
    """ "12 groups of 40 questions, compared by meaning." """
    questions = sum(group.count for group in report.groups)
    how = "by meaning" if report.is_by_meaning else "by their words"
    said = f"{counted(len(report.groups), 'group')} of {counted(questions, 'question')}, compared {how}."
    return " ".join((said, *left_out(report)))
