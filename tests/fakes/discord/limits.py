"""What a message, a thread or a form may hold; the rest is refused as Discord refuses it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fakes.discord import components as kinds
from fakes.discord.components import children, walk
from fakes.discord.errors import Form, Refused

Json = dict[str, Any]

CONTENT = 2000  # characters, "Create Message"
NONCE = 25  # characters, "Create Message"
EMBEDS = 10  # a message, "Create Message"
EMBEDS_TOTAL = 6000  # characters of all embeds together, "Embed Limits"
FILES = 10  # a message, "Create Message"
THREAD_NAME = 100  # characters, "Start Thread from Message"
COMPONENTS = 40  # a message, nested ones too, "Component Reference"
TEXTS_TOTAL = 4000  # characters of all text displays together, "Component Reference, Text Display"
ROWS = 5  # action rows of a message without Components V2
MODAL_COMPONENTS = 5  # "Interaction Response, Modal"
MODAL_TITLE = 45  # characters, same
LABEL_TEXT = 45  # characters, "Component Reference, Label" and "Text Input"
INPUT_VALUE = 4000  # characters, "Component Reference, Text Input"
CUSTOM_ID = 100  # characters, "Component Reference, Custom ID"

TOP_V1 = (kinds.ROW,)
IN_CONTAINER = (kinds.ROW, kinds.SECTION, kinds.TEXT, kinds.GALLERY, kinds.FILE, kinds.SEPARATOR)
TOP_V2 = (*IN_CONTAINER, kinds.CONTAINER)
TOP_MODAL = (kinds.ROW, kinds.TEXT, kinds.LABEL)
IN_LABEL = (
    kinds.TEXT_INPUT, *kinds.SELECTS, kinds.FILE_UPLOAD, kinds.RADIO_GROUP, kinds.CHECKBOX_GROUP, kinds.CHECKBOX
)  # fmt: skip
#: kind -> place -> kinds that may stand there
INSIDE = {
    kinds.ROW: {"components": (kinds.BUTTON, *kinds.SELECTS)},
    kinds.SECTION: {"components": (kinds.TEXT,), "accessory": (kinds.BUTTON, kinds.THUMBNAIL)},
    kinds.CONTAINER: {"components": IN_CONTAINER},
    kinds.LABEL: {"component": IN_LABEL},
}
IN_MODAL = INSIDE | {kinds.ROW: {"components": (kinds.TEXT_INPUT,)}}
MOST_INSIDE = {kinds.ROW: 5, kinds.SECTION: 3, kinds.CONTAINER: COMPONENTS}
#: kind -> field -> least and most characters
LENGTHS: dict[int, dict[str, tuple[int, int]]] = {
    kinds.BUTTON: {"label": (0, 80), "url": (0, 512)},
    kinds.TEXT: {"content": (1, TEXTS_TOTAL)},
    kinds.LABEL: {"label": (1, LABEL_TEXT), "description": (0, 100)},
    kinds.TEXT_INPUT: {"label": (0, LABEL_TEXT), "value": (0, INPUT_VALUE), "placeholder": (0, 100)},
    kinds.STRING_SELECT: {"placeholder": (0, 150), "options": (1, 25)},
    kinds.GALLERY: {"items": (1, 10)},
    kinds.THUMBNAIL: {"description": (0, 1024)},
}
OPTION = {"label": (1, 100), "value": (1, 100), "description": (0, 100)}
EMBED = {"title": 256, "description": 4096, "fields": 25}
EMBED_PARTS = {("footer", "text"): 2048, ("author", "name"): 256}
INTERACTIVE = (
    *kinds.SELECTS,
    kinds.TEXT_INPUT,
    kinds.FILE_UPLOAD,
    kinds.RADIO_GROUP,
    kinds.CHECKBOX_GROUP,
    kinds.CHECKBOX,
)


def check_message(body: Json, *, is_v2: bool, files: int = 0) -> None:
    """The body of a create or an edit. ``is_v2``: the message has, or gets, Components V2."""
    form = Form()
    form.length("content", body.get("content"), CONTENT)
    form.length("nonce", str(body.get("nonce") or ""), NONCE)
    if files > FILES:
        form.fault("attachments", "BASE_TYPE_MAX_LENGTH", f"Must be {FILES} or fewer in length.")
    _embeds(form, body.get("embeds") or [])
    _components(form, body.get("components") or [], is_v2=is_v2)
    if is_v2:
        for name in ("content", "embeds", "sticker_ids", "poll"):
            if body.get(name):
                form.fault(
                    name, "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
                    f"The '{name}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
                )  # fmt: skip
    form.close()


def check_thread(name: Any) -> None:
    form = Form()
    form.length("name", name, THREAD_NAME, least=1)
    form.close()


def check_modal(data: Json) -> None:
    form = Form()
    form.length("title", data.get("title"), MODAL_TITLE, least=1)
    form.length("custom_id", data.get("custom_id"), CUSTOM_ID, least=1)
    components = data.get("components") or []
    form.length("components", components, MODAL_COMPONENTS, least=1)
    for index, component in enumerate(components):
        _component(form, f"components.{index}", component, TOP_MODAL, IN_MODAL)
    _unique_ids(form, "components", components)
    form.close()


def check_not_empty(body: Json, *, files: int) -> None:
    has_something = any(body.get(name) for name in ("embeds", "components", "sticker_ids", "poll"))
    if not has_something and not files and not (body.get("content") or "").strip():
        raise Refused(400, 50006, "Cannot send an empty message")


def _embeds(form: Form, embeds: list[Json]) -> None:
    form.length("embeds", embeds, EMBEDS)
    total = 0
    for index, embed in enumerate(embeds):
        place = f"embeds.{index}"
        for name, most in EMBED.items():
            form.length(f"{place}.{name}", embed.get(name), most)
        for (part, name), most in EMBED_PARTS.items():
            value = (embed.get(part) or {}).get(name)
            form.length(f"{place}.{part}.{name}", value, most)
            total += len(value or "")
        for number, field in enumerate(embed.get("fields") or []):
            form.length(f"{place}.fields.{number}.name", field.get("name"), 256, least=1)
            form.length(f"{place}.fields.{number}.value", field.get("value"), 1024, least=1)
            total += len(field.get("name") or "") + len(field.get("value") or "")
        total += len(embed.get("title") or "") + len(embed.get("description") or "")
    if total > EMBEDS_TOTAL:
        form.fault("embeds", "MAX_EMBED_SIZE_EXCEEDED", f"Embed size exceeds maximum size of {EMBEDS_TOTAL}")


def _components(form: Form, components: list[Json], *, is_v2: bool) -> None:
    for index, component in enumerate(components):
        _component(form, f"components.{index}", component, TOP_V2 if is_v2 else TOP_V1, INSIDE)
    everything = list(walk(components))
    if len(everything) > COMPONENTS:
        form.fault("components", "COMPONENT_MAX_TOTAL", f"Must be {COMPONENTS} or fewer in total.")
    if not is_v2 and len(components) > ROWS:
        form.fault("components", "BASE_TYPE_MAX_LENGTH", f"Must be {ROWS} or fewer in length.")
    if sum(len(one.get("content") or "") for one in everything) > TEXTS_TOTAL:
        form.fault(
            "components", "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
            f"Total displayable text size exceeds maximum size of {TEXTS_TOTAL}",
        )  # fmt: skip
    _unique_ids(form, "components", components)


def _component(
    form: Form, place: str, component: Json, allowed: tuple[int, ...], inside: dict[int, dict[str, Any]]
) -> None:
    kind = component.get("type")
    if not isinstance(kind, int) or not form.one_of(f"{place}.type", kind, allowed):
        return
    for name, (least, most) in LENGTHS.get(kind, {}).items():
        form.length(f"{place}.{name}", component.get(name), most, least=least)
    _kind(form, place, component, is_labelled=".component" in place and "components" not in place[-12:])
    if kind in MOST_INSIDE:
        form.length(f"{place}.components", component.get("components"), MOST_INSIDE[kind], least=1)
    if kind == kinds.ROW and any(one.get("type") in kinds.SELECTS for one in component.get("components", [])):
        form.length(f"{place}.components", component["components"], 1)
    for name in ("accessory", "component"):
        if name in inside.get(kind, {}) and not isinstance(component.get(name), dict):
            form.fault(f"{place}.{name}", "BASE_TYPE_REQUIRED", "This field is required")
    for name, child in children(component):
        _component(form, f"{place}.{name}", child, inside.get(kind, {}).get(name.split(".")[0], ()), inside)


def _kind(form: Form, place: str, component: Json, *, is_labelled: bool) -> None:
    """The rules that only one kind has."""
    kind = component["type"]
    if kind in INTERACTIVE:
        form.length(f"{place}.custom_id", component.get("custom_id"), CUSTOM_ID, least=1)
    if kind == kinds.BUTTON:
        _button(form, place, component)
    elif kind == kinds.STRING_SELECT:
        for index, option in enumerate(component.get("options") or []):
            for name, (least, most) in OPTION.items():
                form.length(f"{place}.options.{index}.{name}", option.get(name), most, least=least)
    elif kind == kinds.TEXT_INPUT:
        form.one_of(f"{place}.style", component.get("style"), (1, 2))
        if bool(component.get("label")) == is_labelled:
            form.fault(f"{place}.label", "BASE_TYPE_REQUIRED", "A text input has either a label or a Label")


def _button(form: Form, place: str, button: Json) -> None:
    if not form.one_of(f"{place}.style", button.get("style"), (1, 2, 3, 4, 5, 6)):
        return
    if button["style"] == kinds.LINK_STYLE:
        form.length(f"{place}.url", button.get("url"), 512, least=1)
        if button.get("custom_id"):
            form.fault(f"{place}.custom_id", "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", "Link")
    elif button["style"] != kinds.PREMIUM_STYLE:
        form.length(f"{place}.custom_id", button.get("custom_id"), CUSTOM_ID, least=1)
        if not button.get("label") and not button.get("emoji"):
            form.fault(f"{place}.label", "BUTTON_COMPONENT_LABEL_OR_EMOJI_REQUIRED", "A label is required")


def _unique_ids(form: Form, place: str, components: list[Json]) -> None:
    for name in ("custom_id", "id"):
        found = Counter(one[name] for one in walk(components) if one.get(name))
        for value, times in found.items():
            if times > 1:
                form.fault(place, "COMPONENT_CUSTOM_ID_DUPLICATED", f"Component {name} {value} is not unique")
