"""A question that comes with files, in Slack and in Discord: answered from them, in that thread alone."""

from __future__ import annotations

import shutil

import pytest
from fakes.served import CUP, FERRY, FERRY_ANSWER
from fakes.stages import BeginChat, in_discord, in_slack
from fakes.web_servers import FakeSearXNG

LEASE = b"# Lease of the boathouse\n\nThe lease of the boathouse ends on the ninth of October.\n"
WHEN = "When does the lease of the boathouse end?"
DECKS = b"# Deck plan\n\nThe upper deck holds forty passengers.\n"
HOW_MANY = "How many passengers does the upper deck hold?"
LEASE_FILE = ("lease.md", LEASE)

both = pytest.mark.parametrize("begin", [in_slack, in_discord])


@pytest.fixture
def folder(template, tmp_path):
    shutil.copytree(template, tmp_path / "home")
    return tmp_path / "home"


@both
async def test_a_file_is_read_after_one_press_and_answers_its_thread_alone(begin: BeginChat, folder):
    async with FakeSearXNG([]) as engine, begin(folder, searching(engine)) as stage:
        offered = await stage.ask(WHEN, LEASE_FILE)
        offer, offering = stage.card, stage.buttons()
        answer = await stage.press("read")
        settled = offer.visible
        pressed_again = await stage.press_in_private("read", stage.ann, of=offer)
        follow_up = await stage.ask("And of the boathouse, what is it that ends?")
        sources = await stage.ask("sources")
        elsewhere = await stage.begin_anew(WHEN)

    assert "I have not read the attached file: lease.md" in offered
    assert "ninth of October" not in offered
    assert {"approve", "read"} & offering == {"read"}
    assert "ninth of October" in answer
    assert "lease.md" in answer
    assert "ann let the attachment be read for this thread at" in settled
    assert "Read this file" not in settled
    assert "ann let the attachment be read" in pressed_again
    assert "lease.md" in follow_up
    assert "the files of this thread" in sources
    assert "lease.md" in sources
    assert "ninth of October" not in elsewhere
    assert engine.requests == []


@both
async def test_what_the_documents_answer_is_answered_with_the_offer_beside_it(begin: BeginChat, folder):
    async with begin(folder, {"WEB_SEARCH": "off"}) as stage:
        answer = await stage.ask(FERRY, LEASE_FILE)

        assert FERRY_ANSWER in answer
        assert "I have not read the attached file: lease.md" in answer
        assert "read" in stage.buttons()


@both
async def test_a_file_that_is_beside_the_point_takes_no_answer_of_the_documents_away(
    begin: BeginChat, folder
):
    async with FakeSearXNG([]) as engine, begin(folder, searching(engine)) as stage:
        await stage.ask(FERRY, ("yak.txt", b"The yak house opens at ten.\n"))
        answer = await stage.press("read")

    assert FERRY_ANSWER in answer
    assert "closest" not in answer
    assert "Search the web" not in answer


@both
async def test_a_file_that_says_nothing_of_the_question_does_not_hide_the_documents(begin: BeginChat, folder):
    async with FakeSearXNG([]) as engine, begin(folder, searching(engine)) as stage:
        await stage.ask(FERRY, LEASE_FILE)
        answer = await stage.press("read")

        assert FERRY_ANSWER in answer
        assert "handbook.md" in answer
        assert "lease.md" not in answer
        assert "approve" not in stage.buttons(stage.reply)


@both
async def test_files_that_cannot_be_read_say_so_and_the_others_answer(begin: BeginChat, folder):
    files = [LEASE_FILE, ("plan.pdf", b"no pdf"), ("tune.mp3", b"no text"), ("lease.md", DECKS)]
    async with begin(folder, {"WEB_SEARCH": "off"}) as stage:
        stage.served.expected = ("plan.pdf could not be parsed",)
        offered = await stage.ask(HOW_MANY, *files)
        offer = stage.card
        answer = await stage.press("read")
        settled = offer.visible

    assert "4 attached files" in offered
    assert "ann let the 4 attachments be read for this thread at" in settled
    assert "forty passengers" in answer
    assert "lease (2).md" in answer
    assert "plan.pdf" in answer
    assert "tune.mp3" in answer
    learned = {file.name for file in (folder / ".footnote" / "learned").glob("*/*")}
    assert learned == {"lease.md", "lease (2).md"}


@both
async def test_where_no_file_can_be_read_the_turn_says_why(begin: BeginChat, folder):
    async with begin(folder, {"WEB_SEARCH": "off"}) as stage:
        stage.served.expected = ("plan.pdf could not be parsed", "turn failed")
        await stage.ask(HOW_MANY, ("plan.pdf", b"no pdf"))
        told = await stage.press("read")

        assert "plan.pdf" in told
        assert "again" in stage.buttons(stage.reply)


@both
async def test_another_person_may_not_let_it_be_read_and_is_told_who_may(begin: BeginChat, folder):
    async with begin(folder, {"WEB_SEARCH": "off"}) as stage:
        await stage.ask(WHEN, LEASE_FILE)
        refused = await stage.press_in_private("read", stage.bob)

        assert "Only ann or an approver can let this be read." in refused
        assert "read" in stage.buttons()


@both
async def test_the_button_works_after_a_kill_and_forget_deletes_the_file(begin: BeginChat, folder):
    async with begin(folder, {"WEB_SEARCH": "off"}) as stage:
        await stage.ask(WHEN, LEASE_FILE)
        await stage.kill_and_open()
        answer = await stage.press("read")
        forgot = await stage.ask("forget")
        kept = list((folder / ".footnote" / "learned").glob("*/*"))
        gone = await stage.ask_by_mention(WHEN)

    assert "ninth of October" in answer
    assert "I forgot this thread" in forgot
    assert kept == []
    assert "ninth of October" not in gone


FORGOTTEN = "This thread was forgotten, so there is nothing to decide here any more."


@both
async def test_forget_takes_the_buttons_off_what_still_waits(begin: BeginChat, folder):
    async with FakeSearXNG([]) as engine, begin(folder, searching(engine)) as stage:
        await stage.ask(FERRY, LEASE_FILE)
        offer = stage.card
        await stage.ask(CUP)
        card = stage.card
        forgot = await stage.ask("forget")

        assert "I forgot this thread" in forgot
        assert FERRY_ANSWER in offer.visible
        assert offer.visible.rstrip().endswith(FORGOTTEN)
        assert "I would search" not in card.visible
        assert FORGOTTEN in card.visible
        assert stage.buttons(offer) == stage.buttons(card) == set()
        assert engine.requests == []


def searching(engine: FakeSearXNG) -> dict[str, str]:
    return {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
