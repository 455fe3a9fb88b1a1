"""A filled-in form as a client sends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakes.discord.components import FILE_UPLOAD, LABEL, ROW, SELECTS, TEXT, TEXT_INPUT, numbered, walk
from fakes.discord.limits import INPUT_VALUE

Json = dict[str, Any]


def fields_of(form: Json) -> list[Json]:
    """What a person can fill in."""
    return [one for one in walk(form["components"]) if one["type"] not in (ROW, LABEL, TEXT)]


def submitted(form: Json, values: Mapping[str, Any]) -> Json:
    """The data of the interaction; asserts what a client would not let a person leave out or overdo."""
    known = {one["custom_id"] for one in fields_of(form)}
    assert set(values) <= known, f"the form has no {set(values) - known}, only {known}"
    components = numbered(form["components"])
    return {"custom_id": form["custom_id"], "components": [_answered(one, values) for one in components]}


def _answered(component: Json, values: Mapping[str, Any]) -> Json:
    answer: Json = {"type": component["type"], "id": component["id"]}
    if component["type"] == ROW:
        return answer | {"components": [_answered(one, values) for one in component["components"]]}
    if component["type"] == LABEL:
        return answer | {"component": _answered(component["component"], values)}
    if component["type"] == TEXT:
        return answer
    answer["custom_id"] = component["custom_id"]
    given = values.get(component["custom_id"])
    if component["type"] == TEXT_INPUT:
        return answer | {"value": _typed(component, given)}
    is_list = component["type"] in (*SELECTS, FILE_UPLOAD)
    assert component["type"] != FILE_UPLOAD or len(given or ()) <= component.get("max_values", 1)
    assert given or not component.get("required", True), f"{component['custom_id']} is required"
    return answer | ({"values": list(given or [])} if is_list else {"value": given})


def _typed(field: Json, given: str | None) -> str:
    """What stands in a text field: what was typed, or what the bot had put there."""
    text = field.get("value") or "" if given is None else given
    name = field["custom_id"]
    assert text or not field.get("required", True), f"{name} is required"
    assert len(text) <= (field.get("max_length") or INPUT_VALUE), f"{name} is too long"
    assert not text or len(text) >= (field.get("min_length") or 0), f"{name} is too short"
    return text
