"""Whether Slack would take these blocks: slack_sdk's own models, and the limits they do not check.

Each limit stands beside its source, a page of docs.slack.dev/reference or an issue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.basic_objects import JsonObject
from slack_sdk.models.blocks import Block
from slack_sdk.models.blocks.block_elements import InteractiveElement
from slack_sdk.models.views import View

MESSAGE_BLOCKS = 50  # blocks of a message, "Blocks"
# Characters of all text in a message's blocks, each block counted as 50 more: the one sum that fits the
# measurements of slackapi/bolt-js#2509 (13,297 in Markdown blocks) and #2867 (11,341 in 45 blocks refused,
# 9,597 in 50 taken).
MESSAGE_SIZE, BLOCK_OVERHEAD = 13_300, 50
MARKDOWN_TOTAL = 12_000  # characters of all Markdown blocks of one payload, "Markdown block"
SECTION_FIELD = 2_000  # characters, "Section block"
TABLE_ROWS, TABLE_COLUMNS = 100, 20  # "Table block"
TABLE_SIZE = 10_000  # characters of all cells, "Table block"
DATA_ROWS = 201  # with the heading, "Block Kit Design Principles" of slack-skills-plugin
DATA_SIZE = 20_000  # characters of all cells of all data tables of a message, the same
DATA_PAGE = 100  # rows of one page, "Data table block"
PLAIN_INPUT = 3_000  # characters of an input, "Plain-text input element"
EXTERNAL_ID = 255  # characters, "Modal views"
ACCESSIBILITY_LABEL = 75  # characters, "Button element"

_TEXTS = ("plain_text", "mrkdwn")
_NOT_IN_ACTIONS = {  # their pages name the blocks that may hold them
    "plain_text_input", "email_text_input", "url_text_input", "number_input", "file_input", "rich_text_input",
    "feedback_buttons", "icon_button",
}  # fmt: skip
_ELEMENTS: dict[str, tuple[set[str] | None, int]] = {
    "context": ({*_TEXTS, "image"}, 10),  # "Context block"
    "context_actions": ({"feedback_buttons", "icon_button"}, 5),  # "Context actions block"
    "actions": (None, 25),  # None: anything that a person can operate; "Actions block"
}
_PLAIN_ONLY = {"header": ("text",), "input": ("label", "hint"), "image": ("title",), "button": ("text",)}
_MESSAGES_ONLY = {
    "markdown",
    "context_actions",
    "file",
    "table",
    "data_table",
    "task_card",
    "plan",
}  # each block's page
_VIEW_FIELDS = View.attributes | {"submit_disabled"}


def message_faults(blocks: Any) -> list[str]:
    """Why Slack would answer ``invalid_blocks``."""
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        return ["blocks must be an array of objects"]
    faults = [] if len(blocks) <= MESSAGE_BLOCKS else [f"no more than {MESSAGE_BLOCKS} items allowed"]
    tables = sum(block.get("type") == "table" for block in blocks)
    if tables > 1:
        faults.append("only one table allowed")
    data = [block.get("rows") for block in blocks if block.get("type") == "data_table"]
    if sum(map(len, _texts(data))) > DATA_SIZE:
        faults.append(f"data tables hold {DATA_SIZE} characters")
    return [*faults, *_faults(blocks)]


def is_too_long(blocks: list[dict[str, Any]]) -> bool:
    """Whether Slack would answer ``msg_blocks_too_long``."""
    others = [block for block in blocks if block.get("type") != "data_table"]  # their own limit is larger
    return sum(map(len, _texts(others))) + BLOCK_OVERHEAD * len(blocks) > MESSAGE_SIZE


def view_faults(view: Any) -> list[str]:
    """Why Slack would answer ``invalid_arguments`` to a view, "Modal views" and "Home tab views"."""
    if not isinstance(view, dict) or view.get("type") not in ("modal", "home") or not view.get("blocks"):
        return ["a view is an object with type and blocks"]
    blocks = view["blocks"]
    kinds = {block.get("type") for block in blocks}
    plain = [view.get(name) for name in ("title", "submit", "close") if view.get(name)]
    checks = (
        (view["type"] == "home" or bool(view.get("title")), "missing required field: title"),
        ("input" not in kinds or view["type"] == "home" or bool(view.get("submit")), "input needs submit"),
        (not kinds & _MESSAGES_ONLY, f"for messages only: {kinds & _MESSAGES_ONLY}"),
        (all(_is_plain(text) for text in plain), "title, submit and close are plain_text"),
        (len(view.get("external_id", "")) <= EXTERNAL_ID, f"external_id over {EXTERNAL_ID}"),
        (set(view) <= _VIEW_FIELDS, f"invalid additional property: {set(view) - _VIEW_FIELDS}"),
    )
    faults = [fault for is_met, fault in checks if not is_met]
    try:
        View(**view).validate_json()
    except (SlackObjectFormationError, TypeError, KeyError, AttributeError) as error:
        faults.append(f"view: {error}")
    return [*faults, *_faults(blocks)]


def with_ids(blocks: list[dict[str, Any]], salt: str) -> list[dict[str, Any]]:
    """As Slack keeps them: a block or an interactive element without an id is given one."""
    kept = []
    for number, block in enumerate(blocks):
        named = {"block_id": f"{salt}.{number}"} | block
        if isinstance(block.get("elements"), list) and block["type"] in ("actions", "context_actions"):
            named["elements"] = [{"action_id": f"a{i}"} | one for i, one in enumerate(block["elements"])]
        kept.append(named)
    return kept


def interactive(value: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every element that a person can operate, as (its block, the element)."""
    for block in value:
        if "child_blocks" in block:
            yield from interactive(block["child_blocks"])
        inner = [*block.get("elements", []), block.get("accessory"), block.get("element")]
        for element in [*inner, *block.get("actions", [])]:
            if isinstance(element, dict) and element.get("action_id"):
                yield block, element


def _faults(blocks: list[dict[str, Any]]) -> list[str]:
    faults = [
        f"{fault} [json-pointer:/blocks/{number}]"
        for number, block in enumerate(blocks)
        for fault in (*_model_faults(block), *_own_faults(block))
    ]
    markdown = sum(len(str(block.get("text", ""))) for block in blocks if block.get("type") == "markdown")
    if markdown > MARKDOWN_TOTAL:
        faults.append(f"markdown text over {MARKDOWN_TOTAL} characters in total")
    ids = Counter(block["block_id"] for block in blocks if block.get("block_id"))
    actions = Counter(element["action_id"] for _, element in interactive(blocks))
    faults += [f"block_id is not unique: {name}" for name, count in ids.items() if count > 1]
    return faults + [f"action_id is not unique: {name}" for name, count in actions.items() if count > 1]


def _model_faults(block: dict[str, Any]) -> list[str]:
    """What the models say, and which fields they would drop without a word."""
    if block.get("type") == "data_table":  # slack_sdk has no model of it
        return list(_data_table_faults(block))
    try:
        model = Block.parse(block)
        if model is None:
            return [f"unsupported type: {block.get('type')}"]
        model.to_dict()
    except (SlackObjectFormationError, TypeError, KeyError, AttributeError) as error:
        return [str(error) or type(error).__name__]
    return list(_unknown_fields(block, model))


def _unknown_fields(raw: Any, model: Any) -> Iterator[str]:
    if isinstance(raw, list) and isinstance(model, (list, tuple)):
        for raw_item, item in zip(raw, model, strict=True):
            if item is None:
                yield f"unsupported element: {raw_item}"
            yield from _unknown_fields(raw_item, item)
    if isinstance(raw, dict) and isinstance(model, JsonObject) and model.attributes:
        yield from (f"invalid additional property: {key}" for key in raw if key not in model.attributes)
        for key, value in raw.items():
            yield from _unknown_fields(value, getattr(model, key, None))


def _own_faults(block: dict[str, Any]) -> Iterator[str]:
    kind = block.get("type", "")
    if kind in _ELEMENTS:
        yield from _element_faults(block, *_ELEMENTS[kind])
    for child in block.get("child_blocks", []):
        yield from (*_model_faults(child), *_own_faults(child))
    yield from (
        f"fields over {SECTION_FIELD}" for one in block.get("fields", []) if len(one["text"]) > SECTION_FIELD
    )
    if kind == "table":
        yield from _table_faults(block)
    for part in _objects(block):
        yield from _part_faults(part)


def _element_faults(block: dict[str, Any], allowed: set[str] | None, limit: int) -> Iterator[str]:
    elements = block.get("elements") or []
    if not 1 <= len(elements) <= limit:
        yield f"{block['type']} holds 1 to {limit} elements"
    for element in elements:
        kind = element.get("type")
        if (kind not in allowed) if allowed else (kind not in _interactive_types()):
            yield f"{block['type']} cannot hold {kind}"


def _part_faults(part: dict[str, Any]) -> Iterator[str]:
    """Of a block or of anything inside it."""
    kind = part.get("type", "")
    if kind in _TEXTS and not part.get("text"):
        yield "must be more than 0 characters"
    for name in _PLAIN_ONLY.get(kind, ()):
        if part.get(name) is not None and not _is_plain(part[name]):
            yield f"{kind} {name} must be plain_text"
    if kind == "button" and not part.get("text"):
        yield "a button has text"
    if kind == "image" and not (part.get("alt_text") and (part.get("image_url") or part.get("slack_file"))):
        yield "an image has alt_text and image_url or slack_file"
    if kind == "plain_text_input":
        longest = part.get("max_length", PLAIN_INPUT)
        if longest > PLAIN_INPUT or len(part.get("initial_value", "")) > longest:
            yield f"input over {min(longest, PLAIN_INPUT)} characters"
    if len(part.get("accessibility_label", "")) > ACCESSIBILITY_LABEL:
        yield f"accessibility_label over {ACCESSIBILITY_LABEL}"


def _table_faults(block: dict[str, Any]) -> Iterator[str]:
    rows = block.get("rows") or []
    if len(rows) > TABLE_ROWS or any(not 1 <= len(row) <= TABLE_COLUMNS for row in rows):
        yield f"a table holds {TABLE_ROWS} rows of {TABLE_COLUMNS}"
    if sum(map(len, _texts(rows))) > TABLE_SIZE:
        yield f"a table holds {TABLE_SIZE} characters"
    for row in rows:
        if any(cell.get("type") not in ("raw_text", "raw_number", "rich_text") for cell in row):
            yield "a cell is raw_text, raw_number or rich_text"


def _data_table_faults(block: dict[str, Any]) -> Iterator[str]:
    """ "Data table block": its fields, and rows of equal length below a heading of plain text."""
    rows, fields = (
        block.get("rows") or [],
        {"type", "rows", "block_id", "page_size", "caption", "row_header_column_index"},
    )
    yield from (f"invalid additional property: {key}" for key in block if key not in fields)
    if not (isinstance(block.get("caption"), str) and block["caption"]):
        yield "missing required field: caption"
    if not 1 <= block.get("page_size", 5) <= DATA_PAGE:
        yield f"page_size is 1 to {DATA_PAGE}"
    widths = {len(row) for row in rows}
    if not 2 <= len(rows) <= DATA_ROWS or len(widths) != 1 or not 1 <= max(widths) <= TABLE_COLUMNS:
        yield f"a data table holds 2 to {DATA_ROWS} rows of the same 1 to {TABLE_COLUMNS} cells"
    for number, row in enumerate(rows):
        for cell in row:
            kinds = ("raw_text", "raw_number", "rich_text") if number else ("raw_text", "raw_number")
            if cell.get("type") not in kinds:
                yield f"a cell of row {number} cannot be {cell.get('type')}"
            if cell.get("type") == "raw_number" and not isinstance(cell.get("value"), int | float):
                yield "a raw_number has a value"
            if not "".join(_texts(cell)):
                yield "must be more than 0 characters"


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of a block, itself first; child blocks speak for themselves."""
    if isinstance(value, dict):
        yield value
        for key, inner in value.items():
            if key != "child_blocks":
                yield from _objects(inner)
    elif isinstance(value, list):
        for one in value:
            yield from _objects(one)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "text" and isinstance(inner, str):
                yield inner
            else:
                yield from _texts(inner)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _is_plain(text: Any) -> bool:
    return isinstance(text, str) or (isinstance(text, dict) and text.get("type") == "plain_text")


def _interactive_types() -> set[str]:
    """What an actions block may hold."""
    return {str(one.type) for one in InteractiveElement._get_sub_block_elements()} - _NOT_IN_ACTIONS
