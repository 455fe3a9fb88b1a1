"""The local Slack's Web API, driven by the real slack-sdk: what it gives and what it refuses."""

from __future__ import annotations

import json

import aiohttp
import pytest
from fakes.slack import ALL_SCOPES, App, FakeSlack
from fakes.slack.bolt import refusal
from fakes.slack.samples import FEEDBACK, MODAL, button, buttons, plain, section
from slack_sdk.web.async_client import AsyncWebClient


async def test_a_thread_is_read_by_pages_with_its_metadata(slack, client, ann, general):
    root = await slack.say(ann, general, "root")
    metadata = {"event_type": "turn", "event_payload": {"turn": "t1"}}
    for number in range(4):
        await client.chat_postMessage(channel=general, thread_ts=root.ts, text=str(number), metadata=metadata)

    pages = [
        page["messages"]
        async for page in await client.conversations_replies(
            channel=general, ts=root.ts, limit=2, include_all_metadata=True
        )
    ]
    without = await client.conversations_replies(channel=general, ts=root.ts)
    newest = await client.conversations_history(channel=general, limit=1)

    messages = [message for page in pages for message in page]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [one["text"] for one in messages] == ["root", "0", "1", "2", "3"]
    assert messages[0]["reply_count"] == 4
    assert messages[1]["metadata"] == metadata
    assert "metadata" not in without["messages"][1]
    assert newest["messages"][0]["text"] == "root"


async def test_an_update_keeps_the_blocks_that_it_does_not_name(slack, client, general):
    posted = await client.chat_postMessage(channel=general, text="a", blocks=[section("card")])
    ts = posted["ts"]

    await client.chat_update(channel=general, ts=ts, text="b")
    kept = slack.posts()[0].visible
    await client.chat_update(channel=general, ts=ts, text="c", blocks=[])

    assert (kept, slack.posts()[0].visible) == ("card", "c")


async def test_forms_and_json_say_the_same(slack, client, general):
    blocks = [section("from a form")]
    form = {"channel": general, "text": "x", "blocks": json.dumps(blocks), "token": slack.bot_token}

    async with aiohttp.ClientSession() as session:
        reply = await (await session.post(f"{slack.api_url}chat.postMessage", data=form)).json()
        broken = form | {"blocks": "[{"}
        refused = await (await session.post(f"{slack.api_url}chat.postMessage", data=broken)).json()

    assert reply["ok"]
    assert slack.posts()[0].visible == "from a form"
    assert refused["error"] == "invalid_blocks_format"


async def test_tokens_are_checked(slack, client, general):
    async def error_of(token, method="auth.test"):
        return (await refusal(AsyncWebClient(token, base_url=slack.api_url).api_call(method)))["error"]

    who = await client.auth_test()

    assert who["user_id"] == slack.bot
    assert "chat:write" in who.headers["x-oauth-scopes"]
    assert await error_of("") == "not_authed"
    assert await error_of("xoxb-other") == "invalid_auth"
    assert await error_of(slack.app_token) == "not_allowed_token_type"
    assert await error_of(slack.bot_token, "apps.connections.open") == "not_allowed_token_type"
    assert await error_of(slack.bot_token, "no.such") == "unknown_method"


async def test_a_missing_scope_is_named():
    scopes = ALL_SCOPES - {"channels:history"}
    async with FakeSlack(app=App(scopes=scopes)) as slack:
        client = AsyncWebClient(slack.bot_token, base_url=slack.api_url)
        general = slack.add_channel("general")

        refused = await refusal(client.conversations_replies(channel=general, ts="1.0"))

        assert (refused["error"], refused["needed"]) == ("missing_scope", "channels:history")
        assert set(refused["provided"].split(",")) == scopes


async def test_places_and_messages_that_are_not_the_apps_are_refused(slack, client, ann, general):
    private = slack.add_channel("private", ann, is_private=True, has_bot=False)
    public = slack.add_channel("public", ann, has_bot=False)
    other = slack.add_channel("theirs", team=slack.add_workspace("other", "xoxb-other"))
    anns = await slack.say(ann, general, "mine")
    reply = await slack.say(ann, general, "reply", anns.ts)
    refusals = {
        "channel_not_found": client.chat_postMessage(channel=private, text="x"),
        "not_in_channel": client.chat_postMessage(channel=public, text="x"),
        "thread_not_found": client.chat_postMessage(channel=general, thread_ts="1.0", text="x"),
        "cannot_reply_to_message": client.chat_postMessage(channel=general, thread_ts=reply.ts, text="x"),
        "message_not_found": client.chat_update(channel=general, ts="1.0", text="x"),
        "cant_update_message": client.chat_update(channel=general, ts=anns.ts, text="x"),
        "cant_delete_message": client.chat_delete(channel=general, ts=anns.ts),
        "user_not_in_channel": client.chat_postEphemeral(
            channel=general, user=slack.add_user("bob"), text="x"
        ),
        "no_text": client.api_call("chat.postMessage", json={"channel": general}),
    }

    errors = [(await refusal(request))["error"] for request in refusals.values()]

    assert errors == list(refusals)
    assert len(slack.rejected) == len(errors)
    assert (await refusal(client.chat_postMessage(channel=other, text="x")))["error"] == "channel_not_found"


async def test_people_groups_and_places_can_be_looked_up(slack, client, ann, general):
    secret = slack.add_channel("secret", ann, is_private=True, has_bot=False)
    group = slack.add_usergroup("approvers", ann)
    types = "public_channel,private_channel,im,mpim"

    opened = await client.conversations_open(users=[ann])
    listed = await client.conversations_list(types=types)
    mine = await client.users_conversations(types=types)

    assert (await client.users_info(user=ann))["user"]["name"] == "ann"
    assert (await client.usergroups_users_list(usergroup=group))["users"] == [ann]
    assert (await client.team_info())["team"]["id"] == slack.team
    assert (await client.conversations_members(channel=general))["members"] == [ann, slack.bot]
    info = await client.conversations_info(channel=opened["channel"]["id"])
    assert info["channel"]["is_im"]
    assert info["channel"]["user"] == ann
    assert {one["id"] for one in listed["channels"]} == {general, opened["channel"]["id"]}
    assert secret not in {one["id"] for one in mine["channels"]}
    assert (await refusal(client.users_info(user="U1")))["error"] == "user_not_found"


async def test_a_file_is_given_to_who_may_read_it_and_others_get_a_sign_in_page(slack, client, ann, general):
    said = await slack.say(ann, general, "learn", files=[("notes.md", b"# Notes")])

    info = await client.files_info(file=said.files[0].id)
    async with aiohttp.ClientSession() as session:
        url = info["file"]["url_private"]
        token = {"Authorization": f"Bearer {slack.bot_token}"}
        read = await (await session.get(url, headers=token)).read()
        page = await session.get(url)

    assert read == b"# Notes"
    assert (page.status, page.content_type) == (200, "text/html")


async def test_a_stream_grows_and_closes_with_its_buttons(slack, client, ann, general):
    root = await slack.say(ann, general, "question")
    stream = await client.chat_stream(
        channel=general,
        thread_ts=root.ts,
        recipient_team_id=slack.team,
        recipient_user_id=ann,
        buffer_size=1,
    )

    await stream.append(markdown_text="Hello ")
    await stream.append(markdown_text="**world**")
    streaming = await refusal(client.chat_update(channel=general, ts=stream.ts, text="no"))
    await stream.stop(blocks=[FEEDBACK])
    late = await refusal(client.chat_appendStream(channel=general, ts=stream.ts, markdown_text="more"))

    (answer,) = slack.replies(general, root.ts)
    assert answer.visible == "Hello world\nGood Bad"
    assert [one.visible for one in answer.revisions][:2] == ["Hello", "Hello world"]
    assert streaming["error"] == "streaming_state_conflict"
    assert late["error"] == "message_not_in_streaming_state"


async def test_a_stream_in_a_channel_names_its_reader_and_dies_after_five_minutes(
    slack, client, ann, general
):
    root = await slack.say(ann, general, "question")
    stream = await client.chat_stream(
        channel=general,
        thread_ts=root.ts,
        recipient_team_id=slack.team,
        recipient_user_id=ann,
        buffer_size=1,
    )

    nobody = await refusal(client.chat_startStream(channel=general, thread_ts=root.ts))
    await stream.append(markdown_text="Half ")
    await slack.advance(301)
    dead = await refusal(stream.append(markdown_text="an answer"))
    await client.chat_update(channel=general, ts=stream.ts, text="whole", blocks=[])

    assert nobody["error"] == "missing_recipient_team_id"
    assert dead["error"] == "message_not_in_streaming_state"
    assert slack.replies(general, root.ts)[0].visible == "whole"


async def test_a_status_goes_when_the_app_posts_and_after_two_minutes(slack, client, ann, general):
    root = await slack.say(ann, general, "question")

    async def status_after(act):
        await client.assistant_threads_setStatus(channel_id=general, thread_ts=root.ts, status="Reading…")
        before = slack.status(general, root.ts)
        await act
        return before, slack.status(general, root.ts)

    assert await status_after(slack.advance(119)) == ("Reading…", "Reading…")
    assert await status_after(slack.advance(121)) == ("Reading…", "")
    posted = client.chat_postMessage(channel=general, thread_ts=root.ts, text="x")
    assert await status_after(posted) == ("Reading…", "")


async def test_an_agents_session_has_status_title_prompts_and_a_stop(slack, client, ann, general):
    root = await slack.say(ann, general, "question")
    page = await slack.open_home(ann)
    thread = {"channel_id": general, "thread_ts": root.ts}

    await client.agents_sessions_setStatus(**thread, status="processing", title="A question")
    await client.assistant_threads_setSuggestedPrompts(
        channel_id=page, prompts=[{"title": "Ask", "message": "What is it?"}]
    )
    wrong = await refusal(client.agents_sessions_setStatus(**thread, status="busy"))
    await slack.press_stop(ann, general, root.ts)

    assert slack.sessions[general, root.ts] == ["processing"]
    assert slack.titles[general, root.ts]
    assert slack.prompts[page, ""][0]["title"] == "Ask"
    assert wrong["error"] == "invalid_arguments"
    assert slack.told("app_home_opened")[0]["event"]["tab"] == "messages"
    stopped = slack.told("agent_session_stopped")[0]["event"]
    assert (stopped["thread_ts"], stopped["streaming_message_ts"]) == (root.ts, [])


async def test_an_app_that_is_no_agent_has_no_sessions(client, slack, ann, general):
    slack.app = App(is_agent=False)
    root = await slack.say(ann, general, "question")

    refused = await refusal(
        client.agents_sessions_setStatus(channel_id=general, thread_ts=root.ts, status="processing")
    )

    assert refused["error"] == "not_authorized"


def task(title, status):
    return {"type": "task_update", "id": title, "title": title, "status": status}


@pytest.fixture
async def plan(slack, client, ann, general):
    """A plan that is open in a thread of ann's: where it is."""
    root = await slack.say(ann, general, "question")
    started = await client.chat_startStream(
        channel=general, thread_ts=root.ts, recipient_team_id=slack.team, recipient_user_id=ann,
        task_display_mode="plan", chunks=[task("Reading", "in_progress")],
    )  # fmt: skip
    return {"channel": general, "ts": started["ts"]}


async def test_a_plan_is_part_of_a_session_and_notifies_at_its_end(slack, client, ann, general, plan):
    (shown,) = slack.posts()
    session = general, shown.root
    at_start = slack.session(*session), slack.notified(ann), shown.visible
    (open_one,) = (await client.conversations_replies(channel=general, ts=shown.root))["messages"][1:]

    await client.chat_stopStream(
        **plan, chunks=[task("Reading", "complete"), {"type": "markdown_text", "text": "Yes."}],
        metadata={"event_type": "x", "event_payload": {"turn": "t1"}}, session_status="suspended",
    )  # fmt: skip

    assert at_start == ("processing", [], "Reading")
    assert (open_one["streaming_state"], "metadata" in open_one) == ("in_progress", False)
    assert (shown.visible, shown.metadata["event_payload"]) == ("Yes.", {"turn": "t1"})
    assert slack.session(*session) == "suspended"
    assert [one.text for one in slack.notified(ann)] == ["Yes. Reading"]


async def test_an_open_stream_is_neither_edited_nor_deleted(client, plan):
    edited = await refusal(client.chat_update(**plan, text="no"))
    deleted = await refusal(client.chat_delete(**plan))
    await client.chat_stopStream(**plan)
    await client.chat_delete(**plan)

    assert edited["error"] == "streaming_state_conflict"
    assert deleted["error"] == "cant_delete_message"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"markdown_text": "x"}, "streaming_mode_mismatch"),
        ({"markdown_text": "x", "chunks": [task("x", "complete")]}, "cannot_provide_both_markdown_text_and_chunks"),
        ({"chunks": [task("x", "done")]}, "invalid_chunks"),
        ({"chunks": [task("x" * 257, "complete")]}, "invalid_chunks"),
        ({"chunks": [{"type": "carpet"}]}, "invalid_chunks"),
        ({"chunks": [{"type": "markdown_text", "text": "x" * 12_001}]}, "msg_too_long"),
    ],
)  # fmt: skip
async def test_a_stream_takes_what_it_began_with(client, plan, given, error):
    assert (await refusal(client.chat_appendStream(**plan, **given)))["error"] == error


async def test_who_stops_a_session_ends_its_streams(slack, client, ann, general, plan):
    (shown,) = slack.posts()

    await slack.press_stop(ann, general, shown.root)
    late = await refusal(client.chat_appendStream(**plan, chunks=[task("x", "complete")]))
    closing = await refusal(client.chat_stopStream(**plan))

    assert slack.told("agent_session_stopped")[0]["event"]["streaming_message_ts"] == [plan["ts"]]
    assert late["error"] == "stopped_by_user"
    assert closing["error"] == "message_not_in_streaming_state"
    assert slack.session(general, shown.root) == "processing"


async def test_an_ephemeral_message_is_seen_by_one_and_is_in_no_thread(slack, client, ann, general):
    root = await slack.say(ann, general, "question")
    reply = await slack.say(ann, general, "and another", root.ts)

    await client.chat_postEphemeral(channel=general, user=ann, thread_ts=root.ts, text="Only ann decides.")

    assert [one.visible for one in slack.ephemerals(ann)] == ["Only ann decides."]
    assert slack.thread(general, root.ts) == [root, reply]
    assert slack.shown[-1].action == "ephemeral"


async def test_an_ephemeral_message_in_a_thread_without_replies_is_seen_by_nobody(
    slack, client, ann, general
):
    root = await slack.say(ann, general, "question")

    await client.chat_postEphemeral(channel=general, user=ann, thread_ts=root.ts, text="Only ann decides.")

    assert slack.ephemerals(ann) == []


async def test_reactions_and_permalinks(slack, client, ann, general):
    said = await slack.say(ann, general, "hello")

    await client.reactions_add(channel=general, timestamp=said.ts, name="eyes")
    again = await refusal(client.reactions_add(channel=general, timestamp=said.ts, name="eyes"))
    await slack.react(ann, said, "tada")
    link = await client.chat_getPermalink(channel=general, message_ts=said.ts)

    assert said.reactions == {"eyes": [slack.bot], "tada": [ann]}
    assert again["error"] == "already_reacted"
    assert link["permalink"].endswith(f"/p{said.ts.replace('.', '')}")


def cell(text):
    return {"type": "raw_text", "text": text}


def data_table(**more):
    return {"type": "data_table", "caption": "Rates", "rows": [[cell("a")], [cell("b")]]} | more


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        ([section("x" * 3001)], "3000 characters"),
        ([section("")], "more than 0 characters"),
        ([section("x") | {"colour": "red"}], "additional property: colour"),
        ([{"type": "header", "text": plain("x" * 151)}], "150 characters"),
        ([{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}], "must be plain_text"),
        ([{"type": "markdown", "text": "x" * 6001}] * 2, "12000 characters in total"),
        ([buttons(*[button(f"b{n}") for n in range(26)])], "25 elements"),
        ([buttons(button("b", value="x" * 2001))], "2000 characters"),
        ([buttons(button("b") | {"text": plain("x" * 76)})], "75 characters"),
        ([buttons(button("b" * 256))], "255 characters"),
        ([buttons(button("b", style="blue"))], "style attribute"),
        ([buttons(button("b")), buttons(button("b"))], "action_id is not unique"),
        ([section("x") | {"block_id": "a"}] * 2, "block_id is not unique"),
        ([{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11}], "1 to 10 elements"),
        ([{"type": "context", "elements": [button("b")]}], "cannot hold button"),
        ([FEEDBACK | {"elements": FEEDBACK["elements"] * 6}], "1 to 5 elements"),
        ([{"type": "image", "image_url": "https://x.test/y.png"}], "alt_text"),
        ([{"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]] * 101}], "100 rows"),
        ([data_table(rows=[[cell("x")]])], "2 to 201 rows"),
        ([data_table(rows=[[cell("x")]] * 202)], "2 to 201 rows"),
        ([data_table(rows=[[cell("x")], [cell("x"), cell("y")]])], "the same 1 to 20 cells"),
        ([data_table(rows=[[cell("x")], [cell("x" * 20_000)]])], "20000 characters"),
        ([data_table(rows=[[cell("x")], [cell("")]])], "more than 0 characters"),
        ([data_table(rows=[[{"type": "rich_text", "elements": []}], [cell("x")]])], "cannot be rich_text"),
        ([data_table(caption="")], "missing required field: caption"),
        ([data_table(page_size=101)], "page_size is 1 to 100"),
        ([data_table(column_settings=[])], "invalid additional property"),
        ([{"type": "divider"}] * 51, "50 items"),
        ([{"type": "carpet"}], "unsupported type"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_slack_would_not_take_is_refused_and_noted(slack, client, general, blocks, why):
    refused = await refusal(client.chat_postMessage(channel=general, text="x", blocks=blocks))

    assert refused["error"] == "invalid_blocks"
    assert why in " ".join(refused["errors"])
    assert slack.posts() == []
    assert "invalid_blocks" in slack.rejected[0]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"text": "x", "blocks": [section("x" * 2900)] * 5}, "msg_blocks_too_long"),
        ({"text": "x" * 40_001}, "msg_too_long"),
        ({"text": "x", "markdown_text": "x"}, "markdown_text_conflict"),
        ({"text": "x", "metadata": {"event_type": "x"}}, "invalid_metadata_format"),
    ],
)
async def test_a_message_has_limits_as_a_whole(client, general, given, error):
    assert (await refusal(client.chat_postMessage(channel=general, **given)))["error"] == error


async def test_an_update_takes_a_shorter_text_than_a_post(client, general):
    posted = await client.chat_postMessage(channel=general, text="x" * 4_001)

    refused = await refusal(client.chat_update(channel=general, ts=posted["ts"], text="x" * 4_001))

    assert refused["error"] == "msg_too_long"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"title": plain("x" * 25)}, "24 characters"),
        ({"submit": None}, "input needs submit"),
        ({"private_metadata": "x" * 3001}, "3000 characters"),
        ({"blocks": [{"type": "markdown", "text": "x"}]}, "for messages only"),
        ({"blocks": [section("x")] * 101}, "100 blocks"),
    ],
)
async def test_a_modal_has_limits(slack, client, ann, change, why):
    await client.chat_postMessage(channel=ann, text="?", blocks=[buttons(button("edit"))])
    pressed = await slack.press(slack.posts()[0], "edit", ann)
    view = {name: value for name, value in (MODAL | change).items() if value is not None}

    refused = await refusal(client.views_open(trigger_id=pressed.payload["trigger_id"], view=view))

    assert refused["error"] == "invalid_arguments"
    assert why in " ".join(refused["response_metadata"]["messages"])
