"""Requests against Discord's own OpenAPI document, where it lies beside the checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

Json = dict[str, Any]

DOCUMENT = Path(__file__).resolve().parents[4] / "shared" / "specs" / "discord-openapi.json"
JSON = "application/json"
UNDOCUMENTED = {
    "use_nested_fields"
}  # parameters that discord.py sends and Discord takes, though it tells nobody


def is_there() -> bool:
    return DOCUMENT.is_file()


def violations(method: str, template: str, query: dict[str, str], body: Any) -> list[str]:
    """What is wrong with a request by the document; nothing where the document is missing."""
    if not is_there():
        return []
    path = _document()["paths"].get(template)
    if path is None or method.lower() not in path:
        return ["no such path and method"]
    return [*_of_query(method, template, query), *_of_body(method, template, body)]


def _of_query(method: str, template: str, query: dict[str, str]) -> list[str]:
    known = {one["name"]: one for one in _operation(method, template).get("parameters", [])}
    found = [f"query: no such parameter: {name}" for name in query if name not in known.keys() | UNDOCUMENTED]
    for name, parameter in known.items():
        if name not in query:
            found += [f"query: {name} is required"] if parameter.get("required") else []
            continue
        validator = _validator(method, template, f"parameter {name}")
        value = _typed(query[name], parameter["schema"])
        found += [f"query: {name}: {error.message}" for error in validator.iter_errors(value)]
    return found


def _of_body(method: str, template: str, body: Any) -> list[str]:
    wanted = _operation(method, template).get("requestBody", {})
    if body is None:
        return ["body: is required"] if wanted.get("required") else []
    if JSON not in wanted.get("content", {}):
        return []
    errors = list(_validator(method, template, "body").iter_errors(body))
    best = jsonschema.exceptions.best_match(errors)
    return [] if best is None else [f"body: {best.json_path}: {best.message[:300]}"]


def _typed(text: str, schema: Json) -> Any:
    """A query's text as what the schema calls it."""
    match schema.get("type"):
        case "integer":
            return int(text) if text.lstrip("-").isdigit() else text
        case "boolean":
            return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    return text


def _operation(method: str, template: str) -> Json:
    operation: Json = _document()["paths"][template][method.lower()]
    return operation


@cache
def _document() -> Json:
    """The document, with ids as numbers too: discord.py sends them so, and Discord takes them."""
    document: Json = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    ids = document["components"]["schemas"]["SnowflakeType"]
    document["components"]["schemas"]["SnowflakeType"] = {"anyOf": [ids, {"type": "integer", "minimum": 0}]}
    return document


@cache
def _registry() -> Registry[Any]:
    return Registry().with_resource("urn:discord", DRAFT202012.create_resource(_document()))


@cache
def _validator(method: str, template: str, part: str) -> Draft202012Validator:
    operation = _operation(method, template)
    if part == "body":
        schema = operation["requestBody"]["content"][JSON]["schema"]
    else:
        name = part.removeprefix("parameter ")
        schema = next(one["schema"] for one in operation["parameters"] if one["name"] == name)
    return Draft202012Validator(_absolute(schema), registry=_registry())


def _absolute(schema: Any) -> Any:
    """A schema with its references made to lead into the registered document."""
    if isinstance(schema, dict):
        return {
            name: f"urn:discord{value}" if name == "$ref" else _absolute(value)
            for name, value in schema.items()
        }
    return [_absolute(one) for one in schema] if isinstance(schema, list) else schema
