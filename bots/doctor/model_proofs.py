"""What a model on a server of one's own can be trusted with, proved by three small calls: whether it is held to a schema,
how much it reads, and how fast it reads and writes.

Servers take a schema and ignore it (vLLM its older parameters, Ollama where some models think), or cut off the beginning
of a long prompt, and reply with a 200 all the same.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Literal

from bots.doctor.findings import Finding, ok, warning
from core.conversation import value

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

NAME = "model"
TIMEOUT = 90.0  # seconds for one of the calls
WORD = "harbour-417"
#: Characters of the longest prompt of ours, about 14,000 tokens.
LONGEST_PROMPT = 48_000
FILLER = "The ferry leaves pier three at half past nine and comes back before noon. "
COUNT = "Count from 1 to 60 in digits, with a space after each number, and say nothing else."
SLOW_WRITING = 15.0  # tokens a second; an answer and its checks take half a minute then
CUT_OFF = "It reads less than the longest prompts of Footnote, about 14,000 tokens: questions over much text go wrong."
LENIENT = "It is not held to a schema: Footnote tells it the schema in the prompt, and asks again where a reply is none."


@value
class Proof:
    """What three calls showed."""

    is_bound: bool  #: to the schema
    reads_all: bool  #: of the longest prompt
    read_rate: float  #: tokens a second
    write_rate: float


async def prove(setting: str, name: str, model: BaseChatModel, answered: Finding) -> Finding:
    """The finding about a model that ``answered`` its first call, with what can be expected of it."""
    try:
        proof = await _proof(model)
    except TimeoutError:
        return warning(
            NAME,
            f"{answered.text} A small task took it more than {TIMEOUT:.0f} s.",
            f"Choose a faster {setting}.",
        )
    except Exception as fault:  # noqa: BLE001 - the boundary to the model's client, whichever that is
        return warning(
            NAME,
            f"{answered.text} It refused a small task ({type(fault).__name__}).",
            f"Look at the log of the server of {name}.",
        )
    rates = f"It reads {proof.read_rate:,.0f} and writes {proof.write_rate:,.0f} tokens a second."
    text = f"{answered.text} {rates}"
    if not proof.reads_all:
        return warning(
            NAME, f"{text} {CUT_OFF}", "Give it a larger context where it is served, or choose another model."
        )
    if not proof.is_bound:
        return warning(
            NAME, f"{text} {LENIENT}", f"Choose a {setting} that supports structured output, for fewer calls."
        )
    if proof.write_rate < SLOW_WRITING:
        return warning(NAME, text, f"Choose a faster {setting}, and raise MODEL_TIMEOUT and TURN_TIMEOUT.")
    return answered if answered.state != "ok" else ok(NAME, text)


async def _proof(model: BaseChatModel) -> Proof:
    is_bound = await _timed(_is_bound(model))
    long = f"The word is {WORD}.\n\n{FILLER * (LONGEST_PROMPT // len(FILLER))}\n\nReply with the word from the first line alone."
    said, read, _, reading = await _asked(model, long)
    _, _, written, writing = await _asked(model, COUNT)
    return Proof(
        is_bound=is_bound[0], reads_all=WORD in said, read_rate=(read or len(long) / 4) / reading,
        write_rate=(written or 60) / writing,
    )  # fmt: skip


async def _is_bound(model: BaseChatModel) -> bool:
    """True if it replies in JSON though the prompt asks for prose."""
    from pydantic import BaseModel

    from core.reasoning.calls import StructuredModel

    class Colour(BaseModel):
        colour: Literal["red", "green", "blue"]

    asked: Any = (("system", "You write one sentence of prose, and never JSON."), ("human", "Name a colour."))
    shape: Any = Colour
    return (await StructuredModel(model).ask(shape, asked)).parsed is not None


async def _asked(model: BaseChatModel, prompt: str) -> tuple[str, int, int, float]:
    """What it said, the tokens that it read and wrote, as far as it tells, and the seconds that it took."""
    from core.reasoning.calls import CALL_CONFIG

    reply, seconds = await _timed(model.ainvoke(prompt, config=CALL_CONFIG))
    told: Any = getattr(reply, "usage_metadata", None) or {}
    return str(reply.text), told.get("input_tokens", 0), told.get("output_tokens", 0), seconds


async def _timed(work: Any) -> tuple[Any, float]:
    from langsmith import tracing_context

    begun = time.monotonic()
    with tracing_context(enabled=False):
        async with asyncio.timeout(TIMEOUT):
            done = await work
    return done, max(time.monotonic() - begun, 0.001)
