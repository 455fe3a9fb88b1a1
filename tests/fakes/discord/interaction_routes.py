"""Responses to interactions, and the follow-ups to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.discord.errors import Form, Refused, unknown
from fakes.discord.interactions import (
    COMPONENT,
    DEFERRED,
    MESSAGE,
    MODAL,
    RESPOND_WITHIN,
    SUBMIT,
    THINKING,
    TOKEN_LIFETIME,
    UPDATE,
    Interaction,
)
from fakes.discord.limits import check_modal
from fakes.discord.message_routes import point_to
from fakes.discord.payloads import message_json
from fakes.discord.posting import change, fill, show
from fakes.discord.rest import Call, Route
from fakes.discord.state import CHAT_INPUT, CONTEXT_MENU, DEFAULT, EPHEMERAL, LOADING, REPLY, Message, Modal

if TYPE_CHECKING:
    from fakes.discord.server import FakeDiscord

Json = dict[str, Any]

#: interaction -> responses that it may get
RESPONSES = {2: (MESSAGE, THINKING, MODAL), 3: (MESSAGE, THINKING, DEFERRED, UPDATE, MODAL)}
OF_FORM_ON_MESSAGE = (MESSAGE, THINKING, DEFERRED, UPDATE)
OF_FORM = (MESSAGE, THINKING)


async def respond(discord: FakeDiscord, call: Call) -> Any:
    interaction = discord.state.interactions.get(call.params["interaction_token"])
    if interaction is None or interaction.id != call.id("interaction_id") or _is_late(discord, interaction):
        raise unknown("interaction")
    if interaction.response is not None:
        raise Refused(400, 40060, "Interaction has already been acknowledged.")
    body = call.body or {}
    kind, data = body.get("type"), body.get("data") or {}
    form = Form()
    form.one_of("type", kind, _allowed(interaction))
    form.close()
    try:
        _answer(discord, interaction, kind, data, call)
    except Refused as refused:
        raise refused.inside("data") from None
    interaction.response, interaction.responded_at = body, discord.state.clock.now()
    discord.changed()
    return _described(interaction) if call.query.get("with_response") in ("1", "true") else None


def _answer(discord: FakeDiscord, interaction: Interaction, kind: int, data: Json, call: Call) -> None:
    if kind == MODAL:
        check_modal(data)
        interaction.modal = Modal(user=interaction.user, interaction=interaction, payload=data)
        discord.state.modals.append(interaction.modal)
    elif kind in (MESSAGE, THINKING):
        interaction.original = _say(discord, interaction, data, call, is_loading=kind == THINKING)
    elif kind == UPDATE:
        _change(discord, _pressed(interaction), data, call)


async def follow_up(discord: FakeDiscord, call: Call) -> Any:
    """One more message; the first one after "thinking" takes that one's place."""
    interaction = _interaction_of(discord, call)
    if interaction.response is None:
        raise unknown("webhook")
    original = interaction.original
    if original is not None and original.is_loading:
        _change(discord, original, call.body or {}, call)
        return message_json(original)
    message = _say(discord, interaction, call.body or {}, call)
    interaction.followups.append(message)
    return message_json(message)


async def get(discord: FakeDiscord, call: Call) -> Any:
    return message_json(_message_of(discord, call))


async def edit(discord: FakeDiscord, call: Call) -> Any:
    message = _message_of(discord, call)
    _change(discord, message, call.body or {}, call)
    return message_json(message)


async def delete(discord: FakeDiscord, call: Call) -> None:
    discord.remove(_message_of(discord, call))


def _is_late(discord: FakeDiscord, interaction: Interaction) -> bool:
    return interaction.is_failed or discord.state.clock.now() - interaction.at > RESPOND_WITHIN


def _allowed(interaction: Interaction) -> tuple[int, ...]:
    if interaction.type == SUBMIT:
        return OF_FORM if interaction.message is None else OF_FORM_ON_MESSAGE
    return RESPONSES[interaction.type]


def _say(
    discord: FakeDiscord, interaction: Interaction, data: Json, call: Call, *, is_loading: bool = False
) -> Message:
    """A message in answer, ephemeral if its flags say so; needs no right to send."""
    flags = int(data.get("flags") or 0) & EPHEMERAL | (LOADING if is_loading else 0)
    message = Message(
        id=discord.state.clock.snowflake(), channel=interaction.channel, author=discord.bot, flags=flags,
        created_at=discord.state.clock.iso(), interaction=interaction, type=_type(interaction),
        ephemeral_for=interaction.user if flags & EPHEMERAL else None,
    )  # fmt: skip
    if message.type == REPLY and interaction.message is not None and not interaction.message.ephemeral_for:
        point_to(message, interaction.message)
    if is_loading:
        show(discord, message, "create", allowed={})
    else:
        fill(discord, message, data, call.files)
    if message.ephemeral_for is None:
        discord.add(message)
    else:
        discord.state.ephemerals.append(message)
    return message


def _type(interaction: Interaction) -> int:
    if interaction.type in (COMPONENT, SUBMIT):
        return DEFAULT if interaction.message is None else REPLY
    return CHAT_INPUT if interaction.data["type"] == 1 else CONTEXT_MENU


def _change(discord: FakeDiscord, message: Message, data: Json, call: Call) -> None:
    change(discord, message, data, call.files)
    discord.events.message(message, "MESSAGE_UPDATE")


def _pressed(interaction: Interaction) -> Message:
    if interaction.message is None or interaction.message.is_deleted:
        raise unknown("message")
    return interaction.message


def _interaction_of(discord: FakeDiscord, call: Call) -> Interaction:
    interaction: Interaction | None = discord.state.interactions.get(call.params["webhook_token"])
    if call.id("webhook_id") != discord.application_id or interaction is None:
        raise unknown("webhook")
    if interaction.channel.id not in discord.state.channels:
        raise unknown("channel")
    if discord.state.clock.now() - interaction.at > TOKEN_LIFETIME:
        raise Refused(401, 50027, "Invalid Webhook Token")
    return interaction


def _message_of(discord: FakeDiscord, call: Call) -> Message:
    """The original response, which for a press that was only acknowledged is what was pressed on."""
    interaction = _interaction_of(discord, call)
    known = list(interaction.followups)
    if "message_id" not in call.params:
        kind = (interaction.response or {}).get("type")
        known = [interaction.message if kind in (DEFERRED, UPDATE) else interaction.original]
    elif interaction.original is not None:
        known.append(interaction.original)
    wanted = call.params.get("message_id")
    for message in known:
        if message is not None and not message.is_deleted and wanted in (None, str(message.id)):
            return message
    raise unknown("message")


def _described(interaction: Interaction) -> Json:
    assert interaction.response is not None
    told: Json = {"id": str(interaction.id), "type": interaction.type}
    message = interaction.original or (interaction.message if interaction.kind == "update" else None)
    if message is None:
        return {"interaction": told}
    told |= {
        "response_message_id": str(message.id), "response_message_loading": message.is_loading,
        "response_message_ephemeral": bool(message.flags & EPHEMERAL),
    }  # fmt: skip
    resource = {"type": interaction.response["type"], "message": message_json(message)}
    return {"interaction": told, "resource": resource}


WEBHOOK = "/webhooks/{webhook_id}/{webhook_token}"
ROUTES = [
    Route(
        method="POST", template="/interactions/{interaction_id}/{interaction_token}/callback", run=respond,
        is_open=True,
    ),
    Route(method="POST", template=WEBHOOK, run=follow_up, is_open=True),
    *(
        Route(method=method, template=f"{WEBHOOK}/messages/{which}", run=run, is_open=True)
        for which in ("@original", "{message_id}")
        for method, run in (("GET", get), ("PATCH", edit), ("DELETE", delete))
    ),
]  # fmt: skip
