"""A local Slack, so that the real slack-bolt and slack-sdk can be tested against it.

It keeps workspaces, checks every request as strictly as Slack would, and delivers what people do
until it is acknowledged::

    async with FakeSlack() as slack:
        ann = slack.add_user("ann")
        general = slack.add_channel("general", ann)
        ...start an app with slack.environment...
        await slack.until_connected()
        asked = await slack.mention(ann, general, "What is a footnote?")
        answer = await slack.until(lambda: slack.finals(general, asked.ts))
        assert "a note" in answer[0].visible and not slack.rejected

``in_thread`` runs one beside a test that itself starts processes.
"""

from fakes.slack.deliveries import DUPLICATES, Delivery
from fakes.slack.events import ALL_SCOPES, App
from fakes.slack.faults import (
    Faults,
    Hang,
    LostRequest,
    LostResponse,
    RateLimited,
    Refusal,
    ServerError,
    Slow,
)
from fakes.slack.rendering import Entity
from fakes.slack.server import FakeSlack
from fakes.slack.state import Message, Shown, View
from fakes.threads import in_thread

__all__ = [
    "ALL_SCOPES",
    "DUPLICATES",
    "App",
    "Delivery",
    "Entity",
    "FakeSlack",
    "Faults",
    "Hang",
    "LostRequest",
    "LostResponse",
    "Message",
    "RateLimited",
    "Refusal",
    "ServerError",
    "Shown",
    "Slow",
    "View",
    "in_thread",
]
