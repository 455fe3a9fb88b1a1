"""Answers that people taught: kept, used, reviewed and forgotten. The library follows the store."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace

from core.answers import store
from core.conversation import Conversation, Outcome, Question, Turn, check_question, log_fields
from core.errors import FootnoteError
from core.graph import rights
from core.library.documents import ANSWER, Retrieval
from core.library.library import Library
from core.library.readers import ReaderSets
from core.storage.database import AsyncDatabase, Database, rows_as
from core.storage.storage import Storage
from core.text.language import language_of
from core.traces.log import DAY, Log, QuestionLog
from core.traces.trace import Trace

logger = logging.getLogger(__name__)

EVERY = store.AnswerFilter()


@dataclass(slots=True, kw_only=True)
class Answers:
    """Raises StoreUnavailable when nothing can be read or written now. Everything may be done twice."""

    database: AsyncDatabase
    library: Library
    review_after: float  #: seconds for which an answer is used before somebody reviews it
    now: Callable[[], float] = time.time
    #: What is kept again right after is kept whole.
    _changing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def get(self, answer_id: str) -> store.KeptAnswer | None:
        return next(iter(await self._select("id = ?", answer_id)), None)

    async def of_message(self, message: str) -> store.KeptAnswer | None:
        """The answer that a message holds; None if it is not kept."""
        return next(iter(await self._select("message = ?", message)), None)

    async def of_conversation(self, conversation: Conversation) -> list[store.KeptAnswer]:
        return await self._select("conversation = ?", conversation.id)

    async def find(self, wanted: store.AnswerFilter = EVERY) -> list[str]:
        """The ids of such answers, those kept last first."""
        return await self.database.call(store.find, self.database.database, wanted)

    async def list_answers(self, ids: Sequence[str] | None = None) -> list[store.ListedAnswer]:
        """These answers, or every one, with how often each was used and what disputes it."""
        wanted = await self.find() if ids is None else ids
        return await self.database.call(store.list_answers, self.database.database, wanted)

    async def words(self) -> dict[str, str]:
        """The question and the text of every answer, by id."""
        rows = await self.database.rows("SELECT id, question, text FROM answers")
        return {each: f"{question}\n{text}" for each, question, text in rows}

    async def versions(self, answer_id: str) -> list[store.AnswerVersion]:
        """The versions of an answer with who changed it, oldest first."""
        query = "SELECT * FROM answer_versions WHERE answer = ? ORDER BY revision"
        rows = await self.database.rows(query, (answer_id,))
        return [
            store.AnswerVersion(
                answer=answer, revision=revision, question=question, text=text, collection=collection,
                change=store.Change(change=change, name=name, changed_at=at),
            )
            for answer, revision, change, name, at, question, text, collection in rows
        ]  # fmt: skip

    async def keep(self, answer: store.KeptAnswer) -> store.KeptAnswer:
        """Write an answer down, to be used once shown to who said it. QuestionRejected or AnswerRejected."""
        question, text = check_question(answer.question), store.check_answer(answer.text)
        now = self.now()
        valid_until = now + self.review_after
        new = replace(answer, question=question, text=text, state="new", kept_at=now, valid_until=valid_until)
        async with self._changing:
            return await self.database.call(store.put, self.database.database, new)

    async def use(self, answer_id: str) -> None:
        """Let questions find an answer. One that was forgotten meanwhile stays so."""
        async with self._changing:
            query = "UPDATE answers SET state = 'used' WHERE id = ? AND state = 'new'"
            await self.database.write(query, (answer_id,))
            if (answer := await self.get(answer_id)) is not None:
                await asyncio.to_thread(self._index, answer, answer.collection)

    async def edit(
        self, answer: store.KeptAnswer, *, question: str, text: str, by: str, collection: str = ""
    ) -> store.KeptAnswer | None:
        """Give an answer a new wording, which is used and valid as long as a new answer. It may move to
        another collection. Other words are those of who edits, ``by`` as people call them. QuestionRejected,
        AnswerRejected."""
        question, text = check_question(question), store.check_answer(text)
        now = self.now()
        edited = replace(
            answer, question=question, text=text, collection=collection or answer.collection,
            valid_until=now + self.review_after, state="used",
        )  # fmt: skip
        if (question, text) != (answer.question, answer.text):
            is_own = not answer.author and not answer.editor and answer.name == by
            of_words = {"said_at": now} if is_own else {"editor": by, "edited_at": now}
            edited = replace(edited, **of_words)
        return await self._change(answer, edited, "edited", by)

    async def correct(
        self, *, question: str, text: str, collection: str, name: str, message: str
    ) -> store.KeptAnswer:
        """Keep an editor's answer, which is used at once. ``message`` is the id of the request, so a repeat
        is the same answer."""
        now = self.now()
        answer = await self.keep(
            store.KeptAnswer(
                id=store.id_of(message), question=question, text=text, author="", name=name, place="",
                conversation="", message=message, url=None, collection=collection,
                language=language_of(question), said_at=now, kept_at=now, valid_until=now,
            )
        )  # fmt: skip
        await self.use(answer.id)
        return answer

    async def extend(self, answer: store.KeptAnswer, *, by: str) -> store.KeptAnswer | None:
        """Keep a reviewed answer valid as long as a new one."""
        extended = replace(answer, valid_until=self.now() + self.review_after, state="used")
        return await self._change(answer, extended, "extended", by)

    async def retire(self, answer: store.KeptAnswer, *, by: str) -> store.KeptAnswer | None:
        """Stop using an answer; editors can still read it."""
        return await self._change(answer, replace(answer, state="retired"), "retired", by)

    async def _change(
        self, answer: store.KeptAnswer, changed: store.KeptAnswer, change: store.ChangeName, by: str
    ) -> store.KeptAnswer | None:
        """The answer as it is stored now, and in the library. None if it was changed or forgotten since it
        was read."""
        changed = replace(changed, revision=answer.revision + 1)
        done = store.Change(change=change, name=by, changed_at=self.now())
        async with self._changing:
            if not await self.database.call(store.change, self.database.database, changed, done):
                return None
            await asyncio.to_thread(self._index, changed, answer.collection)
        return changed

    async def forget(self, answer: store.KeptAnswer) -> None:
        """Delete it, its document, and the traces of turns that read it."""
        async with self._changing:
            # The store first: what indexes it at the same time sees that it is gone, and takes its document back.
            await self.database.call(store.forget, self.database.database, [answer.id])
            await asyncio.to_thread(forget_document, self.library, answer.collection, answer.address)

    async def is_current(self, retrieval: Retrieval) -> bool:
        """False if an answer was found that is not used any more. It is no longer in the library: look
        again."""
        found = store.kept_ids(hit.passage.source for hit in retrieval.passages)
        if not found:
            return True
        usable = await self.database.call(store.usable_among, self.database.database, found, self.now())
        if not usable.issuperset(found):
            await asyncio.to_thread(self.sync)
        return usable.issuperset(found)

    async def withdrawn(
        self, sources: Iterable[str], behind: Collection[str], readable: Collection[str]
    ) -> frozenset[str]:
        """The sources among these that may not be quoted where ``readable`` collections are read. They are
        kept answers that are no longer used or belong elsewhere, and documents that others read now.
        ``behind``: the collections that they were cited from."""
        cited = tuple(sources)
        asked = {f"{ANSWER}{answer}": answer for answer in store.kept_ids(cited)}
        readers = ReaderSets(self.library.store.database)
        closed = await asyncio.to_thread(readers.withdrawn, cited, behind, readable)
        if not asked:
            return closed
        among = (tuple(asked.values()), self.now(), readable)
        usable = await self.database.call(store.usable_among, self.database.database, *among)
        return closed.union(source for source, answer in asked.items() if answer not in usable)

    async def within(self, outcome: Outcome, readable: Collection[str]) -> Outcome:
        """A stored outcome as it may be shown where these collections are readable by now."""
        behind = rights.collections_of(outcome)
        withdrawn = await self.withdrawn(rights.documents_in(outcome), behind, readable)
        return rights.outcome_within(outcome, readable, withdrawn)

    def sync(self) -> None:
        """Bring the library in step with the store. Blocking."""
        sync(self.database.database, self.library, self.now())

    async def note_uses(self, turn_id: str, outcome: Outcome) -> None:
        """Count an answer that cites kept ones; the same turn counts once."""
        citations = outcome.answer.citations if outcome.answer else ()
        if cited := store.kept_ids(citation.source for citation in citations):
            query = "INSERT INTO answer_uses VALUES (?, ?) ON CONFLICT DO NOTHING"
            await self.database.write_all(query, [(answer, turn_id) for answer in cited])

    async def note_dispute(self, answer_source: str, others: Sequence[str]) -> None:
        """A judge found that documents say something else than a kept answer. No question fails for it."""
        rows = [(answer, other, self.now()) for answer in store.kept_ids([answer_source]) for other in others]
        query = "INSERT INTO answer_disputes VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        try:
            await self.database.write_all(query, rows)
        except FootnoteError:
            logger.exception("that documents dispute a kept answer could not be noted")

    async def dispute(self, conversation: Conversation, words: str, source: str) -> None:
        """Have the answers reviewed that were kept in a conversation, or say words that a document says no longer."""
        now = self.now()
        for answer in await self._select("state = 'used' AND valid_until > ?", now):
            if answer.conversation == conversation.id or words in answer.text:
                await self.note_dispute(answer.address, [source])
                due = "UPDATE answers SET valid_until = ? WHERE id = ? AND revision = ?"
                async with self._changing:
                    await self.database.write(due, (now, answer.id, answer.revision))
                    await asyncio.to_thread(self._index, replace(answer, valid_until=now), answer.collection)

    async def note_request(self, request: store.ExpertRequest) -> None:
        """Note that experts were asked; a repeat changes nothing."""
        query = "INSERT INTO expert_requests VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        await self.database.write(query, astuple(request))

    async def request_in(self, conversation: Conversation) -> store.ExpertRequest | None:
        """The last request to experts in a conversation."""
        query = "SELECT * FROM expert_requests WHERE conversation = ? ORDER BY asked_at DESC LIMIT 1"
        rows = await self.database.rows(query, (conversation.id,))
        return next(iter(rows_as(store.ExpertRequest, rows)), None)

    async def forget_requests(self, conversation: Conversation) -> None:
        await self.database.write("DELETE FROM expert_requests WHERE conversation = ?", (conversation.id,))

    async def _select(self, where: str, *values: object) -> list[store.KeptAnswer]:
        return await self.database.call(store.select, self.database.database, where, values)

    def _index(self, answer: store.KeptAnswer, collection_before: str) -> None:
        is_usable = answer.is_usable(self.now())
        if collection_before != answer.collection or not is_usable:
            self.library.store.remove(collection_before, answer.address)
        if is_usable:
            index(self.database.database, self.library, answer)


def index(database: Database, library: Library, answer: store.KeptAnswer) -> None:
    """Let questions find an answer, unless it is forgotten meanwhile."""
    library.store.put(store.document_of(answer))
    if not store.select(database, "id = ?", (answer.id,)):
        forget_document(library, answer.collection, answer.address)


def forget_document(library: Library, collection: str, address: str) -> None:
    """Delete the document of an answer, if it has one, and the traces of turns that read it."""
    if library.store.entry(collection, address) is not None:
        library.forget(address, collection=collection)


def sync(database: Database, library: Library, now: float) -> None:
    """Index the answers that are used and not in the library, and remove all others from it. Blocking."""
    known = {answer.address: answer for answer in store.select(database)}
    usable = {address: answer for address, answer in known.items() if answer.is_usable(now)}
    for entry in library.store.answers():
        answer = usable.get(entry.address)
        if answer and (entry.collection, entry.hash) == (answer.collection, store.document_of(answer).hash):
            del usable[entry.address]
        elif entry.address in known:
            library.store.remove(entry.collection, entry.address)
        else:  # whoever forgot it was killed in between
            forget_document(library, entry.collection, entry.address)
    for answer in usable.values():
        index(database, library, answer)


@dataclass(frozen=True, slots=True)
class CountedUses(Log):
    """The log of questions, which also counts the uses of kept answers. Questions that only test them do not
    count."""

    log: QuestionLog
    answers: Answers

    async def record(self, turn: Turn, outcome: Outcome, trace: Trace) -> None:
        if isinstance(turn, Question) and turn.is_test:
            return
        await self.log.record(turn, outcome, trace)
        try:
            await self.answers.note_uses(turn.id, outcome)
        except FootnoteError:  # the answer is not lost to it
            logger.exception("a use of a kept answer could not be counted", extra=log_fields(turn))

    async def forget_conversation(self, conversation: Conversation) -> None:
        await self.log.forget_conversation(conversation)

    async def list_watched(self) -> frozenset[str]:
        return await self.log.list_watched()


@contextmanager
def open_answers(storage: Storage, library: Library, *, review_after: int) -> Iterator[Answers]:
    """Raises SettingsError when the store cannot be used. ``review_after``: in days."""
    with storage.asynchronous(store.STORE, store.SCHEMA) as database:
        yield Answers(database=database, library=library, review_after=review_after * DAY)
