"""``footnote questions`` and ``footnote gaps``: what was asked, how it ended and what was not answered, beside a
running bot too, which only writes there.
"""

import asyncio
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bots import record
from bots.chat.indexing import embedder_of_index
from bots.chat.texts import clipped, counted, duration, money
from bots.terminal.screen import Screen, line
from core.bootstrap import open_library
from core.errors import SettingsError
from core.gaps.groups import GapGroup, GapReport, open_gaps
from core.library.data_lock import make_data_dir
from core.settings import Settings
from core.storage.storage import open_storage
from core.traces.log import open_question_log
from core.traces.search import FoundQuestion, QuestionFilter, search

COLUMNS = ("When", "Where", "Who", "Ended", "Time", "Cost", "+/−", "Question")


def questions(arguments: Namespace, settings: Settings) -> int:
    make_data_dir(settings.data_dir)
    wanted = QuestionFilter(since=time.time() - arguments.since, ending=arguments.outcome or "")
    with open_storage(settings) as storage, open_question_log(storage, days=settings.trace_days) as log:
        turns = asyncio.run(search(log, wanted))
    if arguments.csv:
        record.write_questions(sys.stdout, turns)
        return 0
    screen = Screen()
    if not turns:
        what = f" ended as “{record.ENDINGS[wanted.ending]}”" if wanted.ending else " was asked"
        screen.note(f"Nothing{what} in this time.")
        return 0
    if screen.is_drawn:
        screen.show(table_of(turns, settings.currency))
    else:
        for turn in turns:
            screen.write("\t".join(cells_of(turn, settings.currency)))
    screen.note(summary_of(turns, settings.currency))
    return 0


def table_of(turns: Sequence[FoundQuestion], currency: str) -> Table:
    """A line for each turn, newest first."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    for name in COLUMNS:
        ratio = {"Where": 1, "Question": 3}.get(name)
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=ratio)
    for turn in turns:
        table.add_row(*map(Text, cells_of(turn, currency)))
    return table


def cells_of(turn: FoundQuestion, currency: str) -> tuple[str, ...]:
    """The cells of a turn in the order of the columns, each on one line, in local time."""
    asked = turn.question
    cells = (
        datetime.fromtimestamp(asked.asked_at).astimezone().strftime("%m-%d %H:%M"),
        turn.channel_name or asked.channel,
        turn.author_name or asked.author,
        record.ended(asked) if asked.kind == "question" else f"{asked.kind}: {record.ended(asked)}",
        duration(1000 * asked.seconds),
        "" if asked.cost is None else money(asked.cost, currency),
        f"{turn.up}/{turn.down}" if turn.up or turn.down else "",
        clipped(asked.question),
    )
    return tuple(map(line, cells))


def summary_of(turns: Sequence[FoundQuestion], currency: str) -> str:
    """ "12 turns: 9 answered, 3 not answered; 40,210 tokens, 0.12 USD." """
    ends = Counter(record.ended(turn.question) for turn in turns)
    counts = ", ".join(f"{count:,} {how}" for how, count in ends.most_common())
    tokens = sum(turn.question.input_tokens + turn.question.output_tokens for turn in turns)
    costs = [turn.question.cost for turn in turns if turn.question.cost is not None]
    spent = f", {money(sum(costs), currency)}" if costs else ""
    return f"{counted(len(turns), 'turn')}: {counts}; {counted(tokens, 'token')}{spent}."


QUESTIONS_SHOWN = 3  # of a group


def gaps(arguments: Namespace, settings: Settings) -> int:
    if arguments.pull_requests and arguments.draft is None:
        raise SettingsError("--pull-requests goes with --draft.")
    if arguments.csv and arguments.draft is not None:
        raise SettingsError("--csv lists questions, and --draft writes files: choose one.")
    if arguments.draft is not None:
        from bots.commands.drafts import draft

        return draft(arguments, settings)
    make_data_dir(settings.data_dir)
    screen = Screen()
    with open_storage(settings) as storage, closing(open_library(settings, storage)) as library:
        with screen.indexing() as notify:
            embedder = embedder_of_index(library, settings, screen.note, notify)
        with open_gaps(storage, lambda: embedder) as finder:
            report = asyncio.run(finder.report(finder.last(arguments.since)))
    if arguments.csv:
        record.write_gaps(sys.stdout, report.groups)
        return 0
    if not report.groups:
        screen.note(
            "Everything that was asked in this time was answered, or its words are not kept any more."
        )
    for group in report.groups:
        screen.show(card_of(group))
    screen.note(summary_of_gaps(report))
    return 0


def card_of(group: GapGroup) -> Group:
    """A group as a few lines, its name first."""
    counts = f"{counted(group.count, 'question')} of {record.people_of(group)}, {record.trend_of(group)}"
    facts = [f"{counts}; {record.reasons_of(group)}"]
    if group.state:
        again = f", {group.since_state:,} not decided" if group.since_state else ""
        facts.append(f"{group.state}{again}")
    if group.missing:
        facts.append(f"missing: {record.missing_in(group)}")
    if group.closest:
        facts.append(f"closest: {', '.join(each.source for each in group.closest)}")
    others = [each.asked for each in group.questions if each.text != group.name]
    words = f"({', '.join(group.words)})" if group.words else ""
    return Group(
        Text.assemble((line(group.name), "bold"), "  ", (line(words), "dim")),
        *(Padding(Text(line(fact), style="dim"), (0, 0, 0, 2)) for fact in facts),
        *(Padding(Text(line(f"“{each}”")), (0, 0, 0, 2)) for each in dict.fromkeys(others[:QUESTIONS_SHOWN])),
        Text(),
    )


def summary_of_gaps(report: GapReport) -> str:
    """ "12 groups of 40 questions, compared by meaning." """
    questions = sum(group.count for group in report.groups)
    how = "by meaning" if report.is_by_meaning else "by their words"
    said = f"{counted(len(report.groups), 'group')} of {counted(questions, 'question')}, compared {how}."
    return " ".join((said, *record.left_out(report)))
