import gzip
import json

import pytest
from fakes.web_servers import FakeSearXNG, FakeTavily, Result

from core.errors import SearchTrouble
from core.web.engines import DuckDuckGo, SearXNG, Tavily, engine_for
from core.web.request import REPLY_LIMIT, Hit

RESULTS = [
    Result(
        title="Preflight request",
        url="https://developer.example.org/cors",
        content="Sent first.",
        published="2026-03-12",
    ),
    Result(title="Fetch standard", url="https://fetch.example.org/#cors", content="3.2 CORS protocol"),
]
HITS = (
    Hit(
        title="Preflight request",
        url="https://developer.example.org/cors",
        snippet="Sent first.",
        published="2026-03-12",
    ),
    Hit(title="Fetch standard", url="https://fetch.example.org/", snippet="3.2 CORS protocol"),
)
KEY = "tvly-fake"


@pytest.fixture
async def tavily():
    async with FakeTavily(RESULTS, api_key=KEY) as server:
        yield server


@pytest.fixture
async def searxng():
    async with FakeSearXNG(RESULTS) as server:
        yield server


@pytest.fixture(params=["tavily", "searxng"])
def served(request):
    """A fake server and the engine that asks it: what holds for one holds for the other."""
    server = request.getfixturevalue(request.param)
    engines = {"tavily": Tavily(api_key=KEY, base_url=server.url), "searxng": SearXNG(base_url=server.url)}
    return server, engines[request.param]


async def test_results_come_as_clean_hits(served):
    _, engine = served

    assert await engine.search("preflight", limit=5) == HITS


async def test_tavily_is_asked_as_documented(tavily):
    await Tavily(api_key=KEY, base_url=tavily.url + "/").search("straße & café?", limit=50)

    (request,) = tavily.requests
    assert await request.json() == {"query": "straße & café?", "max_results": 20, "search_depth": "basic"}


async def test_searxng_is_asked_as_documented(searxng):
    await SearXNG(base_url=searxng.url + "/").search("straße & café?", limit=5)

    (request,) = searxng.requests
    assert dict(request.query) == {"q": "straße & café?", "format": "json"}


async def test_nothing_found_is_no_hits_and_no_trouble(served):
    server, engine = served
    server.results = []

    assert await engine.search("zxqv", limit=5) == ()


async def test_no_more_hits_than_asked_for(served):
    _, engine = served

    assert await engine.search("preflight", limit=1) == HITS[:1]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_pass_is_tried_once_more(served, status):
    server, engine = served
    server.will_answer(status, headers={"Retry-After": "0"})

    assert await engine.search("preflight", limit=5) == HITS

    assert len(server.requests) == 2


async def test_a_broken_connection_is_tried_once_more(served):
    server, engine = served
    server.will_drop()

    assert await engine.search("preflight", limit=5) == HITS


@pytest.mark.parametrize(
    ("status", "headers", "sentence"),
    [
        (429, {"Retry-After": "0"}, "{} is rate-limiting this machine; try again in a minute."),
        (500, {}, "{} has a fault of its own (HTTP 500); try again in a minute."),
    ],
)
async def test_what_does_not_pass_is_told_after_two_attempts(served, status, headers, sentence):
    server, engine = served
    for _ in range(3):
        server.will_answer(status, headers=headers)

    with pytest.raises(SearchTrouble) as trouble:
        await engine.search("preflight", limit=5)

    assert str(trouble.value) == sentence.format(engine.name)
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [204, 302, 402, 418])
async def test_any_other_status_is_told_at_once(served, status):
    server, engine = served
    server.will_answer(status)

    with pytest.raises(SearchTrouble, match=engine.name):
        await engine.search("preflight", limit=5)

    assert len(server.requests) == 1


async def test_an_engine_that_is_not_there_is_told(unused_tcp_port):
    engine = SearXNG(base_url=f"http://127.0.0.1:{unused_tcp_port}")

    with pytest.raises(SearchTrouble, match="SearXNG could not be reached; check the network and try again"):
        await engine.search("preflight", limit=5)


async def test_a_hang_ends_at_the_configured_time(tavily, searxng):
    for server, engine in (
        (tavily, Tavily(api_key=KEY, base_url=tavily.url, timeout=0.05)),
        (searxng, SearXNG(base_url=searxng.url, timeout=0.05)),
    ):
        server.will_hang()

        with pytest.raises(SearchTrouble, match=rf"{engine.name} did not answer within 0\.05 s; try again\."):
            await engine.search("preflight", limit=5)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>proxy</html>", b"[]", b"null", b"{}", b'{"results": null}', b'{"results": {"a": 1}}',
        b'{"results": [', b"\xff\xfe\x00", b"[" * 200_000,
    ],
)  # fmt: skip
async def test_a_reply_that_is_not_what_was_promised_is_told(served, body):
    server, engine = served
    server.will_answer(200, body)

    with pytest.raises(SearchTrouble, match=f"{engine.name} sent a reply that cannot be read"):
        await engine.search("preflight", limit=5)


async def test_a_result_with_strange_fields_costs_no_other_result(served):
    server, engine = served
    good = {"title": "Good", "url": "https://a.org/", "content": "x"}
    rows = [
        None,
        7,
        {},
        {"title": 1, "url": ["https://b.org"], "content": {}},
        {"url": "https://c.org/", "content": None},
        good,
    ]
    server.will_answer(200, json.dumps({"results": rows}))

    hits = await engine.search("preflight", limit=9)

    assert [(hit.title, hit.url, hit.snippet) for hit in hits] == [
        ("c.org", "https://c.org/", ""),
        ("Good", "https://a.org/", "x"),
    ]


async def test_a_reply_that_is_too_large_is_not_read_to_its_end(served):
    server, engine = served
    server.will_answer(200, b" " * (REPLY_LIMIT + 1))

    with pytest.raises(SearchTrouble, match=f"{engine.name} sent more than 2 MB"):
        await engine.search("preflight", limit=5)


async def test_a_small_reply_that_unpacks_to_a_large_one_is_not_unpacked_to_its_end(served):
    server, engine = served
    server.will_answer(200, gzip.compress(b" " * (REPLY_LIMIT + 1)), headers={"Content-Encoding": "gzip"})

    with pytest.raises(SearchTrouble, match=f"{engine.name} sent more than 2 MB"):
        await engine.search("preflight", limit=5)


async def test_a_compressed_reply_is_read(served):
    server, engine = served
    body = json.dumps({"results": [{"title": "T", "url": "https://a.org/", "content": "x"}]}).encode()
    server.will_answer(200, gzip.compress(body), headers={"Content-Encoding": "gzip"})

    assert [hit.url for hit in await engine.search("preflight", limit=5)] == ["https://a.org/"]


async def test_a_wrong_key_is_named_and_never_shown(tavily, caplog):
    engine = Tavily(api_key="tvly-wrong-secret", base_url=tavily.url)

    with pytest.raises(SearchTrouble) as trouble:
        await engine.search("preflight", limit=5)

    assert str(trouble.value) == "Tavily refused the API key; check TAVILY_API_KEY."
    assert "secret" not in repr(engine) + repr(trouble.value) + caplog.text
    assert len(tavily.requests) == 1


async def test_a_key_with_a_stray_letter_is_a_wrong_key(tavily):
    with pytest.raises(SearchTrouble, match="Tavily refused the API key"):
        await Tavily(api_key="tvly-é", base_url=tavily.url).search("preflight", limit=5)


async def test_a_query_with_half_a_character_is_told(served):
    _, engine = served

    with pytest.raises(SearchTrouble, match="This query holds a broken character"):
        await engine.search("half \ud800", limit=5)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (400, "Tavily could not use this query; edit it and try again."),
        (432, "The Tavily plan of this API key is used up."),
        (433, "The pay-as-you-go limit of this Tavily API key is reached."),
    ],
)
async def test_tavilys_own_statuses_have_their_sentences(tavily, status, sentence):
    tavily.will_answer(status, json.dumps({"detail": {"error": "foreign words"}}))

    with pytest.raises(SearchTrouble) as trouble:
        await Tavily(api_key=KEY, base_url=tavily.url).search("preflight", limit=5)

    assert str(trouble.value) == sentence


async def test_a_searxng_without_json_says_what_to_set():
    async with FakeSearXNG(RESULTS, formats=["html"]) as server:
        with pytest.raises(SearchTrouble, match=r"add json to search\.formats in its settings\.yml"):
            await SearXNG(base_url=server.url).search("preflight", limit=5)


async def test_a_wrong_path_says_which_setting_to_check(searxng):
    with pytest.raises(SearchTrouble, match="There is no SearXNG at SEARXNG_URL"):
        await SearXNG(base_url=searxng.url + "/elsewhere").search("preflight", limit=5)


async def test_a_searxng_whose_engines_are_all_silent_did_not_find_nothing():
    async with FakeSearXNG([], unresponsive=[("google", "CAPTCHA"), ("brave", "timeout")]) as server:
        with pytest.raises(SearchTrouble, match="None of the engines behind SearXNG answered"):
            await SearXNG(base_url=server.url).search("preflight", limit=5)


async def test_an_address_that_is_none_is_told():
    with pytest.raises(SearchTrouble, match="The address that is set for SearXNG is not a web address"):
        await SearXNG(base_url="http://searxng:eighty").search("preflight", limit=5)


def test_each_name_gives_its_engine():
    assert engine_for("duckduckgo", timeout=7) == DuckDuckGo(timeout=7)
    assert engine_for("searxng", timeout=7, searxng_url="http://s") == SearXNG(base_url="http://s", timeout=7)
    assert engine_for("tavily", timeout=7, tavily_api_key="k", tavily_base_url="http://t") == Tavily(
        api_key="k", base_url="http://t", timeout=7
    )
    assert engine_for("off", timeout=7) is None
