"""Websites over HTTPS: read where the certificate is trusted, refused in one sentence where it is not."""

from __future__ import annotations

import ssl

import pytest
from fakes.git_server import make_certificate
from fakes.source_desk import open_desk
from fakes.website import FakeWebsite, WebAuthor, html

from core.bootstrap import make_fetcher
from core.errors import SearchTrouble
from core.settings import Settings
from core.sources.kinds import check
from core.sources.source import SourceUnavailable
from core.tls import default_tls


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Of 127.0.0.1, and its own authority."""
    return make_certificate(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def trusted(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


@pytest.fixture
async def site(certificate):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    async with FakeWebsite(tls=context) as site:
        yield site


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "data", private_hosts=("127.0.0.1", "localhost"))


@pytest.fixture
def desk(settings, clock):
    with open_desk(settings, clock) as desk:
        yield desk


async def ingest(desk, address):
    return await desk.syncs.ingest(f"site+{address}", collection="default")


DOCUMENTS = [f"# Pier {number}\n\nAt pier {number} the ferry waits." for number in range(4)]


@pytest.mark.usefixtures("trusted")
async def test_a_website_over_https_is_read_and_kept_in_step(desk, site):
    author = WebAuthor(site, DOCUMENTS)
    author.begin(12)

    first = await ingest(desk, site.url)
    site.forget_counts()
    same = await ingest(desk, site.url)
    statuses = dict(site.statuses)
    author.go_on(4)
    await ingest(desk, site.url)

    assert (first.added, first.failed) == (12, ())
    assert (same.added, same.changed, same.skipped) == (0, 0, 12)
    assert (statuses[200], statuses[304] >= 12) == (1, True)  # robots.txt alone
    assert desk.below(f"site+{site.url}") == author.hashes()
    assert {entry.url.partition(":")[0] for entry in desk.library.store.entries()} == {"https"}


@pytest.mark.usefixtures("trusted")
async def test_old_links_to_the_site_without_tls_are_read_over_it(desk, site):
    site.put("/", html("Harbour", "<p>All.</p>", links=[site.url.replace("https", "http") + "/ferry"]))
    site.put("/ferry", html("Ferry", "<p>It sails at noon.</p>"))

    report = await ingest(desk, site.url)

    assert (report.added, report.failed) == (2, ())


async def test_an_authority_that_is_not_trusted_is_told_in_one_sentence_and_nothing_is_asked(
    desk, site, settings
):
    site.put("/", html("Harbour", "<p>All.</p>"))
    sentence = (
        f"{site.url} has a certificate that is not trusted (self-signed certificate); "
        "SSL_CERT_FILE names authorities of your own."
    )

    report = await ingest(desk, site.url)
    with pytest.raises(SourceUnavailable) as looked:
        await check(f"site+{site.url}", settings)

    assert [(each.source, each.reason, each.is_source) for each in report.failed] == [
        (site.url, sentence, True)
    ]
    assert str(looked.value) == sentence
    assert site.asked == []


@pytest.mark.usefixtures("trusted")
async def test_a_certificate_of_another_host_is_not_trusted(desk, site):
    report = await ingest(desk, site.url.replace("127.0.0.1", "localhost"))

    (failure,) = report.failed
    assert "has a certificate that is not trusted (Hostname mismatch" in failure.reason
    assert site.asked == []


async def test_a_certificate_that_is_not_trusted_any_more_removes_nothing(
    settings, clock, site, certificate, monkeypatch
):
    site.put("/", html("Harbour", "<p>All.</p>"))
    with open_desk(settings, clock) as desk:
        with monkeypatch.context() as patched:
            patched.setenv("SSL_CERT_FILE", str(certificate))
            await ingest(desk, site.url)
        before = desk.hashes()
        default_tls.cache_clear()

        report = await ingest(desk, site.url)

        assert "is not trusted" in report.failed[0].reason
        assert (desk.hashes(), len(before)) == (before, 1)


async def test_a_single_page_is_refused_in_the_same_words(site, settings):
    with pytest.raises(
        SearchTrouble, match=r"^127\.0\.0\.1 has a certificate that is not trusted \(self-signed"
    ):
        await make_fetcher(settings, for_operator=True).get_public(f"{site.url}/")

    assert site.asked == []
