"""Embeddings from a provider, through LangChain."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import ModelTrouble, SettingsError, how_to_install, is_timeout
from core.library.embedding import Vectors
from core.tls import default_tls

if TYPE_CHECKING:
    import httpx
    from langchain_core.embeddings import Embeddings

T = TypeVar("T")

logger = logging.getLogger(__name__)

BATCH = 100  # texts of one request, Gemini "batchEmbedContents"
GEMINI_DIMENSION = 768  # of 3,072: by Google's figures .2 points worse (MTEB), in a quarter of the space
DOCUMENT_ATTEMPTS = 6  # about half a minute of pauses: quotas are per minute
QUERY_ATTEMPTS = 2  # somebody is waiting
PAUSE = 1.0  # seconds before the second attempt; doubles each time
# HTTP statuses of the 4xx range after which another attempt may succeed
RETRIED_STATUSES = frozenset({408, 429})


def l2_normalised(rows: Vectors) -> Vectors:
    """Rows of length one, shape ``(n, dimension)``; a row of zeros stays zero."""
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vectors = (rows / np.maximum(lengths, 1e-12)).astype(np.float32, copy=False)
    return unit


class ProviderEmbedder:
    """An :class:`~core.library.embedding.Embedder` over a LangChain embedding model.

    LangChain does not guarantee timeouts, retries or unit vectors, and Gemini's class has none of
    them: they are added here. Raises ModelTrouble.
    """

    cosine_range = None

    def __init__(self, name: str, model: "Embeddings", *, timeout: float, pause: float = PAUSE) -> None:
        self.name = name
        self._model = model
        self._timeout = timeout  # seconds of one attempt
        self._pause = pause
        self._dimension: int | None = None  # known after the first reply

    @property
    def dimension(self) -> int:
        return self._dimension or len(self.embed_query("dimension"))

    def embed_query(self, text: str) -> Vectors:
        rows = self._ask(lambda: [self._model.embed_query(text)], expected=1, attempts=QUERY_ATTEMPTS)
        vector: Vectors = rows[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        rows = [
            self._ask(
                partial(self._model.embed_documents, list(batch)),
                expected=len(batch),
                attempts=DOCUMENT_ATTEMPTS,
            )
            for batch in (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
        ]
        return np.concatenate(rows) if rows else np.empty((0, self.dimension), np.float32)

    def _ask(self, call: Callable[[], list[list[float]]], *, expected: int, attempts: int) -> Vectors:
        from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

        retrying = Retrying(
            stop=stop_after_attempt(attempts),
            wait=wait_exponential(multiplier=self._pause),
            retry=retry_if_exception(_is_transient),
            reraise=True,
        )
        try:
            vectors = retrying(within, self._timeout, call)
        except Exception as trouble:  # every provider has its own exceptions
            logger.warning("the embedding model %s failed: %s", self.name, trouble)
            raise ModelTrouble(f"The embedding model {self.name} {self._describe(trouble)}.") from trouble
        import numpy as np

        try:
            rows = np.asarray(vectors, dtype=np.float32)
        except (TypeError, ValueError):
            rows = np.empty(0, np.float32)
        if rows.ndim != 2 or len(rows) != expected or not np.isfinite(rows).all():
            raise ModelTrouble(f"The embedding model {self.name} did not give one vector for each text.")
        self._dimension = rows.shape[1]
        return l2_normalised(rows)

    def _describe(self, trouble: Exception) -> str:
        if is_timeout(trouble):  # by our clock or by the client's: both wait equally long
            return f"did not answer within {self._timeout:g} s"
        status = _status(trouble)
        if status == 429:
            return "is busy: its quota is used up for now"
        if status is not None and 400 <= status < 500:
            return "refused the request: check its name and its key"
        return "could not be reached"


def connect(
    name: str,
    *,
    google_api_key: str | None,
    google_base_url: str | None,
    timeout: float,
    options: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> ProviderEmbedder:
    """LangChain's ``provider:model``, ``options`` by provider; SettingsError when it cannot be set up."""
    from langchain.embeddings import init_embeddings

    provider = name.partition(":")[0]
    arguments: dict[str, Any] = dict(options.get(provider, {}))
    if name.startswith("google_genai:"):
        if not google_api_key:
            raise SettingsError(f"EMBEDDING_MODEL={name} needs GOOGLE_API_KEY.")
        arguments = _gemini_arguments(google_api_key, google_base_url, timeout)
    try:
        model = init_embeddings(name, **arguments)
    except ImportError as missing:
        raise SettingsError(
            f"EMBEDDING_MODEL={name} {how_to_install(provider, f'langchain-{provider}')}"
        ) from missing
    except Exception as trouble:  # every provider has its own exceptions
        logger.warning("EMBEDDING_MODEL=%s: %s", name, trouble)
        raise SettingsError(
            f"EMBEDDING_MODEL={name} could not be set up: check the provider's name, the model's and the key."
        ) from trouble
    return ProviderEmbedder(name, model, timeout=timeout)


def _gemini_arguments(api_key: str, base_url: str | None, timeout: float) -> dict[str, Any]:
    def bound(request: "httpx.Request") -> None:
        # The client disables the timeouts of every request, even if it was built with some.
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), timeout)

    return {
        "google_api_key": api_key,
        "base_url": base_url or None,
        "output_dimensionality": GEMINI_DIMENSION,
        # With a context of ours it does not read all authorities three times.
        "client_args": {"event_hooks": {"request": [bound]}, "verify": default_tls(), "ssl": default_tls()},
    }


def _is_transient(trouble: BaseException) -> bool:
    status = _status(trouble)
    return status is None or status >= 500 or status in RETRIED_STATUSES


def _status(trouble: BaseException) -> int | None:
    """The HTTP status of an exception, or of the one it was raised from."""
    for error in (trouble, trouble.__cause__):
        for attribute in ("status_code", "code"):
            status = getattr(error, attribute, None)
            if isinstance(status, int):
                return status
    return None


def within(seconds: float, call: Callable[[], T]) -> T:
    """The result of the call; TimeoutError when it takes longer than ``seconds``.

    For calls without a timeout of their own. The daemon thread of a late call does not keep the process alive.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except Exception as trouble:  # noqa: BLE001 - raised again by result()
            answer.set_exception(trouble)

    threading.Thread(target=run, name="within", daemon=True).start()
    return answer.result(seconds)
