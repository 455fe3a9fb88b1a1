"""Collections, their documents as they were cut, and what could not be read.

Whoever is in sees the collections of the session and nothing of others.
"""

import asyncio
from collections.abc import Collection, Mapping

from aiohttp import web

from bots.chat.access import access_rules, readers
from bots.chat.texts import counted
from bots.page.rights import collections_called
from bots.page.site import View, Visit, go_to, number_in
from bots.page.templating import collection_path, document_path
from core.conversation import value
from core.errors import FootnoteError
from core.library.documents import ANSWER, Scope, is_kept
from core.library.entries import Entry
from core.library.overview import CollectionSize, collection_sizes, cut_passages, family
from core.library.readers import base_of
from core.library.retriever import Query
from core.library.roots import UnreadableFile, is_within, resolve_name
from core.sources.kinds import source_labels
from core.sources.store import SourceRecord
from core.traces.figures import DocumentUse, document_uses

DOCUMENTS, PASSAGES = 200, 50  # on one page
FOUND = 10  # passages of one try
USES = ("cited", "found, never cited", "never found", "stale")  # by which documents are chosen
BY_NUMBER = {"cited": "cited", "found, never cited": "found"}  # those with most come first
FAILURES = 20  # items of a source, which is shown with its collection
WORDS_LIMIT = 1_000  # characters of a question that is tried
NOT_ALONE = "It is part of a source, which is read as a whole: when it is due, or with `footnote ingest`."
NOT_THERE = "There is no such collection or document, or it is closed to you."

VIEW = View(title="Sources", path="/sources", key="s", is_ranged=True)


@value
class CollectionView:
    """A collection with its documents whose source matches the words."""

    entries: tuple[Entry, ...]
    unreadable: tuple[UnreadableFile, ...]
    uses: Mapping[str, DocumentUse]  #: by the source
    #: When documents were seen at their source, if that is too long ago, by their ids.
    unseen: Mapping[int, float]


@VIEW.get("/sources")
async def show_sources(visit: Visit) -> web.Response:
    """The collections, or one of them; with a question, also what is found for it there."""
    library, name, words = visit.site.library, _named(visit)[0], visit.query("try")[:WORDS_LIMIT]
    sizes = await sizes_of(visit)
    if name and name not in sizes:
        return visit.sorry(NOT_THERE)
    called = await collections_called(visit, [name] if name else sizes)
    searched = _searched(visit, {name} if name else set(sizes))
    database = visit.site.channels.database
    rules = await database.call(access_rules, database.database, sizes)
    use, text = visit.query("use") if visit.query("use") in USES else "", visit.query("text")
    opened = await _read_collection(visit, name, text, use) if name else None
    query = Query(text=words, scope=Scope(collections=searched), limit=FOUND)
    kept = {"collection": name, "text": text, "use": use, "days": str(visit.days)}
    listed = visit.site.sightings.sources.list_sources
    failures, of_few = FAILURES if name else 0, visit.session.collections is None
    sources = await asyncio.to_thread(listed, failures=failures, of_few=of_few)
    return visit.show(
        "sources.html", title=called.get(name, name) or "Sources", name=name, called=called,
        sizes=[sizes[name]] if name else list(sizes.values()),
        readers={each: readers(those) for each, those in rules.items()}, opened=opened,
        page=opened and visit.page_of(opened.entries, DOCUMENTS, **kept), use=use, uses=USES,
        sources=[each for each in sources if each.record.collection in searched],
        text=text, words=words,
        found=await asyncio.to_thread(library.retrieve, query) if words else None,
        refresh_age=await asyncio.to_thread(library.refresh_age),
    )  # fmt: skip


@VIEW.get("/sources/document")
async def show_document(visit: Visit) -> web.Response:
    entry = await _entry(visit, *_named(visit), source=visit.request.query.get("source", ""))
    if entry is None:
        return visit.sorry(NOT_THERE)
    database, first = visit.site.library.store.database, max(number_in(visit.query("from"), 1), 1)
    passages = await asyncio.to_thread(cut_passages, database, entry, first=first, limit=PASSAGES)
    last = passages[-1].number if passages else 0
    return visit.show(
        "source.html", title=entry.title or entry.source, entry=entry,
        unseen=await asyncio.to_thread(visit.site.sightings.unseen, [entry]),
        passages=passages, others=await asyncio.to_thread(_count_others, visit, entry),
        next=document_path(entry, first=last + 1) if last and last < entry.passages else "",
        answer=entry.source.removeprefix(ANSWER) if is_kept(entry.source) else "",
        source=await _find_source(visit, entry), called=await collections_called(visit, [entry.collection]),
    )  # fmt: skip


@VIEW.post("/sources/change")
async def change(visit: Visit) -> web.StreamResponse:
    """Read a document or a whole collection again, or forget a document; the process that serves does so."""
    typed, (name, address) = await visit.form(), _named(visit)
    if name not in await sizes_of(visit):
        return visit.sorry(NOT_THERE)
    try:
        if typed.get("change") == "read":
            return await _read_again(visit, name, address)
        if typed.get("change") == "forget":
            return await _forget(visit, name, address)
    except FootnoteError as trouble:
        return visit.sorry(str(trouble), status=503)
    return visit.sorry(NOT_THERE)


async def _forget(visit: Visit, name: str, address: str) -> web.StreamResponse:
    """Forget a document with what is below it, or an unreadable file, after a second press."""
    entry = await _entry(visit, name, address)
    unreadable = await asyncio.to_thread(visit.site.library.store.roots.unreadable, name)
    if address not in unreadable and (entry is None or is_kept(entry.source)):
        return visit.sorry(NOT_THERE)
    others = await asyncio.to_thread(_count_others, visit, entry) if entry else 0
    if entry is None:
        about, before = unreadable[address].source, "could not be read"
        gone = [f"{about}, which {before}"]
    else:
        about, before = entry.source, counted(entry.passages, "passage")
        gone = [f"{entry.title or entry.source}, {before}"]
    gone += [f"{counted(others, 'document')} that stand with it"] if others else []
    gone.append("The words of questions that rested on it, in the log; what was quoted stays in its threads")
    back = document_path(entry) if entry else collection_path(name)
    if (ask := await visit.asks_first(f"Forget this in {name}?", gone, back=back)) is not None:
        return ask
    # Of what only few may read, those are told who read everything.
    is_of_few = (
        entry is not None and await asyncio.to_thread(visit.site.library.store.entry, name, address) is None
    )
    read = None if is_of_few else (name,)
    await visit.site.work.carry_out("forget_document", {"collection": name, "address": address})
    await visit.record("forgot a document", about, before=before, after="gone", collections=read)
    return go_to(collection_path(name), "forgotten")


def _named(visit: Visit) -> tuple[str, str]:
    """The collection and the address of a document as they are: a file's name may end in a space."""
    return visit.request.query.get("collection", ""), visit.request.query.get("address", "")


async def _read_again(visit: Visit, name: str, address: str) -> web.StreamResponse:
    """Read again; files from their own root, so that no other root is made."""
    entry = await _entry(visit, name, address) if address else None
    if (address and entry is None) or (entry is not None and is_kept(entry.source)):
        return visit.sorry(NOT_THERE)
    if entry is not None and await _find_source(visit, entry) is not None:
        return visit.sorry(NOT_ALONE)
    if entry is None:
        roots = await asyncio.to_thread(visit.site.library.store.roots.all)
        targets = {"paths": [root for own, root in roots if own == name], "urls": []}
    elif "://" in entry.address:
        targets = {"paths": [], "urls": [entry.address]}
    else:
        targets = {"paths": [entry.root], "urls": []}
    done = await visit.site.work.carry_out("ingest", {**targets, "collection": name})
    failed = [each for each in done["report"]["failed"] if each["source"] in targets["urls"]]
    if failed:
        return visit.sorry(f"{failed[0]['source']}: {failed[0]['reason']}", status=502)
    path, read = collection_path(name), (name,)
    about = entry.source if entry else name
    await visit.record("had it read again", about, path=path, collections=read)
    is_there = entry is not None and await _entry(visit, name, address) is not None
    return go_to(document_path(entry) if entry is not None and is_there else collection_path(name), "read")


async def _find_source(visit: Visit, entry: Entry) -> SourceRecord | None:
    """The source that a document was read from; None for a file or a page."""
    collection = base_of(entry.collection)
    records = await asyncio.to_thread(visit.site.sightings.sources.all)
    holding = (each for each in records if is_within(entry.address, each.address))
    return next((each for each in holding if each.collection == collection), None)


async def sizes_of(visit: Visit) -> Mapping[str, CollectionSize]:
    """The sizes of the collections that the session may read, by name."""
    database, with_restricted = visit.site.library.store.database, visit.session.collections is None
    sizes = await asyncio.to_thread(collection_sizes, database, with_restricted=with_restricted)
    return {each.name: each for each in sizes if visit.session.may_read((each.name,))}


async def _entry(visit: Visit, collection: str, address: str, *, source: str = "") -> Entry | None:
    """The document at an address, or the first one of a source."""
    store = visit.site.library.store
    if not (address or source) or not visit.session.may_read((collection,)):
        return None
    if address:
        found = await asyncio.to_thread(store.entry, collection, address)
    else:
        found = next(iter(await asyncio.to_thread(store.find_named, collection, source)), None)
    if found is not None or visit.session.collections is not None:
        return found
    beside = await asyncio.to_thread(family, store, collection)
    fits = (each for each in beside if (each.address == address if address else each.source == source))
    return next(fits, None)


def _entries(visit: Visit, name: str) -> list[Entry]:
    """The documents of a collection; restricted ones only for sessions that read everything. Blocks."""
    store = visit.site.library.store
    return family(store, name) if visit.session.collections is None else store.entries(collection=name)


def _count_others(visit: Visit, entry: Entry) -> int:
    """The number of documents forgotten with this one: those below it, and copies in websites. Blocks."""
    collection = base_of(entry.collection)
    labels = source_labels(visit.site.sightings.sources, collection=collection)
    meant = resolve_name(entry.address, [*visit.site.library.list_names(collection), *labels])
    return sum(
        each.address != entry.address and any(is_within(each.address, target) for _, target in meant)
        for each in _entries(visit, entry.collection)
    )


def _searched(visit: Visit, names: Collection[str]) -> frozenset[str]:
    """The collections to search; with restricted ones for sessions that read everything."""
    if visit.session.collections is not None:
        return frozenset(names)
    known = visit.site.library.store.collections()
    return frozenset(each for each in known if base_of(each) in names)


async def _read_collection(visit: Visit, name: str, text: str, use: str) -> CollectionView:
    log = visit.site.log.database
    counted = await log.call(document_uses, log.database, visit.dates()[0])
    merged: dict[str, DocumentUse] = {}
    reads_all = visit.session.collections is None
    for (collection, source), each in counted.items():
        if name == (base_of(collection) if reads_all else collection):
            merged[source] = each + merged.get(source, DocumentUse())
    return await asyncio.to_thread(_chosen, visit, name, text.casefold(), use, merged)


def _chosen(visit: Visit, name: str, text: str, use: str, uses: Mapping[str, DocumentUse]) -> CollectionView:
    """The documents that a filter of the page chooses. Blocks."""
    unreadable = tuple(visit.site.library.store.roots.unreadable(name).values())
    entries = [each for each in _entries(visit, name) if text in f"{each.source}\n{each.title}".casefold()]
    unseen = visit.site.sightings.unseen(entries)
    nothing = DocumentUse()

    def fits(entry: Entry) -> bool:
        own = uses.get(entry.source, nothing)
        return {
            "cited": own.cited > 0,
            "found, never cited": own.found > own.cited == 0,
            "never found": own.found == 0,
            "stale": entry.id in unseen,
        }.get(use, True)

    chosen = [each for each in entries if fits(each)]
    if use in BY_NUMBER:
        chosen.sort(key=lambda each: -getattr(uses[each.source], BY_NUMBER[use]))
    return CollectionView(entries=tuple(chosen), unreadable=unreadable, uses=uses, unseen=unseen)
