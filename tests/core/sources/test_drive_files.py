"""What the Drive API says of a file, as an item: its name, its version, and who may read it."""

from __future__ import annotations

import pytest
from fakes.drive.world import ANYONE, domain, group, user

from core.errors import SettingsError
from core.sources.drive.files import (
    DriveAccess,
    access_of,
    browser_address,
    canonical_address,
    inherits,
    item_of,
    own_access,
    parse_file,
)
from core.sources.kinds import source_address

NOW = 1_700_000_000.0
FOLDER = "1AbCdEfGhIjKlMnOpQrStUvWxYz012345"
OPEN = DriveAccess(readers=None)


def readers(*addresses, gap="") -> DriveAccess:
    return DriveAccess(readers=frozenset(addresses), gap=gap)


@pytest.mark.parametrize(
    ("permissions", "expected"),
    [
        ([user("Ann@Harbour.example", "owner"), user("bob@x.org", "writer")], readers("ann@harbour.example", "bob@x.org")),
        ([user("ann@x.org", role) for role in ("organizer", "fileOrganizer", "commenter", "reader")], readers("ann@x.org")),
        ([user("ann@x.org"), domain("Harbour.example")], readers("ann@x.org", "@harbour.example")),
        ([user("ann@x.org"), group("all@x.org")], readers("ann@x.org", gap="groups")),
        ([group("all@x.org")], readers(gap="groups")),
        ([user("ann@x.org"), ANYONE], OPEN),
        ([group("all@x.org"), ANYONE], OPEN),
        ([], readers()),
        ([user("gone@x.org", deleted=True), user("ann@x.org")], readers("ann@x.org")),
        ([user("ann@x.org", expirationTime="2023-11-14T22:13:19Z")], readers()),
        ([user("ann@x.org", expirationTime="2023-11-14T22:13:21.5+00:00")], readers("ann@x.org")),
        ([user("ann@x.org", expirationTime="soon")], readers()),
        ([user("ann@x.org", "publishedReader", view="published"), {**ANYONE, "view": "published"}], readers()),
        ([user("ann@x.org", "a role that is new")], readers()),
        ([{"type": "user", "role": "reader"}, {"type": "domain", "role": "reader"}], readers()),
        ([{"type": "a type that is new", "role": "reader", "emailAddress": "ann@x.org"}], readers()),
    ],
)  # fmt: skip
def test_readers_are_the_addresses_and_domains_that_permissions_name(permissions, expected):
    assert access_of(permissions, NOW) == expected


def test_of_hidden_permissions_the_owner_alone_is_known():
    given = {"owners": [{"emailAddress": "Ann@x.org"}, {"displayName": "without an address"}]}

    assert own_access(given, NOW) == readers("ann@x.org", gap="hidden")
    assert own_access({}, NOW) == readers(gap="hidden")
    assert own_access({**given, "permissions": [ANYONE]}, NOW) == OPEN


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"hasAugmentedPermissions": False}, True),
        ({"hasAugmentedPermissions": False, "inheritedPermissionsDisabled": False}, True),
        ({"hasAugmentedPermissions": True}, False),
        ({"hasAugmentedPermissions": False, "inheritedPermissionsDisabled": True}, False),
        ({}, False),
    ],
)
def test_a_file_is_taken_to_inherit_only_where_the_api_says_so(given, expected):
    assert inherits(given) == expected


def google(kind, name="Plan", **more):
    return {"id": "f1", "name": name, "mimeType": f"application/vnd.google-apps.{kind}",
            "modifiedTime": "2024-01-01T00:00:00.000Z", **more}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "name", "title"),
    [
        (google("document"), "Plan.md", "Plan"),
        (google("document", "Plan.md"), "Plan.md.md", "Plan.md"),
        (google("document", "To/from\nthe pier"), "To-from?the pier.md", "To-from?the pier"),
        (google("spreadsheet"), "Plan.xlsx", "Plan"),
        (google("presentation"), "Plan.pptx", "Plan"),
        ({"id": "f1", "name": "Plan.PDF", "mimeType": "application/pdf"}, "Plan.PDF", ""),
        ({"id": "f1", "name": "Plan", "mimeType": "application/pdf"}, "Plan.pdf", ""),
        ({"id": "f1", "name": "Plan v1.2", "mimeType": "text/plain"}, "Plan v1.2.txt", ""),
        ({"id": "f1", "name": "  ", "mimeType": "text/csv"}, "untitled.csv", ""),
    ],
)
def test_the_name_says_how_a_file_is_parsed(given, name, title):
    item = item_of(parse_file(given), "drive:/Plan", readers())

    assert (item.name, item.title) == (name, title)


@pytest.mark.parametrize(
    "given",
    [google("form"), google("drawing"), google("site"), google("folder"), google("shortcut"),
     {"id": "f1", "name": "pier.png", "mimeType": "image/png"}, {"id": "f1"}],
)  # fmt: skip
def test_what_holds_no_text_is_no_document(given):
    assert not parse_file(given).is_document


def test_a_version_changes_with_the_content_and_with_nothing_else():
    plain = {
        "id": "f1",
        "name": "a.txt",
        "mimeType": "text/plain",
        "md5Checksum": "d41d8",
        "modifiedTime": "2024",
    }

    assert parse_file(plain).version == parse_file({**plain, "version": "7", "modifiedTime": "2025"}).version
    assert parse_file(plain).version != parse_file({**plain, "md5Checksum": "0cc17"}).version
    assert parse_file(plain).version != parse_file({**plain, "capabilities": {"canDownload": False}}).version
    document = google("document")
    assert parse_file(document).version == parse_file({**document, "version": "7", "name": "Other"}).version
    assert (
        parse_file(document).version
        != parse_file({**document, "modifiedTime": "2024-01-01T00:00:00.001Z"}).version
    )


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (f"drive:{FOLDER}", f"drive:{FOLDER}"),
        ("drive:", "drive:"),
        (f"https://drive.google.com/drive/folders/{FOLDER}", f"drive:{FOLDER}"),
        (f"https://drive.google.com/drive/u/0/folders/{FOLDER}?usp=sharing", f"drive:{FOLDER}"),
        (f"https://drive.google.com/drive/u/12/folders/{FOLDER}/", f"drive:{FOLDER}"),
    ],
)
def test_an_address_is_kept_in_one_form(typed, kept):
    assert source_address(typed) == kept
    assert source_address(typed, follow=True) == kept
    assert canonical_address(kept) == kept


@pytest.mark.parametrize(
    "wrong", ["drive:short", f"drive:{FOLDER}/a", "drive:a b c d e f g h", "drive:'or'1'='1'"]
)
def test_what_is_no_address_is_refused(wrong):
    with pytest.raises(SettingsError, match="is no address of Google Drive"):
        canonical_address(wrong)


@pytest.mark.parametrize(
    "other",
    ["https://drive.google.com/drive/my-drive", "https://drive.google.com.evil.example/drive/folders/1",
     "https://docs.google.com/document/d/1", "http://drive.google.com/drive/folders/x", "/tmp/drive"],
)  # fmt: skip
def test_other_addresses_are_none_of_a_folder(other):
    assert browser_address(other) is None
