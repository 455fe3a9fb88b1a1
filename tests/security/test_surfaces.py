"""Canaries on every surface: the views of the page, its exports, kept answers, the digests of gaps, and the terminal.

:mod:`test_access` has the answers themselves.
"""

from __future__ import annotations

import io
import time
from random import Random
from urllib.parse import quote, urlencode

import pytest
from fakes.crews import People, ask_on_page, fill, is_direct, is_shared, name, secret
from fakes.desk import open_desk, plain_paths

from bots.digest import GapDigests, Week, channels_of, digest_of, in_slack
from bots.record import write_gaps, write_questions
from core.conversation import Conversation, Question
from core.gaps.questions import TimeSpan
from core.traces.search import QuestionFilter, search

SAMPLE = 12  # turns, documents and answers that a reader looks at besides what the lists show


def collection(w, c):
    return f"crew-{w}-{c}"


async def fill_log(desk, random, size, count):
    """Questions of which some quote a canary that their channel may read, and are not answered; ratings; answers."""
    workspaces, channels, _ = size
    turns = []
    for number in range(count):
        w, c, d = (random.randrange(each) for each in size)
        channel = random.choice((f"C{c}", f"D{c}"))
        here = Conversation(platform="slack", space=f"T{w}", channel=channel, thread=f"t{number % 3}")
        texts = (
            f"What is the passphrase of the {name(w, c, d)} mooring?",
            f"Whom may I tell that {secret(w, c, d)} opens the door of {name(w, c, d)}?",
            f"What is the passphrase of the {name((w + 1) % workspaces, c, d)} mooring?",
        )
        asked = Question(
            id=f"slack/T{w}/{channel}/{number}", conversation=here, author=f"U{c}", text=random.choice(texts),
            asked_at=time.time(),
        )  # fmt: skip
        await desk.footnote.assistant.run(asked)
        turns.append(asked.id)
        if number % 5 == 0:
            await desk.footnote.log.rate(asked.id, f"U{c}", is_positive=False, at=time.time())
            await desk.footnote.log.explain(asked.id, f"U{c}", "wrong", f"It is {secret(w, c, d)}.")
    for w in range(workspaces):
        for c in range(channels):
            answer = await desk.footnote.answers.correct(
                question=f"Who guards {name(w, c, 0)}?", text=f"Ask for {secret(w, c, 0)}.",
                collection=collection(w, c), name="Bob", message=f"m-{w}-{c}",
            )  # fmt: skip
            elsewhere = f"/{(w + 1) % workspaces}/{c}/0.md"  # of another workspace's collection
            await desk.footnote.answers.note_dispute(f"answer:{answer.id}", [elsewhere])
    return turns


def paths_of(random, size, turns, answers, groups):
    """What a reader opens: all lists, and single things that may be anybody's."""
    workspaces, channels, documents = size
    places = [(w, c, d) for w in range(workspaces) for c in range(channels) for d in range(documents)]

    def some(these):
        return random.sample(these, min(SAMPLE, len(these)))

    yield from plain_paths()
    yield from ("/answers?show=disputed", "/questions?text=passphrase", "/questions?rated=down")
    yield from ("/gaps?state=all", "/feedback?state=all", "/answers?text=passphrase", "/gaps?text=passphrase")
    yield from (f"/questions/{quote(turn, safe='')}" for turn in some(turns))
    yield from (f"/gaps/{quote(turn, safe='')}" for turn in some(groups))
    yield from (f"/answers/{quote(each, safe='')}" for each in some(answers))
    for w, c, d in some(places):
        named = {"collection": collection(w, c), "address": f"/{w}/{c}/{d}.md"}
        yield f"/sources/document?{urlencode(named)}"
        yield f"/sources?{urlencode({'try': f'passphrase of the {name(w, c, d)} mooring'})}"
        yield f"/sources?{urlencode({'collection': collection(w, c), 'try': name(w, c, d)})}"
        yield f"/questions?{urlencode({'text': secret(w, c, d)})}"
        yield f"/sources/document?{urlencode({'collection': collection(w, c), 'source': f'/{w}/{c}/{d}.md'})}"
        yield f"/sources/access?{urlencode({'collection': collection(w, c)})}"
        yield f"/sources?{urlencode({'collection': collection(w, c), 'use': 'cited'})}"


def without_what_was_typed(path, page):
    """A page shows again what was typed into its own form."""
    return page.replace(path.rpartition("text=")[2], "") if "text=" in path else page


@pytest.mark.parametrize(
    ("size", "count"), [((2, 2, 2), 40), pytest.param((5, 20, 50), 2_000, marks=pytest.mark.long)]
)
async def test_no_reader_of_the_page_and_no_digest_shows_a_canary_of_another_crew(size, count, tmp_path):
    """``size``: workspaces, channels of each, documents of each channel's collection."""
    workspaces, channels, documents = size
    random, looked, told, across = Random(11), 0, 0, []
    async with open_desk(tmp_path, web_search="duckduckgo") as desk:
        desk.channels.people["slack"] = People()
        fill(desk.footnote, desk.channels, *size)
        turns = await fill_log(desk, random, size, count)
        secrets = {
            secret(w, c, d): (w, c)
            for w in range(workspaces)
            for c in range(channels)
            for d in range(documents)
        }
        report = await desk.gaps.report(desk.gaps.last(3600))
        groups = [each.id for each in report.groups]
        answers = [each.answer.id for each in await desk.footnote.answers.list_answers()]
        for own in sorted(set(secrets.values())):
            browser = await desk.browser("editor", collections=frozenset({collection(*own)}))
            foreign = random.choice([word for word, place in secrets.items() if place != own])
            place = next(each for each in places(size) if secret(*each) == foreign)
            asked = await ask_on_page(desk, browser, f"What is the passphrase of the {name(*place)} mooring?")
            pages = [("ask", asked)]
            for path in paths_of(random, size, turns, answers, groups):
                _, page = await browser.get(path)
                pages.append((path, without_what_was_typed(path, page)))
            looked += len(pages)
            for path, page in pages:
                found = {place for word, place in secrets.items() if word in page}
                told += own in found
                across += [(own, path, place) for place in found - {own}]
                across += [
                    (own, path, each) for each in set(secrets.values()) - {own} if is_named(path, page, *each)
                ]
        digests = [(own, await digest(desk, own)) for own in sorted(set(secrets.values()))]
        across += [
            (own, "digest", place)
            for own, shown in digests
            for word, place in secrets.items()
            if word in shown and place != own
        ]

    print(
        f"{looked} pages of {workspaces * channels} readers, {told} with own canaries, {len(across)} across"
    )
    assert across == []
    assert told >= workspaces * channels * 3
    assert sum(secret(*own, d) in shown for own, shown in digests for d in range(documents)) > 0


def is_named(path, page, w, c):
    """Whether a page tells that there is another crew's collection, or a document in it."""
    names = (f"{collection(w, c)}<", f">{collection(w, c)}")
    return any(each in page for each in names) or (path.startswith("/answers") and f"/{w}/{c}/0.md" in page)


def places(size):
    return [(w, c, d) for w in range(size[0]) for c in range(size[1]) for d in range(size[2])]


async def digest(desk, own):
    """What the channel of a crew is shown of the gaps of this hour, and who might read what in it."""
    w, c = own
    (channel,) = channels_of("slack", [f"slack/T{w}/C{c}"])
    digests = GapDigests(
        channels=[channel], target=in_slack, is_private=is_direct, is_shared=is_shared, messages=None, finder=desk.gaps,
        channel_store=desk.channels, library=desk.footnote.library,
    )  # fmt: skip
    now = desk.gaps.now()

    async def may_read(questions):
        return await digests._readable(channel, questions)

    return digest_of(await desk.gaps.report(TimeSpan(since=now - 3600, until=now + 1), may_read), Week())


async def test_the_tables_of_the_terminal_quote_no_document(tmp_path):
    """Whoever has the terminal may read everything; the tables go further, so they hold people's words alone."""
    size = (2, 2, 2)
    async with open_desk(tmp_path, web_search="duckduckgo") as desk:
        desk.channels.people["slack"] = People()
        fill(desk.footnote, desk.channels, *size)
        for number, (w, c, d) in enumerate(places(size)):
            here = Conversation(platform="slack", space=f"T{w}", channel=f"C{c}", thread="t")
            for text in (
                f"What is the passphrase of the {name(w, c, d)} mooring?",
                f"When will the regatta of {name(w, c, d)} be rescheduled?",
            ):
                asked = Question(
                    id=f"q{number}{text[:3]}",
                    conversation=here,
                    author=f"U{c}",
                    text=text,
                    asked_at=time.time(),
                )
                await desk.footnote.assistant.run(asked)
        table = io.StringIO()
        write_questions(table, await search(desk.footnote.log, QuestionFilter()))
        write_gaps(table, (await desk.gaps.report(desk.gaps.last(3600))).groups)

    assert len(table.getvalue().splitlines()) > len(places(size)) * 2
    assert not [place for place in places(size) if secret(*place) in table.getvalue()]
