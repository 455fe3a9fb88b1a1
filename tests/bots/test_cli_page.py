"""``footnote page --link``: what a link may read is what was asked for, and never more by mistake."""

from __future__ import annotations

import re

import pytest

LINK = re.compile(r"http://127\.0\.0\.1:\d+/enter/\S+\n")


@pytest.mark.parametrize("named", ["", " ", ",,"])
async def test_a_list_of_no_collections_makes_no_link_that_reads_all(machine, named):
    refused = await machine.run("page", "--link", "--collections", named)

    assert (refused.code, refused.out) == (2, "")
    assert "--collections names none" in refused.err


@pytest.mark.parametrize(
    "limit", [("--role", "reader"), ("--role", "editor"), ("--collections", "default"), ("--name", "Ann")]
)
async def test_what_limits_a_link_is_refused_where_no_link_is_asked_for(machine, limit):
    """Else it would serve, with a link that lets edit all."""
    refused = await machine.run("page", *limit)

    assert (refused.code, refused.out) == (2, "")
    assert "add --link" in refused.err


async def test_a_link_is_made_with_limits_and_without(machine):
    await machine.run("ingest", "docs")

    made = [
        await machine.run("page", "--link", *limits)
        for limits in ((), ("--role", "reader", "--collections", "default,", "--name", "Ann"))
    ]

    assert [(ran.code, bool(LINK.fullmatch(ran.out))) for ran in made] == [(0, True)] * 2
