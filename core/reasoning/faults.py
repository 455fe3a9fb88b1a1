"""Faults of calls to models: why a call gave nothing usable, and what may be done about it.

Each LangChain provider has its own exceptions. They are classified by what they have in common:
an HTTP status somewhere in the chain of causes, a timeout, or a class from a transport package.
For a reply that was refused or cut off clients raise nothing: it says so itself.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.errors import ModelTrouble, causes, is_timeout
from core.reasoning.limits import Spender
from core.wording import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The sentence for a person, and whether another try may help."""

    key: str  #: of the sentence
    again: bool = False  #: one more try may help
    pause: float | None = None  #: seconds the provider asked to wait before it
    complaint: str = ""  #: what was wrong with the reply, for the model
    reply: str = field(default="", repr=False)  #: that reply, for the model
    lasting: bool = False  #: the model is not asked again in this turn
    outage: bool = False  #: the model's fault, not this turn's
    seconds: float = 0.0  #: waited in vain, for the sentence

    @property
    def sentence(self) -> Sentence:
        return Sentence(self.key, **({"seconds": self.seconds} if self.seconds else {}))


class CallFailed(ModelTrouble):
    """One call failed; its fault says how."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.sentence)
        self.fault = fault


SILENT = Fault(key="model_silent", lasting=True, outage=True)
BUSY = Fault(key="model_busy", again=True, lasting=True, outage=True)
UNREACHABLE = Fault(key="model_unreachable", again=True, lasting=True, outage=True)
KEY_REFUSED = Fault(key="model_key_refused", lasting=True)
UNKNOWN = Fault(key="model_unknown", lasting=True)
REFUSED = Fault(key="model_refused")
UNREADABLE = Fault(key="model_unreadable", again=True)
SPENT = Fault(key="model_calls_spent", lasting=True)
#: By who may take so many tokens in a day.
SPENT_TODAY: Mapping[Spender, Fault] = {
    "everybody": Fault(key="model_tokens_spent", lasting=True),
    "channel": Fault(key="channel_tokens_spent", lasting=True),
    "person": Fault(key="person_tokens_spent", lasting=True),
}
DOWN = Fault(key="model_down", lasting=True)

OF_STATUS: Mapping[int, Fault] = {
    400: REFUSED, 401: KEY_REFUSED, 403: KEY_REFUSED, 404: UNKNOWN, 408: BUSY, 413: REFUSED, 422: REFUSED, 429: BUSY,
}  # fmt: skip
CUT_SHORT = "it was cut off because it was too long; be shorter."  # for the model
#: What OpenAI's client raises by itself for the ending of a reply with a schema.
OF_CLASS: Mapping[str, Fault] = {
    "LengthFinishReasonError": replace(UNREADABLE, complaint=CUT_SHORT),
    "ContentFilterFinishReasonError": REFUSED,
}
#: Finish reasons in capitals: Gemini's, then those of other providers.
REFUSALS = frozenset({
    "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
    "CONTENT_FILTER", "REFUSAL",
})  # fmt: skip
CUT_OFF = frozenset({"MAX_TOKENS", "LENGTH"})
ENDINGS = ("finish_reason", "stop_reason", "done_reason")  # Google's and OpenAI's, Anthropic's, Ollama's
BAD_KEY = "API_KEY_INVALID"  # Gemini answers a wrong key with status 400 and this reason

#: Packages of the providers' clients whose exceptions mean that the connection failed.
TRANSPORTS = frozenset({"aiohttp", "grpc", "httpcore", "httpx", "httpx2", "requests", "urllib3"})

_RETRY_DELAY = re.compile(r"""retryDelay['"]:\s*['"](\d{1,6}(?:\.\d{1,9})?)s""")  # google.rpc.RetryInfo


def unreadable(complaint: str, reply: str = "") -> Fault:
    """A reply of the wrong shape; the model is shown the complaint."""
    return replace(UNREADABLE, complaint=complaint, reply=reply)


def has_ending(message: Any) -> bool:
    """True if a reply says how it ended; OpenAI's Responses have a status."""
    return bool(_ending_of(message) or message.response_metadata.get("status"))


def _ending_of(message: Any) -> str:
    metadata = getattr(message, "response_metadata", None) or {}
    return next((str(metadata[name]).upper() for name in ENDINGS if metadata.get(name)), "")


def check_ending(message: Any) -> None:
    """Raises CallFailed for a reply that was refused or cut off, for which clients raise nothing."""
    metadata, ending = getattr(message, "response_metadata", None) or {}, _ending_of(message)
    details = metadata.get("incomplete_details") or {}  # of OpenAI's Responses
    # OpenAI's models say that they refuse in a field of its own, and in Responses in a block.
    blocks = (each for each in message.content if isinstance(each, dict))
    refuses = message.additional_kwargs.get("refusal") or any(
        each.get("type") == "refusal" for each in blocks
    )
    if ending in REFUSALS or (metadata.get("prompt_feedback") or {}).get("block_reason") or refuses:
        raise CallFailed(REFUSED)
    if ending in CUT_OFF or details.get("reason") == "max_output_tokens":
        raise CallFailed(unreadable(CUT_SHORT, message.text))


def diagnose(error: BaseException) -> Fault:
    """The fault behind a foreign exception; nothing of its text is kept."""
    chain = tuple(causes(error))
    if known := [OF_CLASS[name] for link in chain if (name := type(link).__name__) in OF_CLASS]:
        return known[0]
    status = next((found for link in chain if (found := _status(link)) is not None), None)
    if status is not None:
        fault = BUSY if status >= 500 else OF_STATUS.get(status, UNREADABLE)
        if status == 400 and any(BAD_KEY in str(link) for link in chain):
            fault = KEY_REFUSED
        return replace(fault, pause=_pause_in(chain))
    if is_timeout(error):
        return SILENT
    if any(isinstance(link, OSError) or _package(link) in TRANSPORTS for link in chain):
        return UNREACHABLE
    return UNREADABLE


def _status(error: BaseException) -> int | None:
    """The HTTP status of an exception, under the names that providers use. Of a transport's exception only
    its response counts: aiohttp gives status 400 to a reply cut short."""
    holder = getattr(error, "response", None) if _package(error) in TRANSPORTS else error
    found = (getattr(holder, name, None) for name in ("status_code", "code"))
    return next((each for each in found if isinstance(each, int) and 400 <= each <= 599), None)


def _package(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def _pause_in(chain: tuple[BaseException, ...]) -> float | None:
    """Seconds from a Retry-After header or from Google's RetryInfo."""
    for link in chain:
        headers = getattr(getattr(link, "response", None), "headers", None)
        after = headers.get("Retry-After") if isinstance(headers, Mapping) else None
        if after and re.fullmatch(r"\d{1,6}", after):
            return float(after)
        if info := _RETRY_DELAY.search(str(link)):
            return float(info.group(1))
    return None
