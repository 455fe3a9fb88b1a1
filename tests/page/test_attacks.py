"""Attacks on the operators' page: every request is counted, and none gets through."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from ipaddress import ip_network
from itertools import product
from urllib.parse import quote

import pytest
from fakes.desk import NOON, Browser, Inspection, answered, asked, cookie_at, open_desk, proposed, traced
from fakes.hostile import BIDI, HOSTILE_HTML
from fakes.ports import free_port

from bots.chat.access import AccessChange, change_access
from bots.page.server import HEADERS, HSTS, SECURE_COOKIE
from bots.page.sessions import LIMIT
from bots.page.settings import PageSettings, read_page_settings
from core.conversation import Conversation, Progress, Question
from core.errors import SettingsError

WORDS = "When does the ferry leave?"
GETS = ("/", "/ask", "/questions", "/questions/q1", "/questions?text=ferry", "/threads/{thread}", "/threads/{thread}/events",
        "/threads/{thread}/turns/{turn}", "/feedback", "/sources/access?collection=default")  # fmt: skip
POSTS = (
    "/feedback/q1",
    "/sources/access?collection=default",
    "/threads",
    "/threads/{thread}",
    "/threads/{thread}/decision",
    "/threads/{thread}/forget",
    "/leave",
)
FIELDS = {"text": "Is it free?", "proposal": "p1", "verdict": "approve"}
EVERYTHING = Conversation(platform="page", space="local", channel="everything", thread="0123456789ab")


@pytest.fixture
async def desk(tmp_path):
    async with open_desk(tmp_path) as desk:
        await desk.footnote.log.record(asked(text=WORDS), answered(), traced())
        question = Question(id="page-1", conversation=EVERYTHING, author="editor", text=WORDS, asked_at=NOON)
        await desk.threads.put(question)
        await desk.threads.end(question.id, answered("page-1", proposal=proposed(turn="page-1")))
        yield desk


def filled(path):
    return path.format(thread=EVERYTHING.thread, turn="page-1")


async def is_untouched(desk) -> bool:
    """Whether nothing was asked, decided or forgotten."""
    turns = await desk.threads.turns(EVERYTHING)
    threads = await desk.threads.recent(EVERYTHING.channel_id)
    return [held.turn.id for held in turns] == ["page-1"] and len(threads) == 1


async def test_nobody_comes_in_without_a_cookie_of_a_session(desk):
    token = desk.link.rpartition("/")[2]
    ended = await desk.browser()
    await ended.post("/leave")
    digest = (await desk.sessions.find((await desk.browser()).cookie.partition("=")[2])).digest
    name = cookie_at(desk.url)
    cookies = (
        "", f"{name}=", f"{name}={'A' * 43}", f"{name}={token}", f"{name}={digest}", ended.cookie,
        f"{name}=' OR 1=1 --", f"{name}=%00", f"{SECURE_COOKIE}={'B' * 43}", "session=1; admin=true",
        f"{name}={'x' * 4_000}",
    )  # fmt: skip
    requests = [("GET", path) for path in GETS] + [("POST", path) for path in POSTS]

    through = []
    for cookie, (method, path) in product(cookies, requests):
        headers = {"Origin": desk.url, **({"Cookie": cookie} if cookie else {})}
        data = FIELDS if method == "POST" else None
        status, page, _ = await Browser(desk.url).send(method, filled(path), headers=headers, data=data)
        if status not in (401, 429) or "ferry" in page.lower() or "half past nine" in page:
            through.append((cookie[:40], method, path, status))

    assert len(cookies) * len(requests) == 187
    assert through == []
    assert await is_untouched(desk)


async def test_a_change_from_another_origin_changes_nothing(desk):
    port = desk.url.rpartition(":")[2]
    origins = (
        None, "null", "https://evil.example", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{int(port) - 1}",
        "http://127.0.0.1", f"http://localhost:{port}", f"{desk.url}.evil.example", f"http://evil.example/{desk.url}",
        f"{desk.url}/", desk.url.upper(), f" {desk.url} x",
    )  # fmt: skip
    editor = await desk.browser()

    through = []
    for origin, path in product(origins, POSTS):
        headers = {"Origin": origin} if origin is not None else {}
        status, _, _ = await editor.send("POST", filled(path), headers=headers, data=FIELDS)
        if status != 403:
            through.append((origin, path, status))

    assert len(origins) * len(POSTS) == 84
    assert through == []
    assert await is_untouched(desk)


async def test_a_name_that_leads_here_but_is_not_ours_is_turned_away(desk):
    editor = await desk.browser()
    names = (
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "0x7f000001.evil",
        "[::2]",
        "a@b@c",
        "",
    )

    replies = [
        await editor.get(path, headers={"Host": name}) for name, path in product(names, ("/", "/questions"))
    ]

    assert [status for status, _ in replies] == [421] * 14


async def test_readiness_and_figures_are_for_this_machine_by_its_own_name(desk):
    """A page of another site can lead its name to this machine, and have the operator's browser ask."""
    stranger, editor = Browser(desk.url), await desk.browser()
    rebound, forwarded = {"Host": "evil.example"}, {"X-Forwarded-For": "203.0.113.7"}
    paths = ("/readyz", "/metrics")

    here = [(await stranger.get(path))[0] for path in paths]
    elsewhere = [
        (await browser.get(path, headers=each))[0]
        for browser, path, each in product((stranger, editor), paths, (rebound, forwarded))
    ]
    live = await stranger.get("/healthz", headers=rebound)
    *_, headers = await stranger.send("GET", "/metrics")

    assert here == [200, 200]
    assert (
        headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    )  # as Prometheus asks for its format
    assert elsewhere == [401] * 2 + [401] * 2 + [401, 200] * 2  # who is in may ask through a proxy
    assert live == (200, "ok\n")


async def test_a_named_address_may_ask_for_readiness_by_any_name(tmp_path):
    page = PageSettings(port=0, probes=(ip_network("127.0.0.0/8"),))
    async with open_desk(tmp_path, page) as desk:
        probed = [
            (await Browser(desk.url).get(path, headers={"Host": "10.0.0.9:8467"}))[0]
            for path in ("/readyz", "/metrics", "/")
        ]

    assert probed == [200, 200, 421]


async def test_two_pages_on_one_machine_do_not_log_each_other_out(desk):
    """A browser sends both cookies to both: cookies know no ports."""
    entered = await Browser(desk.url).post(desk.link.removeprefix(desk.url), name="Ann")
    own = entered[2]["Set-Cookie"].partition(";")[0]
    other = f"{cookie_at('http://127.0.0.1:1')}=of-another"

    both = await Browser(desk.url, cookie=f"{other}; {own}").get("/")
    _, _, refused = await Browser(desk.url, cookie=f"{other}; {cookie_at(desk.url)}=wrong").send("GET", "/")

    assert both[0] == 200
    assert own.partition("=")[0] != other.partition("=")[0]
    assert refused["Set-Cookie"].startswith(f'{own.partition("=")[0]}="";')


async def test_a_link_for_reading_changes_nothing(desk):
    reader = await desk.browser("reader")

    replies = [await reader.post(filled(path), **FIELDS) for path in POSTS if path != "/leave"]

    assert [status for status, _, _ in replies] == [403] * 6
    assert await is_untouched(desk)


async def test_a_link_lets_one_browser_in_once(desk):
    path = desk.link.removeprefix(desk.url)
    looked = [await Browser(desk.url).get(path) for _ in range(5)]

    entered = await asyncio.gather(*(Browser(desk.url).post(path, name="Ann") for _ in range(8)))
    statuses = sorted(status for status, _, _ in entered)

    assert [status for status, _ in looked] == [200] * 5
    assert statuses == [303] + [401] * 7
    assert (await Browser(desk.url).get(path))[0] == 401


async def test_who_may_edit_says_who_they_are(desk):
    path = desk.link.removeprefix(desk.url)

    nameless = [await Browser(desk.url).post(path, name=name) for name in ("", "  ", "\u202e\u200b")]
    named = await Browser(desk.url).post(path, name="Ann")

    assert [(status, "Your name" in page) for status, page, _ in nameless] == [(422, True)] * 3
    assert named[0] == 303


async def test_a_link_that_is_too_old_lets_nobody_in(desk):
    later = replace(desk.sessions, now=lambda: desk.sessions.now() - 16 * 60)
    old = await later.make_link("editor")

    assert (await Browser(desk.url).get(f"/enter/{old}"))[0] == 401
    assert (await Browser(desk.url).post(f"/enter/{old}"))[0] == 401


async def test_an_address_has_ten_wrong_tries_a_minute(desk):
    stranger, editor = Browser(desk.url), await desk.browser()

    tries = [await stranger.send("GET", f"/enter/{number:043}") for number in range(LIMIT + 5)]
    status, _, headers = tries[-1]

    assert [status for status, _, _ in tries] == [401] * LIMIT + [429] * 5
    assert status == 429
    assert 0 < int(headers["Retry-After"]) <= 60
    assert (await editor.get("/"))[0] == 200  # who is in stays in, whatever others try at the same address
    assert (await Browser(desk.url).get(desk.link.removeprefix(desk.url)))[
        0
    ] == 200  # and a right link is right


async def test_pictures_on_another_site_do_not_use_up_the_tries_of_an_operator(desk):
    stranger, editor = Browser(desk.url), await desk.browser()
    picture = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}

    tries = [
        await stranger.send("GET", f"/enter/{number:043}", headers=picture) for number in range(LIMIT + 5)
    ]
    entered, _, _ = await stranger.send("GET", desk.link.removeprefix(desk.url), headers=followed)

    assert [status for status, _, _ in tries] == [403] * (LIMIT + 5)
    assert entered == 200
    assert (await editor.get("/"))[0] == 200


async def test_every_reply_has_the_headers(desk):
    editor = await desk.browser()
    paths = (
        "/",
        "/questions",
        "/nothing",
        "/healthz",
        "/readyz",
        "/metrics",
        "/static/page.css",
        "/static/none",
    )

    for path in paths:
        _, _, headers = await editor.send("GET", path)
        assert HEADERS.items() <= dict(headers).items(), path
        assert ("no-store" in headers["Cache-Control"]) == (path != "/static/page.css")
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


async def test_a_form_of_a_megabyte_is_refused(desk):
    editor = await desk.browser()

    status, page, _ = await editor.post("/threads", text="x" * 1_000_000)

    assert status == 413
    assert "x" * 100 not in page


async def test_hostile_text_in_every_field_stays_text(desk):
    """Each text stands in every field that the page shows: as a question, in its trace, in a thread and in filters."""
    editor, pages = await desk.browser(name="<script>alert(1)</script>\u202e"), []
    for number, text in enumerate(HOSTILE_HTML):
        turn = f"h{number}-{text[:60]}"
        question = asked(turn, text, channel=text[:200].replace("/", "-"), author=text[:200])
        await desk.footnote.log.record(
            question, answered(turn, text, source=text[:300], model=text[:100]),
            traced(text, id=text[:50], source=text[:300], title=text),
        )  # fmt: skip
        await desk.footnote.log.rate(turn, text[:200], is_positive=False, at=NOON)
        thread = Conversation(platform="page", space="local", channel="everything", thread=f"{number:012x}")
        said = Question(id=f"page-h{number}", conversation=thread, author=text, text=text, asked_at=NOON)
        await desk.threads.put(said)
        if number % 2:
            await desk.threads.note(said.id, text, Progress(stage="reading"))
        else:
            await desk.threads.end(said.id, answered(said.id, text, proposal=proposed(text, said.id)))
        short = quote(text[:300], safe="")[:1_500]
        paths = [f"/questions/{quote(turn, safe='')}", f"/threads/{thread.thread}", f"/threads/{short}",
                 f"/questions?text={short}&channel={short}&author={short}&since={short}&before={short}&rated={short}",
                 f"/threads/{thread.thread}/turns/{said.id}"]  # fmt: skip
        pages += [(number, path, *await editor.get(path)) for path in paths]
    pages += [(-1, path, *await editor.get(path)) for path in ("/", "/ask", "/questions")]

    assert len(pages) == 5 * len(HOSTILE_HTML) + 3
    assert {status for _, _, status, _ in pages} <= {200, 404}
    shown = [
        (number, path[:60], status) for number, path, status, _ in pages if path.startswith("/questions/")
    ]
    assert [status for _, _, status in shown] == [200] * len(HOSTILE_HTML)
    for number, path, _, page in pages:
        assert Inspection(page).faults == [], (number, path[:60])
        assert BIDI.search(page) is None
        assert len(page) < 500_000
    assert "49" not in Inspection(pages[6 * 5][3]).words


async def test_what_a_session_may_not_read_is_on_no_page(desk, tmp_path):
    desk.ingest(
        tmp_path / "pay", "pay.md", "# Payroll\n\nThe master earns ninety thousand.\n", collection="pay"
    )
    desk.ingest(tmp_path / "open", "open.md", "# Ferry\n\nIt leaves at nine.\n", collection="default")
    conversation = asked("pay-1").conversation
    opened = AccessChange(opens=(("channel", conversation.channel_id),))
    change_access(desk.channels.database.database, "pay", opened, known=["default", "pay"])
    assert await desk.channels.use(conversation, "ann", "pay", desk.footnote.library)
    await desk.footnote.log.record(
        asked("pay-1", "What does the master earn?"),
        answered("pay-1", "Ninety thousand. [1]", collection="pay", source="pay.md"),
        traced("Ninety thousand. [1]", collection="pay", source="pay.md"),
    )
    reader = await desk.browser(collections=frozenset({"default"}))
    allowed = await desk.browser(collections=frozenset({"default", "pay"}))
    paths = ("/questions", "/questions/pay-1", "/questions?text=earn", "/questions?text=thousand")

    closed = [await reader.get(path) for path in paths]
    open_to = [await allowed.get(path) for path in paths[:3]]

    for status, page in closed:
        assert status == 200
        assert "master" not in page
        assert "inety" not in page
    assert all("master" in page for _, page in open_to)
    assert (await reader.get(f"/threads/{EVERYTHING.thread}"))[0] == 404


async def test_off_loopback_only_a_trusted_proxy_that_ends_tls_comes_through(tmp_path):
    port = free_port()
    page = PageSettings(
        host="0.0.0.0", port=port, url="https://page.example", proxies=(ip_network("127.0.0.1"),)
    )
    async with open_desk(tmp_path, page) as desk:
        here, path = Browser(f"http://127.0.0.1:{port}"), desk.link.removeprefix("https://page.example")
        named = {"Host": "page.example"}
        by_tls = {**named, "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}

        refused = [
            await here.get(path, headers=each) for each in ({}, named, {**named, "X-Forwarded-Proto": "http"})
        ]
        other_host = await here.get(path, headers={**by_tls, "Host": f"127.0.0.1:{port}"})
        entered = await here.send(
            "POST", path, headers={**by_tls, "Origin": "https://page.example"}, data={"name": "Ann"}
        )
        cookie = entered[2]["Set-Cookie"]
        inside = await here.get("/", headers={**by_tls, "Cookie": cookie.partition(";")[0]})
        figures = await here.get("/metrics", headers=by_tls)

    assert [status for status, _ in refused] == [403] * 3
    assert other_host[0] == 421
    assert entered[0] == 303
    assert cookie.startswith(f"{SECURE_COOKIE}=")
    assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert inside[0] == 200
    assert figures[0] == 401
    assert entered[2]["Strict-Transport-Security"] == HSTS


@pytest.mark.parametrize("listen", ["0.0.0.0:80", "192.0.2.1:8000", "[::]:80", "page.example:8467"])
def test_off_loopback_it_is_not_served_without_tls_in_front(listen):
    with pytest.raises(SettingsError, match="needs TLS in front: set PAGE_URL=https"):
        read_page_settings(listen, {}, None)

    assert (
        read_page_settings(listen, {"PAGE_URL": "https://page.example"}, None).url == "https://page.example"
    )


@pytest.mark.parametrize("listen", ["8467", "127.0.0.1:8467", "[::1]:8467", "localhost:8467"])
def test_on_loopback_it_needs_nothing(listen):
    assert read_page_settings(listen, {}, None).is_on_loopback
