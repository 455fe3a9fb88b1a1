"""A cross-encoder, which reads a question and a passage together and ranks the first passages anew.

It is off by default. A question waits for no download: until the network is here, passages stay as they were ranked.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import SettingsError
from core.library.embedding.download import Announce, DownloadError, Progress
from core.library.embedding.hub import Hub
from core.library.embedding.layout import Unusable, read_layout
from core.library.embedding.repository import PREFIX, Repository
from core.library.embedding.session import Session, open_session

logger = logging.getLogger(__name__)

FIRST = 20  # passages that are ranked anew


@dataclass(slots=True, kw_only=True)
class Reranker:
    """The network of a ``RERANKER``, loaded at its first use."""

    setting: str
    place: Repository | Path  #: of a hub, or a folder
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _session: Session | None = field(default=None, repr=False)
    _fails: bool = field(default=False, repr=False)  #: it was tried, and cannot be used

    @property
    def is_here(self) -> bool:
        return self.place.is_here if isinstance(self.place, Repository) else self.place.is_dir()

    @property
    def name(self) -> str:
        return self.place.name if isinstance(self.place, Repository) else str(self.place)

    def fetch(self, hub: Hub, *, announce: Announce, progress: Progress) -> None:
        """Download it, if it is of a hub and not here. Raises SettingsError."""
        try:
            if isinstance(self.place, Repository):
                self.place.fetch(hub, announce=announce, progress=progress)
        except DownloadError as failure:
            raise SettingsError(f"RERANKER={self.setting} could not be downloaded: {failure}.") from failure
        except Unusable as reason:
            raise SettingsError(f"RERANKER={self.setting} cannot be used: it {reason}.") from reason

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
        """One for each passage, on the network's own scale. Raises SettingsError."""
        scores = [0.0] * len(passages)
        for batch, output, _ in self.session.run([(question, passage) for passage in passages]):
            for index, row in zip(batch, output.reshape(len(batch), -1), strict=True):
                scores[index] = float(row[0])
        return scores

    @property
    def session(self) -> Session:
        """The network, ready to run. Raises SettingsError."""
        with self._lock:
            if self._session is None:
                self._session = self._open()
            return self._session

    def _open(self) -> Session:
        place = self.place
        folder, model = (place.folder, place.model) if isinstance(place, Repository) else (place, "")
        try:
            layout = read_layout(folder, model=model, is_ranking=True)
        except Unusable as reason:
            raise SettingsError(f"RERANKER={self.setting} cannot be used: it {reason}.") from reason
        return open_session(layout, folder)


def reranker_for(setting: str) -> Reranker | None:
    """The reranker that ``RERANKER`` names; None for "off". SettingsError if it names nothing."""
    if setting == "off":
        return None
    try:
        is_hub = setting.startswith(PREFIX)
        place = Repository.named(setting, is_ranking=True) if is_hub else Path(setting).expanduser()
    except ValueError as fault:
        raise SettingsError(f"RERANKER {fault}.") from fault
    return Reranker(setting=setting, place=place)
