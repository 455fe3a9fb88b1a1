"""One turn's calls to its models: their form, budget, time, second tries and cost."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.output_parsers import BaseLLMOutputParser, JsonOutputParser, PydanticOutputParser
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import RunnableBinding
from langsmith import tracing_context

from core.conversation import ModelExchange, Usage, value
from core.priority import waiting
from core.reasoning import faults, prompts
from core.reasoning.faults import CallFailed, Fault
from core.reasoning.limits import Budget, Circuit, Prices, Spender, with_tokens
from core.reasoning.pace import Pace
from core.reasoning.prompts import Messages
from core.reasoning.replies import Reply

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage


logger = logging.getLogger(__name__)

Value = TypeVar("Value")
Send = Callable[[Messages], Awaitable[Any]]  # asks the model

TRACING = "ls_structured_output_format"  # an argument for LangSmith that is built at every call
#: Classes that have the model call a tool with its reply, unless they are told otherwise; some models cannot be made to.
WITH_TOOLS = frozenset({"ChatAnthropic"})
OBJECTS_TRIED = 30  # offsets in a reply at which the object may begin
DECODER = json.JSONDecoder(strict=False)  # a model may leave line breaks in a string as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on what one turn may ask of its models, second tries included."""

    calls: int = 20  #: the worst turn: two hops, a rewrite, every check, and 4 for the first sentences
    round_trips: int = 13  #: calls one after another; parallel ones are one
    pause: float = 0.4  #: seconds before a second try, up to half as much again
    longest_pause: float = 5.0  #: seconds; a provider that asks for more is busy


class BodyCloser(AsyncCallbackHandler):
    """Closes the body of a failed reply. With aiohttp, LangChain gets a coroutine here that it never awaits, and
    Python would warn on standard error."""

    async def on_llm_error(
        self, error: BaseException, *, response: LLMResult | None = None, **_: Any  # noqa: ARG002 - by name
    ) -> None:  # fmt: skip
        for generation in chain.from_iterable(response.generations if response else ()):
            if isinstance(generation, ChatGeneration):
                body = generation.message.response_metadata.get("body")
                if inspect.iscoroutine(body):
                    body.close()


#: Of every call: without callbacks of the caller, so that nothing is traced or streamed.
CALL_CONFIG = RunnableConfig(callbacks=[BodyCloser()])


@value
class StructuredReply:
    """A model's message and what was parsed from it."""

    raw: Any  #: LangChain's message
    parsed: Any  #: of the schema; None where it could not be parsed
    trouble: BaseException | None  #: why not


class StreamedModel:
    """A chat model whose reply can be followed while it is written, where its server streams."""

    def __init__(self, model: BaseChatModel) -> None:
        self.model = model
        self._streams = True

    async def ask(self, messages: Messages, follow: Callable[[str], None] | None = None) -> BaseMessage:
        """``follow`` gets the text so far, at the ends of its lines and footnotes. Raises what the model's client
        raises."""
        chunks: list[Any] = []
        text = ""
        if follow is not None and self._streams:
            try:
                async for chunk in self.model.astream(list(messages), config=CALL_CONFIG):
                    chunks.append(chunk)
                    text += chunk.text
                    if "]" in chunk.text or "\n" in chunk.text:
                        follow(text)
            except Exception as error:  # the boundary to the clients of all providers
                if chunks or faults.diagnose(error).outage:
                    raise
        streamed = chunks[0] + chunks[1:] if text else None
        if streamed is not None and faults.has_ending(streamed):
            return cast("BaseMessage", streamed)
        # It also says why there was no text. A stream that does not say how it ended may be cut anywhere.
        reply = await self.model.ainvoke(list(messages), config=CALL_CONFIG)
        self._streams = self._streams and (follow is None or (bool(chunks) and faults.has_ending(reply)))
        return reply


class StructuredModel:
    """A chat model that replies in JSON of a schema. Servers exist that take a schema and ignore it, with a
    200. The first reply in prose shows it; from then on the schema also stands in the prompt, which costs its
    tokens. LangChain's structured model is a sequence: the model with a schema, then a parser. They run here
    one after the other, because the raw reply is needed too, for its ending and its tokens. LangChain's own
    way to keep it (``include_raw``), built at every call, took longer than the rest of the call."""

    def __init__(self, model: BaseChatModel) -> None:
        self.model = model
        self.tells_schema = False
        self._asks: dict[type[Reply], Callable[[Messages], Awaitable[StructuredReply]]] = {}

    async def ask(self, shape: type[Reply], messages: Messages) -> StructuredReply:
        """Raises what the model's client raises."""
        if shape not in self._asks:
            self._asks[shape] = _ask_for(self.model, shape)
        if self.tells_schema:
            messages = prompts.with_schema(messages, shape.model_json_schema())
        reply = await self._asks[shape](messages)
        said = reply_text(reply).lstrip()
        is_prose = bool(said) and not said.startswith("{")  # else it was cut short
        self.tells_schema |= reply.parsed is None and is_prose
        return reply


def _ask_for(model: BaseChatModel, shape: type[Reply]) -> Callable[[Messages], Awaitable[StructuredReply]]:
    how: dict[str, Any] = {"method": "json_schema"} if type(model).__name__ in WITH_TOOLS else {}
    steps = getattr(model.with_structured_output(shape, **how), "steps", None)
    given = getattr(steps[0], "kwargs", {}).get("response_format") if isinstance(steps, list) else None
    if isinstance(given, type):
        # OpenAI's client reads a reply itself where it is given a class, and raises for what does not fit: its text
        # and its tokens would be lost. Given JSON, it leaves the reply to us.
        as_json = model.with_structured_output(shape.model_json_schema(), method="json_schema", strict=True)
        steps = getattr(as_json, "steps", None)
    match steps:
        case [asked, PydanticOutputParser() | JsonOutputParser()]:
            return partial(_ask_and_parse, _without_tracing(asked), partial(_parse_json, shape))
        case [asked, BaseLLMOutputParser() as parser]:
            return partial(
                _ask_and_parse, _without_tracing(asked), lambda reply: parser.parse_result([reply])
            )
    return partial(_ask_whole, model.with_structured_output(shape, include_raw=True))


async def _ask_and_parse(
    model: Runnable[Any, Any], parse: Callable[[ChatGeneration], Any], messages: Messages
) -> StructuredReply:
    raw = await model.ainvoke(list(messages), config=CALL_CONFIG)
    try:
        parsed = parse(ChatGeneration(message=raw))
    except Exception as trouble:  # noqa: BLE001 - the boundary to any provider's parser; the model is asked again
        return StructuredReply(raw=raw, parsed=None, trouble=trouble)
    return StructuredReply(raw=raw, parsed=parsed, trouble=None)


def _parse_json(shape: type[Reply], reply: ChatGeneration) -> Reply:
    """The first JSON object of the shape in a reply, which may think aloud before it. LangChain's parser
    completes JSON that was cut short: it removes one character after another and parses again. 32,000
    characters of prose take it 7 seconds, and a list of faults that was cut short would pass for the whole
    list."""
    text = reply.text.strip()
    begins = [each.start() for each in islice(re.finditer(r"\{", text), OBJECTS_TRIED)] or [0]
    trouble: ValueError | None = None
    for begin in begins:
        try:
            return shape.model_validate(DECODER.raw_decode(text, begin)[0])
        except ValueError as fault:  # pydantic's are some, too
            trouble = trouble or fault
    assert trouble is not None
    raise trouble


async def _ask_whole(model: Runnable[Any, Any], messages: Messages) -> StructuredReply:
    """Ask a provider whose structured model has other parts."""
    reply = await model.ainvoke(list(messages), config=CALL_CONFIG)
    return StructuredReply(raw=reply["raw"], parsed=reply["parsed"], trouble=reply["parsing_error"])


def _without_tracing(model: Runnable[Any, Any]) -> Runnable[Any, Any]:
    if not isinstance(model, RunnableBinding):
        return model
    arguments = {name: value for name, value in model.kwargs.items() if name != TRACING}
    return model.model_copy(update={"kwargs": arguments})


def reply_text(reply: Any) -> str:
    """The words of a model's message; of one that calls a tool, what it calls it with."""
    message = reply.raw if isinstance(reply, StructuredReply) else reply
    called = [call.get("args") for call in getattr(message, "tool_calls", None) or ()]
    words = str(getattr(message, "text", "") or "")
    return words or "\n".join(json.dumps(each, ensure_ascii=False, default=str) for each in called)


@dataclass(frozen=True, slots=True)
class AskedModel:
    """The model that a call goes to."""

    name: str  #: without its provider
    circuit: Circuit
    pace: Pace = field(default_factory=Pace)


@dataclass(slots=True, kw_only=True)
class Calls:
    """The calls of one turn. A step is tried at most twice. After a lasting fault (silence, a refused key,
    still busy) every later call fails at once with the same sentence, so that a model that hangs costs one
    timeout and not six."""

    usage: Usage
    timeout: float  #: seconds for one call
    ends_at: float  #: of the monotonic clock
    limits: Limits
    allowance: Budget | None  #: the turn's part of it
    prices: Prices
    keeps_exchanges: bool
    exchanges: list[ModelExchange] = field(default_factory=list)  #: in the order in which they ended, if kept
    _unpaid: int = 0  #: tokens that the budget has not been charged yet
    _lasting: Fault | None = None
    _finished_trips: int = 0

    async def ask(
        self, send: Send, messages: Messages, read: Callable[[Any], Value], model: AskedModel
    ) -> Value:
        """The result of ``read`` for the reply; raises CallFailed, as ``read`` does."""
        try:
            try:
                return await self._try(send, messages, read, model)
            except CallFailed as failed:
                await self._before_second_try(failed.fault)
                if failed.fault.complaint:
                    messages = prompts.ask_again(messages, failed.fault.reply, failed.fault.complaint)
            return await self._try(send, messages, read, model)
        except CallFailed as failed:
            if failed.fault.lasting:
                self._lasting = self._lasting or failed.fault
            raise

    def charge(self, message: Any, model: AskedModel) -> None:
        """Adds the tokens that a model's reply reports."""
        reported = getattr(message, "usage_metadata", None) or {}
        self._add(model.name, *(max(0, reported.get(name, 0)) for name in ("input_tokens", "output_tokens")))

    def _add(self, model: str, read: int, written: int) -> None:
        self.usage = self.prices.add_cost(with_tokens(self.usage, model, read, written))
        self._unpaid += read + written

    async def _try(
        self, send: Send, messages: Messages, read: Callable[[Any], Value], model: AskedModel
    ) -> Value:
        try:
            return read(await self._send(send, messages, model))
        finally:
            unpaid, self._unpaid = self._unpaid, 0
            if unpaid and self.allowance is not None:
                await self.allowance.charge(unpaid)

    async def _send(self, send: Send, messages: Messages, model: AskedModel) -> Any:
        spent = await self.allowance.find_spent() if self.allowance is not None else None
        remaining, circuit = self.ends_at - time.monotonic(), model.circuit
        timeout, length = model.pace.patience(self.timeout), sum(len(text) for _, text in messages)
        with self._count(remaining, circuit, spent), tracing_context(enabled=False):
            try:
                async with asyncio.timeout(min(timeout, remaining)):
                    with waiting():
                        reply = await model.pace.measure(send(messages), length)
                circuit.record_success()
                self._keep(model, messages, reply_text(reply))
                return reply
            except Exception as error:  # the one boundary to the clients of all providers
                # OpenAI's client raises a reply that was cut off. It holds the tokens, which cost as much as others.
                if usage := getattr(getattr(error, "completion", None), "usage", None):
                    self._add(model.name, usage.prompt_tokens, usage.completion_tokens)
                fault = faults.diagnose(error)
                if fault.outage and (fault is not faults.SILENT or remaining >= timeout):
                    circuit.record_failure()
                logger.warning("%s (%s)", fault.sentence, type(error).__name__)
                logger.debug("the model's client says: %s", error)
                if fault is faults.SILENT and remaining >= timeout:
                    fault = replace(fault, key="model_silent_for", seconds=timeout)
                self._keep(model, messages, "", fault.sentence)
                raise CallFailed(fault) from error

    def _keep(self, model: AskedModel, messages: Messages, reply: str, trouble: str = "") -> None:
        if self.keeps_exchanges:
            exchange = ModelExchange(model=model.name, messages=messages, reply=reply, trouble=trouble)
            self.exchanges.append(exchange)

    @contextmanager
    def _count(self, remaining: float, circuit: Circuit, spent: Spender | None) -> Iterator[None]:
        """Counts one call. Round trips are the longest chain of calls that each began after another had
        ended, which is what a server sees."""
        trip = self._finished_trips + 1
        if self._lasting is not None:
            raise CallFailed(replace(self._lasting, again=False))
        if remaining <= 0:
            raise CallFailed(faults.SILENT)
        if self.usage.calls >= self.limits.calls or trip > self.limits.round_trips:
            raise CallFailed(faults.SPENT)
        if spent is not None:
            raise CallFailed(faults.SPENT_TODAY[spent])
        if not circuit.lets_through():
            raise CallFailed(faults.DOWN)
        usage = self.usage
        self.usage = replace(usage, calls=usage.calls + 1, round_trips=max(usage.round_trips, trip))
        try:
            yield
        finally:
            self._finished_trips = max(self._finished_trips, trip)

    async def _before_second_try(self, fault: Fault) -> None:
        """Waits as long as needed; raises the fault again where a second try cannot help."""
        if not fault.again:
            raise CallFailed(fault)
        if fault.complaint:
            return
        pause = self.limits.pause if fault.pause is None else fault.pause
        if pause > min(self.limits.longest_pause, self.ends_at - time.monotonic()):
            raise CallFailed(fault)
        await asyncio.sleep(pause * random.uniform(1.0, 1.5))  # noqa: S311 - so that turns do not retry together
