"""Who reads a collection, changed on the page: what it means is said first, and it holds for the next question."""

from __future__ import annotations

import re

import pytest
from fakes.desk import HANDBOOK, NOON, SECRET, Inspection, answered, asked, open_desk, traced

from bots.chat.access import AccessChange, access_rules, change_access
from bots.chat.channels import AccessRule
from bots.page.templating import access_path
from bots.page.views.access import meaning
from core.conversation import Conversation
from core.errors import SettingsError

HELP = Conversation(platform="slack", space="T1", channel="C1", thread="1")
ELSEWHERE = Conversation(platform="slack", space="T1", channel="C2", thread="1")


@pytest.fixture(params=["folder", "postgresql"])
async def desk(tmp_path, request):
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    async with open_desk(tmp_path, database_url=url) as desk:
        desk.footnote.log.now = lambda: NOON
        desk.ingest(tmp_path / "docs", "harbour.md", HANDBOOK, collection="default")
        desk.ingest(tmp_path / "pay", "pay.md", SECRET, collection="pay")
        desk.ingest(tmp_path / "pay", "rates.md", SECRET, collection="pay")
        yield desk


def rules(desk, name="pay"):
    channels = desk.channels.database.database
    return access_rules(channels, desk.footnote.library.store.collections())[name]


async def reads(desk, conversation):
    return (await desk.channels.reads(conversation, "U1", desk.footnote.library)).collections


async def form(browser, name="pay"):
    _, page = await browser.get(access_path(name))
    return re.search(r'name="seen" value="(\w+)"', page)[1], page


async def test_what_a_change_means_is_said_before_it_is_made(desk):
    await desk.footnote.log.record(asked("q1"), answered("q1"), traced())
    await desk.footnote.log.names.note("channel", {HELP.channel_id: "#help"})
    ann = await desk.browser(name="Ann")
    seen, before = await form(ann)
    wanted = {"seen": seen, "readers": "named", "open": HELP.channel_id, "people": "U0ANN1234"}

    status, asked_first, _ = await ann.post(access_path("pay"), **wanted)
    unchanged = rules(desk)
    done, _, headers = await ann.post(access_path("pay"), **wanted, sure="yes")
    _, after = await ann.get(access_path("pay"))
    _, changes = await ann.get("/changes")

    assert "#help" in before
    assert (status, unchanged) == (200, ())
    assert "#help will read 2 more documents." in asked_first
    assert "U0ANN1234, in direct messages, will read 2 more documents." in asked_first
    assert (done, headers["Location"]) == (303, f"{access_path('pay')}&done=saved")
    assert {(each.kind, each.id) for each in rules(desk)} == {
        ("channel", HELP.channel_id),
        ("person", "U0ANN1234"),
    }
    assert ["pay" in await reads(desk, each) for each in (HELP, ELSEWHERE)] == [True, False]
    assert "#help" in after
    assert "changed who reads it" in changes
    assert "channel slack/T1/C1, person U0ANN1234" in changes
    assert not Inspection(before).faults + Inspection(asked_first).faults + Inspection(after).faults


async def test_what_is_unticked_is_closed_and_default_stays_closed_to_everybody_else(desk):
    database = desk.channels.database.database
    change = AccessChange(closes=True, opens=(("channel", "C1"), ("channel", "C2")))
    change_access(database, "default", change, known=())
    ann = await desk.browser(name="Ann")
    seen, _ = await form(ann, "default")

    _, page, _ = await ann.post(access_path("default"), seen=seen, readers="named", keep="channel C2")
    await ann.post(access_path("default"), seen=seen, readers="named", keep="channel C2", sure="yes")

    assert "C1 will not read 1 document any more." in page
    assert ["default" in await reads(desk, each) for each in (HELP, ELSEWHERE)] == [False, True]


async def test_nothing_is_changed_by_whom_it_is_not_or_over_the_change_of_another(desk):
    ann, reader = await desk.browser(name="Ann"), await desk.browser("reader")
    limited = await desk.browser(collections=frozenset({"pay"}))
    seen, _ = await form(ann)
    wanted = {"seen": seen, "readers": "everyone", "sure": "yes"}

    refused = [(await browser.post(access_path("pay"), **wanted))[0] for browser in (reader, limited)]
    _, shown = await limited.get(access_path("pay"))
    closed, _ = await limited.get(access_path("default"))
    change_access(
        desk.channels.database.database, "pay", AccessChange(opens=(("channel", "C7"),)), known=("pay",)
    )
    late, page, _ = await ann.post(access_path("pay"), **wanted, people="U0ANN1234")
    unread, faulty, _ = await ann.post(
        access_path("pay"), seen=(await form(ann))[0], readers="named", channels="#help"
    )
    same, _, _ = await ann.post(
        access_path("pay"), seen=(await form(ann))[0], readers="named", keep="channel C7", sure="yes"
    )

    assert refused == [403, 404]
    assert '<button class="primary">' not in shown
    assert closed == 404
    assert (late, "Somebody changed who reads this" in page, 'value="U0ANN1234"' in page) == (409, True, True)
    assert (unread, "#help is no id." in faulty, 'value="#help"' in faulty) == (422, True, True)
    assert same == 422
    assert [(each.kind, each.id) for each in rules(desk)] == [("channel", "C7")]


def rule(kind, name=""):
    return AccessRule(collection="pay", kind=kind, id=name)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([], [rule("everyone")], "Everybody will read 3 more documents, in every channel."),
        ([rule("everyone")], [rule("closed")], "Who is not named will not read 3 documents any more."),
        ([rule("everyone")], [rule("everyone"), rule("channel", "C1")], "#help reads them as before."),
        (
            [rule("everyone"), rule("channel", "C1")],
            [rule("everyone")],
            "#help reads them as everybody does.",
        ),
        (
            [rule("group", "S1")],
            [],
            "Who belongs to S1, in direct messages, will not read 3 documents any more.",
        ),
    ],
)
def test_the_meaning_of_a_change_is_a_sentence(before, after, told):
    assert meaning(before, after, 3, {"C1": "#help"}) == (told,)


def test_a_change_of_nothing_is_none():
    with pytest.raises(SettingsError, match="Nothing would change"):
        meaning([rule("channel", "C1")], [rule("channel", "C1")], 3, {})
