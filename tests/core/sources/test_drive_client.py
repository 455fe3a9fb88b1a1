"""A Google Drive that limits, refuses, fails and forgets; and credentials that nobody else gets to see."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from functools import partial

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from fakes.drive.author import DriveAuthor
from fakes.drive.world import ACCOUNT
from fakes.source_desk import open_desk

from core.library.sync import SyncReport
from core.sources.drive.client import RATE_PAUSE, read_account
from core.sources.drive.source import open_drive
from core.sources.kinds import SOURCE_KINDS
from core.sources.source import SourceUnavailable


@pytest.fixture
def author(google) -> DriveAuthor:
    author = DriveAuthor(google.world, shared=False, is_open=True)
    author.begin(16)
    return author


async def ingest(desk, root) -> SyncReport:
    return await desk.syncs.ingest(f"drive:{root}", collection="default")


def reasons(report: SyncReport) -> list[str]:
    return [each.reason for each in report.failed]


LIMITS = [
    (429, "rateLimitExceeded"), (403, "userRateLimitExceeded"), (403, "rateLimitExceeded"), (503, "backendError"),
]  # fmt: skip


@pytest.mark.parametrize(
    "fault", [(path, *limit) for path in ("startPageToken", "files", "export", "changes") for limit in LIMITS]
)
async def test_a_drive_that_limits_us_is_waited_for(drive_desk, google, author, clock, fault):
    google.faults[fault] = 2

    report = await ingest(drive_desk, author.root)

    assert set(clock.waited) == {7.0}
    assert report.failed == ()
    assert drive_desk.below(f"drive:{author.root}") == author.hashes()


async def test_a_limit_that_names_no_time_is_waited_for_too_and_one_of_the_day_ends_the_sync(
    drive_desk, google, author, clock
):
    google.retry_after = None
    google.faults["files", 403, "userRateLimitExceeded"] = 1
    first = await ingest(drive_desk, author.root)
    author.go_on(4)
    google.faults["changes", 403, "dailyLimitExceeded"] = 1

    second = await ingest(drive_desk, author.root)

    assert (first.failed, clock.waited) == ((), [RATE_PAUSE])
    assert reasons(second) == ["Google Drive asks to be asked again later."]
    await ingest(drive_desk, author.root)
    assert drive_desk.below(f"drive:{author.root}") == author.hashes()


async def test_a_token_that_ends_is_asked_for_anew(drive_desk, google, author):
    author.begin(6)
    left = [1]

    def revoke(path) -> None:
        if path.endswith("export") and left:
            left.pop()
            google.granted.clear()

    google.before_answer = revoke

    report = await ingest(drive_desk, author.root)

    assert report.failed == ()
    assert google.asked.count("/token") == 2
    assert drive_desk.below(f"drive:{author.root}") == author.hashes()


async def test_an_account_that_is_not_accepted_is_told_and_removes_nothing(drive_desk, google, author):
    await ingest(drive_desk, author.root)
    google.is_account_known = False

    report = await ingest(drive_desk, author.root)

    (told,) = reasons(report)
    assert told.startswith(
        f"Google does not accept the service account {ACCOUNT} (invalid_grant): its key may"
    )
    assert drive_desk.below(f"drive:{author.root}") == author.hashes()


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (lambda google: setattr(google, "is_enabled", False), "The Google Drive API is not enabled for the project"),
        (lambda google: google.world.unshare(next(iter(google.world.nodes)), f"u-{ACCOUNT}"), "There is no folder drive:of-harbour-0001"),
    ],
)  # fmt: skip
async def test_a_first_look_that_fails_says_what_to_do_and_keeps_no_source(
    drive_desk, google, author, break_it, sentence
):
    break_it(google)

    report = await ingest(drive_desk, author.root)

    assert [each.startswith(sentence) for each in reasons(report)] == [True]
    assert drive_desk.syncs.store.all() == []


async def test_a_file_is_no_source(drive_desk, google, author):
    page = next(iter(author.hashes()))

    report = await ingest(drive_desk, page)

    assert reasons(report) == [f"drive:{page} is no folder: files are read with the folder that they lie in."]


async def test_a_log_that_no_longer_knows_its_place_lists_everything_anew(drive_desk, google, author):
    await ingest(drive_desk, author.root)
    author.go_on(6)
    google.world.oldest[""] = len(google.world.logs[""])

    report = await ingest(drive_desk, author.root)

    assert report.failed == ()
    assert drive_desk.below(f"drive:{author.root}") == author.hashes()
    assert report.skipped > 0


async def test_a_list_whose_pages_expire_is_begun_anew(drive_desk, google, author):
    google.page_limit = 3
    left = [1, 1]

    def expire(path) -> None:
        google.has_expired_pages = (
            path == "files" and len(google.asked) > 12 and bool(left) and bool(left.pop())
        )

    google.before_answer = expire

    report = await ingest(drive_desk, author.root)

    assert (report.failed, left) == ((), [])
    assert drive_desk.below(f"drive:{author.root}") == author.hashes()


async def test_connections_that_break_off_end_the_sync_and_the_next_goes_on(drive_desk, google, author):
    google.page_limit = 4
    for _ in range(6):
        google.will_answer(302, headers={"Location": "https://elsewhere.example/"})
        report = await ingest(drive_desk, author.root)
        assert report.failed != ()
    google.will_drop()
    report = await ingest(drive_desk, author.root)
    assert reasons(report) == ["127.0.0.1 could not be reached, or broke the connection off."]

    report = await ingest(drive_desk, author.root)

    assert report.failed == ()
    assert drive_desk.below(f"drive:{author.root}") == author.hashes()


# Credentials


def test_a_key_that_others_can_read_is_not_used(google, tmp_path):
    file = tmp_path / "account.json"
    for mode in (0o640, 0o604, 0o660):
        file.chmod(mode)
        with pytest.raises(
            SourceUnavailable, match=f"can be read by others on this machine. Run `chmod 600 {file}`"
        ):
            read_account(str(file))
    file.chmod(0o600)
    assert read_account(str(file)).email == ACCOUNT
    assert "PRIVATE KEY" not in repr(read_account(str(file)))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"type": "authorized_user"}', '{"client_email": "a@b", "token_uri": "https://x", "private_key": "no"}'],
)  # fmt: skip
def test_what_is_no_key_is_told_without_a_word_of_it(tmp_path, text):
    file = tmp_path / "account.json"
    file.touch(mode=0o600)
    file.write_text(text)

    with pytest.raises(SourceUnavailable) as told:
        read_account(str(file))

    assert str(told.value).startswith(f"{file} is not the key of a service account:")
    assert told.value.__cause__ is None


def test_a_key_that_is_not_there_is_told(tmp_path):
    with pytest.raises(SourceUnavailable, match="set DRIVE_CREDENTIALS to the path of its key"):
        read_account("")
    with pytest.raises(SourceUnavailable, match="cannot be read: "):
        read_account(str(tmp_path / "nowhere.json"))


async def test_keys_and_tokens_are_written_nowhere(drive_desk, google, author, drive_settings, caplog):
    caplog.set_level(logging.DEBUG)
    google.faults["export", 500, "internalError"] = 1
    await ingest(drive_desk, author.root)

    given = json.loads((drive_settings.data_dir.parent / "account.json").read_text())
    secrets = [*google.granted, given["private_key"][100:150]]
    written = [each.read_bytes() for each in drive_settings.data_dir.rglob("*") if each.is_file()]

    assert any(author.root.encode() in each for each in written)
    for secret in secrets:
        assert not any(secret.encode() in each for each in written)
        assert secret not in caplog.text
    assert all("ya29" not in str(each.rel_url) for each in google.requests)


async def test_a_host_that_is_not_public_is_asked_only_if_it_is_named(drive_settings, clock, google, author):
    kinds = {
        **SOURCE_KINDS,
        "drive": replace(SOURCE_KINDS["drive"], open=partial(open_drive, base=google.base)),
    }
    with open_desk(replace(drive_settings, private_hosts=()), clock, kinds) as desk:
        report = await ingest(desk, author.root)

    assert "is not a public address" in reasons(report)[0]
    assert google.asked == []


async def test_a_statement_that_another_key_signed_is_refused(google, follow, tmp_path):
    """By the fake: else the tests above would pass with any signature."""
    stranger = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    pem = stranger.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )  # fmt: skip
    file = tmp_path / "account.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "private_key": pem.decode()}))

    with pytest.raises(SourceUnavailable, match="invalid_grant"):
        await follow("").sync()
