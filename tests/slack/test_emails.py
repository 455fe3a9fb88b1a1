"""Whose e-mail address Slack says, as what sources open to it asks: counted calls, limits, and who is no member."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.slack import RateLimited, Refusal, ServerError

from bots.chat.platform import Refused
from bots.slack import people
from bots.slack.calls import open_calls
from bots.slack.people import SlackPeople, confirmed_email
from bots.slack.settings import read_slack_settings
from core.turns.messenger import Unreachable

INFO = "users.info"
ANN = "ann@harbour.example"


@pytest.fixture
async def known(slack):
    async with open_calls(read_slack_settings(slack.environment)) as calls:
        calls.installations.add(await calls.identify(slack.bot_token))
        yield SlackPeople(calls=calls)


@pytest.fixture
def ann(slack):
    user = slack.add_user("ann")
    slack.state.users[user].email = ANN
    return user


def calls(slack):
    return [call for call in slack.api.calls if call.method == INFO]


async def test_an_address_is_asked_for_once_in_some_minutes(slack, ann, known):
    first = [await known.email_of(slack.team, ann) for _ in range(3)]

    assert first == [ANN] * 3
    assert len(calls(slack)) == 1
    assert people.EMAIL_REMEMBERED <= 300.0


async def test_who_loses_an_address_has_none_after_these_minutes(slack, ann, known, monkeypatch):
    monkeypatch.setattr(people, "EMAIL_REMEMBERED", 0.0)  # as if they had passed
    before = await known.email_of(slack.team, ann)
    slack.state.users[ann].email = ""

    assert (before, await known.email_of(slack.team, ann)) == (ANN, "")


async def test_without_its_scope_nobody_has_an_address_and_slack_refuses_nothing(slack, ann, known):
    installation = slack.state.installations[slack.bot_token]
    fewer = replace(installation, scopes=installation.scopes - {"users:read.email"})
    slack.state.installations[slack.bot_token] = fewer

    assert await known.email_of(slack.team, ann) == ""
    assert slack.rejected == []


@pytest.mark.parametrize(
    "status", [{"is_deleted": True}, {"is_restricted": True}, {"is_bot": True}, {"is_email_confirmed": False}]
)
async def test_who_is_no_member_or_did_not_confirm_an_address_has_none(slack, ann, known, status):
    for name, content in status.items():
        setattr(slack.state.users[ann], name, content)

    assert await known.email_of(slack.team, ann) == ""


async def test_people_whom_slack_does_not_know_have_none(slack, known):
    assert await known.email_of(slack.team, "U0NOBODY99") == ""
    assert await known.email_of(slack.team, "B0SOMEBOT9") == ""
    assert len(calls(slack)) == 1


async def test_what_slack_is_too_busy_to_say_is_asked_again_when_it_says_so(slack, ann, known):
    slack.faults.queue(INFO, RateLimited(1), ServerError())

    assert await known.email_of(slack.team, ann) == ANN
    assert [call.early_by for call in calls(slack)] == [0.0] * 3


@pytest.mark.parametrize("fault", [Refusal("missing_scope"), RateLimited(999)])
async def test_a_slack_that_does_not_say_is_told_apart_from_one_that_knows_none(slack, ann, known, fault):
    slack.faults.queue(INFO, fault)

    with pytest.raises((Refused, Unreachable)):
        await known.email_of(slack.team, ann)
    assert await known.email_of(slack.team, ann) == ANN  # and is not remembered


#: A user object as "users.info" documents it.
USER = {"id": "U1", "team_id": "T1", "deleted": False, "is_bot": False, "is_email_confirmed": True,
        "profile": {"email": ANN}}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "team", "email"),
    [
        ({}, "T1", ANN),
        ({}, "T2", ""),  # of another workspace, in a shared channel
        ({"enterprise_user": {"teams": ["T2", "T3"]}}, "T2", ANN),
        ({"is_stranger": True}, "T1", ""),
        ({"is_ultra_restricted": True}, "T1", ""),
        ({"is_workflow_bot": True}, "T1", ""),
        ({"is_invited_user": True}, "T1", ""),
        ({"profile": {}}, "T1", ""),
        ({"profile": {"email": None}}, "T1", ""),
        ({"is_email_confirmed": None}, "T1", ""),
        ({"is_email_confirmed": "true"}, "T1", ""),
    ],
)
def test_only_a_full_member_with_a_confirmed_address_has_one(more, team, email):
    assert confirmed_email(USER | more, team) == email
