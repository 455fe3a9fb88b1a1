"""What an address of a repository means, what is refused, and where its files are on the web."""

from __future__ import annotations

import pytest

from core.errors import SettingsError
from core.sources.git.address import canonical_address, local_address, parse


@pytest.mark.parametrize(
    ("typed", "kept", "remote", "folder", "branch"),
    [
        ("git+https://GitHub.com/acme/docs/", "git+https://github.com/acme/docs", "https://github.com/acme/docs", "", ""),
        ("git+https://h.org:443/a.git#docs", "git+https://h.org/a.git#docs", "https://h.org/a.git", "docs", ""),
        ("git+https://h.org:8443/a#@main", "git+https://h.org:8443/a#@main", "https://h.org:8443/a", "", "main"),
        ("git+https://h.org/a#/d/e/@r/1.0", "git+https://h.org/a#d/e@r%2F1.0", "https://h.org/a", "d/e", "r/1.0"),
        ("git+https://h.org/a#d/e@r%2F1.0", "git+https://h.org/a#d/e@r%2F1.0", "https://h.org/a", "d/e", "r/1.0"),
        ("git+https://h.org/a#x%40y@b", "git+https://h.org/a#x%40y@b", "https://h.org/a", "x@y", "b"),
        ("git+ssh://git@h.org/a/b.git#d", "git+ssh://git@h.org/a/b.git#d", "ssh://git@h.org/a/b.git", "d", ""),
        ("git+ssh://h.org:2222/a", "git+ssh://h.org:2222/a", "ssh://h.org:2222/a", "", ""),
    ],
)  # fmt: skip
def test_an_address_is_kept_in_one_form(typed, kept, remote, folder, branch):
    read = parse(typed)

    assert (read.address, read.remote, read.folder, read.branch) == (kept, remote, folder, branch)
    assert parse(kept) == read


@pytest.mark.parametrize(
    "typed",
    [
        "git+https://user:secret@h.org/a",
        "git+https://secret@h.org/a",
        "git+ssh://git:secret@h.org/a",
        "git+https:///a",
        "git+https://h.org",
        "git+https://h.org/",
        "git+https://h.org/a?upload-pack=x",
        "git+https://h.org/a b",
        "git+https://h.org/a/../../b",
        "git+https://-oProxyCommand=x/a",
        "git+ssh://-oProxyCommand=x/a",
        "git+ssh://-l@h.org/a",
        "git+https://h.org:99999/a",
        "git+https://h.org/a#d@--upload-pack=x",
        "git+https://h.org/a#d@a..b",
        "git+https://h.org/a#d@a b",
        "git+https://h.org/a#d@",
        "git+https://h.org/a#@a:b",
        "git+https://h.org/a#../d",
        "git+https://h.org/a#d//e",
        "git+file://relative",
    ],
)
def test_what_git_could_misunderstand_is_refused(typed):
    with pytest.raises(SettingsError) as refused:
        parse(typed)

    assert "secret" not in str(refused.value)


def test_a_folder_without_a_repository_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="is not a git repository"):
        canonical_address(f"git+file://{tmp_path}")


def test_a_path_with_a_fragment_is_a_local_repository(tmp_path):
    (tmp_path / "repo" / ".git").mkdir(parents=True)

    assert local_address(f"{tmp_path}/repo#docs@main") == f"git+file://{tmp_path}/repo#docs@main"
    assert local_address(f"{tmp_path}/repo") is None
    assert local_address(f"{tmp_path}/none#docs") is None


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("git+https://github.com/acme/docs.git", "https://github.com/acme/docs/blob/abc/in%20use/a.md"),
        ("git+ssh://git@github.com/acme/docs.git", "https://github.com/acme/docs/blob/abc/in%20use/a.md"),
        ("git+https://gitlab.com/g/s/docs", "https://gitlab.com/g/s/docs/-/blob/abc/in%20use/a.md"),
        (
            "git+https://gitea.acme.dev:3000/a/b",
            "https://gitea.acme.dev:3000/a/b/src/commit/abc/in%20use/a.md",
        ),
        ("git+https://codeberg.org/a/b", "https://codeberg.org/a/b/src/commit/abc/in%20use/a.md"),
        ("git+https://git.acme.dev/a/b", None),
        ("git+file:///srv/a", None),
    ],
)
def test_a_file_has_a_page_where_the_host_is_known(address, page):
    assert parse(address).page_of("in use/a.md", "abc") == page


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("git+https://github.com/acme/docs.git#guide@main", "acme/docs/guide"),
        ("git+https://h.org/docs", "docs"),
        ("git+file:///srv/repos/docs#guide", "docs/guide"),
    ],
)
def test_people_read_the_last_parts_of_its_path(address, name):
    assert parse(address).name == name
