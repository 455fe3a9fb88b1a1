"""What people do in Slack, and what Slack tells the app of it."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fakes.slack.blocks import interactive, view_faults
from fakes.slack.deliveries import Delivery
from fakes.slack.events import Envelope, ResponseUrl, Trigger, shown_to_app
from fakes.slack.rendering import typed
from fakes.slack.state import File, Message, Shown, User, View
from fakes.slack.view_methods import replace_view

if TYPE_CHECKING:
    from fakes.slack.deliveries import Deliveries
    from fakes.slack.events import App
    from fakes.slack.faults import Faults
    from fakes.slack.state import State

Upload = tuple[str, bytes]  #: a file's name and content
Blocks = Sequence[dict[str, Any]]


class People:
    """The acts of people; each returns when the app has been sent what there is to send."""

    app: App
    state: State
    deliveries: Deliveries
    triggers: dict[str, Trigger]
    response_urls: dict[str, ResponseUrl]  #: by the last part of the URL
    faults: Faults
    rejected: list[str]
    url: str
    shows_stop: Callable[[str, str], bool]
    is_streaming: Callable[[Message], bool]

    async def mention(self, user: str, channel: str, text: str, thread_ts: str = "", **more: Any) -> Message:
        """Says something to the app: it hears of it twice, as a mention and as a message."""
        bot = self.state.bot(self.state.conversations[channel].team)
        return await self.say(user, channel, f"<@{bot.id}> {text}".strip(), thread_ts, **more)

    async def dm(self, user: str, text: str, thread_ts: str = "", **more: Any) -> Message:
        team = self.state.users[user].team
        conversation = self.state.direct(team, [user, self.state.bot(team).id])
        assert self.app.messages_tab, "people cannot write to this app: its messages tab is off"
        return await self.say(user, conversation.id, text, thread_ts, **more)

    async def say(
        self, user: str, channel: str, text: str, thread_ts: str = "", *, files: Sequence[Upload] = (),
        from_elsewhere: bool = False, broadcast: bool = False, subtype: str = "",
        blocks: Blocks = (), attachments: Blocks = (),
    ) -> Message:  # fmt: skip
        conversation = self.state.conversations[channel]
        assert user in conversation.members, f"{self.state.name_of(user)} is not in {conversation.name}"
        subtype = subtype or ("file_share" if files else "thread_broadcast" if broadcast else "")
        message = Message(
            ts=self.state.clock.ts(), channel=channel, team=conversation.team, user=user, text=typed(text),
            thread_ts=thread_ts, subtype=subtype, client_msg_id=self.state.id("M"),
            files=[self.add_file(user, channel, *upload) for upload in files],
            blocks=list(blocks), attachments=list(attachments),
        )  # fmt: skip
        for file in message.files:
            file.is_from_elsewhere = from_elsewhere
        await self._tell(self.state.add(message))
        return message

    async def forward(
        self, user: str, message: Message, channel: str, text: str = "", thread_ts: str = ""
    ) -> Message:
        """Shares a message, perhaps with a word about it."""
        return await self.say(user, channel, text, thread_ts, attachments=[self._share(message)])

    async def unfurl(self, message: Message, title: str = "A preview") -> None:
        """What Slack does by itself with a link: a change that is no edit."""
        before, url = message.as_json(), "https://example.test/page"
        preview = {"id": 1, "from_url": url, "original_url": url, "title": title, "fallback": title}
        message.attachments = [*message.attachments, preview]
        await self._tell_change(message, before)

    async def bot_says(
        self, channel: str, text: str, thread_ts: str = "", *, bot: str, is_classic: bool = False,
        blocks: Blocks = (), attachments: Blocks = (),
    ) -> Message:  # fmt: skip
        """Another app's message; the classic kind has no user and the subtype bot_message."""
        who = self.state.users[bot]
        message = Message(
            ts=self.state.clock.ts(), channel=channel, team=who.team, text=text, thread_ts=thread_ts,
            user="" if is_classic else who.id, bot_id=who.bot_id, blocks=list(blocks),
            attachments=list(attachments), subtype="bot_message" if is_classic else "",
        )  # fmt: skip
        await self._tell(self.state.add(message))
        return message

    async def edit(self, message: Message, text: str) -> None:
        """The app hears of the change, and of a mention in what it says now, slackapi/bolt-js#960."""
        before = message.as_json()
        message.text = typed(text)
        message.edited = {"user": message.user, "ts": self.state.clock.ts()}
        self.state.show(message, "update")
        await self._tell_change(message, before)
        envelope = self._envelope(message.team)
        if self._mentions(message, envelope.installation.bot):
            await self._offer(envelope.mention(message))

    async def erase(self, message: Message) -> None:
        before = message.as_json()
        message.is_deleted = True
        self.state.show(message, "delete")
        await self._tell_change(message, before)

    async def make_private(self, user: str, channel: str) -> Message:
        """The message of it is the first that comes from a private channel, "channel_convert_to_private"."""
        self.state.conversations[channel].kind = "group"
        text = "made this channel *private*. Now, it can only be viewed or joined by invitation."
        return await self.say(user, channel, text, subtype="channel_convert_to_private")

    async def join(self, user: str, channel: str) -> Message:
        conversation = self.state.conversations[channel]
        conversation.members.append(user)
        envelope = self._envelope(conversation.team)
        joined = {
            "type": "member_joined_channel", "user": user, "channel": channel, "team": conversation.team,
            "channel_type": "G" if conversation.is_private else "C",
        }  # fmt: skip
        await self._offer(envelope.event("member_joined_channel", joined))
        return await self.say(user, channel, f"<@{user}> has joined the channel", subtype="channel_join")

    async def react(self, user: str, message: Message, name: str) -> None:
        message.reactions.setdefault(name, []).append(user)
        item = {"type": "message", "channel": message.channel, "ts": message.ts}
        event = {
            "type": "reaction_added", "user": user, "reaction": name, "item": item, "item_user": message.user
        }  # fmt: skip
        await self._offer(self._envelope(message.team).event("reaction_added", event))

    async def open_home(self, user: str, tab: str = "messages") -> str:
        """Opens the app's page; returns the direct conversation's id."""
        team = self.state.users[user].team
        conversation = self.state.direct(team, [user, self.state.bot(team).id])
        event = {"type": "app_home_opened", "user": user, "channel": conversation.id, "tab": tab}
        await self._offer(self._envelope(team).event("app_home_opened", event))
        return conversation.id

    async def press_stop(self, user: str, channel: str, thread_ts: str) -> None:
        """Presses the client's own Stop, which is there while a session works; open streams end."""
        assert self.shows_stop(channel, thread_ts), "there is no Stop"
        running = [
            one for one in self.state.conversations[channel].thread(thread_ts) if self.is_streaming(one)
        ]
        for message in running:
            message.is_stopped = True
            self.state.notify(message)
        event = {
            "type": "agent_session_stopped", "channel": channel, "user": user, "thread_ts": thread_ts,
            "streaming_message_ts": [message.ts for message in running],
        }  # fmt: skip
        team = self.state.conversations[channel].team
        await self._offer(self._envelope(team).event("agent_session_stopped", event))

    async def press(
        self, where: Message | View, action_id: str, user: str, *, value: str | None = None,
        option: str | None = None, as_seen: Shown | None = None,
    ) -> Delivery:  # fmt: skip
        """Presses a button, or picks an option, by action id (and value, where several share it).

        ``as_seen`` is an earlier revision, for a client that has not yet seen the newest.
        """
        assert self.app.interactivity, "nothing can be pressed: interactivity is off"
        now = where.payload["blocks"] if isinstance(where, View) else where.blocks
        blocks = as_seen.blocks if as_seen else now
        offered = [
            (block, element)
            for block, element in interactive(blocks)
            if element["action_id"] == action_id and value in (None, element.get("value"))
            if user in element.get("visible_to_user_ids", [user])
        ]
        there = [(element["action_id"], element.get("value")) for _, element in interactive(blocks)]
        assert offered, f"{self.state.name_of(user)} sees no {action_id} {value or ''}, only {there}"
        return await self._act(where, *offered[0], user, option=option)

    async def shortcut(self, message: Message, callback_id: str, user: str) -> Delivery:
        """Uses a shortcut of the app in the menu of a message, "Handling message shortcuts"."""
        conversation = self.state.conversations[message.channel]
        token = self.state.id("R")
        self.response_urls[token] = ResponseUrl(message, user)
        body = self._envelope(message.team).interaction(
            "message_action", self.state.users[user], self._trigger(user), callback_id=callback_id,
            action_ts=self.state.clock.ts(), message_ts=message.ts, message=shown_to_app(message),
            channel={"id": message.channel, "name": conversation.name or "directmessage"},
            response_url=f"{self.url}/response/{token}",
        )  # fmt: skip
        return await self.deliveries.offer(Delivery("interactive", body))

    async def feedback(self, message: Message, user: str, *, positive: bool = True) -> Delivery:
        """Presses one of the native feedback buttons."""
        offered = [pair for pair in interactive(message.blocks) if pair[1]["type"] == "feedback_buttons"]
        assert offered, "there are no feedback buttons"
        return await self._act(message, *offered[0], user, positive=positive)

    async def submit(self, view: View, values: Mapping[str, Any] | None = None) -> Delivery:
        """Sends a modal off; ``values`` by action id. Returns when the app has answered."""
        assert view.is_open, "the modal is closed"
        trigger = self._trigger(view.user, view.id)
        payload = view.as_json(_state_of(view, values or {}))
        envelope = self._envelope(view.team)
        user = self.state.users[view.user]
        body = envelope.interaction("view_submission", user, trigger, view=payload, response_urls=[])
        delivery = Delivery("interactive", body, takes_response=True)
        await self.deliveries.offer(delivery)
        await self.until(lambda: delivery.is_acked)
        self._follow(view, delivery.response or {})
        return delivery

    async def dismiss(self, view: View) -> None:
        view.is_open = False
        if view.payload.get("notify_on_close"):
            body = self._envelope(view.team).interaction(
                "view_closed", self.state.users[view.user], "", view=view.as_json(), is_cleared=False
            )
            await self.deliveries.offer(Delivery("interactive", body))

    def add_file(self, user: str, channel: str, name: str, content: bytes) -> File:
        file_id = self.state.id("F")
        mimetype = mimetypes.guess_type(name)[0] or "application/octet-stream"
        team = self.state.users[user].team
        file = File(
            id=file_id, team=team, user=user, name=name, mimetype=mimetype, content=content,
            channels=[channel], url=f"{self.url}/files-pri/{file_id}/{name}",
        )  # fmt: skip
        self.state.files[file.id] = file
        return file

    async def _act(
        self, where: Message | View, block: dict[str, Any], element: dict[str, Any], user: str, *,
        option: str | None = None, positive: bool | None = None,
    ) -> Delivery:  # fmt: skip
        action = {"type": element["type"], "action_id": element["action_id"], "block_id": block["block_id"]}
        action |= {name: element[name] for name in ("text", "value", "style") if name in element}
        if positive is not None:
            button = element["positive_button" if positive else "negative_button"]
            action |= {"value": button["value"], "text": button["text"]}
        if option is not None:
            action["selected_option"] = next(one for one in element["options"] if one["value"] == option)
        action["action_ts"] = self.state.clock.ts()
        view_id = where.id if isinstance(where, View) else ""
        more = {"view": where.as_json()} if isinstance(where, View) else self._message_part(where, user)
        body = self._envelope(where.team).interaction(
            "block_actions", self.state.users[user], self._trigger(user, view_id), actions=[action], **more
        )
        return await self.deliveries.offer(Delivery("interactive", body))

    def _message_part(self, message: Message, user: str) -> dict[str, Any]:
        """Where it was pressed; an ephemeral message is not sent along."""
        conversation = self.state.conversations[message.channel]
        container = {
            "type": "message", "message_ts": message.ts, "channel_id": message.channel,
            "is_ephemeral": bool(message.ephemeral_for),
        }  # fmt: skip
        if message.thread_ts:
            container["thread_ts"] = message.thread_ts
        token = self.state.id("R")
        self.response_urls[token] = ResponseUrl(message, user)
        channel = {"id": message.channel, "name": conversation.name or "directmessage"}
        part = {"container": container, "channel": channel, "response_url": f"{self.url}/response/{token}"}
        shown = {} if message.ephemeral_for else {"message": message.as_json(with_metadata=True)}
        return part | shown | {"state": {"values": {}}}

    def _trigger(self, user: str, view: str = "") -> str:
        trigger_id = f"{self.state.id('')}.{self.state.id('')}"
        self.triggers[trigger_id] = Trigger(at=self.state.clock.now(), user=user, view=view)
        return trigger_id

    def _follow(self, view: View, response: dict[str, Any]) -> None:
        """What a client does with the answer to a submission, "Modals"."""
        action, new = response.get("response_action"), response.get("view")
        faults = view_faults(new) if new else []
        if action == "errors":
            known = {block["block_id"] for block in view.payload["blocks"]}
            faults += [f"no such block: {one}" for one in response.get("errors", {}) if one not in known]
        elif action == "update" and new and not faults:
            replace_view(self, view, new)
        elif action == "clear":
            for one in self.state.views.values():
                one.is_open = one.is_open and (one.root or one.id) != (view.root or view.id)
        elif action is None:
            view.is_open = False
        else:
            faults.append(f"response_action {action}")
        self.rejected.extend(f"view_submission: {fault}" for fault in faults)

    async def _tell(self, message: Message) -> None:
        """A new message: the app hears of it where it is a member, in no promised order."""
        conversation = self.state.conversations[message.channel]
        envelope = self._envelope(message.team)
        bot = envelope.installation.bot
        if bot.id not in conversation.members:
            return
        payloads = [envelope.message(message, conversation)]
        if self._mentions(message, bot):
            payloads.append(envelope.mention(message))
        if conversation.shared_with and message.user:
            payloads = [envelope.shared(each, self.state.users[message.user]) for each in payloads]
        self.faults.random.shuffle(payloads)
        for payload in payloads:
            await self._offer(payload)

    def _mentions(self, message: Message, bot: User) -> bool:
        """Whether a mention of the app brings an event of its own; one in what is forwarded does not."""
        said = f"{message.text}{message.blocks}"
        is_mention = f"<@{bot.id}" in said or f"'user_id': '{bot.id}'" in said
        kind = self.state.conversations[message.channel].kind
        return (
            is_mention and message.bot_id != bot.bot_id and kind != "im" and message.subtype != "channel_join"
        )

    def _share(self, message: Message) -> dict[str, Any]:
        """A forwarded message, as it stands among the attachments of the one that forwards it."""
        name = self.state.name_of(message.user)
        shown = shown_to_app(message)
        return {
            "id": 1, "ts": message.ts, "channel_id": message.channel, "channel_team": message.team,
            "is_msg_unfurl": True, "is_share": True, "author_id": message.user, "author_name": name,
            "author_subname": name, "text": message.text, "mrkdwn_in": ["text"],
            "from_url": f"{self.url}/archives/{message.channel}/p{message.ts.replace('.', '')}",
            "fallback": f"[November 22nd, 2026 9:00 AM] {name}: {message.text}", "footer": "Slack Conversation",
            "message_blocks": [
                {"team": message.team, "channel": message.channel, "ts": message.ts,
                 "message": {"blocks": shown.get("blocks", [])}}
            ],
        }  # fmt: skip

    async def _tell_change(self, message: Message, before: dict[str, Any]) -> None:
        conversation = self.state.conversations[message.channel]
        envelope = self._envelope(message.team)
        if envelope.installation.bot.id in conversation.members:
            await self._offer(envelope.change(message, before, conversation))

    async def _offer(self, payload: dict[str, Any] | None) -> None:
        if payload is not None:
            await self.deliveries.offer(Delivery("events_api", payload))

    def _envelope(self, team: str) -> Envelope:
        return Envelope(app=self.app, state=self.state, installation=self.state.installation(team))


def _state_of(view: View, values: Mapping[str, Any]) -> dict[str, Any]:
    """`view.state.values` as a client fills it in; it lets nobody leave out what is required."""
    state: dict[str, Any] = {}
    for block in view.payload["blocks"]:
        if block["type"] != "input":
            continue
        element = block["element"]
        given = values.get(element["action_id"], element.get("initial_value"))
        assert given or block.get("optional"), f"{element['action_id']} is required"
        is_text = element["type"].endswith("_input")
        if is_text and given:
            assert len(given) <= element.get("max_length", 3000), f"{element['action_id']} is too long"
        field = {"value": given} if is_text else {"selected_option": {"value": given}}
        if element["type"] == "checkboxes":
            field = {"selected_options": [{"value": each} for each in given or ()]}
        state.setdefault(block["block_id"], {})[element["action_id"]] = {"type": element["type"], **field}
    unknown = set(values) - {action_id for block in state.values() for action_id in block}
    assert not unknown, f"the modal has no {unknown}"
    return state
