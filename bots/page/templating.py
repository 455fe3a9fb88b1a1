"""The templates, and what they call: everything that is put in is escaped, without invisible characters; addresses on
the page; and CommonMark from an untrusted source as HTML without scripts, images, or links that hide where they lead.

What people typed into an answer is shown whole, however long: its length is bounded where it is sent and kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from bots.arguments import span_of
from bots.chat.markdown.safe import clean, names_another_host, web_link
from bots.chat.texts import duration, unseen_note
from bots.record import ENDINGS, FAULTS, REASONS, ended, missing_in, people_of, reasons_of, trend_of
from core.answers.store import TEXT_LIMIT
from core.library.documents import is_kept
from core.library.entries import Entry
from core.library.readers import base_of
from core.sources.kinds import label_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from bots.page.site import View


HERE = Path(__file__).parent
SHOWN = 5_000  # characters of one text; nothing that the page shows is longer but by an attack


def question_path(turn: str) -> str:
    return f"/questions/{quote(turn, safe='')}"


def answer_path(answer: str) -> str:
    return f"/answers/{quote(answer, safe='')}"


def gap_path(turn: str) -> str:
    return f"/gaps/{quote(turn, safe='')}"


def collection_path(name: str, below: str = "", **more: str | int) -> str:
    """``below``: what of the collection. In an address nothing is cleaned, as it would be in a field."""
    return f"/sources{below}?{urlencode({'collection': name, **more})}"


def access_path(name: str) -> str:
    return collection_path(name, "/access")


def change_path(collection: str, address: str = "") -> str:
    return collection_path(collection, "/change", address=address)


def document_path(entry: Entry, *, first: int = 1) -> str:
    start = {"from": first} if first > 1 else {}
    return collection_path(entry.collection, "/document", address=entry.address, **start)


def source_path(collection: str, source: str) -> str:
    """The path of the document that a trace names."""
    return collection_path(base_of(collection), "/document", source=source)


def changed_at(entry: Entry) -> float:
    """The time of a document's last change, else of its file's, else 0."""
    return entry.modified / 1e9 if entry.changed_at is None else entry.changed_at


def size_text(size: int) -> str:
    """ "812 B", "12 kB", "3.4 MB"."""
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1e3:,.0f} kB" if size < 1_000_000 else f"{size / 1e6:,.1f} MB"


#: What the templates call by its own name.
CALLED = (
    question_path, answer_path, gap_path, collection_path, access_path, change_path, document_path, source_path,
    changed_at, size_text, unseen_note, span_of, label_of, is_kept, base_of,
    ended, trend_of, missing_in, reasons_of, people_of,
)  # fmt: skip


def make_templates(views: Iterable[View]) -> Environment:
    templates = Environment(
        loader=FileSystemLoader([HERE / "templates", HERE / "views"]),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {each.__name__: each for each in CALLED} | {
        "views": tuple(views), "assets": asset_versions(), "said": "",
        "endings": ENDINGS, "faults": FAULTS, "reasons": REASONS, "limit": TEXT_LIMIT,
    }  # fmt: skip
    templates.filters |= {
        "moment": moment,
        "iso": iso,
        "seconds": lambda taken: duration(1000 * taken),
        "heading": heading,
        "whole": lambda typed: escape(clean(typed)),
        "link": lambda address: web_link(address) or "",
    }
    return templates


def shown(content: object) -> object:
    """The value of an expression in a template, as it is shown."""
    if content is None:
        return ""
    if isinstance(content, Markup) or not isinstance(content, str):
        return content
    return clean(content if len(content) <= SHOWN else f"{content[:SHOWN]}…")


def moment(at: float) -> str:
    """A time in UTC; the browser replaces it by its own."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def heading(title: str, location: str) -> str:
    """ "Tutorial › Request Body": where a passage stands, each heading once."""
    parts = (part.strip() for part in (title, *location.split(" > ")))
    return " › ".join(dict.fromkeys(part for part in parts if part))


def asset_versions() -> dict[str, str]:
    """The address of each static file, which changes with its content."""
    return {
        file.name: f"/static/{file.name}?v={hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"
        for file in sorted((HERE / "static").iterdir())
    }


LONGEST = 20_000  # characters; an answer is far shorter
_MARKER = re.compile(r"\[(\d{1,4})\]")

#: The tags that may come out, and nothing else.
_TAGS = frozenset(
    ("p", "em", "strong", "s", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "br", "hr")
)  # fmt: skip


def to_html(text: str, *, turn: str = "", numbers: Collection[int] = ()) -> Markup:
    """The text as safe HTML. Its markers link to the footnotes of the turn with these ``numbers``."""
    parsed = _parser().parse(clean(text[:LONGEST]))
    return Markup("").join(_blocks(parsed, turn, numbers))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # A link definition in a quoted document could turn our [1] into its link.
    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("reference")


def _blocks(tokens: Sequence[Token], turn: str, numbers: Collection[int]) -> Iterator[Markup]:
    for token in tokens:
        if token.type == "inline":
            yield from _inline(token.children or (), turn, numbers)
        elif token.type in ("fence", "code_block"):
            yield Markup('<pre tabindex="0"><code>{}</code></pre>\n').format(clean(token.content))
        elif token.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):  # the page has the headings
            yield Markup("<p><strong>") if token.nesting == 1 else Markup("</strong></p>\n")
        elif token.tag in _TAGS and not token.hidden:
            yield _tag(token)


def _tag(token: Token) -> Markup:
    if token.nesting == -1:
        return Markup("</{}>{}").format(token.tag, "\n" if token.block else "")
    start = token.attrs.get("start") if token.tag == "ol" else None
    return Markup("<{}{}>").format(token.tag, Markup(' start="{}"').format(int(start)) if start else "")


def _inline(tokens: Iterable[Token], turn: str, numbers: Collection[int]) -> Iterator[Markup]:
    tokens = list(tokens)
    open_links: list[str | None] = []
    for position, token in enumerate(tokens):
        if token.type == "link_open":
            open_links.append(None if any(open_links) else _address(token, tokens[position + 1 :]))
            if open_links[-1]:
                yield Markup('<a href="{}" rel="noreferrer nofollow">').format(open_links[-1])
        elif token.type == "link_close":
            if open_links.pop():
                yield Markup("</a>")
        else:
            yield _piece(token, turn, () if any(open_links) else numbers)


def _piece(token: Token, turn: str, numbers: Collection[int]) -> Markup:
    if token.type == "text":
        text = clean(token.content)
        pieces = _MARKER.split(text)
        shown = [escape(pieces[0])]
        for number, after in zip(pieces[1::2], pieces[2::2], strict=True):
            if int(number) in numbers:
                link = Markup('<a class="marker" href="#{}-{}" aria-label="Footnote {}">{}</a>')
                shown.append(link.format(f"footnote-{turn}", number, number, number))
            else:
                shown.append(escape(f"[{number}]"))
            shown.append(escape(after))
        return Markup("").join(shown)
    if token.type == "code_inline":
        return Markup("<code>{}</code>").format(clean(token.content))
    if token.type == "hardbreak":
        return Markup("<br>")
    if token.tag in _TAGS:
        return _tag(token)
    return escape("\n" if token.type == "softbreak" else clean(token.content))


def _address(token: Token, following: Iterable[Token]) -> str | None:
    """The target of a link; None if it may not be followed, or its label names another host."""
    address = web_link(str(token.attrs.get("href", "")))
    label = ""
    for each in following:
        if each.type == "link_close":
            break
        label += each.content
    return None if address is None or names_another_host(label, address) else address
