"""What people paste for a Confluence, and what is kept of it."""

from __future__ import annotations

import pytest

from bots.chat.indexing import read_targets
from core.errors import SettingsError
from core.settings import Settings
from core.sources.confluence.client import label_of, parse

CLOUD = "https://acme.atlassian.net"
OWN = "https://wiki.corp.example"


@pytest.mark.parametrize(
    ("pasted", "kept"),
    [
        (f"{CLOUD}/wiki/spaces/ENG/overview?homepageId=1", "/wiki/spaces/ENG"),
        (f"{CLOUD}/wiki/spaces/ENG", "/wiki/spaces/ENG"),
        (f"{CLOUD}/wiki/spaces/~712020abc/pages", "/wiki/spaces/~712020abc"),
        (f"{CLOUD}/wiki/spaces/ENG/pages/98307/Getting+started#First-steps", "/wiki/spaces/ENG/pages/98307"),
        (f"{CLOUD}/wiki/", "/wiki"),
        (CLOUD, "/wiki"),
        (f"confluence+{CLOUD}/wiki/spaces/ENG/", "/wiki/spaces/ENG"),
        ("https://ACME.atlassian.net:443/wiki/spaces/ENG", "/wiki/spaces/ENG"),
    ],
)
def test_addresses_of_the_cloud(pasted, kept):
    assert parse(pasted).address == f"confluence+{CLOUD}{kept}"
    assert parse(parse(pasted).address) == parse(pasted)


@pytest.mark.parametrize(
    ("pasted", "kept"),
    [
        (f"{OWN}/display/ENG", "/spaces/ENG"),
        (f"{OWN}/display/ENG/Getting+started%3F", "/display/ENG/Getting%20started%3F"),
        (f"{OWN}/confluence/display/ENG", "/confluence/spaces/ENG"),
        (f"{OWN}/spaces/ENG/pages/98307/Title", "/spaces/ENG/pages/98307"),
        (f"{OWN}/pages/viewpage.action?pageId=98307", "/pages/98307"),
        (f"{OWN}/pages/viewpage.action?spaceKey=ENG&title=A+b", "/display/ENG/A%20b"),
        (f"{OWN}:8443/wiki/spaces/ENG", ":8443/wiki/spaces/ENG"),
        (f"{OWN}/", ""),
        (f"{OWN}/dashboard.action", ""),
    ],
)
def test_addresses_of_a_data_center(pasted, kept):
    assert parse(pasted).address == f"confluence+{OWN}{kept}"
    assert parse(parse(pasted).address) == parse(pasted)


@pytest.mark.parametrize(
    "text",
    [
        "http://wiki.corp.example/display/ENG", f"{OWN}/x/AbC", f"{OWN}/spaces/E%20G", f"{OWN}/pages/viewpage.action",
        f"{OWN}/display/ENG/2024/05/01/Post", "https://", "https://[::1", f"{OWN}/spaces/../etc",
    ],
)  # fmt: skip
def test_what_is_no_address_is_told(text):
    with pytest.raises(SettingsError, match="is not an address of a space or a page of Confluence"):
        parse(f"confluence+{text}")


def test_a_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(SettingsError) as refused:
        parse("confluence+https://ann:sesame@acme.atlassian.net/wiki/spaces/ENG")

    assert "sesame" not in str(refused.value)


def test_a_page_of_the_web_is_one_of_confluence_where_a_token_names_its_host():
    page = f"{CLOUD}/wiki/spaces/ENG"

    assert read_targets([page]).urls == (page,)
    assert read_targets([page], settings=Settings(confluence_tokens={"acme.atlassian.net": "x"})).sources == (
        f"confluence+{page}",
    )
    assert read_targets([f"confluence+{page}"]).sources == (f"confluence+{page}",)
    assert label_of(f"confluence+{page}") == "acme.atlassian.net/wiki/spaces/ENG"
