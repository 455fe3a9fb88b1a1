"""A cross-encoder, which reads a question and a passage together and reorders the first passages.

It is off by default. A question waits for no download: until the network is here, passages stay as they were ranked.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import SettingsError
from core.library.embedding.download import Announce, Progress
from core.library.embedding.hub import Hub
from core.library.embedding.layout import read_layout
from core.library.embedding.repository import HUB_PREFIX, Repository, naming
from core.library.embedding.session import NetworkSession, open_session

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Reranker:
    """The network of a ``RERANKER``, loaded at its first use."""

    setting: str
    location: Repository | Path  #: of a hub, or a folder
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _session: NetworkSession | None = field(default=None, repr=False)
    _fails: bool = field(default=False, repr=False)  #: it was tried, and cannot be used

    @property
    def is_here(self) -> bool:
        return self.location.is_here if isinstance(self.location, Repository) else self.location.is_dir()

    @property
    def name(self) -> str:
        return self.location.name if isinstance(self.location, Repository) else str(self.location)

    def fetch(self, hub: Hub, *, announce: Announce, progress: Progress) -> None:
        """Download it, if it is of a hub and not here. Raises SettingsError."""
        if isinstance(self.location, Repository):
            with naming(f"RERANKER={self.setting}"):
                self.location.fetch(hub, announce=announce, progress=progress)

    def order(self, question: str, passages: Sequence[str]) -> list[int] | None:
        """The indices of the passages, best first; None if it is not here or cannot be run."""
        if self._fails or not self.is_here or len(passages) < 2:
            return None
        try:
            scores = self.scores(question, passages)
        except SettingsError as trouble:
            self._fails = True
            logger.warning("passages are not ranked anew from now on: %s", trouble)
            return None
        return sorted(range(len(passages)), key=lambda index: (-scores[index], index))

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """The scores of passages, on the network's own scale. Raises SettingsError."""
        scores = [0.0] * len(passages)
        for batch, output, _ in self.session.run([(question, passage) for passage in passages]):
            for index, row in zip(batch, output.reshape(len(batch), -1), strict=True):
                scores[index] = float(row[0])
        return scores

    @property
    def session(self) -> NetworkSession:
        """The network, ready to run. Raises SettingsError."""
        with self._lock:
            if self._session is None:
                location = self.location
                folder, model = (
                    (location.folder, location.model) if isinstance(location, Repository) else (location, "")
                )
                with naming(f"RERANKER={self.setting}"):
                    layout = read_layout(folder, model=model, is_ranking=True)
                self._session = open_session(layout, folder)
            return self._session


def reranker_for(setting: str) -> Reranker | None:
    """The reranker that ``RERANKER`` names; None for "off". SettingsError if it names nothing."""
    if setting == "off":
        return None
    with naming(f"RERANKER={setting}"):
        is_hub = setting.startswith(HUB_PREFIX)
        location = Repository.from_setting(setting, is_ranking=True) if is_hub else Path(setting).expanduser()
    return Reranker(setting=setting, location=location)
