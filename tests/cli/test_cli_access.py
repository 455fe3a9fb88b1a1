"""``footnote access``: who may read which collection, listed and changed, in both databases and beside a bot."""

from __future__ import annotations

import pytest

from core.library.data_lock import lock_data_dir

WAGES = "# Wages\n\nThe wages of the harbour master are 3100 euros.\n"


@pytest.fixture(params=["sqlite", "postgresql"])
async def staffed(request, machine):
    """A machine with a collection beside the default one."""
    if request.param == "postgresql":
        machine.settings["DATABASE_URL"] = request.getfixturevalue("postgres_url")
    (machine.folder / "wages.md").write_text(WAGES)
    for arguments in (("docs",), ("wages.md", "--collection", "hr")):
        assert (await machine.run("ingest", *arguments)).code == 0
    return machine


async def listed(machine, *arguments):
    ran = await machine.run("access", *arguments)
    assert ran.code == 0, ran.err
    return dict(line.split("\t") for line in ran.out.splitlines())


async def test_readers_are_added_taken_away_and_set_anew(staffed):
    seen = [
        await listed(staffed, *arguments)
        for arguments in (
            (),
            (
                "hr",
                "--channels",
                "C0123ABCD",
                "T01/C0999",
                "--people",
                "<@U0123ABCD>",
                "--groups",
                "S0123ABCD",
            ),
            ("hr", "--remove", "C0123ABCD", "<@U0123ABCD>"),
            ("hr", "--nobody", "--channels", "C0777"),
            ("hr", "--everyone"),
            ("hr", "--nobody"),
            ("default", "--nobody"),
            ("default", "--everyone"),
            (),
        )
    ]

    assert seen == [
        {"default": "everyone", "hr": "nobody"},
        {"hr": "channel C0123ABCD, channel slack/T01/C0999, person U0123ABCD, group S0123ABCD"},
        {"hr": "channel slack/T01/C0999, group S0123ABCD"},
        {"hr": "channel C0777"},
        {"hr": "everyone, channel C0777"},
        {"hr": "nobody"},
        {"default": "nobody"},
        {"default": "everyone"},
        {"default": "everyone", "hr": "nobody"},
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("wages",), "There is no collection wages. There are: default, hr."),
        (("wages", "--everyone"), "There is no collection wages. There are: default, hr."),
        (("HR", "--channels", "C0123ABCD"), "There is no collection HR."),
        (("channel-slack-T1-C1", "--everyone"), "is read there alone"),
        (("--everyone",), "Name the collection: footnote access COLLECTION --channels ID."),
        (("hr", "--channels", "#general"), "#general is no id. Write a channel's id or its link"),
        (("hr", "--people", "ann"), "ann is no id. Write a person's id"),
        (("hr", "--groups", "22345678901234567"), "of a Discord role behind its server's"),
    ],
)
async def test_what_names_nothing_changes_nothing_and_is_told(machine, arguments, sentence):
    (machine.folder / "wages.md").write_text(WAGES)
    await machine.run("ingest", "wages.md", "--collection", "hr")

    ran = await machine.run("access", *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert sentence in " ".join(ran.err.split())
    assert await listed(machine) == {"default": "everyone", "hr": "nobody"}


async def test_who_is_removed_without_having_had_access_is_told(staffed):
    ran = await staffed.run("access", "hr", "--remove", "C0123ABCD")

    assert (ran.code, ran.out) == (0, "hr\tnobody\n")
    assert ran.err == "C0123ABCD had no access to hr.\n"


async def test_it_works_while_another_process_has_the_data_folder(staffed):
    with lock_data_dir(staffed.folder / ".footnote", "footnote run"):
        await listed(staffed, "hr", "--channels", "C0123ABCD")

        assert await listed(staffed) == {"default": "everyone", "hr": "channel C0123ABCD"}


async def test_a_collection_that_is_forgotten_and_made_anew_is_closed(staffed):
    await listed(staffed, "hr", "--everyone")

    await staffed.run("forget", "wages.md")
    await staffed.run("ingest", "wages.md", "--collection", "hr")

    assert await listed(staffed) == {"default": "everyone", "hr": "nobody"}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("channel-slack-T1-C1", "Names that begin with channel- are of what channels learn"),
        ("channel-", "Names that begin with channel- are of what channels learn"),
        ("", "is no name of a collection"),
        ("hr ", "is no name of a collection"),
        ("h\tr", "is no name of a collection"),
        ("hr\u202e", "is no name of a collection"),
    ],
)
@pytest.mark.parametrize("more", [("wages.md",), ("--rebuild",)])
async def test_nothing_is_put_under_a_name_of_the_bots_own_or_one_that_cannot_be_written(
    machine, name, sentence, more
):
    (machine.folder / "wages.md").write_text(WAGES)

    ran = await machine.run("ingest", *more, "--collection", name)

    assert (ran.code, ran.out) == (2, "")
    assert sentence in " ".join(ran.err.split())
    assert (await machine.run("sources", "--json")).out.strip() == "[]"


async def test_whose_address_is_which_is_said_listed_and_taken_back(staffed):
    said = await listed(
        staffed, "--email", "U0123ABCD=Ann@harbour.example", "123456789012345678=bob@harbour.example"
    )
    beside = await listed(staffed, "hr", "--everyone")
    taken_back = await listed(staffed, "--email", "U0123ABCD=")
    wrong = [
        await staffed.run("access", "--email", each)
        for each in ("U0123ABCD", "ann=a@b.example", "U0123ABCD=ann")
    ]

    assert said == {
        "default": "everyone", "hr": "nobody", "person U0123ABCD": "ann@harbour.example",
        "person 123456789012345678": "bob@harbour.example",
    }  # fmt: skip
    assert beside == {"hr": "everyone"}
    assert set(taken_back) == {"default", "hr", "person 123456789012345678"}
    assert [ran.code for ran in wrong] == [2, 2, 2]
