"""A local model: a server that speaks Gemini's protocol and takes the same time for every reply.

It runs as a process of its own (``python -m benchmarks.model_server``), so that what it costs is not
counted as ours, and ends when its standard input does. What it replies follows from the
:class:`Scenario` that was set last; it tells the steps of our graph and of the published ones apart by
the schema of the reply that they ask for.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.conversation import value
from core.reasoning.prompts import NO_ANSWER

if TYPE_CHECKING:
    from aiohttp import web

REWORD = "Reword"  # how a rewriter's instructions begin: it asks for plain text, as a writer does
DOES_NOT_KNOW = "I don't know."
BODY_LIMIT = 64 * 1024**2  # bytes of one request
ROOT = Path(__file__).resolve().parents[2]  # where the package is found

#: Our steps and the published ones, by a property of the reply's schema that no other has.
STEPS: Mapping[str, str] = {
    "route": "plan",
    "sufficient": "grade",
    "unsupported": "grounding",
    "useful": "usefulness",
    "datasource": "router",
    "is_relevant": "relevance",
    "is_supported": "support",
    "is_resolved": "resolution",
}

_BLOCK = re.compile(r"<<([0-9a-f]{12}) ([^>\n]+)>>\n(.*?)\n<<\1 end>>", re.DOTALL)
_SENTENCE = re.compile(r"\S.*?[.!?](?=\s|$)", re.DOTALL)


@value
class Scenario:
    """What the model is to find, and how long it takes."""

    relevant: str = ""  #: a text helps when it holds this word; empty: every text helps
    queries: tuple[str, ...] = ()  #: further searches that a plan names
    web_query: str = "public words"
    unsupported: int = 0  #: so many drafts are found unsupported, by every check, before one is not
    latency: float = 0.0  #: seconds of one reply; their median where they are spread
    spread: float = 0.0  #: standard deviation of the logarithm of a reply's time
    seed: int = 0


@value
class Seen:
    """One call as the server saw it."""

    step: str
    started: float  #: seconds on the server's clock
    ended: float


def round_trips(calls: Sequence[Seen]) -> int:
    """The longest chain of calls of which each began after the one before had ended."""
    chains: list[tuple[float, int]] = []
    for call in sorted(calls, key=lambda seen: seen.started):
        before = max((length for ended, length in chains if ended <= call.started), default=0)
        chains.append((call.ended, before + 1))
    return max((length for _, length in chains), default=0)


# What is replied


@value
class Request:
    """What a call asks, without its wrapping."""

    step: str
    system: str
    prompt: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Request:
        config = body.get("generationConfig", {})
        schema = config.get("responseJsonSchema", config.get("responseSchema")) or {}
        system = _text(body.get("systemInstruction", {}))
        plain = "rewrite" if system.startswith(REWORD) else "write"
        step = next((STEPS[name] for name in schema.get("properties", {}) if name in STEPS), plain)
        return cls(step=step, system=system, prompt="\n".join(map(_text, body["contents"])))

    def blocks(self, label: str) -> list[str]:
        """The quoted texts under this label, in order."""
        return [text for _, named, text in _BLOCK.findall(self.prompt) if named.split(" ")[0] == label]


def reply_to(request: Request, scenario: Scenario, seen: Sequence[str]) -> str:
    """The reply's text; ``seen`` are the steps asked for before."""
    said = REPLIES[request.step](request, scenario, seen)
    return said if isinstance(said, str) else json.dumps(said)


def _plan(request: Request, scenario: Scenario, _seen: Sequence[str]) -> Mapping[str, Any]:
    return {
        "route": "documents", "standalone": request.blocks("question")[0], "queries": scenario.queries,
        "web_query": scenario.web_query, "reply": "", "options": [],
    }  # fmt: skip


def _grade(request: Request, scenario: Scenario, _seen: Sequence[str]) -> Mapping[str, Any]:
    helps = [_helps(text, scenario) for text in request.blocks("passage")]
    verdicts = [
        {"passage": n, "relevance": "correct" if good else "incorrect", "evidence": [1] if good else []}
        for n, good in enumerate(helps, start=1)
    ]
    return {"passages": verdicts, "sufficient": any(helps), "missing": ""}


def _write(request: Request, scenario: Scenario, _seen: Sequence[str]) -> str:
    """The first sentence of the first strip that helps, with its number; of plain text, no number."""
    is_ours = bool(request.blocks("strip"))
    for number, block in enumerate(request.blocks("strip") if is_ours else [request.prompt], start=1):
        first = _SENTENCE.search(block.partition("\n")[2])
        if _helps(block, scenario) and first:
            return f"{first[0]} [{number}]" if is_ours else first[0]
    return NO_ANSWER if is_ours else DOES_NOT_KNOW


def _is_supported(scenario: Scenario, seen: Sequence[str]) -> bool:
    return seen.count("write") > scenario.unsupported


def _helps(text: str, scenario: Scenario) -> bool:
    return scenario.relevant.casefold() in text.casefold()


REPLIES: Mapping[str, Callable[[Request, Scenario, Sequence[str]], Mapping[str, Any] | str]] = {
    "plan": _plan,
    "grade": _grade,
    "write": _write,
    "grounding": lambda request, scenario, seen: {
        "unsupported": []
        if _is_supported(scenario, seen)
        else list(range(1, len(request.blocks("sentence")) + 1))
    },
    "usefulness": lambda _request, _scenario, _seen: {"useful": True},
    "router": lambda _request, _scenario, _seen: {"datasource": "documents"},
    "relevance": lambda request, scenario, _seen: {"is_relevant": _helps(request.prompt, scenario)},
    "rewrite": lambda request, _scenario, _seen: request.prompt,
    "support": lambda _request, scenario, seen: {"is_supported": _is_supported(scenario, seen)},
    "resolution": lambda request, _scenario, _seen: {"is_resolved": DOES_NOT_KNOW not in request.prompt},
}


def _text(content: Mapping[str, Any]) -> str:
    return "\n".join(part["text"] for part in content.get("parts", ()))


# The server


class _Server:
    """The scenario in force, and the calls since it was set."""

    def __init__(self) -> None:
        self._set(Scenario())

    def _set(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._steps: list[str] = []
        self._seen: list[Seen] = []
        self._dice = random.Random(scenario.seed)

    async def begin(self, request: web.Request) -> web.Response:
        from aiohttp import web

        given = await request.json()
        self._set(Scenario(**{**given, "queries": tuple(given["queries"])}))
        return web.json_response({})

    async def calls(self, _request: web.Request) -> web.Response:
        from aiohttp import web

        return web.json_response([asdict(seen) for seen in self._seen])

    async def generate(self, request: web.Request) -> web.Response:
        from aiohttp import web

        asked, scenario, started = Request.of(await request.json()), self._scenario, time.monotonic()
        text = reply_to(asked, scenario, tuple(self._steps))
        self._steps.append(asked.step)
        try:
            await asyncio.sleep(scenario.latency * math.exp(self._dice.gauss(0, scenario.spread)))
        finally:
            self._seen.append(Seen(step=asked.step, started=started, ended=time.monotonic()))
        return web.json_response(_candidates(text, asked))


def _candidates(text: str, asked: Request) -> dict[str, Any]:
    """The reply's body, with usage in tokens of about four characters."""
    sent, made = (len(asked.system) + len(asked.prompt)) // 4, max(1, len(text) // 4)
    content = {"role": "model", "parts": [{"text": text}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": sent,
            "candidatesTokenCount": made,
            "totalTokenCount": sent + made,
        },
        "modelVersion": "local",
    }


async def _serve() -> None:
    from aiohttp import web

    server = _Server()
    app = web.Application(client_max_size=BODY_LIMIT)
    app.router.add_post("/scenario", server.begin)
    app.router.add_get("/calls", server.calls)
    app.router.add_post("/{path:.*:generateContent}", server.generate)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print("http://{}:{}".format(*runner.addresses[0][:2]), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


# Whoever measures with it


@value
class LocalModel:
    """The server from the outside."""

    base_url: str

    async def begin(self, scenario: Scenario) -> None:
        """From now on it replies so, and counts from nothing."""
        await self._ask("POST", "/scenario", asdict(scenario))

    async def calls(self) -> tuple[Seen, ...]:
        """The calls since then that have ended."""
        return tuple(Seen(**seen) for seen in await self._ask("GET", "/calls"))

    async def _ask(self, method: str, path: str, body: Any = None) -> Any:
        import aiohttp

        async with (
            aiohttp.ClientSession(raise_for_status=True) as session,
            session.request(method, self.base_url + path, json=body) as reply,
        ):
            return await reply.json()


@asynccontextmanager
async def local_model() -> AsyncIterator[LocalModel]:
    """A server of our own, stopped in the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.model_server",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT / "tests",
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield LocalModel(base_url=(await process.stdout.readline()).decode().strip())
    finally:
        process.stdin.close()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(_serve())
