"""Names in place of the ids by which a platform says whom a message mentions.

An event has ids alone. Their names are looked up once the turn is stored, and before it is thought about: an id is
for neither a model nor the web.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bots.chat.platform import People
from bots.chat.texts import say_in
from core.conversation import Decision, Question, ThreadMessage
from core.text.characters import one_line
from core.text.language import language_of
from core.turns.messenger import ReplyRoute

NAME = 80  # characters, as many as Slack takes for a display name; Discord takes 32


async def named_question(question: Question, route: ReplyRoute, people: People) -> Question:
    """The question, and what it quotes, with names in place of ids."""
    language = language_of(question.text)
    (text,) = await _named([question.text], route, people, language)
    quoted = await named_messages(question.quoted, route, people, language)
    return replace(question, text=text, quoted=quoted)


async def named_decision(decision: Decision, route: ReplyRoute, people: People) -> Decision:
    """The decision with names in place of ids in a query that a person wrote."""
    if decision.query is None:
        return decision
    (query,) = await _named([decision.query], route, people, language_of(decision.query))
    return replace(decision, query=query)


async def named_messages(
    messages: Iterable[ThreadMessage], route: ReplyRoute, people: People, language: str
) -> tuple[ThreadMessage, ...]:
    """The messages with names in place of ids, also of their authors."""
    known = tuple(messages)
    authors = await _named([f"@{one.author}" for one in known], route, people, language)
    texts = await _named([one.text for one in known], route, people, language)
    return tuple(
        ThreadMessage(author=author.removeprefix("@"), text=text)
        for author, text in zip(authors, texts, strict=True)
    )


async def _named(texts: Sequence[str], route: ReplyRoute, people: People, language: str) -> list[str]:
    ids = dict.fromkeys(found[1] for text in texts for found in people.mention.finditer(text))
    names = await people.names(route, ids)

    def name_of(person: str) -> str:
        is_known = names[person] != person  # without a name a person is called by the id
        return one_line(names[person], NAME) if is_known else say_in(language)("somebody")

    return [people.mention.sub(lambda found: f"@{name_of(found[1])}", text) for text in texts]
