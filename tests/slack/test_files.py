"""Files of a question, as Slack has them: shared from elsewhere, deleted since, hidden, and read across a kill."""

from __future__ import annotations

import asyncio

import pytest
from fakes.slack import Hang

LEASE = (
    "lease.md",
    b"# Lease of the boathouse\n\nThe lease of the boathouse ends on the ninth of October.\n",
)
WHEN = "When does the lease of the boathouse end?"


@pytest.fixture
def office(office):
    office.settings |= {"WEB_SEARCH": "off"}
    return office


async def offered(office, slack, ann, general, **more):
    """The question, and the message with the offer."""
    asked = await slack.mention(ann, general, WHEN, files=[LEASE], **more)
    (offer,) = await office.until_answered(asked)
    return asked, offer


async def test_a_file_from_another_organization_is_looked_up_before_it_is_read(office, slack, ann, general):
    await office.open()

    asked, offer = await offered(office, slack, ann, general, from_elsewhere=True)
    await slack.press(offer, "read", ann)
    _, answer = await office.until_answered(asked, 2)

    assert "a file shared from elsewhere" in offer.revisions[-2].visible
    assert "ninth of October" in answer.visible
    assert "lease.md" in answer.visible
    assert (slack.rejected, office.faults) == ([], [])


async def test_a_file_from_another_organization_can_be_learned(office, slack, ann, general):
    await office.open()

    learn = await slack.mention(ann, general, "learn", files=[LEASE], from_elsewhere=True)
    (learned,) = await office.until_answered(learn)
    (answer,) = await office.until_answered(await slack.mention(ann, general, WHEN))

    assert "lease.md: 1 document added" in learned.visible
    assert "ninth of October" in answer.visible


@pytest.mark.parametrize(
    "case", [("tombstone", "was deleted"), ("hidden_by_limit", "is hidden"), ("external", "is not kept")]
)
async def test_a_file_that_slack_does_not_give_any_more_says_why(office, slack, ann, general, case):
    mode, said = case
    await office.open()

    asked, offer = await offered(office, slack, ann, general, from_elsewhere=True)
    (file,) = slack.state.files.values()
    file.mode = mode
    if mode == "external":
        file.url = "https://drive.example/lease"
    await slack.press(offer, "read", ann)
    _, told = await office.until_answered(asked, 2)

    assert said in told.visible
    assert slack.downloads == []


@pytest.mark.parametrize("method", ["files.info", "chat.update"])
async def test_a_kill_while_a_file_is_read_and_two_presses_leave_one_answer(
    office, slack, ann, general, method
):
    await office.open()
    asked, offer = await offered(office, slack, ann, general, from_elsewhere=True)

    slack.faults.queue(method, Hang(after_effect=True))
    await asyncio.gather(*(slack.press(offer, "read", ann) for _ in range(2)))
    await slack.until(lambda: any(method == name for name, _ in slack.faults.injected))
    await office.kill()
    await slack.until(lambda: not slack.sockets.live)
    await office.open()
    await slack.redeliver()
    _, answer = await office.until_answered(asked, 2)

    assert "ninth of October" in answer.visible
    assert len(slack.replies(general, asked.ts)) == 2
    assert "ann let the attachment be read" in offer.visible
