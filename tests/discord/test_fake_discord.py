"""The local Discord, driven by the real discord.py: messages, threads, files and what people see of them."""

from __future__ import annotations

import os
import subprocess
import sys

import aiohttp
import discord
import pytest
from fakes.discord import FakeDiscord, Link, in_thread
from fakes.discord.client import client, connected

MUTE = discord.AllowedMentions.none()


@pytest.fixture
def context(bot, general):
    """The channel as discord.py has it."""
    return bot.get_channel(general.id)


def heard_by(bot):
    """Messages of others, as they come."""
    heard = []

    @bot.event
    async def on_message(message):
        if message.author != bot.user:
            heard.append(message)

    return heard


async def test_discord_py_computes_the_same_permissions(fake, bot, ann, general):
    editors = fake.add_role("editors", "manage_messages", "manage_threads")
    bob = fake.add_user("bob", roles=[editors])
    fake.deny(general, "attach_files", "send_messages")
    fake.allow(general, "add_reactions", who=editors)
    hidden = fake.add_channel("hidden", only_for=[ann])
    await fake.until(lambda: bot.get_channel(hidden.id))

    mine = bot.get_channel(general.id).permissions_for(bot.get_guild(fake.guild.id).me)
    asked = await fake.mention(bob, general, "who am I?")
    seen = await bot.get_channel(general.id).fetch_message(asked.id)
    member = await seen.guild.fetch_member(bob.id)

    assert not mine.send_messages
    assert not mine.attach_files
    assert mine.view_channel
    assert bot.get_channel(general.id).permissions_for(member).manage_messages
    assert not bot.get_channel(hidden.id).permissions_for(seen.guild.me).view_channel


async def test_a_reply_pings_the_one_it_answers_unless_it_says_not_to(fake, bot, ann, general):
    heard = heard_by(bot)
    asked = await fake.mention(ann, general, "one?")
    await fake.until(lambda: heard)

    await heard[0].reply("loud")
    await heard[0].reply("quiet", allowed_mentions=MUTE)
    loud, quiet = fake.replies(asked)
    answered = await fake.reply(ann, loud, "thanks")
    await fake.until(lambda: len(heard) == 2)

    assert loud.referenced is asked
    assert loud.pings.users == {ann.id}
    assert not quiet.pings
    assert heard[1].reference.resolved.content == "loud"
    assert heard[1].mentions == [bot.user]
    assert answered.referenced is loud


async def test_the_same_nonce_is_one_message_until_the_window_is_over(fake, bot, context, general):
    first = await context.send("one", nonce="turn-1")
    second = await context.send("one", nonce="turn-1")
    await fake.advance(fake.nonce_window + 1)
    third = await context.send("one", nonce="turn-1")

    assert first.id == second.id != third.id
    assert len(fake.messages(general)) == 2
    assert [one.id for one in fake.deduplicated] == [first.id]


async def test_history_is_read_in_pages_either_way(fake, bot, ann, context, general):
    said = [await fake.post(ann, general, str(number)) for number in range(120)]

    newest = [one.content async for one in context.history(limit=3)]
    later = [one.content async for one in context.history(after=discord.Object(said[9].id), limit=None)]
    around = [one.content async for one in context.history(around=discord.Object(said[50].id), limit=5)]

    assert newest == ["119", "118", "117"]
    assert later == [str(number) for number in range(10, 120)]
    assert sorted(around, key=int) == ["48", "49", "50", "51", "52"]
    assert fake.violations == []


async def test_files_go_up_and_come_down(fake, bot, ann, context, general):
    heard = heard_by(bot)
    await fake.mention(ann, general, "read this", files=[("notes.txt", b"a note"), ("map.png", b"png")])
    await fake.until(lambda: heard)

    content = await heard[0].attachments[0].read()
    picture = discord.File(__file__, filename="answer.png", description="a picture")
    posted = await context.send("see", file=picture)
    (answer,) = fake.said(general)

    assert content == b"a note"
    assert heard[0].attachments[1].content_type == "image/png"
    assert [one.filename for one in fake.downloads] == ["notes.txt"]
    assert answer.attachments[0].description == "a picture"
    assert answer.images == [posted.attachments[0].url.partition("?")[0]]
    assert fake.violations == []


async def test_a_thread_begins_once_at_a_message_and_opens_again_when_somebody_writes(
    fake, bot, ann, context, general
):
    asked = await fake.mention(ann, general, "a thread?")
    message = await context.fetch_message(asked.id)
    thread = await message.create_thread(name="first")

    with pytest.raises(discord.HTTPException) as twice:
        await message.create_thread(name="second")
    fake.archive(asked.thread)
    await fake.until(lambda: bot.get_guild(fake.guild.id).get_thread(thread.id) is None)
    with pytest.raises(discord.HTTPException) as archived:
        await thread.add_user(discord.Object(ann.id))
    await thread.send("open again")

    assert twice.value.code == 160004
    assert archived.value.code == 50083
    assert not asked.thread.is_archived
    assert [one.name for one in fake.threads(general)] == ["first"]
    assert (await context.fetch_message(asked.id)).thread.id == asked.id
    assert [one.id for one in await bot.get_guild(fake.guild.id).active_threads()] == [asked.id]


async def test_posts_of_a_forum_begin_with_a_message_that_has_the_threads_id(fake, bot, ann):
    heard = heard_by(bot)
    forum = fake.add_channel("help", kind="forum")

    asked = await fake.post_in_forum(ann, forum, "Help?", f"{fake.bot.mention} what now?")
    await fake.until(lambda: heard)
    await heard[0].channel.send("this")
    made = await bot.get_channel(forum.id).create_thread(name="News", content="It is new.")

    assert heard[0].id == heard[0].channel.id
    assert isinstance(heard[0].channel.parent, discord.ForumChannel)
    assert [one.visible for one in fake.replies(asked)] == ["this"]
    assert made.thread.id == made.message.id
    assert fake.violations == []


async def test_what_a_reader_sees_is_plain_text_links_pictures_and_pings(fake, bot, ann, context, general):
    embed = discord.Embed(title="Title", description="`code` and ||hidden||", url="https://e.test")
    embed.add_field(name="Field", value="> quoted")
    embed.set_image(url="https://e.test/i.png")
    text = (
        f"# Head\n**bold** \\*kept\\* {ann.mention} {general.mention} `{ann.mention}` [[1]](<https://a.test/1>)"
        " see https://b.test/x_y. @everyone"
    )

    await context.send(text, embed=embed, suppress_embeds=True)
    (seen,) = fake.said(general)

    assert seen.visible == (
        f"Head\nbold *kept* @ann #general {ann.mention} [1] see https://b.test/x_y. @everyone\n"
        "Title\ncode and hidden\nField\nquoted"
    )
    assert seen.links == [
        Link(url="https://a.test/1", label="[1]", is_masked=True, is_quiet=True),
        Link(url="https://b.test/x_y", label="https://b.test/x_y", is_masked=False, is_quiet=False),
        Link(url="https://e.test", label="Title", is_masked=True, is_quiet=True),
    ]
    assert seen.images == ["https://e.test/i.png"]
    assert seen.suppresses_embeds
    assert (seen.pings.users, seen.pings.everyone) == ({ann.id}, True)
    assert fake.pinging() == [seen]


async def test_an_edit_without_allowed_mentions_pings_by_default(fake, bot, ann, context, general):
    role = fake.add_role("editors")
    posted = await context.send(f"{ann.mention} {role.mention}", allowed_mentions=MUTE)
    (seen,) = fake.said(general)
    before = seen.pings

    await posted.edit(content=f"{role.mention}", allowed_mentions=MUTE)
    muted = seen.pings
    await posted.edit(content=f"{role.mention} again")

    assert not before
    assert not muted
    assert seen.pings.roles == {role.id}
    assert seen.mentions == []


async def test_components_v2_are_read_and_pressed_like_anything_else(fake, bot, ann, context, general):
    view = discord.ui.LayoutView(timeout=None)
    box = discord.ui.Container(discord.ui.TextDisplay("# Answer\nIt is **so** [1](https://a.test)"))
    link = discord.ui.Button(label="Open", url="https://b.test")
    box.add_item(discord.ui.Section("A source", accessory=link))
    box.add_item(discord.ui.MediaGallery(discord.MediaGalleryItem("https://c.test/p.png")))
    view.add_item(box)

    await context.send(view=view)
    (seen,) = fake.said(general)

    assert seen.visible == "Answer\nIt is so 1\nA source"
    assert [one.url for one in seen.links] == ["https://a.test", "https://b.test"]
    assert seen.images == ["https://c.test/p.png"]
    assert seen.is_v2
    with pytest.raises(AssertionError, match="is a link"):
        await fake.press(seen, "Open", ann)
    assert fake.violations == []


async def test_people_edit_and_delete_and_the_bot_hears_of_it(fake, bot, ann, general):
    edited, deleted = [], []

    @bot.event
    async def on_raw_message_edit(event):
        edited.append(event.message.content)

    @bot.event
    async def on_raw_message_delete(event):
        deleted.append(event.message_id)

    said = await fake.post(ann, general, "one")
    await fake.edit(said, "two")
    await fake.erase(said)
    await fake.until(lambda: deleted)

    assert edited == ["two"]
    assert deleted == [said.id]
    assert fake.messages(general) == []


async def test_a_preview_of_a_link_comes_as_an_update_that_is_no_edit(fake, bot, ann, general):
    updates = []

    @bot.event
    async def on_raw_message_edit(event):
        updates.append(event.message)

    said = await fake.post(ann, general, "see https://a.test")
    await fake.unfurl(said)
    await fake.until(lambda: updates)

    assert updates[0].embeds[0].url == "https://a.test"
    assert updates[0].edited_at is None


async def test_servers_and_people_come_and_go(fake, bot, ann):
    other = fake.add_guild("globex")
    await fake.until(lambda: bot.get_guild(other.id))

    await fake.leave(other)
    await fake.until(lambda: bot.get_guild(other.id) is None)
    with pytest.raises(discord.Forbidden) as refused:
        await bot.fetch_guild(other.id)
    await fake.invite(other)
    await fake.until(lambda: bot.get_guild(other.id))

    assert refused.value.code == 50001


def test_another_process_can_talk_to_it():
    code = """
import os, discord, yarl
from discord.gateway import DiscordWebSocket
discord.http.Route.BASE = os.environ["DISCORD_API_URL"]
class Bot(discord.Client):
    async def setup_hook(self):
        found = await self.http.request(discord.http.Route("GET", "/gateway"))
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(found["url"])
    async def on_message(self, message):
        if message.author != self.user:
            await message.channel.send("heard " + message.content.partition(" ")[2])
            await self.close()
Bot(intents=discord.Intents.default()).run(os.environ["DISCORD_TOKEN"], log_handler=None)
"""
    with in_thread(FakeDiscord()) as fake:
        ann, general = fake.add_user("ann"), fake.add_channel("general")
        environment = os.environ | fake.environment
        with subprocess.Popen([sys.executable, "-c", code], env=environment) as process:
            fake.run(fake.until_connected())
            fake.run(fake.mention(ann, general, "this"))
            status = process.wait(20)

        assert status == 0
        assert [one.visible for one in fake.said(general)] == ["heard this"]
        assert fake.violations == []


async def test_a_client_without_the_message_content_intent_reads_only_what_is_meant_for_it(
    fake, ann, general
):
    without = client(intents=discord.Intents.default())
    async with connected(fake, without):
        heard = heard_by(without)

        await fake.post(ann, general, "not for you")
        await fake.mention(ann, general, "for you")
        await fake.dm(ann, "for you alone")
        await fake.until(lambda: len(heard) == 3)

    assert [one.content for one in heard] == ["", f"{fake.bot.mention} for you", "for you alone"]


async def test_where_it_points_discord_py_is_undone_afterwards(fake, general):
    before = discord.http.Route.BASE

    async with connected(fake, client()):
        during = discord.http.Route.BASE

    assert (before, during) == (discord.http.Route.BASE, fake.api_url)


async def test_files_that_there_are_not_are_not_found(fake):
    async with aiohttp.ClientSession() as session, session.get(f"{fake.url}/attachments/1/2/x.txt") as reply:
        assert reply.status == 404
