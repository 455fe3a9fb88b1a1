"""The real ddgs and its real client against a server of ours."""

import asyncio
import logging

import pytest
from fakes.patience import PATIENCE
from fakes.web_servers import Canary, FakeDuckDuckGo, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from core.conversation import QUERY_LIMIT
from core.errors import SearchTrouble
from core.web.engines import DuckDuckGo, post_query, read_results
from core.web.request import REPLY_LIMIT, EngineReply, Hit

CORS = Result(
    title="CORS &amp; <b>preflight</b>",
    url="https://developer.example.org/docs/CORS?a=1&b=2",
    content="Browsers send a <b>preflight</b> request &lt;OPTIONS&gt; first.",
)
WIKI = Result(title="CORS - Wikipedia", url="https://en.wikipedia.org/wiki/CORS", content="A mechanism.")


@pytest.fixture
async def duckduckgo():
    from ddgs.engines.duckduckgo import Duckduckgo

    real = Duckduckgo.search_url
    async with FakeDuckDuckGo([CORS, WIKI]) as server:
        Duckduckgo.search_url = server.search_url
        try:
            yield server
        finally:
            Duckduckgo.search_url = real


@pytest.mark.usefixtures("duckduckgo")
async def test_results_come_as_clean_hits_in_duckduckgos_order():
    hits = await DuckDuckGo(timeout=10).search("which browsers send preflight requests", limit=5)

    assert hits == (
        Hit(
            title="CORS & preflight",
            url="https://developer.example.org/docs/CORS?a=1&b=2",
            snippet="Browsers send a preflight request first.",
        ),
        Hit(title="CORS - Wikipedia", url="https://en.wikipedia.org/wiki/CORS", snippet="A mechanism."),
    )


@pytest.mark.parametrize("query", ["straße & café? 100%", "a" * QUERY_LIMIT, 'site:example.org "two words"'])
async def test_the_query_leaves_exactly_as_it_was_allowed(duckduckgo, query):
    await DuckDuckGo(timeout=10).search(query, limit=5)

    (request,) = duckduckgo.requests
    assert dict(await request.post()) == {"q": query, "b": "", "l": "us-en"}


@pytest.mark.usefixtures("duckduckgo")
async def test_a_query_with_half_a_character_is_told():
    with pytest.raises(SearchTrouble, match="This query holds a broken character"):
        await DuckDuckGo(timeout=10).search("half \ud800", limit=5)


@pytest.mark.usefixtures("duckduckgo")
async def test_no_more_hits_than_asked_for():
    assert len(await DuckDuckGo(timeout=10).search("cors", limit=1)) == 1


async def test_duckduckgos_redirect_links_are_unwrapped(duckduckgo):
    duckduckgo.redirects = True

    hits = await DuckDuckGo(timeout=10).search("cors", limit=5)

    assert [hit.url for hit in hits] == [CORS.url, WIKI.url]


async def test_advertisements_are_no_hits(duckduckgo):
    advertisement = Result(
        title="Buy", url="https://duckduckgo.com/y.js?ad_domain=shop.example", content="now"
    )
    duckduckgo.results = [advertisement, WIKI]

    hits = await DuckDuckGo(timeout=10).search("cors", limit=5)

    assert [hit.url for hit in hits] == [WIKI.url]


async def test_nothing_found_is_no_hits_and_no_trouble(duckduckgo, caplog):
    duckduckgo.results = []

    assert await DuckDuckGo(timeout=10).search("zxqv", limit=5) == ()

    assert not _warnings(caplog)


@pytest.mark.parametrize(
    "page", ["", " \n", "<html><body></body></html>", "<!-- -->", '<?xml version="1.0" encoding="x"?>']
)
async def test_a_page_with_nothing_on_it_is_no_hits_and_is_logged(duckduckgo, caplog, page):
    duckduckgo.will_answer(200, page)

    assert await DuckDuckGo(timeout=10).search("cors", limit=5) == ()

    assert "neither results nor" in _warnings(caplog)


@pytest.mark.parametrize("status", [200, 202, 403])
async def test_the_page_that_asks_for_a_person_is_a_rate_limit(duckduckgo, status):
    duckduckgo.will_answer(status, FakeDuckDuckGo.CHALLENGE)

    with pytest.raises(SearchTrouble) as trouble:
        await DuckDuckGo(timeout=10).search("cors", limit=5)

    assert str(trouble.value) == "DuckDuckGo is rate-limiting this machine; try again in a minute."
    assert len(duckduckgo.requests) == 1


async def test_a_result_that_talks_about_the_challenge_page_is_still_a_result(duckduckgo):
    duckduckgo.results = [
        Result(title="The anomaly-modal explained", url="https://a.org/", content="challenge-form")
    ]

    (hit,) = await DuckDuckGo(timeout=10).search("anomaly-modal", limit=5)

    assert hit.title == "The anomaly-modal explained"


async def test_a_short_rate_limit_is_waited_out_once(duckduckgo):
    duckduckgo.will_answer(429, headers={"Retry-After": "0"})

    assert await DuckDuckGo(timeout=10).search("cors", limit=5)

    assert len(duckduckgo.requests) == 2


async def test_a_long_rate_limit_is_told_at_once(duckduckgo):
    duckduckgo.will_answer(429, headers={"Retry-After": "600"})

    with pytest.raises(SearchTrouble, match=r"rate-limiting this machine; try again in 10 minutes\."):
        await DuckDuckGo(timeout=10).search("cors", limit=5)

    assert len(duckduckgo.requests) == 1


async def test_a_fault_is_tried_once_more(duckduckgo):
    duckduckgo.will_answer(503)

    assert await DuckDuckGo(timeout=10).search("cors", limit=5)


async def test_a_lasting_fault_is_told(duckduckgo):
    duckduckgo.will_answer(500)
    duckduckgo.will_answer(502)

    with pytest.raises(SearchTrouble, match=r"DuckDuckGo has a fault of its own \(HTTP 502\)"):
        await DuckDuckGo(timeout=10).search("cors", limit=5)


async def test_a_broken_connection_is_tried_once_more(duckduckgo):
    duckduckgo.will_drop()

    assert await DuckDuckGo(timeout=10).search("cors", limit=5)


@pytest.mark.usefixtures("duckduckgo")
async def test_a_machine_without_a_network_is_told_so(unused_tcp_port):
    from ddgs.engines.duckduckgo import Duckduckgo

    Duckduckgo.search_url = f"http://127.0.0.1:{unused_tcp_port}/html/"

    with pytest.raises(SearchTrouble, match="DuckDuckGo could not be reached; check the network"):
        await DuckDuckGo(timeout=10).search("cors", limit=5)


async def test_a_hang_ends_at_the_configured_time(duckduckgo):
    duckduckgo.will_hang()

    with pytest.raises(SearchTrouble, match=r"DuckDuckGo did not answer within 0\.2 s"):
        await DuckDuckGo(timeout=0.2).search("cors", limit=5)


async def test_a_thread_that_was_given_up_on_ends_by_itself(duckduckgo):
    duckduckgo.will_hang()

    def outcome() -> str:
        try:
            post_query("cors", 0.1)
        except TimeoutError:
            return "ended"
        return "answered"

    assert await asyncio.wait_for(asyncio.to_thread(outcome), PATIENCE) == "ended"


async def test_a_query_is_not_passed_on_to_another_site(duckduckgo):
    async with Canary() as elsewhere:
        duckduckgo.will_answer(303, headers={"Location": f"http://127.0.0.1:{elsewhere.port}/?q=cors"})

        with pytest.raises(SearchTrouble, match="would pass this query on to another site"):
            await DuckDuckGo(timeout=10).search("!w cors", limit=5)

        assert elsewhere.visits == 0


async def test_an_endless_page_is_not_read_to_its_end(duckduckgo):
    duckduckgo.will_answer(200, b"x" * (REPLY_LIMIT + 1))

    with pytest.raises(SearchTrouble, match="DuckDuckGo sent a reply that cannot be read"):
        await DuckDuckGo(timeout=10).search("cors", limit=5)


@settings(deadline=None)
@given(
    st.one_of(
        st.binary(max_size=300), st.text(alphabet='<>/"= divclassbodyahref\x00', max_size=300).map(str.encode)
    )
)
def test_no_page_breaks_the_reader(page):
    assert isinstance(read_results(EngineReply(status=200, body=page)), list)


def _warnings(caplog) -> str:
    return "\n".join(record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING)
