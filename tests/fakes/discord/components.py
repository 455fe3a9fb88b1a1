"""The kinds of components and how to go through them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]

ROW, BUTTON, STRING_SELECT, TEXT_INPUT = 1, 2, 3, 4
USER_SELECT, ROLE_SELECT, MENTIONABLE_SELECT, CHANNEL_SELECT = 5, 6, 7, 8
SECTION, TEXT, THUMBNAIL, GALLERY, FILE, SEPARATOR = 9, 10, 11, 12, 13, 14
CONTAINER, LABEL, FILE_UPLOAD, RADIO_GROUP, CHECKBOX_GROUP, CHECKBOX = 17, 18, 19, 21, 22, 23
SELECTS = (STRING_SELECT, USER_SELECT, ROLE_SELECT, MENTIONABLE_SELECT, CHANNEL_SELECT)

LINK_STYLE, PREMIUM_STYLE = 5, 6


def children(component: Json) -> Iterator[tuple[str, Json]]:
    """What stands directly inside a component, with its place."""
    for index, child in enumerate(component.get("components") or []):
        yield f"components.{index}", child
    for name in ("accessory", "component"):
        if isinstance(component.get(name), dict):
            yield name, component[name]


def walk(components: Iterable[Json]) -> Iterator[Json]:
    """All components, nested ones after the one they stand in."""
    for component in components:
        yield component
        yield from walk(child for _, child in children(component))


def buttons(components: Iterable[Json]) -> list[Json]:
    return [one for one in walk(components) if one["type"] == BUTTON]


def custom_ids(components: Iterable[Json]) -> dict[str, str]:
    """Of the buttons that can be pressed, by their action, whatever language the labels are in."""
    ids = (str(one["custom_id"]) for one in buttons(components) if not one.get("disabled"))
    return {custom_id.partition(":")[0]: custom_id for custom_id in ids}


def numbered(components: list[Json]) -> list[Json]:
    """Components as Discord keeps them: each with a numeric id of its own."""
    taken = {one["id"] for one in walk(components) if one.get("id")}
    free = (number for number in range(1, 1000) if number not in taken)
    for one in walk(components):
        if not one.get("id"):
            one["id"] = next(free)
    return components
