"""The published description of the Drive API: which methods it has, which parameters they take, and which fields there
are. ``discovery.json`` is Google's discovery document ``drive:v3`` (revision 20261106, Apache License 2.0) with the
methods that are used here and the schemas that these need, without the descriptions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_WORD = re.compile(r"\w+|[(),]")


@cache
def description() -> Mapping[str, Any]:
    return json.loads((Path(__file__).parent / "discovery.json").read_text())


def method_at(path: str) -> tuple[str, str, Mapping[str, str], Mapping[str, Any]] | None:
    """Resource, method, parameters of the path, and its description; None for what is no path of a GET."""
    for resource, given in description()["resources"].items():
        for name, method in given["methods"].items():
            pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(method["path"]))
            if found := re.fullmatch(pattern, path):
                return resource, name, found.groupdict(), method
    return None


def fault_of(method: Mapping[str, Any], asked: Mapping[str, str], scope: str) -> str:
    """What is wrong with a request; empty for one that keeps to the description."""
    known = {**description()["parameters"], **method["parameters"]}
    for name, text in asked.items():
        rules = known.get(name)
        if rules is None:
            return f"{name} is not known"
        if rules["type"] == "boolean" and text not in ("true", "false"):
            return f"{name} is no boolean"
        if rules["type"] == "integer" and not int(rules.get("minimum", 0)) <= int(text) <= int(
            rules["maximum"]
        ):
            return f"{name} is out of range"
    for name, rules in method["parameters"].items():
        if rules.get("required") and rules["location"] == "query" and name not in asked:
            return f"{name} is missing"
    if scope not in method["scopes"]:
        return f"{scope} does not suffice"
    return ""


def fields_of(text: str) -> dict[str, Any]:
    """``a,b(c,d)`` as a tree."""
    words = iter(_WORD.findall(text))

    def level() -> dict[str, Any]:
        tree: dict[str, Any] = {}
        last = ""
        for word in words:
            if word == "(":
                tree[last] = level()
            elif word == ")":
                break
            elif word != ",":
                last = word
                tree[last] = {}
        return tree

    return level()


def unknown_field(tree: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The first field that a schema does not have; empty if it has all."""
    while "$ref" in schema or schema.get("type") == "array":
        schema = description()["schemas"][schema["$ref"]] if "$ref" in schema else schema["items"]
    for name, below in tree.items():
        if name not in schema.get("properties", {}):
            return name
        if below and (found := unknown_field(below, schema["properties"][name])):
            return found
    return ""


def selected(given: Any, tree: Mapping[str, Any]) -> Any:
    """A partial response."""
    if isinstance(given, list):
        return [selected(each, tree) for each in given]
    if not tree or not isinstance(given, dict):
        return given
    return {name: selected(given[name], below) for name, below in tree.items() if name in given}
