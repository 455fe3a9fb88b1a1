"""The doors by which an address comes in: each goes through the guard, and none leads to a machine of one's own."""

from __future__ import annotations

import socket
from argparse import Namespace
from asyncio.selector_events import BaseSelectorEventLoop
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from ipaddress import ip_address

import pytest
from fakes.private_addresses import NAMES, PUBLIC, URLS
from fakes.spellings import REFUSED
from fakes.web_servers import Canary, FakeSite, Served

from bots.chat.channels import open_channel_store
from bots.chat.commands import ChatCommands
from bots.chat.incoming import ChatCommand, is_page
from bots.chat.texts import say_in
from bots.chat.uploads import UploadIndex
from bots.cli import build_parser
from bots.commands.documents import ingest
from bots.discord.people import DiscordUploads
from bots.discord.settings import read_discord_settings
from bots.slack.people import SlackUploads
from bots.slack.settings import read_slack_settings
from core.bootstrap import Footnote, make_fetcher, make_web, open_library
from core.conversation import Attachment, Conversation
from core.errors import DocumentError, FetchRefused, SearchTrouble
from core.settings import read_settings
from core.storage.storage import Storage
from core.turns.replicas import ALONE
from core.web.fetch import GuardedFetcher
from core.web.hosts import is_public
from core.web.request import Hit, WebResearch

HERE = Conversation(platform="slack", space="T1", channel="C1", thread="1.0")
REDIRECTS = 40  # of the addresses, to which a public page leads


@pytest.fixture
def connections(monkeypatch) -> list[object]:
    """Every address that the event loop is told to connect to, also where the test's own guard then refuses it."""
    tried: list[object] = []
    real = BaseSelectorEventLoop.sock_connect

    async def sock_connect(loop, sock, address):
        tried.append(address)
        return await real(loop, sock, address)

    monkeypatch.setattr(BaseSelectorEventLoop, "sock_connect", sock_connect)
    return tried


@pytest.fixture(autouse=True)
def resolver(monkeypatch):
    """The names of the table, each answer after the one before; numbers as the system reads them; no name server."""
    asked = Counter()
    real = socket.getaddrinfo

    def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):  # noqa: PLR0917 - as the library has it
        name = host.decode() if isinstance(host, bytes) else str(host)
        if name == "localhost":
            return real("127.0.0.1", port, family, type, proto, flags)
        if name not in NAMES:
            return real(host, port, family, type, proto, flags | socket.AI_NUMERICHOST)
        answers = NAMES[name][min(asked[name], len(NAMES[name]) - 1)]
        asked[name] += 1
        return [
            found
            for answer in answers
            for found in real(answer, port, family, type, proto, socket.AI_NUMERICHOST)
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def private(tried):
    return [
        address for address in tried if not (isinstance(address, tuple) and is_public(ip_address(address[0])))
    ]


@dataclass
class Engine:
    """Finds whatever addresses it is told."""

    urls: tuple[str, ...]

    async def search(self, query: str, *, limit: int) -> tuple[Hit, ...]:
        return tuple(Hit(title=url, url=url, snippet=f"About {query}.") for url in self.urls)


@pytest.fixture
def settings(tmp_path):
    given = {
        "DATA_DIR": str(tmp_path),
        "WEB_SEARCH": "searxng",
        "SEARXNG_URL": "http://127.0.0.1:9",
        "EMBEDDING_MODEL": "none",
    }
    return read_settings(given | {"SEARCH_TIMEOUT": "5"}, None)


def test_there_are_addresses_enough():
    assert len(set(URLS)) == len(URLS) >= 120
    assert len(set(URLS) & set(REFUSED)) < len(URLS) // 4


async def test_no_page_of_a_search_is_fetched_from_there(settings, connections):
    researcher = make_web(settings)
    for start in range(0, len(URLS), 3):
        urls = URLS[start : start + 3]
        found = WebResearch(engine=Engine(urls), fetcher=researcher.fetcher)

        hits = await found.find("anything", "anything", lambda _progress: None)

        assert all(hit.passage.text == "About anything." for hit in hits)
    assert private(connections) == []


def test_nothing_is_ingested_from_there(settings, connections, capsys):
    urls = [url for url in URLS if "://" in url]  # what has none is the name of a file

    code = ingest(build_parser().parse_args(["ingest", *urls]), settings)

    assert code == 1
    assert f"{len(urls)} documents failed" in capsys.readouterr().out
    assert private(connections) == []


async def test_nothing_is_learned_from_there(settings, connections, tmp_path):
    with (
        closing(open_library(settings)) as library,
        open_channel_store(Storage(data_dir=tmp_path)) as channel_store,
    ):
        footnote = Footnote(
            settings=settings, storage=None, library=library, assistant=None, log=None, answers=None, replicas=ALONE,
            sources=None,
        )  # fmt: skip
        uploads = UploadIndex(footnote=footnote, uploads=None)
        words = ChatCommands(
            footnote=footnote, channel_store=channel_store, people=None, upload_index=uploads
        )
        for number, url in enumerate(URLS):
            word = ChatCommand(
                name="learn", argument=url, id=str(number), conversation=HERE, author="U1", said_at=0.0
            )

            (told,) = await words.carry_out(word, {})

            assert (
                ("1 document failed" in told.text)
                if is_page(url)
                else (told.text == say_in("en")("what_to_learn"))
            )
        assert library.store.entries() == []
    assert private(connections) == []


async def test_a_public_page_that_leads_there_leads_nowhere(settings, connections):
    async with Canary(port=0) as canary, FakeSite(host="127.0.0.78") as site:
        open_to_it = GuardedFetcher(
            ports=frozenset({80, 443, 8080, 8443, site.port, canary.port}),
            is_public=lambda address: str(address) == site.host or is_public(address),
            timeout=5.0,
        )
        for url in [*URLS[:: len(URLS) // REDIRECTS], f"http://127.0.0.1:{canary.port}/"]:
            hops = {f"/{hop}": Served(status=302, headers={"Location": f"/{hop + 1}"}) for hop in range(3)}
            site.pages = hops | {
                "/3": Served(status=307, headers={"Location": url.encode("ascii", "ignore").decode()})
            }

            with pytest.raises((FetchRefused, SearchTrouble)):
                await open_to_it.get_public(f"{site.url}/0")

        assert [address for address in private(connections) if address[0] != site.host] == []
        assert canary.visits == 0
        assert len(site.requests) > REDIRECTS


async def test_what_people_say_and_the_web_returns_reaches_no_private_host_that_the_operator_named(
    settings, connections, resolver
):
    async with FakeSite({"/": Served(body=b"Fees.", content_type="text/plain")}, host="127.0.0.78") as site:
        named = replace(settings, private_hosts=("127.0.0.78",))
        for fetcher in (make_fetcher(named), make_web(replace(named, web_search="duckduckgo")).fetcher):
            with pytest.raises(FetchRefused):
                await fetcher.get_public(f"{site.url}/")
        before = private(connections)

        (await make_fetcher(named, for_operator=True).get_public(f"{site.url}/")).data.decode()

    assert before == []
    assert [address[0] for address in private(connections)] == [site.host]


async def test_a_name_is_asked_for_once_and_visited_where_it_was_judged(settings, connections, resolver):
    """The first answer is public and the second is not: the connection goes to the first, or nowhere."""
    for _ in range(2):
        with pytest.raises((FetchRefused, SearchTrouble)):
            await make_fetcher(settings).get_public("http://rebinding.example/")

    assert [address[:2] for address in connections] == [(PUBLIC, 80)]
    assert resolver["rebinding.example"] == 2


FILES = (
    *URLS[::6], "https://files.slack.com@127.0.0.2/x", "https://127.0.0.2\\.slack.com/x", "https://127.0.0.2/?.slack.com",
    "https://127.0.0.2#.slack.com", "http://files.slack.com/x", "https://files.slack.com.public.example/", "//files.slack.com/x",
    "https://cdn.discordapp.com@127.0.0.2/x", "https://127.0.0.2\\cdn.discordapp.com/x", "https://cdn.discordapp.com.public.example/",
    "https://files.slack.com:x@127.0.0.2/", "https://127.0.0.2%2f.slack.com/x",
)  # fmt: skip


class NoSession:
    """What a client would send its token with; asked for nothing here."""

    session = None


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_no_attached_file_is_fetched_from_anywhere_else(platform, connections):
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "DISCORD_TOKEN": "a.b.c"}
    uploads = {
        "slack": lambda: SlackUploads(
            settings=read_slack_settings(tokens, None), calls=Namespace(client=NoSession())
        ),
        "discord": lambda: DiscordUploads(settings=read_discord_settings(tokens, None), calls=Namespace()),
    }[platform]()

    for url in FILES:
        with pytest.raises(DocumentError, match="is not kept in"):
            await uploads.fetch(Attachment(id="F1", name="x.md", media_type="text/markdown", size=1, url=url))

    assert connections == []
