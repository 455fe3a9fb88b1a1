"""After each sync the library equals the Google Drive, exactly, with who may read what."""

from __future__ import annotations

import shutil

import pytest
from fakes.drive.author import DriveAuthor
from fakes.drive.world import ACCOUNT, ANYONE, OWNER, SHORTCUT, domain, user

from core.library.sync import SyncReport
from core.sources.sources import forget_in_sources


async def ingest(desk, root, **more) -> SyncReport:
    return await desk.syncs.ingest(f"drive:{root}", collection="default", **more)


def open_folder(world) -> str:
    """A folder that anybody may read, and whose permissions the account sees."""
    folder = world.folder("Handbook")
    world.share(folder, user(ACCOUNT, "writer"))
    world.share(folder, ANYONE)
    return folder


# The whole of it


@pytest.mark.parametrize("shared", [False, True])
async def test_the_index_equals_the_drive_after_each_sync(drive_desk, google, shared):
    google.page_limit = 7
    author = DriveAuthor(google.world, shared=shared, is_open=True, seed=3)
    author.begin(40)

    report = await ingest(drive_desk, author.root)

    assert drive_desk.below(f"drive:{author.root}") == author.hashes()
    assert report == SyncReport(added=len(author.hashes()))
    for _ in range(8):
        author.go_on(6)
        report = await ingest(drive_desk, author.root)
        assert drive_desk.below(f"drive:{author.root}") == author.hashes()
        assert report.failed == ()


@pytest.mark.parametrize("shared", [False, True])
async def test_a_listing_that_is_cut_off_goes_on_and_nothing_is_missed(follow, google, shared):
    google.page_limit = 3
    author = DriveAuthor(google.world, shared=shared, seed=8)
    author.begin(30)
    follower = follow(author.root)
    for batches in (1, 2, 3, 1, 4, 2):
        await follower.sync(batches=batches)
        author.go_on(3)

    await follower.sync()

    assert follower.readers == author.readers()


async def test_an_unchanged_drive_costs_little(drive_desk, google):
    author = DriveAuthor(google.world, shared=True, is_open=True)
    author.begin(60)
    await ingest(drive_desk, author.root)
    first = google.sent
    google.forget_counts()

    report = await ingest(drive_desk, author.root)

    assert report == SyncReport(skipped=len(author.hashes()))
    assert google.asked == ["/token", "changes", "changes"]  # of the account's log and the drive's
    assert google.sent <= 0.02 * first


async def test_all_that_is_shared_with_the_account_is_read(follow, google):
    world = google.world
    author = DriveAuthor(world, shared=False)
    author.begin(12)
    drive = world.shared_drive("Town", user("ann@harbour.example"), domain("harbour.example"))
    world.add("Minutes", world.folder("Council", drive), text="The council meets on Mondays.")
    single = world.add("Alone", text="Shared by itself.")
    world.share(single, user(ACCOUNT))
    world.add("Not shared", text="For nobody else.")
    follower = follow("")
    for act in (
        lambda: None,
        lambda: author.go_on(8),
        lambda: world.share(drive, user("bob@harbour.example")),
        lambda: world.unshare(single, f"u-{ACCOUNT}"),
        lambda: world.add(
            "More", world.folder("Port", world.shared_drive("Port")), text="Ships are moored here."
        ),
        lambda: world.trash(author.root),
        lambda: world.unshare(drive, f"u-{ACCOUNT}"),
    ):
        act()
        await follower.sync()
        assert follower.readers == world.readers()
    assert "drive:/Port/Port/More" in [each.source for each in follower.items.values()]


# Folders that move, and what lies in them


async def test_what_lies_in_a_folder_comes_and_goes_with_it(follow, google):
    world = google.world
    root, outside = open_folder(world), world.folder("Elsewhere")
    outer = world.folder("Outer", root)
    page = world.add("Page", world.folder("Inner", outer), text="The ferry sails at nine.")
    follower = await follow(root).sync()
    path = f"drive:{root}/Outer/Inner/Page"
    assert [each.source for each in follower.items.values()] == [path]
    for act, expected in (
        (lambda: world.move(outer, outside), {}),
        (lambda: world.move(outer, root), {page: path}),
        (lambda: world.trash(outer), {}),
        (lambda: world.trash(outer, is_trashed=False), {page: path}),
        (lambda: world.rename(outer, "Renamed"), {page: f"drive:{root}/Renamed/Inner/Page"}),
        (lambda: world.delete(outer), {}),
    ):
        act()
        await follower.sync()
        assert {each.id: each.source for each in follower.items.values()} == expected


async def test_files_of_one_name_in_one_folder_have_names_of_their_own(follow, google):
    """Who may read a document that an old answer cites is looked up by its name."""
    world = google.world
    root = open_folder(world)
    pages = [
        world.add("Page", folder, text=text)
        for folder in (world.folder("Notes", root), world.folder("Notes", root))
        for text in ("It sails at nine.", "It sails at ten.")
    ]
    follower = await follow(root).sync()

    def names() -> list[str]:
        return [follower.items[each].source for each in pages if each in follower.items]

    assert len({*names()}) == len(pages)
    world.write(pages[0], "It sails at noon.")
    await follower.sync()
    assert len({*names()}) == len(pages)
    assert names()[0].endswith(f"/Page ({pages[0][-6:]})")
    world.trash(pages[1])
    world.write(pages[0], "It sails at one.")
    await follower.sync()
    assert names()[0].endswith("/Page")


async def test_shortcuts_are_followed_once_to_what_the_account_may_read(follow, google):
    world = google.world
    root, outside = open_folder(world), world.folder("Elsewhere")
    world.share(outside, user(ACCOUNT, "writer"))
    page = world.add("Page", outside, text="The ferry sails at nine.")
    secret = world.add("Secret", text="Not shared.")
    inside = world.add("Inside", root, text="It is here anyway.")
    for target in (page, page, secret, inside, root, outside):
        link = world.add("Link", root, mime=SHORTCUT, target=target)
    world.add("Back", outside, mime=SHORTCUT, target=root)

    follower = await follow(root).sync()

    assert set(follower.items) == {page, inside} == set(world.hashes(root))
    assert follower.items[page].readers == {OWNER.lower(), ACCOUNT}
    world.write(page, "It sails at ten.")
    more = world.add("More", outside, text="It lies in a folder to which a shortcut leads.")
    await follower.sync()
    assert set(follower.items) == {page, inside, more}
    world.trash(link)
    await follower.sync()
    assert set(follower.items) == {page, inside}


async def test_a_shared_drive_that_is_left_takes_its_files_along(follow, google):
    world = google.world
    drive = world.shared_drive("Harbour", user("ann@harbour.example"))
    world.add("Page", drive, text="The ferry sails at nine.")
    follower = await follow(drive).sync()
    assert list(follower.readers.values()) == [frozenset({"ann@harbour.example", ACCOUNT})]
    world.unshare(drive, f"u-{ACCOUNT}")

    await follower.sync()

    assert follower.items == {}
    assert follower.note == f"The folder is not there any more, or is not shared with {ACCOUNT} any more."


async def test_a_folder_that_is_gone_takes_its_documents_along_and_may_come_back(drive_desk, google):
    world = google.world
    root = open_folder(world)
    world.add("Page", root, text="The ferry sails at nine.")
    await ingest(drive_desk, root)
    world.unshare(root, f"u-{ACCOUNT}")

    first = await ingest(drive_desk, root)
    again = await ingest(drive_desk, root)
    world.share(root, user(ACCOUNT, "writer"))
    last = await ingest(drive_desk, root)

    assert (first.removed, drive_desk.syncs.store.counts(drive_desk.syncs.store.all()[0].number).read) == (
        1,
        1,
    )
    assert "is not shared with" in first.notes[0].text
    assert "is not shared with" in again.failed[0].reason
    assert (last.added, drive_desk.below(f"drive:{root}")) == (1, world.hashes(root))


async def test_what_the_reader_remembers_may_vanish(drive_desk, google, drive_settings):
    author = DriveAuthor(google.world, shared=False, is_open=True)
    author.begin(20)
    await ingest(drive_desk, author.root)
    author.go_on(3)
    shutil.rmtree(drive_settings.data_dir / "sources")

    report = await ingest(drive_desk, author.root)

    assert drive_desk.below(f"drive:{author.root}") == author.hashes()
    assert report.skipped > 10


async def test_a_cursor_that_is_not_the_memorys_lists_everything_anew(follow, google):
    author = DriveAuthor(google.world, shared=False)
    author.begin(12)
    follower = await follow(author.root).sync()
    restored = follower.cursor, dict(follower.items)
    for _ in range(3):
        author.go_on(4)
        await follower.sync()
    follower.cursor, follower.items = restored  # as after a backup was restored
    google.forget_counts()

    await follower.sync()

    assert follower.readers == author.readers()
    assert "changes/startPageToken" in google.asked


# Content


async def test_a_document_that_changes_while_it_is_fetched_is_read_as_it_is_in_the_end(drive_desk, google):
    world = google.world
    root = open_folder(world)
    page = world.add("Page", root, text="The ferry sails at nine.")
    gone = world.add("Gone", root, text="It will not be there.")
    done = set()

    def before(path) -> None:
        if path.endswith("/export") and path not in done:
            done.add(path)
            world.write(page, "The ferry sails at ten.")
            if gone in world.nodes:
                world.delete(gone)

    google.before_answer = before

    await ingest(drive_desk, root)

    assert drive_desk.below(f"drive:{root}") == world.hashes(root)
    assert set(world.hashes(root)) == {page}


async def test_what_google_does_not_give_out_fails_alone_with_a_reason(drive_desk, google):
    world = google.world
    root = open_folder(world)
    world.add("Locked", root, text="Not to be copied.", is_locked=True)
    large = world.add("Large", root)
    world.nodes[large].exports["text/markdown"] = b"x" * (10 * 1024**2 + 1)
    world.add("Fine", root, text="The ferry sails at nine.")
    broken = world.add("Broken", root, text="It cannot be exported.")
    google.faults[f"{broken}/export", 500, "internalError"] = 99

    report = await ingest(drive_desk, root)

    assert {(each.source.rpartition("/")[2], each.reason) for each in report.failed} == {
        ("Locked", "may not be downloaded"),
        ("Large", "is larger than the 10 MB that Google exports"),
        ("Broken", "could not be read: Google failed to give it out"),
    }
    assert report.added == 1
    world.nodes[world.add("Note", root, text="n")].is_locked = False
    locked = next(each for each in world.nodes.values() if each.name == "Locked")
    locked.is_locked = False
    world.touch(locked.id)
    report = await ingest(drive_desk, root)
    assert (report.added, locked.id in drive_desk.below(f"drive:{root}")) == (2, True)


async def test_pictures_in_a_document_are_left_out_and_word_stands_in_for_markdown(drive_desk, google):
    world = google.world
    root = open_folder(world)
    page = world.add("Page", root)
    text = (
        "# Page\n\nThe ferry ![][image1] sails at nine.\n\n[image1]: <data:image/png;base64,iVBORw0KGgo=>\n"
    )
    world.nodes[page].exports["text/markdown"] = text.encode()

    await ingest(drive_desk, root)

    ((stored,),) = drive_desk.library.store.database.rows("SELECT text FROM passages")
    assert "The ferry" in stored
    assert "base64" not in stored
    google.has_markdown = False
    world.nodes[page].exports[WORD] = word_file("The ferry sails at ten.")
    world.touch(page)
    world.now += 1
    world.nodes[page].at = world.now
    await ingest(drive_desk, root)
    ((stored,),) = drive_desk.library.store.database.rows("SELECT text FROM passages")
    assert "The ferry sails at ten." in stored


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def word_file(text) -> bytes:
    import io

    import docx

    document, written = docx.Document(), io.BytesIO()
    document.add_paragraph(text)
    document.save(written)
    return written.getvalue()


def workbook(**sheets) -> bytes:
    import io

    import openpyxl

    book, written = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(written)
    return written.getvalue()


def presentation(text) -> bytes:
    import io

    import pptx

    slides, written = pptx.Presentation(), io.BytesIO()
    slides.slides.add_slide(slides.slide_layouts[0]).shapes.title.text = text
    slides.save(written)
    return written.getvalue()


async def test_all_sheets_and_slides_are_read(drive_desk, google):
    world = google.world
    root = open_folder(world)
    book = workbook(
        Fares=[["Crossing", "Price"], ["North", "4"]], Times=[["Pier", "Hour"], ["South", "nine"]]
    )
    world.add("Fares", root, mime="application/vnd.google-apps.spreadsheet", exports={SHEET: book})
    deck = presentation("The harbour in numbers")
    world.add("Deck", root, mime="application/vnd.google-apps.presentation", exports={SLIDES: deck})

    report = await ingest(drive_desk, root)

    assert report == SyncReport(added=2)
    stored = " ".join(text for (text,) in drive_desk.library.store.database.rows("SELECT text FROM passages"))
    assert all(each in stored for each in ("North", "4", "South", "nine", "The harbour in numbers"))
    assert {each.title for each in drive_desk.library.store.entries()} == {"Fares", "Deck"}


async def test_a_file_that_was_forgotten_stays_out(drive_desk, google, drive_settings):
    world = google.world
    root = open_folder(world)
    page, other = (world.add(name, root, text=f"The {name} sails at nine.") for name in ("ferry", "barge"))
    await ingest(drive_desk, root)
    name = f"drive:{root}/ferry"
    assert not forget_in_sources(
        drive_desk.syncs.store,
        drive_desk.library,
        name,
        drive_settings.data_dir,
        kinds=drive_desk.syncs.kinds,
    )
    drive_desk.library.forget(name)
    world.write(page, "The ferry sails at ten.")

    await ingest(drive_desk, root)

    assert set(drive_desk.below(f"drive:{root}")) == {other}
    assert forget_in_sources(
        drive_desk.syncs.store,
        drive_desk.library,
        f"drive:{root}",
        drive_settings.data_dir,
        kinds=drive_desk.syncs.kinds,
    )
    assert drive_desk.syncs.store.all() == []
