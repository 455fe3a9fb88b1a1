"""After each sync the library equals the issues of a repository on GitHub."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import pytest
from fakes.github import DAY, FakeGitHub, GitHubTeam
from fakes.source_desk import open_desk

from core.conversation import Citation, Outcome
from core.errors import SettingsError
from core.library.links import SourceLinks
from core.library.sync import SyncReport
from core.sources.github.client import parse
from core.sources.github.source import close_fences, open_github, text_of_issue
from core.sources.kinds import SOURCE_KINDS, source_address

ISSUES = "github+https://github.com/acme/handbook/issues"
PULLS = "github+https://github.com/acme/handbook/pulls"


@pytest.fixture
async def github():
    async with FakeGitHub() as github:
        yield github


@pytest.fixture
def kinds(github, clock):
    return {
        **SOURCE_KINDS,
        "github": replace(
            SOURCE_KINDS["github"], open=partial(open_github, origin=github.url, now=clock.now)
        ),
    }


@pytest.fixture
def desk(settings, clock, kinds):
    with open_desk(settings, clock, kinds) as desk:
        yield desk


async def ingest(desk, address=ISSUES) -> SyncReport:
    return await desk.syncs.ingest(address, collection="default")


def texts(desk, address=ISSUES) -> dict[str, str]:
    """The text of each document, by its number."""
    rows = desk.library.store.database.rows(
        "SELECT d.address, p.text FROM documents d JOIN passages p ON p.document = d.id ORDER BY d.id, p.ordinal"
    )
    found: dict[str, str] = {}
    for place, text in rows:
        if place.startswith(f"{address}/"):
            name = place.removeprefix(f"{address}/")
            found[name] = f"{found.get(name, '')}\n{text}"
    return found


def editions(desk, address=ISSUES) -> dict[str, str]:
    return {name: " ".join(re.findall(r"Edition \d+\.", text)) for name, text in texts(desk, address).items()}


async def test_the_index_equals_the_issues_after_each_days_sync(desk, github, clock):
    team = GitHubTeam(github)
    team.begin(130)

    report = await ingest(desk)

    assert editions(desk) == team.hashes()
    assert report == SyncReport(added=len(team.hashes()))
    for _ in range(4):
        team.go_on(12)
        clock.seconds += DAY
        assert (await ingest(desk)).failed == ()
        assert editions(desk) == team.hashes()


async def test_between_days_only_what_changed_is_asked_for(desk, github):
    team = GitHubTeam(github)
    team.begin(130)
    await ingest(desk)
    there = set(team.hashes())
    for _ in range(6):
        github.forget_counts()
        team.go_on(10)

        await ingest(desk)

        read, expected = editions(desk), team.hashes()
        there = (there | set(expected)) & set(read)
        assert {name: read[name] for name in expected} == expected
        assert github.asked["/issues"] <= 2


async def test_pull_requests_are_a_source_of_their_own(desk, github, clock):
    team = GitHubTeam(github, seed=3)
    team.begin(30)
    pull = next(each for each in github.issues.values() if each.is_pull)
    github.now += 100
    pull.state, pull.merged = "closed", True
    github.say(pull, "Well done.\n", kind="pullrequestreview")
    said = github.say(pull, "This line is wrong.", kind="discussion_r")

    await ingest(desk, PULLS)

    assert editions(desk, PULLS) == team.hashes(pulls=True)
    text = texts(desk, PULLS)[str(pull.number)]
    assert "merged" in text
    assert text.index("Well done.") < text.index("This line is wrong.")
    github.now += 5_000
    said.body, said.updated = "This line is right.", github.now
    await ingest(desk, PULLS)
    assert "This line is right." in texts(desk, PULLS)[str(pull.number)]


async def test_an_unchanged_repository_costs_two_answers_without_a_body(github, settings, clock, kinds):
    github.token = "ghp_sesame"
    team = GitHubTeam(github)
    team.begin(130)
    with open_desk(replace(settings, git_tokens={"github.com": "ghp_sesame"}), clock, kinds) as desk:
        await ingest(desk)
        first, requests = github.sent, github.statuses.total()
        await ingest(desk)
        github.forget_counts()
        left = github.remaining

        report = await ingest(desk)

        assert report == SyncReport(skipped=len(team.hashes()))
        assert (github.sent, dict(github.statuses), github.remaining) == (0, {304: 2}, left)
        assert github.statuses.total() <= 0.03 * requests
        clock.seconds += DAY
        await ingest(desk)
        assert github.sent <= 0.001 * first
        assert set(github.statuses) == {304}


async def test_what_is_deleted_while_everything_is_listed_takes_nothing_else_along(desk, github, clock):
    team = GitHubTeam(github)
    team.begin(330)
    await ingest(desk)
    clock.seconds += DAY
    pages = iter(range(100))

    def delete(path: str) -> None:
        if path.endswith("/issues") and next(pages) in (1, 2):
            first = min(github.issues)
            github.delete(github.issues[first])

    github.before = delete
    await ingest(desk)

    assert editions(desk) == team.hashes()


async def test_an_issue_that_goes_between_list_and_fetch_is_not_kept(desk, github):
    team = GitHubTeam(github)
    team.begin(20)
    issues = [each for each in github.issues.values() if not each.is_pull]
    deleted, transferred = [
        each for each in issues if any(s.number == each.number for s in github.said.values())
    ][:2]

    def remove(path: str) -> None:
        if path.endswith("/comments") and deleted.number in github.issues:
            github.delete(deleted)
            github.delete(transferred, transfer=True)

    github.before = remove

    report = await ingest(desk)

    assert editions(desk) == team.hashes()
    assert report.failed == ()


async def test_limits_are_waited_for(desk, github, clock):
    team = GitHubTeam(github)
    team.begin(6)
    github.secondary, github.failing = 2, [502]

    report = await ingest(desk)

    assert report.failed == ()
    assert clock.waited == [9.0, 60.0, 30.0]
    github.remaining = 0
    github.before = lambda _path: setattr(
        github, "remaining", 60 if len(clock.waited) > 3 else github.remaining
    )
    await ingest(desk)
    assert clock.waited[3:] == [600.0]


async def test_without_a_token_the_sync_ends_and_says_what_helps(desk, github):
    GitHubTeam(github).begin(6)
    github.remaining = 0

    report = await ingest(desk)

    assert [each.reason for each in report.failed] == [
        "github.com asks to be asked again later. With a token in GIT_TOKENS=github.com=TOKEN it may be asked more often."
    ]


@pytest.mark.parametrize("fault", ["private", "wrong", "moved"])
async def test_a_refusal_is_told_and_removes_nothing(settings, clock, kinds, github, fault):
    GitHubTeam(github).begin(6)
    with open_desk(settings, clock, kinds) as desk:
        await ingest(desk)
        before = editions(desk)
    tokens = {"github.com": "ghp_other"} if fault == "wrong" else {}
    github.is_private, github.moved = fault == "private", fault == "moved"
    clock.seconds += DAY
    with open_desk(replace(settings, git_tokens=tokens), clock, kinds) as desk:
        report = await ingest(desk)
        after = editions(desk)

    (reason,) = [each.reason for each in report.failed]
    assert reason.startswith(
        "github.com says that acme/handbook is elsewhere now" if fault == "moved"
        else "github.com does not let Footnote read the issues of acme/handbook: set GIT_TOKENS=github.com=TOKEN"
    )  # fmt: skip
    assert after == before
    files = [file for file in settings.data_dir.rglob("*") if file.is_file()]
    assert [file for file in files if b"ghp_" in file.read_bytes()] == []


async def test_what_people_wrote_is_not_kept_beside_the_library(desk, github, settings):
    team = GitHubTeam(github)
    team.begin(6)

    await ingest(desk)

    kept = [file for file in (settings.data_dir / "sources").rglob("*") if file.is_file()]
    assert kept
    assert [file for file in kept if b"Edition" in file.read_bytes()] == []


async def test_a_quote_leads_to_its_comment(desk, github):
    issue = github.open_issue("The crane squeaks", "It does.", labels=["harbour"])
    github.now += DAY
    said = github.say(issue, "It needs oil in its gear.")
    await ingest(desk)
    links = SourceLinks(templates={}, store=desk.library.store, private=desk.storage.data_dir)
    (entry,) = desk.library.store.entries()

    def link(quote: str) -> str:
        (start,) = (
            begin + text.index(quote)
            for begin, text in desk.library.store.database.rows("SELECT start, text FROM passages")
            if quote in text
        )
        cited = Citation(
            number=1, title="", location="", quote=quote, start=start, end=start + len(quote), url=entry.url,
            source=entry.source, collection="default",
        )  # fmt: skip
        return links.add_links(Outcome(kind="answered", turn_id="t", closest=(cited,))).closest[0].url

    assert link("It needs oil") == f"https://github.com/acme/handbook/issues/1#issuecomment-{said.id}"
    assert link("It does.") == "https://github.com/acme/handbook/issues/1"
    assert (entry.title, entry.source) == ("The crane squeaks", "acme/handbook/issues/1")


def post(body, **more):
    return {
        "id": 1, "number": 7, "title": "It  squeaks", "body": body, "user": {"login": "ann"}, "state": "open",
        "labels": [{"name": "bug"}, {"name": "api"}], "comments": 1, "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02T03:04:05Z", "html_url": "https://github.com/a/b/issues/7#issuecomment-5", **more,
    }  # fmt: skip


def test_an_issue_and_what_was_said_are_one_text():
    said = [
        post("Second.", id=9, created_at="2026-01-04T00:00:00Z", user=None),
        post("First.", id=10),
        post("", id=11),
    ]

    text = text_of_issue(post("It does.\r\nLoudly."), said, "acme/handbook#7")

    assert text.text.split("\n\n") == [
        "# It squeaks", "acme/handbook#7 · open · api, bug", "## ann · 2026-01-02", "It does.\nLoudly.",
        "## ann · 2026-01-02", "First.", "## ghost · 2026-01-04", "Second.",
    ]  # fmt: skip
    assert [(text.text[begin:][:8], name) for begin, name in text.anchors] == [
        ("## ann ·", "issuecomment-5"), ("## ghost", "issuecomment-5"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("```\ncode\n```\nText", "```\ncode\n```\nText"),
        ("```py\ncode", "```py\ncode\n```"),
        ("~~~~\n~~~\ncode", "~~~~\n~~~\ncode\n~~~~"),
        ("```inline``` is no fence", "```inline``` is no fence"),
        ("<!-- never ends", "<!-- never ends\n-->"),
        ("<!-- ends --> text", "<!-- ends --> text"),
        ("<PRE>\nlog", "<PRE>\nlog\n</pre>"),
    ],
)
def test_what_one_person_leaves_open_ends_with_what_they_wrote(body, expected):
    assert close_fences(body) == expected


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("https://github.com/Acme/Handbook/issues", ISSUES),
        ("https://github.com/acme/handbook/pulls/", PULLS),
        (ISSUES, ISSUES),
        ("https://github.com/acme/handbook/issues/7", None),
        ("https://github.com/acme/handbook", None),
        ("https://github.com/acme/handbook/issues?q=is%3Aopen", None),
        (
            "https://git.corp.example/acme/handbook/issues",
            "github+https://git.corp.example/acme/handbook/issues",
        ),
        ("https://other.example/acme/handbook/issues", None),
    ],
)
def test_lists_of_issues_are_named_by_their_links(settings, typed, kept):
    assert source_address(typed, settings=replace(settings, private_hosts=("git.corp.example",))) == kept


@pytest.mark.parametrize(
    "typed", ["github+https://github.com/acme", "github+https://u:p@github.com/a/b/issues"]
)
def test_what_is_no_list_of_issues_is_refused(typed):
    with pytest.raises(SettingsError) as refused:
        source_address(typed)
    assert "u:p" not in str(refused.value)


@pytest.mark.parametrize(
    ("typed", "api"),
    [
        ("https://github.com/a/b/issues", "https://api.github.com"),
        ("https://acme.ghe.com/a/b/issues", "https://api.acme.ghe.com"),
        ("https://git.corp.example:8443/a/b/pulls", "https://git.corp.example:8443/api/v3"),
    ],
)
def test_each_host_has_its_api_where_github_says(typed, api):
    assert parse(typed).api == api
