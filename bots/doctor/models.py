"""The models: one tiny call to each chat model, and where vectors come from, without fetching anything.

A model on a server of one's own is proved by three small calls more: whether it is held to a schema, how much it reads,
and how fast it reads and writes. Servers take a schema and ignore it (vLLM its older parameters, Ollama where some
models think), or cut off the beginning of a long prompt, and reply with a 200 all the same.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Literal

from bots.chat.texts import duration
from bots.doctor.findings import Finding, State, from_error, ok, warning
from bots.doctor.settings import Configuration
from core.errors import SettingsError
from core.library.embedding.embedder import Embedder
from core.reasoning import faults, providers
from core.reasoning.faults import CallFailed, Fault
from core.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

NAME, EMBEDDING, RERANKER = "model", "embedding", "reranker"
TIMEOUT = 12.0  # seconds for the call, or MODEL_TIMEOUT if that is less
SLOW = 5.0  # seconds; a question waits for three such calls one after another
GREETING = "Reply with the single word: ready"

logger = logging.getLogger(__name__)

_KEY = "Get a key at https://aistudio.google.com/apikey and set GOOGLE_API_KEY in .env."
_NETWORK = "Check the network, HTTPS_PROXY and {address}."

#: By provider: which models it serves, and the setting with its address.
_MODELS: Mapping[str, str] = {
    providers.GOOGLE: "https://ai.google.dev/gemini-api/docs/models lists Google's",
    providers.OPENAI: "https://platform.openai.com/docs/models lists OpenAI's",
    providers.ANTHROPIC: "https://docs.claude.com/en/docs/about-claude/models lists Anthropic's",
    providers.OLLAMA: "`ollama list` lists those that were pulled",
}
_ADDRESSES: Mapping[str, str] = {
    providers.GOOGLE: "GOOGLE_GEMINI_BASE_URL", providers.OPENAI: "OPENAI_BASE_URL", providers.ANTHROPIC: "ANTHROPIC_BASE_URL", providers.OLLAMA: "OLLAMA_HOST",
}  # fmt: skip

#: By the key of a fault: how bad it is, and what to do. ``{setting}`` is CHAT_MODEL or GRADER_MODEL; the other braces
#: hold what the provider needs.
_FIXES: Mapping[str, tuple[State, str]] = {
    faults.KEY_REFUSED.key: ("failed", "{key}"),
    faults.UNKNOWN.key: ("failed", "Set {setting} to a model that is served: {models}."),
    faults.UNREACHABLE.key: ("failed", _NETWORK),
    faults.SILENT.key: ("failed", f"{_NETWORK} Or choose a faster {{setting}}."),
    faults.BUSY.key: ("warning", "Try again in a minute; look up the key's quota if it stays so."),
}
_OTHERWISE: tuple[State, str] = ("failed", "Choose another {setting}; LOG_LEVEL=debug says more.")


async def examine(configuration: Configuration) -> list[Finding]:
    settings = configuration.settings
    if not settings.has_chat_model:
        offers = [each.hint for each in await providers.find_local_servers()]
        return [
            warning(
                NAME,
                "No key: Footnote quotes your documents and composes nothing.",
                " ".join((_KEY, *offers)),
            )
        ]
    named = (("CHAT_MODEL", settings.chat_model), ("GRADER_MODEL", settings.judging_model))
    async with AsyncExitStack() as open_now:
        calls = (_examine_model(setting, name, settings, open_now) for setting, name in named)
        return list(await asyncio.gather(*calls))


async def _examine_model(setting: str, name: str, settings: Settings, open_now: AsyncExitStack) -> Finding:
    try:
        model, seconds = await _call(setting, name, settings, open_now)
    except SettingsError as error:
        return from_error(NAME, error, f"Correct {setting}, or take it out for its default.")
    except TimeoutError:
        return _report_fault(setting, name, faults.SILENT)
    except CallFailed as refused:
        return _report_fault(setting, name, refused.fault)
    finding = report_time(setting, name, seconds)
    return finding if not _is_own(name, settings) else await prove(setting, name, model, finding)


def _is_own(name: str, settings: Settings) -> bool:
    """True for a model on a server of the operator's, which may be held to less than a provider's."""
    provider, _ = providers.split_name(name)
    return provider == providers.OLLAMA or (provider == providers.OPENAI and bool(settings.openai_base_url))


async def _call(
    setting: str, name: str, settings: Settings, open_now: AsyncExitStack
) -> tuple[BaseChatModel, float]:
    """The model, and its seconds; ``open_now`` disconnects. SettingsError, TimeoutError, CallFailed."""
    from langsmith import tracing_context

    from core.bootstrap import access_of
    from core.reasoning.calls import CALL_CONFIG
    from core.reasoning.faults import check_ending

    timeout = min(TIMEOUT, settings.model_timeout)
    model = await asyncio.to_thread(providers.connect, setting, name, access_of(settings, timeout=timeout))
    open_now.push_async_callback(providers.disconnect, model)
    begun = time.monotonic()
    try:
        with tracing_context(enabled=False):
            async with asyncio.timeout(timeout):
                check_ending(await model.ainvoke(GREETING, config=CALL_CONFIG))
    except (TimeoutError, CallFailed):
        raise
    except Exception as error:  # the boundary to the model's client, whichever that is
        logger.debug("%s: %s", name, error)
        raise CallFailed(faults.diagnose(error)) from error
    return model, time.monotonic() - begun


def report_time(setting: str, name: str, seconds: float) -> Finding:
    text = f"{setting}={name} answered in {duration(seconds * 1000)}."
    if seconds > SLOW:
        return warning(NAME, text, f"Choose a faster {setting}: a question waits for several calls.")
    return ok(NAME, text)


def _report_fault(setting: str, name: str, fault: Fault) -> Finding:
    state, fix = _FIXES.get(fault.key, _OTHERWISE)
    provider, _ = providers.split_name(name)
    key = f"Check {providers.KEYS.get(provider, f'the key that {provider} reads from the environment')}."
    words = {
        "setting": setting,
        "key": _KEY if provider == providers.GOOGLE else key,
        "models": _MODELS.get(provider, "its provider's page lists them"),
        "address": _ADDRESSES.get(provider, "the provider's address"),
    }
    text = f"{setting}={name}: {fault.sentence}"
    return Finding(check=NAME, state=state, text=text, fix=fix.format(**words))


def examine_embedding(configuration: Configuration) -> list[Finding]:
    settings = configuration.settings
    if settings.embedding_model == "none":
        return [ok(EMBEDDING, "EMBEDDING_MODEL=none: passages are found by their words alone.")]
    try:
        embedder = load_embedder(settings)
        fit = describe_fit(embedder) if embedder else ""
    except SettingsError as error:
        return [from_error(EMBEDDING, error, "Correct EMBEDDING_MODEL, or take it out for its default.")]
    if embedder is None:
        name, size = (
            (settings.embedding_model, "") if _is_of_hub(settings) else ("The local MiniLM", ", about 80 MB")
        )
        text = f"{name} is not on this machine yet: passages are found by their words alone."
        return [warning(EMBEDDING, text, f"`footnote ingest PATH` downloads it once{size}.")]
    where = "is on this machine" if _is_local(settings) else "makes the vectors; it was not asked for one"
    return [ok(EMBEDDING, f"{embedder.name} {where}. {fit}")]


def describe_fit(embedder: Embedder) -> str:
    """Says if the confidence was fitted for the embedder. Raises SettingsError."""
    from core.library.confidence import load_coefficients
    from core.library.embedding.scale import network_name

    if network_name(embedder.name) in load_coefficients():
        return "The confidence in what is found was fitted for it."
    own = embedder.cosine_range
    used = "taken as they are" if own is None else "rescaled" if own.is_usable else "left out of it"
    return f"The confidence in what is found was not fitted for it: its similarities are {used}."


def examine_reranker(configuration: Configuration) -> list[Finding]:
    """Nothing where there is none, as is usual."""
    from core.library.embedding.reranker import reranker_for

    reranker = reranker_for(configuration.settings.reranker)
    if reranker is None:
        return []
    if not reranker.is_here:
        text = f"{reranker.setting} is not on this machine yet: passages stay as they were ranked."
        return [warning(RERANKER, text, "`footnote ingest PATH` downloads it once.")]
    try:
        reranker.scores("ready", ["ready"])
    except SettingsError as error:
        return [from_error(RERANKER, error, "Correct RERANKER, or take it out.")]
    return [
        ok(
            RERANKER,
            f"{reranker.name} ranks the first twenty passages; the confidence in them stays that of the search.",
        )
    ]


def load_embedder(settings: Settings) -> Embedder | None:
    """The embedder of EMBEDDING_MODEL; None for none, or not downloaded yet. SettingsError if it cannot load."""
    from core.bootstrap import make_embedder
    from core.library.embedding.minilm import chroma_archive
    from core.library.embedding.repository import Repository

    if _is_minilm(settings) and not chroma_archive().is_unpacked:
        return None
    if _is_of_hub(settings) and not Repository.from_setting(settings.embedding_model).is_here:
        return None
    return make_embedder(settings, announce=lambda _: None, progress=lambda _done, _total: None)


def _is_minilm(settings: Settings) -> bool:
    model = settings.embedding_model
    return model == "minilm" or (model == "auto" and not settings.google_api_key)


def _is_of_hub(settings: Settings) -> bool:
    return settings.embedding_model.startswith("hf:")


def _is_local(settings: Settings) -> bool:
    is_local = _is_minilm(settings) or _is_of_hub(settings)
    return is_local or (settings.embedding_model != "auto" and ":" not in settings.embedding_model)


PROOF_TIMEOUT = 90.0  # seconds for one of the calls
WORD = "harbour-417"
#: Characters of the longest prompt of ours, about 14,000 tokens.
LONGEST_PROMPT = 48_000
FILLER = "The ferry leaves pier three at half past nine and comes back before noon. "
COUNT = "Count from 1 to 60 in digits, with a space after each number, and say nothing else."
SLOW_WRITING = 15.0  # tokens a second; an answer and its checks take half a minute then
CUT_OFF = "It reads less than the longest prompts of Footnote, about 14,000 tokens: questions over much text go wrong."
LENIENT = "It is not held to a schema: Footnote tells it the schema in the prompt, and asks again where a reply is none."


async def prove(setting: str, name: str, model: BaseChatModel, answered: Finding) -> Finding:
    """The finding about a model that ``answered`` its first call, with what can be expected of it."""
    try:
        is_bound, _ = await _timed(_is_bound(model))
        long = f"The word is {WORD}.\n\n{FILLER * (LONGEST_PROMPT // len(FILLER))}\n\nReply with the word from the first line alone."
        said, read, _, reading = await _asked(model, long)
        _, _, written, writing = await _asked(model, COUNT)
        read_rate, write_rate = (read or len(long) / 4) / reading, (written or 60) / writing
    except TimeoutError:
        return warning(
            NAME,
            f"{answered.text} A small task took it more than {PROOF_TIMEOUT:.0f} s.",
            f"Choose a faster {setting}.",
        )
    except Exception as fault:  # noqa: BLE001 - the boundary to the model's client, whichever that is
        return warning(
            NAME,
            f"{answered.text} It refused a small task ({type(fault).__name__}).",
            f"Look at the log of the server of {name}.",
        )
    rates = f"It reads {read_rate:,.0f} and writes {write_rate:,.0f} tokens a second."
    text = f"{answered.text} {rates}"
    if WORD not in said:
        return warning(
            NAME, f"{text} {CUT_OFF}", "Give it a larger context where it is served, or choose another model."
        )
    if not is_bound:
        return warning(
            NAME, f"{text} {LENIENT}", f"Choose a {setting} that supports structured output, for fewer calls."
        )
    if write_rate < SLOW_WRITING:
        return warning(NAME, text, f"Choose a faster {setting}, and raise MODEL_TIMEOUT and TURN_TIMEOUT.")
    return answered if answered.state != "ok" else ok(NAME, text)


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
    """The reply, the input and output tokens as far as it reports them, and the seconds it took."""
    from core.reasoning.calls import CALL_CONFIG

    reply, seconds = await _timed(model.ainvoke(prompt, config=CALL_CONFIG))
    usage: Any = getattr(reply, "usage_metadata", None) or {}
    return str(reply.text), usage.get("input_tokens", 0), usage.get("output_tokens", 0), seconds


async def _timed(work: Any) -> tuple[Any, float]:
    from langsmith import tracing_context

    begun = time.monotonic()
    with tracing_context(enabled=False):
        async with asyncio.timeout(PROOF_TIMEOUT):
            done = await work
    return done, max(time.monotonic() - begun, 0.001)
