"""Who is in a Slack user group, as rules of access ask: counted calls, limits, and Slack that does not say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.shelf import open_store
from fakes.slack import RateLimited, Refusal, ServerError
from fakes.slack.faults import LostRequest

from bots.chat.access import AccessChange, change_access
from bots.chat.channels import open_channel_store
from bots.slack import people
from bots.slack.calls import open_calls
from bots.slack.people import SlackPeople
from bots.slack.settings import read_slack_settings
from core.conversation import Conversation
from core.library.library import Library

LIST = "usergroups.users.list"
#: What a platform is asked depends on no database; tests/chat/test_access.py holds the rules on both.
pytestmark = pytest.mark.parametrize("storage", ["sqlite"], indirect=True)


class Groups:
    """Rules of groups, and what a person may read by them in a direct message."""

    def __init__(self, slack, store, library):
        self.slack, self.store, self.library = slack, store, library

    def open(self, *groups):
        opens = tuple(("group", group) for group in groups)
        change_access(
            self.store.database.database, "hr", AccessChange(closes=True, opens=opens), known=["hr"]
        )

    async def read(self, user, space=""):
        there = Conversation(platform="slack", space=space or self.slack.team, channel="D1", thread="1")
        readable = await self.store.reads(there, user, self.library)
        return "hr" in readable.collections, readable.remark and readable.remark.key

    @property
    def calls(self):
        return [call for call in self.slack.api.calls if call.method == LIST]


@pytest.fixture
async def groups(slack, storage, tmp_path):
    (tmp_path / "wages.md").write_text("# Wages\n\nA line.\n")
    library = Library(store=open_store(tmp_path / "library.sqlite"), open_vectors=lambda: None, embedder=None)
    library.ingest([tmp_path / "wages.md"], collection="hr")
    settings = read_slack_settings(slack.environment)
    async with open_calls(settings) as calls:
        calls.installations.add(await calls.identify(slack.bot_token))
        with open_channel_store(storage) as store:
            store.people["slack"] = SlackPeople(calls=calls)
            yield Groups(slack, store, library)
    library.store.close()


async def test_a_group_opens_a_collection_to_its_members_and_is_asked_for_once_a_minute(slack, ann, groups):
    bob = slack.add_user("bob")
    groups.open(slack.add_usergroup("crew", ann))

    first = [await groups.read(ann), await groups.read(bob), await groups.read(ann)]

    assert first == [(True, ""), (False, ""), (True, "")]
    assert len(groups.calls) == 1
    assert slack.rejected == []


async def test_who_left_a_group_reads_nothing_by_it_after_a_minute(slack, ann, groups, monkeypatch):
    group = slack.add_usergroup("crew", ann)
    groups.open(group)
    assert people.REMEMBERED <= 60.0
    monkeypatch.setattr(people, "REMEMBERED", 0.0)  # as if it had passed
    before = await groups.read(ann)

    slack.state.usergroups[group].users.clear()

    assert before == (True, "")
    assert await groups.read(ann) == (False, "")
    assert len(groups.calls) == 2


async def test_what_slack_is_too_busy_to_say_is_asked_again_when_it_says_so(slack, ann, groups):
    groups.open(slack.add_usergroup("crew", ann))
    slack.faults.queue(LIST, RateLimited(1), LostRequest(), ServerError())

    assert await groups.read(ann) == (True, "")
    assert len(groups.calls) == 4
    assert [call.early_by for call in groups.calls] == [0.0] * 4


@pytest.mark.parametrize(
    "fault", [Refusal("plan_upgrade_required"), Refusal("missing_scope"), RateLimited(999)]
)
async def test_a_slack_that_does_not_say_opens_nothing_and_the_person_is_told(slack, ann, groups, fault):
    groups.open(slack.add_usergroup("crew", ann))
    slack.faults.queue(LIST, fault)

    assert await groups.read(ann) == (False, "groups_unknown")
    assert len(groups.calls) == 1


async def test_without_its_scope_a_group_opens_nothing(slack, ann, groups):
    groups.open(slack.add_usergroup("crew", ann))
    installation = slack.state.installations[slack.bot_token]
    fewer = replace(installation, scopes=installation.scopes - {"usergroups:read"})
    slack.state.installations[slack.bot_token] = fewer

    assert await groups.read(ann) == (False, "groups_unknown")
    assert slack.rejected == [f"{LIST}: missing_scope"]


async def test_groups_of_another_workspace_open_nothing_and_are_not_asked_for_here(slack, ann, groups):
    other = slack.add_workspace("other", "xoxb-other")
    calls = groups.store.people["slack"].calls
    calls.installations.add(await calls.identify("xoxb-other"))
    stranger = slack.add_user("stranger", team=other)
    group = slack.add_usergroup("crew", ann)

    groups.open(f"slack/{other}/{group}", "discord/1/2", "12345678901234567/22345678901234567")
    named = await groups.read(ann)
    asked_for = len(groups.calls)
    groups.open(group)  # which is no group of the other workspace

    assert (named, asked_for) == ((False, ""), 0)
    assert await groups.read(ann) == (True, "")
    assert await groups.read(stranger, space=other) == (False, "")


async def test_in_a_channel_no_group_counts_and_none_is_asked_for(slack, ann, groups):
    groups.open(slack.add_usergroup("crew", ann))
    there = Conversation(platform="slack", space=slack.team, channel="C1", thread="1")

    readable = await groups.store.reads(there, ann, groups.library)

    assert "hr" not in readable.collections
    assert groups.calls == []
