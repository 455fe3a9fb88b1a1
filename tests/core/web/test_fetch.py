import gzip
import ssl
import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from fakes.web_servers import Canary, FakeDns, FakeSite, Served

from core.errors import FetchRefused, SearchTrouble
from core.web.fetch import BODY_LIMIT, REDIRECT_LIMIT, GuardedFetcher, Resource, page_of

PLAIN = "text/plain; charset=utf-8"
ARTICLE = """<!DOCTYPE html><html><head><title>Preflight request</title></head><body>
<nav><a href="/">Home</a> <a href="/login">Log in</a></nav>
<article><h1>Preflight request</h1>
<p>A preflight request is a small request that the browser sends before the actual one.</p>
<p>It uses the OPTIONS method and asks the server whether the actual request may be sent.</p></article>
<script>alert(1)</script></body></html>"""


@pytest.fixture
async def site():
    async with FakeSite({"/": Served(body=b"Hello, world.", content_type=PLAIN)}) as server:
        yield server


def fetcher_of(site: FakeSite, *others: FakeSite, **settings) -> GuardedFetcher:
    """A fetcher to whom the sites, and nothing else on this machine, are public: pages.example is the first."""
    servers = (site, *others)
    settings.setdefault(
        "resolve", FakeDns({"pages.example": [[site.host]], "www.pages.example": [[site.host]]})
    )
    return GuardedFetcher(
        ports=frozenset(server.port for server in servers),
        is_public=lambda address: str(address) in {server.host for server in servers},
        **settings,
    )


def at(site: FakeSite, path: str = "/", host: str = "pages.example") -> str:
    return f"{'https' if site.tls else 'http'}://{host}:{site.port}{path}"


async def test_a_page_is_its_readable_text(site):
    site.pages["/preflight"] = Served(body=ARTICLE.encode())

    page = await fetcher_of(site).fetch(at(site, "/preflight#how"))

    assert page.url == at(site, "/preflight")
    assert page.title == "Preflight request"
    assert "asks the server whether the actual request may be sent." in page.text
    assert "alert" not in page.text


async def test_a_text_file_is_its_own_text_under_the_name_of_its_host(site):
    page = await fetcher_of(site).fetch(at(site))

    assert (page.title, page.text) == ("pages.example", "Hello, world.")


@pytest.mark.parametrize("charset", ["iso-8859-1", "windows-1252", "latin1"])
async def test_the_servers_charset_is_believed(site, charset):
    site.pages["/"] = Served(
        body="Straße nach Köln".encode("latin-1"), content_type=f"text/plain; charset={charset}"
    )

    assert (await fetcher_of(site).fetch(at(site))).text == "Straße nach Köln"


@pytest.mark.parametrize("body", [b"", b" \n", b"\x00\x01\x02\x03"])
async def test_a_page_without_readable_text_is_told(site, body):
    site.pages["/"] = Served(body=body, content_type=PLAIN)

    with pytest.raises(SearchTrouble, match=r"pages\.example sent a page without readable text"):
        await fetcher_of(site).fetch(at(site))


async def test_an_html_page_without_readable_text_is_told(site):
    site.pages["/"] = Served(body=b"<html><body><script>x()</script></body></html>")

    with pytest.raises(SearchTrouble, match=r"pages\.example sent a page without readable text"):
        await fetcher_of(site).fetch(at(site))


async def test_the_bytes_of_a_pdf_are_given_but_it_is_no_page(site):
    site.pages["/a.pdf"] = Served(body=b"%PDF-1.7 ...", content_type="Application/PDF; x=y")

    resource = await fetcher_of(site).get_public(at(site, "/a.pdf"))

    assert resource == Resource(
        url=at(site, "/a.pdf"), content_type="application/pdf", data=b"%PDF-1.7 ...", charset=None
    )
    with pytest.raises(SearchTrouble, match="is not a page of text"):
        await fetcher_of(site).fetch(at(site, "/a.pdf"))


@pytest.mark.parametrize(
    "content_type", ["image/png", "application/octet-stream", "text/html-not", "", "video/mp4"]
)
async def test_anything_else_is_not_read(site, content_type):
    site.pages["/"] = Served(body=b"x", content_type=content_type)

    with pytest.raises(SearchTrouble, match="is not a page of text"):
        await fetcher_of(site).get_public(at(site))


@pytest.mark.parametrize("status", [204, 304, 401, 404, 429, 500])
async def test_a_refusal_of_the_site_is_told_with_its_status(site, status):
    site.pages["/"] = Served(status=status, content_type=PLAIN)

    with pytest.raises(SearchTrouble, match=r"pages\.example"):
        await fetcher_of(site).get_public(at(site))


async def test_the_request_says_who_asks_and_nothing_about_the_person(site):
    await fetcher_of(site).get_public(at(site, "/?q=1"))

    (request,) = site.requests
    assert request.path_qs == "/?q=1"
    assert request.headers["Host"] == f"pages.example:{site.port}"
    assert "footnote" in request.headers["User-Agent"]
    assert set(request.headers) == {"Host", "User-Agent", "Accept", "Accept-Encoding"}


async def test_a_host_is_looked_up_once_and_visited_at_the_address_that_was_judged(site):
    resolve = FakeDns({"pages.example": [[site.host], ["127.0.0.2"]]})
    async with Canary("127.0.0.2", site.port) as canary:
        resource = await fetcher_of(site, resolve=resolve).get_public(at(site))

        assert resource.data == b"Hello, world."
        assert (resolve.asked, canary.visits) == (["pages.example"], 0)


async def test_a_host_that_becomes_private_between_two_redirects_is_refused(site):
    resolve = FakeDns({"pages.example": [[site.host], ["127.0.0.2"]]})
    site.pages["/"] = Served(status=302, headers={"Location": "/next"})

    with pytest.raises(FetchRefused, match=r"pages\.example is not a public address"):
        await fetcher_of(site, resolve=resolve).get_public(at(site))

    assert len(site.requests) == 1


async def test_one_private_address_among_public_ones_refuses_the_host(site):
    resolve = FakeDns({"pages.example": [[site.host, "10.0.0.1"]]})

    with pytest.raises(FetchRefused, match="is not a public address"):
        await fetcher_of(site, resolve=resolve).get_public(at(site))

    assert site.requests == []


async def test_a_private_host_that_the_operator_named_is_read_on_any_port(site):
    names = FakeDns({"wiki.corp": [[site.host]], "a.wiki.corp": [[site.host]], "other.corp": [[site.host]]})
    fetcher = GuardedFetcher(private=("wiki.corp",), resolve=names)
    site.pages["/moved"] = Served(status=302, headers={"Location": "/"})

    named = [await fetcher.get_public(at(site, "/moved", host)) for host in ("wiki.corp", "a.wiki.corp")]

    assert [resource.data for resource in named] == [b"Hello, world."] * 2
    for port in (80, site.port):
        with pytest.raises(FetchRefused):
            await fetcher.get_public(f"http://other.corp:{port}/")


@pytest.mark.parametrize("first", ["pages.example", "old.corp"])
async def test_no_page_leads_to_a_private_host_that_was_not_asked_for(site, first):
    """Not even to one that the operator named: it was the page that asked for it."""
    with_private = FakeSite({"/": Served(body=b"secret", content_type=PLAIN)}, host="127.0.0.3")
    async with with_private as private:
        names = {"pages.example": [[site.host]], "old.corp": [[site.host]], "wiki.corp": [[private.host]]}
        site.pages["/"] = Served(status=302, headers={"Location": at(private, "/", "wiki.corp")})
        fetcher = fetcher_of(site, private=("wiki.corp", "old.corp"), resolve=FakeDns(names))

        with pytest.raises(FetchRefused):
            await fetcher.get_public(at(site, "/", first))

    assert private.requests == []


async def test_the_next_address_is_tried_when_nobody_answers_at_the_first(site, unused_tcp_port):
    other = FakeSite(host="127.0.0.3", port=unused_tcp_port)
    resolve = FakeDns({"pages.example": [["127.0.0.3", site.host]]})

    resource = await fetcher_of(site, other, resolve=resolve).get_public(at(site))

    assert resource.data == b"Hello, world."


async def test_an_address_where_nobody_answers_is_told(site, unused_tcp_port):
    nobody = FakeSite(port=unused_tcp_port)

    with pytest.raises(SearchTrouble, match=r"pages\.example could not be reached"):
        await fetcher_of(nobody).get_public(at(nobody))

    assert site.requests == []


@pytest.mark.parametrize("names", [{}, {"pages.example": [[]]}])
async def test_a_name_that_is_not_known_is_told(site, names):
    with pytest.raises(SearchTrouble, match=r"pages\.example could not be found"):
        await fetcher_of(site, resolve=FakeDns(names)).get_public(at(site))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_followed_to_where_it_leads(site, status):
    site.pages["/old/page"] = Served(status=status, headers={"Location": "../new?x=1#there"})
    site.pages["/new"] = Served(body=b"moved", content_type=PLAIN)

    resource = await fetcher_of(site).get_public(at(site, "/old/page"))

    assert (resource.url, resource.data) == (at(site, "/new?x=1"), b"moved")


async def test_a_redirect_to_another_host_is_asked_for_by_its_own_name(site):
    site.pages["/"] = Served(status=302, headers={"Location": at(site, "/new", "www.pages.example")})
    site.pages["/new"] = Served(body=b"moved", content_type=PLAIN)

    await fetcher_of(site).get_public(at(site))

    assert [request.host for request in site.requests] == [
        f"pages.example:{site.port}",
        f"www.pages.example:{site.port}",
    ]


async def test_a_redirect_takes_no_cookie_along(site):
    site.pages["/"] = Served(status=302, headers={"Location": "/new", "Set-Cookie": "session=1; Path=/"})
    site.pages["/new"] = Served(body=b"moved", content_type=PLAIN)

    await fetcher_of(site).get_public(at(site))

    assert "Cookie" not in site.requests[1].headers


async def test_redirects_without_end_are_left(site):
    site.pages["/"] = Served(status=302, headers={"Location": "/"})

    with pytest.raises(SearchTrouble, match="redirects more than 5 times"):
        await fetcher_of(site).get_public(at(site))

    assert len(site.requests) == REDIRECT_LIMIT + 1


@pytest.mark.parametrize(
    "location", ["http://[broken", "http://x:99999999/", "ftp://pages.example/", "http://"]
)
async def test_a_redirect_that_leads_nowhere_is_no_crash(site, location):
    site.pages["/"] = Served(status=302, headers={"Location": location})

    with pytest.raises((FetchRefused, SearchTrouble)):
        await fetcher_of(site).get_public(at(site))


async def test_a_redirect_away_from_the_trusted_hosts_is_refused(site):
    site.pages["/"] = Served(status=302, headers={"Location": at(site, "/", "www.pages.example")})

    with pytest.raises(FetchRefused, match=r"www\.pages\.example is not among the hosts that may be visited"):
        await fetcher_of(site, blocked=("www.pages.example",)).get_public(at(site))

    assert len(site.requests) == 1


async def test_a_host_outside_the_trusted_list_is_not_visited(site):
    with pytest.raises(FetchRefused, match="is not among the hosts"):
        await fetcher_of(site, trusted=("other.example",)).fetch(at(site))

    assert site.requests == []


@pytest.mark.parametrize(
    ("size", "headers"),
    [(1_001, {}), (1_001, {"Transfer-Encoding": "chunked"})],
    ids=["announced", "unannounced"],
)
async def test_a_large_body_is_not_read_to_its_end(site, size, headers):
    site.pages["/"] = Served(body=b"x" * size, content_type=PLAIN, headers=headers)

    with pytest.raises(SearchTrouble, match=r"pages\.example sent more than 0\.001 MB"):
        await fetcher_of(site, body_limit=1_000).get_public(at(site))


async def test_a_body_at_the_limit_is_read(site):
    site.pages["/"] = Served(body=b"x" * 1_000, content_type=PLAIN)

    assert len((await fetcher_of(site, body_limit=1_000).get_public(at(site))).data) == 1_000


async def test_a_compressed_page_is_unpacked(site):
    body = gzip.compress(b"Hello, packed world.")
    site.pages["/"] = Served(body=body, content_type=PLAIN, headers={"Content-Encoding": "gzip"})

    assert (await fetcher_of(site).fetch(at(site))).text == "Hello, packed world."


async def test_a_small_body_that_unpacks_to_a_large_one_is_not_unpacked_to_its_end(site):
    await fetcher_of(site).get_public(at(site))  # what is loaded once is not counted below
    bomb = gzip.compress(b"\0" * 20_000_000)
    site.pages["/"] = Served(body=bomb, content_type=PLAIN, headers={"Content-Encoding": "gzip"})

    tracemalloc.start()
    with pytest.raises(SearchTrouble, match=r"pages\.example sent more than 2 MB"):
        await fetcher_of(site).get_public(at(site))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 4 * BODY_LIMIT


#: Without the time of day: the bytes are part of the tests' names.
PACKED = gzip.compress(b"x" * 1_000, mtime=0)
PACKED_TWICE = gzip.compress(PACKED, mtime=0)


@pytest.mark.parametrize(
    ("encoding", "body", "sentence"),
    [
        ("br", b"x", "compression that was not asked for"),
        ("gzip, gzip", PACKED_TWICE, "compression that was not asked for"),
        ("gzip", b"not gzip at all", "cannot be decompressed"),
        ("gzip", PACKED[:-6], "broke off in the middle"),
    ],
)
async def test_a_body_that_cannot_be_unpacked_is_told(site, encoding, body, sentence):
    site.pages["/"] = Served(body=body, content_type=PLAIN, headers={"Content-Encoding": encoding})

    with pytest.raises(SearchTrouble, match=sentence):
        await fetcher_of(site).get_public(at(site))


async def test_a_page_that_drips_is_left_at_the_configured_time(site):
    site.will_drip()

    with pytest.raises(SearchTrouble, match=r"pages\.example was too slow \(more than 0\.15 s\)"):
        await fetcher_of(site, timeout=0.15).get_public(at(site))


async def test_a_site_that_never_answers_is_left_at_the_configured_time(site):
    site.will_hang()

    with pytest.raises(SearchTrouble, match=r"pages\.example was too slow"):
        await fetcher_of(site, timeout=0.05).get_public(at(site))


async def test_a_connection_that_breaks_is_told(site):
    site.will_drop()

    with pytest.raises(SearchTrouble, match=r"pages\.example broke the connection off"):
        await fetcher_of(site).get_public(at(site))


async def test_the_environments_proxy_is_not_used(site, monkeypatch):
    async with Canary() as proxy:
        for variable in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")

        await fetcher_of(site).get_public(at(site))

        assert proxy.visits == 0


async def test_an_ipv6_address_is_visited():
    async with FakeSite({"/": Served(body=b"six", content_type=PLAIN)}, host="::1") as site:
        resource = await fetcher_of(site, resolve=FakeDns({"::1": [["::1"]]})).get_public(
            f"http://[::1]:{site.port}/"
        )

        assert resource.data == b"six"
        assert site.requests[0].headers["Host"] == f"[::1]:{site.port}"


async def test_a_certificate_is_checked_against_the_hosts_name(certificates):
    authority, server_side, names = certificates("pages.example")
    async with FakeSite({"/": Served(body=b"safe", content_type=PLAIN)}, tls=server_side) as site:
        resource = await fetcher_of(site, tls=authority).get_public(at(site))

        assert resource.data == b"safe"
        assert names == ["pages.example"]
        assert site.requests[0].headers["Host"] == f"pages.example:{site.port}"


async def test_a_certificate_for_another_name_is_not_accepted(certificates):
    authority, server_side, _ = certificates("other.example")
    async with FakeSite(tls=server_side) as site:
        with pytest.raises(
            SearchTrouble, match=r"pages\.example has a certificate that is not trusted \(Hostname"
        ):
            await fetcher_of(site, tls=authority).get_public(at(site))

        assert site.requests == []


async def test_a_certificate_of_an_unknown_authority_is_not_accepted(certificates):
    _, server_side, _ = certificates("pages.example")
    async with FakeSite(tls=server_side) as site:
        with pytest.raises(
            SearchTrouble, match=r"pages\.example has a certificate that is not trusted \(self-signed"
        ):
            await fetcher_of(site).get_public(at(site))

        assert site.requests == []


def test_a_page_says_its_own_charset_when_the_server_says_none():
    html = ARTICLE.replace("<head>", '<head><meta charset="iso-8859-1">').replace(
        "actual one", "Straße nach Köln"
    )
    resource = Resource(url="https://pages.example/", content_type="text/html", data=html.encode("latin-1"))

    assert "Straße nach Köln" in page_of(resource).text


def test_the_servers_charset_outranks_the_pages():
    html = ARTICLE.replace("<head>", '<head><meta charset="koi8-r">').replace(
        "actual one", "Straße nach Köln"
    )
    resource = Resource(
        url="https://pages.example/",
        content_type="text/html",
        data=html.encode("latin-1"),
        charset="iso-8859-1",
    )

    assert "Straße nach Köln" in page_of(resource).text


@pytest.fixture
def certificates(tmp_path):
    """Makes (client side that trusts our authority, server side for a name, names that clients asked for)."""

    def make(name: str) -> tuple[ssl.SSLContext, ssl.SSLContext, list[str | None]]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        chain = tmp_path / "server.pem"
        chain.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        names: list[str | None] = []
        server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        server_side.load_cert_chain(chain)
        server_side.sni_callback = lambda _socket, asked, _context: names.append(asked)
        authority = ssl.create_default_context(cafile=str(chain))
        return authority, server_side, names

    return make
