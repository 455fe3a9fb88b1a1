"""The blocks that messages are built of. Text of people and documents is passed in unescaped.

In ``mrkdwn`` and in plain text, Slack obeys what is in angle brackets. Escaping the "<" disarms it;
nothing invisible is put into the text of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bots.chat.markdown.blocks import cells, document
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
ACTIONS = 25  # elements of one block, "Actions block"
VIEW_BLOCKS = 100  # blocks of a modal, "Blocks"
MODAL_TITLE = 24  # characters, "Modal views"
PRIVATE_METADATA = 3_000  # characters, "Modal views"
FALLBACK_TEXT = 4_000  # characters of `text` that every client shows, "chat.postMessage"
TASK_TITLE = 256  # characters, "Task update chunk"
TABLE_ROWS = 100  # rows, "Table block"
TABLE_COLUMNS = 20  # "Table block"
TABLE_TEXT = 10_000  # characters of all cells, "Table block"


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
    """For the ``text`` of a message, where only code marks keep addresses from becoming links."""
    words, shown, end = clean(text), "", 0
    for start, stop in addresses(words):
        shown += f"{_escaped(words[end:start])}`{_escaped(words[start:stop])}`"
        end = stop
    return shown + _escaped(words[end:])


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def mrkdwn(markup: str) -> dict[str, Any]:
    """Our own markup; with ``verbatim``, words that look like addresses do not become links."""
    return {"type": "mrkdwn", "text": markup, "verbatim": True}


def plain(words: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": words, "emoji": False}


def section(markup: str) -> Block:
    return {"type": "section", "text": mrkdwn(markup)}


def context(markup: str) -> Block:
    """A small line."""
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
        name: {"text": plain(say(label)), "accessibility_label": say(told), "value": f"{rating} {turn_id}"}
        for name, (label, told, rating) in ratings.items()
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


def packed(parts: Iterable[Part]) -> Iterator[list[Block]]:
    """The blocks of as few messages as hold the parts in order."""
    message: list[Block] = []
    for part in parts:
        grown = _with(message, part)
        if message and not fits(grown):
            yield message
            grown = _with([], part)
        message = grown
    if message:
        yield message


def _with(message: list[Block], part: Part) -> list[Block]:
    if not isinstance(part, str):
        return [*message, part]
    last = message[-1] if message else None
    if last is not None and last["type"] == "markdown":
        return [*message[:-1], {"type": "markdown", "text": f"{last['text']}\n\n{part}"}]
    return [*message, {"type": "markdown", "text": part}]


def fits(blocks: Sequence[Block]) -> bool:
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    size = sum(_size(block) + BLOCK_OVERHEAD for block in blocks)
    return len(blocks) <= MESSAGE_BLOCKS and markdown <= MARKDOWN_SIZE and size <= MESSAGE_SIZE


def _size(value: Any) -> int:
    """Characters of everything that is text."""
    if isinstance(value, Mapping):
        return sum(
            len(inner) if key == "text" and isinstance(inner, str) else _size(inner)
            for key, inner in value.items()
        )
    return sum(_size(inner) for inner in value) if isinstance(value, list) else 0


def lines(texts: Iterable[str], *, bullet: str = "") -> Iterator[Block]:
    """Sections of escaped lines, as many as it takes; empty lines are left out."""
    together = ""
    for words in filter(None, (escaped(clipped(line(each), LINE)) for each in texts)):
        row = f"{bullet}{words}"
        if together and len(together) + 1 + len(row) > SECTION_TEXT:
            yield section(together)
            together = ""
        together += f"\n{row}" if together else row
    if together:
        yield section(together)


Style = dict[str, bool]

_STYLES = {"strong": "bold", "em": "italic", "s": "strike", "code_inline": "code"}


def with_table(pieces: Sequence[str]) -> Iterator[Part]:
    """The pieces of an answer, its only table as a block; several, or one too large, stay Markdown."""
    tables = {piece: table for piece in pieces if (table := _table(piece))}
    for piece in pieces:
        is_alone = len(tables) == 1 and pieces.count(piece) == 1
        made = _block(tables[piece]) if is_alone and piece in tables else None
        yield made or piece


def table_words(block: Block) -> str:
    """Row by row, where there is no layout."""
    return "\n".join(" · ".join(_words_in(cell).strip() for cell in row) for row in block["rows"])


def _table(piece: str) -> Node | None:
    """The table that a piece of Markdown is."""
    tree = document(piece) if piece.startswith("|") else None
    is_table = tree is not None and [child.type for child in tree.children] == ["table"]
    return tree.children[0] if tree is not None and is_table else None


def _block(table: Node) -> Block | None:
    """None if it is too large for Slack."""
    heading, *below = cells(table)
    rows = [
        [_cell(cell, {"bold": True}) for cell in heading],
        *([_cell(cell, {}) for cell in row] for row in below),
    ]
    size = sum(len(_words_in(cell)) for row in rows for cell in row)
    if len(rows) > TABLE_ROWS or len(heading) > TABLE_COLUMNS or size > TABLE_TEXT:
        return None
    return {"type": "table", "rows": rows, "column_settings": [{"is_wrapped": True} for _ in heading]}


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
    return "".join(element["text"] for section in cell["elements"] for element in section["elements"])
