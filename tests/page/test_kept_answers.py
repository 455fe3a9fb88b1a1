"""What editors do with kept answers and gaps in a real browser: nothing is forged, overwritten or told to others."""

from __future__ import annotations

from dataclasses import replace

import pytest
import pytest_asyncio
from fakes.chromium import CHROMIUM, PATIENCE, audited, entered, expect, opened
from fakes.desk import NOON, answered, asked, open_desk, traced
from fakes.shelf import found

from bots.chat.access import AccessChange, change_access
from core.answers.store import TEXT_LIMIT, KeptAnswer, id_of
from core.traces.log import DAY

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),  # the browser's
    pytest.mark.skipif(
        CHROMIUM is None, reason="there is no Chromium: apt-get install chromium-headless-shell"
    ),
]

SHED = "Who has the key to the boat shed?"
KEY = KeptAnswer(
    id=id_of("slack/T1/C1/1.0"), question=SHED, author="U1", name="Petra", place="#help",
    text="Marta in the harbour office has it.", conversation="slack/T1/C1/1.0", message="slack/T1/C1/1.0",
    url="https://chat.test/help/1", collection="channel-slack-T1-C1", language="en", said_at=NOON - 60 * DAY,
    kept_at=0.0, valid_until=0.0,
)  # fmt: skip
PATH = f"/answers/{KEY.id}"
PERMIT, PERMITS = "How do I renew my parking permit?", "Where can parking permits be renewed?"
BOARD = "channel-slack-T1-C9"


@pytest_asyncio.fixture(loop_scope="module")
async def desk(tmp_path):
    async with open_desk(tmp_path) as desk:
        desk.footnote.log.now = desk.gaps.now = desk.footnote.answers.now = lambda: NOON + 60
        await desk.footnote.log.names.note("channel", {"slack/T1/C1": "#help", "slack/T1/C9": "#board"})
        yield desk


async def keep(desk, answer=KEY):
    await desk.footnote.answers.keep(answer)
    await desk.footnote.answers.use(answer.id)


async def log_gap(desk, turn, text, *, channel="C9", at=NOON):
    unanswered = replace(answered(turn), kind="no_answer", answer=None)
    await desk.footnote.log.record(asked(turn, text, channel=channel, at=at), unanswered, traced(text))


async def ask(tab, desk, text):
    """In a thread of its own, on the page; what the answer and its footnotes show."""
    await tab.goto(f"{desk.url}/ask")
    await tab.get_by_label("Your question").fill(text)
    await tab.get_by_role("button", name="Ask").click()
    await expect(tab.get_by_role("link", name="trace")).to_be_visible(timeout=PATIENCE)  # it has ended
    return await tab.locator("article").text_content()


def field(tab):
    return tab.get_by_label("Answer", exact=True)


async def marks(desk):
    return {turn: mark.state for turn, mark in (await desk.gaps.store.marks()).items()}


async def test_what_an_editor_changed_is_cited_with_both_names_and_the_page_shows_what_it_was(chromium, desk):
    await keep(desk)
    tab, faults = await entered(chromium, desk, name="Ann")

    await tab.goto(f"{desk.url}{PATH}")
    await field(tab).fill("Olga has it since November.")
    await tab.get_by_role("button", name="Save, and use it").click()
    await expect(tab.locator("main")).to_contain_text("Petra, edited by Ann, 21 Sep 2026")
    await tab.locator(".changes summary").click()
    change = tab.locator(".changes li").first
    await expect(change).to_contain_text("Ann changed it")
    await expect(change).to_contain_text(KEY.text)
    await expect(change).to_contain_text("Olga has it since November.")
    told = await ask(tab, desk, SHED)

    assert "Olga has it since November." in told
    assert "Petra, edited by Ann, 21 Sep 2026" in told
    assert await tab.locator(f'article a[href*="{KEY.url}"]').count() == 0
    assert faults == []


async def test_who_enters_with_a_link_of_nobody_says_who_they_are(chromium, desk):
    await keep(desk)
    tab, faults = await opened(chromium)
    await tab.goto(f"{desk.url}/enter/{await desk.sessions.make_link('editor')}")

    await tab.get_by_label("Your name").fill("Ben")
    await tab.get_by_role("button", name="Enter").click()
    await tab.wait_for_url(f"{desk.url}/")
    await tab.goto(f"{desk.url}{PATH}")
    await field(tab).fill("Olga.")
    await tab.get_by_role("button", name="Save, and use it").click()

    await expect(tab.locator("main")).to_contain_text("Petra, edited by Ben")
    assert faults == []


async def test_of_two_editors_the_second_sees_what_the_first_wrote_beside_their_own_words(chromium, desk):
    await keep(desk)
    ann, _ = await entered(chromium, desk, name="Ann")
    ben, faults = await entered(chromium, desk, name="Ben")
    await ann.goto(f"{desk.url}{PATH}")
    await ben.goto(f"{desk.url}{PATH}")

    await field(ann).fill("Olga has it.")
    await ann.get_by_role("button", name="Save, and use it").click()
    await expect(ann.locator("main")).to_contain_text("edited by Ann")
    await field(ben).fill("Carl has it.")
    await ben.get_by_role("button", name="Save, and use it").click()

    told = ben.get_by_role("alert")
    await expect(told).to_contain_text("Ann changed this answer")
    await expect(told).to_contain_text("Olga has it.")
    await expect(field(ben)).to_have_value("Carl has it.")
    assert (await desk.footnote.answers.get(KEY.id)).text == "Olga has it."

    await ben.get_by_role("button", name="Save, and use it").click()
    await expect(ben.locator("main")).to_contain_text("Petra, edited by Ben")
    await expect(ben.locator(".changes li")).to_have_count(3)
    assert (await desk.footnote.answers.get(KEY.id)).text == "Carl has it."
    assert [fault for fault in faults if "409" not in fault] == []


async def test_who_retires_or_forgets_what_another_changed_meanwhile_is_told_first(chromium, desk):
    await keep(desk)
    ben, _ = await entered(chromium, desk, name="Ben")
    for button in ("Retire", "Forget"):
        await ben.goto(f"{desk.url}{PATH}")
        now = await desk.footnote.answers.get(KEY.id)
        await desk.footnote.answers.edit(now, question=SHED, text=f"Before {button}.", by="Ann")

        await ben.get_by_role("button", name=button).click()

        await expect(ben.get_by_role("alert")).to_contain_text(f"Before {button}.")
        assert (await desk.footnote.answers.get(KEY.id)).state == "used"


async def test_what_is_written_for_an_answer_that_is_forgotten_meanwhile_is_not_lost(chromium, desk):
    await keep(desk)
    tab, _ = await entered(chromium, desk)
    await tab.goto(f"{desk.url}{PATH}")
    await field(tab).fill("Olga has it.")

    await desk.footnote.answers.forget(await desk.footnote.answers.get(KEY.id))
    await tab.get_by_role("button", name="Save, and use it").click()

    await expect(tab.get_by_role("alert")).to_contain_text("was forgotten while you wrote")
    await expect(field(tab)).to_have_value("Olga has it.")


JAPANESE = "艇庫の鍵は港の事務所にあります。\n\n" * 440


@pytest.mark.parametrize(
    "text", [JAPANESE[:7_900].strip(), "The tide decides. \N{WATER WAVE}\n" * 390, "x" * TEXT_LIMIT]
)
async def test_a_long_answer_survives_opening_and_saving_and_nobody_edited_it(chromium, desk, text):
    kept = replace(KEY, text=text.strip())
    await keep(desk, kept)
    tab, faults = await entered(chromium, desk)

    await tab.goto(f"{desk.url}{PATH}")
    await tab.get_by_role("button", name="Save, and use it").click()
    await expect(tab.locator(".changes li")).to_have_count(2)
    after = await desk.footnote.answers.get(KEY.id)

    assert 7_000 < len(kept.text) <= TEXT_LIMIT
    assert (after.text, after.editor) == (kept.text, "")
    assert faults == []


async def test_what_was_typed_stands_there_again_with_everything_that_is_wrong_with_it(chromium, desk):
    tab, _ = await entered(chromium, desk)
    text = "港" * (TEXT_LIMIT + 100)

    await tab.goto(f"{desk.url}/answers")
    await tab.get_by_label("Question", exact=True).fill(" ")
    await field(tab).fill(text)
    await tab.get_by_label("default").check()
    await tab.get_by_role("button", name="Keep this answer").click()

    told = tab.get_by_role("alert")
    await expect(told).to_contain_text("The question is empty.")
    await expect(told).to_contain_text("The answer is too long: 8,100 characters, 8,000 at most.")
    await expect(field(tab)).to_have_value(text)
    await expect(tab.get_by_label("default")).to_be_checked()
    await tab.get_by_label("Question", exact=True).fill("Where is the harbour?")
    await field(tab).fill(text[:TEXT_LIMIT])
    await tab.get_by_role("button", name="Keep this answer").click()
    await expect(tab.locator("[data-row]")).to_have_text("Where is the harbour?")


async def test_a_gap_of_a_private_channel_is_answered_for_that_channel_alone(chromium, desk):
    await log_gap(desk, "q0", PERMIT)
    tab, faults = await entered(chromium, desk)

    await tab.goto(f"{desk.url}/gaps/q0")
    narrowest = tab.get_by_role("radio").first
    await expect(narrowest).to_be_checked()
    await expect(tab.locator(".choices label").first).to_contain_text("#board alone")
    await field(tab).fill("At the town hall, room 3.")
    await tab.get_by_role("button", name="Keep this answer").click()
    await expect(tab.locator(".empty")).to_be_visible()
    library = desk.footnote.library

    assert len(found(library, PERMIT, collections=(BOARD,))) == 1
    assert found(library, PERMIT, collections=("default", "channel-slack-T1-C1")) == []
    assert await marks(desk) == {"q0": "answered"}
    assert faults == []


async def test_a_wider_answer_is_chosen_by_who_sees_its_readers(chromium, desk, tmp_path):
    await log_gap(desk, "q0", PERMIT)
    desk.ingest(tmp_path / "docs", "pier.md", "# Pier\n\nThe pier is long.\n", collection="default")
    desk.ingest(tmp_path / "docs", "pay.md", "# Pay\n\nPay is secret.\n", collection="payroll")
    desk.ingest(tmp_path / "docs", "rules.md", "# Rules\n\nShoes are worn.\n", collection="rules")
    database = desk.channels.database.database
    for name, channel in (("payroll", "C5"), ("rules", "C9")):
        change = AccessChange(opens=(("channel", channel),))
        change_access(database, name, change, known=("payroll", "rules"))
    tab, _ = await entered(chromium, desk)

    await tab.goto(f"{desk.url}/gaps/q0")
    choices = await tab.locator(".choices label").all_inner_texts()
    await tab.get_by_label("default").check()
    await field(tab).fill("At the town hall, room 3.")
    await tab.get_by_role("button", name="Keep this answer").click()
    await expect(tab.locator(".empty")).to_be_visible()

    assert [each.partition("\n")[0].strip() for each in choices] == [
        f"#board alone {BOARD}", "rules read by channel #board", "default read by everyone",
    ]  # fmt: skip
    assert len(found(desk.footnote.library, PERMIT, collections=("default",))) == 1


async def test_an_answer_for_one_channel_leaves_the_question_of_another_open(chromium, desk):
    await log_gap(desk, "q0", PERMIT)
    await log_gap(desk, "q1", PERMITS, channel="C1", at=NOON + 1)
    await log_gap(desk, "q2", PERMIT, at=NOON + 2)
    tab, _ = await entered(chromium, desk)

    await tab.goto(f"{desk.url}/gaps/q0")
    await expect(tab.locator(".choices label").first).to_contain_text("#board alone")
    await expect(tab.locator(".choices label").first).to_contain_text("2 of 3 questions")
    await field(tab).fill("At the town hall, room 3.")
    await tab.get_by_role("button", name="Keep this answer").click()
    await expect(tab.locator("[data-row]")).to_have_count(1)
    await tab.locator("[data-row]").click()

    await expect(tab.locator("table.list tbody tr").first).to_contain_text(PERMITS)
    await expect(tab.locator(".choices label").first).to_contain_text("#help alone")
    assert await marks(desk) == {"q0": "answered", "q2": "answered"}


@pytest.mark.parametrize("button", ["Ignore", "It is answered now"])
async def test_a_decision_is_about_the_questions_that_were_shown(chromium, desk, button):
    await log_gap(desk, "q0", PERMIT)
    tab, _ = await entered(chromium, desk)
    await tab.goto(f"{desk.url}/gaps/q0")

    await log_gap(desk, "q1", PERMITS, at=NOON + 30)
    await tab.get_by_role("button", name=button).click()
    await tab.wait_for_url("**/gaps?*")

    await expect(tab.locator("[data-row]")).to_have_count(1)
    await expect(tab.locator("table.list tbody tr")).to_contain_text("1 not decided")
    assert list(await marks(desk)) == ["q0"]


async def test_of_two_who_answer_a_gap_the_second_sees_the_first_answer_and_keeps_their_words(chromium, desk):
    await log_gap(desk, "q0", PERMIT)
    ann, _ = await entered(chromium, desk, name="Ann")
    ben, _ = await entered(chromium, desk, name="Ben")
    await ann.goto(f"{desk.url}/gaps/q0")
    await ben.goto(f"{desk.url}/gaps/q0")

    await field(ann).fill("At the town hall, room 3.")
    await ann.get_by_role("button", name="Keep this answer").click()
    await expect(ann.locator(".empty")).to_be_visible()
    await field(ben).fill("Online, with your badge.")
    await ben.get_by_role("button", name="Keep this answer").click()

    await expect(ben.get_by_role("alert")).to_contain_text("decided after you opened this page")
    await expect(ben.locator("main")).to_contain_text("Ann: answered")
    await expect(ben.locator("blockquote")).to_have_text("At the town hall, room 3.")
    await expect(field(ben)).to_have_value("Online, with your badge.")
    assert [each.answer.text for each in await desk.footnote.answers.list_answers()] == [
        "At the town hall, room 3."
    ]


async def test_a_gap_is_open_again_once_what_answered_it_is_used_no_more(chromium, desk):
    await log_gap(desk, "q0", PERMIT)
    tab, _ = await entered(chromium, desk)
    await tab.goto(f"{desk.url}/gaps/q0")
    await field(tab).fill("At the town hall, room 3.")
    await tab.get_by_role("button", name="Keep this answer").click()
    await expect(tab.locator(".empty")).to_be_visible()

    await tab.get_by_role("link", name="Answers").click()
    await tab.get_by_role("link", name=PERMIT).click()
    await tab.get_by_role("button", name="Retire").click()
    await expect(tab.get_by_role("button", name="Use it again")).to_be_visible()
    await tab.get_by_role("link", name="Gaps").click()

    await expect(tab.locator("[data-row]")).to_have_text(PERMIT)


async def test_a_kept_answer_is_given_for_its_question_and_not_for_one_that_only_looks_like_it(
    chromium, desk
):
    ethanol = "What is the boiling point of ethanol?"
    await keep(
        desk, replace(KEY, question=ethanol, text="78.4 degrees; use the oil bath.", collection="default")
    )
    tab, faults = await entered(chromium, desk)

    given = await ask(tab, desk, ethanol)
    not_given = await ask(tab, desk, "What is the boiling point of mercury?")

    assert "Petra, in #help" in given
    assert "did not find this" in not_given
    assert faults == []


async def test_of_two_answers_that_differ_the_newer_is_given_and_the_older_one_named(chromium, desk):
    old = replace(
        KEY,
        question="Where does broken glass go?",
        text="Into the blue bin by the door.",
        collection="default",
    )
    new = replace(
        old, id=id_of("2"), message="2", name="Ann", question="Where do I put broken glass?",
        text="Into the container in the yard; the bin by the door is gone.", said_at=NOON,
    )  # fmt: skip
    await keep(desk, old)
    await keep(desk, new)
    tab, _ = await entered(chromium, desk)

    for question in (old.question, new.question):
        told = await ask(tab, desk, question)

        assert told.index("container in the yard") < told.index("Into the blue bin")
        assert "what was changed last comes first" in told
        assert ("Ann, in #help" in told, "Petra, in #help" in told) == (True, True)


async def test_no_form_has_a_fault_that_axe_finds(chromium, desk):
    await keep(desk)
    await log_gap(desk, "q0", PERMIT)
    tab, _ = await entered(chromium, desk, bypass_csp=True)

    async def check(name):
        assert await audited(tab, ("light", 1280), ("dark", 390)) == {}, name

    for path in ("/answers", PATH, "/gaps/q0"):
        await tab.goto(f"{desk.url}{path}")
        await check(path)
        await field(tab).fill("x" * (TEXT_LIMIT + 1))
        if path == "/answers":
            await tab.get_by_label("Question", exact=True).fill("Where?")
            await tab.get_by_label("default").check()
        await tab.locator(".asking button.primary").click()
        await expect(tab.get_by_role("alert")).to_be_visible()
        await check(f"{path} refused")
    await tab.goto(f"{desk.url}{PATH}")
    now = await desk.footnote.answers.get(KEY.id)
    await desk.footnote.answers.edit(now, question=SHED, text="Olga.", by="Ann")
    await field(tab).fill("Carl.")
    await tab.locator(".asking button.primary").click()
    await check("changed meanwhile")
    await tab.goto(f"{desk.url}/enter/{await desk.sessions.make_link('editor')}")
    await check("enter")
