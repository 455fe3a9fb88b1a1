"""Text, marks, code and links within a line of Markdown, and the dialect in which a platform reads them.

Nothing that was not a mark becomes one: escaped characters are escaped again, and addresses are
searched for in the text as a reader sees it. Each adapter has its dialect, with the source of each rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from bots.chat.markdown.safe import addresses, clean, names_another_host, same_place
from core.conversation import value

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node


@value
class Dialect:
    """The rules by which a platform's Markdown writes structure and escapes all other text."""

    #: Text as a reader sees it, and which of its characters were escaped (by index) -> Markdown.
    plain: Callable[[str, Callable[[int], bool]], str]
    code: Callable[[str], str]  #: code within a line; not empty, on one line
    fence: Callable[[str, str], str]  #: lines, info string -> a code block that its content cannot close
    link: Callable[[str, str], str]  #: an allowed URL, and a label on one line that names no other host
    emphasis: Callable[[Node], str]  #: the mark on both sides; empty if it would reach too far
    heading: Callable[[int, str], str]  #: level, and the written title on one line
    #: Number or None, and the original bullet -> the start of an item.
    marker: Callable[[int | None, str], str]
    guarded: Callable[[str], str]  #: lines of a paragraph -> the same, none of which opens another block
    #: Whether it only shows, and leads to the links alone.
    is_harmless: Callable[[str, Collection[str]], bool]
    soft_break: str = "\n"  #: for a line break without a blank line
    hard_break: str = "  \n"
    rule: str = "***"
    touching: Collection[str] = ("``",)  #: pairs of marks that would mean something else side by side
    between: str = " "  #: separates such a pair
    quoted_blank: str = ">"  #: an empty line of a quotation
    deepest_heading: int = 6  #: level; deeper ones are a line in bold
    table_rows: int | None = None  #: rows of one table; None if the platform shows no tables
    #: Whether quotations nest, and lists may hold headings, code blocks and empty lines.
    nests: bool = True


@value
class Terms:
    """The dialect and the allowed links of a text."""

    dialect: Dialect
    links: Collection[str] = ()  #: the only ones that may be followed


def guarded_line(text: str, opener: re.Pattern[str]) -> str:
    """Put a backslash where ``opener`` ends, if the line would open a block."""
    text = text.lstrip(" \t")
    found = opener.match(text)
    return f"{text[: found.end()]}\\{text[found.end() :]}" if found else text


WORDS = ("text", "text_special")
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//|(?:mailto|tel|javascript|data):", re.IGNORECASE)


def inline(node: Node, terms: Terms) -> str:
    """The content of a paragraph, a heading, a cell or an emphasis."""
    shown = ""
    for part in parts(node, terms):
        shown += separator(shown, part, terms) + part
    return shown


def separator(shown: str, part: str, terms: Terms) -> str:
    """Separates marks that would mean something else side by side."""
    return terms.dialect.between if shown[-1:] + part[:1] in terms.dialect.touching else ""


def parts(node: Node, terms: Terms) -> Iterator[str]:
    """The same, child by child; adjacent text, escapes and entities are one part."""
    for run in runs(node):
        yield words(run, terms) if run[0].type in WORDS else mark(run[0], terms)


def runs(node: Node) -> Iterator[list[Node]]:
    """The children one by one, but adjacent text together."""
    run: list[Node] = []
    for child in node.children:
        if run and not (child.type in WORDS and run[0].type in WORDS):
            yield run
            run = []
        run.append(child)
    if run:
        yield run


def mark(node: Node, terms: Terms) -> str:
    """A child that is not text."""
    return _INLINES.get(node.type, inline)(node, terms)


def prose(text: str, terms: Terms) -> str:
    """Plain text: nothing in it is Markdown, and addresses become code or one of the links."""
    return _shown(clean(text), lambda _: True, terms)


def words(run: list[Node], terms: Terms) -> str:
    """Adjacent text; addresses are searched for as a reader sees them, so that escapes do not hide them."""
    seen, was_escaped = "", set[int]()
    for part in run:
        said = clean(part.content)
        if part.type == "text_special":
            was_escaped.update(range(len(seen), len(seen) + len(said)))
        seen += said
    return _shown(seen, was_escaped.__contains__, terms)


def _shown(seen: str, is_escaped: Callable[[int], bool], terms: Terms) -> str:
    shown, end = "", 0
    for start, stop in [*addresses(seen), (len(seen), len(seen))]:
        shown += _plain(seen[end:start], end, is_escaped, terms)
        shown += _address(seen[start:stop], terms) if start < stop else ""
        end = stop
    return shown


def _plain(words: str, at: int, is_escaped: Callable[[int], bool], terms: Terms) -> str:
    return terms.dialect.plain(words, lambda index: is_escaped(at + index))


def _address(address: str, terms: Terms) -> str:
    url = same_place(address, terms.links)
    return terms.dialect.code(address) if url is None else terms.dialect.link(url, address)


def _link(node: Node, terms: Terms) -> str:
    """An allowed link with its label; of any other link, the label and the address."""
    target, said = str(node.attrs.get("href", "")), text_of(node).strip()
    url = same_place(target, terms.links)
    if url is not None and not names_another_host(said, url):
        return terms.dialect.link(url, said or url)
    shown = leads_to(node, terms)
    if not shown or said in ("", target):
        return shown or inline(node, terms)
    return f"{inline(node, terms)} ({shown})"


def leads_to(node: Node, terms: Terms) -> str:
    """A link's or an image's address; empty for a relative one, which means nothing here."""
    target = str(node.attrs.get("href") or node.attrs.get("src") or "")
    return _address(target, terms) if _SCHEME.match(target) else ""


def _image(node: Node, terms: Terms) -> str:
    """The image's description, and its address as text that loads nothing."""
    said, shown = prose(node.content, terms), leads_to(node, terms)
    return f"{said} ({shown})" if said and shown else said or shown or "(image)"


def text_of(node: Node) -> str:
    """The text without marks."""
    if node.type in ("softbreak", "hardbreak"):
        return " "
    if node.type in ("text", "text_special", "code_inline", "image"):
        return clean(node.content)
    return "".join(text_of(child) for child in node.children)


def _marked(node: Node, terms: Terms) -> str:
    """Put marks directly at the text: an opening mark before a space would not open."""
    inner, sign = inline(node, terms), terms.dialect.emphasis(node)
    said = inner.strip()
    return inner.replace(said, f"{sign}{said}{sign}", 1) if said else inner


_INLINES: Mapping[str, Callable[[Node, Terms], str]] = {
    "code_inline": lambda node, terms: terms.dialect.code(clean(node.content)),
    "em": _marked,
    "strong": _marked,
    "s": _marked,
    "softbreak": lambda _node, terms: terms.dialect.soft_break,
    "hardbreak": lambda _node, terms: terms.dialect.hard_break,
    "link": _link,
    "image": _image,
}
