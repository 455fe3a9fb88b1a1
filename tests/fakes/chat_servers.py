"""Local servers that speak the protocols of OpenAI, Anthropic and Ollama, so that the real clients can be tested.

Each checks a request as strictly as the service does, recognises by the reply's schema which of our steps is asking,
and answers as :mod:`fakes.gemini` does unless told otherwise.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web
from fakes.gemini import STEP_OF_PROPERTY, Cut, Hang, Status, Step, default_reply

_BLOCK = re.compile(r"<<([0-9a-f]{6}) (?P<label>[^>\n]+)>>\n(?P<text>.*?)\n<<\1 end>>", re.DOTALL)


@dataclass(frozen=True)
class TooLong:
    """A reply that ended because it had as many tokens as it may have."""

    text: str = '{"unfinished": ['


@dataclass(frozen=True)
class Broken:
    """A stream that ends, in order, before the reply does: somebody between the two went away."""

    text: str


@dataclass(frozen=True)
class Refusal:
    """A reply that the model refused."""

    text: str = "I cannot help with that."


Answer = dict[str, Any] | str | Status | Cut | Hang | TooLong | Broken | Refusal


@dataclass(frozen=True)
class Call:
    """One request as the server saw it."""

    body: dict[str, Any]
    prompt: str  #: all that the model is told
    schema: dict[str, Any]  #: of the reply; empty where plain text is asked for

    @property
    def step(self) -> Step:
        properties = self.schema.get("properties", {})
        return next((STEP_OF_PROPERTY[name] for name in properties if name in STEP_OF_PROPERTY), "write")

    def blocks(self, label: str) -> list[str]:
        """The quoted texts whose label begins so, in order."""
        return [
            found["text"] for found in _BLOCK.finditer(self.prompt) if found["label"].split(" ")[0] == label
        ]


@dataclass
class Reply:
    """What the model says, before it is put into a protocol's words."""

    call: Call
    text: str
    ending: str  #: stop, too_long or refusal

    @property
    def tokens(self) -> tuple[int, int]:
        """Read and written, of about four characters."""
        return len(self.call.prompt) // 4, max(1, len(self.text) // 4)


@dataclass
class ChatServer:
    """What the three have in common: what is asked, what is answered, and how a fault looks on the wire."""

    reply: Callable[[Call], Answer | None] = lambda _call: None  #: None: the default reply
    api_key: str = "test-key"
    calls: list[Call] = field(default_factory=list)
    tokens: list[tuple[int, int]] = field(default_factory=list)  #: told with each reply: read, written
    rejected: list[str] = field(default_factory=list)  #: why requests were not well formed
    speed: tuple[float, float] | None = None  #: tokens a second, read and written, that it says it needed
    base_url: str = ""
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._queued: dict[str, deque[Answer]] = defaultdict(deque)

    def queue(self, step: Step, *answers: Answer) -> None:
        self._queued[step].extend(answers)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_post("/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.base_url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self.released.set()
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if not self.is_known(request):
            return self.error(Status(401), "the key is not valid")
        body = await request.json()
        if faults := [*self.faults_of(request.path, body)]:
            self.rejected.extend(faults)
            return self.error(Status(404 if "path" in faults[0] else 400), "; ".join(faults))
        call = self.read(body)
        self.calls.append(call)
        queued = self._queued[call.step]
        answer = queued.popleft() if queued else self.reply(call)
        match default_reply(call) if answer is None else answer:
            case Status() as status:
                return self.error(status, "refused by the test")
            case Hang():
                await self.released.wait()
                return self.error(Status(503), "released")
            case Cut():
                return await _cut(request)
            case TooLong(text=text):
                reply = Reply(call, text, "too_long")
            case Broken(text=text):
                reply = Reply(call, text, "broken")
            case Refusal(text=text):
                reply = Reply(call, text, "refusal")
            case str() as text:
                reply = Reply(call, text, "stop")
            case value:
                reply = Reply(call, json.dumps(value), "stop")
        self.tokens.append(reply.tokens)
        return self.write(request.path, reply)

    def is_known(self, request: web.Request) -> bool:
        raise NotImplementedError

    def faults_of(self, path: str, body: dict[str, Any]) -> Iterator[str]:
        raise NotImplementedError

    def read(self, body: dict[str, Any]) -> Call:
        raise NotImplementedError

    def write(self, path: str, reply: Reply) -> web.StreamResponse:
        raise NotImplementedError

    def error(self, status: Status, message: str) -> web.Response:
        raise NotImplementedError


class FakeOpenAI(ChatServer):
    """Chat Completions and Responses."""

    def is_known(self, request: web.Request) -> bool:
        return request.headers.get("Authorization") == f"Bearer {self.api_key}"

    def faults_of(self, path: str, body: dict[str, Any]) -> Iterator[str]:
        if path == "/v1/responses":
            messages, schema = body.get("input"), body.get("text", {}).get("format", {})
            known = {"model", "input", "text", "max_output_tokens", "stream"}
        elif path == "/v1/chat/completions":
            messages = body.get("messages")
            schema = body.get("response_format", {}).get("json_schema", {})
            known = {
                "model",
                "messages",
                "response_format",
                "max_completion_tokens",
                "stream",
                "stream_options",
            }
        else:
            yield f"no such path: {path}"
            return
        yield from (f"unknown parameter: {name}" for name in body.keys() - known)
        yield from _faults_of_messages(messages, ("system", "user", "assistant"))
        if schema:
            yield from _faults_of_strict(schema.get("schema", {}), is_strict=schema.get("strict"))

    def read(self, body: dict[str, Any]) -> Call:
        messages = body.get("messages") or body["input"]
        told = body.get("response_format", {}).get("json_schema") or body.get("text", {}).get("format", {})
        return Call(body=body, prompt=_text_of(messages), schema=told.get("schema", {}))

    def write(self, path: str, reply: Reply) -> web.StreamResponse:
        if path == "/v1/responses":
            return self._write_response(reply)
        is_refused = reply.ending == "refusal"
        message = {
            "role": "assistant",
            "content": None if is_refused else reply.text,
            "refusal": reply.text if is_refused else None,
        }
        read, written = reply.tokens
        ending = "length" if reply.ending == "too_long" else "stop"
        if reply.call.body.get("stream"):
            return _events(self._chunks(reply, "refusal" if is_refused else "content", ending))
        return web.json_response({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": reply.call.body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": ending, "logprobs": None}],
            "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
        })  # fmt: skip

    def _chunks(self, reply: Reply, kind: str, ending: str) -> Iterator[tuple[str, Any]]:
        """“Streaming events” of Chat Completions; the tokens only where they are asked for."""
        head = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": reply.call.body["model"],
        }
        for text in _halves(reply.text):
            delta = {"role": "assistant", kind: text}
            yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        if reply.ending == "broken":
            return
        yield "", {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": ending}]}
        read, written = reply.tokens
        if reply.call.body.get("stream_options", {}).get("include_usage"):
            usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
            yield "", {**head, "choices": [], "usage": usage}
        yield "", "[DONE]"

    def _write_response(self, reply: Reply) -> web.StreamResponse:
        is_cut = reply.ending == "too_long"
        content = (
            {"type": "refusal", "refusal": reply.text}
            if reply.ending == "refusal"
            else {"type": "output_text", "text": reply.text, "annotations": []}
        )
        status = "incomplete" if is_cut else "completed"
        read, written = reply.tokens
        whole = {
            "id": "resp_1", "object": "response", "created_at": 1, "model": reply.call.body["model"],
            "status": status, "error": None, "instructions": None, "metadata": {}, "tools": [],
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "parallel_tool_calls": True, "tool_choice": "auto", "temperature": None, "top_p": None,
            "output": [
                {"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": [content]}
            ],
            "usage": {
                "input_tokens": read, "output_tokens": written, "total_tokens": read + written,
                "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
            },
        }  # fmt: skip
        if reply.call.body.get("stream"):
            events = [*_response_events(whole, content, "incomplete" if is_cut else "completed")]
            return _events(events[:-1] if reply.ending == "broken" else events)
        return web.json_response(whole)

    def error(self, status: Status, message: str) -> web.Response:
        error = {"message": message, "type": "error", "param": None, "code": None}
        return web.json_response({"error": error}, status=status.code, headers=_headers(status))


class FakeAnthropic(ChatServer):
    """Messages, with structured outputs."""

    def is_known(self, request: web.Request) -> bool:
        told = request.headers.get("Authorization", "").removeprefix("Bearer ")
        key = request.headers.get("x-api-key", told)  # its client sends it either way, by its version
        return key == self.api_key and "anthropic-version" in request.headers

    def faults_of(self, path: str, body: dict[str, Any]) -> Iterator[str]:
        if path != "/v1/messages":
            yield f"no such path: {path}"
            return
        known = {"model", "max_tokens", "messages", "system", "output_config", "stream"}
        yield from (f"{name}: Extra inputs are not permitted" for name in body.keys() - known)
        if not isinstance(body.get("max_tokens"), int):
            yield "max_tokens: Field required"
        yield from _faults_of_messages(body.get("messages"), ("user", "assistant"))
        if "output_config" in body:
            told = body["output_config"]["format"]
            yield from _faults_of_strict(told["schema"], is_strict=told["type"] == "json_schema")

    def read(self, body: dict[str, Any]) -> Call:
        schema = body.get("output_config", {}).get("format", {}).get("schema", {})
        system = {"role": "system", "content": body.get("system", "")}
        return Call(body=body, prompt=_text_of([system, *body["messages"]]), schema=schema)

    def write(self, path: str, reply: Reply) -> web.StreamResponse:
        content = {"type": "text", "text": reply.text}
        ending = {"too_long": "max_tokens", "refusal": "refusal"}.get(reply.ending, "end_turn")
        read, written = reply.tokens
        if reply.call.body.get("stream"):
            return _events(self._stream(reply, ending))
        return web.json_response({
            "id": "msg_1", "type": "message", "role": "assistant", "model": reply.call.body["model"],
            "content": [content], "stop_reason": ending, "stop_sequence": None,
            "usage": {"input_tokens": read, "output_tokens": written},
        })  # fmt: skip

    def error(self, status: Status, message: str) -> web.Response:
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
        error = {"type": kinds.get(status.code, "api_error"), "message": message}
        return web.json_response(
            {"type": "error", "error": error}, status=status.code, headers=_headers(status)
        )

    def _stream(self, reply: Reply, ending: str) -> Iterator[tuple[str, Any]]:
        """“Streaming messages”."""
        read, written = reply.tokens
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": reply.call.body["model"], "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": read, "output_tokens": 0},
        }  # fmt: skip
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
                for text in _halves(reply.text)
            ),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": ending, "stop_sequence": None},
             "usage": {"input_tokens": read, "output_tokens": written}},
            {"type": "message_stop"},
        ]  # fmt: skip
        for event in events[:-2] if reply.ending == "broken" else events:
            yield event["type"], event


class FakeOllama(ChatServer):
    """Chat, in lines of JSON; a key is asked for where a proxy stands before it."""

    def is_known(self, request: web.Request) -> bool:
        return self.api_key == "test-key"

    def faults_of(self, path: str, body: dict[str, Any]) -> Iterator[str]:
        if path != "/api/chat":
            yield f"no such path: {path}"
            return
        known = {"model", "messages", "stream", "format", "options", "think", "tools", "keep_alive"}
        yield from (f"unknown: {name}" for name in body.keys() - known)
        yield from _faults_of_messages(body.get("messages"), ("system", "user", "assistant"))
        room = 4 * (body.get("options", {}).get("num_ctx", 4_096) - body.get("options", {})["num_predict"])
        if room < len(_text_of(body.get("messages", []))):
            yield "the prompt is cut off to fit the context"  # which the real one does without a word

    def read(self, body: dict[str, Any]) -> Call:
        return Call(body=body, prompt=_text_of(body["messages"]), schema=body.get("format") or {})

    def write(self, path: str, reply: Reply) -> web.StreamResponse:
        head = {"model": reply.call.body["model"], "created_at": "2026-03-01T12:00:00Z"}
        read, written = reply.tokens
        half = len(reply.text) // 2
        parts = [
            {**head, "message": {"role": "assistant", "content": text}, "done": False}
            for text in (reply.text[:half], reply.text[half:])
        ]
        end = {
            **head, "message": {"role": "assistant", "content": ""}, "done": True,
            "done_reason": "length" if reply.ending == "too_long" else "stop",
            "prompt_eval_count": read, "eval_count": written,
        }  # fmt: skip
        if self.speed:
            end["prompt_eval_duration"] = int(read / self.speed[0] * 1e9)
            end["eval_duration"] = int(written / self.speed[1] * 1e9)
        lines = parts if reply.call.body.get("stream", True) else []
        if not lines:
            end["message"] = {"role": "assistant", "content": reply.text}
        text = "".join(
            f"{json.dumps(line)}\n" for line in (lines if reply.ending == "broken" else [*lines, end])
        )
        return web.Response(text=text, content_type="application/x-ndjson")

    def error(self, status: Status, message: str) -> web.Response:
        return web.json_response({"error": message}, status=status.code, headers=_headers(status))


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _events(events: Iterable[tuple[str, Any]]) -> web.Response:
    """Server-sent events."""
    lines = (
        f"{f'event: {name}' + chr(10) if name else ''}data: {data if isinstance(data, str) else json.dumps(data)}"
        for name, data in events
    )
    return web.Response(text="".join(f"{line}\n\n" for line in lines), content_type="text/event-stream")


def _response_events(
    whole: dict[str, Any], content: dict[str, Any], status: str
) -> Iterator[tuple[str, Any]]:
    """“Streaming events” of OpenAI's Responses."""
    kind = "refusal" if content["type"] == "refusal" else "output_text"
    text = content["refusal"] if kind == "refusal" else content["text"]
    empty = {**content, "text" if kind == "output_text" else "refusal": ""}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    ended = whole["output"][0]
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **place, "part": empty},
        *(
            {"type": f"response.{kind}.delta", **place, "delta": part, "logprobs": []}
            for part in _halves(text)
        ),
        {"type": f"response.{kind}.done", **place, kind.removeprefix("output_"): text, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": content},
        {"type": "response.output_item.done", "output_index": 0, "item": ended},
        {"type": f"response.{status}", "response": whole},
    ]
    for number, event in enumerate(events):
        yield event["type"], {**event, "sequence_number": number}


def _faults_of_messages(messages: Any, roles: tuple[str, ...]) -> Iterator[str]:
    if not messages:
        yield "messages are empty"
        return
    for message in messages:
        if message.get("role") not in roles:
            yield f"unknown role: {message.get('role')}"
        if not _text_of([message]).strip():
            yield "a message has no text"


def _faults_of_strict(schema: dict[str, Any], *, is_strict: bool | None) -> Iterator[str]:
    """OpenAI "Structured Outputs": every object names all its fields as required and allows no others."""
    if not is_strict:
        yield "a schema is not strict"
    waiting = [schema, *schema.get("$defs", {}).values()]
    for each in waiting:
        if each.get("type") == "object" and (
            each.get("additionalProperties") is not False
            or set(each.get("required", ())) != set(each.get("properties", {}))
        ):
            yield "in a strict schema every field is required and no other allowed"
        if "default" in each:
            yield "a strict schema has no defaults"
        waiting.extend(each.get("properties", {}).values())
        if "items" in each:
            waiting.append(each["items"])


def _text_of(messages: list[dict[str, Any]]) -> str:
    contents = [message.get("content") or "" for message in messages]
    return "\n".join(
        content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
        for content in contents
    )


def _headers(status: Status) -> dict[str, str]:
    return {"Retry-After": status.retry_after} if status.retry_after else {}


async def _cut(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "4096"})
    await response.prepare(request)
    await response.write(b'{"choices": [{"message": {"con')
    assert request.transport is not None
    request.transport.abort()
    return response
