"""A first look at a source says what would be read, and leaves nothing behind."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.git_server import git
from fakes.sources import ADDRESS, Shelf
from fakes.website import FakeWebsite, html

from core.errors import SettingsError
from core.settings import Settings
from core.sources.git.address import credentials_of, typed_address
from core.sources.kinds import SOURCE_KINDS, Glimpse, check, probe
from core.sources.source import SourceThrottled, SourceUnavailable, kind_of


@pytest.fixture
def settings(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    return Settings(data_dir=tmp_path / "data", private_hosts=("127.0.0.1",))


@pytest.fixture
def shelf():
    made = Shelf()
    made.write(**{f"page-{number:02}": "Some text." for number in range(6)})
    return made


@pytest.fixture
async def site():
    async with FakeWebsite() as site:
        yield site


def left_of(settings):
    """Everything that a look may have left on the disk."""
    return [*(settings.data_dir.parent / "scratch").iterdir(), *settings.data_dir.glob("**/*")]


async def test_a_small_source_is_counted_whole(settings, shelf):
    found = await probe(ADDRESS, settings, kinds=shelf.kinds)

    assert found == Glimpse(
        titles=tuple(f"harbour/page-{number:02}.md" for number in range(6)), count=6, is_estimate=False
    )
    assert shelf.fetched == []


async def test_of_a_large_one_the_beginning_is_listed(settings, shelf):
    shelf.write(**{f"more-{number:02}": "Text." for number in range(90)})

    found = await probe(ADDRESS, settings, kinds=shelf.kinds)

    assert (len(found.titles), found.count, found.is_estimate) == (10, 12, True)


async def test_a_repository_says_how_many_documents_it_has(settings, server, repository):
    repository.commit({f"docs/{number:03}.md": f"Page {number}." for number in range(230)})
    address = server.address("harbour/docs.git")

    found = await probe(address, settings)

    assert (found.titles[0], found.count, found.is_estimate) == ("harbour/docs/docs/000.md", 230, True)
    assert left_of(settings) == []


async def test_a_website_says_how_many_pages_it_knows_of(settings, site):
    paths = [f"/{number}.html" for number in range(40)]
    for path in paths:
        site.put(path, html("A page", "<p>Some words about the harbour.</p>"))
    site.put("/", html("Home", "<p>All pages of the harbour.</p>", links=paths))

    found = await probe(f"site+{site.url}", settings)

    assert (len(found.titles), found.count, found.is_estimate) == (10, 41, True)
    assert left_of(settings) == []


async def test_what_is_in_the_way_is_told_and_nothing_stays(settings, server, shelf, repository):
    missing = server.address("harbour/nothing.git")
    shelf.page_faults[0] = SourceThrottled("The wiki wants to be asked later.", retry_after=60)

    for look in (probe, check):
        with pytest.raises(SourceUnavailable, match="harbour/nothing"):
            await look(missing, settings)
    with pytest.raises(SourceThrottled, match="asked later"):
        await check(ADDRESS, settings, kinds=shelf.kinds)
    with pytest.raises(SourceUnavailable, match="PRIVATE_HOSTS="):
        await probe(missing, replace(settings, private_hosts=()))
    assert left_of(settings) == []


async def test_a_check_of_a_repository_fetches_none_of_it(settings, server, repository):
    repository.commit({"a.md": "x" * 300_000})
    address = server.address("harbour/docs.git")

    await check(address, settings)

    assert server.sent < 20_000
    with pytest.raises(SourceUnavailable, match="no branch or tag nowhere"):
        await check(server.address("harbour/docs.git", "#@nowhere"), settings)
    assert left_of(settings) == []


async def test_a_check_of_a_website_asks_for_its_rules_and_one_page(settings, site):
    site.put("/", html("Home", "<p>All pages of the harbour.</p>", links=["/a.html"]))
    site.put("/a.html", html("A page", "<p>Some words about the harbour.</p>"))

    await check(f"site+{site.url}", settings)

    assert site.asked == ["/robots.txt", "/"]
    with pytest.raises(SourceUnavailable, match="There is no page to read at"):
        await check(f"site+{site.url}/nowhere", settings)


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("https://github.com/acme/handbook", "git+https://github.com/acme/handbook"),
        ("https://github.com/acme/handbook#docs@main", "git+https://github.com/acme/handbook#docs@main"),
        ("git@github.com:acme/handbook.git", "git+ssh://git@github.com/acme/handbook.git"),
        ("ssh://git@git.corp.example:2222/a/b", "git+ssh://git@git.corp.example:2222/a/b"),
        ("git+https://github.com/acme/handbook", "git+https://github.com/acme/handbook"),
    ],
)
def test_repositories_are_named_as_people_copy_them(typed, kept):
    assert typed_address(typed) == kept


def test_a_repository_on_this_disk_is_named_by_its_path(tmp_path):
    git(tmp_path, "init", "--quiet")

    assert typed_address(str(tmp_path)) == f"git+file://{tmp_path}"
    assert typed_address(f"{tmp_path}#docs") == f"git+file://{tmp_path}#docs"


@pytest.mark.parametrize(
    "typed", ["nowhere/at/all", "http://github.com/a/b", "https://ann:sesame@github.com/a/b"]
)
def test_what_is_no_repository_is_told_without_its_password(typed):
    with pytest.raises(SettingsError) as refused:
        typed_address(typed)

    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("git+https://github.com/acme/handbook", "https://github.com/settings/personal-access-tokens/new"),
        (
            "git+https://gitlab.corp.example/a/b",
            "https://gitlab.corp.example/-/user_settings/personal_access_tokens",
        ),
        ("git+https://codeberg.org/a/b", "https://codeberg.org/user/settings/applications"),
        ("git+https://bitbucket.org/a/b.git", "https://bitbucket.org/a/b/admin/access-tokens"),
    ],
)
def test_a_token_is_made_where_the_host_makes_them(address, page):
    host = address.split("/")[2]
    (unset,) = credentials_of(address, Settings())
    (given,) = credentials_of(address, Settings(git_tokens={host: "sesame"}))

    assert (unset.setting, unset.entry, unset.made_at) == ("GIT_TOKENS", f"{host}=TOKEN", page)
    assert (unset.is_set, given.is_set, unset.is_needed) == (False, True, False)
    assert "sesame" not in repr(given)


def test_repositories_by_ssh_and_on_this_disk_need_no_token(tmp_path):
    git(tmp_path, "init", "--quiet")

    assert credentials_of("git+ssh://git@github.com/a/b", Settings()) == ()
    assert credentials_of(f"git+file://{tmp_path}", Settings()) == ()


def test_each_kind_has_a_guide_that_takes_its_own_example():
    for name, kind in SOURCE_KINDS.items():
        assert kind.guide is not None, name
        address = kind.guide.address(kind.guide.example)
        assert address.startswith(kind.prefixes)
        assert kind.canonical(address) == address


@pytest.mark.parametrize(
    ("kind", "typed", "kept"),
    [
        (
            "confluence",
            "acme.atlassian.net/wiki/spaces/ENG",
            "confluence+https://acme.atlassian.net/wiki/spaces/ENG",
        ),
        (
            "confluence",
            "https://wiki.corp.example/display/ENG",
            "confluence+https://wiki.corp.example/spaces/ENG",
        ),
        ("drive", "1AbCdEfGhIjKlMnOp", "drive:1AbCdEfGhIjKlMnOp"),
        ("drive", "drive:", "drive:"),
        ("notion", "notion:", "notion:"),
        (
            "notion",
            "https://www.notion.so/acme/Handbook-0123456789abcdef0123456789abcdef",
            "notion:0123456789abcdef0123456789abcdef",
        ),
        ("github", "github.com/acme/handbook/pulls", "github+https://github.com/acme/handbook/pulls"),
        ("website", "docs.example.org/guide/", "site+https://docs.example.org/guide"),
    ],
)
def test_sources_are_named_as_people_copy_them(kind, typed, kept):
    assert SOURCE_KINDS[kind].guide.address(typed) == kept


@pytest.mark.parametrize(
    ("address", "entry", "made_at", "given"),
    [
        (
            "confluence+https://acme.atlassian.net/wiki/spaces/ENG",
            "CONFLUENCE_TOKENS=acme.atlassian.net=YOU@EXAMPLE.ORG:TOKEN",
            "https://id.atlassian.com/manage-profile/security/api-tokens",
            {"confluence_tokens": {"acme.atlassian.net": "sesame"}},
        ),
        (
            "confluence+https://wiki.corp.example/spaces/ENG",
            "CONFLUENCE_TOKENS=wiki.corp.example=TOKEN",
            "https://wiki.corp.example/plugins/personalaccesstokens/usertokens.action",
            {"confluence_tokens": {"wiki.corp.example": "sesame"}},
        ),
        (
            "drive:",
            "DRIVE_CREDENTIALS=/PATH/OF/KEY.json",
            "https://console.cloud.google.com/iam-admin/serviceaccounts",
            {"drive_credentials": "/etc/footnote/sesame.json"},
        ),
        (
            "notion:",
            "NOTION_TOKEN=TOKEN",
            "https://www.notion.so/profile/integrations",
            {"notion_token": "sesame"},
        ),
    ],
)
def test_what_a_source_cannot_be_read_without_is_named_with_where_it_is_made(address, entry, made_at, given):
    kind = kind_of(address, SOURCE_KINDS)
    (unset,), (found,) = (kind.guide.credentials(address, each) for each in (Settings(), Settings(**given)))

    assert (f"{unset.setting}={unset.entry}", unset.made_at) == (entry, made_at)
    assert (unset.is_needed, unset.is_set, found.is_set) == (True, False, True)
    assert hasattr(Settings(), unset.setting.lower())
    assert unset.file is None
    assert found.file == (Path("/etc/footnote/sesame.json") if address == "drive:" else None)
