"""Questions and other messages at a steady rate through Slack: the real command, the real slack-bolt.

Slack is the local one of the tests, in this process; the model, which takes its time, a server of its
own; the bot another. A question is answered when the message that holds its answer is shown, and not
when a plan is. Overhead is the time until then, less what the model took for its chain of replies.
The bot's CPU is that of its process alone, less what it uses when nothing is asked. On two processors
the three share what there is.

``--watched`` also counts statements, calls in threads and callbacks, and finds the longest of these;
that costs CPU, so take the other figures from a run without it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from fakes.office import FERRY, Office, make_data_dir
from fakes.slack import FakeSlack, Message

from benchmarks import ROOT, Say
from benchmarks.model_server import API_KEY, Scenario, local_model
from bots.testing.report import Section, Table, percentile
from core.conversation import value

WATCHED = Path(__file__).with_name("watched")
CHANNELS = 40
WARM = 4  # questions before those that count, in places of their own: modules, connections and caches
IDLE = 15.0  # seconds without questions, in which the bot's idle CPU is measured
PATIENCE = 300.0  # seconds for what is still under way when the last question was asked
TALK = "I am at my desk until five."  # what people say to each other, and not to the bot
TICKS = os.sysconf("SC_CLK_TCK")  # of CPU, a second


@value
class Load:
    """What is asked of the bot."""

    rate: float  #: questions a second
    events: float  #: other messages a second
    seconds: float
    latency: float  #: seconds of one reply of the model
    is_watched: bool


@value
class Used:
    """What a process used until a moment."""

    at: float  #: seconds, by the monotonic clock
    cpu: float  #: milliseconds, user and system
    counts: Counter[str]

    def since(self, before: Used) -> Used:
        return Used(at=self.at - before.at, cpu=self.cpu - before.cpu, counts=self.counts - before.counts)

    def beyond(self, idle: Used) -> dict[str, float]:
        """What it used more than when idle for as long; counts by their names."""
        share = self.at / idle.at
        more = {name: count - share * idle.counts[name] for name, count in sorted(self.counts.items())}
        return {"CPU ms of the bot": self.cpu - share * idle.cpu, **more}


@dataclass
class Answers:
    """When each question had its answer, by the time it was asked."""

    slack: FakeSlack
    asked: list[Message] = field(default_factory=list)
    at: dict[str, float] = field(default_factory=dict)
    _seen: int = field(init=False)

    def __post_init__(self) -> None:
        self._seen = len(self.slack.shown)  # what was shown before answers none of these

    async def until_all_there(self) -> None:
        with suppress(AssertionError):  # the figures tell how many are missing
            await self.slack.until(self._are_there, within=PATIENCE)

    def _are_there(self) -> bool:
        """An answer says of itself which part of which turn it is; a plan and a first sign do not."""
        new, self._seen = self.slack.shown[self._seen :], len(self.slack.shown)
        for shown in new:
            if ((shown.metadata or {}).get("event_payload") or {}).get("part") == 0:
                self.at.setdefault(shown.thread_ts, shown.at)
        return len(self.at) == len(self.asked)


async def load(asked: Load, folder: Path) -> dict[str, float]:
    async with local_model() as model, FakeSlack() as slack, AsyncExitStack() as ending:
        await model.begin(Scenario(latency=asked.latency, relevant="Sark"))
        ann = slack.add_user("ann")
        channels = [slack.add_channel(f"c{number}", ann) for number in range(CHANNELS)]
        office = Office(folder=folder, slack=slack)
        office.settings = settings_of(model.base_url, is_watched=asked.is_watched)
        await office.open(is_cold=True, is_connected=False)
        ending.push_async_callback(office.__aexit__)
        await slack.until_connected(2, within=PATIENCE)
        warm = Answers(slack, [await slack.mention(ann, each, FERRY) for each in channels[:WARM]])
        await warm.until_all_there()
        began = await used_by(office)
        await asyncio.sleep(IDLE)
        before = await used_by(office)
        idle, fake = before.since(began), time.process_time()
        answers, deliveries = Answers(slack), len(slack.deliveries.all)
        sent = await asyncio.gather(
            ask(slack, ann, channels, asked, answers), _talk(slack, ann, channels, asked)
        )
        await answers.until_all_there()
        used = (await used_by(office)).since(before)
        fake = time.process_time() - fake
        await office.stop()
        count = len(answers.asked)
        return figures(answers, asked.latency, deliveries) | {
            "questions": count,
            "asked each second": count / sent[0],
            "idle CPU, % of one processor": idle.cpu / idle.at / 10,
            "CPU ms of the bot a question": used.cpu / count,
            **{f"{what} a question, less idle": more / count for what, more in used.beyond(idle).items()},
            "CPU ms of Slack and of those who ask, a question": 1000 * fake / count,
            **_lateness(office),
            **(_longest(office) if asked.is_watched else {}),
        }  # fmt: skip


def settings_of(model_url: str, *, is_watched: bool = False) -> dict[str, str]:
    """Of a bot that asks the local model. It logs what people's bots log."""
    folders = (ROOT, ROOT / "tests", WATCHED) if is_watched else (ROOT, ROOT / "tests")
    return {
        "GOOGLE_API_KEY": API_KEY,
        "GOOGLE_GEMINI_BASE_URL": model_url,
        "LOG_LEVEL": "info",
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
    }


async def ask(slack: FakeSlack, ann: str, channels: Sequence[str], asked: Load, answers: Answers) -> float:
    """Ask at a steady rate; returns the seconds that it took."""
    began, places = time.monotonic(), cycle(channels)
    for number in range(round(asked.rate * asked.seconds)):
        await asyncio.sleep(max(0.0, began + number / asked.rate - time.monotonic()))
        answers.asked.append(await slack.mention(ann, next(places), FERRY))
    return time.monotonic() - began


async def _talk(slack: FakeSlack, ann: str, channels: list[str], asked: Load) -> None:
    """Messages to nobody in particular; the bot is told of each."""
    began, places = time.monotonic(), cycle(channels)
    for number in range(round(asked.events * asked.seconds)):
        await asyncio.sleep(max(0.0, began + number / asked.events - time.monotonic()))
        await slack.say(ann, next(places), TALK)


def figures(answers: Answers, latency: float, earlier: int) -> dict[str, float]:
    """Overhead is what a question took beyond two replies of the model, its chain on the happy path.

    ``earlier``: so many events were delivered before.
    """
    slack, ended = answers.slack, [each for each in answers.asked if each.ts in answers.at]
    took = [answers.at[each.ts] - float(each.ts) - 2 * latency for each in ended]
    right = sum("handbook.md" in slack.replies(each.channel, each.ts)[-1].visible for each in ended)
    delivered = slack.deliveries.all[earlier:]
    acked = sorted(one.latency for one in delivered if one.is_acked)
    seconds = delivered[-1].attempts[0].at - delivered[0].attempts[0].at
    return {
        "answered": len(took),
        "answered with a footnote": right,
        "overhead p50, s": percentile(took, 0.5),
        "overhead p95, s": percentile(took, 0.95),
        "events each second": len(delivered) / seconds,
        "events not acknowledged": len(delivered) - len(acked),
        "acknowledged p50, s": percentile(acked, 0.5),
        "acknowledged p99, s": percentile(acked, 0.99),
    }


async def used_by(office: Office) -> Used:
    """What the bot has used; where it is watched, with its counts."""
    pid, told = office.process.pid, len(_counts(office))
    is_watched = str(WATCHED) in office.settings["PYTHONPATH"]
    if is_watched:
        os.kill(pid, signal.SIGUSR1)
        await office.slack.until(lambda: len(_counts(office)) > told)
    counts = Counter(_counts(office)[-1]["counts"] if is_watched else {})
    return Used(at=time.monotonic(), cpu=cpu_of(pid), counts=counts)


def cpu_of(pid: int, *, with_ended: bool = False) -> float:
    """Milliseconds, user and system, of every thread; also of its processes that ended if ``with_ended``."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    last = 15 if with_ended else 13
    return 1000 * sum(map(int, stat.rpartition(")")[2].split()[11:last])) / TICKS


def _counts(office: Office) -> list[dict]:
    return [json.loads(line) for line in office.log.splitlines() if '"counts"' in line]


def _lateness(office: Office) -> dict[str, float]:
    told = [json.loads(line) for line in office.log.splitlines() if "the event loop was at most" in line]
    errors = [each for each in office.faults if each["level"] != "warning"]
    return {
        "event loop late p99, ms": max(each["p99_ms"] for each in told),
        "event loop late at most, ms": max(each["most_ms"] for each in told),
        "errors in the log": len(errors),
    }


def _longest(office: Office) -> dict[str, float]:
    """The longest callback once it served, in processor time; the command's own task is its opening."""
    name, took = next(each for each in _counts(office)[-1]["longest_callbacks"] if each[0] != "_run")
    return {f"CPU ms of the longest callback ({name})": took}


def run(
    say: Say,
    *,
    rate: float = 20.0,
    events: float = 10.0,
    seconds: float = 60.0,
    latency: float = 1.0,
    watched: bool = False,
) -> Section:
    """``rate`` questions and ``events`` other messages a second; the model takes ``latency`` seconds a reply."""
    asked = Load(rate=rate, events=events, seconds=seconds, latency=latency, is_watched=watched)
    say(f"{rate * seconds:,.0f} questions, {events * seconds:,.0f} other messages")
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(load(asked, make_data_dir(Path(folder))))
    return Section(
        name="load",
        title="Questions a second through Slack",
        what=(
            f"{rate:g} questions and {events:g} other messages a second for {seconds:g} seconds, "
            f"{latency:g} seconds a reply of the model."
        ),
        tables=(Table(title="Load", columns=("what", "measured"), rows=tuple(found.items())),),
        figures=found,
    )
