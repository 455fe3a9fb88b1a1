"""The blocks that messages are built of. Text of people and documents is passed in unescaped.

In ``mrkdwn`` and in plain text, Slack obeys what is in angle brackets. Escaping the "<" disarms it;
nothing invisible is put into the text of others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bots.chat.markdown.blocks import cells, document
from bots.chat.markdown.pieces import joined
from bots.chat.markdown.safe import addresses, clean, line, names_another_host
from bots.chat.proposals import in_utc
from bots.chat.render import Block, Part
from bots.chat.texts import clipped
from core.wording import Wording

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node


# Limits of Slack, each with its source: a page of docs.slack.dev, or an issue.
MESSAGE_BLOCKS = 50  # blocks of a message, "Blocks"
# Characters in the blocks of a message; 13,200 is about where it is refused, bolt-js#2509.
MESSAGE_SIZE = 13_000
BLOCK_OVERHEAD = 50  # characters that a block counts beside its text, bolt-js#2867
MARKDOWN_SIZE = 12_000  # characters of all Markdown blocks of one message, "Markdown block"
SECTION_TEXT = 3_000  # characters, "Section block"
BUTTON_LABEL = 75  # characters, "Button element"
BUTTON_VALUE = 2_000  # characters, "Button element"
VIEW_BLOCKS = 100  # blocks of a modal, "Blocks"
FALLBACK_TEXT = 40_000  # characters of `text` that are not cut off, "chat.postMessage"
CHANGED_TEXT = 4_000  # characters of `text`, "chat.update"
TASK_TITLE = 256  # characters, "Task update chunk"
TABLE_ROWS = 100  # rows, "Table block"; so many has a piece of Markdown too
TABLE_COLUMNS = 20  # "Table block"
TABLE_TEXT = 10_000  # characters of all cells, "Table block"
DATA_ROWS = 200  # rows below the heading, "Data table block" and "Block Kit Design Principles"
DATA_TEXT = 20_000  # characters of all cells of a message, the same
DATA_CAPTION = 250  # characters, ours: it is read out before the table
PAGE_ROWS = 20  # rows from which a table is shown in pages of as many, "Data Display Design"


_escaped = partial(escape, quote=False)  # "Escaping text": these three signs alone


def escaped(text: str) -> str:
    """One line for ``mrkdwn``, always with ``verbatim``, so that addresses do not become links."""
    return _escaped(line(text))


def escaped_link(url: str, label: str) -> str:
    """``<URL|label>``; ``url`` is a web_link. A label that names another host is put before the link."""
    words = line(label) or url
    if names_another_host(words, url):
        return f"{_escaped(words)} <{_escaped(url)}|{_escaped(urlsplit(url).hostname or url)}>"
    return f"<{_escaped(url)}|{_escaped(words).replace('|', '¦')}>"


def fallback(text: str) -> str:
    """The ``text`` of a message, where only code marks keep addresses from becoming links."""
    words, shown, end = clean(text), "", 0
    for start, stop in addresses(words):
        shown += f"{_escaped(words[end:start])}`{_escaped(words[start:stop])}`"
        end = stop
    return shown + _escaped(words[end:])


def mrkdwn(markup: str) -> dict[str, Any]:
    """Our own markup; with ``verbatim``, words that look like addresses do not become links."""
    return {"type": "mrkdwn", "text": markup, "verbatim": True}


def plain(words: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": words, "emoji": False}


def section(markup: str) -> Block:
    return {"type": "section", "text": mrkdwn(markup)}


def context(markup: str) -> Block:
    return {"type": "context", "elements": [mrkdwn(markup)]}


def date(seconds: float) -> str:
    """A moment in the reader's own time zone, "Formatting text, Date formatting"; seconds since the epoch."""
    return f"<!date^{int(seconds)}^{{time}}, {{date_short_pretty}}|{in_utc(seconds)}>"


def rows(elements: Sequence[Block]) -> list[Block]:
    return [{"type": "actions", "elements": [*elements]}] if elements else []


def button(label: str, action: str, value: str, *, is_primary: bool = False) -> Block:
    """``action`` up to a colon is a key of ``BUTTONS`` in :mod:`bots.chat.incoming`."""
    made = {
        "type": "button",
        "text": plain(clipped(line(label), BUTTON_LABEL)),
        "action_id": action,
        "value": value[:BUTTON_VALUE],
    }
    return made | {"style": "primary"} if is_primary else made


def feedback(turn_id: str, say: Wording) -> list[Block]:
    """The two native buttons under an answer."""
    ratings = {
        "positive_button": ("helpful", "this_helped", "good"),
        "negative_button": ("not_helpful", "this_did_not_help", "bad"),
    }
    buttons = {
        name: {"text": plain(say(label)), "accessibility_label": say(spoken), "value": f"{rating} {turn_id}"}
        for name, (label, spoken, rating) in ratings.items()
    }
    element = {"type": "feedback_buttons", "action_id": "feedback", **buttons}
    return [{"type": "context_actions", "elements": [element]}]


def preformatted(words: str) -> Block:
    """Exactly these characters: rich text is never read as markup."""
    element = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": words}]}
    return {"type": "rich_text", "elements": [element]}


def quotation(before: str, quote: str, after: str) -> Iterator[Block]:
    """A quote in bold within the text around it, as rich text, which is never read as markup."""
    cuts = range(0, len(quote), SECTION_TEXT // 2) or range(1)
    for start in cuts:
        pieces: tuple[tuple[str, Block], ...] = (
            (clean(before if start == cuts[0] else ""), {}),
            (clean(quote[start : start + cuts.step]), {"style": {"bold": True}}),
            (clean(after if start == cuts[-1] else ""), {}),
        )
        texts = [{"type": "text", "text": words, **style} for words, style in pieces if words]
        if texts:
            yield {"type": "rich_text", "elements": [{"type": "rich_text_quote", "elements": texts}]}


LINE = SECTION_TEXT // 5 - 1  # characters; escaping makes five of one at most
DIVIDER: Block = {"type": "divider"}


def fits(blocks: Sequence[Block]) -> bool:
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    # A data table has a limit of its own, which is larger.
    size = sum((block["type"] != "data_table" and _size(block)) + BLOCK_OVERHEAD for block in blocks)
    return len(blocks) <= MESSAGE_BLOCKS and markdown <= MARKDOWN_SIZE and size <= MESSAGE_SIZE


def _size(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(
            len(inner) if key == "text" and isinstance(inner, str) else _size(inner)
            for key, inner in value.items()
        )
    return sum(_size(inner) for inner in value) if isinstance(value, list) else 0


def lines(texts: Iterable[str], *, bullet: str = "") -> Iterator[Block]:
    """Sections of escaped lines, as many as it takes; empty lines are left out."""
    markup = filter(None, (escaped(clipped(line(each), LINE)) for each in texts))
    yield from map(section, joined((f"{bullet}{each}" for each in markup), SECTION_TEXT, "\n"))


Style = dict[str, bool]

_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,6})?")
_STYLES = {"strong": "bold", "em": "italic", "s": "strike", "code_inline": "code"}


def with_table(pieces: Sequence[str]) -> Iterator[Part]:
    """The pieces of an answer, its only table as a block, whose rows may stand in several pieces under the same heading;
    several tables, or one too large, stay Markdown.
    """
    grouped = groupby(pieces, lambda each: each.startswith("|") and each.split("\n", 2)[:2])
    runs = [[*run] for _, run in grouped]
    tables = {number: table for number, run in enumerate(runs) if (table := _table(run))}
    for number, run in enumerate(runs):
        made = _block(tables[number]) if [*tables] == [number] else None
        yield from [made] if made else run


def table_words(block: Block) -> str:
    """The words of a table row by row, for texts without layout."""
    return "\n".join(" · ".join(_words_in(cell).strip() for cell in row) for row in block["rows"])


def _table(run: Sequence[str]) -> Node | None:
    """The table that pieces of Markdown are."""
    if not run[0].startswith("|"):
        return None
    tree = document("\n".join((run[0], *(piece.split("\n", 2)[-1] for piece in run[1:]))))
    children = tree.children if tree else []
    return children[0] if [child.type for child in children] == ["table"] else None


def _block(table: Node) -> Block | None:
    """The block of a table, a long one as a data table; None if it is too large for Slack."""
    heading, *below = cells(table)
    titles = [_cell(cell, {"bold": True}) for cell in heading]
    rows = [[_cell(cell, {}) for cell in row] for row in below]
    size = sum(len(_words_in(cell)) for row in (titles, *rows) for cell in row)
    if not rows or len(heading) > TABLE_COLUMNS:
        return None
    if len(rows) <= PAGE_ROWS and size <= TABLE_TEXT:
        wrapped = [{"is_wrapped": True} for _ in heading]
        return {"type": "table", "rows": [titles, *rows], "column_settings": wrapped}
    if len(rows) > DATA_ROWS or size > DATA_TEXT:
        return None
    first = [{"type": "raw_text", "text": _words_in(cell)} for cell in titles]
    for column in range(len(heading)):
        words = [_words_in(row[column]) for row in rows]
        for row, number in zip(rows, words, strict=True) if all(map(_NUMBER.fullmatch, words)) else ():
            row[column] = {"type": "raw_number", "value": float(number), "text": number}
    caption = clipped(" · ".join(_words_in(cell).strip() for cell in titles), DATA_CAPTION)
    return {"type": "data_table", "caption": caption, "page_size": PAGE_ROWS, "rows": [first, *rows]}


def _cell(cell: Node, style: Style) -> dict[str, Any]:
    # Slack refuses a cell without a character.
    elements = [*_elements(cell, style)] or [{"type": "text", "text": " "}]
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}


def _elements(node: Node, style: Style, url: str = "") -> Iterator[dict[str, Any]]:
    for child in node.children:
        inner = style | ({_STYLES[child.type]: True} if child.type in _STYLES else {})
        if child.type == "inline" or child.children:
            yield from _elements(child, inner, str(child.attrs.get("href", "")) or url)
        elif words := " " if child.type in ("softbreak", "hardbreak") else child.content:
            link = {"type": "link", "url": url} if url else {"type": "text"}
            yield {**link, "text": words} | ({"style": inner} if inner else {})


def _words_in(cell: dict[str, Any]) -> str:
    if "text" in cell:
        return str(cell["text"])
    return "".join(element["text"] for section in cell["elements"] for element in section["elements"])
