"""Names in place of the ids by which a platform says whom a message mentions, and beside those that are logged.

An event has ids alone. Their names are looked up once the turn is stored, and before it is thought about: an id is
for neither a model nor the web. Those of authors and channels are looked up when an operator looks at them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bots.chat.platform import People, Refused
from bots.chat.texts import say_in
from core.conversation import Conversation, Decision, Question, ThreadMessage
from core.text.characters import one_line
from core.text.language import language_of
from core.traces.names import ShownNames
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

NAME = 80  # characters, as many as Slack takes for a display name; Discord takes 32
DIRECT_MESSAGE = "direct message"  # in place of a channel's name, for operators


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


async def note_names(
    said: Iterable[tuple[Conversation, str]], people: Mapping[str, People], noted: ShownNames
) -> None:
    """Note what the channels and the people are called who said something there; ``people`` by platform.

    What a platform does not say stays unknown.
    """
    places: dict[str, str] = {}
    for conversation, author in said:
        known = people.get(conversation.platform)
        if known is None:
            continue
        route, channel = known.route_in(conversation), conversation.channel_id
        try:
            if channel not in places:
                is_direct = known.is_direct_message(conversation)
                places[channel] = (
                    DIRECT_MESSAGE if is_direct else (await known.place(route)).removeprefix("#")
                )
            await noted.note("person", await known.names(route, [author]))
        except (Refused, Unreachable) as trouble:
            logger.warning("names could not be looked up", extra={"channel": channel, "reason": str(trouble)})
    await noted.note("channel", places)
