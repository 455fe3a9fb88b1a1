"""What stands within a line of Markdown: words, marks, code and links, written so that they only show.

Nothing that was not a mark becomes one: signs that stood escaped are escaped again, and
addresses are looked for in what a reader sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from bots.slack.safe import addresses, clean, disarmed, names_another_host, same_place

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node

WORDS = ("text", "text_special")
_BACKTICKS = re.compile(r"`+")
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//|(?:mailto|tel|javascript|data):", re.IGNORECASE)
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~]|\Z)")
_LINK_LIKE = re.compile(r"\](?=\()")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_LABEL_SIGNS = {"<": "&lt;", "&": "&amp;"} | {sign: f"\\{sign}" for sign in "\\`*_[]|~"}


def inline(node: Node, links: Collection[str]) -> str:
    """The words and marks of a paragraph, a heading, a cell or an emphasis."""
    shown = ""
    for part in parts(node, links):
        # Two runs of backticks that touch would become one.
        shown += f" {part}" if shown.endswith("`") and part.startswith("`") else part
    return shown


def parts(node: Node, links: Collection[str]) -> Iterator[str]:
    """The same, child by child; words, escapes and entities that follow each other are one part."""
    for run in runs(node):
        yield words(run, links) if run[0].type in WORDS else mark(run[0], links)


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


def mark(node: Node, links: Collection[str]) -> str:
    """A child of a line that is no words."""
    return _INLINES.get(node.type, inline)(node, links)


def code(inner: str) -> str:
    """Code within a line."""
    mark = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(inner)), default=0))
    is_padded = inner.startswith((" ", "`")) or inner.endswith((" ", "`"))
    pad = " " if is_padded and inner.strip() else ""
    return f"{mark}{pad}{disarmed(inner)}{pad}{mark}"


def prose(text: str, links: Collection[str] = ()) -> str:
    """Words as words: nothing in them is Markdown, and addresses are code or one of ``links``."""
    return _shown(clean(text), lambda _: True, links)


def words(run: list[Node], links: Collection[str]) -> str:
    """Addresses are looked for in what a reader sees, so that escapes do not hide them."""
    seen, was_escaped = "", set[int]()
    for part in run:
        said = clean(part.content)
        if part.type == "text_special":
            was_escaped.update(range(len(seen), len(seen) + len(said)))
        seen += said
    return _shown(seen, was_escaped.__contains__, links)


def _shown(seen: str, is_escaped: Callable[[int], bool], links: Collection[str]) -> str:
    shown, end = "", 0
    for start, stop in addresses(seen):
        shown += _plain(seen[end:start], end, is_escaped) + _address(seen[start:stop], links)
        end = stop
    return shown + _plain(seen[end:], end, is_escaped)


def _plain(text: str, at: int, is_escaped: Callable[[int], bool]) -> str:
    """Words with what had stood behind a backslash or in an entity escaped again."""
    if not any(is_escaped(at + index) for index in range(len(text))):
        return _unescaped(text)
    signs = []
    for index, sign in enumerate(text):
        if is_escaped(at + index) and _PUNCTUATION.match(sign):
            signs.append({"<": "&lt;", "&": "&amp;"}.get(sign, f"\\{sign}"))
        else:
            signs.append({"<": "&lt;", "`": "\\`"}.get(sign, sign))
    return "".join(signs)


def _unescaped(text: str) -> str:
    text = _BACKSLASH.sub(r"\\\\", text)
    text = _ENTITY.sub("&amp;", text)
    return _LINK_LIKE.sub(r"]\\", text).replace("<", "&lt;").replace("`", "\\`")


def _address(address: str, links: Collection[str]) -> str:
    url = same_place(address, links)
    return code(address) if url is None else _link_to(url, address)


def _link_to(url: str, label: str) -> str:
    shown = "".join(_LABEL_SIGNS.get(sign, sign) for sign in label)
    target = url if url.count("(") == url.count(")") else url.replace("(", "%28").replace(")", "%29")
    return f"[{shown}]({target})"


def _link(node: Node, links: Collection[str]) -> str:
    """A link that is given, with its words; of any other the words, and where it would lead."""
    target, said = str(node.attrs.get("href", "")), text_of(node).strip()
    url = same_place(target, links)
    if url is not None and not names_another_host(said, url):
        return _link_to(url, said or url)
    shown = leads_to(node, links)
    if not shown or said in ("", target):
        return shown or inline(node, links)
    return f"{inline(node, links)} ({shown})"


def leads_to(node: Node, links: Collection[str]) -> str:
    """A link's or an image's address; empty within a documentation tree, where it says nothing here."""
    target = str(node.attrs.get("href") or node.attrs.get("src") or "")
    return _address(target, links) if _SCHEME.match(target) else ""


def _image(node: Node, links: Collection[str]) -> str:
    """Its description, and where it is as an address that loads nothing."""
    said, shown = prose(node.content, links), leads_to(node, links)
    return f"{said} ({shown})" if said and shown else said or shown or "(image)"


def text_of(node: Node) -> str:
    """The words alone."""
    if node.type in ("softbreak", "hardbreak"):
        return " "
    if node.type in ("text", "text_special", "code_inline", "image"):
        return clean(node.content)
    return "".join(text_of(child) for child in node.children)


def _marked(node: Node, links: Collection[str]) -> str:
    return f"{node.markup}{inline(node, links)}{node.markup}"


_INLINES: Mapping[str, Callable[[Node, Collection[str]], str]] = {
    "code_inline": lambda node, _: code(clean(node.content)),
    "em": _marked,
    "strong": _marked,
    "s": _marked,
    "softbreak": lambda _node, _: "\n",
    "hardbreak": lambda _node, _: "  \n",
    "link": _link,
    "image": _image,
}
