"""After each sync the library equals the website, exactly; and it is asked for no more than it allows."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from functools import partial
from hashlib import sha256

import pytest
from fakes.source_desk import open_desk
from fakes.website import FakeWebsite, WebAuthor, html, own_documents

from bots.chat.access import forget_documents
from bots.chat.indexing import Targets, ingest_targets
from core.bootstrap import make_fetcher
from core.conversation import Citation, Outcome
from core.library.formats.read import parse_html
from core.library.links import SourceLinks
from core.library.sync import SyncReport
from core.sources.kinds import SOURCE_KINDS
from core.sources.sources import forget_in_sources
from core.sources.sync import WAITS
from core.sources.website.source import open_website


@pytest.fixture
async def site():
    async with FakeWebsite() as site:
        yield site


def address_of(site, path="") -> str:
    return f"site+{site.url}{path}"


def kinds_with(**options):
    return {
        **SOURCE_KINDS,
        "website": replace(SOURCE_KINDS["website"], open=partial(open_website, **options)),
    }


async def ingest(desk, address, **more) -> SyncReport:
    return await desk.syncs.ingest(address, collection="default", **more)


@pytest.fixture
def desk_with(settings, clock):
    """Opens a desk whose websites are read with these options."""
    return lambda **options: open_desk(settings, clock, kinds_with(**options))


def digest(site, path) -> str:
    return sha256(site.pages[path].body).hexdigest()


@pytest.mark.parametrize("dated", [False, True])
async def test_the_index_equals_the_website_after_each_sync(desk, site, dated):
    author = WebAuthor(site, own_documents(), dated=dated)
    author.begin(60)
    site.slow = set(author.sections["/part-0/"])

    report = await ingest(desk, address_of(site))

    assert desk.below(address_of(site)) == author.hashes()
    assert report == SyncReport(added=60)
    for _ in range(4):
        author.go_on(6)
        report = await ingest(desk, address_of(site))
        assert desk.below(address_of(site)) == author.hashes()
        assert report.failed == ()


@pytest.mark.parametrize("dated", [False, True])
async def test_an_unchanged_website_costs_little(desk, site, dated):
    author = WebAuthor(site, own_documents(), dated=dated)
    author.begin(90)
    await ingest(desk, address_of(site))
    first, looks = site.sent, len(site.asked)
    site.forget_counts()

    report = await ingest(desk, address_of(site))

    assert report == SyncReport(skipped=90)
    assert site.sent <= 0.02 * first
    assert len(site.asked) <= looks
    if dated:
        marked = {path for path in author.live() if site.pages[path].at is not None}
        assert len(marked) >= 0.75 * len(author.live())
        assert marked.isdisjoint(site.asked[3:])  # behind the rules, the sitemap and where it begins
    assert set(site.statuses) <= {200, 304, 404}
    assert site.statuses[200] == 1  # robots.txt


@pytest.mark.long
@pytest.mark.parametrize("dated", [False, True])
async def test_the_index_equals_a_website_of_two_thousand_pages(desk, site, shared_data, dated):
    files = sorted((shared_data / "fastapi_docs").rglob("*.md"))
    author = WebAuthor(site, [file.read_text(encoding="utf-8") for file in files], dated=dated)
    author.begin(2_000)
    site.slow = set(author.sections["/part-0/"])
    await ingest(desk, address_of(site))
    assert desk.below(address_of(site)) == author.hashes()
    first = site.sent
    site.forget_counts()
    await ingest(desk, address_of(site))
    assert site.sent <= 0.02 * first
    for _ in range(5):
        author.go_on(100)
        failing = author.sections["/part-1/"][:20]
        site.failing = dict.fromkeys(failing, 500)
        await ingest(desk, address_of(site))
        site.failing = {}
        await ingest(desk, address_of(site))
        assert desk.below(address_of(site)) == author.hashes()


async def test_a_page_that_fails_stays_and_one_that_is_gone_does_not(desk, site):
    links = ["a.html", "b.html", "c.html", "d.html", "e.html"]
    site.put("/", html("Harbour", "<p>All of it.</p>", links=links))
    for link in links:
        site.put(f"/{link}", html(link, f"<p>What {link} says.</p>"))
    await ingest(desk, address_of(site))
    site.failing = {"/a.html": 500, "/b.html": 410, "/c.html": 403}
    site.silent = {"/d.html"}
    site.put("/a.html", html("a", "<p>Not to be seen yet.</p>"))

    report = await ingest(desk, address_of(site))

    assert report == SyncReport(removed=2, skipped=4)
    assert set(desk.below(address_of(site))) == {"/", "a.html", "d.html", "e.html"}
    site.failing, site.silent = {}, set()
    await ingest(desk, address_of(site))
    assert desk.below(address_of(site))["a.html"] == digest(site, "/a.html")
    assert len(desk.below(address_of(site))) == 6


async def test_a_page_that_never_answered_is_a_failure_until_it_does(desk, site):
    site.put("/", html("Harbour", "<p>All of it.</p>", links=["a.html"]))
    site.put("/a.html", html("a", "<p>Later.</p>"))
    site.failing = {"/a.html": 502}

    first = await ingest(desk, address_of(site))
    again = await ingest(desk, address_of(site))
    site.failing = {}
    last = await ingest(desk, address_of(site))

    told = [(f"{site.url}/a.html", "answered HTTP 502")]
    assert [(each.source, each.reason) for each in first.failed] == told
    assert [(each.source, each.reason) for each in again.failed] == told
    assert (last.failed, last.added) == ((), 1)


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/", 500, "{url}/ answered HTTP 500."),
        ("/", 404, "There is no page to read at {url}/."),
        (
            "/robots.txt",
            503,
            "{url}/robots.txt answered HTTP 503. What it allows is not known, so nothing is read.",
        ),
        ("/sitemap.xml", 500, "{url}/sitemap.xml answered HTTP 500."),
    ],
)
async def test_a_website_that_is_away_is_not_an_empty_one(desk, site, path, status, sentence):
    author = WebAuthor(site, own_documents())
    author.begin(8)
    await ingest(desk, address_of(site))
    site.failing = {path: status}
    if path == "/":
        site.pages["/"].body += b"changed"

    report = await ingest(desk, address_of(site))

    if (path, status) == ("/", 500):  # its links are remembered, and the others are looked at
        assert report.failed == ()
    else:
        assert [each.reason for each in report.failed] == [sentence.format(url=site.url)]
    assert set(desk.below(address_of(site))) == set(author.hashes())


async def test_a_website_that_falls_silent_is_gone_on_with_later(desk, site):
    author = WebAuthor(site, own_documents())
    author.begin(60)
    site.silent = {path for pages in author.sections.values() for path in pages}

    first = await ingest(desk, address_of(site))
    site.silent = set()
    for _ in range(2):
        await ingest(desk, address_of(site))

    assert f"{site.url} does not answer any more." in [each.reason for each in first.failed]
    assert desk.below(address_of(site)) == author.hashes()


async def test_what_robots_txt_forbids_is_not_asked_for(desk, site):
    site.robots = "User-agent: *\nDisallow: /\n\nUser-agent: footnote\nDisallow: /*.pdf$\nAllow: /docs/open\nDisallow: /docs/\n"
    site.put(
        "/",
        html("Harbour", "<p>All.</p>", links=["/docs/a.html", "/docs/open.html", "/x.pdf", "/x.pdf.html"]),
    )
    for path in ("/docs/a.html", "/docs/open.html", "/x.pdf", "/x.pdf.html"):
        site.put(path, html(path, f"<p>{path}</p>"))

    await ingest(desk, address_of(site))

    assert set(desk.below(address_of(site))) == {"/", "docs/open.html", "x.pdf.html"}
    assert not {"/docs/a.html", "/x.pdf"} & set(site.asked)


async def test_a_page_that_robots_txt_forbids_later_is_gone(desk, site):
    author = WebAuthor(site, own_documents())
    author.begin(10)
    await ingest(desk, address_of(site))
    site.robots = "User-agent: *\nDisallow: /part-1/\nDisallow: /private/\n"

    await ingest(desk, address_of(site))

    expected = {name for name in author.hashes() if not name.startswith("part-1/")}
    assert set(desk.below(address_of(site))) == expected


async def test_the_delay_that_a_website_asks_for_is_kept(desk_with, clock, site):
    site.robots = "User-agent: *\nCrawl-delay: 3\n"
    site.put("/", html("Harbour", "<p>All.</p>", links=["a.html", "b.html"]))
    for path in ("/a.html", "/b.html"):
        site.put(path, html(path, f"<p>{path}</p>"))
    with desk_with(pause=clock.pause) as desk:
        await ingest(desk, address_of(site))

    assert clock.waited == [3.0] * (len(site.asked) - 1)  # all but robots.txt


async def test_a_website_that_limits_us_at_its_first_word_is_waited_for_too(desk, site, clock):
    site.put("/", html("Harbour", "<p>All.</p>"))
    site.throttled["/robots.txt"] = 2

    report = await ingest(desk, address_of(site))
    site.throttled["/robots.txt"] = 100
    limited = await ingest(desk, address_of(site))

    assert report == SyncReport(added=1)
    assert clock.waited == [7.0] * (2 + WAITS)
    assert [each.source for each in limited.failed] == [site.url]  # as it was typed
    assert desk.syncs.store.all()[0].next_at is None


async def test_a_website_that_limits_us_is_waited_for(desk, site, clock):
    author = WebAuthor(site, own_documents())
    author.begin(30)
    pages = [path for section in author.sections.values() for path in section]
    site.throttled.update(dict.fromkeys(pages[::9], 1))

    report = await ingest(desk, address_of(site))

    assert set(clock.waited) == {7.0}
    assert report.failed == ()
    assert desk.below(address_of(site)) == author.hashes()


async def test_a_crawl_that_ended_early_goes_on_where_it_was(desk, site):
    author = WebAuthor(site, own_documents())
    author.begin(60)
    last = [path for section in author.sections.values() for path in section][-1]
    site.throttled[last], site.retry_after = 1, "5000"
    first = await ingest(desk, address_of(site))
    asked = set(site.asked) - {"/robots.txt", last}
    site.forget_counts()

    await ingest(desk, address_of(site))

    assert [each.reason for each in first.failed] == ["127.0.0.1 asks to be asked again later."]
    assert len(asked) > 40
    assert not asked & set(site.asked)
    assert desk.below(address_of(site)) == author.hashes()


async def test_pages_that_ask_not_to_be_kept_or_followed_are_not(desk, site):
    site.put(
        "/",
        html("Harbour", '<p>All. <a rel="nofollow noopener" href="f.html">F</a></p>', links=list("abcde")),
    )
    said = {
        "a": ('<meta name="ROBOTS" content="NoIndex, follow">', {}),
        "b": ('<meta name="footnote" content="nofollow">', {}),
        "c": ('<meta name="otherbot" content="none">', {"X-Robots-Tag": "otherbot: noindex"}),
        "d": ("", {"X-Robots-Tag": "noindex"}),
        "e": ("", {"X-Robots-Tag": "footnote: none"}),
    }
    for name, (head, headers) in said.items():
        site.put(
            f"/{name}", html(name, f"<p>{name} says.</p>", head=head, links=[f"{name}2"]), headers=headers
        )
        site.put(f"/{name}2", html(name, f"<p>{name} says more.</p>"))
    site.put("/f.html", html("f", "<p>f says.</p>"))

    await ingest(desk, address_of(site))

    assert set(desk.below(address_of(site))) == {"/", "a2", "b", "c", "c2", "d2"}


async def test_copies_are_left_out_unless_the_page_is_not_there(desk, site):
    site.put("/", html("Harbour", "<p>All.</p>", links=["a?print", "b?print", "c", "d"]))
    for path, canonical in {"/a?print": "/a", "/b?print": "/b", "/c": "/d", "/d": "/c"}.items():
        head = f'<link rel="canonical" href="{site.url}{canonical}">'
        site.put(path, html(path, f"<p>{path} says.</p>", head=head))
    site.put(
        "/a", html("a", "<p>a says.</p>", head='<link rel=canonical href="https://elsewhere.example/a">')
    )

    await ingest(desk, address_of(site))

    assert set(desk.below(address_of(site))) == {"/", "a", "b?print", "c", "d"}


async def test_it_stays_on_its_host_and_below_its_folder(desk, site):
    async with FakeWebsite() as other:
        other.put("/", html("Other", "<p>Elsewhere.</p>"))
        other.put("/x", html("Other", "<p>Elsewhere.</p>"))
        links = [
            "a.html",
            "../b.html",
            "moved",
            f"{other.url}/",
            "//127.0.0.2/",
            "mailto:me@x",
            "javascript:x()",
            "p.png",
        ]
        site.redirects = {"/docs": "/docs/", "/docs/moved": f"{other.url}/x"}
        site.put("/docs/", html("Docs", "<p>All.</p>", links=links))
        site.put("/docs/a.html", html("a", "<p>a</p>"))
        site.put("/b.html", html("b", "<p>b</p>"))

        report = await ingest(desk, address_of(site, "/docs/"))

        assert report.failed == ()
        assert set(desk.below(address_of(site, "/docs"))) == {"/", "a.html"}
        assert other.asked == []
        assert not {"/b.html", "/docs/p.png"} & set(site.asked)


async def test_a_website_that_moved_says_where(desk, site):
    site.redirects = {"/": "https://new.example/start"}

    report = await ingest(desk, address_of(site))

    assert [each.reason for each in report.failed] == [
        f"{site.url}/ leads to https://new.example/start, which is not followed: ingest that address, if it is meant."
    ]
    assert desk.syncs.store.all() == []


async def test_a_sitemap_is_read_as_it_is(desk, site):
    url = site.url
    site.put_sitemap(
        "/sitemap.xml", [(f"{url}/one.xml.gz", None), (f"{url}/two.xml", None)], kind="sitemapindex"
    )
    site.put_sitemap("/one.xml.gz", [(f"{url}/a", 1_600_000_000), ("https://elsewhere.example/b", None)])
    site.put_sitemap("/two.xml", [(f"{url}/c", None), (f"{url}/gone", None)])
    for path in ("/a", "/c", "/linked"):
        site.put(path, html(path, f"<p>{path} says.</p>", links=["/linked"]))
    address = address_of(site, "/sitemap.xml")

    report = await ingest(desk, address)

    assert report == SyncReport(added=2)
    assert set(desk.below(address)) == {"a", "c"}
    dates = {entry.source: entry.changed_at for entry in desk.library.store.entries()}
    assert dates == {f"{url}/a": 1_600_000_000.0, f"{url}/c": 1_600_000_000.0}


async def test_a_page_that_its_sitemap_dates_anew_is_read_again(desk, site):
    site.put("/a", html("a", "<p>First.</p>"))
    site.put("/b", html("b", "<p>Always.</p>"))
    site.put_sitemap("/sitemap.xml", [(f"{site.url}/a", 1), (f"{site.url}/b", 1)])
    address = address_of(site, "/sitemap.xml")
    await ingest(desk, address)
    site.put("/a", html("a", "<p>Second.</p>"), at=1_700_000_000)
    site.put_sitemap("/sitemap.xml", [(f"{site.url}/a", 2), (f"{site.url}/b", 1)])
    site.forget_counts()

    report = await ingest(desk, address)

    assert site.asked == ["/robots.txt", "/sitemap.xml", "/a"]
    assert (report.changed, desk.below(address)["a"]) == (1, digest(site, "/a"))


async def test_a_damaged_sitemap_takes_nothing_for_gone(desk, site):
    site.put("/a", html("a", "<p>First.</p>"))
    site.put_sitemap("/sitemap.xml", [(f"{site.url}/a", 1)])
    address = address_of(site, "/sitemap.xml")
    await ingest(desk, address)
    site.pages["/sitemap.xml"].body = site.pages["/sitemap.xml"].body[:80]

    report = await ingest(desk, address)

    assert [each.reason for each in report.failed] == [f"{site.url}/sitemap.xml is not XML to its end."]
    assert set(desk.below(address)) == {"a"}


@pytest.mark.parametrize(
    ("limits", "names", "sentence"),
    [
        ({"page_limit": 3}, {"/", "a", "b"}, "More than 3 addresses were found; only so many are looked at. A narrower address reads the others."),
        ({"depth_limit": 1}, {"/", "a", "b", "c"}, "Pages more than 1 links away from the first one were not read."),
    ],
)  # fmt: skip
async def test_a_limit_that_is_reached_is_told(desk_with, site, limits, names, sentence):
    site.put("/", html("Harbour", "<p>All.</p>", links=["a", "b", "c"]))
    for path, link in {"/a": "deep", "/b": "/", "/c": "/a", "/deep": "/"}.items():
        site.put(path, html(path, f"<p>{path} says.</p>", links=[link]))
    with desk_with(**limits) as desk:
        report = await ingest(desk, address_of(site))
        (record,) = desk.syncs.store.all()

        assert set(desk.below(address_of(site))) == names
        assert [(each.source, each.text) for each in report.notes] == [(site.url, sentence)]
        assert report.failed == ()
        assert (record.note, record.failure, record.synced_at is None) == (sentence, "", False)


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_page_that_was_indexed_alone_is_read_with_its_website_and_once(
    desk, site, settings, is_first
):
    site.put("/", html("Harbour", "<p>All.</p>", links=["ferry"]))
    site.put("/ferry", html("Ferry", "<p>It sails at noon.</p>"))
    page = Targets(urls=(f"{site.url}/ferry",))

    async def index_page():
        fetcher = make_fetcher(settings, for_operator=True)
        return await asyncio.to_thread(ingest_targets, desk.library, page, fetcher, notify=lambda *_: None)

    if is_first:
        alone = await index_page()
    report = await ingest(desk, address_of(site))
    if not is_first:
        alone = await index_page()

    assert sorted(desk.hashes()) == [f"{address_of(site)}//", f"{address_of(site)}/ferry"]
    told = [note.text for note in (report if is_first else alone).notes]
    if is_first:
        assert (alone.added, told) == (
            1,
            ["Pages that were indexed alone before, and are read with it now: 1."],
        )
    else:
        again = f"`footnote ingest {site.url} --follow` reads all of that again."
        assert (alone.skipped, told) == (1, [f"is read with {site.url} already: {again}"])


async def test_a_server_without_marks_is_compared_by_content(desk, site):
    author = WebAuthor(site, own_documents())
    author.begin(12)
    site.sends_etags = site.sends_dates = False
    await ingest(desk, address_of(site))
    author.go_on(2)

    await ingest(desk, address_of(site))
    report = await ingest(desk, address_of(site))

    assert desk.below(address_of(site)) == author.hashes()
    assert report == SyncReport(skipped=len(author.hashes()))


async def test_what_the_crawl_remembers_may_vanish(desk, site, settings):
    author = WebAuthor(site, own_documents())
    author.begin(20)
    await ingest(desk, address_of(site))
    author.go_on(3)
    shutil.rmtree(settings.data_dir / "sources")

    report = await ingest(desk, address_of(site))

    assert desk.below(address_of(site)) == author.hashes()
    assert report.skipped > 10


async def test_a_host_that_is_not_public_is_read_only_if_it_is_named(settings, clock, site):
    site.put("/", html("Harbour", "<p>All.</p>"))
    with open_desk(replace(settings, private_hosts=()), clock) as desk:
        report = await ingest(desk, address_of(site))

    assert [each.reason for each in report.failed] == [
        "127.0.0.1 is not a public address. PRIVATE_HOSTS=127.0.0.1 lets your own `footnote ingest` read it."
    ]
    assert site.asked == []


FERRY = """<h1>Ferry</h1><p>It sails from the northern pier of the harbour every day of the year.</p>
<section id="fares"><h2>Fares</h2><p>A crossing costs four pounds, and children travel free.</p></section>"""


async def test_a_footnote_opens_the_section_of_its_quote(desk, site, tmp_path):
    site.put("/", html("Ferry", FERRY))
    await ingest(desk, address_of(site))
    links = SourceLinks(templates={}, store=desk.library.store, private=tmp_path)

    def link(quote):
        ((text, begin),) = desk.library.store.database.rows(
            "SELECT text, start FROM passages WHERE text LIKE ?", (f"%{quote}%",)
        )
        start = begin + text.index(quote)
        cited = Citation(
            number=1, title="Ferry", location="", quote=quote, start=start, end=start + len(quote), url=f"{site.url}/",
            source=f"{site.url}/", collection="default",
        )  # fmt: skip
        return links.add_links(Outcome(kind="answered", turn_id="t", closest=(cited,))).closest[0].url

    assert link("A crossing costs four pounds") == f"{site.url}/#fares"
    assert link("It sails from the northern pier") == f"{site.url}/"


async def test_a_part_that_was_forgotten_stays_out(desk, site, settings):
    author = WebAuthor(site, own_documents())
    author.begin(12)
    await ingest(desk, address_of(site))
    is_whole = forget_in_sources(desk.syncs.store, desk.library, f"{site.url}/part-0", settings.data_dir)
    desk.library.forget(f"{site.url}/part-0")

    await ingest(desk, address_of(site))

    assert not is_whole
    assert set(desk.below(address_of(site))) == {
        name for name in author.hashes() if not name.startswith("part-0/")
    }
    assert forget_in_sources(desk.syncs.store, desk.library, site.url, settings.data_dir)
    assert desk.syncs.store.all() == []


def addresses(desk) -> set[tuple[str, str]]:
    return {(each.collection, each.address) for each in desk.library.store.entries()}


async def read_twice(desk, site, first="/g/") -> None:
    """A website of three pages, each of which was also read alone; and one page that is not of it."""
    site.put(first, html("Guide", "<p>All of it.</p>", links=["/g/a.html", "/g/b.html"]))
    for name in ("a", "b"):
        site.put(f"/g/{name}.html", html(name, f"<p>What {name} says.</p>"))
    await ingest(desk, address_of(site, first))
    for path in (first, "/g/a.html", "/g/b.html", "/other.html"):
        desk.library.ingest_page(
            site.url + path, parse_html(html(path, f"<p>Read alone: {path}.</p>"), url=None)
        )


@pytest.mark.parametrize("first", ["/g/", "/g/index.html"])
async def test_a_page_that_was_also_read_alone_is_forgotten_in_both_and_stays_out(desk, site, first):
    await read_twice(desk, site, first)
    desk.library.ingest_page(
        f"{site.url}/g/a.html", parse_html(html("a", "<p>Closed.</p>"), url=None), collection="hr"
    )
    before, copy = addresses(desk), f"{address_of(site, first).rstrip('/')}/a.html"

    gone = forget_documents(desk.library, desk.storage, f"{site.url}/g/a.html", collection="default")
    await ingest(desk, address_of(site, first))
    left = addresses(desk)
    everywhere = forget_documents(desk.library, desk.storage, f"{site.url}/g/a.html")

    assert {each.address for each in gone} == {f"{site.url}/g/a.html", copy}
    alone = {
        ("default", site.url + path) for path in (first, "/g/b.html")
    }  # read with the website from then on
    assert before - left == {("default", each.address) for each in gone} | alone
    assert [each.collection for each in everywhere] == ["hr"]


@pytest.mark.parametrize("first", ["/g/", "/g/index.html"])
async def test_the_address_that_was_typed_for_a_website_forgets_it_and_its_first_page(desk, site, first):
    await read_twice(desk, site, first)
    below = {f"{site.url}/g/a.html", f"{site.url}/g/b.html"} if first != "/g/" else set()

    forget_documents(desk.library, desk.storage, site.url + first)

    assert addresses(desk) == {("default", each) for each in (*below, f"{site.url}/other.html")}
    assert desk.syncs.store.all() == []
    assert desk.syncs.store.database.rows("SELECT * FROM forgotten_source_items") == []
