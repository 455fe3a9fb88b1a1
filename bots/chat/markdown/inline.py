"""What stands within a line of Markdown: words, marks, code and links, written so that they only show.

Nothing that was not a mark becomes one: signs that stood escaped are escaped again, and
addresses are looked for in what a reader sees.

What one platform makes of Markdown, as far as it differs from another: data, and how signs are written.

The instances stand beside their adapters, each rule beside its source.
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
    """How structure that is known to be wanted is written, and how everything else is kept from being any."""

    #: Words as a reader sees them, and which of their signs stood escaped (by index) -> Markdown.
    plain: Callable[[str, Callable[[int], bool]], str]
    code: Callable[[str], str]  #: code within a line; not empty, on one line
    fence: Callable[[str, str], str]  #: lines, info string -> a code block that its content cannot close
    link: Callable[[str, str], str]  #: a given URL, and a label on one line that names no other host
    emphasis: Callable[[Node], str]  #: the mark on both sides; empty where it would reach too far
    heading: Callable[[int, str], str]  #: level, and the written title on one line
    marker: Callable[[int | None, str], str]  #: number or None, and the sign that stood -> an item's begin
    guarded: Callable[[str], str]  #: lines of a paragraph -> the same, none of which opens another block
    is_harmless: Callable[
        [str, Collection[str]], bool
    ]  #: whether it only shows, and leads to the links alone
    soft_break: str = "\n"  #: what stands where a writer only began a new line
    hard_break: str = "  \n"
    rule: str = "***"
    touching: Collection[str] = ("``",)  #: pairs of signs that would mean another thing, side by side
    between: str = " "  #: what keeps such a pair apart
    quoted_blank: str = ">"  #: an empty line of a quotation
    deepest_heading: int = 6  #: level; deeper ones are a line in bold
    table_rows: int | None = None  #: rows of one table; None where the platform shows no tables
    #: Whether quotations stand in each other, and headings, code blocks and empty lines in lists.
    nests: bool = True


@value
class Terms:
    """On what terms a text is shown."""

    dialect: Dialect
    links: Collection[str] = ()  #: the only ones that may be followed


def guarded_line(text: str, opener: re.Pattern[str]) -> str:
    """A backslash stands where ``opener`` ends, if the line would open a block."""
    text = text.lstrip(" \t")
    found = opener.match(text)
    return f"{text[: found.end()]}\\{text[found.end() :]}" if found else text


WORDS = ("text", "text_special")
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//|(?:mailto|tel|javascript|data):", re.IGNORECASE)


def inline(node: Node, terms: Terms) -> str:
    """The words and marks of a paragraph, a heading, a cell or an emphasis."""
    shown = ""
    for part in parts(node, terms):
        shown += separator(shown, part, terms) + part
    return shown


def separator(shown: str, part: str, terms: Terms) -> str:
    """What keeps signs apart that would mean another thing, side by side."""
    return terms.dialect.between if shown[-1:] + part[:1] in terms.dialect.touching else ""


def parts(node: Node, terms: Terms) -> Iterator[str]:
    """The same, child by child; words, escapes and entities that follow each other are one part."""
    for run in runs(node):
        yield words(run, terms) if run[0].type in WORDS else mark(run[0], terms)


def runs(node: Node) -> Iterator[list[Node]]:
    """The children, one by one but for neighbours that are words."""
    run: list[Node] = []
    for child in node.children:
        if run and not (child.type in WORDS and run[0].type in WORDS):
            yield run
            run = []
        run.append(child)
    if run:
        yield run


def mark(node: Node, terms: Terms) -> str:
    """A child of a line that is no words."""
    return _INLINES.get(node.type, inline)(node, terms)


def prose(text: str, terms: Terms) -> str:
    """Words as words: nothing in them is Markdown, and addresses are code or one of the links."""
    return _shown(clean(text), lambda _: True, terms)


def words(run: list[Node], terms: Terms) -> str:
    """Addresses are looked for in what a reader sees, so that escapes do not hide them."""
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
    """A link that is given, with its words; of any other the words, and where it would lead."""
    target, said = str(node.attrs.get("href", "")), text_of(node).strip()
    url = same_place(target, terms.links)
    if url is not None and not names_another_host(said, url):
        return terms.dialect.link(url, said or url)
    shown = leads_to(node, terms)
    if not shown or said in ("", target):
        return shown or inline(node, terms)
    return f"{inline(node, terms)} ({shown})"


def leads_to(node: Node, terms: Terms) -> str:
    """A link's or an image's address; empty within a documentation tree, where it says nothing here."""
    target = str(node.attrs.get("href") or node.attrs.get("src") or "")
    return _address(target, terms) if _SCHEME.match(target) else ""


def _image(node: Node, terms: Terms) -> str:
    """Its description, and where it is as an address that loads nothing."""
    said, shown = prose(node.content, terms), leads_to(node, terms)
    return f"{said} ({shown})" if said and shown else said or shown or "(image)"


def text_of(node: Node) -> str:
    """The words alone."""
    if node.type in ("softbreak", "hardbreak"):
        return " "
    if node.type in ("text", "text_special", "code_inline", "image"):
        return clean(node.content)
    return "".join(text_of(child) for child in node.children)


def _marked(node: Node, terms: Terms) -> str:
    """Marks stand at the words: with a space behind it, one that opens would not."""
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
