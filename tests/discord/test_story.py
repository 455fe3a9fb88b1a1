"""Footnote as people in Discord meet it: the real command beside a Discord of ours."""

from __future__ import annotations

import sqlite3

import pytest
from fakes.gemini import FakeGemini
from fakes.served import CUP, FERRY, FERRY_ANSWER, FRANCE, PONTOON, PONTOON_ANSWER
from fakes.web_servers import FakeSearXNG


@pytest.fixture
async def searxng(server):
    async with FakeSearXNG([FRANCE]) as engine:
        server.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield engine


@pytest.fixture
async def model(server):
    async with FakeGemini() as gemini:
        server.settings |= {"GOOGLE_API_KEY": gemini.api_key, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        yield gemini


@pytest.fixture
def people(ann, bob, general):
    """Two of them, and the channel they are in."""
    return ann, bob, general


async def test_a_mention_opens_a_thread_that_is_followed_up_without_one(server, fake, ann, general):
    await server.open(is_cold=True)

    asked = await fake.mention(ann, general, FERRY)
    (answer,) = await server.until_answered(asked)
    follow_up = await fake.post(ann, asked.thread, PONTOON)
    (second,) = await server.until_answered(follow_up)
    thread_context = await fake.post(ann, general, "Lunch, anyone?")
    code = await server.stop()

    assert FERRY_ANSWER in answer.visible
    assert "handbook.md" in answer.visible
    assert PONTOON_ANSWER in second.visible
    assert asked.thread.name == FERRY
    assert answer.channel is asked.thread
    assert answer.revisions[0].visible.endswith("…")
    assert asked.thread.typings
    assert second.referenced is follow_up
    assert fake.replies(thread_context) == []
    assert fake.pinging() == []
    assert (fake.violations, fake.rejected, server.faults, code) == ([], [], [], 0)
    assert FERRY not in server.log
    assert fake.token not in server.log


async def test_a_direct_message_needs_no_mention_and_is_followed_up(server, fake, ann):
    await server.open()

    asked = await fake.dm(ann, FERRY)
    (answer,) = await server.until_answered(asked)
    follow_up = await fake.dm(ann, "And does it take cars?")
    (second,) = await server.until_answered(follow_up)

    assert FERRY_ANSWER in answer.visible
    assert "no cars" in second.visible
    assert second.referenced is follow_up
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_notes_of_progress_are_edited_at_most_once_in_a_second_and_a_half(
    server, fake, model, ann, general
):
    model.latency = 1.2
    await server.open()

    asked = await fake.mention(ann, general, FERRY)
    (answer,) = await server.until_answered(asked)

    *notes, final = answer.revisions
    assert all(note.visible.endswith("…") for note in notes)
    assert 2 <= len(notes) <= 2 + (notes[-1].at - notes[0].at) / 1.5
    assert "Answered in" in final.visible
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


@pytest.mark.parametrize("is_direct", [True, False])
async def test_a_search_is_decided_where_there_is_no_thread(server, fake, searxng, people, is_direct):
    ann, _, general = people
    fake.deny(general, "create_public_threads")
    await server.open()
    asked = await (fake.dm(ann, CUP) if is_direct else fake.mention(ann, general, CUP))
    (card,) = await server.until_answered(asked)

    await fake.press(card, "Search the web", ann)
    _, answer = await server.until_answered(asked, 2)
    follow_up = await fake.reply(ann, answer, FERRY)
    (second,) = await server.until_answered(follow_up)

    assert "ann allowed this search" in card.visible
    assert "France" in answer.visible
    assert answer.channel is asked.channel
    assert answer.referenced is (card if is_direct else asked)
    assert FERRY_ANSWER in second.visible
    assert len(searxng.requests) == 1
    assert (fake.violations, fake.failed, server.faults) == ([], [], [])


async def test_a_query_that_is_empty_is_not_sent(server, fake, searxng, ann, general):
    await server.open()
    asked = await fake.mention(ann, general, CUP)
    (card,) = await server.until_answered(asked)

    edit = await fake.press(card, "Edit query", ann)
    submission = await fake.submit(edit.modal, {"query": "   "})
    await fake.until(lambda: submission.text)
    await fake.press(card, "No thanks", ann)
    denied, _ = await server.until_answered(asked, 2)

    assert submission.is_ephemeral
    assert "query is empty" in submission.text
    assert "ann said no" in denied.visible
    assert searxng.requests == []
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def told(fake, user, count=1):
    """So many direct messages of the bot."""
    return await fake.until(lambda: (found := fake.said(fake.dm_of(user)))[count - 1 :] and found)


async def test_words_to_the_bot_are_answered_where_they_are_said(server, fake, ann, general):
    await server.open()

    said, replies, private = {}, {}, {}
    for words in ("help", "", "sources", "follow mention", "use `default`"):
        said[words] = await fake.mention(ann, general, words)
        (replies[words],) = await server.until_answered(said[words])
    for words in ("stop", "use nothing", "use ../x", "deny", "learn ftp://x", "follow everybody"):
        await fake.mention(ann, general, words)
        private[words] = (await told(fake, ann, len(private) + 1))[-1]

    assert "1 document" in replies["help"].visible == replies[""].visible
    assert "handbook.md" in replies["sources"].visible
    assert "/ask, /help, /sources, /forget, /follow, /learn" in replies["help"].visible
    assert "Nothing is running" in private["stop"].visible
    assert "only when I am mentioned" in replies["follow mention"].visible
    assert "no collection" in private["use nothing"].visible
    assert "no web search to decide" in private["deny"].visible
    assert "Name a collection: use NAME" in private["use ../x"].visible
    assert "now reads all collections that are open to it: default" in replies["use `default`"].visible
    assert "name the address of a page" in private["learn ftp://x"].visible
    assert "I can follow mention, asker, thread" in private["follow everybody"].visible
    assert {words: reply.referenced for words, reply in replies.items()} == said
    assert fake.threads(general) == []
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


SECRET = "With which number does the vault's door open?"
VAULT = ("vault.md", b"# Vault\n\nThe vault's door opens with the number 4711.\n")


async def place_of_secrets(fake, ann, general, kind):
    if kind == "hidden channel":
        return fake.add_channel("secret", only_for=[ann, fake.bot])
    thread = fake.open_thread(general, "psst", ann, kind=12)
    thread.thread_members[fake.bot.id] = fake.state.clock.iso()
    return thread


@pytest.mark.parametrize("kind", ["hidden channel", "private thread"])
async def test_what_is_learned_in_private_is_read_there_alone(server, fake, ann, general, kind):
    secret = await place_of_secrets(fake, ann, general, kind)
    await server.open()
    learn = await fake.mention(ann, secret, "learn", files=[VAULT])
    (learned,) = await server.until_answered(learn)

    inside = await fake.mention(ann, secret, SECRET)
    outside = await fake.mention(ann, general, SECRET)
    (found,) = await server.until_answered(inside)
    (hidden,) = await server.until_answered(outside)
    await fake.mention(ann, general, f"use channel-discord-{fake.guild.id}-{secret.id}")
    (refused,) = await told(fake, ann)

    assert "1 document added" in learned.visible
    assert "4711" in found.visible
    assert "4711" not in hidden.visible
    assert "no collection" in refused.visible
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_what_one_channel_learned_is_read_in_no_other_whoever_names_it(server, fake, ann, general):
    other = fake.add_channel("other")
    await server.open()
    learn = await fake.mention(ann, general, "", files=[VAULT])
    await server.until_answered(learn)
    await fake.mention(ann, general, "learn http://127.0.0.1:1/page")
    await told(fake, ann)

    await fake.mention(ann, other, f"use channel-discord-{fake.guild.id}-{general.id}")
    refused, unused = await told(fake, ann, 2)
    asked = await fake.mention(ann, other, SECRET)
    (answer,) = await server.until_answered(asked)

    assert "no collection" in unused.visible
    assert "4711" not in answer.visible
    assert "127.0.0.1" in refused.visible
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_what_is_not_for_the_bot_is_left_alone(server, fake, ann, bob, general):
    robot = fake.add_user("robot", is_bot=True)
    await server.open()
    asked = await fake.mention(ann, general, FERRY)
    await server.until_answered(asked)
    thread = asked.thread

    remark = await fake.post(bob, thread, f"{ann.mention} did you know?")
    await fake.reply(ann, remark, "I did not.")
    await fake.post(ann, thread, "@here lunch?")
    await fake.mention(robot, general, FERRY)
    await fake.post(robot, thread, PONTOON)
    await fake.edit(remark, f"{ann.mention} {PONTOON}")
    await fake.duplicate(asked)
    marker = await fake.post(ann, thread, PONTOON)
    await server.until_answered(marker)

    assert [one.referenced for one in fake.said(thread)] == [None, marker]
    assert fake.said(general) == []
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


HOSTILE = b"""\
# Trap @everyone

The trap is called @everyone and <@{ann}> and [https://bank.example](https://evil.example/x) by its owner.
"""


async def test_nobody_is_notified_nothing_is_previewed_and_no_link_is_masked(server, fake, ann, general):
    await server.open()
    trap = HOSTILE.replace(b"{ann}", str(ann.id).encode())
    learn = await fake.mention(ann, general, "learn", files=[("@everyone.md", trap)])
    (learned,) = await server.until_answered(learn)

    asked = await fake.mention(ann, general, f"@everyone <@{ann.id}> How is the trap called by its owner?")
    (answer,) = await server.until_answered(asked)

    assert "1 document" in learned.visible
    assert "The trap is called" in answer.visible
    assert fake.pinging() == []
    assert [link for one in fake.said() for link in one.links] == []
    sent = [
        call.body
        for call in fake.requests
        if call.method in ("POST", "PATCH") and "components" in (call.body or {})
    ]
    assert len(sent) >= 3
    for body in sent:
        assert body["allowed_mentions"] == {"parse": [], "replied_user": False}
        assert body["flags"] & (1 << 2)
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_feedback_is_kept_and_quotes_are_shown_to_who_asks(server, fake, model, people):
    ann, bob, general = people
    long = f"The mast of the Aurora is {'very ' * 60}tall indeed."
    await server.open()
    learn = await fake.mention(ann, general, "learn", files=[("mast.md", f"# Mast\n\n{long}\n".encode())])
    await server.until_answered(learn)
    asked = await fake.mention(ann, general, "How tall is the mast of the Aurora?")
    (answer,) = await server.until_answered(asked)

    shown = await fake.press(answer, "Show quotes", bob)
    await fake.until(lambda: shown.text)
    pressed = [await fake.press(answer, "Helpful", user) for user in (ann, bob)]
    assert await server.stop() == 0

    assert shown.is_ephemeral
    assert long in shown.text
    assert all(one.is_ephemeral and "Noted" in one.text for one in pressed)
    with sqlite3.connect(server.folder / ".footnote" / "questions.sqlite") as log:
        ratings = log.execute("SELECT author, is_positive FROM ratings").fetchall()
    log.close()
    assert sorted(ratings) == sorted([(str(ann.id), 1), (str(bob.id), 1)])
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_a_question_that_could_mean_two_things_is_asked_back(server, fake, model, people):
    ann, bob, general = people
    long = f"When does the ferry to Sark leave, {'by which I mean the one from the harbour ' * 3}today?"
    plan = {
        "route": "clarify", "standalone": FERRY, "queries": [], "web_query": "", "options": [PONTOON, long],
        "reply": "Which of the two?",
    }  # fmt: skip
    model.queue("plan", plan)
    await server.open()
    asked = await fake.mention(ann, general, "when?")
    (back,) = await server.until_answered(asked)
    labels = fake.buttons(back)

    chosen = await fake.press(back, labels[1], bob)
    _, answer = await server.until_answered(asked, 2)

    assert "Which of the two?" in back.visible
    assert labels[0] == PONTOON
    assert long.startswith(labels[1])
    assert back.visible.count(PONTOON) <= 1
    assert chosen.kind == "deferred"
    assert "Answered in" in answer.visible
    assert answer.referenced is back
    assert any(labels[1] in call.prompt for call in model.calls if call.step == "plan")
    assert (fake.violations, fake.rejected, fake.failed, server.faults) == ([], [], [], [])


async def test_a_question_that_is_too_long_is_told_so_where_it_stands(server, fake, ann, general):
    await server.open()

    asked = await fake.mention(ann, general, "why? " * 1_000)
    (told,) = await server.until_answered(asked)
    private = await fake.dm(ann, "why? " * 1_000)
    (told_again,) = await server.until_answered(private)

    assert "too long" in told.visible
    assert told.referenced is asked
    assert "too long" in told_again.visible
    assert fake.threads(general) == []
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_an_operator_sees_what_people_and_channels_are_called(server, fake, ann, general):
    await server.open()

    asked = await fake.mention(ann, general, FERRY)
    await server.until_answered(asked)
    second = await fake.mention(ann, general, PONTOON)
    await server.until_answered(second)

    with sqlite3.connect(server.folder / ".footnote" / "questions.sqlite") as log:
        rows = log.execute(
            "SELECT person.name, place.name FROM questions AS q"
            " JOIN shown_names AS person ON person.id = q.author AND person.kind = 'person'"
            " JOIN shown_names AS place ON place.id = q.channel AND place.kind = 'channel'"
        ).fetchall()
    log.close()
    assert len(rows) == 2
    assert {each for row in rows for each in row} == {"ann", "general"}
