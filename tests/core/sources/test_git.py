"""After each sync the library equals the repository, exactly; and git does nothing else than it is told."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace

import pytest
from fakes.git_server import Author, Repository, git
from fakes.source_desk import open_desk

from core.errors import SettingsError
from core.library.sync import SyncReport
from core.sources.kinds import SOURCE_KINDS
from core.sources.store import overlap


async def ingest(desk, address, **more) -> SyncReport:
    return await desk.syncs.ingest(address, collection="default", **more)


def texts(desk) -> list[str]:
    return [text for (text,) in desk.library.store.database.rows("SELECT text FROM passages")]


async def test_the_index_equals_the_tree_after_each_sync(desk, server, repository):
    author = Author(repository)
    author.begin(60)
    address = server.address("harbour/docs.git")

    await ingest(desk, address)

    assert desk.below(address) == repository.hashes()
    for _ in range(5):
        author.go_on(3)
        report = await ingest(desk, address)
        assert desk.below(address) == repository.hashes()
        assert report.failed == ()


async def test_an_unchanged_repository_costs_a_look(desk, server, repository):
    Author(repository).begin(60)
    address = server.address("harbour/docs.git")
    await ingest(desk, address)
    first = server.bytes

    report = await ingest(desk, address)

    assert report == SyncReport(skipped=len(repository.hashes()))
    assert server.bytes - first <= 0.02 * first


async def test_only_documents_of_the_folder_and_the_branch_are_fetched(desk, server, repository):
    repository.commit(
        {"docs/a.md": "On main.", "docs/noise.bin": b"\x01" * 400_000, "other/b.md": "x" * 300_000}
    )
    git(repository.folder, "branch", "release/1.0")
    repository.commit({"docs/a.md": "Later on main."})
    address = server.address("harbour/docs.git", "#docs@release/1.0")

    await ingest(desk, address)

    (place,) = desk.hashes()
    assert place == server.address("harbour/docs.git", "#docs@release%2F1.0/a.md")
    assert [text for (text,) in desk.library.store.database.rows("SELECT text FROM passages")] == ["On main."]
    assert server.sent < 20_000


async def test_a_folder_that_is_not_there_is_told_and_not_kept(desk, server, repository):
    repository.commit({"docs/a.md": "On main."})

    report = await ingest(desk, server.address("harbour/docs.git", "#doc"))

    assert [each.reason for each in report.failed] == ["nothing is there that is read; it was not added"]
    assert desk.syncs.store.all() == []


async def test_a_tag_is_read_as_a_branch_is(desk, server, repository):
    repository.commit({"a.md": "One."})
    git(repository.folder, "tag", "-a", "-m", "first", "v1", "main")
    repository.commit({"a.md": "Two.", "b.md": "Three."})
    address = server.address("harbour/docs.git", "#@v1")

    report = await ingest(desk, address)

    assert (report.added, list(desk.below(address))) == (1, ["a.md"])


async def test_a_host_that_cannot_leave_files_out_is_read_too(desk, server):
    plain = Repository.made(server.folder / "plain.git", filters=False)
    author = Author(plain)
    author.begin(30)
    address = server.address("plain.git")

    for _ in range(3):
        await ingest(desk, address)
        assert desk.below(address) == plain.hashes()
        author.go_on(4)


async def test_another_history_in_its_place_is_followed(desk, server, repository):
    Author(repository).begin(30)
    address = server.address("harbour/docs.git")
    await ingest(desk, address)

    repository.begin_anew({"docs/new.md": "All is new.", "docs/other.md": "This as well."})
    report = await ingest(desk, address)

    assert desk.below(address) == repository.hashes()
    assert report.added == 2


async def test_the_fetched_repository_may_vanish(desk, server, repository, settings):
    author = Author(repository)
    author.begin(30)
    address = server.address("harbour/docs.git")
    await ingest(desk, address)
    author.go_on(2)
    shutil.rmtree(settings.data_dir / "sources")

    await ingest(desk, address)

    assert desk.below(address) == repository.hashes()


@pytest.mark.parametrize("damaged", ["HEAD", "objects/pack/*.pack"])
async def test_a_damaged_one_is_fetched_anew(desk, server, repository, settings, damaged):
    author = Author(repository)
    author.begin(10)
    address = server.address("harbour/docs.git")
    await ingest(desk, address)
    author.go_on(2)
    (fetched,) = (settings.data_dir / "sources").iterdir()
    for file in fetched.glob(damaged):
        file.chmod(0o600)
        file.write_text("nonsense")

    first = await ingest(desk, address)
    second = await ingest(desk, address)

    assert {each.reason for each in first.failed} <= {"git cannot read harbour/docs; the log says more."}
    assert second.failed == ()
    assert desk.below(address) == repository.hashes()


async def test_a_document_knows_when_it_changed_last(desk, server, repository):
    repository.commit({"a.md": "One.", "b.md": "Two."})
    repository.commit({"b.md": "Three."})
    address = server.address("harbour/docs.git")
    await ingest(desk, address)
    first = {entry.source: entry.changed_at for entry in desk.library.store.entries()}
    repository.commit({"c.md": "Four."})
    repository.commit({"a.md": "Five."})

    await ingest(desk, address)

    last = {entry.source: entry.changed_at for entry in desk.library.store.entries()}
    assert first == {"harbour/docs/a.md": 1_600_000_000.0, "harbour/docs/b.md": 1_600_003_600.0}
    assert last == {f"harbour/docs/{path}": float(at) for path, at in repository.changed.items()}


async def test_a_document_is_read_with_what_it_includes_and_again_when_that_changed(desk, server, repository):
    page = "# Start\n\nThe program is this:\n\n{* ../src/app.py *}\n"
    repository.commit({"docs/a.md": page, "docs/b.md": "# Other", "src/app.py": "def harbour(): ..."})
    address = server.address("harbour/docs.git")
    await ingest(desk, address)
    first = "".join(texts(desk))

    repository.commit({"src/app.py": "def lighthouse(): ..."})
    changed = await ingest(desk, address)
    repository.commit({"src/other.py": "1"})
    same = await ingest(desk, address)

    assert "def harbour()" in first
    assert (changed.added, changed.changed, changed.skipped) == (0, 1, 1)
    assert (same.changed, same.skipped) == (0, 2)
    assert "def lighthouse()" in "".join(texts(desk))


async def test_nothing_outside_of_the_folder_is_included(desk, server, repository):
    page = "# Start\n\nThe program is this:\n\n{* ../secret.py *}\n{* .env.py *}\n{* /etc/passwd *}\n"
    repository.commit({"docs/a.md": page, "secret.py": "TOKEN = 1", "docs/.env.py": "TOKEN = 2"})

    await ingest(desk, server.address("harbour/docs.git", "#docs"))

    assert "TOKEN" not in "".join(texts(desk))


async def test_what_includes_others_is_known_again_after_the_memory_vanished(
    desk, server, repository, settings
):
    page = "# Start\n\nThe program is this:\n\n{* ../src/app.py *}\n"
    repository.commit({"docs/a.md": page, "src/app.py": "def harbour(): ..."})
    address = server.address("harbour/docs.git")
    await ingest(desk, address)
    (memory,) = (settings.data_dir / "sources").rglob("memory.db")
    memory.unlink()
    await ingest(desk, address)

    repository.commit({"src/app.py": "def lighthouse(): ..."})
    await ingest(desk, address)

    assert "def lighthouse()" in "".join(texts(desk))


async def test_links_submodules_and_hidden_files_are_left_out(desk, server, repository):
    repository.commit(
        {"a.md": "One.", ".hidden/b.md": "Two.", "node_modules/c.md": "Three.", "d.py": "Four"},
        links={"e.md": "/etc/passwd", "f.md": "a.md"},
    )
    address = server.address("harbour/docs.git")

    report = await ingest(desk, address)

    assert (report.added, report.failed, list(desk.below(address))) == (1, (), ["a.md"])


async def test_a_file_that_becomes_a_link_is_gone(desk, server, repository):
    repository.commit({"a.md": "One.", "b.md": "Two."})
    address = server.address("harbour/docs.git")
    await ingest(desk, address)
    repository.commit({}, links={"a.md": "/etc/passwd"})

    await ingest(desk, address)

    assert list(desk.below(address)) == ["b.md"]


async def test_one_bad_file_fails_alone_and_is_told(desk, server, repository):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n"
    repository.commit({"a.md": "One.", "b.md": b"\x00\x01\x02binary\x00", "c.md": pointer, "d.md": "  "})
    address = server.address("harbour/docs.git")

    report = await ingest(desk, address)
    repository.commit({"b.md": "Now it is text."})
    later = await ingest(desk, address)

    assert (report.added, list(desk.below(address))) == (1, ["a.md", "b.md"])
    assert {failure.source: failure.reason for failure in report.failed} == {
        "harbour/docs/b.md": "is not text: it looks binary though it is named .md",
        "harbour/docs/c.md": "lies in Git LFS, which is not read",
        "harbour/docs/d.md": "is empty",
    }
    assert (later.added, len(later.failed)) == (1, 2)


async def test_a_local_repository_is_read_where_it_is(desk, tmp_path):
    local = Repository.made(tmp_path / "here")
    author = Author(local)
    author.begin(40)
    author.go_on(3)
    address = f"git+file://{tmp_path}/here#docs"

    for _ in range(3):
        await ingest(desk, address)
        assert desk.below(address) == local.hashes("docs")
        author.go_on(4)


async def test_a_token_is_sent_and_kept_nowhere(settings, clock, server, repository):
    repository.commit({"a.md": "One."})
    server.token = "sesame-of-git"
    address = server.address("harbour/docs.git")
    with open_desk(settings, clock) as desk:
        refused = await ingest(desk, address)
        assert desk.syncs.store.all() == []
    with open_desk(replace(settings, git_tokens={"127.0.0.1": "sesame-of-git"}), clock) as desk:
        report = await ingest(desk, address)
        rows = desk.library.store.database.rows("SELECT * FROM documents")
        kept = str(desk.syncs.store.all()) + str(rows)

    assert [failure.reason for failure in refused.failed] == [
        "127.0.0.1 does not let Footnote read harbour/docs: set GIT_TOKENS=127.0.0.1=TOKEN with a token that may read it."
    ]
    assert (report.added, report.failed) == (1, ())
    assert "sesame" not in kept
    files = (file for file in settings.data_dir.rglob("*") if file.is_file())
    assert [file for file in files if b"sesame" in file.read_bytes()] == []


async def test_a_host_that_is_not_public_is_read_only_if_it_is_named(settings, clock, server, repository):
    repository.commit({"a.md": "One."})
    with open_desk(replace(settings, private_hosts=()), clock) as desk:
        report = await ingest(desk, server.address("harbour/docs.git"))

    assert [failure.reason for failure in report.failed] == [
        "127.0.0.1 is not a public address. PRIVATE_HOSTS=127.0.0.1 lets your own `footnote ingest` read it."
    ]
    assert server.requests == 0


async def test_a_redirect_is_told_and_not_followed(desk, server, repository):
    repository.commit({"a.md": "One."})
    server.refusals = [302]

    report = await ingest(desk, server.address("harbour/docs.git"))

    assert [failure.reason for failure in report.failed] == [
        "127.0.0.1 says that harbour/docs is elsewhere now: ingest its new address, and forget this one."
    ]
    assert server.requests == 1


async def test_a_busy_host_is_waited_for(desk, server, repository, clock):
    repository.commit({"a.md": "One."})
    server.refusals = [429, 429]
    address = server.address("harbour/docs.git")

    report = await ingest(desk, address)

    assert (report.added, report.failed, clock.waited) == (1, (), [60.0, 60.0])


@pytest.mark.parametrize(
    ("fragment", "reason"),
    [
        ("#@nowhere", "There is no branch or tag nowhere in harbour/docs."),
        ("x", "There is no repository harbour/docs.gitx on 127.0.0.1, or the token may not read it."),
    ],
)
async def test_what_is_not_there_is_told_and_not_kept(desk, server, repository, fragment, reason):
    repository.commit({"a.md": "One."})

    report = await ingest(desk, server.address("harbour/docs.git", fragment))

    assert [failure.reason for failure in report.failed] == [reason]
    assert desk.syncs.store.all() == []


async def test_a_source_within_another_is_refused(desk, server, repository):
    repository.commit({"docs/a.md": "One."})
    await ingest(desk, server.address("harbour/docs.git", "#docs"))

    with pytest.raises(SettingsError, match="share files"):
        await ingest(desk, server.address("harbour/docs.git", "#docs/api"))


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("git+https://github.com/acme/wiki", "git+https://github.com/Acme/wiki.git", True),
        ("git+https://github.com/acme/wiki", "git+ssh://git@github.com/acme/wiki", True),
        ("git+https://github.com/acme/wiki", "git+https://github.com/acme/wiki#docs", True),
        ("git+https://github.com/acme/wiki#@main", "git+https://github.com/acme/wiki#docs@main", True),
        ("git+https://github.com/acme/wiki#docs", "git+https://github.com/acme/wiki#api", False),
        ("git+https://github.com/acme/wiki#@v1", "git+https://github.com/acme/wiki#@v2", False),
        ("git+https://github.com/acme/wiki", "git+https://github.com/acme/wiki-2", False),
        ("git+https://github.com/acme/wiki", "git+https://gitlab.com/acme/wiki", False),
    ],
)
def test_two_addresses_of_the_same_files_are_known(one, other, is_same):
    places = (
        SOURCE_KINDS["git"].identity(SOURCE_KINDS["git"].canonical(one)),
        SOURCE_KINDS["git"].identity(SOURCE_KINDS["git"].canonical(other)),
    )

    assert (overlap(*places), overlap(*reversed(places))) == (is_same, is_same)


async def test_a_repository_by_two_addresses_is_read_once(desk, server, repository):
    repository.commit({"docs/a.md": "One."})
    first = server.address("harbour/docs.git")
    await ingest(desk, first)

    with pytest.raises(SettingsError, match="share files"):
        await ingest(desk, first.removesuffix(".git"))
    again = await ingest(desk, first)

    assert (again.skipped, len(desk.syncs.store.all())) == (1, 1)


async def test_nothing_of_a_repository_runs(desk, tmp_path):
    local, ran = Repository.made(tmp_path / "here"), tmp_path / "ran"
    run = tmp_path / "run"
    run.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    run.chmod(0o700)
    settings = {
        "core.fsmonitor": run, "core.sshCommand": run, "core.alternateRefsCommand": run, "core.pager": run,
        "diff.external": run, "diff.x.textconv": run, "filter.x.smudge": run, "filter.x.clean": run,
        "gpg.program": run, "log.showSignature": "true", "uploadpack.packObjectsHook": run, "core.askPass": run,
        "credential.helper": f"!{run}", "remote.origin.uploadpack": run, "alias.log": f"!{run}",
    }  # fmt: skip
    for name, setting in settings.items():
        git(local.folder, "config", name, str(setting))
    for hook in ("post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"):
        (local.folder / "hooks" / hook).symlink_to(run)
    local.commit(
        {"a.md": "One.", ".gitattributes": "* filter=x diff=x\n", ".gitmodules": '[submodule "s"]\n'}
    )
    assert ran.exists()  # a hook, for our own commit
    ran.unlink()

    report = await ingest(desk, f"git+file://{tmp_path}/here")
    has_run = ran.exists()
    local.commit({"a.md": "Two."})
    ran.unlink()
    again = await ingest(desk, f"git+file://{tmp_path}/here")

    assert (report.added, again.changed, has_run, ran.exists()) == (1, 1, False, False)


SSH = """#!/bin/sh
echo "$@" >> {told}
while [ $# -gt 1 ]; do shift; done
eval "$1"
"""


async def test_over_ssh_nobody_is_asked_and_no_unknown_host_is_trusted(
    desk, tmp_path, repository, monkeypatch
):
    """The program `ssh` is one of ours that runs what the host would run."""
    told, programs = tmp_path / "told", tmp_path / "programs"
    programs.mkdir()
    (programs / "ssh").write_text(SSH.format(told=told))
    (programs / "ssh").chmod(0o700)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    author = Author(repository)
    author.begin(12)
    address = f"git+ssh://git@127.0.0.1{repository.folder}"

    for _ in range(2):
        await ingest(desk, address)
        assert desk.below(address) == repository.hashes()
        author.go_on(2)

    for line in told.read_text().splitlines():
        assert "-o BatchMode=yes -o StrictHostKeyChecking=yes" in line
        assert f"git@127.0.0.1 git-upload-pack '{repository.folder}'" in line


@pytest.mark.long
async def test_the_index_equals_a_tree_of_five_thousand_files_through_two_hundred_commits(
    desk, server, repository
):
    author, address = Author(repository), server.address("harbour/docs.git")
    author.begin(5_000)
    await ingest(desk, address)
    assert desk.below(address) == repository.hashes()
    first = (server.requests, server.bytes)
    unchanged = await ingest(desk, address)
    again = (server.requests - first[0], server.bytes - first[1])

    for _ in range(20):
        author.go_on(10)
        await ingest(desk, address)
        assert desk.below(address) == repository.hashes()

    assert unchanged == SyncReport(skipped=unchanged.skipped)
    assert again[0] <= 0.02 * first[0] or again[0] <= 2  # a look is one request, or two
    assert again[1] <= 0.02 * first[1]
    sys.stdout.write(
        f"first: {first[0]} requests, {first[1]:,} bytes; unchanged: {again[0]}, {again[1]:,}; "
        f"{len(desk.hashes()):,} documents in the end, {repository.commits} commits\n"
    )
