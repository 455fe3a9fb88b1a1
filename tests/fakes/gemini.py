"""A local server that speaks Gemini's protocol, so that the real client can be tested against it.

It checks every request as strictly as the real service would, recognises which of our steps is
asking by the reply schema, and answers sensibly unless told otherwise::

    async with FakeGemini() as gemini:
        gemini.queue("grade", Status(500), {"passages": [], "sufficient": False, "missing": ""})
        ...ask through gemini.base_url with gemini.api_key...
        assert gemini.steps == ["grade", "grade"] and not gemini.rejected
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
import re
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from aiohttp import web

Step = Literal["plan", "grade", "write", "grounding", "confirm", "usefulness", "compare"]

STEP_OF_PROPERTY: dict[str, Step] = {
    "route": "plan",
    "sufficient": "grade",
    "unsupported": "grounding",
    "unstated": "confirm",
    "useful": "usefulness",
    "contradict": "compare",
}
KIND_VERDICTS = {
    "grounding": {"unsupported": []},
    "confirm": {"unstated": []},
    "usefulness": {"useful": True},
    "compare": {"contradict": [], "scope": []},
}
GENERATION_CONFIG = {
    "candidateCount", "maxOutputTokens", "responseJsonSchema", "responseMimeType", "responseSchema",
    "stopSequences", "temperature", "thinkingConfig", "topK", "topP",
}  # fmt: skip
EMBEDDING_SIZE = 768  # numbers of one vector, unless the request asks for another size
TOKENS_A_CHUNK = 6  # of a streamed reply

#: Where several share the server, the address of each ends in a name of its own.
_PATH = re.compile(r"(?:/(?P<client>[\w-]+))?/v1(?:beta)?/models/(?P<model>[a-z0-9.-]+):(?P<method>\w+)")
_BLOCK = re.compile(r"<<([0-9a-f]{6}) (?P<label>[^>\n]+)>>\n(?P<text>.*?)\n<<\1 end>>", re.DOTALL)


@dataclass(frozen=True)
class Status:
    """An error reply, with Google's error body."""

    code: int
    retry_delay: str = ""  #: as in google.rpc.RetryInfo: "2s"
    retry_after: str = ""  #: the HTTP header
    reason: str = ""  #: as in google.rpc.ErrorInfo: "API_KEY_INVALID"


@dataclass(frozen=True)
class Finish:
    """A reply that ended for another reason than being done."""

    reason: str
    text: str = ""


@dataclass(frozen=True)
class Blocked:
    """The prompt was blocked: no candidate, only feedback."""

    reason: str = "SAFETY"


@dataclass(frozen=True)
class Body:
    """A reply of status 200 with any body."""

    text: str
    content_type: str = "application/json"


@dataclass(frozen=True)
class Hang:
    """No reply until the test releases it (``gemini.released``)."""


@dataclass(frozen=True)
class Cut:
    """The connection breaks in the middle of the reply, or before it."""

    before_headers: bool = False


@dataclass(frozen=True)
class Paused:
    """A streamed answer that stops in the middle until the test lets it go on."""

    text: str
    at: int  #: characters; no part that reaches beyond is sent before
    goes_on: asyncio.Event


@dataclass(frozen=True)
class Drip:
    """A reply that begins, and goes on in blanks until the test releases it."""

    every: float = 0.05  #: seconds


@dataclass(frozen=True)
class Joined:
    """The default reply, once so many calls have arrived in all: calls that do not run side by side hang."""

    calls: int


Answer = dict[str, Any] | str | Status | Finish | Blocked | Body | Hang | Cut | Drip | Paused | Joined


@dataclass
class Call:
    """One request as the server saw it."""

    step: Step
    model: str
    body: dict[str, Any]
    started: float  #: monotonic seconds
    ended: float = math.inf
    client: str = ""  #: who asks, where several share the server

    @property
    def system(self) -> str:
        return "\n".join(part["text"] for part in self.body["systemInstruction"]["parts"])

    @property
    def prompt(self) -> str:
        return "\n".join(part["text"] for content in self.body["contents"] for part in content["parts"])

    @property
    def turns(self) -> list[tuple[str, str]]:
        """(role, text) of what the conversation with the model holds, in order."""
        contents = self.body["contents"]
        return [(c["role"], "\n".join(part["text"] for part in c["parts"])) for c in contents]

    @property
    def config(self) -> dict[str, Any]:
        return self.body.get("generationConfig", {})

    @property
    def schema(self) -> dict[str, Any]:
        """Of the reply; empty where plain text is asked for."""
        return schema_of(self.body)

    def blocks(self, label: str) -> list[str]:
        """The quoted texts whose label begins so, in order."""
        return [
            found["text"] for found in _BLOCK.finditer(self.prompt) if found["label"].split(" ")[0] == label
        ]


def round_trips(calls) -> int:
    """The longest chain of calls of which each was ``started`` after the one before had ``ended``."""
    chains: list[tuple[float, int]] = []
    for call in sorted(calls, key=lambda call: call.started):
        before = max((length for ended, length in chains if ended <= call.started), default=0)
        chains.append((call.ended, before + 1))
    return max((length for _, length in chains), default=0)


@dataclass
class FakeGemini:
    """Calls, faults and counts of one test."""

    #: None: the default reply. It may be awaited, as one that somebody is yet to write.
    reply: Callable[[Step, Call], Answer | Awaitable[Answer] | None] = lambda _step, _call: None
    api_key: str = "test-key"
    latency: float = 0.0  #: seconds that a reply takes, so that calls can overlap
    tokens_per_second: float = 0.0  #: at which an answer is written, in place of the latency; 0: at once
    calls: list[Call] = field(default_factory=list)
    embedded: list[str] = field(default_factory=list)  #: every text that was embedded
    rejected: list[str] = field(default_factory=list)  #: why requests were not well formed
    base_url: str = ""
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._queued: dict[str, deque[Answer]] = defaultdict(deque)
        self._arrived = asyncio.Condition()

    def queue(self, step: Step, *answers: Answer) -> None:
        """The next answers to a step; after them the default ones again."""
        self._queued[step].extend(answers)

    @property
    def steps(self) -> list[Step]:
        return [call.step for call in self.calls]

    @property
    def round_trips(self) -> int:
        return round_trips(self.calls)

    async def until_calls(self, count: int) -> None:
        """Returns when so many calls have arrived."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.calls) >= count)

    async def until_step(self, step: Step) -> None:
        """Returns when a call of this step has arrived, whatever runs beside it."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: step in self.steps)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_post("/{path:.*}", self._serve)
        # A client that goes away ends its call: round trips are counted from what was seen here.
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.base_url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self.released.set()
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        found = _PATH.fullmatch(request.path)
        methods = {
            "generateContent": self._generate,
            "streamGenerateContent": self._generate,
            "embedContent": self._embed_one,
            "batchEmbedContents": self._embed_many,
        }
        if found is None or found["method"] not in methods:
            return self._reject(f"no such method: {request.path}", 404)
        if request.headers.get("x-goog-api-key") != self.api_key:
            return self._reject("API key not valid.", 400, reason="API_KEY_INVALID")
        return await methods[found["method"]](request, found["model"], await request.json())

    async def _generate(self, request: web.Request, model: str, body: dict[str, Any]) -> web.StreamResponse:
        faults = faults_of(model, body)
        if faults:
            return self._reject("; ".join(faults), 400)
        client = _client_of(request)
        call = Call(step=step_of(body), model=model, body=body, started=time.monotonic(), client=client)
        self.calls.append(call)
        async with self._arrived:
            self._arrived.notify_all()
        queued = self._queued[call.step]
        answer = queued.popleft() if queued else self.reply(call.step, call)
        try:
            answer = await answer if isinstance(answer, Awaitable) else answer
            if not (self.tokens_per_second and call.step == "write"):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.released.wait(), self.latency)
            return await self._answer(request, call, default_reply(call) if answer is None else answer)
        finally:
            call.ended = time.monotonic()

    async def _answer(self, request: web.Request, call: Call, answer: Answer) -> web.StreamResponse:
        if isinstance(answer, Hang):
            await self.released.wait()
            answer = Status(503)
        if isinstance(answer, Joined):
            await self.until_calls(answer.calls)
            answer = default_reply(call)
        match answer:
            case Status():
                return _error(answer)
            case Body():
                return web.Response(text=answer.text, content_type=answer.content_type)
            case Cut():
                return await _cut(request, answer)
            case Drip():
                return await self._drip(request, answer)
        paused = answer if isinstance(answer, Paused) else None
        chunks = _chunks(call, paused.text if paused else answer)
        pause = 0.0
        if self.tokens_per_second and call.step == "write":
            pause = TOKENS_A_CHUNK / self.tokens_per_second
        if request.path.endswith(":streamGenerateContent"):
            return await _stream(request, chunks, pause, paused)
        await asyncio.sleep(pause * len(chunks))
        return web.json_response(_whole(chunks))

    async def _drip(self, request: web.Request, drip: Drip) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"candidates": [')
        while not self.released.is_set():
            await response.write(b" ")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.released.wait(), drip.every)
        return response

    async def _embed_one(
        self, _request: web.Request, _model: str, body: dict[str, Any]
    ) -> web.StreamResponse:
        return web.json_response({"embedding": {"values": self._embed(body)}})

    async def _embed_many(
        self, _request: web.Request, model: str, body: dict[str, Any]
    ) -> web.StreamResponse:
        requests = body.get("requests") or []
        if not 1 <= len(requests) <= 100:
            return self._reject("a batch holds 1 to 100 texts", 400)
        if any(one.get("model") != f"models/{model}" for one in requests):
            return self._reject("a batch is for one model", 400)
        return web.json_response({"embeddings": [{"values": self._embed(one)} for one in requests]})

    def _embed(self, body: dict[str, Any]) -> list[float]:
        text = " ".join(part["text"] for part in body["content"]["parts"])
        self.embedded.append(text)
        return embedding(text, body.get("outputDimensionality") or EMBEDDING_SIZE)

    def _reject(self, why: str, code: int, reason: str = "") -> web.Response:
        self.rejected.append(why)
        return _error(Status(code, reason=reason), why)


def _client_of(request: web.Request) -> str:
    found = _PATH.fullmatch(request.path)
    return (found and found["client"]) or ""


def faults_of(model: str, body: dict[str, Any]) -> list[str]:
    """Why the real service would refuse this request."""
    contents, config = body.get("contents"), body.get("generationConfig", {})
    schema = config.get("responseJsonSchema", config.get("responseSchema"))
    parts = [part for content in contents or [] for part in content.get("parts", [{}])]
    checks = (
        (bool(contents), "contents are empty"),
        (
            set(body) <= {"contents", "systemInstruction", "generationConfig", "safetySettings"},
            f"fields {set(body)}",
        ),
        (set(config) <= GENERATION_CONFIG, f"generationConfig {set(config) - GENERATION_CONFIG}"),
        (all(content.get("role") in ("user", "model") for content in contents or []), "a role is unknown"),
        (bool(contents) and contents[-1].get("role") == "user", "the last content is not the user's"),
        (all(isinstance(part.get("text"), str) and part["text"] for part in parts), "a part has no text"),
        (schema is None or schema.get("type") == "object", "the schema is not of an object"),
        (schema is None or config.get("responseMimeType") == "application/json", "a schema needs JSON"),
        ("gemini-3" not in model or not {"temperature", "topK", "topP"} & set(config), "sampling is fixed"),
        ("gemini-3" not in model or "thinking_budget" not in config.get("thinkingConfig", {}), "no budgets"),
    )
    return [fault for is_met, fault in checks if not is_met]


def schema_of(body: dict[str, Any]) -> dict[str, Any]:
    config = body.get("generationConfig", {})
    schema: dict[str, Any] = config.get("responseJsonSchema", config.get("responseSchema")) or {}
    return schema


def step_of(body: dict[str, Any]) -> Step:
    properties = schema_of(body).get("properties", {})
    return next((STEP_OF_PROPERTY[name] for name in properties if name in STEP_OF_PROPERTY), "write")


def default_reply(call: Call) -> Answer:
    """What a well-meaning model would say: every passage helps, and the first strip answers."""
    question = (call.blocks("question") or [""])[0]
    if call.step == "plan":
        return {
            "route": "documents", "standalone": question, "queries": [], "web_query": question[:400],
            "reply": "", "options": [],
        }  # fmt: skip
    if call.step == "grade":
        numbers = range(1, len(call.blocks("passage")) + 1)
        verdicts = [{"passage": number, "relevance": "correct", "evidence": [1]} for number in numbers]
        return {"passages": verdicts, "sufficient": True, "missing": ""}
    if call.step in KIND_VERDICTS:
        return KIND_VERDICTS[call.step]
    strips = call.blocks("strip")
    if not strips:
        return "NO_ANSWER"
    _source, _, text = strips[0].partition("\n")
    first, *_ = re.split(r"(?<=[.!?])\s", text.strip())
    return f"{first} [1]"


def embedding(text: str, size: int) -> list[float]:
    """A vector in which texts that share words lie close: each word adds to a few of the numbers."""
    vector = [0.0] * size
    for word in re.findall(r"\w+", text.lower()):
        for index in hashlib.sha256(word.encode()).digest()[:4]:
            vector[(index * 31 + len(word)) % size] += 1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def _chunks(call: Call, answer: Answer) -> list[dict[str, Any]]:
    """A reply as it is streamed, a few tokens at a time."""
    if isinstance(answer, Blocked):
        return [{"promptFeedback": {"blockReason": answer.reason}}]
    text, ending = (answer.text, answer.reason) if isinstance(answer, Finish) else (answer, "STOP")
    text = text if isinstance(text, str) else json.dumps(text)
    size = 4 * TOKENS_A_CHUNK
    starts = range(0, max(len(text), 1), size)
    return [
        _candidate(
            call,
            text[start : start + size],
            min(start + size, len(text)),
            ending if start == starts[-1] else "",
        )
        for start in starts
    ]


def _candidate(call: Call, text: str, written: int, finish: str) -> dict[str, Any]:
    """One chunk of a reply, with usage as the real service counts it: of all that came by now, in tokens of about four
    characters."""
    sent, made = len(call.prompt) // 4, max(1, written // 4)
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": sent, "candidatesTokenCount": made, "totalTokenCount": sent + made}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": call.model}


def _whole(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """The same in one JSON object."""
    if "candidates" not in chunks[-1]:
        return chunks[-1]
    text = "".join(chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in chunks)
    last = chunks[-1]["candidates"][0]
    return {**chunks[-1], "candidates": [{**last, "content": {"role": "model", "parts": [{"text": text}]}}]}


async def _stream(
    request: web.Request, chunks: list[dict[str, Any]], pause: float, paused: Paused | None = None
) -> web.StreamResponse:
    """Server-sent events."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    sent = 0
    for chunk in chunks:
        await asyncio.sleep(pause)
        sent += len(chunk["candidates"][0]["content"]["parts"][0]["text"])
        if paused and sent > paused.at:
            await paused.goes_on.wait()
        await response.write(f"data: {json.dumps(chunk)}\r\n\r\n".encode())
    await response.write_eof()
    return response


async def _cut(request: web.Request, cut: Cut) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "4096"})
    if not cut.before_headers:
        await response.prepare(request)
        await response.write(b'{"candidates": [{"content": {"parts": [{"te')
    assert request.transport is not None
    request.transport.abort()
    return response


def _error(status: Status, message: str = "refused by the test") -> web.Response:
    details: list[dict[str, Any]] = []
    if status.retry_delay:
        details.append(
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": status.retry_delay}
        )
    if status.reason:
        details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": status.reason})
    names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
    name = names.get(status.code, "RESOURCE_EXHAUSTED" if status.code == 429 else "UNAVAILABLE")
    error = {"code": status.code, "message": message, "status": name, "details": details}
    headers = {"Retry-After": status.retry_after} if status.retry_after else {}
    return web.json_response({"error": error}, status=status.code, headers=headers)
