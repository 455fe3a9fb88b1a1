"""Files of a question, as Discord has them: under addresses that expire, in messages that may be gone."""

from __future__ import annotations

import pytest
from fakes.discord.components import buttons

LEASE = (
    "lease.md",
    b"# Lease of the boathouse\n\nThe lease of the boathouse ends on the ninth of October.\n",
)
WHEN = "When does the lease of the boathouse end?"


@pytest.fixture
def server(server):
    server.settings |= {"WEB_SEARCH": "off"}
    return server


def reading(offer):
    (custom_id,) = (b["custom_id"] for b in buttons(offer.components) if b["custom_id"].startswith("read:"))
    return custom_id


async def test_a_file_is_read_hours_later_although_its_address_has_expired(server, fake, ann, general):
    await server.open()
    asked = await fake.mention(ann, general, WHEN, files=[LEASE])
    (offer,) = await server.until_answered(asked)

    for file in fake.state.attachments.values():
        file.signature += 1
    await fake.press(offer, reading(offer), ann)
    _, answer = await server.until_answered(asked, 2)

    assert "ninth of October" in answer.visible
    assert "lease.md" in answer.visible
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_a_file_whose_message_is_gone_says_so(server, fake, ann):
    await server.open()
    asked = await fake.dm(ann, WHEN, files=[LEASE])
    (offer,) = await server.until_answered(asked)

    for file in fake.state.attachments.values():
        file.signature += 1
    await fake.erase(asked)
    await fake.press(offer, reading(offer), ann)
    _, told = await server.until_answered(asked, 2)

    assert "its message is gone" in told.visible
    assert "ann let the attachment be read" in offer.visible
