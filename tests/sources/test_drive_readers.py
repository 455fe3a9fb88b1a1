"""Who may read a file of Google Drive is known after each sync, and what is not known is told."""

from __future__ import annotations

import shutil

import pytest
from fakes.drive.author import DriveAuthor
from fakes.drive.world import ACCOUNT, ANYONE, OWNER, domain, group, user


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
