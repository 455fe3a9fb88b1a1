import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.shelf import files_read, found, open_library, quotable, sources, write

from core.errors import SettingsError
from core.library.entries import Entry
from core.library.formats.read import FILE_LIMIT, parse_file
from core.library.indexing import AHEAD
from core.library.roots import PathRules, UnreadableFile
from core.library.sync import Failure, FoundFile, Listing, SourceNote, SyncReport, list_files, plan_sync

# What lies on the disk


def names(folder):
    return [Path(file.address).relative_to(folder).as_posix() for file in list_files([folder]).files]


def test_files_are_listed_in_order_and_only_those_that_are_documents(docs):
    for name in ("b.md", "a.txt", "sub/c.html", "picture.png", "program.py", "README"):
        write(docs / name, "Text.")

    assert names(docs) == ["a.txt", "b.md", "sub/c.html"]


def test_hidden_and_machine_made_folders_are_left_out(docs):
    for name in (".git/a.md", ".hidden.md", "node_modules/pkg/readme.md", "x/__pycache__/b.md", "venv/c.md"):
        write(docs / name, "Text.")
    write(docs / "kept" / "d.md", "Text.")

    assert names(docs) == ["kept/d.md"]


def test_a_hidden_or_machine_made_folder_is_read_when_it_is_named(docs):
    write(docs / ".notes" / "a.md", "Text.")
    write(docs / "node_modules" / "b.md", "Text.")

    assert names(docs / ".notes") == ["a.md"]
    assert names(docs / "node_modules") == ["b.md"]


def test_links_that_go_in_a_circle_end(docs):
    write(docs / "a.md", "Text.")
    (docs / "again").symlink_to(docs, target_is_directory=True)
    (docs / "self.md").symlink_to("self.md")
    (docs / "nowhere.md").symlink_to("missing.md")

    assert names(docs) == ["a.md"]


def test_a_link_within_the_folder_is_read_and_one_that_leads_out_of_it_is_not(docs, tmp_path):
    write(tmp_path / "elsewhere" / "secret.md", "Text.")
    write(docs / "a.md", "Text.")
    (docs / "out.md").symlink_to(tmp_path / "elsewhere" / "secret.md")
    (docs / "folder").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (docs / "within.md").symlink_to(docs / "a.md")

    assert names(docs) == ["a.md", "within.md"]


def test_a_folder_that_is_named_by_a_link_is_the_folder_itself(docs, tmp_path):
    write(docs / "a.md", "Text.")
    (tmp_path / "link").symlink_to(docs, target_is_directory=True)

    (file,) = list_files([tmp_path / "link", docs]).files

    assert (file.address, file.root, file.source) == (str(docs / "a.md"), str(docs), "docs/a.md")


@pytest.mark.parametrize("name", ["missing", "missing/deeper.md", "~nobody-of-this-name/docs"])
def test_a_path_that_is_not_there_is_a_sentence(docs, name):
    with pytest.raises(SettingsError, match=r"missing|lead anywhere"):
        list_files([docs, Path(name) if name.startswith("~") else docs / name])


def test_a_link_to_itself_is_a_sentence_when_it_is_named(docs):
    (docs / "self.md").symlink_to("self.md")

    with pytest.raises(SettingsError, match=r"self\.md (does not lead anywhere|cannot be read: .+)\.$"):
        list_files([docs / "self.md"])


def test_a_path_below_a_folder_that_may_not_be_entered_is_a_sentence(unprivileged):
    file = write(unprivileged / "locked" / "a.md", "Text.")
    file.parent.chmod(0)

    with pytest.raises(SettingsError, match=r"cannot be read: permission denied\.$"):
        list_files([file])


# What is to be done


def file_at(address, *, size=10, modified=1, root="/docs"):
    return FoundFile(address=address, root=root, size=size, modified=modified)


def entry_of(file):
    return Entry(
        id=1,
        collection="default",
        address=file.address,
        root=file.root,
        source=file.source,
        title="",
        url=None,
        hash="",
        size=file.size,
        modified=file.modified,
    )


def plan(files=(), known=(), *, unreadable=(), paths=("/docs",), retry=False):
    return plan_sync(
        Listing(files=tuple(files)),
        {entry.address: entry for entry in known},
        {file.address: file for file in unreadable},
        paths,
        retry=retry,
    )


@pytest.mark.parametrize("change", [{"size": 11}, {"modified": 2}, {"modified": 0}])
def test_a_file_whose_size_or_date_changed_is_read(change):
    before = file_at("/docs/a.md")
    after = replace(before, **change)

    assert plan([after], [entry_of(before)]).read == (after,)
    assert plan([before], [entry_of(before)]).read == ()


def test_what_is_known_and_was_not_found_is_gone_below_the_places_that_were_looked_at():
    known = [entry_of(file_at(address)) for address in ("/docs/a.md", "/docs/sub/b.md", "/docs-old/c.md")]

    gone = plan(known=[replace(known[2], root="/docs-old"), *known[:2]], paths=("/docs/sub",)).gone

    assert [entry.address for entry in gone] == ["/docs/sub/b.md"]


def test_a_file_that_could_not_be_read_is_tried_again_when_it_changed_or_on_demand():
    file = file_at("/docs/a.pdf")
    failed = UnreadableFile(
        address="/docs/a.pdf", source="docs/a.pdf", size=10, modified=1, reason="is empty"
    )

    same = plan([file], unreadable=[failed])
    changed = plan([replace(file, size=12)], unreadable=[failed])
    demanded = plan([file], unreadable=[failed], retry=True)
    gone = plan(unreadable=[failed])

    assert (same.read, same.failed) == ((), (Failure(source="docs/a.pdf", reason="is empty"),))
    assert (same.cleared, gone.cleared) == ((), ("/docs/a.pdf",))
    assert [(p.failed, p.cleared, len(p.read)) for p in (changed, demanded)] == [
        ((), ("/docs/a.pdf",), 1)
    ] * 2


def test_the_outermost_root_names_a_file_and_the_nearest_decides_whether_it_is_read():
    rules = PathRules(roots=frozenset({"/a", "/a/b/c"}), forgotten=frozenset({"/a/b", "/a/b/c/d"}))

    assert [rules.includes(f"/a/{rest}x.md") for rest in ("", "b/", "b/c/", "b/c/d/")] == [
        True,
        False,
        True,
        False,
    ]
    assert not rules.includes("/elsewhere/x.md")
    assert rules.root_of("/a/b/c/x.md") == "/a"


# A folder kept in step


def test_a_second_ingest_of_an_unchanged_folder_touches_nothing(embedded, docs):
    library = embedded
    write(docs / "a.md", "Cats purr.")
    write(docs / "sub" / "b.txt", "Dogs bark.")
    first = library.ingest([docs])
    library.refresh()  # it notes when that was, and not again so soon
    database = library.store.database
    written, size = (
        database._writing.total_changes,
        (docs.parent / "data" / "library.sqlite-wal").stat().st_size,
    )

    with files_read(docs) as read:
        again, refreshed = library.ingest([docs]), library.refresh()

    assert first == SyncReport(added=2)
    assert again == refreshed == SyncReport(skipped=2)
    assert read == []
    assert database._writing.total_changes == written
    assert (docs.parent / "data" / "library.sqlite-wal").stat().st_size == size


def test_a_changed_file_says_what_it_says_now(library, docs):
    file = write(docs / "a.md", "The harbour opens at seven.")
    library.ingest([docs])
    write(file, "The harbour opens at nine.")

    report = library.refresh()

    assert report == SyncReport(changed=1)
    assert quotable(library).strip() == "The harbour opens at nine."
    assert found(library, "seven") == []
    assert found(library, "nine") == ["docs/a.md"]


def test_a_new_file_is_found_and_a_deleted_one_is_not(library, docs):
    write(docs / "a.md", "Cats purr.")
    library.ingest([docs])
    (docs / "a.md").unlink()
    write(docs / "b.md", "Dogs bark.")

    report = library.refresh()

    assert report == SyncReport(added=1, removed=1)
    assert (found(library, "cats"), found(library, "dogs")) == ([], ["docs/b.md"])


def test_a_renamed_file_is_found_under_its_new_name_alone(library, docs):
    file = write(docs / "a.md", "Cats purr.")
    library.ingest([docs])
    file.rename(docs / "b.md")

    library.refresh()

    assert found(library, "cats") == sources(library) == ["docs/b.md"]


def test_a_touched_file_with_the_same_bytes_keeps_its_passages(library, docs):
    file = write(docs / "a.md", "Cats purr.")
    library.ingest([docs])
    before = library.store.database.rows("SELECT id FROM passages")
    os.utime(file, ns=(1, 1))

    with files_read(docs) as read:
        report = library.refresh()
    with files_read(docs) as read_later:
        library.refresh()

    assert report == SyncReport(skipped=1)
    assert library.store.database.rows("SELECT id FROM passages") == before
    assert (read, read_later) == (["a.md"], [])


def test_a_file_that_was_replaced_by_one_of_the_same_size_and_date_is_read(library, docs):
    file = write(docs / "a.md", "The harbour opens at seven.")
    os.utime(file, ns=(10**18, 10**18))
    library.ingest([docs])
    other = write(docs / "a.new", "The harbour opens at eight.")
    os.utime(other, ns=(10**18, 10**18))
    other.rename(file)

    library.refresh()

    assert (found(library, "seven"), found(library, "eight")) == ([], ["docs/a.md"])


@pytest.mark.parametrize("broken", [b"", b"  \n", b"\x00\x01\x02" * 500])
def test_what_a_file_said_before_it_became_unreadable_is_never_quoted(library, docs, broken):
    file = write(docs / "a.md", "The password is swordfish.")
    library.ingest([docs])
    file.write_bytes(broken)

    first, second = library.refresh(), library.refresh()

    assert (first.removed, second.removed) == (1, 0)
    assert [failure.source for failure in (*first.failed, *second.failed)] == ["docs/a.md", "docs/a.md"]
    assert "swordfish" not in quotable(library)
    assert found(library, "password swordfish") == []


def test_an_unreadable_file_is_parsed_again_only_when_it_changed_or_was_asked_for(library, docs):
    file = docs / "a.pdf"
    file.write_bytes(b"%PDF-1.4 broken")
    library.ingest([docs])

    with files_read(docs) as at_refresh:
        refreshed = library.refresh()
    with files_read(docs) as at_ingest:
        library.ingest([docs])
    file.write_bytes(b"%PDF-1.4 still broken")
    with files_read(docs) as at_change:
        library.refresh()

    assert at_refresh == []
    assert [failure.source for failure in refreshed.failed] == ["docs/a.pdf"]
    assert set(at_ingest) == set(at_change) == {"a.pdf"}


def test_files_of_older_programs_are_told_in_one_line_and_a_secret_key_is_none(library, docs):
    write(docs / "a.md", "Cats purr.")
    for name in ("old/b.doc", "c.XLS", ".hidden.doc", "server.key"):
        (docs / name).parent.mkdir(exist_ok=True)
        (docs / name).write_bytes(b"-----BEGIN PRIVATE KEY-----")

    (several,) = library.ingest([docs]).notes
    (docs / "c.XLS").unlink()
    (single,) = library.refresh().notes
    with zipfile.ZipFile(docs / "talk.key", "w") as keynote:
        keynote.writestr("Index/Document.iwa", "")

    assert several == SourceNote(
        source="docs",
        text="2 files of older or other programs are not read (.doc, .xls), as docs/c.XLS; save them as .docx, .xlsx",
    )
    assert single == SourceNote(
        source="docs/old/b.doc",
        text="is an older Word document (.doc), which is not read; save it as .docx",
    )
    assert "(.doc, .key)" in library.refresh().notes[0].text


def test_an_older_file_that_is_named_is_refused_with_what_to_save_it_as(library, docs):
    (docs / "b.ppt").write_bytes(b"anything")

    report = library.ingest([docs / "b.ppt"])

    assert [failure.reason for failure in report.failed] == [
        "is an older PowerPoint presentation (.ppt), which is not read; save it as .pptx"
    ]


def test_an_unreadable_file_is_read_once_it_is_whole(library, docs):
    file = write(docs / "a.md", "")
    failed = library.ingest([docs])
    write(file, "Cats purr.")

    repaired = library.refresh()

    assert [failure.reason for failure in failed.failed] == ["is empty"]
    assert repaired == SyncReport(added=1)
    assert library.store.roots.unreadable("default") == {}


def test_the_failure_of_a_file_is_forgotten_with_the_file(library, docs):
    file = write(docs / "a.md", "")
    library.ingest([docs])
    file.unlink()

    assert library.refresh() == SyncReport()
    assert library.store.roots.unreadable("default") == {}


def test_a_file_that_disappears_between_listing_and_reading_is_a_failure_and_no_more(library, docs):
    last = docs / "z.md"
    for name in (*(f"{number}.md" for number in range(AHEAD)), last.name):
        write(docs / name, f"Text of {name}.")

    def take_away(_phase, done, _total):
        if done == 1:
            last.unlink()

    report = library.ingest([docs], notify=take_away)

    assert report.added == AHEAD
    assert report.failed == (Failure(source="docs/z.md", reason="disappeared while it was read"),)
    assert library.refresh() == SyncReport(skipped=AHEAD)


def test_a_sync_that_was_broken_off_is_finished_by_the_next(library, docs):
    for name in ("a.md", "b.md", "c.md"):
        write(docs / name, f"Text of {name}.")

    def interrupt(_phase, _done, _total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.ingest([docs], notify=interrupt)

    assert sources(library) == ["docs/a.md"]
    assert library.refresh() == SyncReport(added=2, skipped=1)


def test_a_deleted_folder_is_gone_and_is_read_again_when_it_is_back(embedded, docs, tmp_path):
    library = embedded
    write(docs / "a.md", "Cats purr.")
    library.ingest([docs])
    docs.rename(tmp_path / "away")

    away = library.refresh()
    found_meanwhile = found(library, "cats")
    (tmp_path / "away").rename(docs)
    back = library.refresh()

    assert (away, found_meanwhile) == (SyncReport(removed=1), [])
    assert back == SyncReport(added=1)
    assert found(library, "cats") == ["docs/a.md"]


def test_what_another_machine_has_stays_in_postgresql_and_its_changes_are_followed_there(
    data, docs, tmp_path
):
    write(docs / "a.md", "Cats purr.")
    library = open_library(data)
    library.ingest([docs])
    docs.rename(tmp_path / "on the other machine")
    is_kept = library.store.database.dialect == "postgresql"

    refreshed = library.refresh()
    after_refresh = found(library, "cats")
    library.rebuild()
    after_rebuild = found(library, "cats")
    (tmp_path / "on the other machine").rename(docs)
    (docs / "a.md").unlink()
    back = library.refresh()
    library.close()

    kept = ["docs/a.md"] if is_kept else []
    assert (refreshed, back) == (SyncReport(removed=not is_kept), SyncReport(removed=is_kept))
    assert (after_refresh, after_rebuild) == (kept, kept)


def test_an_empty_folder_is_no_fault_and_what_is_put_there_later_is_found(library, docs):
    report = library.ingest([docs])
    write(docs / "a.md", "Cats purr.")

    assert report == SyncReport()
    assert library.refresh() == SyncReport(added=1)


def test_a_folder_that_may_not_be_listed_is_a_failure_and_its_documents_are_not_quoted(unprivileged):
    locked = write(unprivileged / "docs" / "locked" / "a.md", "Cats purr.").parent
    write(unprivileged / "docs" / "b.md", "Dogs bark.")
    library = open_library(unprivileged / "data")
    library.ingest([locked.parent])
    locked.chmod(0)

    report = library.refresh()

    assert report.failed == (Failure(source="docs/locked", reason="could not be read: permission denied"),)
    assert (report.removed, report.skipped, sources(library)) == (1, 1, ["docs/b.md"])
    library.close()


def test_a_root_that_may_no_longer_be_reached_is_a_failure(unprivileged):
    file = write(unprivileged / "locked" / "docs" / "a.md", "Cats purr.")
    library = open_library(unprivileged / "data")
    library.ingest([file.parent])
    file.parent.parent.chmod(0)

    report = library.refresh()

    assert report.failed == (Failure(source="docs", reason="could not be read: permission denied"),)
    assert (report.removed, sources(library)) == (1, [])
    library.close()


def test_a_file_that_may_not_be_opened_is_a_failure_of_that_moment(unprivileged):
    file = write(unprivileged / "docs" / "a.md", "Cats purr.")
    library = open_library(unprivileged / "data")
    library.ingest([file.parent])
    file.chmod(0)

    refused = library.refresh()
    still_unreadable = library.store.roots.unreadable("default")
    file.chmod(0o600)

    assert refused.failed == (Failure(source="docs/a.md", reason="could not be read: permission denied"),)
    assert (refused.removed, still_unreadable) == (1, {})
    assert library.refresh() == SyncReport(added=1)
    library.close()


# Roots within roots


def test_the_order_in_which_nested_folders_are_ingested_does_not_matter(tmp_path, docs):
    for name in ("a.md", "sub/b.md", "sub/deep/c.md"):
        write(docs / name, f"Text of {name}.")
    orders = {
        "outer first": [[docs], [docs / "sub"]],
        "inner first": [[docs / "sub"], [docs]],
        "inner file first": [[docs / "sub" / "b.md"], [docs / "sub"], [docs]],
        "both at once": [[docs / "sub", docs]],
    }

    names = {}
    for order, ingests in orders.items():
        library = open_library(tmp_path / order)
        for paths in ingests:
            library.ingest(paths)
        names[order] = [(entry.source, entry.root) for entry in library.store.entries()]
        assert library.refresh() == SyncReport(skipped=3)
        library.close()

    root = str(docs)
    expected = [("docs/a.md", root), ("docs/sub/b.md", root), ("docs/sub/deep/c.md", root)]
    assert names == dict.fromkeys(orders, expected)


def test_naming_the_inner_folder_s_documents_anew_reads_none_of_them(library, docs):
    write(docs / "sub" / "a.md", "Cats purr.")
    library.ingest([docs / "sub"])

    with files_read(docs) as read:
        report = library.ingest([docs])

    assert (report, read) == (SyncReport(skipped=1), [])
    assert found(library, "cats") == ["docs/sub/a.md"]


def test_a_failure_below_two_roots_is_told_once(library, docs):
    write(docs / "sub" / "a.md", "")
    library.ingest([docs, docs / "sub"])

    assert len(library.refresh().failed) == 1


def test_the_inner_folder_s_files_go_when_they_are_deleted(library, docs):
    file = write(docs / "sub" / "a.md", "Cats purr.")
    library.ingest([docs / "sub"])
    library.ingest([docs])
    file.unlink()
    file.parent.rmdir()

    assert library.refresh() == SyncReport(removed=1)


# Files that were named


def test_a_file_of_a_kind_that_is_not_read_is_a_failure_when_it_is_named(library, docs):
    picture = docs / "picture.png"
    picture.write_bytes(b"\x89PNG")

    report = library.ingest([picture])

    assert report.failed == (Failure(source="picture.png", reason="is of a kind that is not read (.png)"),)
    assert library.refresh() == SyncReport()


def test_a_named_file_that_could_not_be_read_is_not_brought_up_again(library, docs):
    library.ingest([write(docs / "a.md", "")])

    assert library.refresh() == SyncReport()


def test_a_named_file_that_was_read_once_is_watched(library, docs):
    file = write(docs / "a.md", "Cats purr.")
    library.ingest([file])
    write(file, "")
    emptied = library.refresh()
    write(file, "Dogs bark.")

    assert len(emptied.failed) == 1
    assert library.refresh() == SyncReport(added=1)
    assert found(library, "dogs") == ["a.md"]


def test_a_named_file_comes_back_after_its_editor_replaced_it(embedded, docs):
    library = embedded
    file = write(docs / "a.md", "Cats purr.")
    library.ingest([file])
    file.unlink()
    library.refresh()
    write(file, "Cats purr.")

    assert library.refresh() == SyncReport(added=1)


def test_paths_may_be_given_by_an_iterator(library, docs):
    write(docs / "a.md", "Cats purr.")

    library.ingest(path for path in [docs])
    (docs / "a.md").unlink()

    assert library.refresh() == SyncReport(removed=1)


def test_nothing_is_done_when_one_of_the_paths_is_missing(library, docs):
    write(docs / "a.md", "Cats purr.")

    with pytest.raises(SettingsError, match=r"missing\.md does not exist\."):
        library.ingest([docs, docs / "missing.md"])

    assert sources(library) == []
    assert library.refresh() == SyncReport()


# Things that are no documents


def test_a_pipe_with_the_name_of_a_document_is_a_failure_and_keeps_nobody_waiting(library, docs):
    write(docs / "a.md", "Cats purr.")
    os.mkfifo(docs / "pipe.md")

    in_folder, named = library.ingest([docs]), library.ingest([docs / "pipe.md"])

    failure = "could not be read: it is not a file"
    assert in_folder == SyncReport(added=1, failed=(Failure(source="docs/pipe.md", reason=failure),))
    assert [f.reason for f in named.failed] == [failure]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system refuses such names")
def test_a_name_that_is_not_utf8_is_a_failure_and_the_others_are_read(library, docs):
    write(docs / "a.md", "Cats purr.")
    Path(os.fsdecode(os.fsencode(docs) + b"/caf\xe9.md")).write_text("Dogs bark.")

    report = library.ingest([docs])

    assert report.added == 1
    assert report.failed == (
        Failure(source="docs/caf?.md", reason="could not be read: its name is not UTF-8"),
    )
    with pytest.raises(SettingsError, match=r"caf\?\.md has a name that is not UTF-8\."):
        library.ingest([Path(os.fsdecode(os.fsencode(docs) + b"/caf\xe9.md"))])


def test_a_huge_file_is_refused_without_being_read_to_its_end(library, docs):
    with (docs / "huge.md").open("wb") as file:
        file.truncate(FILE_LIMIT * 400)  # a hole: it takes no room on the disk

    report = library.ingest([docs])

    assert report.failed == (Failure(source="docs/huge.md", reason="is larger than 32 MB"),)


def test_a_refresh_during_an_ingest_leaves_its_folder_alone_and_sees_the_others(library, tmp_path):
    write(tmp_path / "old" / "cats.md", "Cats purr.")
    library.ingest([tmp_path / "old"])
    write(tmp_path / "old" / "cats.md", "Cats hunt.")
    for number in range(3):
        write(tmp_path / "new" / f"{number}.md", f"Page {number}.")
    meanwhile = []

    def refresh_once(_phase, _done, _total):
        if not meanwhile:
            meanwhile.append(None)  # the refresh notifies too, of its own
            meanwhile[0] = library.refresh()

    report = library.ingest([tmp_path / "new"], notify=refresh_once)

    assert meanwhile == [SyncReport(changed=1)]
    assert report == SyncReport(added=3)
    assert library.refresh() == SyncReport(skipped=4)


def test_a_look_at_the_disk_reads_nothing_of_what_came_from_elsewhere(library, docs):
    write(docs / "a.md", "A file.")
    library.ingest([docs])
    for address in ("https://example.org/a", "git+https://example.org/wiki/a.md", "slack:C1/1"):
        library.ingest_page(address, parse_file(Path("a.md"), b"Elsewhere."))

    listed = [entry.address for entry in library.store.files("default")]
    write(docs / "b.md", "Another.")
    (docs / "a.md").unlink()
    report = library.refresh()

    assert listed == [str(docs / "a.md")]
    assert (report.added, report.removed, report.skipped) == (1, 1, 0)
    assert len(library.store.entries()) == 4
