"""Discord's limits, each with its unit and its source, a page of discord.com/developers/docs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


MESSAGE_COMPONENTS = 40  # components of a message, nested ones too, "Component Reference"
MESSAGE_TEXT = 4_000  # characters of all text displays of a message together, "Component Reference"
ROW_BUTTONS = 5  # buttons of one row, "Component Reference, Action Row"
BUTTON_LABEL = 80  # characters, "Component Reference, Button"
#: Characters, "Component Reference, Custom ID". The longest of ours names a turn by three ids of 64 bits:
#: ``choose:25:discord/`` with 20 digits three times, two slashes and ``~99`` has 83.
CUSTOM_ID = 100
THREAD_NAME = 90  # characters; 100 are allowed, "Start Thread from Message"
NONCE = 24  # characters; 25 at most, "Create Message"
MESSAGES_PAGE = 100  # messages of a channel that are read at a time, "Get Channel Messages"
SERVERS_PAGE = 200  # servers in one reply at most, "Get Current User Guilds"
