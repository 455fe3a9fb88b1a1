"""What the local Discord refuses: limits, rights, and requests that the API's document does not know."""

from __future__ import annotations

import json

import aiohttp
import discord
import pytest
from fakes.discord import spec

needs_document = pytest.mark.skipif(
    not spec.is_there(), reason="the API's document is not beside this checkout in shared/specs"
)

V2 = 1 << 15
TEXT, ROW, SECTION, CONTAINER, SEPARATOR = 10, 1, 9, 17, 14


def text(content="words"):
    return {"type": TEXT, "content": content}


def button(custom_id="a", label="A", **more):
    return {"type": 2, "style": 1, "custom_id": custom_id, "label": label} | more


def row(*items):
    return {"type": ROW, "components": list(items)}


def container(*items):
    return {"type": CONTAINER, "components": list(items)}


def select(options):
    return {"type": 3, "custom_id": "s", "options": options}


@pytest.fixture
async def call(fake):
    """A plain request to the API: the status and the body of its answer."""
    async with aiohttp.ClientSession(headers={"Authorization": f"Bot {fake.token}"}) as session:

        async def send(method, path, body=None, **more):
            async with session.request(method, fake.api_url + path, json=body, **more) as reply:
                return reply.status, await reply.json() if reply.status != 204 else None

        yield send


ALLOWED = {
    "content of the greatest length": {"content": "x" * 2000},
    "the greatest number of buttons": {"components": [row(*(button(str(n)) for n in range(5)))]},
    "texts up to the limit": {"flags": V2, "components": [text("x" * 3999), text("x")]},
    "forty components": {"flags": V2, "components": [text()] * 40},
    "a section in a container": {
        "flags": V2,
        "components": [container({"type": SECTION, "components": [text()], "accessory": button()})],
    },
    "a separator": {"flags": V2, "components": [text(), {"type": SEPARATOR, "divider": True}]},
    "a link": {"components": [row({"type": 2, "style": 5, "url": "https://a.test", "label": "A"})]},
    "the greatest nonce": {"content": "x", "nonce": "n" * 25},
}
REFUSED = {
    "content that is too long": ({"content": "x" * 2001}, "content"),
    "a nonce that is too long": ({"content": "x", "nonce": "n" * 26}, "nonce"),
    "content beside Components V2": ({"content": "x", "flags": V2, "components": [text()]}, "content"),
    "an embed beside Components V2": (
        {"embeds": [{"title": "x"}], "flags": V2, "components": [text()]}, "embeds"
    ),
    "a text without the flag for it": ({"components": [text()]}, "components.0.type"),
    "too many components": ({"flags": V2, "components": [container(*[text()] * 40)]}, "components"),
    "too much text in all": ({"flags": V2, "components": [text("x" * 4000), text("x")]}, "components"),
    "an empty text": ({"flags": V2, "components": [text("")]}, "components.0.content"),
    "a button outside of a row": ({"flags": V2, "components": [button()]}, "components.0.type"),
    "a container in a container": (
        {"flags": V2, "components": [container(container(text()))]}, "components.0.components.0.type"
    ),
    "a section without its accessory": (
        {"flags": V2, "components": [{"type": SECTION, "components": [text()]}]}, "components.0.accessory"
    ),
    "six rows": ({"components": [row(button(str(n))) for n in range(6)]}, "components"),
    "six buttons in a row": (
        {"components": [row(*(button(str(n)) for n in range(6)))]}, "components.0.components"
    ),
    "an empty row": ({"components": [row()]}, "components.0.components"),
    "a label that is too long": (
        {"components": [row(button(label="x" * 81))]}, "components.0.components.0.label"
    ),
    "a button without a label": (
        {"components": [row(button(label=""))]}, "components.0.components.0.label"
    ),
    "a custom id that is too long": (
        {"components": [row(button("x" * 101))]}, "components.0.components.0.custom_id"
    ),
    "the same custom id twice": ({"components": [row(button(), button())]}, "components"),
    "a select without options": (
        {"components": [row(select([]))]}, "components.0.components.0.options"
    ),
    "too many options": (
        {"components": [row(select([{"label": str(n), "value": str(n)} for n in range(26)]))]},
        "components.0.components.0.options",
    ),
    "a description that is too long": (
        {"embeds": [{"description": "x" * 4097}]}, "embeds.0.description"
    ),
    "embeds that are too long together": ({"embeds": [{"description": "x" * 3001}] * 2}, "embeds"),
    "a field without a value": ({"embeds": [{"fields": [{"name": "x"}]}]}, "embeds.0.fields.0.value"),
    "a reply to nothing": (
        {"content": "x", "message_reference": {"message_id": "1"}}, "message_reference"
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", ALLOWED.values(), ids=ALLOWED)
async def test_what_is_within_the_limits_is_posted(fake, call, general, body):
    status, _ = await call("POST", f"/channels/{general.id}/messages", body)

    assert status == 200
    assert fake.violations == []


@pytest.mark.parametrize(("body", "place"), REFUSED.values(), ids=REFUSED)
async def test_what_is_beyond_a_limit_is_refused_and_the_place_is_told(fake, call, general, body, place):
    status, answer = await call("POST", f"/channels/{general.id}/messages", body)
    errors = answer["errors"]
    for part in place.split("."):
        errors = errors[part]

    assert (status, answer["code"], answer["message"]) == (400, 50035, "Invalid Form Body")
    assert errors["_errors"][0]["message"]
    assert fake.messages(general) == []


async def test_an_empty_message_is_refused(fake, call, general):
    status, answer = await call("POST", f"/channels/{general.id}/messages", {"content": "  "})

    assert (status, answer["code"]) == (400, 50006)


@pytest.mark.parametrize("name", ["", "x" * 101])
async def test_a_threads_name_has_a_length(fake, call, general, name):
    status, answer = await call("POST", f"/channels/{general.id}/threads", {"name": name, "type": 11})

    assert (status, answer["code"]) == (400, 50035)
    assert fake.threads(general) == []


async def test_an_edit_keeps_the_rules_of_the_message(fake, call, general):
    _, plain = await call("POST", f"/channels/{general.id}/messages", {"content": "x"})
    _, rich = await call(
        "POST", f"/channels/{general.id}/messages", {"flags": V2, "components": [text("one")]}
    )

    path = f"/channels/{general.id}/messages/"
    kept_content, _ = await call("PATCH", path + plain["id"], {"flags": V2, "components": [text()]})
    converted, _ = await call(
        "PATCH", path + plain["id"], {"flags": V2, "content": None, "components": [text("two")]}
    )
    content, _ = await call("PATCH", path + rich["id"], {"content": "x"})

    assert (kept_content, converted, content) == (400, 200, 400)
    assert [one.visible for one in fake.messages(general)] == ["two", "one"]


async def test_flags_of_an_edit_replace_the_suppression_of_embeds(fake, call, general):
    _, posted = await call("POST", f"/channels/{general.id}/messages", {"content": "x", "flags": 4})
    (seen,) = fake.messages(general)
    path = f"/channels/{general.id}/messages/{posted['id']}"

    await call("PATCH", path, {"content": "y"})
    kept = seen.suppresses_embeds
    await call("PATCH", path, {"content": "z", "flags": 0})

    assert (kept, seen.suppresses_embeds) == (True, False)


async def test_only_the_author_edits_and_only_who_may_deletes(fake, call, ann, general):
    said = await fake.post(ann, general, "mine")
    path = f"/channels/{general.id}/messages/{said.id}"

    edited, why = await call("PATCH", path, {"content": "yours"})
    deleted, _ = await call("DELETE", path)
    fake.allow(general, "manage_messages")
    allowed, _ = await call("DELETE", path)

    assert (edited, why["code"]) == (403, 50005)
    assert (deleted, allowed) == (403, 204)
    assert said.is_deleted


RIGHTS = {
    "send_messages": lambda context: context.send("x"),
    "embed_links": lambda context: context.send(embed=discord.Embed(title="x")),
    "attach_files": lambda context: context.send(file=discord.File(__file__)),
    "create_public_threads": lambda context: context.create_thread(
        name="x", type=discord.ChannelType.public_thread
    ),
}


@pytest.mark.parametrize("right", RIGHTS)
async def test_a_missing_right_is_refused(fake, bot, general, right):
    context = bot.get_channel(general.id)
    await RIGHTS[right](context)

    fake.deny(general, right)
    with pytest.raises(discord.Forbidden) as in_channel:
        await RIGHTS[right](context)
    fake.allow(general, right)
    await RIGHTS[right](context)
    fake.deny_everywhere(right)
    fake.allow(general, "view_channel")

    assert in_channel.value.code == 50013


async def test_what_is_taken_away_everywhere_is_gone_in_every_channel(fake, bot, general):
    fake.deny_everywhere("send_messages")
    with pytest.raises(discord.Forbidden):
        await bot.get_channel(general.id).send("x")

    fake.allow_everywhere("send_messages")
    await bot.get_channel(general.id).send("y")

    assert [one.visible for one in fake.said(general)] == ["y"]


async def test_a_thread_needs_a_right_of_its_own(fake, bot, ann, general):
    asked = await fake.post(ann, general, "x")
    fake.open_thread(general, "x", ann, starter=asked)
    await fake.until(lambda: bot.get_channel(general.id).get_thread(asked.id))
    fake.deny(general, "send_messages_in_threads")

    await bot.get_channel(general.id).send("beside it")
    with pytest.raises(discord.Forbidden):
        await bot.get_channel(general.id).get_thread(asked.id).send("in it")

    assert [one.visible for one in fake.replies(asked)] == ["beside it"]


async def test_a_channel_out_of_sight_is_out_of_reach(fake, bot, ann):
    hidden = fake.add_channel("hidden", only_for=[ann])
    await fake.until(lambda: bot.get_channel(hidden.id))

    with pytest.raises(discord.Forbidden) as refused:
        await bot.get_channel(hidden.id).send("x")
    with pytest.raises(discord.NotFound) as unknown:
        await bot.fetch_channel(1)

    assert (refused.value.code, unknown.value.code) == (50001, 10003)


async def test_without_the_right_to_history_there_is_none(fake, bot, ann, general):
    said = await fake.post(ann, general, "x")
    fake.deny(general, "read_message_history")
    context = bot.get_channel(general.id)

    found = [one async for one in context.history()]
    with pytest.raises(discord.Forbidden):
        await context.fetch_message(said.id)
    with pytest.raises(discord.HTTPException) as reply:
        await context.send("x", reference=discord.MessageReference(message_id=said.id, channel_id=general.id))

    assert found == []
    assert reply.value.code == 160002


async def test_people_are_held_to_their_rights_too(fake, ann, general):
    fake.deny(general, "send_messages", who=ann)
    secret = fake.add_channel("secret", only_for=[])

    with pytest.raises(AssertionError, match="ann may not write in general"):
        await fake.post(ann, general, "x")
    with pytest.raises(AssertionError, match="ann does not see secret"):
        await fake.post(ann, secret, "x")


async def test_somebody_who_takes_no_messages_gets_none(fake, bot, ann):
    fake.refuses_dms.add(ann.id)

    with pytest.raises(discord.Forbidden) as refused:
        await (await bot.fetch_user(ann.id)).send("x")

    assert refused.value.code == 50007


#: a request -> what the document says of it
UNKNOWN = {
    ("POST", "messages", '{"content": 1}'): "1 is not of type 'string', 'null'",
    (
        "POST",
        "messages",
        '{"content": "x", "allowed_mentions": {"parse": ["all"]}}',
    ): "body: $.allowed_mentions",
    ("GET", "messages?limit=101", "null"): "101 is greater than the maximum of 100",
    ("GET", "messages?newest=1", "null"): "no such parameter: newest",
    ("POST", "threads", "{}"): "body: ",
    ("POST", "pings", "{}"): "no such path and method",
}


@needs_document
@pytest.mark.parametrize("request_sent", UNKNOWN)
async def test_a_request_that_the_document_does_not_allow_is_noted(fake, call, general, request_sent):
    method, path, body = request_sent

    await call(method, f"/channels/{general.id}/{path}", json.loads(body))

    assert len(fake.violations) == 1
    assert fake.violations[0].startswith(f"{method} ")
    assert UNKNOWN[request_sent] in fake.violations[0]


async def test_a_body_that_is_no_json_is_refused(fake, general):
    headers = {"Authorization": f"Bot {fake.token}", "Content-Type": "application/json"}
    url = f"{fake.api_url}/channels/{general.id}/messages"
    async with aiohttp.ClientSession() as session, session.post(url, data=b"{", headers=headers) as reply:
        answer = await reply.json()

    assert (reply.status, answer["code"]) == (400, 50109)


async def test_the_wrong_token_is_refused(fake, general):
    async with aiohttp.ClientSession() as session, session.get(f"{fake.api_url}/users/@me") as reply:
        assert reply.status == 401
