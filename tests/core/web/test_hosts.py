import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import FetchRefused, SettingsError
from core.web.hosts import URL_LIMIT, host_of, is_allowed, parse, pattern
from core.web.request import Hit, filter_hits


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Docs.Example.ORG/path?q=1#top", "docs.example.org"),
        ("https://docs.example.org./", "docs.example.org"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://XN--BCHER-KVA.example/", "xn--bcher-kva.example"),
        ("http://trusted.org@evil.com/", "evil.com"),
        ("http://trusted.org:80@evil.com:8080/", "evil.com"),
        ("http://evil.com/?trusted.org", "evil.com"),
        ("http://evil.com#trusted.org", "evil.com"),
        ("http://127.0.0.1:8080/", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://017700000001/", "127.0.0.1"),
        ("http://[2001:DB8:0:0::1]/", "2001:db8::1"),
        ("http://[::ffff:10.0.0.1]/", "10.0.0.1"),
        (" https://example.org/ ", "example.org"),
    ],
)
def test_the_host_is_the_machine_that_would_be_visited(url, host):
    assert host_of(url) == host


@pytest.mark.parametrize(
    "url",
    [
        "", "example.org", "/path", "http://", "http:///x", "mailto:a@example.org", "http://exa mple.org/",
        "http://evil.com\\.trusted.org/", "http://a%2etrusted.org/", "http://.trusted.org/", "http://a..trusted.org/",
        "http://1.2.3.4.5/", "http://999.1.1.1/", "http://０x7f.1/", "http://[::1", "http://a\ud800.org/",
        "http://a\x00.org/", "http://a\n.org/", f"http://{'a' * 64}.org/", "http://trusted.org*/",
    ],
)  # fmt: skip
def test_what_is_not_a_host_to_every_browser_is_none_here(url):
    assert host_of(url) == ""


@pytest.mark.parametrize(
    "written",
    [
        "example.org", "EXAMPLE.org", "example.org.", "*.example.org", ".example.org", " example.org ",
        "https://example.org/docs", "example.org:8443", "example.org/docs",
    ],
)  # fmt: skip
def test_a_pattern_may_be_written_in_several_ways(written):
    assert pattern(written) == "example.org"


@pytest.mark.parametrize(
    ("written", "host"),
    [
        ("bücher.example", "xn--bcher-kva.example"),
        ("::1", "::1"),
        ("[::1]:80", "::1"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
def test_a_pattern_may_be_international_or_an_address(written, host):
    assert pattern(written) == host


@pytest.mark.parametrize("written", ["", "*", ".", "exa mple.org", "http://", "a..b", "*.*.example.org"])
def test_a_pattern_that_names_no_host_is_refused_with_a_sentence(written):
    with pytest.raises(SettingsError, match="is not the name of a host"):
        pattern(written)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/", "https://example.org./", "http://a.example.org/", "http://a.b.EXAMPLE.ORG:8080/",
        "http://evil.com@example.org/",
    ],
)  # fmt: skip
def test_a_pattern_covers_its_host_and_every_subdomain(url):
    assert not is_allowed(url, blocked=["example.org"])
    assert is_allowed(url, trusted=["example.org"])


@pytest.mark.parametrize(
    "url",
    [
        "https://notexample.org/",
        "https://example.org.evil.com/",
        "https://example.com/",
        "http://example.org@evil.com/",
    ],
)
def test_a_pattern_covers_nothing_else(url):
    assert is_allowed(url, blocked=["example.org"])
    assert not is_allowed(url, trusted=["example.org"])


def test_an_address_has_no_subdomains():
    assert not is_allowed("http://10.0.0.1/", blocked=["10.0.0.1"])
    assert is_allowed("http://110.0.0.1/", blocked=["10.0.0.1"])


def test_blocked_wins_over_trusted():
    assert not is_allowed("https://a.example.org/", trusted=["a.example.org"], blocked=["example.org"])


def test_without_lists_every_real_host_is_allowed_and_nothing_else():
    assert is_allowed("https://example.org/")
    assert not is_allowed("http://evil.com\\.trusted.org/")


def test_with_a_trusted_list_only_trusted_hits_remain_in_their_order():
    hits = [
        _hit("https://b.org/1"),
        _hit("https://a.org/2"),
        _hit("https://c.org/3"),
        _hit("https://x.b.org/4"),
    ]

    kept = filter_hits(hits, trusted=["a.org", "b.org"])

    assert [hit.url for hit in kept] == ["https://b.org/1", "https://a.org/2", "https://x.b.org/4"]


def test_a_very_long_address_is_refused():
    with pytest.raises(FetchRefused, match="too long"):
        parse("https://example.org/" + "a" * URL_LIMIT)


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_has_a_host_or_none(text):
    assert host_of(f"http://{text}/") == host_of(f"http://{text}/").lower()


def _hit(url: str) -> Hit:
    return Hit(title="t", url=url, snippet="s")
