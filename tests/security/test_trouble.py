"""A model and a search engine in every kind of trouble at once: each question ends, and nobody waits for another's."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from random import Random

import certifi
import pytest
from aiohttp import web
from fakes.gemini import Blocked, Body, Cut, Drip, FakeGemini, Finish, Hang, Status
from fakes.served import CUP, FERRY, FRANCE, HANDBOOK, PONTOON
from fakes.stalls import stalls_watched
from fakes.web_servers import FakeSearXNG

from bots.process import favor_loop
from core.bootstrap import open_footnote, reads_everything
from core.conversation import Conversation, Decision, Question
from core.settings import Settings
from core.tls import default_tls

# Google's client derives from aiohttp's session, which aiohttp discourages; neither is ours to change.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")

TROUBLES = (
    Status(429), Status(429, retry_after="60"), Status(500), Status(503), Status(400), Hang(), Drip(), Body(""), Body("{"), Body("null"),
    Body("[]"), Body("<html>busy</html>"), Cut(), Cut(before_headers=True), Finish("SAFETY"), Finish("MAX_TOKENS"), Blocked(), {}, "",
    {"relevances": "all"}, None, None, None,
)  # fmt: skip
SIDE_BY_SIDE = 20
MODEL_TIMEOUT, TURN_TIMEOUT = 0.4, 6.0  # seconds
STALL = 0.1  # seconds of the loop's thread that one callback may take, whoever else wants the processor


class TroubledSearXNG(FakeSearXNG):
    """Limits its rate, breaks, answers nonsense, and now and then finds something."""

    def __init__(self, random: Random) -> None:
        super().__init__([FRANCE])
        self.random = random

    async def answer(self, request: web.Request) -> web.StreamResponse:
        trouble = self.random.choice((429, 503, "nonsense", "nothing", None, None))
        if isinstance(trouble, int):
            return web.Response(status=trouble, text="later")
        if trouble is None:
            return await super().answer(request)
        return web.Response(text="{" if trouble == "nonsense" else "", content_type="application/json")


ROUND = 60  # questions


@pytest.mark.parametrize("count", [60, pytest.param(2_000, marks=pytest.mark.long)])
async def test_every_question_ends_in_its_time_whatever_model_and_search_do(
    count, tmp_path, monkeypatch, request
):
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())  # all authorities: reading them holds a loop
    default_tls.cache_clear()
    request.addfinalizer(default_tls.cache_clear)
    random = Random(9)
    (tmp_path / "handbook.md").write_text(HANDBOOK)
    ended: Counter[str] = Counter()
    allowed: Counter[str] = Counter()
    late: list[float] = []
    longest: list[tuple[float, str]] = []

    async with FakeGemini() as model, TroubledSearXNG(random) as search:
        model.reply = lambda _step, _call: random.choice(TROUBLES)
        settings = Settings(
            data_dir=tmp_path / "data", google_api_key=model.api_key, google_gemini_base_url=model.base_url,
            embedding_model="none", web_search="searxng", searxng_url=search.url, web_approval="anyone",
            model_timeout=MODEL_TIMEOUT, search_timeout=1.0, turn_timeout=TURN_TIMEOUT,
        )  # fmt: skip
        async with open_footnote(settings, purpose="test", reads=reads_everything) as footnote:
            await asyncio.to_thread(footnote.library.ingest, [tmp_path / "handbook.md"])
            seats = asyncio.Semaphore(SIDE_BY_SIDE)

            async def ask(number: int) -> None:
                here = Conversation(platform="test", space="s", channel="c", thread=str(number))
                text = random.choice((FERRY, PONTOON, CUP, "And what about it?"))
                question = Question(id=f"q{number}", conversation=here, author="ann", text=text, asked_at=0.0)
                async with seats:
                    began = time.monotonic()
                    outcome = await footnote.assistant.run(question)
                    late.append(time.monotonic() - began - TURN_TIMEOUT)
                    ended[outcome.kind] += 1
                    if outcome.proposal is not None:
                        decision = Decision(
                            id=f"d{number}", conversation=here, author="ann", proposal_id=outcome.proposal.id,
                            verdict="approve", decided_at=0.0,
                        )  # fmt: skip
                        decided = await footnote.assistant.run(decision)
                        allowed[decided.kind] += 1
                        assert decided.kind != "failed" or decided.reason
                    assert outcome.kind != "failed" or outcome.reason

            # Round by round: the collector would look through all that the servers here remember of before.
            for first in range(0, count, ROUND):
                with favor_loop(), stalls_watched() as stalls:
                    await asyncio.gather(*(ask(number) for number in range(first, min(first + ROUND, count))))
                longest = sorted({*longest, *stalls.longest}, reverse=True)[:3]

    print(
        dict(ended),
        dict(allowed),
        f"{len(model.calls)} calls, {len(search.requests)} searches, {sum(each > 0 for each in late)} late",
        f"longest callbacks: {[(name, f'{1000 * took:.1f} ms') for took, name in longest]}",
    )
    assert sum(ended.values()) == count
    assert ended["answered"] > 0
    assert sum(allowed.values()) == ended["approval_needed"]
    assert len(model.calls) < 16 * count
    assert longest[0][0] < STALL, longest
