"""The templates: everything that is put in is escaped, without invisible characters, and of a bounded length.

What people typed into an answer is shown whole, however long: its length is bounded where it is sent and kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from bots.chat.markdown.safe import clean, web_link

if TYPE_CHECKING:
    from bots.page.site import View

HERE = Path(__file__).parent
SHOWN = 5_000  # characters of one text; nothing that the page shows is longer but by an attack


def make_templates(views: Iterable[View]) -> Environment:
    templates = Environment(
        loader=FileSystemLoader([HERE / "templates", HERE / "views"]),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {"views": tuple(views), "assets": asset_versions()}
    templates.filters |= {
        "moment": moment,
        "iso": iso,
        "seconds": seconds,
        "place": place,
        "whole": lambda typed: escape(clean(typed)),
        "link": lambda address: web_link(address) or "",
    }
    return templates


def shown(content: object) -> object:
    """What stands in the place of an expression in a template."""
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


def seconds(taken: float) -> str:
    """ "0.4 s", "12 s"."""
    return f"{taken:.1f} s" if taken < 10 else f"{taken:.0f} s"


def place(title: str, location: str) -> str:
    """ "Tutorial › Request Body": where a passage stands, each heading once."""
    parts = (part.strip() for part in (title, *location.split(" > ")))
    return " › ".join(dict.fromkeys(part for part in parts if part))


def asset_versions() -> dict[str, str]:
    """The address of each static file, which changes with its content."""
    return {
        file.name: f"/static/{file.name}?v={hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"
        for file in sorted((HERE / "static").iterdir())
    }
