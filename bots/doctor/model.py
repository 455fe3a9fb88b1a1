"""The chat models: one tiny call to each, through the client that answers questions."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping

from bots.chat.texts import duration
from bots.doctor.findings import Finding, State, ok, told, warning
from bots.doctor.settings import Installation
from core.errors import SettingsError
from core.reasoning import faults
from core.reasoning.faults import CallFailed, Fault
from core.reasoning.providers import GOOGLE, Access, connect, split_name
from core.settings import Settings

NAME = "model"
PATIENCE = 12.0  # seconds for the call, if MODEL_TIMEOUT allows as many
SLOW = 5.0  # seconds; a question waits for three such calls one after another
GREETING = "Reply with the single word: ready"

logger = logging.getLogger(__name__)

_KEY = "Get a key at https://aistudio.google.com/apikey and set GOOGLE_API_KEY in .env."
_NETWORK = "Check the network, HTTPS_PROXY and GOOGLE_GEMINI_BASE_URL."

#: By the key of a fault: how bad it is, and what to do. ``{setting}`` is CHAT_MODEL or GRADER_MODEL.
_FIXES: Mapping[str, tuple[State, str]] = {
    faults.KEY_REFUSED.key: ("failed", "{key}"),
    faults.UNKNOWN.key: (
        "failed",
        "Set {setting} to a model that is served: https://ai.google.dev/gemini-api/docs/models lists Google's.",
    ),
    faults.UNREACHABLE.key: ("failed", _NETWORK),
    faults.SILENT.key: ("failed", f"{_NETWORK} Or choose a faster {{setting}}."),
    faults.BUSY.key: ("warning", "Try again in a minute; look up the key's quota if it stays so."),
}
_OTHERWISE: tuple[State, str] = ("failed", "Choose another {setting}; LOG_LEVEL=debug says more.")


async def examine(installation: Installation) -> list[Finding]:
    settings = installation.settings
    if not settings.has_chat_model:
        return [warning(NAME, "No key: Footnote quotes your documents and composes nothing.", _KEY)]
    named = (("CHAT_MODEL", settings.chat_model), ("GRADER_MODEL", settings.judging_model))
    return list(await asyncio.gather(*(_try(setting, name, settings) for setting, name in named)))


async def _try(setting: str, name: str, settings: Settings) -> Finding:
    patience = min(PATIENCE, settings.model_timeout)
    try:
        seconds = await _call(setting, name, settings, patience)
    except SettingsError as trouble:
        return told(NAME, trouble, f"Correct {setting}, or take it out for its default.")
    except TimeoutError:
        return fault_found(setting, name, faults.SILENT)
    except CallFailed as refused:
        return fault_found(setting, name, refused.fault)
    return answered(setting, name, seconds)


async def _call(setting: str, name: str, settings: Settings, patience: float) -> float:
    """Seconds until the model answered. Raises SettingsError, TimeoutError, CallFailed."""
    from langsmith import tracing_context

    from core.reasoning.calls import CALL_CONFIG
    from core.reasoning.replies import check_ending

    access = Access(
        google_api_key=settings.google_api_key,
        google_url=settings.google_gemini_base_url,
        timeout=patience,
    )
    model = await asyncio.to_thread(connect, setting, name, access)
    begun = time.monotonic()
    try:
        with tracing_context(enabled=False):
            async with asyncio.timeout(patience):
                check_ending(await model.ainvoke(GREETING, config=CALL_CONFIG))
    except (TimeoutError, CallFailed):
        raise
    except Exception as error:  # the one boundary to whichever client stands behind the model
        logger.debug("%s: %s", name, error)
        raise CallFailed(faults.diagnose(error)) from error
    finally:
        close = getattr(model, "aclose", None)
        if close is not None:
            await close()
    return time.monotonic() - begun


def answered(setting: str, name: str, seconds: float) -> Finding:
    told_time = f"{setting}={name} answered in {duration(seconds * 1000)}."
    if seconds > SLOW:
        return warning(NAME, told_time, f"Choose a faster {setting}: a question waits for several calls.")
    return ok(NAME, told_time)


def fault_found(setting: str, name: str, fault: Fault) -> Finding:
    state, fix = _FIXES.get(fault.key, _OTHERWISE)
    provider, _ = split_name(name)
    key = _KEY if provider == GOOGLE else f"Check the key that {provider} reads from the environment."
    text = f"{setting}={name}: {fault.sentence}"
    return Finding(check=NAME, state=state, text=text, fix=fix.format(setting=setting, key=key))
