"""What Discord takes: each limit beside its source, a page of discord.com/developers/docs, with its unit."""

from __future__ import annotations

MESSAGE_COMPONENTS = 40  # components of a message, nested ones too, "Component Reference"
MESSAGE_TEXT = 4_000  # characters of all text displays of a message together, "Component Reference"
ROW_BUTTONS = 5  # buttons of one row, "Component Reference, Action Row"
BUTTON_LABEL = 80  # characters, "Component Reference, Button"
#: Characters, "Component Reference, Custom ID". The longest of ours names a turn by three ids of 64 bits:
#: ``choose:25:discord/`` with 20 digits thrice, two slashes and ``~99`` has 83.
CUSTOM_ID = 100
