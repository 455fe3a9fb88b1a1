"""Teaching by answering in Discord: experts are asked, a reply is kept, cited and forgotten."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from fakes.discord_server import Server
from fakes.fork_server import DEVNULL, start_python
from fakes.served import environment

SLIP = "Who may use the slipway in winter?"  # the handbook does not say
KEPT = "SELECT * FROM documents WHERE address LIKE 'answer:%'"
ANSWER = "In winter the slipway may be used by the rescue boat only; ask Marta for the chain's key."


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


@pytest.fixture
def people(ann, bob, general):
    """Who asks, and another; and the channel they are in."""
    return ann, bob, general


@pytest.fixture
def expert(server, fake):
    """Who knows, and the role that is asked."""
    role = fake.add_role("harbour-team", is_mentionable=True)
    server.settings |= {"EXPERTS": str(role.id)}
    return fake.add_user("carl", roles=[role]), role


def rows(server, store, query):
    with closing(sqlite3.connect(server.folder / ".footnote" / f"{store}.sqlite")) as database:
        return database.execute(query).fetchall()


def has_no_fault(server, fake):
    return (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_a_role_is_asked_once_and_the_reply_is_kept_and_cited(server, fake, people, expert):
    ann, bob, general = people
    carl, role = expert
    await server.open()
    asked = await fake.mention(ann, general, SLIP)
    (answer,) = await server.until_answered(asked)
    await fake.press(answer, "Ask a person", ann)
    _, request = await server.until_answered(asked, 2)
    again = await fake.press(answer, "Ask a person", bob)
    await fake.until(lambda: again.text)
    reply = await fake.post(carl, asked.thread, ANSWER)

    await fake.press(request, "Keep this answer", carl)
    (kept,) = await fake.until(lambda: [one for one in fake.said() if "Forget it" in fake.buttons(one)])
    await fake.until(lambda: rows(server, "answers", "SELECT state FROM answers") == [("used",)])
    other = await fake.mention(ann, general, "Is the slipway used in winter, and who may use it?")
    (cited,) = await server.until_answered(other)

    assert request.pings.roles == {role.id}
    assert [one for one in fake.said() if one.pings] == [request]
    assert SLIP in request.visible
    assert "asked already" in again.text
    assert (ANSWER in kept.visible, "carl, in #general" in kept.visible) == (True, True)
    assert "rescue boat" in cited.visible
    assert "carl, in #general" in cited.visible
    assert any(str(reply.id) in link.url for link in cited.links)
    assert has_no_fault(server, fake)


async def test_who_is_not_trusted_cannot_teach_and_is_told_so_alone(server, fake, people, expert):
    ann, bob, general = people
    carl, _ = expert
    await server.open()
    asked = await fake.mention(ann, general, SLIP)
    await server.until_answered(asked)
    gossip = await fake.post(bob, asked.thread, "Anybody may, I think.")

    refusal = await fake.context_menu(bob, gossip, "Keep this answer")
    await fake.until(lambda: refusal.text)
    not_his = await fake.context_menu(carl, gossip, "Keep this answer")
    await fake.until(lambda: "only what those say" in " ".join(one.visible for one in fake.ephemerals(carl)))

    assert "EXPERTS" in refusal.text
    assert refusal.is_ephemeral
    assert not_his.is_ephemeral
    assert rows(server, "answers", "SELECT * FROM answers") == []


async def test_a_reply_is_kept_by_a_word_and_forgotten_with_a_press_or_its_message(
    server, fake, ann, general, expert
):
    carl, _ = expert
    await server.open()
    root = await fake.post(ann, general, SLIP)
    reply = await fake.reply(carl, root, ANSWER)

    await fake.context_menu(carl, reply, "Keep this answer")
    (kept,) = await fake.until(lambda: [one for one in fake.said() if "Forget it" in fake.buttons(one)])
    ((question,),) = rows(server, "answers", "SELECT question FROM answers")
    await fake.press(kept, "Forget it", carl)
    await fake.until(lambda: "forgot" in kept.visible)
    await fake.until(lambda: rows(server, "answers", "SELECT * FROM answers") == [])
    await fake.reply(carl, reply, f"{fake.bot.mention} keep")
    await fake.until(
        lambda: rows(server, "answers", "SELECT state FROM answers") == [("used",)],
    )
    await fake.erase(reply)
    await fake.until(lambda: rows(server, "answers", "SELECT * FROM answers") == [])
    await fake.until(lambda: rows(server, "library", KEPT) == [])

    assert question == SLIP
    assert has_no_fault(server, fake)
