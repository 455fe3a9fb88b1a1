"""The components that messages are built of, as the API takes them ("Component Reference").

A parameter called ``words`` or ``label`` takes untrusted text; ``markdown`` is safe already.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from textwrap import wrap
from typing import Any
from urllib.parse import urlsplit

from bots.chat.markdown.inline import Terms, prose
from bots.chat.markdown.pieces import joined
from bots.chat.markdown.safe import line, names_another_host
from bots.chat.render import Block
from bots.chat.texts import clipped
from bots.discord.dialect import DISCORD
from core.wording import Wording

# Limits of Discord, each with its source: a page of discord.com/developers/docs.
MESSAGE_COMPONENTS = 40  # components of a message, nested ones too, "Component Reference"
MESSAGE_TEXT = 4_000  # characters of all text displays of a message together, "Component Reference"
ROW_BUTTONS = 5  # buttons of one row, "Component Reference, Action Row"
BUTTON_LABEL = 80  # characters, "Component Reference, Button"
#: Characters, "Component Reference, Custom ID". The longest of ours names a turn by three ids of 64 bits:
#: ``choose:25:discord/`` with 20 digits three times, two slashes and ``~99`` has 83.
CUSTOM_ID = 100


def words(text: str) -> str:
    """One line without Markdown; URLs are code."""
    return DISCORD.guarded(prose(line(text), Terms(dialect=DISCORD)))


def small_print(text: str) -> str:
    """The same in small print, for a separate line; empty where there are no words."""
    markdown = words(text)
    return f"-# {markdown}" if markdown else ""


def time(seconds: float) -> str:
    """A moment in the reader's own time zone, "Message Formatting, Timestamps"; seconds since the epoch."""
    return f"<t:{int(seconds)}:t>"


def link(url: str, label: str) -> str:
    """``url`` is a web_link. A label that names another host is put before the link instead."""
    host = urlsplit(url).hostname or url
    title = line(label) or host
    if names_another_host(title, url):
        return f"{words(title)} {DISCORD.link(url, host)}"
    return DISCORD.link(url, title)


ROW, BUTTON, TEXT_INPUT, TEXT, SEPARATOR, CONTAINER, LABEL, FILE_UPLOAD = 1, 2, 4, 10, 14, 17, 18, 19
PRIMARY, SECONDARY = 1, 2  # styles of a button
PARAGRAPH = 2  # style of a text input: shows all of a long query

INDENT = "\u00a0"  # Discord drops other white space at the start of a line
LINE = 1_000  # characters of one line; escaping doubles them at most
TEXT_SIZE = 3_000  # characters of lines in one text display; leaves room for a heading above them
DIVIDER: Block = {"type": SEPARATOR, "divider": True, "spacing": 1}


def text(markdown: str) -> Block:
    return {"type": TEXT, "content": markdown}


def container(components: Sequence[Block], *, colour: int) -> Block:
    """A box with a coloured edge; ``colour`` is 0xRRGGBB."""
    return {"type": CONTAINER, "accent_color": colour, "components": list(components)}


def rows(buttons: Sequence[Block]) -> Iterator[Block]:
    for start in range(0, len(buttons), ROW_BUTTONS):
        yield {"type": ROW, "components": [*buttons[start : start + ROW_BUTTONS]]}


def button(label: str, action: str, value: str, *, is_primary: bool = False) -> Block:
    """``action`` up to a colon says what a press does, ``value`` what it is about."""
    return {
        "type": BUTTON,
        "style": PRIMARY if is_primary else SECONDARY,
        "label": clipped(line(label), BUTTON_LABEL),
        "custom_id": custom_id(action, value),
    }


def custom_id(action: str, value: str) -> str:
    return f"{action}:{value}"[:CUSTOM_ID]


def read_custom_id(data: Mapping[str, Any]) -> tuple[str, str]:
    """The action of a component or a form, and the value."""
    action, _, value = str(data.get("custom_id", "")).partition(":")
    return action, value


def feedback(turn_id: str, say: Wording) -> tuple[Block, Block]:
    """Two buttons with words beside the signs, for screen readers."""
    good, bad = button(say("helpful"), "good", turn_id), button(say("not_helpful"), "bad", turn_id)
    return {**good, "emoji": {"name": "👍"}}, {**bad, "emoji": {"name": "👎"}}


def small(words: str) -> Iterator[Block]:
    """A line of small print, if there are words."""
    if markdown := small_print(clipped(line(words), LINE)):
        yield text(markdown)


def lines(texts: Iterable[str], *, bullet: str = "") -> Iterator[Block]:
    """One line each, in as many text displays as needed; empty lines are left out."""
    markdown = filter(None, (words(clipped(line(each), LINE)) for each in texts))
    yield from map(text, joined((f"{bullet}{each}" for each in markdown), TEXT_SIZE, "\n"))


def quotation(lines: Iterable[tuple[str, Sequence[tuple[str, bool]]]], *, above: str) -> Iterator[Block]:
    """Lines, as indentation and pieces, in a quotation, with what is quoted in bold; ``above`` is safe Markdown."""
    rows = (row for indentation, pieces in lines for row in _rows(indentation, pieces))
    yield from map(text, joined(chain([above], rows), TEXT_SIZE, "\n"))


def _rows(indentation: str, pieces: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """One line, or several if it is long."""
    row = INDENT * len(indentation.expandtabs(4))
    for content, is_quote in pieces:
        for part in wrap(content, LINE, break_on_hyphens=False):
            if len(row) > LINE:
                yield f"> {row}"
                row = ""
            gap = " " if row.strip(INDENT) and content[:1].isspace() else ""
            row += gap + (bold(part) if is_quote else words(part))
            row += " " if content[-1:].isspace() else ""
    if row.strip():
        yield f"> {row.rstrip(' ')}"


def bold(text: str) -> str:
    """A line in bold, unless a star in an address within it would end that."""
    markdown = words(text)
    return markdown if _STAR_IN_CODE.search(markdown) else f"**{markdown}**"


_STAR_IN_CODE = re.compile(r"(?<!\\)`[^`\s]*\*[^`\s]*`")


def trimmed(message: list[Block]) -> list[Block]:
    """The components without separators at either end."""
    first, end = 0, len(message)
    while first < end - 1 and message[first]["type"] == SEPARATOR:
        first += 1
    while end > first + 1 and message[end - 1]["type"] == SEPARATOR:
        end -= 1
    return message[first:end]


def fits(components: Iterable[Block]) -> bool:
    """True if one message takes them."""
    everything = [*walk(components)]
    return len(everything) <= MESSAGE_COMPONENTS and size(everything) <= MESSAGE_TEXT


def size(components: Iterable[Block]) -> int:
    return sum(len(each["content"]) for each in components if each["type"] == TEXT)


def walk(components: Iterable[Block]) -> Iterator[Block]:
    """Components, each followed by those within it."""
    for each in components:
        yield each
        yield from walk(each.get("components", ()))
