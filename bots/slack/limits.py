"""Slack's limits, with their units and sources: pages of docs.slack.dev, or issues."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


MESSAGE_BLOCKS = 50  # blocks of a message, "Blocks"
# Characters in the blocks of a message; 13,200 is about where it is refused, bolt-js#2509.
MESSAGE_SIZE = 13_000
BLOCK_OVERHEAD = 50  # characters that a block counts beside its text, bolt-js#2867
MARKDOWN_SIZE = 12_000  # characters of all Markdown blocks of one message, "Markdown block"
SECTION_TEXT = 3_000  # characters, "Section block"
BUTTON_LABEL = 75  # characters, "Button element"
BUTTON_VALUE = 2_000  # characters, "Button element"
ACTIONS = 25  # elements of one block, "Actions block"
VIEW_BLOCKS = 100  # blocks of a modal, "Blocks"
MODAL_TITLE = 24  # characters, "Modal views"
PRIVATE_METADATA = 3_000  # characters, "Modal views"
FALLBACK_TEXT = 4_000  # characters of `text` that every client shows, "chat.postMessage"
TASK_TITLE = 256  # characters, "Task update chunk"
TABLE_ROWS = 100  # rows, "Table block"
TABLE_COLUMNS = 20  # "Table block"
TABLE_TEXT = 10_000  # characters of all cells, "Table block"
