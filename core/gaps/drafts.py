"""Proposed changes to documents, from what people and approved searches answered and the documents did not.

A draft puts the words of a kept answer, or quotes of the web pages that an approved search was answered from, into the
section that is nearest to the question, as a patch that somebody reviews and applies. It changes nothing by itself. The
document is one that whoever asked may read; where others read it than read the answer, that is said.
"""

import asyncio
import difflib
import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from core.answers import store as kept
from core.answers.answers import Answers
from core.conversation import value
from core.errors import DocumentError
from core.gaps.insertion import AddedText, Inserted, insert
from core.gaps.questions import GapStore, TimeSpan
from core.library.documents import Passage, Scope, is_kept
from core.library.entries import Entry
from core.library.formats.read import parse_file, read_bytes
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.retriever import Query
from core.sources.git import source as git
from core.sources.git.address import PREFIXES
from core.sources.sources import folder_of
from core.sources.store import SourceStore
from core.text.sentences import split_sentences
from core.traces.log import QuestionLog
from core.traces.search import QuestionFilter, search
from core.traces.trace import Trace

FOLLOWED = 1_000  # approved searches that are looked through, the newest ones
NEAREST = 5  # passages that are looked at for where an answer belongs
OWN_WORDS = 2.0  # how much a document of plain text is preferred to one that takes no patch

MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd"})
#: Documents whose text is that of their file, so that something can be put into it.
PLAIN = MARKDOWN | {".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org"}

#: What some generators of websites would carry out, or what would be read as something else than words.
_ACTS = re.compile(
    r"\{\{|\{[%#*]|<[A-Za-z/!?]|^\s*(?:\.\. |include::|ifdef::|#\+\w|-{1,3}8<-|:{3,}|!!!|/{3}|import |export |-{3,}\s*$|#{1,6} )",
    re.MULTILINE,
)
_CODE = re.compile(r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)|`[^`\n]+`", re.DOTALL)
_MARKDOWN_ALONE = re.compile(r"```|~~~|\]\(|^\s*\|", re.MULTILINE)
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")


@value
class Saying:
    """Words of an answer, and whose they are."""

    words: str
    by: str  #: "Ann, in #help, 12 Mar 2026", or the title of a page of the web
    url: str | None = None
    is_quote: bool = False  #: of a page of the web


@value
class GapAnswer:
    """An answer to what the documents left open."""

    id: str  #: of a kept answer, or the turn of an approved search
    question: str
    said: tuple[Saying, ...]
    within: frozenset[str]  #: the collections whose readers alone read it by now
    targets: frozenset[str]  #: collections whose documents it may be added to
    asked: int = 1  #: how many questions it answers
    is_kept: bool = True


@value
class GapDraft:
    """A proposed change."""

    answer: GapAnswer
    entry: Entry | None = None  #: the document; None: none is near
    section: tuple[str, ...] = ()
    path: str = ""  #: of the file in its folder or repository
    root: str = ""  #: that folder, or the address of the repository
    near: Passage | None = None
    before: str = ""  #: the text of the file
    after: str = ""  #: empty: the draft is words to be put in by hand
    why: str = ""  #: a sentence: why there is no patch

    @property
    def name(self) -> str:
        """The name of its file, without a suffix."""
        words = re.findall(r"\w+", self.answer.question.lower())
        digits = re.sub(r"\W", "", self.answer.id)[-8:]
        return f"{'-'.join(words)[:48].strip('-') or 'answer'}-{digits}"

    @property
    def is_wider(self) -> bool:
        """True if others read the document than read the answer by now. A person has to decide that they
        may."""
        return self.entry is not None and not self.answer.within <= {self.entry.collection}

    @property
    def patch(self) -> str:
        """A unified diff that `git apply` takes; empty where there is none."""
        return unified_diff(self.path, self.before, self.after) if self.after else ""


def unified_diff(path: str, before: str, after: str) -> str:
    lines = (_lines(before), _lines(after))
    made = list(difflib.unified_diff(*lines, f"a/{path}", f"b/{path}"))
    # After a name with a blank, git writes a tab, so that it is known where it ends.
    head = [line.rstrip("\n") + ("\t\n" if " " in path else "\n") for line in made[:2]]
    body = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in made[2:])
    return "".join((*head, *body))


def _lines(text: str) -> list[str]:
    """The lines as git counts them: they end in "\\n" alone."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


async def gap_answers(span: TimeSpan, store: GapStore, answers: Answers, log: QuestionLog) -> list[GapAnswer]:
    """The answers to gaps of a span, those asked for most often first."""
    marks = await store.marks()
    ids = dict.fromkeys(mark.answer for mark in marks.values() if mark.answer and mark.set_at >= span.since)
    kept_answers = [each for answer in ids if (each := await answers.get(answer)) is not None]
    usable = [each for each in kept_answers if each.is_usable(answers.now())]
    said = [await answer_of(each, store, log) for each in usable]
    wanted = QuestionFilter(kind="approve", ending="answered", since=span.since, until=span.until)
    turns = [each.question.turn for each in await search(log, wanted, limit=FOLLOWED)]
    traces = await log.traces(turns)
    said += [found for turn in turns if turn in traces and (found := _of_web(turn, traces[turn]))]
    return sorted(said, key=lambda each: -each.asked)


async def answer_of(answer: kept.KeptAnswer, store: GapStore, log: QuestionLog) -> GapAnswer:
    """A kept answer, for the documents that whoever asked may read. Where that is not known any more, the
    usual ones."""
    turns = [turn for turn, mark in (await store.marks()).items() if mark.answer == answer.id]
    traces = await log.traces(turns)
    read = frozenset(name for trace in traces.values() for name in trace.collections)
    by, url = kept.title_of(answer), None if answer.editor else answer.url
    return GapAnswer(
        id=answer.id, question=answer.question,
        said=tuple(Saying(words=each, by=by, url=url) for each in _paragraphs(answer.text)),
        within=frozenset((answer.collection,)), targets=frozenset((*(read or (DEFAULT_COLLECTION,)), answer.collection)),
        asked=max(len(turns), 1),
    )  # fmt: skip


def _of_web(turn: str, trace: Trace) -> GapAnswer | None:
    """The answer of an approved search; None without quotes."""
    quotes = [each for each in trace.citations if each.origin == "web" and each.number and each.quote]
    said = tuple(
        Saying(words=" ".join(each.quote.split()), by=each.title or each.source, url=each.url or each.source, is_quote=True)
        for each in quotes
    )  # fmt: skip
    # The question may have words of all that was read where it was asked.
    read = frozenset(trace.collections)
    question = trace.standalone or trace.question
    answer = GapAnswer(id=turn, question=question, said=said, within=read, targets=read, is_kept=False)
    return answer if said else None


def _paragraphs(text: str) -> tuple[str, ...]:
    """Paragraphs; code in a fence is one."""
    parts: list[str] = []
    for part in _PARAGRAPHS.split(text.replace("\r\n", "\n").strip()):
        if parts and parts[-1].count("```") % 2:
            parts[-1] += f"\n\n{part}"
        elif part.strip():
            parts.append(part.rstrip())
    return tuple(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """Makes drafts from the library and the files that it was read from."""

    library: Library
    sources: SourceStore
    data_dir: Path

    async def draft(self, answer: GapAnswer) -> GapDraft | None:
        """The change that an answer proposes; None where the documents state it by now."""
        for near in await asyncio.to_thread(self._nearest, answer):
            named = await asyncio.to_thread(self.library.store.find_named, near.collection, near.source)
            if named:
                return await self._within(answer, named[0], near)
        return GapDraft(answer=answer, why="No document is near.")

    def _nearest(self, answer: GapAnswer) -> list[Passage]:
        """Passages of documents where it may belong, the nearest to its question and its words first."""
        scope = Scope(collections=answer.targets)
        worth, passages = dict[str, float](), dict[str, Passage]()
        for text in (answer.question, f"{answer.question} {answer.said[0].words}"):
            found = self.library.retrieve(Query(text=text[: kept.TEXT_LIMIT], scope=scope, limit=NEAREST))
            for hit in found.passages:
                if not is_kept(hit.passage.source):
                    passages[hit.passage.id] = hit.passage
                    is_plain = PurePosixPath(hit.passage.source).suffix.lower() in PLAIN
                    more = hit.score * (OWN_WORDS if is_plain else 1)
                    worth[hit.passage.id] = worth.get(hit.passage.id, 0.0) + more
        return [passages[each] for each in sorted(worth, key=lambda each: -worth[each])]

    async def _within(self, answer: GapAnswer, entry: Entry, near: Passage) -> GapDraft | None:
        held = GapDraft(answer=answer, entry=entry, section=near.path, near=near)
        suffix = PurePosixPath(entry.source).suffix.lower()
        if suffix not in PLAIN:
            return replace(held, why=f"{entry.source} is no file of plain text.")
        try:
            root, path, data = await self._file(entry)
            before = data.decode("utf-8")
        except (DocumentError, UnicodeDecodeError) as fault:
            why = str(fault) if isinstance(fault, DocumentError) else "is not in UTF-8"
            return replace(held, why=f"{entry.source} {why}.")
        if states(before, *(each.words for each in answer.said)):
            return None
        if (made := await asyncio.to_thread(insert_answer, before, path, near, answer)) is None:
            return replace(held, why=f"{entry.source} has parts of other files in it.")
        held = replace(held, root=root, path=path, before=before, section=made.section)
        question = [answer.question] if made.style in ("question", "bold question") else []
        why = hinders("\n\n".join((*question, *(each.words for each in answer.said))), suffix)
        return replace(held, why=why) if why else replace(held, after=made.text)

    async def _file(self, entry: Entry) -> tuple[str, str, bytes]:
        """The folder or repository of a document's file, its path there, and its bytes. DocumentError."""
        if entry.address.startswith(PREFIXES):
            records = await asyncio.to_thread(self.sources.all)
            record = next((each for each in records if each.address == entry.root), None)
            if record is None:
                raise DocumentError("is of a repository that is not read any more")
            folder = folder_of(self.data_dir, record.number)
            item = entry.address.removeprefix(f"{record.address}/")
            path, data = await git.read_file(record.address, folder, item)
            return record.address, path, data
        file, root = Path(entry.address), Path(entry.root)
        if not file.is_absolute():
            raise DocumentError("is kept elsewhere")
        folder = root if root != file and file.is_relative_to(root) else file.parent
        return str(folder), file.relative_to(folder).as_posix(), await asyncio.to_thread(read_bytes, file)


def insert_answer(before: str, path: str, near: Passage, answer: GapAnswer) -> Inserted | None:
    """The text of a file with an answer. None if the text that was read is not the file's own alone.
    DocumentError."""
    text = before.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    document = parse_file(Path(path), text.encode())
    if len(document.text) != len(text):
        return None
    is_markdown = PurePosixPath(path).suffix.lower() in MARKDOWN
    question = " ".join(answer.question.split())
    made = insert(
        document, text, near, AddedText(question=question, paragraphs=format_answer(answer, is_markdown))
    )
    mark = before[: len(before) - len(text)]
    return replace(made, text=mark + made.text)


def format_answer(answer: GapAnswer, is_markdown: bool) -> tuple[str, ...]:
    """The words as they are written into a document, quotes with the page that they are of."""
    quoted = "> {words}\n>\n> — [{by}](<{url}>)" if is_markdown else "“{words}” ({by}, {url})"
    return tuple(
        quoted.format(words=each.words, by=re.sub(r"([\[\]])", r"\\\1", each.by), url=each.url)
        if each.is_quote
        else each.words
        for each in answer.said
    )


def hinders(words: str, suffix: str) -> str:
    """A sentence that says why words are not put into a file of this kind; empty: they can be."""
    bare = _CODE.sub("", words)
    if _ACTS.search(words if "{{" in words or "{%" in words else bare) or (suffix == ".mdx" and "{" in bare):
        return "The answer holds signs that a website would take for markup."
    if suffix not in MARKDOWN and _MARKDOWN_ALONE.search(words):
        return f"The answer is written in Markdown, and the document ({suffix}) is not."
    return ""


def states(text: str, *said: str) -> bool:
    """True if a text has every sentence that was said, whole. Line breaks and the markup of words do not
    matter."""
    stated = _sentences(text)
    return all(_sentences(each) <= stated for each in said)


def _sentences(text: str) -> set[str]:
    return {
        " ".join(re.findall(r"\w+", text[start:end].casefold())) for start, end in split_sentences(text)
    } - {""}
