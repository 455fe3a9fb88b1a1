"""Questions at a steady rate through Slack: the real command, the real slack-bolt, a model that takes its time.

Slack is the local one of the tests, in this process; the model a server of its own, the bot
another. Overhead is the time from a question to its final answer, less what the model took for
its chain of replies. On two processors the three share what there is.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

# Where the tests of Slack keep what they share.
sys.path.append(str(Path(__file__).resolve().parents[1] / "slack"))

from fakes.slack import FakeSlack
from office import FERRY, Office, make_data_dir

from benchmarks import ROOT, Say
from benchmarks.model_server import API_KEY, Scenario, local_model
from bots.eval.intervals import percentile
from bots.eval.report import Section, Table

TIMED = Path(__file__).with_name("timed")
CHANNELS = 40
PATIENCE = 300.0  # seconds for what is still under way when the last question was asked


async def load(rate: float, seconds: float, latency: float, folder: Path) -> dict[str, float]:
    async with local_model() as model, FakeSlack() as slack:
        await model.begin(Scenario(latency=latency, relevant="Sark"))
        ann = slack.add_user("ann")
        channels = [slack.add_channel(f"c{number}", ann) for number in range(CHANNELS)]
        office = Office(folder=folder, slack=slack)
        office.settings = {
            "GOOGLE_API_KEY": API_KEY,
            "GOOGLE_GEMINI_BASE_URL": model.base_url,
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests", TIMED))),
        }
        await office.open(is_cold=True)
        warm = await slack.mention(ann, channels[0], FERRY)
        await office.until_answered(warm)
        used = _cpu_of_children(office)
        asked, began = [], time.monotonic()
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            asked.append(await slack.mention(ann, channels[number % CHANNELS], FERRY))
        sent = time.monotonic() - began
        ended = await _until_all_answered(slack, asked)
        used = _cpu_of_children(office) - used
        await office.stop()
    return figures(slack, asked, ended, latency) | {
        "questions": len(asked),
        "asked each second": len(asked) / sent,
        "CPU ms of the bot a question": 1000 * used / len(asked),
        **_lateness(office),
    }


async def _until_all_answered(slack: FakeSlack, asked: list) -> dict[str, float]:
    """When each question had its final answer, by the question's time."""
    ended: dict[str, float] = {}
    threads = {each.ts for each in asked}
    until = time.monotonic() + PATIENCE
    while len(ended) < len(asked) and time.monotonic() < until:
        await asyncio.sleep(0.5)
        for shown in slack.shown:
            if shown.thread_ts in threads and shown.action != "status" and not shown.visible.endswith("…"):
                ended.setdefault(shown.thread_ts, shown.at)
    return ended


def figures(slack: FakeSlack, asked: list, ended: dict[str, float], latency: float) -> dict[str, float]:
    """Overhead is what a question took beyond two replies of the model, its chain on the happy path."""
    took = [ended[each.ts] - float(each.ts) - 2 * latency for each in asked if each.ts in ended]
    right = sum(
        "handbook.md" in slack.replies(each.channel, each.ts)[-1].visible
        for each in asked
        if each.ts in ended
    )
    acked = slack.ack_latencies()
    return {
        "answered": len(took),
        "answered with a footnote": right,
        "overhead p50, s": percentile(took, 0.5),
        "overhead p95, s": percentile(took, 0.95),
        "acknowledged p99, s": percentile(acked, 0.99),
    }


def _cpu_of_children(office: Office) -> float:
    """Seconds of CPU that the bot has used; Linux tells it in ticks."""
    ticks = (
        Path(f"/proc/{office.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
    )
    return sum(map(int, ticks)) / 100


def _lateness(office: Office) -> dict[str, float]:
    told = [json.loads(line) for line in office.log.splitlines() if "event loop was late" in line]
    errors = [each for each in office.faults if each["level"] != "warning"]
    return {
        "event loop late p99, ms": max(each["p99_ms"] for each in told),
        "event loop late at most, ms": max(each["most_ms"] for each in told),
        **_longest(office),
        "errors in the log": len(errors),
    }


def _longest(office: Office) -> dict[str, float]:
    """The longest callback once it served, in processor time; the command's own task is its opening."""
    (line,) = (line for line in office.log.splitlines() if "longest_callbacks" in line)
    name, took = next(each for each in json.loads(line)["longest_callbacks"] if each[0] != "_run")
    return {f"CPU ms of the longest callback ({name})": took}


def run(say: Say, *, rate: float = 50.0, seconds: float = 60.0, latency: float = 1.0) -> Section:
    """``rate`` questions a second; the model takes ``latency`` seconds a reply."""
    say(f"{rate * seconds:,.0f} questions")
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(load(rate, seconds, latency, make_data_dir(Path(folder))))
    return Section(
        name="load",
        title="Questions a second through Slack",
        what=f"{rate:g} questions a second for {seconds:g} seconds, {latency:g} seconds a reply of the model.",
        tables=(Table(title="Load", columns=("what", "measured"), rows=tuple(found.items())),),
        figures=found,
    )
