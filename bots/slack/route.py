"""The route of a payload, where it comes from and where its answer goes, and the text of a message as its author reads it."""

import json
import re
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from core.conversation import Conversation, value

SLACK = "slack"
DIRECT = "D"  # how the ids of conversations between two begin; one of several people is a channel to us

Payload = Mapping[str, Any]


class SlackRoute(TypedDict):
    """All that is needed to answer; JSON types only, as it is stored."""

    team: str  #: the installation's workspace, or its organization
    channel: str
    thread: str  #: timestamp of the thread's first message
    message: str  #: timestamp of the message that was written, or whose button was pressed
    user: str
    user_team: NotRequired[str]  #: the person's own workspace, where it is another than ``team``
    is_direct: bool  #: between one person and the bot
    is_in_channel: NotRequired[bool]  #: the answer stands beside the message and begins no thread
    trigger: NotRequired[str]  #: of a press; opens a modal, valid for seconds


@value
class Me:
    """The bot as Slack knows it."""

    user_id: str
    bot_id: str
    team_id: str = ""  #: empty: the payload's
    enterprise_id: str = ""  #: of an organization with several workspaces, "Enterprise Grid"
    is_org_wide: bool = False  #: installed in all of the organization's workspaces at once

    @property
    def space(self) -> str:
        """The beginning of the ids of conversations. Ids of channels are unique within it, also in a shared
        channel, which has the same id in each of its workspaces.
        """
        return self.enterprise_id if self.is_org_wide else self.team_id


def route_of(payload: Payload, me: Me | None = None) -> SlackRoute:
    """The route of the answer to a payload. TypeError if an id is no text."""
    if payload.get("type") == "view_submission":
        card: SlackRoute = json.loads(payload["view"]["private_metadata"])["address"]
        return {**card, "user": payload["user"]["id"]}
    if payload.get("type") == "message_action":
        message, at = payload["message"], payload["message_ts"]
        channel, thread = payload["channel"]["id"], message.get("thread_ts") or at
        team, user = (payload.get("team") or {}).get("id", ""), payload["user"]["id"]
    elif payload.get("type") == "block_actions":
        container, message = payload["container"], payload.get("message") or {}
        channel, at = container["channel_id"], container["message_ts"]
        thread = container.get("thread_ts") or message.get("thread_ts") or at
        team, user = (payload.get("team") or {}).get("id", ""), payload["user"]["id"]
    else:
        event = payload["event"]
        channel, at = event["channel"], event.get("ts") or event.get("event_ts", "")
        thread = event.get("thread_ts") or at
        team, user = payload.get("team_id") or "", event.get("user", "")
    if not all(isinstance(each, str) for each in (team, channel, thread, at, user)):
        raise TypeError
    team = (me.space if me else "") or team
    route = SlackRoute(
        team=team, channel=channel, thread=thread, message=at, user=user, is_direct=channel.startswith(DIRECT)
    )
    # The workspace of whoever wrote or pressed; an organization's id in its place is no help.
    event, person = payload.get("event") or {}, payload.get("user") or {}
    named = (event.get("user_team"), event.get("team"), person.get("team_id"), payload.get("team_id"))
    home = next((each for each in named if isinstance(each, str) and each.startswith("T")), "")
    if home not in ("", route["team"]):
        route["user_team"] = home
    return {**route, "trigger": payload["trigger_id"]} if "trigger_id" in payload else route


def spaces_of(payload: Payload) -> tuple[str, ...]:
    """The spaces of the installations that a payload may be for.

    In a shared channel `team_id` is the workspace of whoever wrote: the authorizations of an event, "Events
    API", and the workspace that a modal belongs to say for whom it is.
    """
    if authorizations := payload.get("authorizations"):
        spaces = [_space_in(each) for each in authorizations]
    else:
        view, team = payload.get("view") or {}, payload.get("team") or {}
        named = view.get("app_installed_team_id") or (team.get("id") if isinstance(team, Mapping) else team)
        spaces = [_space_in(payload, named or payload.get("context_team_id"))]
    return tuple(space for space in spaces if space)


def _space_in(names: Payload, team: str | None = None) -> str:
    """The organization's space for an installation in all of it, and if no workspace is named."""
    enterprise = names.get("enterprise") or names.get("enterprise_id")
    if isinstance(enterprise, Mapping):
        enterprise = enterprise.get("id")
    team = team or names.get("team_id")
    is_org_wide = names.get("is_enterprise_install") in (True, "true")
    return str((enterprise if is_org_wide or not team else team) or "")


def metadata_of(proposal_id: str, route: Mapping[str, Any]) -> str:
    """The edit modal's metadata: the proposal and the thread of its submission."""
    return json.dumps({"proposal": proposal_id, "address": route}, separators=(",", ":"))


def conversation_of(route: SlackRoute) -> Conversation:
    return Conversation(platform=SLACK, space=route["team"], channel=route["channel"], thread=route["thread"])


#: How the ids of what an access rule names begin, "Slack IDs".
_BEGINNINGS = {"channel": "CGD", "person": "UW", "group": "S"}
_ACCESS_ID = re.compile(
    r"(?:(?:slack/)?([TE][A-Z0-9]+)/)?([A-Z][A-Z0-9]+)"
    r"|<(?:#|@|!subteam\^)([A-Z0-9]+)(?:\|[^>]*)?>"  # as in a message
    r"|https://app\.slack\.com/client/([TE][A-Z0-9]+)/([A-Z0-9]+)(?:[/?].*)?"
    r"|https://[\w-]+(?:\.enterprise)?\.slack\.com/(?:archives|team)/([A-Z0-9]+)(?:[/?].*)?"  # "Copy link"
)


def access_id(kind: str, written: str) -> str | None:
    """The id of a channel, person or user group in an access rule: alone, or behind "slack/WORKSPACE/"."""
    found = _ACCESS_ID.fullmatch(written)
    if found is None:
        return None
    space, known = found[1] or found[4] or "", found[2] or found[3] or found[5] or found[6]
    if known[0] not in _BEGINNINGS[kind]:
        return None
    return f"{SLACK}/{space}/{known}" if space else known


def id_of(route: SlackRoute) -> str:
    return f"{SLACK}/{route['team']}/{route['channel']}/{route['message']}"


def key_of(team: str, channel: str, message: str) -> str:
    """The key of a message among those of all workspaces."""
    return f"{SLACK}/{team}/{channel}/{message}"


# The markup of incoming messages. Source: "Formatting text for app surfaces".
_ENTITY = re.compile(r"<([^<>\n]+)>")
_EMOJI = re.compile(r"(?<!\S)(?::[a-z0-9_+'-]+:)+(?!\S)[ \t]?")  # as Slack writes them; they ask nothing
#: People at the beginning of a message, and after its last sentence or after "cc"; elsewhere it is about them.
_PEOPLE = r"(?:<@[UW][^<>\s]*>[\s,:;]*)+"
_CALLED_BEFORE = re.compile(rf"^[\s,:;]*{_PEOPLE}")
_CALLED_AFTER = re.compile(
    rf"(?:(?<=[.!?。！？])|(?<!\S)[(/]*cc:?)\s*(?:[(/]*cc:?\s*)?{_PEOPLE}[).]*\s*$", re.IGNORECASE
)
ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))  # in this order, so that &amp;lt; stays &lt;


@value
class Spoken:
    """A message as its author reads it, without the bot's own mention."""

    text: str
    question: str  #: the text without people who are only called in: at its beginning, and after its end
    mentions_me: bool


def spoken(raw: str, my_user_id: str) -> Spoken:
    """Read an event's ``text``: links as "label (URL)", and mentions as the names that Slack says, else as ids."""
    mine = re.compile(rf"[ \t]?<@{re.escape(my_user_id)}(?:\|[^<>]*)?>")
    said, count = mine.subn("", raw)
    text = _decoded(said)
    question = _decoded(_CALLED_AFTER.sub("", _CALLED_BEFORE.sub("", said)))
    is_asked = any(sign.isalnum() for sign in question)
    return Spoken(text=text, question=question if is_asked else text, mentions_me=count > 0)


def _decoded(markup: str) -> str:
    text = _ENTITY.sub(_decode, markup)
    for escaped, sign in ESCAPES:
        text = text.replace(escaped, sign)
    return _EMOJI.sub("", text).strip().lstrip(",:;").strip()


def _decode(entity: re.Match[str]) -> str:
    content, _, label = entity[1].partition("|")
    if content.startswith("@"):
        return "@" + (label.lstrip("@") or content[1:])
    if content.startswith("#"):
        return "#" + (label.lstrip("#") or "channel")
    if content.startswith("!"):
        return label or f"@{content[1:].partition('^')[0]}"
    if ":" not in content:
        return entity[0]
    address = content.removeprefix("mailto:")
    if not label or label == address:
        return address
    # Slack turns "README.md" into a link by itself; the label is what was typed.
    is_typed = label.rstrip("/") == re.sub(r"^https?://", "", address).rstrip("/")
    return label if is_typed else f"{label} ({address})"
