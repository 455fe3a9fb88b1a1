"""``response_url``: how an app answers an interaction without a token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web
from fakes.slack.blocks import is_too_long, message_faults, with_ids
from fakes.slack.events import ResponseUrl
from fakes.slack.state import Message

if TYPE_CHECKING:
    from fakes.slack.server import FakeSlack

RESPONSES = 5  # answers by one URL, "Handling user interaction"


async def respond(slack: FakeSlack, request: web.Request) -> web.Response:
    answered = slack.response_urls.get(request.match_info["token"])
    body = await request.json()
    faults = message_faults(body.get("blocks") or [])
    if is_too_long(body.get("blocks") or []):
        faults.append("msg_blocks_too_long")
    if answered is None or answered.used >= RESPONSES:
        faults.append("used_url")
    if faults or answered is None:
        slack.rejected.append(f"response_url: {', '.join(faults)}")
        return web.Response(status=404, text=faults[-1])
    answered.used += 1
    if body.get("delete_original"):
        slack.remove(answered.message)
    elif body.get("replace_original"):
        _replace(slack, answered.message, body)
    else:
        _add(slack, answered, body)
    return web.Response(text="ok")


def _replace(slack: FakeSlack, message: Message, body: dict[str, Any]) -> None:
    before = message.as_json()
    message.text = body.get("text", "")
    message.blocks = with_ids(body.get("blocks") or [], slack.state.clock.ts())
    slack.state.show(message, "update")
    if not message.ephemeral_for:
        slack.announce_change(message, before)


def _add(slack: FakeSlack, answered: ResponseUrl, body: dict[str, Any]) -> None:
    """Seen by the one who pressed, unless the app says ``in_channel``."""
    origin = answered.message
    bot = slack.state.bot(origin.team)
    new = Message(
        ts=slack.state.clock.ts(), channel=origin.channel, team=origin.team, user=bot.id, bot_id=bot.bot_id,
        app_id=bot.app_id, text=body.get("text", ""), thread_ts=body.get("thread_ts", ""),
        blocks=with_ids(body.get("blocks") or [], slack.state.clock.ts()),
    )  # fmt: skip
    if body.get("response_type") == "in_channel":
        slack.announce(slack.state.add(new))
    else:
        new.ephemeral_for = answered.user
        slack.state.send_ephemeral(new)
