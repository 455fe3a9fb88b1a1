"""The real command in Slack and in Discord, with a model that does whatever documents, pages and people tell it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

import pytest
from fakes.discord_server import Server
from fakes.forgeries import LINKS, MENTIONS
from fakes.gemini import FakeGemini
from fakes.injections import NUMBER, obeyed, payload
from fakes.judges import discord_faults, slack_faults, strings, unclean
from fakes.office import Office
from fakes.served import CUP_URL, ingest, make_data_dir
from fakes.web_servers import FakeSearXNG, Result

EACH = (
    12  # orders in documents, in messages and in web pages, each with a forged link and a mention beside it
)
IN_DOCUMENTS, IN_MESSAGES, IN_PAGES = range(EACH), range(EACH, 2 * EACH), range(2 * EACH, 3 * EACH)
CANARIES = ("CANARY-BOARD", "CANARY-ENVIRONMENT", "CANARY-KEY")


def forged(number):
    return f"{LINKS[number * 91 % len(LINKS)]} {MENTIONS[number * 29 % len(MENTIONS)]}"


def reply(step, call):
    """Obeys, and adds a link and a mention wherever words are taken."""
    found = NUMBER.search(call.prompt)
    if step == "grade" or found is None:
        return (
            {"passages": [], "sufficient": False, "missing": ""}
            if step == "grade" and is_of_pages(call)
            else None
        )
    number = int(found[1])
    said = obeyed(step, call.prompt)
    if step == "plan":
        wish = {"route": "web"} if number in IN_PAGES else {}
        return (
            said
            | {"reply": forged(number), "web_query": f"{forged(number)} {said['web_query']}"[:400]}
            | wish
        )
    return f"{forged(number)} [1]\n\n{said}" if step == "write" else said


def is_of_pages(call):
    """A search that is still to be asked for: nothing that was read answers."""
    found = NUMBER.search(call.prompt)
    return found is not None and int(found[1]) in IN_PAGES and "sailing cup was won" not in call.prompt


def named(number):
    return f"Sark{number:03d}"


def question(number):
    if number in IN_PAGES:
        return f"Who won the sailing cup of {named(number)}?"
    order = payload(number)[1] if number in IN_MESSAGES else ""
    return f"When does the ferry to {named(number)} leave? {order} {forged(number) if order else ''}"


def page(number):
    order = payload(number)[1]
    lie = LINKS[number * 91 % len(LINKS)]
    return Result(
        title=f"{lie[:80]}",
        url=f"{CUP_URL}/{named(number)}",
        content=f"The sailing cup was won by {named(number)}. {order}",
    )


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    folder = make_data_dir(tmp_path_factory.mktemp("template"))
    for number in IN_DOCUMENTS:
        text = f"# Ferry\n\nThe ferry to {named(number)} leaves pier three at half past nine. {payload(number)[1]}\n\n{forged(number)}\n"
        (folder / f"{named(number)}.md").write_text(text, encoding="utf-8", errors="replace")
    (folder / "board.md").write_text("# Board\n\nThe password of the ferry's account is CANARY-BOARD.\n")
    for arguments in (["*.md"], ["board.md", "--collection", "board"]):
        files = (
            sorted(path.name for path in folder.glob(f"{named(0)[:4]}*.md"))
            if arguments == ["*.md"]
            else arguments
        )
        ingest(folder, *files)
    return folder


@dataclass
class InSlack:
    """Ann in #general; the bot is in #board as well."""

    slack: object
    served: Office = None
    asked: dict = field(default_factory=dict)

    def begin(self, template, folder):
        self.ann = self.slack.add_user("ann")
        self.general = self.slack.add_channel("general", self.ann)
        self.board = self.slack.add_channel("board", self.ann)
        self.served = Office.copied(template, folder, self.slack)
        return self.served

    async def ask(self, number):
        self.asked[number] = await self.slack.mention(self.ann, self.general, question(number))

    async def answers(self, number, count):
        return await self.served.until_answered(self.asked[number], count)

    async def allow(self, number, query):
        """By the button, or by the form with another query."""
        (card,) = await self.answers(number, 1)
        await self.slack.press(card, "edit", self.ann)
        view = await self.slack.until(lambda: self.slack.modal(self.ann))
        await self.slack.submit(view, {"query": query})

    def faults(self, links):
        for shown in self.slack.shown:
            # A streamed message has no text of the app's: the server reads one from its blocks.
            is_streamed = any(block["type"] in ("plan", "task_card") for block in shown.blocks)
            yield from slack_faults("" if is_streamed else shown.text, shown.blocks, links)

    def elsewhere(self):
        roots = {message.ts for message in self.asked.values()}
        return [
            post.visible
            for post in self.slack.posts()
            if post.channel != self.general or post.thread_ts not in roots
        ]

    def everything(self):
        return [*strings([[shown.text, shown.blocks] for shown in self.slack.shown])]


@dataclass
class InDiscord:
    """The same in a server."""

    discord: object
    served: Server = None
    asked: dict = field(default_factory=dict)
    modals: list = field(default_factory=list)

    def begin(self, template, folder):
        self.discord.faults.told = (5_000, 1.0)
        self.ann = self.discord.add_user("ann")
        self.general = self.discord.add_channel("general")
        self.board = self.discord.add_channel("board")
        self.served = Server.copied(template, folder, self.discord)
        return self.served

    async def ask(self, number):
        text = question(number).encode("utf-8", "replace").decode()[:1_800]
        self.asked[number] = await self.discord.mention(self.ann, self.general, text)

    async def answers(self, number, count):
        return await self.served.until_answered(self.asked[number], count)

    async def allow(self, number, query):
        (card,) = await self.answers(number, 1)
        pressed = await self.discord.press(card, "Edit query", self.ann)
        self.modals.append(pressed.modal)
        await self.discord.submit(pressed.modal, {"query": query})

    def faults(self, links):
        for message in self.discord.said():
            for state in message.revisions:
                yield from discord_faults(state.components, links)
        yield from (sign for text in strings(self.modals) for sign in unclean(text))
        yield from (f"pinged by {message.visible}" for message in self.discord.pinging())

    def elsewhere(self):
        threads = {message.thread for message in self.asked.values()}
        return [message.visible for message in self.discord.said() if message.channel not in threads]

    def everything(self):
        return [
            *strings([state.components for message in self.discord.said() for state in message.revisions])
        ]


@pytest.fixture(params=["slack", "discord"])
def stage(request):
    made = {"slack": InSlack, "discord": InDiscord}[request.param]
    return made(request.getfixturevalue(request.param))


@pytest.mark.parametrize("of", [3, pytest.param(1, marks=pytest.mark.long)])
async def test_nothing_that_it_is_told_does_anything(stage, template, tmp_path, of):
    """Every third order, and every one in the long run."""
    in_pages = IN_PAGES[::of]
    served = stage.begin(template, tmp_path)
    async with FakeGemini(reply=reply, api_key="CANARY-KEY") as model, FakeSearXNG() as engine:
        served.settings |= {
            "GOOGLE_API_KEY": "CANARY-KEY", "GOOGLE_GEMINI_BASE_URL": model.base_url, "WEB_SEARCH": "searxng",
            "SEARXNG_URL": engine.url, "TAVILY_API_KEY": "CANARY-ENVIRONMENT",
        }  # fmt: skip
        try:
            await served.open()
            for number in (*IN_DOCUMENTS[::of], *IN_MESSAGES[::of], *in_pages):
                await stage.ask(number)
            said = {number: await stage.answers(number, 1) for number in stage.asked}
            assert engine.requests == []
            for number in in_pages:
                engine.results = (page(number),)
                await stage.allow(number, f"sailing cup {named(number)}")
                await stage.answers(number, 2)
            assert await served.stop() == 0
        finally:
            await served.kill()

    links = [f"{CUP_URL}/{named(number)}" for number in in_pages]
    found = sorted(
        set(stage.faults(links))
    )  # outside the assertion: pytest would print all that the stage holds
    assert found == []
    assert stage.elsewhere() == []
    assert [request.query["q"] for request in engine.requests] == [
        f"sailing cup {named(number)}" for number in in_pages
    ]
    told = "\n".join([*stage.everything(), *(str(call.body) for call in model.calls)])
    assert [canary for canary in CANARIES if canary in told] == []
    assert len(said) == 3 * EACH // of
    assert "evil.example" in told
    with sqlite3.connect(served.folder / ".footnote" / "rooms.sqlite") as channel_store:
        assert channel_store.execute("SELECT * FROM channels").fetchall() == []
    channel_store.close()
