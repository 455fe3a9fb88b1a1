"""Small talk is answered where it was written, and looks like talk."""

from __future__ import annotations

import pytest
from fakes.gemini import FakeGemini
from fakes.office import FERRY, FERRY_ANSWER
from fakes.slack import DUPLICATES
from fakes.slack import Hang as NoReply
from fakes.slack.blocks import interactive

JOKE = "Tell me a joke"
PLAN = {
    "route": "none",
    "standalone": JOKE,
    "queries": [],
    "web_query": "",
    "reply": "A knot.",
    "options": [],
}


def in_channel(slack, channel):
    """What the app said in the channel itself."""
    return [one for one in slack.posts() if one.channel == channel and not one.thread_ts]


async def replied(slack, channel, count=1):
    return await slack.until(
        lambda: found if len(found := in_channel(slack, channel)) >= count else [],
    )


@pytest.mark.parametrize(
    "talk", [("hi there!", "Hello."), ("Danke!", "Gern geschehen."), ("¿Qué puedes hacer?", "Respondo")]
)
async def test_it_is_answered_in_the_channel_without_a_thread_and_without_a_note(
    office, slack, ann, general, talk
):
    words, reply = talk
    await office.open()

    said = await slack.mention(ann, general, words)
    (answer,) = await replied(slack, general)
    for kind in DUPLICATES:
        await slack.duplicate(said, kind)
    asked = await slack.mention(ann, general, FERRY)
    await office.until_answered(asked)

    assert answer.visible.startswith(reply)
    assert "Answered in" not in answer.visible
    assert "footnotes" not in answer.visible.partition(".")[2]
    assert list(interactive(answer.blocks)) == []
    assert [one.action for one in answer.revisions] == ["post"]
    assert in_channel(slack, general) == [answer]
    assert slack.replies(general, said.ts) == []
    assert (slack.rejected, office.faults) == ([], [])


async def test_in_a_direct_message_it_is_answered_beside_it(office, slack, ann):
    await office.open()

    said = await slack.dm(ann, "hello")
    (answer,) = await replied(slack, said.channel)

    assert answer.visible.startswith("Hello.")
    assert slack.replies(said.channel, said.ts) == []


async def test_a_reply_that_was_posted_before_a_kill_is_not_posted_again(office, slack, ann, general):
    await office.open()
    slack.faults.queue("chat.postMessage", NoReply(after_effect=True))
    await slack.mention(ann, general, "hello")
    await slack.until(lambda: slack.faults.injected)

    await office.kill()
    await slack.until(lambda: not slack.sockets.live)
    await office.open()
    asked = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(asked)

    assert FERRY_ANSWER in answer.visible
    assert len(in_channel(slack, general)) == 1


async def test_a_model_is_asked_only_where_words_do_not_tell_and_its_reply_asks_for_no_praise(
    office, slack, ann, general
):
    async with FakeGemini() as model:
        model.reply = lambda step, _: PLAN if step == "plan" else None
        office.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        await office.open()
        await slack.mention(ann, general, "hello")
        await replied(slack, general)
        before = list(model.calls)
        asked = await slack.mention(ann, general, JOKE)
        (joke,) = await office.until_answered(asked)

    assert before == []
    assert "A knot." in joke.visible
    assert "nothing here is taken from your documents" in joke.visible
    assert "Answered in" not in joke.visible
    assert list(interactive(joke.blocks)) == []
