"""CommonMark from an untrusted writer -> Markdown that a message may show.

What is written is read by a parser and written anew, so that what comes out has only the
structure that stands here: no images, no links but the given ones, no raw HTML, no link
definitions, every code block closed. Each block is then read once more as a reader with looser
rules would; one that still does something is shown as its source, in a code block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from bots.slack.inline import inline
from bots.slack.safe import addresses, clean, disarmed, has_control, same_place

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode as Node

NESTING = 40  # levels of lists and quotations; a text with more is shown as its source

_INFO = re.compile(r"[\w+#.-]{1,20}")
_BACKTICKS = re.compile(r"`+")
#: What would open a block at the beginning of a line, as far as the sign that is escaped.
_OPENER = re.compile(
    r"( *)(?:(?=[-+*](?:\s|$))|(?=#{1,6}(?:\s|$))|(?=>)|(?=~~~)|(?=\|)|(?==+ *$)|(?=[-:| ]*-[-:| ]*$)"
    r"|(\d{1,9})(?=[.)](?:\s|$)))"
)


def document(text: str) -> Node | None:
    """The text as a tree of blocks; None where it is nested too deeply to be read whole."""
    from markdown_it.tree import SyntaxTreeNode

    tokens = _reader().parse(clean(text))
    if any(token.level >= NESTING - 1 for token in tokens):
        return None
    return SyntaxTreeNode(tokens)


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Escapes and entities stay apart from the words, so that they are written as they stood.
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING})
    return reader.enable(["table", "strikethrough"]).disable(["reference", "text_join", "autolink"])


@cache
def _loose_reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": 4 * NESTING})
    return reader.enable(["table", "strikethrough"])


def is_harmless(markdown: str, links: Collection[str]) -> bool:
    """Whether Markdown shows nothing but words, and leads nowhere but to ``links``."""
    if has_control(markdown):
        return False
    return all(
        _are_harmless(found.children, links) for found in _loose_reader().parse(markdown) if found.children
    )


def _are_harmless(line: list[Token], links: Collection[str]) -> bool:
    is_in_link = False  # the words of a link were looked at when it was written
    for token in line:
        if token.type == "link_open" and same_place(str(token.attrs.get("href", "")), links) is None:
            return False
        if token.type == "image":
            return False
        if token.type == "text" and not is_in_link and addresses(token.content):
            return False
        is_in_link = token.type == "link_open" or (is_in_link and token.type != "link_close")
    return True


def block(node: Node, links: Collection[str]) -> str:
    """One block, whatever it holds, without a line end after it."""
    return _BLOCKS.get(node.type, content)(node, links)


def fence(lines: str, info: str = "") -> str:
    """A code block that its content cannot close."""
    mark = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(lines)), default=0))
    language = info.strip().partition(" ")[0]
    opening = mark + (language if _INFO.fullmatch(language) else "")
    body = lines if lines.endswith("\n") else f"{lines}\n"
    return f"{opening}\n{disarmed(body)}{mark}"


def guarded(lines: str) -> str:
    """Lines of a paragraph, none of which opens another block or defines a link."""
    guards = "\n".join(_guarded(each) for each in lines.split("\n"))
    return f"\\{guards}" if guards.startswith("[") and "]:" in guards else guards


def _guarded(text: str) -> str:
    text = text.lstrip(" \t")
    if found := _OPENER.match(text):
        return f"{text[: found.end()]}\\{text[found.end() :]}"
    return text


def content(node: Node, links: Collection[str]) -> str:
    """What stands in a quotation or in an item of a list."""
    separator = "\n" if node.type == "list_item" and is_tight(node) else "\n\n"
    return separator.join(block(child, links) for child in node.children)


def is_tight(item: Node) -> bool:
    """Whether no blank lines stand in an item."""
    return all(child.hidden for child in item.children if child.type == "paragraph")


def _paragraph(node: Node, links: Collection[str]) -> str:
    return guarded(inline(node.children[0], links))


def _heading(node: Node, links: Collection[str]) -> str:
    title = " ".join(inline(node.children[0], links).split())
    words, closing = title.rstrip("#"), len(title) - len(title.rstrip("#"))
    return f"{'#' * int(node.tag[1])} {words}" + "\\#" * closing


def marked_items(node: Node) -> Iterator[tuple[str, Node]]:
    """Each item of a list after its bullet or number."""
    number = int(node.attrs.get("start", 1))
    for item in node.children:
        yield (f"{number}{item.markup} " if node.type == "ordered_list" else f"{item.markup} "), item
        number += 1


def indented(marker: str, lines: str) -> str:
    """An item: its marker, and its lines below each other."""
    first, *others = lines.split("\n")
    return "\n".join(
        [f"{marker}{first}".rstrip(), *(f"{' ' * len(marker)}{each}".rstrip() for each in others)]
    )


def blank_lines(node: Node) -> str:
    """What stands between the items of a list."""
    return "\n" if all(is_tight(item) for item in node.children) else "\n\n"


def _list(node: Node, links: Collection[str]) -> str:
    return blank_lines(node).join(
        indented(marker, content(item, links)) for marker, item in marked_items(node)
    )


def quoted(lines: str) -> str:
    return "\n".join(f"> {each}".rstrip() for each in lines.split("\n"))


def rows(node: Node, links: Collection[str]) -> tuple[str, list[str]]:
    """A table's heading with the line below it, and its rows."""
    lines = [
        [" ".join(inline(cell.children[0], links).replace("|", "\\|").split()) for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    shown = [f"| {' | '.join(cells)} |" for cells in lines]
    return f"{shown[0]}\n|{'---|' * len(lines[0])}", shown[1:]


def _table(node: Node, links: Collection[str]) -> str:
    heading, below = rows(node, links)
    return "\n".join([heading, *below])


_BLOCKS: Mapping[str, Callable[[Node, Collection[str]], str]] = {
    "paragraph": _paragraph,
    "heading": _heading,
    "fence": lambda node, _: fence(node.content, node.info),
    "code_block": lambda node, _: fence(node.content),
    "hr": lambda _node, _: "***",
    "bullet_list": _list,
    "ordered_list": _list,
    "blockquote": lambda node, links: quoted(content(node, links)),
    "table": _table,
}
