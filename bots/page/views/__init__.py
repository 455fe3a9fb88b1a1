"""The views of the page: each is a module with a :class:`View` called ``VIEW``, and a template beside it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from bots.page.site import View

NAMES = (
    "overview",
    "ask",
    "questions",
    "feedback",
    "gaps",
    "answers",
    "sources",
    "spend",
    "changes",
    "sessions",
)  # in the order of the menu


@cache
def views() -> tuple[View, ...]:
    return tuple(cast("View", import_module(f"bots.page.views.{name}").VIEW) for name in NAMES)
