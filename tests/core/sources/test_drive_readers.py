"""Who may read a file of Google Drive is known after each sync, and what is not known is told."""

from __future__ import annotations

import shutil

import pytest
from fakes.drive.author import DriveAuthor
from fakes.drive.world import ACCOUNT, ANYONE, OWNER, domain, group, user

from core.library.readers import collection_for


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", [5, pytest.param(range(100, 140), marks=pytest.mark.long)])
async def test_items_and_their_readers_equal_the_drive_after_each_sync(
    follow, google, tmp_path, shared, seed
):
    google.page_limit = 5
    for number in [seed] if isinstance(seed, int) else seed:
        author = DriveAuthor(google.world, shared=shared, seed=number)
        author.begin(30)
        follower = follow(author.root)
        for _ in range(12):
            await follower.sync()
            assert follower.readers == author.readers()
            author.go_on(author.chance.randint(1, 12))
        shutil.rmtree(tmp_path / "followed")


@pytest.mark.parametrize("shared", [False, True])
async def test_permissions_alone_are_seen_and_nothing_is_read_for_them(follow, google, shared):
    world = google.world
    author = DriveAuthor(world, shared=shared)
    page = world.add("Page", world.folder("Inner", author.root), text="The ferry sails at nine.")
    follower = await follow(author.root).sync()
    version = follower.items[page].version
    for act in (
        lambda: world.share(page, user("cat@partner.example")),
        lambda: world.share(author.root, domain("partner.example")),
        lambda: world.unshare(page, "u-cat@partner.example"),
        lambda: world.share(author.root, ANYONE),
        lambda: world.unshare(author.root, "anyoneWithLink"),
    ):
        act()
        await follower.sync()
        assert follower.readers == author.readers()
        assert follower.items[page].version == version


async def test_readers_of_a_shared_drive_follow_from_folders_above_what_is_read(follow, google):
    world = google.world
    drive = world.shared_drive("Harbour")
    above = world.folder("Above", drive)
    root = world.folder("Handbook", above)
    page = world.add("Page", root, text="The ferry sails at nine.")
    own = world.add("Own", root, text="Cats have another deck.")
    world.share(own, user("cat@partner.example"))
    limited = world.folder("Limited", root)
    world.nodes[limited].is_limited = True
    world.share(limited, user(ACCOUNT))
    inner = world.add("Inner", limited, text="For few.")
    follower = await follow(root).sync()
    for act in (lambda: world.share(above, user("ann@x.org")), lambda: world.share(drive, domain("x.org"))):
        act()
        await follower.sync()
        assert follower.readers == world.readers(root)
    assert follower.readers == {
        page: {ACCOUNT, "ann@x.org", "@x.org"},
        own: {ACCOUNT, "ann@x.org", "@x.org", "cat@partner.example"},
        inner: {ACCOUNT},
    }


async def test_what_is_not_known_of_readers_is_told(follow, google):
    world = google.world
    root = world.folder("Handbook")
    world.share(root, user(ACCOUNT))  # who only reads is not shown permissions
    hidden = [world.add(name, root, text="The ferry sails at nine.") for name in ("a", "b")]
    follower = await follow(root).sync()
    assert follower.readers == {each: {OWNER.lower()} for each in hidden}
    assert follower.note.startswith(f"Who may read 2 files is not shown to {ACCOUNT}")
    world.share(root, user(ACCOUNT, "writer"))
    world.share(hidden[0], group("all@harbour.example"))

    await follower.sync()

    assert follower.readers == world.readers(root)
    assert follower.note.startswith("Groups may read 1 file,")


# In the library


def places(desk, root) -> dict[str, str]:
    """The collection of each document, which says who reads it; each document is in one."""
    entries = desk.library.store.entries()
    assert len({each.address for each in entries}) == len(entries)
    return {each.address.removeprefix(f"drive:{root}/"): each.collection for each in entries}


def expected(author) -> dict[str, str]:
    return {file_id: collection_for("default", readers) for file_id, readers in author.readers().items()}


@pytest.mark.parametrize("shared", [False, True])
async def test_documents_are_kept_with_their_readers_after_each_sync(drive_desk, google, shared):
    google.page_limit = 6
    author = DriveAuthor(google.world, shared=shared, seed=11)
    author.begin(30)
    for _ in range(8):
        report = await drive_desk.syncs.ingest(f"drive:{author.root}", collection="default")
        assert report.failed == ()
        assert all("Groups" in each.text for each in report.notes)
        assert places(drive_desk, author.root) == expected(author)
        author.go_on(6)


@pytest.mark.parametrize("shared", [False, True])
async def test_readers_that_change_while_a_file_is_fetched_hold_at_once(drive_desk, google, shared):
    author = DriveAuthor(google.world, shared=shared, seed=2)
    author.begin(10)
    inner = google.world.folder("Inner", author.root)
    page = google.world.add("Page", inner, text="The ferry sails at nine.")
    ann = user("ann@partner.example")
    google.world.share(inner, ann)
    seen = []

    def withdraw(path) -> None:
        if path == f"files/{page}/export" and not seen:
            google.world.unshare(inner, ann["id"])
            google.world.write(page, "Not for Ann.")
        if path == f"files/{page}/permissions":
            seen.append(places(drive_desk, author.root).get(page))

    google.before_answer = withdraw

    await drive_desk.syncs.ingest(f"drive:{author.root}", collection="default")

    assert seen[0] is None  # it was not written with the readers that it had been listed with
    assert places(drive_desk, author.root) == expected(author)


@pytest.mark.parametrize("shared", [False, True])
async def test_readers_that_change_back_before_the_log_is_read_are_what_they_were(drive_desk, google, shared):
    author = DriveAuthor(google.world, shared=shared, seed=2)
    inner = google.world.folder("Inner", author.root)
    page = google.world.add("Page", inner, text="The ferry sails at nine.")
    ann = user("ann@partner.example")
    google.world.share(inner, ann)
    asked = []

    def flicker(path) -> None:
        asked.append(path)
        if path == f"files/{page}/permissions" and asked.count(path) == 1:
            google.world.unshare(inner, ann["id"])
        if path == "changes" and f"u-{ann['emailAddress']}" not in google.world.nodes[inner].permissions:
            google.world.share(inner, ann)

    google.before_answer = flicker

    await drive_desk.syncs.ingest(f"drive:{author.root}", collection="default")

    assert asked.count(f"files/{page}/permissions") >= 2
    assert places(drive_desk, author.root) == expected(author)


async def test_permissions_alone_have_nothing_read_again(drive_desk, google):
    author = DriveAuthor(google.world, shared=False, seed=4)
    author.begin(12)
    await drive_desk.syncs.ingest(f"drive:{author.root}", collection="default")
    google.forget_counts()
    google.world.share(author.root, user("new@partner.example"))

    report = await drive_desk.syncs.ingest(f"drive:{author.root}", collection="default")

    assert not [path for path in google.asked if "export" in path or "alt=media" in path]
    assert (report.added, report.changed) == (0, 0)
    assert places(drive_desk, author.root) == expected(author)
