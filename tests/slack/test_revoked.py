"""A token that is revoked, or lacks a scope, and is mended by a person: nothing is lost meanwhile."""

from __future__ import annotations

import pytest
from fakes.office import CUP, FERRY, FERRY_ANSWER, FRANCE, PATIENCE, PONTOON, PONTOON_ANSWER, Office
from fakes.slack import ALL_SCOPES, App, FakeSlack, Refusal
from fakes.web_servers import FakeSearXNG

from bots.slack.calls import NotAuthorized, open_calls
from bots.slack.settings import read_slack_settings

CODES = ("token_revoked", "account_inactive", "invalid_auth", "not_authed", "token_expired", "missing_scope")


@pytest.mark.parametrize("code", CODES)
async def test_what_a_person_can_mend_is_no_final_refusal(slack, code):
    slack.refused_tokens[slack.bot_token] = code
    async with open_calls(read_slack_settings(slack.environment, None)) as calls:
        with pytest.raises(NotAuthorized, match=code):
            await calls.identify(slack.bot_token)


async def test_questions_that_come_while_the_token_is_revoked_are_kept_and_answered_once(
    office, slack, ann, general
):
    await office.open()
    slack.refused_tokens[slack.bot_token] = "token_revoked"
    asked = [await slack.mention(ann, general, question) for question in (FERRY, PONTOON)]
    for each in asked:
        await slack.until_acked(each)
    await slack.until(lambda: len(slack.calls_of("conversations.replies")) > 4)

    slack.refused_tokens.clear()
    answers = [await office.until_answered(each) for each in asked]

    assert [len(each) for each in answers] == [1, 1]
    assert FERRY_ANSWER in answers[0][0].visible
    assert PONTOON_ANSWER in answers[1][0].visible
    assert [entry.get("reason") for entry in office.faults].count("token_revoked") == 1


#: What an app must lack to come to a call.
STATUSES = ("agents.sessions.setStatus", "assistant.threads.setStatus")
LACKS = {"chat.delete": ("chat.startStream", *STATUSES), "chat.stopStream": STATUSES}


@pytest.mark.parametrize(
    "refused",
    [
        ("chat.postMessage", "account_inactive"),
        ("chat.delete", "invalid_auth"),
        ("chat.stopStream", "token_revoked"),
        ("chat.stopStream", "not_authed"),
        ("conversations.replies", "token_expired"),
    ],
)
async def test_every_call_of_a_question_waits_until_the_token_works(office, slack, ann, general, refused):
    """In a thread that is there already, so that it is read first."""
    method, code = refused
    root = await slack.say(ann, general, "Does anybody know when the ferry to Sark leaves?")
    slack.faults.queue(method, *[Refusal(code)] * 2)
    slack.faults.chances = {each: {Refusal("unknown_method"): 1.0} for each in LACKS.get(method, ())}
    office.constants["bots.chat.messenger:BETWEEN"] = PATIENCE  # no plan, however slow it is
    await office.open()

    called = await slack.mention(ann, general, "can you answer this?", root.ts)
    (answer,) = await office.until_answered(called)

    assert FERRY_ANSWER in answer.visible
    assert not slack.faults.next(method)


async def test_an_app_that_may_not_read_the_thread_answers_without_it(office, slack, ann, general):
    root = await slack.say(ann, general, "Does anybody know a good restaurant?")
    slack.faults.queue("conversations.replies", Refusal("missing_scope"))
    await office.open()

    called = await slack.mention(ann, general, FERRY, root.ts)
    (answer,) = await office.until_answered(called)

    assert FERRY_ANSWER in answer.visible


async def test_a_message_is_looked_for_until_the_token_works(office, slack, ann, general):
    """After a restart, so that it may be there already."""
    slack.faults.chances = {each: {Refusal("unknown_method"): 1.0} for each in STATUSES}
    await office.open()
    slack.faults.queue("chat.stopStream", *[Refusal("token_revoked")] * 50)
    asked = await slack.mention(ann, general, FERRY)
    await slack.until(lambda: len(slack.calls_of("chat.stopStream")) > 1)
    await office.kill()
    while slack.faults.next("chat.stopStream"):
        pass
    (sign,) = slack.replies(general, asked.ts)
    slack.remove(sign)
    slack.faults.queue("conversations.replies", *[Refusal("token_revoked")] * 2)

    await office.open()
    (answer,) = await office.until_answered(asked)

    assert FERRY_ANSWER in answer.visible


async def test_a_search_that_was_allowed_is_carried_out_when_the_token_works_again(
    office, slack, ann, general
):
    async with FakeSearXNG([FRANCE]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await office.open()
        asked = await slack.mention(ann, general, CUP)
        (card,) = await office.until_answered(asked)
        slack.refused_tokens[slack.bot_token] = "invalid_auth"
        pressed = await slack.press(card, "approve", ann)
        await slack.until(lambda: pressed.is_acked)
        await slack.until(lambda: "invalid_auth" in office.log)

        slack.refused_tokens.clear()
        _, answer = await office.until_answered(asked, 2)

    assert "France" in answer.visible
    assert "ann allowed this search" in card.visible
    assert len(engine.requests) == 1


async def test_what_shall_be_learned_waits_for_the_token_too(office, slack, ann, general):
    """Who may teach is looked up in Slack, and the file is fetched from there."""
    office.settings["LEARNERS"] = slack.add_usergroup("teachers", ann)
    await office.open()
    slack.refused_tokens[slack.bot_token] = "token_revoked"
    learn = await slack.mention(
        ann, general, "learn", files=[("bees.md", b"# Bees\n\nBees sleep at night.\n")]
    )
    await slack.until_acked(learn)
    await slack.until(lambda: "token_revoked" in office.log)

    slack.refused_tokens.clear()
    (learned,) = await office.until_answered(learn)

    assert "1 document added" in learned.visible


async def test_a_file_that_is_fetched_as_the_token_is_revoked_is_fetched_again(office, slack, ann, general):
    await office.open()
    slack.refused_tokens[slack.bot_token] = "token_revoked"
    learn = await slack.mention(
        ann, general, "learn", files=[("bees.md", b"# Bees\n\nBees sleep at night.\n")]
    )
    await slack.until(lambda: slack.downloads)
    await slack.until(lambda: slack.calls_of("files.info"))

    slack.refused_tokens.clear()
    (learned,) = await office.until_answered(learn)

    assert "1 document added" in learned.visible


async def test_an_app_that_may_show_no_status_answers_all_the_same(office, slack, ann, general):
    slack.faults.chances = {each: {Refusal("token_revoked"): 1.0} for each in STATUSES}
    await office.open()

    asked = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(asked)

    assert FERRY_ANSWER in answer.visible
    assert len(slack.calls_of("chat.stopStream")) == 1


async def test_a_file_that_the_app_has_no_scope_for_is_said_so_at_once(template, tmp_path):
    without = App(scopes=ALL_SCOPES - {"files:read"})
    async with FakeSlack(app=without) as slack, Office.copied(template, tmp_path, slack) as office:
        ann = slack.add_user("ann")
        await office.open()
        await slack.mention(ann, slack.add_channel("general", ann), "learn", files=[("a.md", b"# A")])
        (told,) = await slack.until(lambda: slack.ephemerals(ann))

    assert "the app needs the scope files:read" in told.visible
