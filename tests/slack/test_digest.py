"""The weekly digest of gaps in a channel: once, of what may be read there, over kills and refusals."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest
from fakes.scripted import question

from bots.chat.channels import ChannelStore, open_channel_store
from bots.digest import GapDigests, channels_of, in_discord, in_slack, last_week
from bots.slack.calls import open_calls
from bots.slack.people import SlackPeople
from bots.slack.post import SlackPosts
from bots.slack.render import LAYOUT
from bots.slack.settings import read_slack_settings
from core.answers import store as answers
from core.answers.store import KeptAnswer
from core.bootstrap import open_library
from core.conversation import Answer, Conversation, Outcome
from core.gaps.groups import GapFinder, open_gaps
from core.library.library import Library
from core.settings import Settings, read_settings
from core.storage.storage import open_storage
from core.traces.log import DAY, QuestionLog, open_question_log
from core.traces.trace import Trace

MONDAY = datetime(2026, 11, 23, 9, 30, tzinfo=UTC).timestamp()
ANSWER = Answer(text="At nine.", citations=(), grounding="documents", composed=False)
PERMITS = ("How do I renew my parking permit?", "Where can parking permits be renewed?")


@dataclass
class Slacked:
    """What posts digests into a channel of the fake Slack."""

    digests: GapDigests
    finder: GapFinder
    log: QuestionLog
    channels: ChannelStore
    library: Library
    space: str
    channel: str

    async def ask(self, text, *, id, channel=None, days_ago=3.0, answer=None):
        conversation = Conversation(
            platform="slack", space=self.space, channel=channel or self.channel, thread="1"
        )
        asked = replace(question(text, id=id), conversation=conversation, asked_at=MONDAY - days_ago * DAY)
        kind = "answered" if answer else "no_answer"
        await self.log.record(asked, Outcome(kind=kind, turn_id=id, answer=answer), Trace())

    def taught(self, id, question, *, collection, days_ago=3.0):
        said = KeptAnswer(
            id=id, question=question, text="Room 3.", author="U1", name="Ann", place="#help", conversation="", message=id,
            url=None, collection=collection, language="en", said_at=MONDAY, kept_at=MONDAY - days_ago * DAY,
            valid_until=MONDAY + DAY, state="used",
        )  # fmt: skip
        answers.put(self.finder.answers.database, said)


@asynccontextmanager
async def at_slack(slack, folder, channel):
    settings = Settings(data_dir=folder)
    with (
        open_storage(settings) as storage,
        open_channel_store(storage) as channels,
        open_question_log(storage, days=14) as log,
        open_gaps(storage, lambda: None) as finder,
    ):
        library = open_library(settings, storage, is_owner=True)
        log.now = finder.now = lambda: MONDAY
        async with open_calls(read_slack_settings(slack.environment)) as calls:
            calls.installations.add(await calls.identify(slack.bot_token))

            class Messages:
                posts = SlackPosts(calls=calls)
                renderer = LAYOUT

            people = SlackPeople(calls=calls)
            digests = GapDigests(
                channels=channels_of("slack", [f"slack/{slack.team}/{channel}", "discord/1/2"]),
                target=in_slack, is_private=people.is_private, is_shared=people.is_shared, messages=Messages(),
                finder=finder, channel_store=channels, library=library,
            )  # fmt: skip
            yield Slacked(digests, finder, log, channels, library, slack.team, channel)
        library.close()


def shown_in(slack, channel):
    return [one.visible for one in slack.state.messages() if one.channel == channel]


async def test_a_digest_is_shown_once_a_week_however_often_it_is_due(slack, ann, general, tmp_path):
    async with at_slack(slack, tmp_path, general) as desk:
        for number, text in enumerate(PERMITS):
            await desk.ask(text, id=f"q{number}")
        await desk.ask("Who refills the printer?", id="before", days_ago=9)

        await desk.digests.show_due()
        await desk.digests.show_due()
        await desk.finder.store.database.write("DELETE FROM gap_digests")  # as if killed before it was noted
        await desk.digests.show_due()

    (digest,) = shown_in(slack, general)
    assert "Last week 2 questions were not answered well:" in digest
    assert "2 questions, the week before 0" in digest
    assert "printer" not in digest


async def test_words_of_other_channels_and_of_direct_messages_are_a_count(slack, ann, general, tmp_path):
    async with at_slack(slack, tmp_path, general) as desk:
        (tmp_path / "pay.md").write_text("# Pay\n\nPay is secret.\n")
        desk.library.ingest([tmp_path / "pay.md"], collection=f"channel-slack-{desk.space}-C9")
        await desk.ask(PERMITS[0], id="q0")
        await desk.ask("Where is the canary of the other channel?", id="q1", channel="C9")
        await desk.ask("Where is my private canary?", id="q2", channel="D9")

        await desk.digests.show_due()

    (digest,) = shown_in(slack, general)
    assert "Last week 3 questions were not answered well:" in digest
    assert "2 of them were asked in channels that may not be read here." in digest
    assert "canary" not in digest


async def test_words_of_private_channels_are_a_count_where_others_read(slack, ann, general, tmp_path):
    private, public = slack.add_channel("board", ann, is_private=True), slack.add_channel("boats", ann)
    async with at_slack(slack, tmp_path, general) as desk:
        await desk.ask("Where is the canary of the board?", id="q0", channel=private)
        await desk.ask("Who paints the boats in spring?", id="q1", channel=public)
        await desk.ask(PERMITS[0], id="q2")
        await desk.ask("Where is the canary of a channel that is gone?", id="q3", channel="C0GONE")

        await desk.digests.show_due()

    (digest,) = shown_in(slack, general)
    assert "2 of them were asked in channels that may not be read here." in digest
    assert "paints the boats" in digest
    assert "canary" not in digest


async def test_where_people_of_another_workspace_read_along_no_words_of_other_channels_are_shown(
    slack, ann, general, tmp_path
):
    public = slack.add_channel("boats", ann)
    slack.share(general, "T0OTHER")
    async with at_slack(slack, tmp_path, general) as desk:
        await desk.ask("Where is the canary of the boats?", id="q1", channel=public)
        await desk.ask(PERMITS[0], id="q2")

        await desk.digests.show_due()

    (digest,) = shown_in(slack, general)
    assert "parking permit" in digest
    assert "canary" not in digest


async def test_a_week_without_gaps_shows_nothing(slack, ann, general, tmp_path):
    async with at_slack(slack, tmp_path, general) as desk:
        await desk.digests.show_due()

    assert shown_in(slack, general) == []


async def test_it_says_what_was_asked_answered_and_taught_in_ten_lines(slack, ann, general, tmp_path):
    async with at_slack(slack, tmp_path, general) as desk:
        (tmp_path / "docs.md").write_text("# Docs\n\nNothing.\n")
        desk.library.ingest([tmp_path / "docs.md"])
        for number in range(8):
            await desk.ask(f"Who owns the {'abcdefgh'[number] * 7} boat?", id=f"q{number}")
        for days_ago, name in ((3.0, "yes"), (9.0, "before"), (0.1, "after")):
            await desk.ask("When does it leave?", id=name, days_ago=days_ago, answer=ANSWER)
        await desk.ask("Where is the canary?", id="far", channel="D9")
        desk.taught("k1", "Who has the key?", collection="default")
        desk.taught("k2", "Who has the canary?", collection="board")
        desk.taught("k3", "Who had the key?", collection="default", days_ago=9)

        await desk.digests.show_due()

    (digest,) = shown_in(slack, general)
    assert "Last week 10 questions were asked, and 1 answered." in digest
    assert "2 answers were taught. “Who has the key?”" in digest
    assert "canary" not in digest
    assert "Who had the key?" not in digest
    assert len(digest.splitlines()) <= 10


@pytest.mark.parametrize(
    ("now", "monday"),
    [
        (datetime(2026, 11, 23, 8, 59, tzinfo=UTC), datetime(2026, 11, 9, tzinfo=UTC)),
        (datetime(2026, 11, 23, 9, 0, tzinfo=UTC), datetime(2026, 11, 16, tzinfo=UTC)),
        (datetime(2026, 11, 29, 23, 0, tzinfo=UTC), datetime(2026, 11, 16, tzinfo=UTC)),
        (datetime(2027, 1, 4, 10, 0, tzinfo=UTC), datetime(2026, 12, 28, tzinfo=UTC)),
    ],
)
def test_a_week_is_due_from_monday_morning(now, monday):
    span = last_week(now.timestamp())

    assert (span.since, span.until) == (monday.timestamp(), monday.timestamp() + 7 * DAY)


def test_discord_looks_for_the_digest_among_what_came_after_monday():
    channel = Conversation(platform="discord", space="1", channel="2", thread="gaps")

    place = in_discord(channel, MONDAY)

    assert int(place.origin) >> 22 == round(1000 * MONDAY) - 1_420_070_400_000
    assert place.route["place"] == place.route["thread"] == "2"


def test_channels_are_named_by_their_ids():
    settings = read_settings({"GAPS_CHANNEL": "slack/T1/C1, discord/1/2"}, None)

    assert settings.gaps_channel == ("slack/T1/C1", "discord/1/2")
    with pytest.raises(Exception, match="GAPS_CHANNEL must be platform/workspace/channel"):
        read_settings({"GAPS_CHANNEL": "#general"}, None)
