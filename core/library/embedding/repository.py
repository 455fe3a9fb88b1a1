"""A network of a hub, downloaded once at a pinned commit and kept: ``hf:OWNER/NAME``.

A revision that is no commit is resolved once, and written down beside the files: a network that changed under an index
would make it worthless. Only the files that are run or read are fetched, the small ones first, so that a network
that cannot be used is refused before its hundreds of megabytes.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from core.library.embedding import notes
from core.library.embedding.download import Announce, DownloadError, Progress, receive, sha256_of
from core.library.embedding.hub import Hub, HubFile, Snapshot
from core.library.embedding.layout import MODELS, TOKENIZER, read_layout

logger = logging.getLogger(__name__)

PREFIX = "hf:"
NEWEST = "main"  # the branch that a repository opens with
REVISIONS = "revisions.json"  # commits by the revision that was asked for
RESUMPTIONS = 50  # of one file in one download, each of which must have brought something

_SETTING = re.compile(
    r"hf:(?P<repo>\w[\w.-]*/\w[\w.-]*)(?:/(?P<model>\w[\w./-]*\.onnx))?(?:@(?P<revision>\w[\w./-]*))?",
    re.ASCII,
)
_COMMIT = re.compile("[0-9a-f]{40}")
_SMALL = re.compile(
    r"modules\.json|\w+/config\.json|(?:\w+/)?(?:config|tokenizer_config|sentence_bert_config)\.json|"
    r"config_sentence_transformers\.json",
    re.ASCII,
)
_LARGE = re.compile(
    r"(?:_|\.)data(?:_?\d+)?"
)  # what follows the name of an ONNX file in those of its weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A network of a hub, as a setting names it."""

    repo: str  #: owner/name
    revision: str = NEWEST  #: a commit, tag or branch
    model: str = ""  #: path of the ONNX file; empty: the usual one
    is_ranking: bool = False  #: it ranks passages, and makes no vectors
    home: Path  #: where networks are kept

    @classmethod
    def named(cls, setting: str, *, is_ranking: bool = False, home: Path | None = None) -> Self:
        """``hf:OWNER/NAME``, ``hf:OWNER/NAME/PATH.onnx``, each with ``@REVISION`` or without. Raises ValueError."""
        found = _SETTING.fullmatch(setting)
        if found is None or ".." in setting:
            raise ValueError(f"must be {PREFIX}OWNER/NAME or {PREFIX}OWNER/NAME@REVISION, not “{setting}”")
        return cls(
            repo=found["repo"], revision=found["revision"] or NEWEST, model=found["model"] or "",
            is_ranking=is_ranking,
            home=home or Path.home() / ".cache" / "footnote" / "networks",
        )  # fmt: skip

    @property
    def commit(self) -> str | None:
        """The commit that is pinned, by the setting or by the first download; None before it."""
        if _COMMIT.fullmatch(self.revision):
            return self.revision
        commit = self._revisions.get(self.revision, "")
        return commit if _COMMIT.fullmatch(commit) else None

    @property
    def is_here(self) -> bool:
        return self.commit is not None and notes.is_complete(self.folder)

    @property
    def folder(self) -> Path:
        """Where the files of the pinned commit are; of each ONNX file a folder of its own."""
        assert self.commit is not None
        suffix = f"-{self.model.removesuffix('.onnx').replace('/', '-')}" if self.model else ""
        return self._place / f"{self.commit}{suffix}"

    @property
    def name(self) -> str:
        """The setting that pins what is here."""
        return f"{PREFIX}{self.repo}{f'/{self.model}' if self.model else ''}@{self.commit}"

    @property
    def _place(self) -> Path:
        return self.home / self.repo.replace("/", "--")

    @property
    def _revisions(self) -> dict[str, str]:
        try:
            found = json.loads((self._place / REVISIONS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}

    def fetch(self, hub: Hub, *, announce: Announce, progress: Progress) -> None:
        """Download what is not here yet; nothing is asked of the hub for what is. Raises DownloadError, Unusable."""
        if self.is_here:
            return
        from filelock import FileLock, Timeout

        try:
            self._place.mkdir(parents=True, exist_ok=True)
            with FileLock(self._place / ".lock", blocking=False):
                self._fetch(hub, announce, progress)
        except Timeout:
            raise DownloadError("another process is downloading it") from None
        except OSError as trouble:
            logger.warning("%s could not be put in place: %s", self._place, trouble)
            raise DownloadError(f"{self._place} cannot be written") from trouble

    def _fetch(self, hub: Hub, announce: Announce, progress: Progress) -> None:
        snapshot = hub.snapshot(self.repo, self.commit or self.revision)
        small, large = choose(snapshot, self.model)
        self._pin(snapshot.commit)
        files = [hub.describe(snapshot, path) for path in (*small, *large)]
        size = sum(file.size for file in files)
        announce(f"Downloading {self.repo} at {snapshot.commit[:12]} ({size / 1e6:.0f} MB, once)…")
        done, digests = 0, {}
        for number, file in enumerate(files):
            if number == len(small):  # refused now, if it cannot be used
                read_layout(self.folder, model=self.model, is_ranking=self.is_ranking, needs_model=False)
            target = self.folder / file.path
            put_in_place(file, target, timeout=hub.timeout, progress=_part_of(progress, done, size))
            done, digests[file.path] = done + file.size, sha256_of(target)
        notes.write(self.folder, digests, repository=self.repo, commit=snapshot.commit, hub=hub.endpoint)

    def _pin(self, commit: str) -> None:
        if self.commit is None:
            notes.write_json(self._place / REVISIONS, {**self._revisions, self.revision: commit})


def choose(snapshot: Snapshot, model: str = "") -> tuple[Sequence[str], Sequence[str]]:
    """The paths that are needed: of configurations and the tokenizer, and of the network. Raises DownloadError."""
    paths = snapshot.paths
    chosen = next((path for path in (model, *reversed(MODELS)) if path in paths), "")
    if (model and chosen != model) or not chosen:
        others = sorted(path for path in paths if path.endswith(".onnx"))
        named = f"; {PREFIX}{snapshot.repo}/{others[0]} names one that it has" if others else ""
        raise DownloadError(
            f"{snapshot.repo} has no ONNX file {model or ' or '.join(reversed(MODELS))}{named}"
        )
    beside = f"{chosen.rpartition('/')[0]}/{TOKENIZER}".lstrip("/")
    tokenizer = next((path for path in (TOKENIZER, beside) if path in paths), None)
    if tokenizer is None:
        raise DownloadError(f"{snapshot.repo} has no {TOKENIZER}")
    weights = (path for path in paths if path.startswith(chosen) and _LARGE.fullmatch(path[len(chosen) :]))
    return [*sorted(filter(_SMALL.fullmatch, paths)), tokenizer], [*sorted(weights), chosen]


def put_in_place(file: HubFile, target: Path, *, timeout: float, progress: Progress) -> None:
    """Download one file, which takes its name when its digest is that of the hub. Raises DownloadError."""
    if file.is_whole(target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    is_resumed = _bytes_in(part) > 0
    while True:
        _receive(file, part, timeout, progress)
        if file.is_whole(part):
            part.replace(target)
            return
        part.unlink(missing_ok=True)
        if not is_resumed:  # two parts may not fit together; another try of a whole file would not help
            raise DownloadError(f"what arrived as {file.path} has not the digest that the hub gave")
        is_resumed = False


def _receive(file: HubFile, part: Path, timeout: float, progress: Progress) -> None:
    """Go on where the connection broke, as long as each try brings something."""
    for _ in range(RESUMPTIONS):
        before = _bytes_in(part)
        try:
            receive(file.url, part, timeout=timeout, progress=progress, limit=file.size)
        except DownloadError:
            if _bytes_in(part) <= before:
                raise
        else:
            return
    raise DownloadError(f"the connection broke {RESUMPTIONS} times")


def _bytes_in(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _part_of(progress: Progress, done: int, size: int) -> Progress:
    """Progress in one file, as progress in all."""
    return lambda have, _total: progress(done + have, size)
