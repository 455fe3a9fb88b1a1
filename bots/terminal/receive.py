"""A typed line -> a turn or a command, and what a command needs of whoever does its work. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Protocol

from bots.chat.indexing import BackgroundVectors, Targets
from bots.terminal.screen import Screen
from core.conversation import (
    Conversation,
    Decision,
    Outcome,
    Proposal,
    Question,
    Turn,
    Verdict,
    check_question,
    value,
)
from core.graph.approval import checked_query
from core.library.indexing import Notify
from core.library.library import Library
from core.library.passage_search import Hits
from core.library.sync import SyncReport
from core.settings import Settings, WebSearch

if TYPE_CHECKING:
    from core.turns.assistant import Report


TerminalCommandName = Literal["sources", "forget", "more", "proposals", "help", "quit", "edit", "unknown"]

#: What can be typed after a slash, and what /help says about it.
COMMANDS: Mapping[str, tuple[TerminalCommandName, str]] = {
    "/more": ("more", "the other footnotes of the last answer, and every quote in full"),
    "/sources": ("sources", "the documents this conversation reads"),
    "/proposals": ("proposals", "web searches that wait for a decision; with a number, decide that one"),
    "/forget": ("forget", "forget this conversation; with a document's name, that document"),
    "/help": ("help", "this help"),
    "/quit": ("quit", "leave; Ctrl-D does the same"),
}
_ALIASES: Mapping[str, str] = {"/exit": "/quit", "/q": "/quit", "/?": "/help"}
#: Yes and no as the prompt shows them, and in the languages that it speaks.
_VERDICT_WORDS: Mapping[Verdict, str] = {
    "approve": "y yes j ja o oui s sí si sim はい",
    "deny": "n no nein non não nao いいえ",
}
_VERDICTS: Mapping[str, Verdict] = {
    word: verdict for verdict, words in _VERDICT_WORDS.items() for word in words.split()
}
_COMMAND = re.compile(r"(/[a-z?]+)(?:\s+(.*))?", re.DOTALL | re.IGNORECASE)


@value
class TerminalCommand:
    """Something for the terminal to do."""

    name: TerminalCommandName
    argument: str = ""  #: what follows the name; for an unknown one, the name as typed


@value
class Situation:
    """Where and when a line was typed, and what waits for a reply."""

    turn_id: str  #: of the turn that the line becomes
    now: float  #: seconds since the epoch
    conversation: Conversation
    author: str
    sources: tuple[str, ...] = ()  #: addresses that questions stay within
    passages: int = 0  #: retrieved passages that the outcome lists
    awaiting: Proposal | None = None  #: the search that a bare y, n or e is about
    options: tuple[str, ...] = ()  #: readings that a bare number chooses from


def read(line: str, here: Situation) -> Turn | TerminalCommand | None:
    """None for an empty line; QuestionRejected when it is too long for a question."""
    text = line.strip()
    if not text:
        return None
    if (word := text.lower()) in (*_VERDICTS, "e", "edit"):
        if here.awaiting is None:
            return TerminalCommand(name="proposals")  # which says that none waits, or which ones do
        if word not in _VERDICTS:
            return TerminalCommand(name="edit")
        return decide(here.awaiting.id, _VERDICTS[word], here)
    if typed := _COMMAND.fullmatch(text):
        return _command(typed[1], (typed[2] or "").strip())
    if text.isdecimal() and 0 < int(text) <= len(here.options):
        text = here.options[int(text) - 1]
    return ask(text, here)


def ask(text: str, here: Situation) -> Question:
    """The question; QuestionRejected when it is empty or too long."""
    return Question(
        id=here.turn_id,
        conversation=here.conversation,
        author=here.author,
        text=check_question(text),
        asked_at=here.now,
        sources=here.sources,
        report_passages=here.passages,
    )


def decide(proposal_id: str, verdict: Verdict, here: Situation, *, query: str | None = None) -> Decision:
    """The decision; ``query`` replaces the one proposed. QuestionRejected when it is empty or too long."""
    return Decision(
        id=here.turn_id,
        conversation=here.conversation,
        author=here.author,
        proposal_id=proposal_id,
        verdict=verdict,
        query=None if query is None else checked_query(query),
        decided_at=here.now,
    )


def _command(typed: str, argument: str) -> TerminalCommand:
    name = typed.lower()
    known = COMMANDS.get(_ALIASES.get(name, name))
    return (
        TerminalCommand(name=known[0], argument=argument)
        if known
        else TerminalCommand(name="unknown", argument=typed)
    )


Forgotten = tuple[str, int]  # a source, and the number of its passages


class CommandTurns(Protocol):
    """The part of an Assistant that commands use."""

    async def run(self, turn: Turn, report: Report = ..., /) -> Outcome: ...

    async def unfinished(self, conversation: Conversation, /) -> Turn | None: ...

    async def proposals(self, conversation: Conversation, /) -> tuple[Proposal, ...]: ...

    async def knows(self, conversation: Conversation, /) -> bool: ...

    async def find_proposal(self, proposal_id: str, /) -> tuple[Conversation, Proposal] | None: ...

    async def forget(self, conversation: Conversation, /) -> None: ...


class Backend(Protocol):
    """The services that commands need."""

    @property
    def settings(self) -> Settings: ...

    @property
    def library(self) -> Library:
        """To be read; what changes it are the methods here."""
        ...

    @property
    def assistant(self) -> CommandTurns: ...

    @property
    def web_search(self) -> WebSearch: ...

    @property
    def vectors_of(self) -> str:
        """The embedding model by which passages are found; empty: by their words alone."""
        ...

    async def prepare(self, targets: Targets, screen: Screen, *, with_vectors: bool) -> None:
        """Sync the index with the disk, with new targets; ``with_vectors``, make those that are missing."""
        ...

    async def refresh(self, notify: Notify) -> SyncReport:
        """Sync the index with the disk."""
        ...

    async def background_vectors(self, targets: Targets, screen: Screen) -> BackgroundVectors | None:
        """The work that makes the missing vectors while a conversation goes on; None where that needs nobody."""
        ...

    async def search(self, query: str, limit: int) -> Hits:
        """Passages of all that is indexed."""
        ...

    async def forget(self, source: str) -> list[Forgotten]:
        """Remove documents. NotFound if there is none of this name."""
        ...
