"""The local Discord, driven by the real discord.py: buttons, forms, commands."""

from __future__ import annotations

import aiohttp
import discord
import pytest
from discord import app_commands
from fakes.discord.interactions import TOKEN_LIFETIME


def button(label="Search", custom_id="search:1", **more):
    return discord.ui.Button(label=label, custom_id=custom_id, **more)


def view_of(*items):
    view = discord.ui.View(timeout=None)
    for item in items:
        view.add_item(item)
    return view


def on_interaction(bot, act):
    @bot.event
    async def on_interaction(interaction):
        await act(interaction)


@pytest.fixture
async def asked(fake, bot, general):
    """A message of the bot with a button that can be pressed and one that cannot."""
    await bot.get_channel(general.id).send(
        "Search the web?", view=view_of(button(), button("Old", "old:1", disabled=True))
    )
    return fake.said(general)[-1]


async def test_a_press_is_acknowledged_and_the_message_edited(fake, bot, ann, asked):
    async def act(interaction):
        assert interaction.data["custom_id"] == "search:1"
        assert interaction.user.id == ann.id
        assert interaction.permissions.send_messages
        await interaction.response.defer()
        await interaction.edit_original_response(content="Searching…", view=None)

    on_interaction(bot, act)
    outcome = await fake.press(asked, "Search", ann)
    await fake.until(lambda: asked.visible == "Searching…")

    assert outcome.kind == "deferred"
    assert fake.buttons(asked) == []
    assert fake.violations == fake.rejected == []


async def test_a_press_updates_its_message_at_once(fake, bot, ann, asked):
    async def act(interaction):
        await interaction.response.edit_message(content="Done", view=None)

    on_interaction(bot, act)
    outcome = await fake.press(asked, "search:1", ann)

    assert (outcome.kind, asked.visible) == ("update", "Done")


async def test_an_ephemeral_answer_is_seen_by_one_person_and_no_event_tells_of_it(
    fake, bot, ann, asked, general
):
    async def act(interaction):
        answered = await interaction.response.send_message("Only the asker may.", ephemeral=True)
        await interaction.followup.send("Truly.", ephemeral=True)
        assert answered.resource.content == "Only the asker may."

    on_interaction(bot, act)
    bob = fake.add_user("bob")
    before = len(fake.events_of("MESSAGE_CREATE"))
    outcome = await fake.press(asked, "Search", bob)
    await fake.until(lambda: len(fake.ephemerals(bob)) == 2)

    assert outcome.is_ephemeral
    assert outcome.text == "Only the asker may.\nTruly."
    assert fake.ephemerals(ann) == []
    assert fake.messages(general) == [asked]
    assert len(fake.events_of("MESSAGE_CREATE")) == before


async def test_only_what_is_there_and_enabled_can_be_pressed(fake, ann, asked):
    with pytest.raises(AssertionError, match="no button Nope, only"):
        await fake.press(asked, "Nope", ann)
    with pytest.raises(AssertionError, match="disabled"):
        await fake.press(asked, "Old", ann)


async def test_a_stale_client_presses_what_it_still_sees(fake, bot, ann, asked):
    pressed = []

    async def act(interaction):
        pressed.append(interaction.data["custom_id"])
        await interaction.response.defer()

    on_interaction(bot, act)
    seen = asked.revisions[0]
    await bot.get_channel(asked.channel.id).get_partial_message(asked.id).edit(view=None)

    with pytest.raises(AssertionError):
        await fake.press(asked, "Search", ann)
    await fake.press(asked, "Search", ann, as_seen=seen)

    assert pressed == ["search:1"]


async def test_a_press_that_nobody_responds_to_has_failed_and_a_late_response_is_refused(
    fake, bot, ann, asked
):
    kept = []

    async def act(interaction):
        kept.append(interaction)

    on_interaction(bot, act)
    fake.respond_within = 0.05
    outcome = await fake.press(asked, "Search", ann)
    await fake.until(lambda: kept)
    with pytest.raises(discord.NotFound) as late:
        await kept[0].response.defer()

    assert outcome.kind == "failed"
    assert fake.failed == [outcome]
    assert late.value.code == 10062


async def test_a_second_response_is_refused(fake, bot, ann, asked):
    refused = []

    async def act(interaction):
        await interaction.response.defer()
        again = discord.Interaction(data=fake.interactions()[0].as_json(fake.bot), state=interaction._state)
        try:
            await again.response.defer()
        except discord.HTTPException as error:
            refused.append(error.code)

    on_interaction(bot, act)
    await fake.press(asked, "Search", ann)
    await fake.until(lambda: refused)

    assert refused == [40060]


async def test_thinking_becomes_the_first_follow_up(fake, bot, ann, asked, general):
    kept = []

    async def act(interaction):
        await interaction.response.defer(thinking=True)
        kept.append(interaction)

    on_interaction(bot, act)
    outcome = await fake.press(asked, "Search", ann)
    thinking = outcome.text
    await fake.until(lambda: kept)
    await kept[0].followup.send("Found")
    await kept[0].followup.send("More")

    assert (outcome.kind, thinking) == ("thinking", "")
    assert outcome.original.visible == "Found"
    assert outcome.original.referenced is asked
    assert [one.visible for one in fake.messages(general)] == ["Search the web?", "Found", "More"]


async def test_a_token_dies_after_a_quarter_of_an_hour(fake, bot, ann, asked):
    kept = []

    async def act(interaction):
        await interaction.response.defer()
        kept.append(interaction)

    on_interaction(bot, act)
    await fake.press(asked, "Search", ann)
    await fake.until(lambda: kept)
    await fake.advance(TOKEN_LIFETIME + 1)
    with pytest.raises(discord.HTTPException) as dead:
        await kept[0].edit_original_response(content="late")

    assert (dead.value.status, dead.value.code) == (401, 50027)


@pytest.mark.parametrize("is_labelled", [True, False])
async def test_a_form_opens_and_brings_back_what_was_typed(fake, bot, ann, asked, is_labelled):
    got = []

    class Ask(discord.ui.Modal, title="Another question"):
        field = discord.ui.TextInput(custom_id="words", label=None if is_labelled else "Words", max_length=20)

        async def on_submit(self, interaction):
            got.append(self.words.value)
            await interaction.response.send_message("Thank you", ephemeral=True)

    def form():
        modal = Ask()
        modal.words = modal.field
        if is_labelled:
            modal.clear_items()
            modal.words = discord.ui.TextInput(custom_id="words", max_length=20)
            modal.add_item(discord.ui.Label(text="Words", component=modal.words))
        return modal

    async def act(interaction):
        if interaction.type is discord.InteractionType.component:
            await interaction.response.send_modal(form())

    on_interaction(bot, act)
    opened = await fake.press(asked, "Search", ann)
    with pytest.raises(AssertionError, match="too long"):
        await fake.submit(opened.modal, {"words": "x" * 21})
    with pytest.raises(AssertionError, match="required"):
        await fake.submit(opened.modal, {})
    outcome = await fake.submit(opened.modal, {"words": "what else?"})

    assert (opened.kind, opened.modal.title) == ("modal", "Another question")
    assert got == ["what else?"]
    assert outcome.text == "Thank you"
    assert not opened.modal.is_open
    assert fake.violations == fake.rejected == []


@pytest.fixture
async def tree(fake, bot):
    """Commands as a bot registers them."""
    tree = app_commands.CommandTree(bot)

    @tree.command(description="Asks the documents")
    async def ask(interaction, question: str, file: discord.Attachment | None = None):
        text = (await file.read()).decode() if file else "no file"
        await interaction.response.send_message(f"{question}: {text}")

    library = app_commands.Group(
        name="library", description="Documents", default_permissions=discord.Permissions(manage_guild=True)
    )

    @library.command(description="Adds one")
    async def add(interaction, who: discord.Member, pages: app_commands.Range[int, 1, 9]):
        await interaction.response.send_message(f"{who.name} {pages}", ephemeral=True)

    @tree.context_menu(name="Ask about this")
    async def about(interaction, message: discord.Message):
        await interaction.response.send_message(f"about {message.content}", ephemeral=True)

    tree.add_command(library)
    await tree.sync()
    return tree


async def test_a_slash_command_brings_its_options(fake, tree, ann, general):
    outcome = await fake.slash(ann, general, "ask", question="why?", file=("n.txt", b"a note"))
    plain = await fake.slash(ann, general, "ask", question="how?")

    assert outcome.text == "why?: a note"
    assert plain.text == "how?: no file"
    assert [one.visible for one in fake.messages(general)] == ["why?: a note", "how?: no file"]
    assert fake.violations == fake.rejected == []


async def test_a_command_is_offered_to_those_only_who_may(fake, tree, ann, general):
    boss = fake.add_user("boss", roles=[fake.add_role("bosses", "manage_guild")])

    outcome = await fake.slash(boss, general, "library add", who=ann, pages=3)

    assert outcome.text == "ann 3"
    with pytest.raises(AssertionError, match="ann may not use library"):
        await fake.slash(ann, general, "library add", who=ann, pages=3)
    with pytest.raises(AssertionError, match="question is required"):
        await fake.slash(ann, general, "ask")
    with pytest.raises(AssertionError, match="there is no command nope"):
        await fake.slash(ann, general, "nope")


async def test_a_messages_menu_brings_the_message_with_its_content(fake, tree, ann, general):
    said = await fake.post(ann, general, "a claim")

    outcome = await fake.context_menu(ann, said, "Ask about this")

    assert outcome.text == "about a claim"


async def test_commands_work_in_direct_messages(fake, tree, ann):
    outcome = await fake.slash(ann, fake.dm_of(ann), "ask", question="why?")

    assert outcome.text == "why?: no file"


async def test_a_select_is_chosen_from(fake, bot, ann, general):
    chosen = []

    async def act(interaction):
        chosen.extend(interaction.data["values"])
        await interaction.response.defer()

    on_interaction(bot, act)
    options = [discord.SelectOption(label=name, value=name) for name in "ab"]
    await bot.get_channel(general.id).send(
        "?", view=view_of(discord.ui.Select(custom_id="pick", options=options))
    )

    await fake.choose(fake.said(general)[0], "pick", ["b"], ann)

    assert chosen == ["b"]
    with pytest.raises(AssertionError, match="offers only"):
        await fake.choose(fake.said(general)[0], "pick", ["c"], ann)


FORMS = {
    "title": ({"title": "x" * 46}, "title"),
    "label": ({"label": "x" * 46}, "components.0.label"),
    "value": ({"value": "x" * 4001}, "components.0.component.value"),
    "custom id": ({"custom_id": "x" * 101}, "custom_id"),
}


@pytest.mark.parametrize("part", FORMS)
async def test_a_form_beyond_a_limit_is_refused(fake, bot, ann, asked, part):
    more, place = FORMS[part]
    field = {"type": 4, "custom_id": "a", "style": 1} | {key: more[key] for key in more if key == "value"}
    label = {"type": 18, "label": more.get("label", "A"), "component": field}
    data = {"title": "T", "custom_id": "f", "components": [label]}
    data |= {key: more[key] for key in more if key in data}
    answers = []

    async def act(interaction):
        path = f"{fake.api_url}/interactions/{interaction.id}/{interaction.token}/callback"
        async with (
            aiohttp.ClientSession() as session,
            session.post(path, json={"type": 9, "data": data}) as reply,
        ):
            answers.append(await reply.json())
        await interaction.response.defer()

    on_interaction(bot, act)
    await fake.press(asked, "Search", ann)

    errors = answers[0]["errors"]["data"]
    for step in place.split("."):
        errors = errors[step]
    assert answers[0]["code"] == 50035
    assert errors["_errors"]


async def test_commands_of_one_server_are_offered_there_only(fake, bot, ann, general):
    tree = app_commands.CommandTree(bot)
    here = discord.Object(fake.guild.id)

    @tree.command(description="Says where", guild=here)
    async def where(interaction):
        await interaction.response.send_message("here")

    await tree.sync(guild=here)
    known = await tree.fetch_commands(guild=here)
    outcome = await fake.slash(ann, general, "where")

    assert [one.name for one in known] == ["where"]
    assert outcome.text == "here"
    with pytest.raises(AssertionError, match="no command where"):
        await fake.slash(ann, fake.dm_of(ann), "where")
    assert fake.violations == []


async def test_the_same_interaction_can_come_twice(fake, bot, ann, asked):
    seen = []

    async def act(interaction):
        seen.append(interaction.id)
        if len(seen) == 1:
            await interaction.response.defer()

    on_interaction(bot, act)
    outcome = await fake.press(asked, "Search", ann)
    await fake.duplicate(outcome)
    await fake.until(lambda: len(seen) == 2)

    assert seen == [outcome.id, outcome.id]


async def test_a_press_that_nobody_waits_for_fails_too(fake, bot, ann, asked):
    fake.respond_within = 0.05

    outcome = await fake.press(asked, "Search", ann, wait=False)
    at_first = outcome.kind
    await fake.until(lambda: fake.failed)

    assert (at_first, outcome.kind) == ("pending", "failed")
