"""Kept answers: what a trusted person said in reply to a question, and the document that it is in the library.

The document's text is the question as a heading and the answer as it was written. So it is found by the words of
both, cut, quoted and cited as any other, and its offsets count into that text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from core.conversation import value
from core.errors import AnswerRejected
from core.library.chunking import cut
from core.library.documents import ANSWER, Document, is_kept
from core.library.entries import NewDocument
from core.library.formats.markdown import parse as parse_markdown
from core.text.blocks import one_line, whole
from core.wording import Sentence, wording

NAME_SHOWN = 80  # characters of a name of a person or a channel
QUESTION_SHOWN = 300  # characters of the question as a heading
TEXT_LIMIT = 8_000  # characters of an answer, wherever it is typed, kept or shown

#: "new": written down and not shown to who said it yet, so it is not used; "used"; "retired" by an editor.
State = Literal["new", "used", "retired"]


@value
class KeptAnswer:
    """A reply that is kept, and may be cited until a date."""

    id: str
    question: str
    text: str  #: as it was written
    author: str  #: who said it, in the platform's terms; empty: an editor of the page
    name: str  #: what people call them
    place: str  #: where it was said, as people name it, such as "#help"; empty: in a direct message, or on the page
    conversation: str  #: its id; empty: none
    message: str  #: the message's id in the platform's terms; empty: none
    url: str | None  #: leads to the message
    collection: str  #: whoever reads it may read the answer
    language: str  #: of the question, ISO 639-1
    said_at: float  #: seconds since the epoch, as all times here
    kept_at: float
    valid_until: float  #: from then on it is not used, and due for review
    state: State = "new"
    editor: str = ""  #: who changed its words since, as people call them; empty: they are as they were said
    edited_at: float = 0.0
    revision: int = 1  #: grows with each change

    @property
    def written_at(self) -> float:
        """When its words became what they are."""
        return self.edited_at or self.said_at

    @property
    def address(self) -> str:
        """Of its document; the same is its source."""
        return f"{ANSWER}{self.id}"

    def is_due(self, now: float) -> bool:
        """Whether somebody must review it before it is used again."""
        return self.state == "used" and now >= self.valid_until

    def is_usable(self, now: float) -> bool:
        return self.state == "used" and now < self.valid_until


def id_of(message: str) -> str:
    """The id of the answer that a message holds: a message that is kept twice is one answer."""
    return hashlib.sha256(message.encode()).hexdigest()[:16]


def kept_in(sources: Iterable[str]) -> tuple[str, ...]:
    """The ids of the kept answers among these sources, each once."""
    return tuple(dict.fromkeys(source.removeprefix(ANSWER) for source in sources if is_kept(source)))


def check_answer(text: str) -> str:
    """The answer without white space around it; AnswerRejected when it is empty or too long."""
    stripped = text.strip()
    if not stripped:
        raise AnswerRejected(Sentence("answer_empty"))
    if len(stripped) > TEXT_LIMIT:
        raise AnswerRejected(Sentence("answer_too_long", length=len(stripped), limit=TEXT_LIMIT))
    return stripped


def title_of(answer: KeptAnswer) -> str:
    """ "Ann, in #help, 12 Mar 2026", or "Ann, edited by Ben, 23 Nov 2026": how it is cited."""
    say = wording(answer.language)
    who, where, editor = (one_line(each, NAME_SHOWN) for each in (answer.name, answer.place, answer.editor))
    key = "said_edited" if editor else "said_in" if where else "said_on"
    return say(key, who=who, where=where, editor=editor, when=say.day(answer.written_at))


def document_of(answer: KeptAnswer) -> NewDocument:
    """What the library holds of it. The passages have the question as their heading.

    Words that were edited since lead to no message: it does not say them.
    """
    question = one_line(answer.question, QUESTION_SHOWN)
    text = whole(f"# {question}\n\n{answer.text}")
    parsed = parse_markdown(text)
    title, url = title_of(answer), None if answer.editor else answer.url
    pieces = cut(Document(title=title, text=text, blocks=parsed.blocks))
    return NewDocument(
        collection=answer.collection,
        address=answer.address,
        root=answer.address,
        source=answer.address,
        title=title,
        url=url,
        hash=hashlib.sha256(f"{title}\0{url}\0{answer.written_at}\0{text}".encode()).hexdigest(),
        size=len(text),
        modified=0,
        changed_at=answer.written_at,
        pieces=[replace(piece, path=(question, *piece.path[1:]), location="") for piece in pieces],
    )
