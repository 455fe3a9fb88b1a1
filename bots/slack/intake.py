"""What Slack brings, read and handed to the reception before it is acknowledged."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from bots.chat.channels import Rooms
from bots.chat.inbox import Reception
from bots.chat.incoming import Room
from bots.chat.said import Said
from bots.slack.address import Me, Payload, address_of, conversation_of, id_of
from bots.slack.calls import SlackCalls
from bots.slack.interactions import typed
from bots.slack.manifest import PROMPTS
from bots.slack.receive import read
from core.errors import QuestionRejected
from core.text.language import language_of
from core.wording import in_language

Response = dict[str, Any]  #: what goes back with the acknowledgement


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """One installation's ear."""

    reception: Reception
    rooms: Rooms
    calls: SlackCalls
    me: Me

    async def take(self, payload: Payload) -> Response:
        """What a payload calls for is stored or begun when this returns. Whatever it raises: bring it again."""
        if _is_new_talk(payload):
            self.reception.begin(self._suggest(payload["event"]["channel"]))
            return {}
        try:
            said = self._read(payload)
        except QuestionRejected as rejection:
            if payload.get("type") == "view_submission":
                told = in_language(rejection.sentence, language_of(typed(payload)))
                return {"response_action": "errors", "errors": {"query": told}}
            told = in_language(rejection.sentence, language_of(payload.get("event", {}).get("text") or ""))
            place = address_of(payload, self.me)
            await self.reception.tell(id_of(place), conversation_of(place), place["user"], told, place)
            return {}
        if said is not None:
            files = len((payload.get("event") or {}).get("files") or ())
            await self.reception.take(said, address_of(payload, self.me), files=files)
        return {}

    def _read(self, payload: Payload) -> Said | None:
        try:
            room = self.rooms.room_of(conversation_of(address_of(payload, self.me)))
        except KeyError:  # it comes from no conversation
            room = Room()
        return read(payload, self.me, room, now=time.time())

    async def _suggest(self, channel: str) -> None:
        """What a person may begin with, who opens the conversation with the bot."""
        prompts = [{"title": title, "message": message} for title, message in PROMPTS.items()]
        await self.calls.call("assistant.threads.setSuggestedPrompts", channel_id=channel, prompts=prompts)


def _is_new_talk(payload: Payload) -> bool:
    event = payload.get("event") or {}
    return event.get("type") == "app_home_opened" and event.get("tab") == "messages"
