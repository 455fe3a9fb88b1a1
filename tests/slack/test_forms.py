"""A form that Slack does not open: the person who pressed learns of it."""

from __future__ import annotations

import pytest
from fakes.office import CUP, FRANCE, Office
from fakes.slack import Refusal, ServerError
from fakes.web_servers import FakeSearXNG

CODES = (
    "expired_trigger_id", "trigger_expired", "invalid_trigger_id", "exchanged_trigger_id", "invalid_arguments",
)  # fmt: skip


@pytest.fixture
async def office(template, tmp_path, slack):
    async with FakeSearXNG([FRANCE]) as engine, Office.copied(template, tmp_path, slack) as office:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield office


async def test_each_refusal_of_a_form_is_said_to_who_pressed_and_the_next_press_opens_it(
    office, slack, ann, general
):
    await office.open()
    asked = await slack.mention(ann, general, CUP)
    (card,) = await office.until_answered(asked)

    for number, code in enumerate(CODES, start=1):
        slack.faults.queue("views.open", Refusal(code))
        await slack.press(card, "edit", ann)
        await slack.until(lambda count=number: len(slack.ephemerals(ann)) == count)
    await slack.press(card, "edit", ann)
    await slack.until(lambda: slack.modal(ann))

    assert {one.visible.partition(",")[0] for one in slack.ephemerals(ann)} == {
        "The form could not be opened"
    }
    assert [one.thread_ts for one in slack.ephemerals(ann)] == [asked.ts] * len(CODES)


async def test_a_form_that_comes_too_late_is_spoken_of_in_the_language_of_the_question(
    office, slack, ann, general
):
    await office.open()
    asked = await slack.mention(ann, general, "Wer hat die Fußballweltmeisterschaft 1998 gewonnen?")
    (card,) = await office.until_answered(asked)
    slack.faults.queue("views.open", *[ServerError()] * 2)
    await slack.press(card, "edit", ann)
    await slack.until(lambda: slack.faults.injected)

    await slack.advance(10)

    (told,) = await slack.until(lambda: slack.ephemerals(ann))
    assert told.visible.startswith("Das Formular")
    assert "views.open: expired_trigger_id" in slack.rejected
