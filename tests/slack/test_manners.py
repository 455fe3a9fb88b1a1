"""How the bot behaves among people: when it keeps silent, what it keeps in step, what it can be told to undo."""

from __future__ import annotations

import pytest
from fakes.office import CUP, FERRY, FERRY_ANSWER, FRANCE, PONTOON, PONTOON_ANSWER, Office, make_data_dir
from fakes.slack import DUPLICATES, LostRequest, Refusal
from fakes.web_servers import HangingSearXNG

BEES = ("bees.md", b"# Bees\n\nThe bees of the harbour sleep in nine hives.\n")


async def test_what_was_said_before_the_mention_is_not_answered_when_it_comes_late(
    office, slack, ann, general
):
    await office.open()
    root = await slack.say(ann, general, "The ferry, hm.")
    early = await slack.say(ann, general, PONTOON, root.ts)
    called = await slack.mention(ann, general, FERRY, root.ts)
    await office.until_answered(called)

    await slack.duplicate(early, DUPLICATES[0])
    marker = await slack.mention(ann, general, PONTOON)
    await office.until_answered(marker)

    assert len(slack.replies(general, root.ts)) == 1


@pytest.fixture
def own_folder(tmp_path):
    return make_data_dir(tmp_path)


@pytest.fixture
async def own_office(own_folder, slack):
    """One whose documents are its own, and may be changed."""
    office = Office(folder=own_folder, slack=slack)
    yield office
    await office.kill()


async def test_a_document_that_changes_while_it_serves_is_read_as_it_is_now(own_office, slack, ann, general):
    await own_office.open()
    before = await slack.mention(ann, general, FERRY)
    (answer,) = await own_office.until_answered(before)
    handbook = own_office.folder / "handbook.md"
    handbook.write_text(handbook.read_text().replace("half past nine", "a quarter to four"))

    seen = [answer.visible]
    while "a quarter to four" not in seen[-1] and len(seen) < 200:
        again = await slack.mention(ann, general, FERRY)
        seen.append((await own_office.until_answered(again))[0].visible)

    assert FERRY_ANSWER in seen[-2]
    assert "a quarter to four" in seen[-1]


async def test_one_file_that_cannot_be_had_keeps_no_other_from_being_learned(office, slack, ann, general):
    await office.open()

    learn = await slack.mention(ann, general, "learn", files=[BEES, ("broken.pdf", b"no pdf")])
    (learned,) = await office.until_answered(learn)
    asked = await slack.mention(ann, general, "In how many hives do the bees sleep?")
    (answer,) = await office.until_answered(asked)

    assert "1 document added" in learned.visible
    assert "broken.pdf" in learned.visible
    assert "nine hives" in answer.visible
    kept = office.folder / ".footnote" / "learned"
    assert [file.name for file in kept.rglob("*.*")] == ["bees.md"]


async def test_what_was_learned_can_be_learned_anew_and_forgotten_by_its_name(office, slack, ann, general):
    await office.open()
    first = await slack.mention(ann, general, "learn", files=[BEES])
    await office.until_answered(first)
    newer = await slack.mention(ann, general, "learn", files=[(BEES[0], BEES[1].replace(b"nine", b"twelve"))])
    (learned,) = await office.until_answered(newer)

    asked = await slack.mention(ann, general, "In how many hives do the bees sleep?")
    (answer,) = await office.until_answered(asked)
    (sources,) = await office.until_answered(await slack.mention(ann, general, "sources"))
    (help_,) = await office.until_answered(await slack.mention(ann, general, "help"))
    forget = await slack.mention(ann, general, "forget bees.md")
    (forgotten,) = await office.until_answered(forget)
    again = await slack.mention(ann, general, "In how many hives do the bees sleep?")
    (gone,) = await office.until_answered(again)

    assert "1 document changed" in learned.visible
    assert "this channel's own collection: 1 document" in sources.visible
    assert "channel-slack" not in sources.visible + help_.visible
    assert "2 documents in default, this channel's own collection (looked through just now)" in help_.visible
    assert "twelve hives" in answer.visible
    assert "nine hives" not in answer.visible
    assert "Forgot bees.md" in forgotten.visible
    assert "hives" not in gone.visible.replace("how many hives", "")


async def test_a_question_that_the_app_may_not_answer_yet_is_answered_once_it_may(
    office, slack, ann, general
):
    slack.faults.queue("chat.postMessage", Refusal("missing_scope"))
    await office.open()

    asked = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(asked)

    assert FERRY_ANSWER in answer.visible
    assert "footnote doctor slack" in office.log


async def test_a_search_that_was_allowed_and_stopped_stays_decided(office, slack, ann, general):
    async with HangingSearXNG([FRANCE]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await office.open()
        asked = await slack.mention(ann, general, CUP)
        (card,) = await office.until_answered(asked)

        await slack.press(card, "approve", ann)
        await engine.asked.wait()
        await slack.say(ann, general, "stop", asked.ts)
        _, stopped = await office.until_answered(asked, 2)

    assert "Stopped." in stopped.visible
    assert "ann allowed this search" in card.visible
    assert "Nothing is sent" not in card.visible


async def test_who_asks_too_much_is_told_so_once_and_in_private_and_may_go_on_later(
    office, slack, ann, general
):
    bob = slack.add_user("bob")
    slack.state.conversations[general].members.append(bob)
    office.settings["QUESTIONS_PER_PERSON"] = "1/hour"
    await office.open()
    asked = await slack.mention(ann, general, FERRY)
    await office.until_answered(asked)

    beyond = await slack.mention(ann, general, PONTOON)
    await slack.until(lambda: slack.ephemerals(ann))
    await slack.duplicate(asked, DUPLICATES[0])
    await slack.duplicate(beyond, DUPLICATES[0])
    once_more = await slack.mention(ann, general, PONTOON)
    await slack.until_acked(once_more)
    others = await slack.mention(bob, general, PONTOON)
    (answer,) = await office.until_answered(others)

    (told,) = slack.ephemerals(ann)
    assert "You have asked 1 question within one hour" in told.visible
    assert PONTOON_ANSWER in answer.visible
    assert len(slack.replies(general, asked.ts)) == 1
    assert slack.replies(general, beyond.ts) == []
    assert slack.replies(general, once_more.ts) == []


async def test_a_restart_does_not_begin_to_count_anew_and_refuses_nothing_that_was_answered(
    office, slack, ann, general
):
    office.settings["QUESTIONS_PER_PERSON"] = "1/hour"
    await office.open()
    asked = await slack.mention(ann, general, FERRY)
    await office.until_answered(asked)
    await office.kill()
    await office.open()

    await slack.duplicate(asked, DUPLICATES[0])
    await slack.mention(ann, general, PONTOON)
    await slack.until(lambda: slack.ephemerals(ann))
    assert await office.stop() == 0

    (told,) = slack.ephemerals(ann)
    assert "You have asked 1 question within one hour" in told.visible
    assert len(slack.replies(general, asked.ts)) == 1


async def test_a_refusal_that_a_kill_cut_off_is_said_at_the_next_start(office, slack, ann, general):
    office.settings["QUESTIONS_PER_PERSON"] = "1/hour"
    await office.open()
    asked = await slack.mention(ann, general, FERRY)
    await office.until_answered(asked)

    slack.faults.queue("chat.postEphemeral", *[LostRequest()] * 3)
    beyond = await slack.mention(ann, general, PONTOON)
    await slack.until_acked(beyond)
    await office.kill()
    await office.open()

    assert await slack.until(lambda: slack.ephemerals(ann))
