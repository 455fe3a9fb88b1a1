"""What is read of a website's addresses, sitemaps and pages, as plain functions."""

from __future__ import annotations

import gzip

import pytest

from bots.chat.indexing import read_targets
from core.errors import SettingsError
from core.library.formats.read import parse_html
from core.sources.kinds import source_address
from core.sources.source import parse_moment
from core.sources.website.convert import (
    PageHead,
    SitemapDamaged,
    SitemapEntry,
    anchors_of,
    head_of,
    normal_url,
    parse,
    read_sitemap,
)

DOCS = parse("https://docs.example/guide/")


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("b#part", "https://docs.example/guide/b"),
        ("../c/./d/../e?x=1&y=%c3%a9#z", "https://docs.example/c/e?x=1&y=%C3%A9"),
        ("HTTPS://Docs.Example:443", "https://docs.example/"),
        ("//docs.example:8443/a b/\u00e9%7E", "https://docs.example:8443/a%20b/%C3%A9~"),
        ("https://b\u00fccher.example/", "https://xn--bcher-kva.example/"),
        (" /a\n/b ", "https://docs.example/a/b"),
        ("mailto:me@docs.example", None),
        ("javascript:go()", None),
        ("https://me:secret@docs.example/", None),
        ("https://docs.example:port/", None),
        ("https://[half/", None),
        ("/" + "a" * 3_000, None),
    ],
)
def test_a_link_has_one_form(link, url):
    assert normal_url(link, "https://docs.example/guide/a") == url


@pytest.mark.parametrize(
    ("url", "item"),
    [
        ("https://docs.example/guide/", "/"),
        ("https://docs.example/guide", "."),
        ("https://docs.example/guide/a/b.html?x=1", "a/b.html?x=1"),
        ("https://docs.example/guide/?x=1", "?x=1"),
        ("https://docs.example/guidelines/", None),
        ("https://docs.example/", None),
        ("http://docs.example/guide/a", None),
        ("https://docs.example.evil.example/guide/a", None),
    ],
)
def test_a_page_is_named_by_its_place_below_the_folder(url, item):
    assert DOCS.item_of(url) == item


@pytest.mark.parametrize(
    ("typed", "kept", "folder"),
    [
        ("https://Docs.Example", "site+https://docs.example", ""),
        ("https://docs.example/a/", "site+https://docs.example/a", "/a"),
        ("https://docs.example/a/start.html", "site+https://docs.example/a/start.html", "/a"),
        ("https://docs.example/a/sitemap.xml.gz", "site+https://docs.example/a/sitemap.xml.gz", ""),
        ("site+http://wiki.corp.example:8080/x", "site+http://wiki.corp.example:8080/x", "/x"),
    ],
)
def test_an_address_is_kept_in_one_form(typed, kept, folder):
    assert (parse(typed).address, parse(typed).folder, parse(kept).address) == (kept, folder, kept)


@pytest.mark.parametrize(
    "typed",
    [
        "site+https://",
        "site+ftp://docs.example/",
        "https://me:secret@docs.example/",
        "https://docs.example/?a=1",
        "site+https://[docs.example]/",
        "https://me:secret@[docs/",
    ],
)
def test_what_is_no_address_of_a_website_is_refused_without_its_password(typed):
    with pytest.raises(SettingsError) as refused:
        parse(typed)

    assert "secret" not in str(refused.value)


def test_a_single_page_is_followed_only_if_a_person_says_so():
    page, sitemap = "https://docs.example/guide/", "https://docs.example/sitemap.xml"

    assert (read_targets([page]).urls, read_targets([page]).sources) == ((page,), ())
    assert read_targets([page], follow=True).sources == ("site+https://docs.example/guide",)
    assert source_address(sitemap) == "site+https://docs.example/sitemap.xml"


@pytest.mark.parametrize(
    "typed", ["http://[docs.example]/sitemap.xml", "https://[::1/", "http://[::1]@docs.example/"]
)
def test_what_is_no_address_is_no_source(typed):
    """Versions of Python differ in which of these urllib refuses."""
    assert source_address(typed) is None


XML = (
    b'<?xml version="1.0"?><s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:i="urn:image"><s:url>'
    b"<s:loc> https://docs.example/a?x=1&amp;y=2 </s:loc><s:lastmod>2024-05-01</s:lastmod>"
    b"<i:image><i:loc>https://docs.example/a.png</i:loc></i:image></s:url></s:urlset>"
)


@pytest.mark.parametrize("data", [XML, gzip.compress(XML), b"\xef\xbb\xbf" + XML])
def test_a_sitemap_is_read(data):
    assert read_sitemap(data) == [SitemapEntry(url="https://docs.example/a?x=1&y=2", lastmod="2024-05-01")]


def test_a_list_of_addresses_is_a_sitemap_too():
    assert [each.url for each in read_sitemap(b"https://a.example/\nhttps://b.example/\n\nnote\n")] == [
        "https://a.example/", "https://b.example/",
    ]  # fmt: skip


ENTITIES = b"".join(
    b'<!ENTITY l%d "%s">' % (level, b"&l%d;" % (level - 1) * 10 if level else b"lol" * 100)
    for level in range(9)
)


@pytest.mark.parametrize(
    "data",
    [XML[:-20], gzip.compress(XML)[:-12], b"<html><body>No</body></html>", b"<urlset>&unknown;</urlset>", b"\xff\xfe\xfd",
     b"<!DOCTYPE urlset [" + ENTITIES + b"]><urlset>&l8;</urlset>", gzip.compress(b" " * 60_000_000)],
)  # fmt: skip
def test_a_damaged_sitemap_is_refused_whole(data):
    with pytest.raises(SitemapDamaged):
        read_sitemap(data)


def test_the_date_of_a_sitemap_is_a_moment():
    assert parse_moment("2024-05-01T00:00:00+00:00") == parse_moment("2024-05-01") == 1_714_521_600.0
    assert parse_moment("last week") is None


def head(text, **headers) -> PageHead:
    return head_of(text.encode(), "https://docs.example/guide/a", DOCS, headers)


def test_links_are_taken_from_where_the_page_says():
    found = head(
        '<base href="/guide/deep/"><a href="b#x">b</a><a href="b">b</a><a name="here">no</a><a href="../a">me</a>'
    )

    assert found.links == ("https://docs.example/guide/deep/b",)


def test_the_header_of_a_response_speaks_for_its_page():
    found = head(
        "<p>x</p>", **{"link": '<https://docs.example/guide/b>; rel="canonical"', "x-robots-tag": "NOINDEX"}
    )

    assert found == PageHead(canonical="https://docs.example/guide/b", is_hidden=True)


PAGE = """<html><head><title>Ferry</title></head><body><main>
<h1>Ferry</h1><p>It sails from the northern pier of the harbour every single day of the year, and twice on Sundays.</p>
<section id="times"><h2>Times<a class="headerlink" href="#times">\u00b6</a></h2><p>At nine and at five, but at ten in winter.</p></section>
<h2 id="fares &amp; more">Fares</h2><p>A crossing costs four pounds, and children under seven travel free.</p>
<h2>Times</h2><p>A second heading of the same words has no name of its own here.</p>
<h3><a name="dogs"></a>Dogs</h3><p>They travel on a lead, and are not allowed in the saloon.</p></main></body></html>"""


def test_sections_are_known_by_the_names_that_the_page_gives_them():
    document = parse_html(PAGE.encode(), url="https://docs.example/ferry")
    anchors = anchors_of(document, PAGE.encode())

    names = [(document.text[start:].partition("\n")[0].lstrip("# "), name) for start, name in anchors]
    assert names == [
        ("Ferry", ""), ("Times", "times"), ("Fares", "fares & more"), ("Times", ""), ("Dogs", "dogs"),
    ]  # fmt: skip
