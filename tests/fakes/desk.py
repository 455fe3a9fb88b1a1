"""The operators' page over real stores, and browsers that speak HTTP to it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from bots.chat.channels import ChannelStore, open_channel_store
from bots.commands.backend import reads_for
from bots.page.gap_reports import GapReports
from bots.page.server import COOKIE, OwnWork, open_page
from bots.page.sessions import PageSessions, open_page_store
from bots.page.settings import PageSettings
from bots.page.threads import PAGE, PageMessenger, PageThreads
from bots.page.views import VIEWS
from bots.refresh import IndexRefresher
from bots.terminal.operations import Operations
from core.bootstrap import Footnote, open_footnote
from core.conversation import Answer, Citation, Conversation, Outcome, Proposal, Question, Usage
from core.gaps.groups import GapFinder, open_gaps
from core.library.data_lock import SERVING
from core.settings import Settings
from core.storage.storage import open_storage
from core.traces.trace import (
    Step,
    Trace,
    TracedDraft,
    TracedPassage,
    TracedSentence,
    TracedStrip,
)
from core.turns.queue import prepare_file, queue_url
from core.turns.turns import Turns, open_turns

NOON = 1_790_000_000.0
HANDBOOK = "# Harbour\n\n## Ferry\n\nThe ferry to Sark leaves pier three at half past nine. It takes bicycles but no cars.\n"
SECRET = "# Payroll\n\n## Pay\n\nThe harbour master earns ninety thousand euros a year.\n"


@dataclass
class Browser:
    """What a browser sends; cookies are handed to it by name."""

    url: str
    cookie: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    async def send(self, method: str, path: str, **options: Any) -> tuple[int, str, Mapping[str, str]]:
        headers = {**self.headers, **options.pop("headers", {})}
        if self.cookie:
            headers.setdefault("Cookie", self.cookie)
        address = URL(f"{self.url}{path}", encoded=True)
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client,
            client.request(method, address, headers=headers, allow_redirects=False, **options) as reply,
        ):
            return reply.status, await reply.text(errors="replace"), reply.headers.copy()

    async def get(self, path: str, **options: Any) -> tuple[int, str]:
        status, text, _ = await self.send("GET", path, **options)
        return status, text

    async def post(self, path: str, **fields: str) -> tuple[int, str, Mapping[str, str]]:
        """A form, from a page of ours."""
        return await self.send("POST", path, data=fields, headers={"Origin": self.url})


def cookie_at(url: str) -> str:
    """The name of the cookie of a page that is served there without TLS."""
    return f"{COOKIE}_{urlsplit(url).port}"


def plain_paths() -> list[str]:
    """All addresses of views that name nothing: what anybody who is in may open."""
    routes = [(way, path) for view in VIEWS for way, path, _ in view.routes]
    return [path for way, path in routes if way == "GET" and "{" not in path]


@dataclass
class Desk:
    """A served page."""

    url: str
    link: str  #: that it printed
    footnote: Footnote
    channels: ChannelStore
    sessions: PageSessions
    threads: PageThreads
    turns: Turns
    gaps: GapFinder
    reports: GapReports

    async def browser(self, role="editor", *, collections=None, name="") -> Browser:
        """Somebody who came in."""
        token = await self.sessions.make_link(role, collections=collections, name=name)
        cookie = await self.sessions.enter(token)
        return Browser(self.url, cookie=f"{cookie_at(self.url)}={cookie}")

    def ingest(self, folder: Path, name: str, text: str, *, collection: str) -> None:
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        self.footnote.library.ingest([folder / name], collection=collection)


@asynccontextmanager
async def open_desk(folder, page=None, *, patience=None, **settings):
    """``patience``: seconds for which a list of gaps waits for its report; None: as long as it takes."""
    given = {"embedding_model": "none", "web_search": "off", **settings}
    chosen = Settings(data_dir=folder / "data", **given)
    chosen.data_dir.mkdir(exist_ok=True)
    with open_storage(chosen) as storage, open_channel_store(storage) as channels:
        reads = reads_for(channels, ("slack", "discord"))
        async with open_footnote(chosen, purpose=SERVING, reads=reads, storage=storage) as footnote:
            with open_page_store(storage) as database, open_gaps(storage, lambda: None) as gaps:
                threads = PageThreads(database)
                prepare_file(queue_url(chosen))
                async with open_turns(
                    footnote.assistant, {PAGE: PageMessenger(threads)}, database_url=queue_url(chosen)
                ) as turns:
                    operations = Operations(
                        footnote=footnote, refresher=IndexRefresher(settings=chosen), channel_store=channels
                    )
                    reports = GapReports(gaps, patience=patience)
                    async with open_page(
                        page or PageSettings(port=0), chosen, library=footnote.library, log=footnote.log, gaps=reports,
                        answers=footnote.answers, sources=footnote.sources.store,
                        channels=channels, database=database, work=OwnWork(turns=turns, operations=operations, meters=footnote.meters), meters=footnote.meters,
                    ) as link:  # fmt: skip
                        parts = urlsplit(link)
                        yield Desk(
                            url=f"{parts.scheme}://{parts.netloc}", link=link, footnote=footnote,
                            channels=channels, sessions=PageSessions(database=database), threads=threads, turns=turns,
                            gaps=gaps, reports=reports,
                        )  # fmt: skip


def asked(turn="q1", text="When does the ferry leave?", *, channel="C1", author="ann", at=NOON):
    conversation = Conversation(platform="slack", space="T1", channel=channel, thread="1")
    return Question(id=turn, conversation=conversation, author=author, text=text, asked_at=at)


def traced(
    text="At half past nine. [1]", *, id="1", collection="default", source="harbour.md", title="Harbour"
):
    """A whole trace, with every text that one can have."""
    passage = TracedPassage(
        id=id, collection=collection, source=source, title=title, location=title, start=0, end=40, score=0.9,
        verdict="correct", evidence=(1,),
    )  # fmt: skip
    cut = TracedSentence(text=text, doubts=(text,), votes=3, against=3, is_cut=True, reason=text)
    strip = TracedStrip(number=1, passage=id, start=0, end=20)
    steps = (
        Step(node="enter", began_ms=0.0, ms=1.0),
        Step(node="open", began_ms=1.0, ms=80.0, calls=2, input_tokens=900, output_tokens=80, odds={"relevance": 1.5}),
        Step(node="generate", began_ms=81.0, ms=50.0, calls=1, input_tokens=400, output_tokens=60),
        Step(node="verify", began_ms=131.0, ms=40.0, calls=3, input_tokens=800, output_tokens=20,
             odds={"relevance": 1.5, "grounding": -0.7}),
    )  # fmt: skip
    return Trace(
        policy="footnote", question=text, standalone=text, route="documents", queries=(text, "other words"),
        missing=text, steps=steps, passages=(passage,),
        drafts=(TracedDraft(sentences=(replace(cut, is_cut=False, reason=""), cut), strips=(strip,), useful=(True,)),),
    )  # fmt: skip


def answered(
    turn="q1",
    text="At half past nine. [1]",
    *,
    collection="default",
    source="harbour.md",
    proposal=None,
    model="gemini",
):
    citation = Citation(
        number=1, title=text, location=text, source=source, quote=text, start=0, end=10, collection=collection,
        url="https://example.org/a",
    )  # fmt: skip
    answer = Answer(text=text, citations=(citation,), grounding="documents", composed=True, missing=text)
    return Outcome(
        kind="answered", turn_id=turn, answer=answer, reason=text, proposal=proposal, options=(text,),
        usage=Usage(name=model, calls=6, round_trips=3, input_tokens=2100, output_tokens=160),
        timing_ms={"total": 171.0, "retrieve": 12.0},
    )  # fmt: skip


def proposed(text="ferry to sark", turn="q1"):
    return Proposal(id="p1", turn_id=turn, question=text, asker="ann", query=text, reason=text, tried=(text,))


class Inspection(HTMLParser):
    """Reads a page as a browser would, and notes what must not be in it."""

    SAFE = frozenset(
        [
            "a",
            "article",
            "b",
            "blockquote",
            "body",
            "br",
            "button",
            "circle",
            "code",
            "dd",
            "defs",
            "del",
            "desc",
            "details",
            "div",
            "dl",
            "dt",
            "em",
            "figcaption",
            "figure",
            "footer",
            "form",
            "g",
            "h1",
            "h2",
            "head",
            "header",
            "hr",
            "html",
            "i",
            "img",
            "input",
            "kbd",
            "label",
            "legend",
            "li",
            "link",
            "main",
            "mark",
            "marker",
            "meta",
            "nav",
            "noscript",
            "ol",
            "option",
            "p",
            "path",
            "pre",
            "rect",
            "s",
            "script",
            "section",
            "select",
            "small",
            "span",
            "strong",
            "sub",
            "summary",
            "sup",
            "svg",
            "table",
            "tbody",
            "td",
            "text",
            "textarea",
            "tfoot",
            "th",
            "thead",
            "time",
            "title",
            "tr",
            "ul",
        ]
    )

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        if tag not in self.SAFE:
            self.faults.append(f"the element {tag}")
        self.faults += [
            f"{tag} {name}" for name in given if name.startswith("on") or name in ("style", "srcdoc")
        ]
        for name in ("href", "src", "action", "formaction", "xlink:href"):
            address = given.get(name, "")
            if address and not address.startswith(("/", "#", "https://", "http://")):
                self.faults.append(f"{tag} {name} leads to {address[:40]}")
        if tag in ("script", "img", "link") and not (given.get("src") or given.get("href", "")).startswith(
            "/static/"
        ):
            self.faults.append(f"{tag} from elsewhere")

    def handle_data(self, data):
        self.words.append(data)
