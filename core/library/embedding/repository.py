"""A network of a hub, downloaded once at a pinned commit and kept: ``hf:OWNER/NAME``.

A revision that is no commit is resolved once, and written down beside the files: a network that changed under an index
would make it worthless. Only the files that are run or read are fetched, the small ones first, so that a network
that cannot be used is refused before its hundreds of megabytes.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from core.errors import SettingsError
from core.library.embedding import download
from core.library.embedding.hub import Hub, HubFile, Snapshot
from core.library.embedding.layout import MODELS, TOKENIZER, Unusable, read_layout

HUB_PREFIX = "hf:"
NEWEST = "main"  # the branch that a repository opens with
REVISIONS = "revisions.json"  # commits by the revision that was asked for
RESUMPTIONS = 50  # of one file in one download; each must have brought something

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
# what follows the name of an ONNX file in those of its weights
_LARGE = re.compile(r"(?:_|\.)data(?:_?\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A network of a hub, as a setting names it."""

    repo: str  #: owner/name
    revision: str = NEWEST  #: a commit, tag or branch
    model: str = ""  #: path of the ONNX file; empty: the usual one
    is_ranking: bool = False  #: it ranks passages, and makes no vectors
    home: Path  #: where networks are kept

    @classmethod
    def from_setting(cls, setting: str, *, is_ranking: bool = False, home: Path | None = None) -> Self:
        """``hf:OWNER/NAME``, ``hf:OWNER/NAME/PATH.onnx``, each with ``@REVISION`` or without. Raises ValueError."""
        found = _SETTING.fullmatch(setting)
        if found is None or ".." in setting:
            form = f"{HUB_PREFIX}OWNER/NAME"
            raise ValueError(f"must be {form} or {form}@REVISION, not “{setting}”")
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
        return self.commit is not None and download.are_complete(self.folder)

    @property
    def folder(self) -> Path:
        """The folder of the pinned commit's files; each ONNX file has its own."""
        assert self.commit is not None
        suffix = f"-{self.model.removesuffix('.onnx').replace('/', '-')}" if self.model else ""
        return self._repo_folder / f"{self.commit}{suffix}"

    @property
    def name(self) -> str:
        """The setting that pins what is here."""
        return f"{HUB_PREFIX}{self.repo}{f'/{self.model}' if self.model else ''}@{self.commit}"

    @property
    def _repo_folder(self) -> Path:
        return self.home / self.repo.replace("/", "--")

    @property
    def _revisions(self) -> dict[str, str]:
        try:
            found = json.loads((self._repo_folder / REVISIONS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}

    def fetch(self, hub: Hub, *, announce: download.Announce, progress: download.Progress) -> None:
        """Download what is not here yet; nothing is asked of the hub for what is. Raises DownloadError, Unusable."""
        if not self.is_here:
            with download.alone(self._repo_folder / ".lock"):
                self._fetch(hub, announce, progress)

    def _fetch(self, hub: Hub, announce: download.Announce, progress: download.Progress) -> None:
        snapshot = hub.snapshot(self.repo, self.commit or self.revision)
        small, large = choose(snapshot, self.model)
        if self.commit is None:
            download.write_json(
                self._repo_folder / REVISIONS, {**self._revisions, self.revision: snapshot.commit}
            )
        files = [hub.describe(snapshot, path) for path in (*small, *large)]
        size = sum(file.size for file in files)
        announce(f"Downloading {self.repo} at {snapshot.commit[:12]} ({size / 1e6:.0f} MB, once)…")
        done, sums = 0, {}

        def in_all(done: int, have: int, _total: int) -> None:
            progress(done + have, size)

        for number, file in enumerate(files):
            if number == len(small):  # refused now, if it cannot be used
                read_layout(self.folder, model=self.model, is_ranking=self.is_ranking, needs_model=False)
            target = self.folder / file.path
            receive_into = partial(_receive, file, hub.timeout, partial(in_all, done))
            fault = f"what arrived as {file.path} has not the digest that the hub gave"
            download.receive_whole(target, receive_into, file.is_whole, fault)
            done, sums[file.path] = done + file.size, download.sha256_of(target)
        download.note_files(self.folder, sums, repository=self.repo, commit=snapshot.commit, hub=hub.endpoint)


def choose(snapshot: Snapshot, model: str = "") -> tuple[Sequence[str], Sequence[str]]:
    """The paths that are needed: of configurations and the tokenizer, and of the network. Raises DownloadError."""
    paths = snapshot.paths
    chosen = next((path for path in (model, *reversed(MODELS)) if path in paths), "")
    if (model and chosen != model) or not chosen:
        others = sorted(path for path in paths if path.endswith(".onnx"))
        named = f"; {HUB_PREFIX}{snapshot.repo}/{others[0]} names one that it has" if others else ""
        raise download.DownloadError(
            f"{snapshot.repo} has no ONNX file {model or ' or '.join(reversed(MODELS))}{named}"
        )
    beside = f"{chosen.rpartition('/')[0]}/{TOKENIZER}".lstrip("/")
    tokenizer = next((path for path in (TOKENIZER, beside) if path in paths), None)
    if tokenizer is None:
        raise download.DownloadError(f"{snapshot.repo} has no {TOKENIZER}")
    weights = (path for path in paths if path.startswith(chosen) and _LARGE.fullmatch(path[len(chosen) :]))
    return [*sorted(filter(_SMALL.fullmatch, paths)), tokenizer], [*sorted(weights), chosen]


def _receive(file: HubFile, timeout: float, progress: download.Progress, part: Path) -> None:
    """Go on where the connection broke, as long as each try brings something."""
    for _ in range(RESUMPTIONS):
        before = download.size_of(part)
        try:
            download.receive(file.url, part, timeout=timeout, progress=progress, limit=file.size)
        except download.DownloadError:
            if download.size_of(part) <= before:
                raise
        else:
            return
    raise download.DownloadError(f"the connection broke {RESUMPTIONS} times")


@contextmanager
def naming(setting: str) -> Iterator[None]:
    """SettingsError that names the setting, as “RERANKER=hf:ann/tiny”, for a network that cannot be had or used."""
    try:
        yield
    except download.DownloadError as failure:
        raise SettingsError(f"{setting} could not be downloaded: {failure}.") from failure
    except Unusable as reason:
        raise SettingsError(f"{setting} cannot be used: it {reason}.") from reason
    except ValueError as fault:
        raise SettingsError(f"{setting.partition('=')[0]} {fault}.") from fault
