"""Clocks that jump: an hour back, a day or a month ahead, and what a person notices of it."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from discord.utils import snowflake_time, time_snowflake
from fakes.messengers import RecordingMessenger
from fakes.scripted import (
    HERE,
    OTHER,
    TOWER,
    WEB,
    ScriptedDocuments,
    ScriptedReasoner,
    ScriptedWeb,
    assistant_over,
    decision,
    question,
)
from fakes.shelf import open_library

from bots.chat.indexing import DOWNLOAD_FAILED, failed_recently
from bots.discord.backfill import BACKFILL_LIMIT, backfill_start
from bots.discord.settings import DiscordSettings, fetch_application
from bots.slack.serve import CLOCK_SKEW, skew_of
from core.library.library import Library
from core.reasoning.limits import Circuit, open_budget
from core.turns.queue import RETENTION, sweep
from core.turns.rate_limits import Rate, Rates
from core.turns.turns import open_turns
from core.turns.waiting import UnhurriedClock
from core.web.request import WAIT_LIMIT, seconds_asked

ROOT = Path(__file__).resolve().parents[3]
MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
NOON = datetime(2026, 3, 29, 12, tzinfo=UTC).timestamp()

#: Every place that reads the time on the wall, and what a jump of it does there. All else is measured by
#: clocks that only go forward. A place that is not named here is one that nobody has thought about.
READ_ON_THE_WALL = {
    "core/reasoning/limits.py": "counts tokens by the day: a day that comes again is counted on",
    "core/turns/rate_limits.py": "which questions are older than a rate limit counts",
    "core/turns/archive.py": "is never further ahead than what has really passed; else reads what it is given",
    "core/turns/waiting.py": "only where no time is given",
    "core/turns/queue.py": "only where no time is given",
    "core/web/request.py": "how long an engine wants to be left alone, at most WAIT_LIMIT",
    "core/graph/context.py": "only where no clock is given: tells when a search was decided, and until when it can be",
    "core/turns/turns.py": "how long a proposal waits for its expiry; a jump ends it earlier or later",
    "bots/chat/commands.py": "which answers of the last 30 days are counted in help",
    "bots/chat/proposals.py": "tells a time",
    "bots/chat/inbox.py": "orders an errand that runs apart from all others; what counts of the time before the start",
    "bots/discord/backfill.py": "tells one change of a channel from another, and reads what it is given",
    "bots/discord/settings.py": "compares it with Discord's",
    "bots/doctor/stores.py": "tells how old a thread is",
    "bots/testing/report.py": "stands in the report",
    "bots/testing/drafting.py": "stands in a new file of questions",
    "bots/commands/test.py": "stands in JUnit XML, and since when questions are read",
    "bots/chat/indexing.py": "a note of a time to come says nothing",
    "bots/commands/backend.py": "orders the work that a command leaves to a bot, which runs apart from all else",
    "bots/terminal/messenger.py": "which results of killed commands are old; a jump deletes them earlier or later",
    "bots/stores/server.py": "which questions of the last day a move lets rate limits count",
    "core/traces/log.py": "which texts of questions are old; a jump deletes them earlier or later",
    "core/traces/figures.py": "reads what it is given",
    "core/library/formats/mail.py": "reads what it is given",
    "bots/page/views/feedback.py": "when somebody was done with feedback",
    "bots/page/sessions.py": "how long links and sessions live, which a jump ends earlier or later; when something was changed",
    "bots/mcp/identity.py": "which signed requests are old; a jump refuses them, or takes them a little longer",
    "bots/mcp/serve.py": "which threads of assistants are old; a jump deletes them earlier or later",
    "bots/mcp/tools.py": "when a question was asked, and a search decided",
    "bots/mcp/tokens.py": "how long tokens live; a jump ends them earlier or later",
    "bots/page/templating.py": "tells a time",
    "bots/page/views/ask.py": "when a question was asked",
    "core/answers/rechecks.py": "which answers are looked at again; a jump lets go of some, of which nobody is told then",
    "core/answers/answers.py": "which answers are due for review; a jump uses them shorter or longer",
    "bots/chat/access.py": "when experts were asked, which orders requests in a thread",
    "bots/commands/documents.py": "which answers are due for review",
    "bots/digest.py": "reads what it is given",
    "core/gaps/groups.py": "the span that is looked at",
    "bots/record.py": "tells a time",
    "bots/commands/sources.py": "tells a time",
    "core/sources/sources.py": "when a source was last read, and is due again; a jump reads it earlier or later",
    "core/sources/documents.py": "what was not seen for STALE_AFTER days; a jump marks it earlier or later",
    "core/sources/confluence/source.py": "which people were asked about within a day; a time to come counts as long ago",
    "core/sources/drive/client.py": "Google's tokens say when they end; one that is refused is asked for anew",
    "core/sources/drive/reader.py": "which permissions have ended; they are looked at again at each sync",
    "core/sources/github/client.py": "until GitHub has told its own time",
    "core/sources/notion/listing.py": "reads what it is given, by Notion's clock",
    "core/sources/github/source.py": "when everything was listed; a time to come lists it again",
    "core/library/documents.py": "tells a day",
    "core/library/formats/dates.py": "a date more than a day ahead is none; a jump back leaves a document without one",
    "bots/chat/channel_source.py": "tells a day and a time",
    "bots/doctor/sources.py": "which syncs are overdue; tells a time",
    "core/sources/git/client.py": "which locks were left by a killed git; a jump removes one earlier or later",
    "bots/commands/lint.py": "when something was found first; which questions are of the last month",
    "bots/commands/questions.py": "the span that is listed; tells a time",
    "core/library/library.py": "when the documents were last brought up to date, as help tells",
    "bots/terminal/session.py": "tells when a question was asked",
    "bots/process.py": "stands in the log",
    "core/wording.py": "tells a time",
    "bots/doctor/slack.py": "compares it with Slack's",
    "bots/slack/oauth.py": "which begun installations have expired; who is turned away begins again",
    "bots/slack/serve.py": "Slack's own rule of five minutes, told in the log; when a modal was submitted, which has no time",
}
_WALL = re.compile(
    r"\btime\.time\b|from time import .*\btime\b|datetime\.(?:now|fromtimestamp|today)|time\.local"
)


def test_whatever_reads_the_wall_is_known():
    reading = {
        str(file.relative_to(ROOT))
        for folder in ("core", "bots")
        for file in (ROOT / folder).rglob("*.py")
        if _WALL.search(file.read_text(encoding="utf-8"))
    }

    assert reading == set(READ_ON_THE_WALL)


# What is deleted by its age


def clock_that_began(wall, steady):
    """An unhurried clock over two times that a test may change."""
    return UnhurriedClock(wall=lambda: wall[0], steady=lambda: steady[0])


@pytest.mark.parametrize(
    ("jump", "told"), [(0.0, HOUR), (30 * DAY, HOUR), (-HOUR, 0.0), (-30 * DAY, HOUR - 30 * DAY)]
)
def test_an_unhurried_clock_follows_the_wall_back_but_never_ahead(jump, told):
    wall, steady = [NOON], [5.0]
    clock = clock_that_began(wall, steady)

    wall[0], steady[0] = NOON + HOUR + jump, 5.0 + HOUR

    assert clock.now() - NOON == told


def test_an_unhurried_clock_that_began_ahead_is_set_right_with_the_wall():
    wall, steady = [NOON + 30 * DAY], [0.0]
    clock = clock_that_began(wall, steady)

    wall[0], steady[0] = NOON + MINUTE, MINUTE

    assert clock.now() == NOON + MINUTE


@asynccontextmanager
async def turns_over(folder, messenger):
    async with (
        assistant_over(folder, ScriptedReasoner(), ScriptedDocuments(default=(TOWER,))) as assistant,
        open_turns(
            assistant, {"test": messenger}, database_url=f"sqlite:///{folder / 'turns.sqlite'}"
        ) as turns,
    ):
        yield turns


async def test_a_clock_a_month_ahead_forgets_no_young_turn_and_the_real_month_does(folder):
    messenger, wall, steady = RecordingMessenger(), [time.time()], [0.0]
    async with turns_over(folder, messenger) as turns:
        for number in (1, 2):
            await turns.accept(question(id=f"q{number}"), {})
        await messenger.until_delivered("q1", "q2")
        clock = clock_that_began(wall, steady)

        wall[0], steady[0] = wall[0] + 30 * DAY, HOUR
        jumped = await sweep(now=clock.now())
        steady[0] = RETENTION.total_seconds() + HOUR
        passed = await sweep(now=clock.now())

    assert jumped == 0
    assert passed >= 1  # the last one may not have been written down as finished yet


# Order, and what a conversation remembers


async def test_turns_run_whatever_time_they_say_they_are_of(folder):
    messenger = RecordingMessenger()
    async with turns_over(folder, messenger) as turns:
        for number, asked_at in enumerate((NOON, NOON - HOUR, NOON + DAY, NOON - 30 * DAY)):
            await turns.accept(replace(question(id=f"q{number}"), asked_at=asked_at), {})
        await messenger.until_delivered("q0", "q1", "q2", "q3")

    assert sorted(messenger.delivered) == ["q0", "q1", "q2", "q3"]


def set_ahead(conversations):
    """Let what is stored be of a day to come, as a clock that was wrong would have written it."""
    with closing(sqlite3.connect(conversations)) as database, database:
        written = {row[0] for row in database.execute("SELECT checkpoint_id FROM checkpoints")}
        for then in written:
            later = f"{int(then[:8], 16) + (1 << 12):08x}{then[8:]}"  # it begins with its time: a day more
            database.execute(
                "UPDATE checkpoints SET checkpoint_id = ? WHERE checkpoint_id = ?", (later, then)
            )


async def test_after_the_clock_was_set_back_a_conversation_goes_on_from_what_was_said_last(tmp_path):
    reasoner = ScriptedReasoner(
        relevance=lambda found: "correct" if found.passage.origin == "web" else "incorrect",
        sufficient=lambda: bool(web.sent),
    )
    documents, web = ScriptedDocuments(default=(OTHER,), confidence=0.1), ScriptedWeb(hits=WEB)
    async with assistant_over(tmp_path, reasoner, documents, web=web) as assistant:
        await assistant.run(question("How tall is the first?", id="q1"))
    set_ahead(tmp_path / "conversations.sqlite")

    async with assistant_over(tmp_path, reasoner, documents, web=web) as assistant:
        second = await assistant.run(question("How tall is the second?", id="q2"))
    async with assistant_over(tmp_path, reasoner, documents, web=web) as assistant:
        proposals = await assistant.proposals(HERE)
        decided = await assistant.run(decision(second.proposal.id, id="d2"))
        state = (await assistant._open(HERE)).state

    assert [proposal.turn_id for proposal in proposals] == ["q1", "q2"]
    assert decided.kind == "answered"
    assert web.sent == [second.proposal.query]
    assert [exchange.question for exchange in state["history"]] == [
        "How tall is the first?",
        "How tall is the second?",
    ]


# Rates, budgets and pauses


def test_nobody_waits_longer_than_the_rate_after_the_clock_was_set_back():
    asked = Rates(per_person=Rate(count=2, period="minute"))
    for at in (NOON, NOON + 1):
        assert asked.admit("ann", "general", at) is None

    after = [asked.admit("ann", "general", NOON - HOUR + second) for second in (2, 3, 4)]

    assert after[:2] == [None, None]
    assert after[2].sentence.endswith("Please ask again in a minute.")


def test_a_day_ahead_begins_the_count_anew_and_the_way_back_does_not_lock_anybody_out():
    asked = Rates(per_person=Rate(count=1, period="hour"))

    told = [asked.admit("ann", "general", at) for at in (NOON, NOON + DAY, NOON + 1, NOON + 2)]

    assert told[:3] == [None, None, None]
    assert told[3] is not None


async def test_a_budget_is_not_given_twice_by_a_clock_that_goes_back(storage):
    now = [datetime.fromtimestamp(NOON, UTC)]
    with open_budget(10, storage, lambda: now[0]) as budget:
        allowance = budget.allowance("general", "ann")
        await allowance.charge(10)
        now[0] -= timedelta(hours=1)
        an_hour_back = await allowance.find_spent()
        now[0] += timedelta(days=1)
        tomorrow = await allowance.find_spent()
        now[0] -= timedelta(days=1)
        today_again = await allowance.find_spent()

    assert (an_hour_back, tomorrow, today_again) == ("everybody", None, "everybody")


async def test_what_was_spent_is_remembered_by_a_process_that_starts_a_month_ahead(storage):
    today = datetime.fromtimestamp(NOON, UTC)
    with open_budget(10, storage, lambda: today) as budget:
        await budget.allowance("general", "ann").charge(10)
    with open_budget(10, storage, lambda: today + timedelta(days=30)) as ahead:
        await ahead.allowance("general", "ann").charge(1)

    with open_budget(10, storage, lambda: today) as budget:
        assert await budget.allowance("general", "ann").find_spent() == "everybody"


def test_a_circuit_is_closed_again_by_a_clock_that_only_goes_forward():
    assert Circuit().clock is time.monotonic


@pytest.mark.parametrize("jump", [-HOUR, DAY])
def test_an_engine_is_left_alone_for_a_while_and_never_for_long(jump):
    wanted = "Sun, 29 Mar 2026 12:00:30 GMT"
    now = datetime.fromtimestamp(NOON + jump, UTC)

    assert seconds_asked(wanted, now=datetime.fromtimestamp(NOON, UTC)) == 30
    assert 0 <= seconds_asked(wanted, now=now) <= WAIT_LIMIT


@pytest.fixture
def library(tmp_path) -> Library:
    library = open_library(tmp_path / "data")
    yield library
    library.close()


@pytest.mark.parametrize(
    ("jump", "is_left_alone"), [(MINUTE, True), (2 * HOUR, False), (-HOUR, False), (-30 * DAY, False)]
)
def test_a_network_that_could_not_be_had_is_tried_again_after_a_jump(library, jump, is_left_alone):
    library.store.set_meta(DOWNLOAD_FAILED, str(NOON))

    assert failed_recently(library, NOON + jump) == is_left_alone


# The platforms' clocks and ours


def signed(body, secret, at):
    import hashlib
    import hmac

    made = hmac.new(secret, b"v0:%d:%b" % (at, body), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(int(at)), "X-Slack-Signature": f"v0={made}"}


@pytest.mark.parametrize("jump", [-HOUR, DAY, 30 * DAY])
def test_what_slack_signed_is_turned_away_by_a_clock_that_is_wrong_and_the_log_can_tell_why(jump):
    headers = signed(b"{}", b"secret", NOON)

    assert skew_of(headers, b"{}", "secret", NOON + 1) == 1
    assert skew_of(headers, b"{}", "secret", NOON + jump) == jump
    assert abs(jump) > CLOCK_SKEW
    assert skew_of(headers, b"{}", "another", NOON + jump) is None
    assert skew_of({}, b"{}", "secret", NOON + jump) is None


async def test_what_was_missed_in_discord_is_looked_for_by_discords_clock(aiohttp_discord):
    """This machine is a month ahead, and would take a question of a minute ago for one of long ago."""
    application = await fetch_application(aiohttp_discord)
    heard = time_snowflake(datetime.fromtimestamp(NOON, UTC))
    ours = NOON + MINUTE + application.ahead

    looked_from = snowflake_time(backfill_start(heard, ours - application.ahead)).timestamp()
    fooled = snowflake_time(backfill_start(heard, NOON + 30 * DAY)).timestamp()

    assert application.ahead == pytest.approx(30 * DAY, abs=MINUTE)
    assert looked_from < NOON
    assert fooled > NOON + DAY
    assert BACKFILL_LIMIT == DAY


@pytest.fixture
async def aiohttp_discord():
    """Discord, which says that it is a month ago."""
    from email.utils import formatdate

    from aiohttp import web

    async def reply(request):
        date = formatdate(time.time() - 30 * DAY, usegmt=True)
        about = {"id": "1", "name": "footnote", "flags": 0, "url": "wss://127.0.0.1:9"}
        return web.json_response(about, headers={"Date": date})

    app = web.Application()
    app.router.add_get("/api/v10/{rest:.*}", reply)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield DiscordSettings(token="token", api_url=f"http://127.0.0.1:{runner.addresses[0][1]}/api/v10")
    await runner.cleanup()
