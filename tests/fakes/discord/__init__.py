"""A local Discord, so that the real discord.py can be tested against it.

It keeps servers, checks every request as strictly as Discord would, and tells of what people do
over a Gateway that can be resumed::

    async with FakeDiscord() as fake:
        ann = fake.add_user("ann")
        general = fake.add_channel("general")
        ...start a bot with fake.environment...
        await fake.until_connected()
        asked = await fake.mention(ann, general, "What is a footnote?")
        answer = await fake.until(lambda: fake.replies(asked))
        assert "a note" in answer[0].visible and not fake.violations

``in_thread`` runs one beside a test that itself starts processes; ``fakes.discord.client`` points
the discord.py of this process at one.
"""

from fakes.discord.faults import (
    Faults,
    Hang,
    LostRequest,
    LostResponse,
    RateLimited,
    Refusal,
    ServerError,
    Slow,
)
from fakes.discord.interactions import Interaction
from fakes.discord.rendering import Link, Pings
from fakes.discord.server import FakeDiscord
from fakes.discord.state import Channel, Guild, Message, Modal, Revision, Role, User
from fakes.threads import in_thread

__all__ = [
    "Channel",
    "FakeDiscord",
    "Faults",
    "Guild",
    "Hang",
    "Interaction",
    "Link",
    "LostRequest",
    "LostResponse",
    "Message",
    "Modal",
    "Pings",
    "RateLimited",
    "Refusal",
    "Revision",
    "Role",
    "ServerError",
    "Slow",
    "User",
    "in_thread",
]
