"""Odd requests of somebody who is in: each is answered or refused, and none is a fault of ours, on both databases."""

from __future__ import annotations

import gzip
import re
from itertools import product
from urllib.parse import quote

import pytest
from fakes.desk import NOON, answered, asked, open_desk, proposed, traced

from bots.page.site import FORM
from bots.page.views import VIEWS
from core.conversation import Conversation, Question

ODD = (
    "\0", "a\0b", "\ud800", "\x1b[31m", "\u202e", "99999999999999999999", "-1", "1e999", "NaN", "\u0663", "..", "a/b",
    "' OR 1=1 --", "%", "{}", "[", "\r\n", "x" * 3_000, "null", "7d\0",
)  # fmt: skip
RAW = ("%FF", "%ED%A0%80", "%", "%zz", "%00", "+", "&&==&", "=")  # as no browser writes them
QUERIES = ("text", "outcome", "rated", "kind", "channel", "author", "since", "before", "state", "collection",
           "address", "source", "from", "days", "show", "after", "page", "try")  # fmt: skip
TYPES = (
    "application/x-www-form-urlencoded; charset=nope", "application/x-www-form-urlencoded; charset=utf-16",
    'application/x-www-form-urlencoded; charset="', "multipart/form-data", "multipart/form-data; boundary=",
    "multipart/form-data; boundary=x", "multipart/mixed; boundary=x", "text/plain", "application/json", "/", "",
)  # fmt: skip
BODIES = (
    b"", b"text=%00", b"text=\x00", b"text=\xff\xfe", b"text=%FF", b"%00=1", b"text=a&text=%00b", b"--x\r\n\r\n",
    b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\na\x00b\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="text"; filename="a"\r\n\r\na\r\n--x--\r\n',
    b"--x\r\nContent-Transfer-Encoding: nope\r\n\r\na\r\n--x--\r\n", b"&" * 5_000, b"a=1&" * 5_000, b"{}",
)  # fmt: skip
PACKED = (b"no gzip", b"\x1f\x8b\x08 no gzip either", gzip.compress(b"text=a")[:-9])
EVERY = [
    11,
    pytest.param(1, marks=pytest.mark.long),
]  # of so many requests one: a prime, so that all parts occur
PAGE = Conversation(platform="page", space="local", channel="everything", thread="0123456789ab")
PART = re.compile(r"\{(\w+)(?::[^}]*)?\}")
KNOWN = {"thread": PAGE.thread, "turn": "q1", "id": "a1"}


@pytest.fixture(params=["folder", "postgresql"])
async def editor(request, tmp_path):
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    async with open_desk(tmp_path, database_url=url) as desk:
        await desk.footnote.log.record(asked(text="When?"), answered(), traced())
        question = Question(id="page-1", conversation=PAGE, author="editor", text="When?", asked_at=NOON)
        await desk.threads.put(question)
        await desk.threads.end(question.id, answered("page-1", proposal=proposed(turn="page-1")))
        yield await desk.browser()


def routes(method):
    return [path for view in VIEWS for way, path, _ in view.routes if way == method]


def filled(path, part):
    """An address of this route: with an odd part, or of something that is there."""
    return PART.sub(lambda found: KNOWN[found[1]] if part is None else part, path)


async def faults_of(editor, method, requests):
    """The requests that ended in a fault of ours."""
    faults, number = [], 0
    for path, options in requests:
        status, _, _ = await editor.send(method, path, **options)
        number += 1
        if status >= 500:
            faults.append((path[:80], str(options)[:200], status))
    return number, faults


@pytest.mark.parametrize("every", EVERY)
async def test_odd_addresses_are_no_fault(editor, every):
    texts = [*(quote(text, safe="", errors="surrogatepass") for text in ODD), *RAW]
    parts = [(filled(path, part), {}) for path, part in product(routes("GET"), texts) if "{" in path]
    queries = [
        (f"{filled(path, None)}?{name}={text}", {})
        for path, name, text in product(routes("GET"), QUERIES, texts)
        if "{" not in path
    ]

    number, faults = await faults_of(editor, "GET", parts[::every] + queries[::every])

    assert faults == []
    assert number * every > 1_500


@pytest.mark.parametrize("every", EVERY)
async def test_odd_forms_are_no_fault(editor, every):
    origin = {"Origin": editor.url}
    fields = (
        "text",
        "name",
        "state",
        "collection",
        "address",
        "proposal",
        "verdict",
        "query",
        "version",
        "readers",
    )
    texts = [*(quote(text, safe="", errors="surrogatepass") for text in ODD), *RAW]
    forms = [
        (filled(path, None), {"data": "&".join(f"{name}={text}" for name in fields).encode(),
                              "headers": {**origin, "Content-Type": "application/x-www-form-urlencoded"}})
        for path, text in product(routes("POST"), texts)
    ]  # fmt: skip
    bodies = [
        (filled(path, None), {"data": body, "headers": {**origin, "Content-Type": kind}})
        for path, body, kind in product(routes("POST"), BODIES, TYPES)
    ]
    packed = [
        (
            filled(path, None),
            {"data": data, "headers": {**origin, "Content-Encoding": each, "Content-Type": FORM}},
        )
        for path, each, data in product(routes("POST"), ("gzip", "deflate", "br", "nope"), PACKED)
    ]

    number, faults = await faults_of(editor, "POST", forms[::every] + bodies[::every] + packed)

    assert faults == []
    assert number * every > 1_500


@pytest.mark.parametrize("body", [b"text=%FF", b"text=\xff\xfe", b"text=%ED%A0%80", b"text=a%00b"])
async def test_what_is_no_text_is_refused_and_not_stored(editor, body):
    headers = {"Origin": editor.url, "Content-Type": "application/x-www-form-urlencoded"}

    status, page, _ = await editor.send("POST", "/threads", data=body, headers=headers)
    _, asked_here = await editor.get("/questions")

    assert (status, "cannot be read" in page) == (400, True)
    assert "\ufffd" not in asked_here
