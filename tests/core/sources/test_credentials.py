"""Files of credentials: read when only their owner may read them, refused with what to do otherwise."""

from __future__ import annotations

import os

import pytest

from core.errors import SettingsError
from core.sources.source import SIZE_LIMIT, is_exposed, read_owner_only


@pytest.fixture
def key(tmp_path):
    file = tmp_path / "key.json"
    file.write_text('{"type": "service_account"}')
    file.chmod(0o600)
    return file


def test_a_file_of_its_owner_alone_is_read(key):
    assert read_owner_only(key) == '{"type": "service_account"}'
    assert not is_exposed(key)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o601])
def test_a_file_that_others_may_read_is_refused_with_the_command_that_mends_it(key, mode):
    key.chmod(mode)

    with pytest.raises(SettingsError, match=f"can be read by others on this machine. Run `chmod 600 {key}`"):
        read_owner_only(key)
    assert is_exposed(key)


def test_a_link_is_judged_by_the_file_it_leads_to(key, tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to(key)

    assert read_owner_only(link)
    key.chmod(0o644)
    with pytest.raises(SettingsError, match="can be read by others"):
        read_owner_only(link)


def test_what_is_no_such_file_is_told_without_its_content(tmp_path, key):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    key.write_bytes(b"\xffsesame")
    large = tmp_path / "large"
    large.write_bytes(b" " * (SIZE_LIMIT + 1))
    large.chmod(0o600)

    sentences = {}
    for path in (tmp_path / "none", tmp_path, pipe, key, large):
        with pytest.raises(SettingsError) as refused:
            read_owner_only(path)
        sentences[path.name] = str(refused.value)

    assert "none cannot be read: " in sentences["none"]
    assert sentences["pipe"].endswith("pipe is no file.")
    assert sentences[tmp_path.name].endswith("is no file.")
    assert sentences["key.json"].endswith("holds no text in UTF-8.")
    assert sentences["large"].endswith("is too large for a file of credentials.")
    assert "sesame" not in "".join(sentences.values())
