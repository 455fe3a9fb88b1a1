"""The composition root: everything is built here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from core.conversation import Conversation, Outcome, Question, Turn
from core.errors import FootnoteError
from core.graph.policy import BRIEF, OURS, PRESETS, Policy
from core.library.data_lock import find_owner, lock_data_dir, make_data_dir, refuse_incomplete, share_data_dir
from core.library.documents import Readable, Scope
from core.library.embedding.embedder import Embedder, embedder_for
from core.library.embedding.hub import Hub
from core.library.embedding.reranker import reranker_for
from core.library.library import Library, Refresh, ScopedDocuments
from core.library.passage_search import Hits, find_passages
from core.library.store import DocumentStore
from core.library.tables import SCHEMA
from core.reasoning import limits
from core.reasoning.extractive import ExtractiveReasoner
from core.reasoning.providers import Access, is_own, split_name
from core.settings import Settings
from core.storage.database import version_in
from core.storage.sqlite import SqliteDatabase
from core.storage.storage import Storage, file_of, open_storage
from core.traces.meters import Meters
from core.web.engines import engine_for
from core.web.fetch import GuardedFetcher
from core.web.request import WebResearch

if TYPE_CHECKING:
    from core.answers.answers import Answers
    from core.graph.checkpoints import Checkpoints
    from core.graph.context import Deps
    from core.library.vectors import VectorIndex
    from core.reasoning.chat_model import ChatModels
    from core.reasoning.reasoner import Reasoner
    from core.sources.source import SourceKinds
    from core.sources.sources import SourceSyncs
    from core.sources.store import SourceStore
    from core.storage.database import Database
    from core.traces.log import Listener, QuestionLog
    from core.turns.assistant import Assistant
    from core.turns.messenger import Report
    from core.turns.replicas import Replicas


#: Looks up the documents that a question of this conversation and this author may read.
Reads = Callable[[Conversation, str, Library], Awaitable[Readable]]
LIBRARY = "library.sqlite"  # in the data folder
RESERVE = 5.0  # seconds of a turn that the model may not use
INGESTED_PAGE_LIMIT = 32_000_000  # bytes, as for a file
Announce = Callable[[str], None]
DownloadProgress = Callable[[int, int], None]  # bytes done, bytes in all


async def reads_everything(_conversation: Conversation, _author: str, library: Library) -> Readable:
    """Every collection, for the operator's terminal."""
    return Readable(collections=await asyncio.to_thread(library.store.collections))


@dataclass(frozen=True, slots=True, kw_only=True)
class Footnote:
    """Everything that a shell needs."""

    settings: Settings
    storage: Storage
    library: Library
    assistant: Assistant
    log: QuestionLog  #: of the questions
    answers: Answers  #: that people taught
    sources: SourceSyncs
    replicas: Replicas
    meters: Meters = field(default_factory=Meters)  #: what this process does

    async def search(
        self, collections: frozenset[str], query: str, limit: int, refresh: Refresh | None = None
    ) -> Hits:
        """Passages of these collections, as footnotes."""
        scope, is_current = Scope(collections=collections), self.answers.is_current
        documents = ScopedDocuments(library=self.library, scope=scope, refresh=refresh, is_current=is_current)
        return await find_passages(documents, query, limit=limit, complete=self.assistant.complete)


@asynccontextmanager
async def open_footnote(
    settings: Settings, *, purpose: str, reads: Reads, storage: Storage | None = None,
    embedder: Embedder | None = None, refresh: Refresh | None = None,
    sentence: Callable[[FootnoteError], str] = attrgetter("sentence"),
    source_kinds: SourceKinds | None = None,
) -> AsyncIterator[Footnote]:  # fmt: skip
    """Lock the data folder and build everything that answers need, ``storage`` too if there is none. SettingsError.
    ``refresh``: for a long-running process, as commands sync by themselves. ``sentence``: of an error, for people."""
    # LangGraph takes half a second to import, and commands that only list or remove documents do not need it.
    from core.answers.answers import CountedUses, open_answers
    from core.graph.graph import build_graph
    from core.sources import kinds, sources
    from core.turns.assistant import Assistant

    async with AsyncExitStack() as open_now:
        stores = await _open_stores(settings, purpose, storage, embedder, open_now)
        storage, library, replicas, checkpoints = stores
        models = open_models(settings, storage, open_now)
        log, meters = _open_log(settings, storage, models, open_now)
        answers = open_now.enter_context(open_answers(storage, library, review_after=settings.review_after))
        await asyncio.to_thread(answers.sync)
        store = open_now.enter_context(sources.open_source_store(storage))
        read = kinds.SOURCE_KINDS if source_kinds is None else source_kinds
        syncs = sources.SourceSyncs(
            library=library, store=store, settings=settings, replicas=replicas, kinds=read
        )
        assistant = Assistant(
            graph=build_graph(checkpoints), checkpoints=checkpoints, replicas=replicas, sentence=sentence,
            make_deps=_deps_maker(settings, answers, reads, models, refresh), turn_timeout=settings.turn_timeout,
            complete=_completer(settings, library, syncs.store), log=CountedUses(log, answers),
            completes_all=bool(settings.source_url_base or settings.stale_after),  # also what has no address
        )  # fmt: skip
        yield Footnote(
            settings=settings, storage=storage, library=library, assistant=assistant, log=log, answers=answers,
            sources=syncs, replicas=replicas, meters=meters,
        )  # fmt: skip


async def _open_stores(
    settings: Settings, purpose: str, own: Storage | None, embedder: Embedder | None, open_now: AsyncExitStack
) -> tuple[Storage, Library, Replicas, Checkpoints]:
    """The stores, and this process among those that share them; ``open_now`` closes all of it."""
    from core.turns.checkpoints import open_checkpoints
    from core.turns.replicas import ALONE

    open_now.enter_context(own_data_dir(settings, purpose))
    storage = own or open_now.enter_context(open_storage(settings))
    library = open_library(settings, storage, embedder=embedder, is_owner=True)
    open_now.callback(library.close)
    library.check_model()
    if storage.url is None:
        saver = open_checkpoints(file_of(storage.data_dir, "conversations"))
        return storage, library, ALONE, await open_now.enter_async_context(saver)
    from core.turns.checkpoints_postgres import open_postgres_checkpoints
    from core.turns.leases import open_leases

    leases = await open_now.enter_async_context(open_leases(storage, purpose))
    return storage, library, leases, await open_postgres_checkpoints(storage, leases)


def own_data_dir(settings: Settings, purpose: str) -> contextlib.AbstractContextManager[None]:
    """Lock the data folder, unless the stores are in PostgreSQL, which any number of processes share."""
    folder = settings.data_dir
    return share_data_dir(folder) if settings.postgres_url else lock_data_dir(folder, purpose)


def is_served(settings: Settings, *, for_certain: bool = False) -> bool:
    """True if a process serves now and carries out commands. ``for_certain``: also right after a kill, which
    takes seconds to tell. SettingsError if PostgreSQL cannot be asked."""
    if settings.postgres_url is not None:
        from core.turns.leases import is_any_renewing, is_any_serving

        return (is_any_renewing if for_certain else is_any_serving)(settings.postgres_url)
    return (owner := find_owner(settings.data_dir)) is not None and owner.is_serving


def has_library(settings: Settings) -> bool:
    """False for a data folder in which nothing was ever indexed, where a look must leave nothing. SettingsError for
    one into which a copy was cut off."""
    refuse_incomplete(settings.data_dir)
    try:
        return settings.postgres_url is not None or (settings.data_dir / LIBRARY).is_file()
    except PermissionError:
        return True  # to open it says what is wrong


def open_library(
    settings: Settings,
    storage: Storage | None = None,
    *,
    embedder: Embedder | None = None,
    is_owner: bool = False,
    beside: Path | None = None,
) -> Library:
    """The library alone. The data folder is locked only if an older version wrote it, to migrate it. Without
    ``storage`` it is opened here. ``beside``: the file of a new index that is built next to a damaged one."""
    make_data_dir(settings.data_dir)
    resources = ExitStack()
    storage = storage or resources.enter_context(open_storage(settings))
    is_older = (version_in(settings.data_dir / LIBRARY) or SCHEMA.version) < SCHEMA.version
    needs_lock = is_older and not is_owner
    with lock_data_dir(settings.data_dir, "footnote, after an update") if needs_lock else nullcontext():
        database = SqliteDatabase(beside, SCHEMA) if beside else storage.database("library", SCHEMA)
    return Library(
        store=DocumentStore(database), open_vectors=lambda: open_vectors(database, settings.data_dir / "vectors"),
        embedder=embedder, reranker=reranker_for(settings.reranker), resources=resources,
        on_forget=partial(_forget_in_stores, storage),
    )  # fmt: skip


def _forget_in_stores(storage: Storage, sources: Sequence[str]) -> None:
    """Removes the documents from other stores: from traces of who read them, and from what people taught."""
    from core.answers import store
    from core.traces import log

    for kept in (log, store):
        with closing(storage.database(kept.STORE, kept.SCHEMA)) as database:
            kept.forget_sources(database, sources)


def open_vectors(database: Database, folder: Path) -> VectorIndex:
    """The vector index that belongs to the database of a library; ``folder`` is Chroma's."""
    if database.dialect == "sqlite":
        from core.library.chroma import ChromaIndex

        return ChromaIndex(folder)
    from core.library.pgvector import PgvectorIndex
    from core.storage.postgres import PostgresDatabase

    assert isinstance(database, PostgresDatabase)
    return PgvectorIndex(database)


def access_of(settings: Settings, *, timeout: float, longest: float = 0.0) -> Access:
    """Access to the services of models, with the seconds for one call and for a slow model."""
    return Access(
        google_api_key=settings.google_api_key, google_url=settings.google_gemini_base_url,
        openai_api_key=settings.openai_api_key, openai_url=settings.openai_base_url,
        anthropic_api_key=settings.anthropic_api_key, anthropic_url=settings.anthropic_base_url,
        ollama_host=settings.ollama_host, timeout=timeout, longest=longest,
    )  # fmt: skip


def prices_of(settings: Settings) -> limits.Prices:
    return limits.Prices(of=settings.prices, currency=settings.currency, is_shown=settings.show_cost)


def open_models(settings: Settings, storage: Storage, open_now: AsyncExitStack) -> ChatModels | None:
    """The chat models that the operator chose; ``open_now`` closes them."""
    if not settings.has_chat_model:
        return None
    from core.reasoning.chat_model import ChatModels

    day, channel = settings.tokens_per_day, settings.tokens_per_day_per_channel
    person = settings.tokens_per_day_per_person
    budget = limits.open_budget(day, storage, per_channel=channel, per_person=person)
    access = access_of(settings, timeout=settings.model_timeout, longest=settings.turn_timeout)
    names = settings.chat_model, settings.judging_model
    is_measured = any(is_own(split_name(each)[0], access) for each in names)
    speeds = (
        open_now.enter_context(storage.asynchronous(limits.STORE, limits.SCHEMA)) if is_measured else None
    )
    models = ChatModels.open(
        chat_model=settings.chat_model, grader_model=settings.judging_model, access=access, database=speeds,
        budget=open_now.enter_context(budget) if day or channel or person else None, prices=prices_of(settings),
        keeps_exchanges=settings.trace_texts,
    )  # fmt: skip
    open_now.push_async_callback(models.aclose)
    return models


@asynccontextmanager
async def open_judge(settings: Settings) -> AsyncIterator[Callable[[], Reasoner] | None]:
    """A maker of reasoners for single verdicts that are no turn's; None without a chat model."""
    async with AsyncExitStack() as open_now:
        storage = open_now.enter_context(open_storage(settings))
        models = open_models(settings, storage, open_now)
        yield None if models is None else partial(models.reasoner, turn_timeout=settings.turn_timeout)


def _open_log(
    settings: Settings, storage: Storage, models: ChatModels | None, open_now: AsyncExitStack
) -> tuple[QuestionLog, Meters]:
    """The log, which tells meters and a collector of turns that end; ``open_now`` closes both."""
    from core.traces.log import open_question_log

    meters = Meters(circuits=models.circuits if models else {})
    listeners: list[Listener] = [meters.turn_ended]
    if endpoint := settings.otel_exporter_otlp_endpoint:
        from core.traces.telemetry import open_telemetry

        telemetry = open_telemetry(endpoint, has_texts=settings.trace_texts, gauges=meters.gauges)
        listeners.append(open_now.enter_context(telemetry).turn_ended)
    days, prices = settings.trace_days, prices_of(settings)
    opening = open_question_log(storage, days=days, prices=prices, listeners=tuple(listeners))
    return open_now.enter_context(opening), meters


def _completer(settings: Settings, library: Library, sources: SourceStore) -> Callable[[Outcome], Outcome]:
    """Puts links to the documents into an outcome, and marks those not seen for too long."""
    from core.library.links import SourceLinks
    from core.sources.documents import Sightings

    links = SourceLinks(templates=settings.source_url_base, store=library.store, private=settings.data_dir)
    sightings = Sightings(sources=sources, documents=library.store, stale_after=settings.stale_after)
    return lambda outcome: sightings.mark_unseen(links.add_links(outcome))


def make_embedder(settings: Settings, *, announce: Announce, progress: DownloadProgress) -> Embedder | None:
    """The embedder that EMBEDDING_MODEL names; None for lexical search alone. Blocks: it may download."""
    openai = {"api_key": settings.openai_api_key, "base_url": settings.openai_base_url or None}
    return embedder_for(
        settings.embedding_model, google_api_key=settings.google_api_key,
        google_base_url=settings.google_gemini_base_url, timeout=settings.model_timeout, announce=announce,
        progress=progress, options={"openai": openai, "ollama": {"base_url": settings.ollama_host or None}},
        hub=settings.hf_endpoint,
    )  # fmt: skip


def fetch_reranker(settings: Settings, *, announce: Announce, progress: DownloadProgress) -> None:
    """Download the network of RERANKER, if it is one of a hub and not here. Blocks. Raises SettingsError."""
    if (reranker := reranker_for(settings.reranker)) is not None:
        reranker.fetch(Hub(endpoint=settings.hf_endpoint), announce=announce, progress=progress)


def make_fetcher(settings: Settings, *, for_operator: bool = False) -> GuardedFetcher:
    """A fetcher for URLs that people add: not from WEB_BLOCKED_HOSTS; ``for_operator``: from PRIVATE_HOSTS too."""
    return GuardedFetcher(
        timeout=settings.search_timeout, body_limit=INGESTED_PAGE_LIMIT, blocked=settings.web_blocked_hosts,
        private=settings.private_hosts if for_operator else (),
    )  # fmt: skip


def make_web(settings: Settings) -> WebResearch | None:
    engine = engine_for(
        settings.web_search, timeout=settings.search_timeout, tavily_api_key=settings.tavily_api_key,
        tavily_base_url=settings.tavily_base_url, searxng_url=settings.searxng_url,
    )  # fmt: skip
    if engine is None:
        return None
    trusted, blocked = settings.web_trusted_hosts, settings.web_blocked_hosts
    fetcher = GuardedFetcher(timeout=settings.search_timeout, trusted=trusted, blocked=blocked)
    return WebResearch(engine=engine, fetcher=fetcher, trusted=trusted, blocked=blocked)


def _reasoner_maker(
    settings: Settings, library: Library, models: ChatModels | None
) -> Callable[[Turn, Policy], Reasoner]:
    """The maker of a turn's reasoner: with the models, or from quotes alone."""

    async def similarity(question: str, texts: Sequence[str]) -> Sequence[float]:
        return await asyncio.to_thread(library.similarity, question, texts)

    def extractive() -> ExtractiveReasoner:  # not earlier: the embedder may be set later
        return ExtractiveReasoner(similarity if library.embedder else None)

    if models is None:
        return lambda _turn, _policy: extractive()
    from core.reasoning.brief import BriefReasoner
    from core.reasoning.chat_model import FallbackReasoner

    # Leaves time for quotes if the model hangs.
    seconds = settings.turn_timeout - min(RESERVE, settings.turn_timeout / 5)

    def reasoner(turn: Turn, policy: Policy) -> Reasoner:
        is_test = isinstance(turn, Question) and turn.is_test  # those who ask are not charged for it
        channel, person = ("", "") if is_test else (turn.conversation.channel_id, turn.author)
        chat = models.reasoner(turn_timeout=seconds, channel=channel, person=person)
        quoting = extractive()
        asked = BriefReasoner(chat, quoting) if policy.name == BRIEF else chat
        return FallbackReasoner(asked, quoting)

    return reasoner


def _deps_maker(
    settings: Settings, answers: Answers, reads: Reads, models: ChatModels | None, refresh: Refresh | None
) -> Callable[[Turn, Report], Awaitable[Deps]]:
    web, library = make_web(settings), answers.library
    make_reasoner = _reasoner_maker(settings, library, models)

    async def make_deps(turn: Turn, report: Report) -> Deps:
        from core.graph.context import Deps

        readable = await reads(turn.conversation, turn.author, library)
        is_test = isinstance(turn, Question) and turn.is_test

        async def look_up_rights() -> frozenset[str]:
            try:
                return (await reads(turn.conversation, turn.author, library)).collections
            except FootnoteError:  # what cannot be looked up may not be read
                return frozenset()

        by_itself = BRIEF if models is not None and models.are_slow else OURS
        policy = PRESETS.get(settings.policy) or PRESETS[by_itself]
        scope, is_current = Scope(collections=readable.collections), answers.is_current
        documents = ScopedDocuments(library=library, scope=scope, refresh=refresh, is_current=is_current)
        return Deps(
            policy=policy, reasoner=make_reasoner(turn, policy), documents=documents,
            web=web if readable.may_search and not is_test else None, approval=settings.web_approval,
            approvers=settings.web_approvers, proposals_expire=settings.proposals_expire, watcher=report,
            note_dispute=answers.note_dispute, withdrawn=answers.withdrawn, remark=readable.remark,
            look_up_rights=look_up_rights,
        )  # fmt: skip

    return make_deps
