"""A local model in a process of its own, so that its work is not counted as ours.

It is the tests' server of Gemini's protocol; its replies follow from the :class:`Scenario` that was set
last. Besides the steps of our graph it knows those of the published ones, by the schemas of their replies.
``python -m benchmarks.model_server`` reads commands from standard input, one JSON object a line, and ends
when that ends.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

from fakes.gemini import Call, FakeGemini, Step

from benchmarks import ROOT
from core.conversation import value
from core.reasoning.instructions import NO_ANSWER

API_KEY = "local"
REWORD = "Reword"  # how a rewriter's instructions begin: its reply is plain text, as a writer's is
DOES_NOT_KNOW = "I don't know."
LINE_LIMIT = 64 * 1024**2  # bytes of the longest line, which lists all calls

#: Steps of the published graphs, by the one property of the reply's schema.
PUBLISHED_STEPS: Mapping[str, str] = {
    "datasource": "router",
    "is_relevant": "relevance",
    "is_supported": "support",
    "is_resolved": "resolution",
}

_SENTENCE = re.compile(r"\S.*?[.!?](?=\s|$)", re.DOTALL)


@value
class Scenario:
    """What the model finds, and how long it takes."""

    relevant: str = ""  #: a text helps when it holds this word; empty: every text helps
    queries: tuple[str, ...] = ()  #: further searches that a plan names
    web_query: str = "public words"
    unsupported: int = 0  #: so many drafts are found unsupported, by every check, before one is not
    latency: float = 0.0  #: seconds of one reply; their median where they are spread
    spread: float = 0.0  #: standard deviation of the logarithm of a reply's time
    seed: int = 0


@value
class TimedCall:
    step: str
    started: float  #: seconds on the server's clock
    ended: float


# Replies


def step_of(call: Call) -> str:
    if call.step != "write":
        return call.step
    plain = "rewrite" if call.system.startswith(REWORD) else "write"
    return next((PUBLISHED_STEPS[name] for name in call.schema.get("properties", {})), plain)


def reply_to(call: Call, scenario: Scenario, drafts: int = 1) -> dict[str, Any] | str:
    """The model's reply; ``drafts`` is how many were written before."""
    return REPLIES[step_of(call)](call, scenario, drafts)


def _plan(call: Call, scenario: Scenario, _drafts: int) -> dict[str, Any]:
    return {
        "route": "documents", "standalone": call.blocks("question")[0], "queries": list(scenario.queries),
        "web_query": scenario.web_query, "reply": "", "options": [],
    }  # fmt: skip


def _grade(call: Call, scenario: Scenario, _drafts: int) -> dict[str, Any]:
    helps = [_helps(text, scenario) for text in call.blocks("passage")]
    verdicts = [
        {"passage": n, "relevance": "correct" if good else "incorrect", "evidence": [1] if good else []}
        for n, good in enumerate(helps, start=1)
    ]
    return {"passages": verdicts, "sufficient": any(helps), "missing": ""}


def _write(call: Call, scenario: Scenario, _drafts: int) -> str:
    """The first sentence of the first strip that helps, with its number; of plain text, no number."""
    strips = call.blocks("strip")
    for number, block in enumerate(strips or [call.prompt], start=1):
        first = _SENTENCE.search(block.partition("\n")[2])
        if _helps(block, scenario) and first:
            return f"{first[0]} [{number}]" if strips else first[0]
    return NO_ANSWER if strips else DOES_NOT_KNOW


def _check(call: Call, scenario: Scenario, drafts: int) -> dict[str, Any]:
    sentences = range(1, len(call.blocks("sentence")) + 1)
    return {"unsupported": [] if drafts > scenario.unsupported else list(sentences)}


def _helps(text: str, scenario: Scenario) -> bool:
    return scenario.relevant.casefold() in text.casefold()


REPLIES: Mapping[str, Callable[[Call, Scenario, int], dict[str, Any] | str]] = {
    "plan": _plan,
    "grade": _grade,
    "write": _write,
    "grounding": _check,
    "usefulness": lambda _call, _scenario, _drafts: {"useful": True},
    "router": lambda _call, _scenario, _drafts: {"datasource": "documents"},
    "relevance": lambda call, scenario, _drafts: {"is_relevant": _helps(call.prompt, scenario)},
    "rewrite": lambda call, _scenario, _drafts: call.prompt,
    "support": lambda _call, scenario, drafts: {"is_supported": drafts > scenario.unsupported},
    "resolution": lambda call, _scenario, _drafts: {"is_resolved": DOES_NOT_KNOW not in call.prompt},
}


# The process


class ScenarioModel:
    """The scenario in force, and the calls since it was set."""

    def __init__(self) -> None:
        self.gemini = FakeGemini(reply=self.reply, api_key=API_KEY)
        self.begin(Scenario())

    def begin(self, scenario: Scenario) -> None:
        self._scenario, self._drafts, self._dice = scenario, 0, random.Random(scenario.seed)
        self.calls: list[TimedCall] = []

    async def reply(self, _step: Step, call: Call) -> dict[str, Any] | str:
        self.gemini.calls.clear()  # a long run would fill the memory with what was asked
        scenario, calls, step = self._scenario, self.calls, step_of(call)
        text = reply_to(call, scenario, self._drafts)
        self._drafts += step == "write"
        try:
            await asyncio.sleep(scenario.latency * math.exp(self._dice.gauss(0, scenario.spread)))
        finally:
            calls.append(TimedCall(step=step, started=call.started, ended=time.monotonic()))
        return text

    def obey(self, command: str) -> str:
        """A line of standard input, and the line of standard output that answers it."""
        if given := json.loads(command):
            self.begin(Scenario(**given))
            return "{}"
        assert not self.gemini.rejected, self.gemini.rejected
        return json.dumps([asdict(call) for call in self.calls])


async def _serve() -> None:
    model = ScenarioModel()
    async with model.gemini as gemini:
        print(gemini.base_url, flush=True)
        while command := await asyncio.to_thread(sys.stdin.readline):
            print(model.obey(command), flush=True)


# The other side


@value
class LocalModel:
    """The model as those who measure with it see it."""

    base_url: str
    process: asyncio.subprocess.Process

    async def begin(self, scenario: Scenario) -> None:
        """From now on it replies so, and counts from nothing."""
        await self._ask(asdict(scenario))

    async def calls(self) -> tuple[TimedCall, ...]:
        """The calls since then that have ended."""
        return tuple(TimedCall(**call) for call in await self._ask({}))

    async def _ask(self, command: dict[str, Any]) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        return json.loads(await self.process.stdout.readline())


@asynccontextmanager
async def local_model() -> AsyncIterator[LocalModel]:
    """A process of our own, stopped in the end."""
    pipe = subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.model_server",
        stdin=pipe, stdout=pipe, limit=LINE_LIMIT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield LocalModel(base_url=(await process.stdout.readline()).decode().strip(), process=process)
    finally:
        process.stdin.close()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(_serve())
