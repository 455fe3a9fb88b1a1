"""The commands that people find under "/" and in a message's menu, as Discord is told of them.

Source of the fields: "Application Commands". They are registered when an operator says so
(``footnote manifest discord --sync``): Discord takes 200 new ones a day, and a restart changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.conversation import QUESTION_LIMIT

STRING, ATTACHMENT = 3, 11  # types of an option
IN_A_MESSAGES_MENU = 3  # the type of such a command
EVERYWHERE = [0, 1]  # in servers and in direct messages with the bot, "Interaction Context Types"

Command = Mapping[str, Any]

COMMANDS: Sequence[Command] = (
    {
        "name": "ask",
        "description": "Ask your documents",
        "options": [
            {
                "type": STRING,
                "name": "question",
                "description": "What you want to know",
                "required": True,
                "max_length": QUESTION_LIMIT,
            }
        ],
        "contexts": EVERYWHERE,
    },
    {"name": "help", "description": "What I read here, and what I know", "contexts": EVERYWHERE},
    {"name": "sources", "description": "The documents that this channel reads", "contexts": EVERYWHERE},
    {"name": "forget", "description": "Delete what I remember of this thread", "contexts": EVERYWHERE},
    {
        "name": "follow",
        "description": "Which messages of a thread I answer without a mention",
        "options": [
            {
                "type": STRING,
                "name": "whom",
                "description": "In this channel",
                "choices": [
                    {"name": "only who mentions me", "value": "mention"},
                    {"name": "whoever asked first", "value": "asker"},
                    {"name": "everybody in the thread", "value": "thread"},
                ],
            }
        ],
        "contexts": EVERYWHERE,
    },
    {
        "name": "learn",
        "description": "Read a file or a page, for this channel",
        "options": [
            {"type": ATTACHMENT, "name": "file", "description": "A document"},
            {"type": STRING, "name": "url", "description": "The address of a page"},
        ],
        "contexts": EVERYWHERE,
    },
    {"type": IN_A_MESSAGES_MENU, "name": "Ask about this", "contexts": EVERYWHERE},
)

#: What the bot may do where it is invited -> the bit of it, "Permissions".
PERMISSIONS: Mapping[str, int] = {
    "View Channels": 1 << 10,
    "Send Messages": 1 << 11,
    "Read Message History": 1 << 16,
    "Create Public Threads": 1 << 35,
    "Send Messages in Threads": 1 << 38,
}


def invite_url(application_id: str) -> str:
    """Where an administrator adds the bot to a server."""
    allowed = sum(PERMISSIONS.values())
    scopes = "bot+applications.commands"
    return f"https://discord.com/oauth2/authorize?client_id={application_id}&scope={scopes}&permissions={allowed}"
