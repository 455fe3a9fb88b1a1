"""Small talk is answered where it was written, and looks like talk."""

from __future__ import annotations

import pytest
from fakes.discord.components import buttons
from fakes.gemini import FakeGemini
from fakes.served import FERRY, FERRY_ANSWER

PLAN = {
    "route": "none", "standalone": "a joke", "queries": [], "web_query": "", "reply": "A knot.", "options": []
}  # fmt: skip


@pytest.mark.parametrize(
    "talk", [("hi there!", "Hello."), ("Danke!", "Gern geschehen."), ("tudo bem?", "Olá.")]
)
async def test_it_is_answered_in_the_channel_without_a_thread_and_without_a_note(
    server, fake, ann, general, talk
):
    words, reply = talk
    await server.open()

    said = await fake.mention(ann, general, words)
    (answer,) = await server.until_answered(said)
    await fake.duplicate(said)
    question = await fake.reply(ann, answer, FERRY)
    (second,) = await server.until_answered(question)

    assert answer.visible.startswith(reply)
    assert "Answered in" not in answer.visible
    assert buttons(answer.components) == []
    assert [one.action for one in answer.revisions] == ["create"]
    assert answer.channel is general
    assert answer.referenced is said
    assert said.thread is None
    assert FERRY_ANSWER in second.visible
    assert second.channel is question.thread
    assert fake.said(general) == [answer]
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_a_model_is_asked_only_where_words_do_not_tell(server, fake, ann, general):
    async with FakeGemini() as model:
        model.reply = lambda step, _: PLAN if step == "plan" else None
        server.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        await server.open()
        said = await fake.mention(ann, general, "hello")
        await server.until_answered(said)
        before = list(model.calls)
        asked = await fake.mention(
            ann, general, f"tell me a **joke** about {ann.mention} :boat:\n```x = 1```"
        )
        (joke,) = await server.until_answered(asked)

    assert before == []
    assert "A knot." in joke.visible
    assert "Answered in" not in joke.visible
    assert buttons(joke.components) == []
    assert asked.thread.name == "tell me a joke about ann"
