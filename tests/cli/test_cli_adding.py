"""`footnote ingest` in a terminal without arguments: it asks, looks first, and leaves nothing of what was not wanted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.git_server import GitServer, Repository, make_certificate
from fakes.harbour import FERRY, HARBOUR
from fakes.sources import ADDRESS, Shelf
from fakes.terminals import CTRL_C, CTRL_D, ENTER, Terminal

from bots.chat.indexing import Targets
from bots.commands.adding import Addition, Questions, choices_of
from bots.commands.documents import _channel_store
from bots.platforms import source_kinds
from bots.terminal.screen import Screen
from core.errors import SettingsError
from core.settings import Settings
from core.sources.kinds import SOURCE_KINDS
from core.sources.source import Credential, SourceGuide, SourceUnavailable

MENU = "or an address or a path › "


class ScriptedReplies:
    """A person who types these replies, leaves after the last one, and accepts what is offered for None."""

    def __init__(self, *replies):
        self._replies = list(replies)
        self.prompts = []

    async def __call__(self, prompt, /, *, default="", completes_paths=False):
        self.prompts.append(prompt)
        if not self._replies:
            raise EOFError
        reply = self._replies.pop(0)
        return default if reply is None else reply


@pytest.fixture
def shelf():
    made = Shelf()
    made.write(**{f"page-{number:02}": "Some text." for number in range(30)})
    return made


def guided(shelf, *, needs_token=False):
    """The kinds, with a guide to the shelf."""

    def shelf_address(typed):
        if not typed.startswith("shelf"):
            raise SettingsError(f"{typed} is no shelf.")
        return ADDRESS

    def credentials(_address, settings):
        is_set = "shelf.example" in settings.git_tokens
        made_at = "https://shelf.example/tokens"
        entry = "shelf.example=TOKEN"
        return [
            Credential(
                setting="GIT_TOKENS", entry=entry, made_at=made_at, is_set=is_set, is_needed=needs_token
            )
        ]

    guide = SourceGuide(
        title="A shelf",
        asks="Its name",
        example="shelf",
        address=shelf_address,
        credentials=credentials,
        every="2h",
    )
    return {**SOURCE_KINDS, "shelf": replace(shelf.kinds["shelf"], guide=guide)}


def questions(shelf, *replies, settings=(), **more):
    """The steps for a person with these replies; ``settings`` are read one after another."""
    kept = list(settings) or [Settings()]
    return Questions(
        ask=ScriptedReplies(*replies),
        screen=Screen(),
        read_settings=lambda: kept.pop(0) if len(kept) > 1 else kept[0],
        kinds=guided(shelf, **more),
        collections=["default", "handbook", "channel:C1"],
    )


async def test_the_menu_lists_files_each_kind_with_a_guide_and_pages(shelf, capsys):
    titles = [each.title for each in choices_of({**guided(shelf), "bare": shelf.kinds["shelf"]})]

    assert titles[0] == "A folder or a file of this machine"
    assert titles[-1] == "A single page of the web"
    assert titles.count("A shelf") == 1
    assert len(titles) == 2 + len([kind for kind in guided(shelf).values() if kind.guide])


def number_of(shelf, title):
    return str([each.title for each in choices_of(guided(shelf))].index(title) + 1)


async def test_a_source_is_named_looked_at_and_given_its_place(shelf, capsys):
    asking = questions(shelf, number_of(shelf, "A shelf"), "shelf", "handbook", "90m")

    addition = await asking.addition()

    told = capsys.readouterr().out
    assert addition == Addition(targets=Targets(sources=(ADDRESS,)), collection="handbook", every=5400)
    assert addition.command == f"footnote ingest {ADDRESS} --collection handbook --every 90m"
    assert "It can be read, about 12 documents:" in told
    assert told.count("harbour/page-") == 10
    assert shelf.fetched == []


async def test_what_is_offered_may_be_taken(shelf):
    addition = await questions(shelf, number_of(shelf, "A shelf"), "shelf", None, None).addition()
    given = questions(shelf, number_of(shelf, "A shelf"), "shelf", None, None)

    assert (addition.collection, addition.every) == ("default", 7200)
    assert addition.command == f"footnote ingest {ADDRESS} --every 2h"
    told = await given.addition(collection="notes", every=0)
    assert (told.collection, told.every, told.command) == (
        "notes",
        0,
        f"footnote ingest {ADDRESS} --collection notes --every off",
    )


async def test_a_wrong_reply_is_told_and_asked_again(shelf, capsys):
    asking = questions(
        shelf, "99", "no/such/path", number_of(shelf, "A shelf"), "table", "shelf", " ", "default", "1", "off"
    )

    addition = await asking.addition()

    told = capsys.readouterr().err
    assert "no/such/path does not exist." in told
    assert "table is no shelf." in told
    assert "is no name of a collection" in told
    assert "1 is not a span of time" in told
    assert addition.every == 0


async def test_a_credential_that_is_missing_is_asked_for_before_anything_is_sent(
    shelf, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with_token = Settings(git_tokens={"shelf.example": "sesame"})
    other = Settings(git_tokens={"other.example": "sesame"})
    asking = questions(
        shelf, number_of(shelf, "A shelf"), "shelf", "", "", None, None,
        settings=[Settings(), other, with_token], needs_token=True,
    )  # fmt: skip
    shelf.page_faults[0] = SourceUnavailable("Nobody may look at the shelf before there is a token.")

    with pytest.raises(EOFError):
        await questions(shelf, number_of(shelf, "A shelf"), "shelf", needs_token=True).addition()
    assert 0 in shelf.page_faults  # it was not opened
    del shelf.page_faults[0]
    addition = await asking.addition()

    said = capsys.readouterr()
    assert "It needs GIT_TOKENS. Make one at https://shelf.example/tokens" in said.err
    assert f"and put this line into {tmp_path}/.env:" in said.err
    assert "  GIT_TOKENS=shelf.example=TOKEN\n" in said.out
    assert f"and add it to GIT_TOKENS in {tmp_path}/.env, after a comma:" in said.err
    assert "\n  shelf.example=TOKEN\n" in said.out
    assert "sesame" not in said.out + said.err
    assert addition.targets.sources == (ADDRESS,)


async def test_what_cannot_be_read_may_be_named_otherwise(shelf, capsys, tmp_path):
    (tmp_path / "ferry.md").write_text(FERRY)
    (tmp_path / "empty").mkdir()
    shelf.page_faults[0] = SourceUnavailable("The shelf is not there.")
    asking = questions(
        shelf,
        number_of(shelf, "A shelf"),
        "shelf",
        "other",
        str(tmp_path / "empty"),
        "other",
        str(tmp_path),
        None,
    )

    addition = await asking.addition()

    said = capsys.readouterr()
    assert "The shelf is not there." in said.err
    assert "If it is not open to everybody, it needs GIT_TOKENS." in said.err
    assert "There is nothing to read in" in said.err
    assert "It can be read, 1 document:" in said.out
    assert addition == Addition(targets=Targets(paths=(tmp_path.resolve(),)), collection="default")


@pytest.mark.parametrize(
    ("kind", "typed", "address"),
    [
        ("slack", "#support", "slack:#support"),
        ("slack", "support", "slack:#support"),
        ("slack", "slack:C0123ABC", "slack:C0123ABC"),
        ("slack", "https://acme.slack.com/archives/C0123ABC/p1700000000000100", "slack:C0123ABC"),
        ("slack", "https://app.slack.com/client/T01/C0123ABC", "slack:C0123ABC"),
        ("discord", "help", "discord:#help"),
        (
            "discord",
            "https://discord.com/channels/111111111111111111/222222222222222222",
            "discord:111111111111111111/222222222222222222",
        ),
    ],
)
def test_a_channel_may_be_named_as_people_name_it(kind, typed, address):
    assert source_kinds(None)[kind].guide.address(typed) == address


def test_what_is_no_channel_is_told():
    with pytest.raises(SettingsError, match="names no channel of Slack"):
        source_kinds(None)["slack"].guide.address("https://acme.example/support")


async def test_a_channel_of_slack_is_looked_at_with_the_token_and_without_leaving_a_store(
    slack, shelf, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    ann = slack.add_user("ann")
    channel = slack.add_channel("support", ann)
    root = await slack.say(ann, channel, "Where is the key of the boathouse?")
    await slack.say(ann, channel, "It hangs behind the door.", root.ts)
    for name in slack.environment:
        monkeypatch.delenv(name, raising=False)
    settings = Settings(data_dir=tmp_path / "data")

    with _channel_store(settings) as channel_store:
        asking = questions(shelf, "slack:#support", "", None, None, settings=[settings])
        asking = replace(asking, kinds=source_kinds(channel_store, is_waited_for=True))
        asking = replace(asking, ask=WithTokens(asking.ask, slack.environment, monkeypatch))
        addition = await asking.addition()

    said = capsys.readouterr()
    assert "It needs SLACK_BOT_TOKEN. Make one at https://api.slack.com/apps" in said.err
    assert "  SLACK_BOT_TOKEN=xoxb-TOKEN\n" in said.out
    assert "It can be read, 1 document:\n  Where is the key of the boathouse?\n" in said.out
    assert addition.command == "footnote ingest 'slack:#support' --every 1d"
    assert list(tmp_path.iterdir()) == []


class WithTokens:
    """Sets the tokens before the second question, as who is told which are missing."""

    def __init__(self, ask, tokens, monkeypatch):
        self._ask, self._tokens, self._monkeypatch, self._asked = ask, tokens, monkeypatch, 0

    async def __call__(self, prompt, /, **more):
        self._asked += 1
        for name, token in self._tokens.items() if self._asked == 2 else ():
            self._monkeypatch.setenv(name, token)
        return await self._ask(prompt, **more)


async def test_an_address_that_may_be_of_several_kinds_is_asked_about_and_not_typed_again(shelf, capsys):
    asking = questions(shelf, "https://127.0.0.1:9/handbook", number_of(shelf, "A repository"), None)

    with pytest.raises(EOFError):
        await asking.addition()

    menu = asking.ask.prompts[0]
    assert asking.ask.prompts == [menu, menu, "› ", "Enter to try again, n to name something else › "]
    assert "127.0.0.1 is not a public address." in capsys.readouterr().err


# In a terminal


@pytest.fixture
async def terminal(machine):
    async with Terminal(machine.folder, machine.environment) as made:
        yield made


@pytest.fixture
def served(machine, tmp_path_factory):
    """A repository behind HTTPS that asks for a token."""
    certificate = make_certificate(tmp_path_factory.mktemp("authority"))
    folder = tmp_path_factory.mktemp("served")
    machine.settings |= {"SSL_CERT_FILE": str(certificate), "PRIVATE_HOSTS": "127.0.0.1"}
    with GitServer(folder, certificate) as server:
        server.token = "sesame-of-git"
        Repository.made(folder / "wiki.git").commit({"ferry.md": FERRY, "harbour.md": HARBOUR})
        yield server


async def test_a_repository_is_added_step_by_step_with_a_token_that_comes_late(machine, served, terminal):
    await terminal.start("ingest")
    menu = await terminal.until(MENU)
    terminal.press("2" + ENTER)
    await terminal.until("#docs@main\n› ")
    terminal.press(f"https://127.0.0.1:{served.port}/wiki.git" + ENTER)
    refused = await terminal.until("n to name something else › ")
    (machine.folder / ".env").write_text("GIT_TOKENS=127.0.0.1=sesame-of-git\n")
    (machine.folder / ".env").chmod(0o600)
    terminal.press(ENTER)
    seen = await terminal.until("Collection, or Enter for default › ")
    terminal.press(ENTER)
    await terminal.until("Every, or Enter for 1h › ")
    terminal.press(ENTER)
    added = await terminal.until("2 documents added.")

    assert await terminal.ended() == 0
    assert "2  A repository" in menu
    assert "set GIT_TOKENS=127.0.0.1=TOKEN with a token that may read it." in " ".join(refused.split())
    assert "GIT_TOKENS=127.0.0.1=TOKEN" in refused
    assert "It can be read, 2 documents:" in seen
    assert "  wiki/ferry.md" in seen
    assert f"footnote ingest git+https://127.0.0.1:{served.port}/wiki.git --every 1h" in " ".join(
        added.split()
    )
    assert "sesame" not in terminal.written
    (source, *_) = (await machine.run("sources")).out.splitlines()
    assert "; every 1h" in source


@pytest.mark.parametrize("keys", [CTRL_C, CTRL_D])
@pytest.mark.parametrize(
    "steps",
    [[MENU], [MENU, "1", "As in: handbook\n› "], [MENU, "docs", "Collection, or Enter for default › "]],
    ids=["menu", "path", "place"],
)
async def test_whoever_leaves_at_any_step_leaves_nothing_behind(machine, terminal, steps, keys):
    before = sorted(machine.folder.rglob("*"))

    await terminal.start("ingest")
    await terminal.until(steps[0])
    for typed, prompt in zip(steps[1::2], steps[2::2], strict=True):
        terminal.press(typed + ENTER)
        await terminal.until(prompt)
    terminal.press(keys)

    assert await terminal.ended() == 130
    assert terminal.written.count("Nothing was added.") == 1
    assert "Traceback" not in terminal.written
    assert sorted(machine.folder.rglob("*")) == before


async def test_ingest_prints_json(machine):
    (machine.docs / "broken.pdf").write_bytes(b"no pdf")

    first = await machine.run("ingest", "docs", "--json")
    second = await machine.run("ingest", "docs", "--json")

    (failed,) = first.record["failed"]
    assert failed["source"] == "docs/broken.pdf"
    assert {**first.record, "failed": []} == {
        "added": 2, "changed": 0, "removed": 0, "unchanged": 0, "failed": [], "notes": [], "vectors": 0,
    }  # fmt: skip
    assert second.record["unchanged"] == 2
