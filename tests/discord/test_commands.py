"""What people find under "/" and in a message's menu, used beside the real command."""

from __future__ import annotations

import pytest
from fakes.discord.faults import Refusal
from fakes.discord_server import Server
from fakes.fork_server import DEVNULL, start_python
from fakes.served import CUP, FERRY, FERRY_ANSWER, PONTOON, PONTOON_ANSWER, environment


@pytest.fixture
async def server(template, tmp_path, fake):
    """One whose commands were registered as an operator does it."""
    process = await start_python(
        *("-m", "bots", "manifest", "discord", "--sync"),
        cwd=tmp_path, env=environment(tmp_path) | fake.environment, stdout=DEVNULL,
    )  # fmt: skip
    assert await process.wait() == 0
    async with Server.copied(template, tmp_path, fake) as server:
        yield server


async def shown_question(server, fake, channel, text):
    """The bot's message that shows what was asked by a command, and the answers after it."""
    asked = await fake.until(lambda: [one for one in fake.said(channel) if text in one.visible])
    return asked[-1], await server.until_answered(asked[-1])


async def test_a_question_is_shown_and_a_thread_opened_on_it_that_goes_on(server, fake, ann, bob, general):
    await server.open()

    command = await fake.slash(ann, general, "ask", question=FERRY)
    asked, (answer,) = await shown_question(server, fake, general, "ann asks:")
    follow_up = await fake.post(ann, asked.thread, "And does it take cars?")
    (second,) = await server.until_answered(follow_up)
    again = await fake.slash(bob, general, "ask", question=PONTOON)
    other, (apart,) = await shown_question(server, fake, general, "bob asks:")
    pressed = await fake.press(second, "Helpful", bob)

    assert command.is_ephemeral
    assert again.is_ephemeral
    assert asked.visible == f"ann asks: {FERRY}"
    assert asked.thread.name == FERRY
    assert FERRY_ANSWER in answer.visible
    assert answer.channel is asked.thread
    assert "no cars" in second.visible
    assert second.referenced is follow_up
    assert PONTOON_ANSWER in apart.visible
    assert other.thread is not asked.thread
    assert "Noted" in pressed.text
    assert fake.pinging() == []
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_a_greeting_by_a_command_opens_no_thread(server, fake, ann, general):
    await server.open()

    await fake.slash(ann, general, "ask", question="hello!")
    asked, (greeted,) = await shown_question(server, fake, general, "ann asks:")

    assert greeted.visible.startswith("Hello.")
    assert greeted.referenced is asked
    assert fake.threads(general) == []
    assert (fake.violations, fake.rejected, fake.failed) == ([], [], [])


async def test_a_thread_that_a_command_began_can_be_forgotten(server, fake, ann, general):
    await server.open()
    await fake.slash(ann, general, "ask", question=FERRY)
    asked, _ = await shown_question(server, fake, general, "ann asks:")

    forget = await fake.slash(ann, asked.thread, "forget")
    await fake.until(lambda: forget.messages)
    unheard = await fake.post(ann, asked.thread, PONTOON)
    marker = await fake.mention(ann, asked.thread, PONTOON)
    (answer,) = await server.until_answered(marker)
    assert await server.stop() == 0

    assert forget.is_ephemeral
    assert "I forgot this thread" in forget.text
    assert fake.replies(unheard) == [answer]
    assert PONTOON_ANSWER in answer.visible
    files = [file for file in (server.folder / ".footnote").iterdir() if file.is_file()]
    assert [file.name for file in files if FERRY.encode() in file.read_bytes()] == []
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_in_a_thread_and_in_a_direct_message_every_question_is_shown_and_answered(
    server, fake, ann, bob, general
):
    thread = fake.open_thread(general, "ferry", ann)
    await fake.post(bob, thread, "Does anybody know when the ferry to Sark leaves?")
    await server.open()
    direct = fake.dm_of(ann)

    answers = []
    for where, question in (
        (thread, "Can you answer this?"), (thread, PONTOON), (direct, FERRY), (direct, PONTOON),
    ):  # fmt: skip
        await fake.slash(ann, where, "ask", question=question)
        asked, (answer,) = await shown_question(server, fake, where, question)
        answers.append((asked, answer))

    assert [asked.visible.startswith("ann asks: ") for asked, _ in answers] == [True] * 4
    assert [answer.referenced is asked for asked, answer in answers] == [True] * 4
    expected = [FERRY_ANSWER, PONTOON_ANSWER, FERRY_ANSWER, PONTOON_ANSWER]
    assert [
        words for words, (_, answer) in zip(expected, answers, strict=True) if words in answer.visible
    ] == expected
    assert fake.threads(general) == [thread]
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_where_no_thread_can_be_opened_a_command_is_answered_in_the_channel(
    server, fake, ann, bob, general
):
    fake.deny(general, "create_public_threads")
    await server.open()

    await fake.slash(ann, general, "ask", question=FERRY)
    asked, (answer,) = await shown_question(server, fake, general, FERRY)
    follow_up = await fake.reply(ann, answer, "And does it take cars?", ping=False)
    (second,) = await server.until_answered(follow_up)
    other = await fake.mention(bob, general, PONTOON)
    (apart,) = await server.until_answered(other)

    assert FERRY_ANSWER in answer.visible
    assert answer.referenced is asked
    assert "no cars" in second.visible
    assert second.referenced is asked
    assert apart.referenced is other
    assert (fake.violations, fake.failed, server.faults) == ([], [], [])


async def test_a_message_can_be_asked_about_by_somebody_else(server, fake, ann, bob, general):
    await server.open()
    message = await fake.post(ann, general, f"{bob.mention} {FERRY}")
    picture = await fake.post(ann, general, "", files=[("boat.png", b"png")])

    asked = await fake.context_menu(bob, message, "Ask about this")
    (answer,) = await server.until_answered(message)
    again = await fake.context_menu(ann, message, "Ask about this")
    _, second = await server.until_answered(message, 2)
    wordless = await fake.context_menu(bob, picture, "Ask about this")

    assert asked.is_ephemeral
    assert again.is_ephemeral
    assert FERRY_ANSWER in answer.visible
    assert message.thread.name == f"bob {FERRY}"
    assert answer.channel is message.thread
    assert second.channel is message.thread
    assert "no words in this message" in wordless.text
    assert wordless.is_ephemeral
    assert fake.pinging() == []
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_help_sources_and_follow_are_answered_in_private(server, fake, ann, general):
    await server.open()

    said = [
        await fake.slash(ann, general, "help"),
        await fake.slash(ann, general, "sources"),
        await fake.slash(ann, general, "follow", whom="mention"),
        await fake.slash(ann, general, "follow"),
        await fake.slash(ann, fake.dm_of(ann), "help"),
    ]

    assert [one.is_ephemeral for one in said] == [True] * 5
    assert "1 document" in said[0].text
    assert "handbook.md" in said[1].text
    assert "only when I am mentioned" in said[2].text
    assert said[3].text == said[2].text
    assert "1 document" in said[4].text
    assert fake.said() == []
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_a_message_that_is_asked_about_brings_its_files(server, fake, ann, general):
    await server.open()
    question = "When does the lease of the boathouse end?"
    said = await fake.post(ann, general, question, files=[("lease.md", b"# Lease\n\nIt ends in October.\n")])

    await fake.context_menu(ann, said, "Ask about this")
    (offer,) = await server.until_answered(said)

    assert "I have not read the attached file: lease.md" in offer.visible


async def test_a_file_is_learned_in_private_and_an_address_of_this_machine_is_not(server, fake, ann, general):
    await server.open()

    file = await fake.slash(ann, general, "learn", file=("bees.md", b"# Bees\n\nBees sleep at night.\n"))
    await fake.until(lambda: file.messages)
    page = await fake.slash(ann, general, "learn", url="http://127.0.0.1:1/page")
    await fake.until(lambda: page.messages)
    assert fake.said() == []
    asked = await fake.mention(ann, general, "When do bees sleep?")
    (answer,) = await server.until_answered(asked)
    forget = await fake.slash(ann, answer.channel, "forget")
    await fake.until(lambda: forget.messages)

    assert all(one.is_ephemeral for one in (file, page, forget))
    assert "1 document added" in file.text
    assert "127.0.0.1" in page.text
    assert "at night" in answer.visible
    assert "I forgot this thread" in forget.text
    assert fake.replies(asked) == [answer]
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_whoever_names_nothing_to_learn_gets_a_form_that_takes_files_and_an_address(
    server, fake, ann, general
):
    await server.open()

    asked = await fake.slash(ann, general, "learn")
    title, labels = asked.modal.payload["title"], asked.modal.payload["components"]
    uploads = [
        ("bees.md", b"# Bees\n\nBees sleep at night.\n"),
        ("ants.md", b"# Ants\n\nAnts sleep at noon.\n"),
    ]
    learned = await fake.submit(asked.modal, {}, files={"files": uploads})
    await fake.until(lambda: learned.messages)
    again = await fake.slash(ann, general, "learn")
    page = await fake.submit(again.modal, {"url": " http://127.0.0.1:1/page "})
    await fake.until(lambda: page.messages)
    once_more = await fake.slash(ann, general, "learn")
    nothing = await fake.submit(once_more.modal, {})
    await fake.until(lambda: nothing.messages)
    question = await fake.mention(ann, general, "When do ants sleep?")
    (answer,) = await server.until_answered(question)

    assert title == "Teach this channel"
    assert [(one["type"], one["label"], one["component"]["type"]) for one in labels] == [
        (18, "Documents", 19), (18, "Or the address of a page", 4)
    ]  # fmt: skip
    assert all(one.is_ephemeral for one in (learned, page, nothing))
    assert "2 documents added" in learned.text
    assert "127.0.0.1" in page.text
    assert "Attach a file" in nothing.text
    assert "at noon" in answer.visible
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_a_form_that_only_learners_may_send_is_refused_in_private(server, fake, ann, general):
    server.settings["LEARNERS"] = "1"
    await server.open()

    asked = await fake.slash(ann, general, "learn")
    sent = await fake.submit(asked.modal, {}, files={"files": [("bees.md", b"# Bees\n")]})
    await fake.until(lambda: sent.messages)

    assert sent.is_ephemeral
    assert (fake.violations, fake.rejected, fake.failed, fake.said()) == ([], [], [], [])


async def test_what_was_learned_is_told_in_a_direct_message_once_the_command_is_too_old(
    server, fake, ann, general
):
    fake.faults.queue(
        "POST /webhooks/{webhook_id}/{webhook_token}", Refusal(401, 50027, "Invalid Webhook Token")
    )
    await server.open()

    await fake.slash(ann, general, "learn", file=("bees.md", b"# Bees\n\nBees sleep at night.\n"))
    (told,) = await fake.until(lambda: fake.said(fake.dm_of(ann)))

    assert "1 document added" in told.visible
    assert fake.said(general) == []
    assert (fake.violations, fake.failed) == ([], [])


async def test_a_question_that_cannot_be_asked_is_refused_in_private(server, fake, ann, general):
    long = await fake.post(ann, general, "why? " * 1_000)
    await server.open()

    empty = await fake.slash(ann, general, "ask", question="   ")
    too_long = await fake.context_menu(ann, long, "Ask about this")

    assert empty.is_ephemeral
    assert "question is empty" in empty.text
    assert too_long.is_ephemeral
    assert "too long" in too_long.text
    assert fake.said() == []
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_serving_registers_nothing(server, fake, ann, general):
    before = fake.count("PUT /applications/{application_id}/commands")
    await server.open()

    asked = await fake.mention(ann, general, FERRY)
    await server.until_answered(asked)

    commands = [call for call in fake.requests if "commands" in call.path]
    assert (before, len(commands)) == (1, 1)


async def test_a_mention_in_an_option_of_a_command_is_a_name_on_the_card(server, fake, ann, bob, general):
    server.settings["WEB_SEARCH"] = "duckduckgo"
    await server.open()

    await fake.slash(
        ann, general, "ask", question=f"{CUP.rstrip('?')}, {bob.mention} and <@12345678901234567>"
    )
    _, (card,) = await shown_question(server, fake, general, CUP.rstrip("?"))

    assert f"{CUP.rstrip('?')}, @bob and @somebody" in card.visible
    assert str(bob.id) not in card.visible
    assert "12345678901234567" not in card.visible
