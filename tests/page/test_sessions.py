"""Who is in: when and where each session was used last, how it ends, and who may end those of others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.desk import Browser, cookie_at, open_desk
from fakes.ports import free_port

from bots.page.sessions import (
    NOTED_EVERY,
    SESSION_LIFE,
    UNUSED_LIFE,
    PageSessions,
    describe_client,
)
from bots.page.settings import PageSettings

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1 Version/19.0 Mobile Safari/604.1"
EDGE = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0"


@pytest.fixture
async def desk(tmp_path):
    async with open_desk(tmp_path) as desk:
        yield desk


def id_in(page, name):
    """Of the session whose button names this person."""
    before = page.partition(f'aria-label="End the session of {name}"')[0]
    return before.rpartition('value="')[2].partition('"')[0]


async def later(desk, seconds, cookie, **more):
    sessions = replace(desk.sessions, now=lambda: desk.sessions.now() + seconds)
    return await sessions.find(cookie.partition("=")[2], **more)


async def test_an_editor_of_everything_sees_who_is_in_from_where_and_ends_one(desk):
    ann, bob = await desk.browser(name="Ann"), await desk.browser("reader", name="Bob")
    bob.headers["User-Agent"] = SAFARI
    await bob.get("/questions")

    status, shown = await ann.get("/sessions")
    ended = await ann.post("/sessions", session=id_in(shown, "Bob"))

    assert status == 200
    assert ("Safari on iOS, 127.0.0.1" in shown, "this one" in shown) == (True, True)
    assert (ended[0], ended[2]["Location"]) == (303, "/sessions?done=ended")
    assert [(await each.get("/questions"))[0] for each in (ann, bob)] == [200, 401]


async def test_all_others_are_ended_at_once(desk):
    ann, *others = [await desk.browser(name=name) for name in ("Ann", "Bob", "Eve")]

    await ann.post("/sessions", session="others")

    assert [(await each.get("/questions"))[0] for each in (ann, *others)] == [200, 401, 401]


@pytest.mark.parametrize(
    "limits", [{"role": "reader"}, {"role": "editor", "collections": frozenset({"default"})}]
)
async def test_whoever_has_a_limit_sees_and_ends_no_session_of_others(desk, limits):
    ann, limited = await desk.browser(name="Ann"), await desk.browser(name="Lim", **limits)
    _, all_of_them = await ann.get("/sessions")
    _, shown = await limited.get("/sessions")

    replies = [
        await limited.post("/sessions", session=each) for each in ("others", id_in(all_of_them, "Lim"))
    ]

    assert ("Lim" in shown, "Ann" in shown) == (True, False)
    assert [status for status, _, _ in replies] == [403, 403]
    assert (await ann.get("/"))[0] == 200


async def test_a_session_that_is_not_there_any_more_is_told(desk):
    ann = await desk.browser()

    replies = [(await ann.post("/sessions", session=each))[0] for each in ("", "0" * 12)]

    assert replies == [404, 404]


async def test_a_session_ends_a_week_after_its_last_look_and_after_a_month(desk):
    unused, used = await desk.browser(), await desk.browser()
    step, days = UNUSED_LIFE - 60, 0.0

    assert await later(desk, UNUSED_LIFE + 1, unused.cookie) is None
    while days + step < SESSION_LIFE:
        days += step
        assert await later(desk, days, used.cookie) is not None
    assert await later(desk, SESSION_LIFE + 1, used.cookie) is None


async def test_looks_within_a_minute_from_one_place_are_noted_once(desk):
    browser, written = await desk.browser(), []
    database = desk.sessions.database

    class Watched:
        rows = staticmethod(database.rows)

        @staticmethod
        async def write(query, values):
            written.append(query)
            return await database.write(query, values)

    for after, client in ((1, "here"), (2, "here"), (3, "there"), (4 + NOTED_EVERY, "there")):
        sessions = PageSessions(database=Watched, now=lambda after=after: desk.sessions.now() + after)
        await sessions.find(browser.cookie.partition("=")[2], client=client)

    assert len(written) == 3


async def test_behind_a_proxy_the_place_is_the_persons_address(tmp_path):
    page = PageSettings(port=free_port(), url="https://page.example")
    async with open_desk(tmp_path, page) as desk:
        here = Browser(f"http://127.0.0.1:{page.port}")
        path = desk.link.removeprefix("https://page.example")
        by_tls = {"Host": "page.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7",
                  "User-Agent": FIREFOX, "Origin": "https://page.example"}  # fmt: skip
        await here.send("POST", path, headers=by_tls, data={"name": "Ann"})
        (session,) = await desk.sessions.listed()

    assert session.client == "Firefox on Linux, 203.0.113.7"


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        (FIREFOX, "Firefox on Linux"),
        (SAFARI, "Safari on iOS"),
        (EDGE, "Edge on Windows"),
        ("curl/8.5.0", "another program"),
        ("", "another program"),
    ],
)
def test_a_browser_is_named_as_people_name_it(agent, told):
    assert describe_client(agent, "") == told


def test_a_cookies_name_has_the_port():
    assert cookie_at("http://127.0.0.1:8467") == "footnote_page_8467"
