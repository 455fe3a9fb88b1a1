"""The window of quotes, and what stands in for it."""

from __future__ import annotations

from fakes.office import FERRY, FERRY_ANSWER
from fakes.slack.faults import Refusal
from fakes.web_servers import FakeSearXNG

ROWING = "Who pays for the mooring of a rowing boat?"


async def test_a_press_that_came_too_late_for_a_window_is_answered_in_a_private_message(
    office, slack, ann, general
):
    await office.open()
    asked = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(asked)

    slack.faults.queue("views.open", Refusal("expired_trigger_id"))
    await slack.press(answer, "footnotes", ann)
    (instead,) = await slack.until(lambda: slack.ephemerals(ann))
    await slack.press(answer, "footnotes", ann)
    window = await slack.until(lambda: slack.modal(ann))

    assert FERRY_ANSWER in instead.visible
    assert instead.thread_ts == asked.ts
    assert window.payload["title"]["text"] == "Quotes"
    assert len(slack.ephemerals(ann)) == 1
    assert office.faults == []


async def test_footnotes_are_links_and_those_of_a_card_stay_once_it_is_decided(office, slack, ann, general):
    office.settings["SOURCE_URL_BASE"] = "https://docs.example"
    async with FakeSearXNG([]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await office.open()
        (answer,) = await office.until_answered(await slack.mention(ann, general, FERRY))
        (card,) = await office.until_answered(await slack.mention(ann, general, ROWING))
        offered = links_of(card)
        await slack.press(card, "deny", ann)
        await slack.until(lambda: "said no" in card.visible)

    assert links_of(answer) == {"https://docs.example/handbook.md#ferry"}
    assert "https://docs.example/handbook.md#mooring-fees" in offered
    assert links_of(card) == offered


def links_of(message):
    return {entity.target for entity in message.entities if entity.kind == "link"}
