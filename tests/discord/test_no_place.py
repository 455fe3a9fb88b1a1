"""Discord refuses what the bot would say: whoever asked learns what is in the way, whatever the code is."""

from __future__ import annotations

import pytest
from fakes.discord import Hang, Refusal
from fakes.discord_server import Server
from fakes.served import FERRY, FERRY_ANSWER

CREATE, EDIT = "POST /channels/{channel_id}/messages", "PATCH /channels/{channel_id}/messages/{message_id}"
HISTORY = "GET /channels/{channel_id}/messages"
REOPEN = "PATCH /channels/{channel_id}"

#: Refusals that no other try gets past, "JSON Error Codes", and the words by which each is explained.
REFUSALS = {
    Refusal(403, 160005, "This thread is locked"): "This thread is locked",
    Refusal(403, 50001, "Missing Access"): "Missing Access",
    Refusal(403, 50013, "Missing Permissions"): "Missing Permissions",
    Refusal(403, 200000, "Message was blocked by automatic moderation"): "AutoMod",
    Refusal(403, 987654, "The moon is full"): "The moon is full",
}


@pytest.fixture
async def server(template, tmp_path, fake):
    fake.faults.told = (5_000, 1.0)
    async with Server.copied(template, tmp_path, fake) as server:
        yield server


@pytest.fixture
async def begun(server, fake, ann, general):
    """A question that was answered in its thread, where ann asks on."""
    await server.open()
    asked = await fake.mention(ann, general, FERRY)
    await server.until_answered(asked)
    return asked


async def told_alone(fake, user):
    (word,) = await fake.until(lambda: fake.said(fake.dm_of(user)))
    return word.visible


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: str(each.code))
async def test_a_refused_first_sign_is_explained_to_its_asker_alone(server, fake, ann, begun, refusal):
    fake.faults.queue(CREATE, refusal)
    asked = await fake.post(ann, begun.thread, FERRY)

    told = await told_alone(fake, ann)
    again = await fake.post(ann, begun.thread, FERRY)
    (answer,) = await server.until_answered(again)

    assert REFUSALS[refusal] in told
    assert FERRY_ANSWER in answer.visible
    assert fake.replies(asked) == [answer]
    assert {entry["level"] for entry in server.faults} == {"warning"}


async def hang_progress(fake, user, thread):
    """A question whose progress note stands, and whose first change waits."""
    fake.released.clear()
    fake.faults.queue(EDIT, Hang())
    asked = await fake.post(user, thread, FERRY)
    await fake.until(lambda: (EDIT, Hang()) in fake.faults.injected)
    return asked


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: str(each.code))
async def test_a_refused_answer_is_explained_where_its_progress_note_stands(
    server, fake, ann, begun, refusal
):
    fake.rules[FERRY_ANSWER] = refusal
    asked = await fake.post(ann, begun.thread, FERRY)

    (word,) = await server.until_answered(asked)

    assert REFUSALS[refusal] in word.visible
    assert FERRY_ANSWER not in word.visible
    assert fake.said(fake.dm_of(ann)) == []


async def test_the_progress_note_in_a_thread_that_is_locked_meanwhile_is_removed(server, fake, ann, begun):
    asked = await hang_progress(fake, ann, begun.thread)
    fake.lock(begun.thread)
    fake.released.set()

    told = await told_alone(fake, ann)

    assert "is locked, and only those with Manage Threads may write in it" in told
    assert fake.replies(asked) == []
    assert {entry["level"] for entry in server.faults} == {"warning"}


async def test_who_takes_no_direct_messages_is_told_in_the_channel_beside_the_locked_thread(
    server, fake, ann, general, begun
):
    fake.refuses_dms.add(ann.id)
    fake.lock(begun.thread)
    begun.thread.is_locked = False  # whoever moderates may still write
    asked = await fake.post(ann, begun.thread, FERRY)
    begun.thread.is_locked = True

    (told,) = await fake.until(lambda: fake.said(general))

    assert "Manage Threads" in told.visible
    assert told.referenced is begun
    assert fake.replies(asked) == []
    assert fake.pinging() == []


async def test_the_one_right_that_is_lacking_is_named(server, fake, ann, general, begun):
    fake.deny(general, "send_messages_in_threads")
    await fake.post(ann, begun.thread, FERRY)

    told = await told_alone(fake, ann)

    assert told == (
        "I may not write where you asked me. Somebody who runs the server can let me: "
        "Send Messages in Threads."
    )


async def test_an_archived_thread_is_opened_for_an_answer_and_a_refusal_to_open_it_is_explained(
    server, fake, ann, begun
):
    archived = Refusal(400, 50083, "Thread is archived")
    fake.faults.queue(CREATE, archived)
    first = await fake.post(ann, begun.thread, FERRY)
    (answer,) = await server.until_answered(first)
    fake.faults.queue(CREATE, archived)
    fake.faults.queue(REOPEN, Refusal(403, 50013, "Missing Permissions"))
    await fake.post(ann, begun.thread, FERRY)

    told = await told_alone(fake, ann)

    assert FERRY_ANSWER in answer.visible
    assert "Missing Permissions" in told


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: str(each.code))
async def test_a_place_that_cannot_be_searched_can_still_be_written_in(server, fake, ann, begun, refusal):
    """A killed turn looks for its message first."""
    fake.faults.queue(CREATE, Hang())
    asked = await fake.post(ann, begun.thread, FERRY)
    await fake.until(lambda: (CREATE, Hang()) in fake.faults.injected)
    await server.kill()
    fake.faults.queue(HISTORY, *[refusal] * 2)
    await server.open()

    (answer,) = await server.until_answered(asked)

    assert FERRY_ANSWER in answer.visible


async def test_who_takes_an_answer_back_in_a_locked_thread_is_told_why_it_stays(server, fake, ann, general):
    await server.open()
    await server.until_answered(await fake.mention(ann, general, "follow channel"))
    asked = await fake.post(ann, general, FERRY)
    (answer,) = await server.until_answered(asked)
    fake.lock(asked.thread)

    pressed = await fake.press(answer, "Not helpful here", ann)
    await fake.until(lambda: pressed.text)
    fake.unlock(asked.thread)
    await fake.press(answer, "Not helpful here", ann)
    await fake.until(lambda: FERRY_ANSWER not in answer.visible)

    assert pressed.is_ephemeral
    assert "is locked, and only those with Manage Threads may write in it" in pressed.text
    assert "I took my answer back" in answer.visible


async def test_a_private_reply_to_a_command_that_reaches_nobody_is_not_said_in_the_channel(
    server, fake, ann, general, begun
):
    fake.refuses_dms.add(ann.id)
    asked = await fake.mention(ann, begun.thread, "learn")

    await fake.until(lambda: "no place to explain a refusal" in server.log)

    assert fake.replies(asked) == []
    assert fake.said(general) == []
    assert {entry["level"] for entry in server.faults} == {"warning"}
