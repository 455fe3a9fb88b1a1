import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.web.request import SNIPPET_LIMIT, TITLE_LIMIT, Hit, clean_hits, plain


def test_a_hit_is_plain_text():
    hit = _hit(
        title="<b>CORS</b> &amp; friends", snippet="a\n<i>pre</i>flight\u202e \x1b[31mrequest &lt;script&gt;"
    )

    (clean,) = clean_hits([hit], limit=5)

    assert (clean.title, clean.snippet) == ("CORS & friends", "a preflight request")


@pytest.mark.parametrize(
    "url",
    [
        "", "/relative", "//example.org/x", "javascript:alert(1)", "data:text/html,x", "ftp://example.org/",
        "file:///etc/passwd", "https://bank.example@evil.example/", "http://", "http://evil.com\\.trusted.org/",
        "https://example.org/" + "a" * 3000,
    ],
)  # fmt: skip
def test_a_hit_without_an_honest_web_address_is_dropped(url):
    assert clean_hits([_hit(url=url), _hit(url="https://example.org/")], limit=5) == (
        _hit(url="https://example.org/"),
    )


def test_one_page_is_one_hit_whatever_the_fragment():
    urls = [
        "https://a.org/x#1",
        "https://a.org/x#2",
        "https://A.org/x",
        "https://a.org/y",
        "https://a.org/x?q=1",
    ]

    kept = clean_hits([_hit(url=url) for url in urls], limit=9)

    assert [hit.url for hit in kept] == ["https://a.org/x", "https://a.org/y", "https://a.org/x?q=1"]


def test_the_limit_counts_hits_that_were_kept():
    urls = ["javascript:x", "https://a.org/1", "https://a.org/1#b", "https://a.org/2", "https://a.org/3"]

    kept = clean_hits([_hit(url=url) for url in urls], limit=2)

    assert [hit.url for hit in kept] == ["https://a.org/1", "https://a.org/2"]


def test_a_hit_without_a_title_is_named_by_its_host():
    (clean,) = clean_hits([_hit(title="<b></b>", url="https://docs.example.org/a")], limit=1)

    assert clean.title == "docs.example.org"


def test_an_empty_date_is_no_date():
    dates = [
        hit.published
        for hit in clean_hits([_hit(published=" "), _hit(url="https://b.org", published="2026")], limit=2)
    ]

    assert dates == [None, "2026"]


def test_long_texts_are_cut_at_a_word():
    (clean,) = clean_hits([_hit(title="word " * 100, snippet="x" * 5_000)], limit=1)

    assert clean.title == ("word " * 100)[: TITLE_LIMIT - 1]
    assert len(clean.snippet) == SNIPPET_LIMIT


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("<<b>b>bold", "bold"),
        ("<scr\x00ipt>x", "x"),
        ("&lt;img src=x onerror=y&gt;x", "x"),
        ("&#60;b&#62;x", "x"),
        ("<!-- note -->x", "x"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("zero\u200bwidth", "zerowidth"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_no_markup_and_no_control_character_survives(hostile, harmless):
    assert plain(hostile, 100) == harmless


@settings(deadline=None)
@given(st.text(alphabet="<>b/&;lt#60\x00 \n\u202e", max_size=200))
def test_whatever_is_sent_stays_short_and_visible(text):
    clean = plain(text, 50)

    assert len(clean) <= 50
    assert not any(unicodedata.category(sign).startswith("C") for sign in clean)
    assert "<b>" not in clean


def _hit(**fields: str) -> Hit:
    return Hit(**{"title": "t", "url": "https://example.org/", "snippet": "s", **fields})


def test_a_terminals_escape_sequence_goes_whole():
    hostile = "\x1b[31mRed\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07 title"

    assert plain(hostile, 100) == "Red link title"
