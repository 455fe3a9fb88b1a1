"""The local Slack, driven by the real slack-bolt: messages, deliveries, interactions."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from fakes.slack import DUPLICATES, App, FakeSlack, LostRequest, ServerError, in_thread
from fakes.slack.bolt import connected, listener_of, refusal
from fakes.slack.samples import FEEDBACK, MODAL, button, buttons, plain, section
from slack_sdk.web.async_client import AsyncWebClient


async def test_a_mention_comes_as_two_events_and_its_answer_is_seen_to_change(slack, app, ann, general):
    heard = listener_of(app, "message")

    @app.event("app_mention")
    async def answer(event, client):
        posted = await client.chat_postMessage(
            channel=event["channel"], thread_ts=event["ts"], text="Reading…"
        )
        await client.chat_update(channel=event["channel"], ts=posted["ts"], text="It is <b> & co. [1]")

    async with connected(slack, app):
        asked = await slack.mention(ann, general, "what is it?")
        (final,) = await slack.until(lambda: slack.finals(general, asked.ts))
        await slack.until_acked(asked)

    told = slack.deliveries_of(asked)
    assert sorted(one.name for one in told) == ["app_mention", "message"]
    assert len({one.payload["event_id"] for one in told}) == 2
    assert "channel_type" not in next(one.event for one in told if one.name == "app_mention")
    assert [one["event"]["text"] for one in heard] == [f"<@{slack.bot}> what is it?"]
    assert [one.text for one in final.revisions] == ["Reading…", "It is <b> & co. [1]"]
    assert final.visible == "It is <b> & co. [1]"
    assert final.thread_ts == asked.ts
    assert slack.ack_latencies()[-1] < float("inf")
    assert not slack.rejected


async def test_what_people_type_arrives_as_their_clients_send_it(slack, ann, general):
    said = await slack.say(ann, general, "a < b & `c > d`, see https://a.test/x?y=1&z=2. README.md")

    assert said.text == (
        "a &lt; b &amp; `c &gt; d`, see <https://a.test/x?y=1&amp;z=2>. <http://README.md|README.md>"
    )
    assert said.visible == "a < b & c > d, see https://a.test/x?y=1&z=2. README.md"


async def test_the_app_hears_of_its_own_messages_too(slack, app, client, general):
    async with connected(slack, app):
        await client.chat_postMessage(channel=general, text="hello")
        await slack.until(lambda: slack.told("message"))

    (told,) = slack.told("message")
    assert told["event"]["bot_id"]
    assert told["event"]["app_id"] == slack.app.id


async def test_the_app_hears_nothing_where_it_is_not_a_member(slack, ann):
    elsewhere = slack.add_channel("elsewhere", ann, has_bot=False)

    asked = await slack.mention(ann, elsewhere, "hello?")

    assert slack.deliveries_of(asked) == []


async def test_every_kind_of_message_has_its_subtype(slack, ann, general):
    bob, robot = slack.add_user("bob"), slack.add_bot("robot")

    root = await slack.say(ann, general, "one")
    await slack.say(ann, general, "two", root.ts, broadcast=True)
    await slack.say(ann, general, "", files=[("notes.md", b"# Notes")])
    await slack.bot_says(general, "beep", bot=robot, is_classic=True)
    await slack.bot_says(general, f"<@{slack.bot}> beep", bot=robot)
    await slack.join(bob, general)
    await slack.edit(root, "one, edited")
    await slack.erase(root)

    subtypes = [one["event"].get("subtype", "") for one in slack.told("message")]
    assert subtypes == [
        "", "thread_broadcast", "file_share", "bot_message", "", "channel_join", "message_changed",
        "message_deleted",
    ]  # fmt: skip
    assert slack.told("member_joined_channel")[0]["event"]["user"] == bob
    assert len(slack.told("app_mention")) == 1
    changed = slack.told("message")[-2]["event"]
    assert (changed["message"]["text"], changed["previous_message"]["text"]) == ("one, edited", "one")
    assert root not in slack.thread(general, root.ts)


async def test_workspaces_are_apart(slack, client, ann, general):
    theirs = slack.add_workspace("theirs", "xoxb-theirs")
    bob = slack.add_user("bob", team=theirs)
    other = slack.add_channel("other", bob, team=theirs)
    their_client = AsyncWebClient("xoxb-theirs", base_url=slack.api_url)

    await slack.mention(bob, other, "hello")
    await their_client.chat_postMessage(channel=other, text="hello bob")
    across = await refusal(client.users_info(user=bob))

    told = slack.told("app_mention")[0]
    assert told["team_id"] == theirs
    assert told["authorizations"][0]["user_id"] == (await their_client.auth_test())["user_id"] != slack.bot
    assert across["error"] == "user_not_found"


async def test_timestamps_name_messages_and_only_grow(slack, ann, general):
    said = [await slack.say(ann, general, str(number)) for number in range(200)]

    stamps = [message.ts for message in said]
    assert stamps == sorted(set(stamps), key=float)


async def test_what_is_not_acknowledged_comes_again_with_the_same_event_id(slack, app, ann, general):
    failures, headers = iter([True]), []

    @app.middleware
    async def store(req, next):
        headers.append(req.headers.get("x-slack-retry-num"))
        if any(failures):
            raise OSError("the disk is full")
        await next()

    heard = listener_of(app, "message")
    async with connected(slack, app):
        said = await slack.say(ann, general, "hello")
        await slack.until(lambda: headers)
        (again,) = await slack.redeliver()
        await slack.until_acked(said)

    assert [attempt.retry_num for attempt in again.attempts] == [0, 1]
    assert len({attempt.envelope_id for attempt in again.attempts}) == 2
    assert headers == [["0"], ["1"]]
    assert len(heard) == 1
    assert await slack.redeliver() == []


async def test_retries_are_due_after_the_delays_that_slack_promises(slack, ann, general):
    await slack.say(ann, general, "is anybody there?")  # nobody is connected

    resent = [bool(await slack.advance(seconds)) for seconds in (2.9, 0.2, 50, 14, 299, 10, 10_000)]

    assert resent == [False, True, False, True, False, True, False]


async def test_retries_come_by_themselves_when_asked_to(ann, app, general, slack):
    slack.retries_by_itself, slack.ack_within, slack.retry_delays = True, 0.01, (0.0, 0.01, 0.01, 0.01, 5)
    listener_of(app, "message")
    said = await slack.say(ann, general, "early")
    await slack.until(lambda: len(slack.deliveries_of(said)[0].attempts) > 2)

    async with connected(slack, app):
        await slack.redeliver()
        await slack.until_acked(said)

    assert slack.deliveries.unacknowledged == []


async def test_an_interaction_is_never_sent_twice(slack, client, ann, general):
    await client.chat_postMessage(channel=general, text="?", blocks=[buttons(button("go"))])

    delivery = await slack.press(slack.posts()[0], "go", ann)

    assert delivery not in await slack.redeliver()
    assert len(delivery.attempts) == 1


@pytest.mark.parametrize("kind", DUPLICATES)
async def test_an_event_can_come_twice_in_four_ways(slack, app, ann, general, kind):
    heard = listener_of(app, "message")

    async with connected(slack, app, count=2):
        said = await slack.say(ann, general, "hello")
        await slack.duplicate(said, kind)
        await slack.until(lambda: len(heard) == 2)

    (delivery,) = slack.deliveries_of(said)
    first, second = delivery.attempts
    assert len({one["event_id"] for one in heard}) == 1
    assert (first.envelope_id == second.envelope_id) == (kind == "same_envelope")
    assert second.retry_num == (kind == "retry")
    if kind != "retry":
        assert (first.socket != second.socket) == (kind == "other_socket")


async def test_two_connections_share_the_events(slack, app, ann, general):
    heard = listener_of(app, "message")

    async with connected(slack, app, count=2):
        for number in range(30):
            await slack.say(ann, general, str(number))
        await slack.until(lambda: len(heard) == 30)

    used = {one.attempts[0].socket for one in slack.deliveries.all}
    assert len(used) == 2


async def test_a_client_that_finds_no_new_connection_at_once_finds_one_later(slack, app, ann, general):
    slack.sockets.grace = 0.0
    heard = listener_of(app, "message")

    async with connected(slack, app, ping=0.05):
        slack.faults.queue("apps.connections.open", ServerError(), LostRequest())
        await slack.sockets.refresh()
        await slack.until(lambda: slack.sockets.live)
        await slack.say(ann, general, "still there?")
        await slack.until(lambda: heard)

    assert len(heard) == 1


async def test_a_client_that_does_not_leave_is_closed(slack, client):
    slack.sockets.grace = 0.0
    opened = await client.apps_connections_open(app_token=slack.app_token)

    async with aiohttp.ClientSession() as session, session.ws_connect(opened["url"]) as socket:
        await socket.receive_json()
        await slack.sockets.refresh("warning")
        goodbye = await socket.receive_json()
        end = await socket.receive()

    assert (goodbye["type"], goodbye["reason"]) == ("disconnect", "warning")
    assert end.type == aiohttp.WSMsgType.CLOSE


async def test_a_client_whose_socket_breaks_comes_back(slack, app, ann, general):
    heard = listener_of(app, "message")

    async with connected(slack, app, ping=0.05):
        slack.sockets.drop()
        await slack.until(lambda: slack.sockets.opened == 2 and slack.sockets.live)
        await slack.say(ann, general, "still there?")
        await slack.until(lambda: heard)

    assert len(heard) == 1


async def test_a_ticket_opens_one_connection_and_eleven_are_too_many(slack, client):
    async with aiohttp.ClientSession() as session:
        urls = [(await client.apps_connections_open(app_token=slack.app_token))["url"] for _ in range(11)]
        sockets = [await session.ws_connect(url) for url in urls]
        greetings = [await socket.receive_json() for socket in sockets]
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(urls[0])

    assert [one["type"] for one in greetings] == ["hello"] * 10 + ["disconnect"]
    assert greetings[9]["num_connections"] == 10
    assert greetings[10]["reason"] == "too_many_websockets"


async def test_the_app_gets_only_what_its_manifest_asks_for():
    manifest = {
        "features": {"bot_user": {"display_name": "notes"}, "agent_view": {}},
        "oauth_config": {"scopes": {"bot": ["chat:write", "app_mentions:read", "im:history"]}},
        "settings": {
            "event_subscriptions": {"bot_events": ["app_mention", "message.channels", "message.im"]},
            "interactivity": {"is_enabled": True},
        },
    }
    async with FakeSlack(app=App.from_manifest(manifest)) as slack:
        bob = slack.add_user("bob")
        general = slack.add_channel("general", bob)

        await slack.mention(bob, general, "hello")
        await slack.dm(bob, "hello")

        assert [one.name for one in slack.deliveries.all] == ["app_mention", "message"]


async def test_a_press_tells_who_where_and_on_what(slack, app, client, ann, general):
    pressed = []

    @app.action("approve")
    async def approve(ack, body, client):
        await ack()
        pressed.append(body)

    root = await slack.say(ann, general, "question")
    await client.chat_postMessage(
        channel=general, thread_ts=root.ts, text="May I?", metadata={"event_type": "e", "event_payload": {}},
        blocks=[section("May I?"), buttons(button("approve", value="p1"), button("deny", value="p1"))],
    )  # fmt: skip
    async with connected(slack, app):
        (card,) = slack.replies(general, root.ts)
        await slack.press(card, "approve", ann)
        await slack.until(lambda: pressed)

    (body,) = pressed
    assert body["user"]["id"] == ann
    assert body["actions"][0]["value"] == "p1"
    assert body["actions"][0]["block_id"] == card.blocks[1]["block_id"]
    assert body["container"]["thread_ts"] == root.ts
    assert body["message"]["ts"] == card.ts
    assert body["channel"]["id"] == general
    assert body["team"]["id"] == slack.team


async def test_nobody_presses_what_is_not_there_except_a_client_that_is_behind(slack, client, ann, general):
    posted = await client.chat_postMessage(channel=general, text="?", blocks=[buttons(button("go"))])
    await client.chat_update(channel=general, ts=posted["ts"], text="done", blocks=[section("done")])
    (card,) = slack.posts()

    with pytest.raises(AssertionError, match="ann sees no go"):
        await slack.press(card, "go", ann)
    late = await slack.press(card, "go", ann, as_seen=card.revisions[0])

    assert late.payload["actions"][0]["action_id"] == "go"


async def test_native_feedback_is_pressed(slack, client, ann, general):
    await client.chat_postMessage(channel=general, text="answer", blocks=[section("answer"), FEEDBACK])

    good = await slack.feedback(slack.posts()[0], ann)
    bad = await slack.feedback(slack.posts()[0], ann, positive=False)

    assert [one.payload["actions"][0]["value"] for one in (good, bad)] == ["good", "bad"]


async def test_a_modal_is_opened_filled_in_corrected_and_sent_off(slack, app, client, ann, general):
    sent = []

    @app.action("edit")
    async def edit(ack, body, client):
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=MODAL)

    @app.view("edit")
    async def submitted(ack, view, body):
        query = view["state"]["values"]["query"]["text"]["value"]
        if not query.strip("?"):
            await ack(response_action="errors", errors={"query": "Say what to look for."})
            return
        await ack()
        sent.append((body["user"]["id"], view["private_metadata"], query))

    await client.chat_postMessage(channel=general, text="?", blocks=[buttons(button("edit"))])
    async with connected(slack, app):
        await slack.press(slack.posts()[0], "edit", ann)
        modal = await slack.until(lambda: slack.modal(ann))
        refused = await slack.submit(modal, {"text": "???"})
        assert modal.is_open
        assert refused.response["errors"] == {"query": "Say what to look for."}
        await slack.submit(modal, {"text": "new"})

    assert sent == [(ann, "p1", "new")]
    assert not modal.is_open
    assert slack.modal(ann) is None
    assert any("Edit query" in shown.visible for shown in slack.shown)
    assert not slack.rejected


async def test_an_option_is_picked_from_a_menu(slack, client, ann, general):
    options = [{"text": plain(name), "value": name} for name in ("one", "two")]
    menu = {"type": "overflow", "action_id": "menu", "options": options}
    await client.chat_postMessage(channel=general, text="?", blocks=[section("?") | {"accessory": menu}])

    picked = await slack.press(slack.posts()[0], "menu", ann, option="two")

    assert picked.payload["actions"][0]["selected_option"]["value"] == "two"


async def test_a_second_modal_lies_on_the_first_and_a_fourth_is_too_many(slack, client, ann, general):
    more = MODAL | {"blocks": [*MODAL["blocks"], buttons(button("more"))]}
    await client.chat_postMessage(channel=general, text="?", blocks=[buttons(button("more"))])
    pressed = await slack.press(slack.posts()[0], "more", ann)
    first = await client.views_open(trigger_id=pressed.payload["trigger_id"], view=more)

    for _ in range(2):
        pressed = await slack.press(slack.modal(ann), "more", ann)
        pushed = await client.views_push(trigger_id=pressed.payload["trigger_id"], view=more)
    pressed = await slack.press(slack.modal(ann), "more", ann)
    refused = await refusal(client.views_push(trigger_id=pressed.payload["trigger_id"], view=more))

    assert pressed.payload["view"]["id"] == pushed["view"]["id"]
    assert pushed["view"]["root_view_id"] == first["view"]["id"]
    assert refused["error"] == "push_limit_reached"


async def test_a_trigger_is_good_once_and_for_three_seconds(slack, client, ann, general):
    await client.chat_postMessage(channel=general, text="?", blocks=[buttons(button("edit"))])
    once, late = [await slack.press(slack.posts()[0], "edit", ann) for _ in range(2)]

    await client.views_open(trigger_id=once.payload["trigger_id"], view=MODAL)
    twice = await refusal(client.views_open(trigger_id=once.payload["trigger_id"], view=MODAL))
    await slack.advance(3.1)
    expired = await refusal(client.views_open(trigger_id=late.payload["trigger_id"], view=MODAL))
    unknown = await refusal(client.views_open(trigger_id="1.2", view=MODAL))

    assert [one["error"] for one in (twice, expired, unknown)] == [
        "exchanged_trigger_id", "expired_trigger_id", "invalid_trigger_id",
    ]  # fmt: skip


async def test_views_are_updated_by_hash_and_the_home_tab_is_one(slack, client, ann, general):
    await client.chat_postMessage(channel=general, text="?", blocks=[buttons(button("edit"))])
    pressed = await slack.press(slack.posts()[0], "edit", ann)
    opened = await client.views_open(trigger_id=pressed.payload["trigger_id"], view=MODAL)
    view_id, first = opened["view"]["id"], opened["view"]["hash"]

    await client.views_update(view_id=view_id, hash=first, view=MODAL | {"title": plain("Again")})
    stale = await refusal(client.views_update(view_id=view_id, hash=first, view=MODAL))
    for text in ("one", "two"):
        await client.views_publish(user_id=ann, view={"type": "home", "blocks": [section(text)]})

    assert stale["error"] == "hash_conflict"
    assert slack.modal(ann).payload["title"]["text"] == "Again"
    assert slack.home(ann).payload["blocks"][0]["text"]["text"] == "two"


async def test_a_response_url_answers_without_a_token(slack, app, client, ann, general):
    @app.action("go")
    async def go(ack, respond):
        await ack()
        await respond("only you", replace_original=False)
        await respond("done", replace_original=True)

    await client.chat_postMessage(channel=general, text="?", blocks=[buttons(button("go"))])
    async with connected(slack, app):
        await slack.press(slack.posts()[0], "go", ann)
        await slack.until(lambda: slack.posts()[0].visible == "done")

    assert [one.visible for one in slack.ephemerals(ann)] == ["only you"]


def test_a_server_in_a_thread_of_its_own_is_acted_on_from_outside():
    with in_thread(FakeSlack()) as slack:
        ann = slack.add_user("ann")
        general = slack.add_channel("general", ann)

        async def answer():
            client = AsyncWebClient(slack.bot_token, base_url=slack.api_url)
            await client.chat_postMessage(channel=general, text="from another loop")

        said = slack.run(slack.say(ann, general, "hello"))
        asyncio.run(answer())
        shown = slack.run(slack.until(slack.posts))

    assert said.visible == "hello"
    assert shown[0].visible == "from another loop"
