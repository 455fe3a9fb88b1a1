"""The mark of an answer that no longer holds is put on later than it was found: a platform may be away for hours."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from random import Random
from types import SimpleNamespace

import pytest
from fakes.desk import open_desk
from fakes.mixed_source import Harbour
from fakes.scripted import question
from fakes.sources import ADDRESS

from bots.chat import rechecks
from bots.chat.incoming import CHANGED
from bots.chat.people import Approval
from bots.chat.rechecks import AnswerMarks
from bots.chat.replies import Replies
from bots.discord.render import LAYOUT
from core.conversation import Answer, Citation, Command, Conversation, Outcome
from core.sources.sources import SourceSyncs

CHANNEL = Conversation(platform="slack", space="T1", channel="C0", thread="1")
OLD, NEW = "A night costs the pilots 18 euros.", "A night costs the pilots 21 euros."
SOURCE = "harbour/wages.md"
CITED = Citation(
    number=1, title="Wages", location="Wages", source=SOURCE, quote=OLD, start=0, end=len(OLD),
    collection="default",
)  # fmt: skip
ANSWERED = Outcome(
    kind="answered", turn_id="q1",
    answer=Answer(text=f"{OLD} [1]", citations=(CITED,), grounding="documents", composed=False),
)  # fmt: skip
MARK = Command(
    id="q1~changed", conversation=CHANNEL, author="U0", name=CHANGED, said_at=0.0,
    details={
        "turn": "q1", "citation": asdict(CITED), "lost": OLD, "instead": NEW, "collection": "default",
        "changed_at": 1.0,
    },
)  # fmt: skip


@dataclass
class Board:
    """A platform that shows the answer."""

    shown: list[str] = field(default_factory=list)

    async def find(self, route, turn, part):
        return f"{turn}/{part}"

    async def change(self, route, handle, turn, part, message):
        self.shown.append(repr(message))


class Nobody:
    async def names(self, route, users):
        return {}

    def is_direct(self, route):
        return False


async def _proposals(_conversation):
    return ()


async def _outcomes(_turn):
    return ANSWERED


@pytest.mark.parametrize("is_closed", [False, True])
async def test_what_took_a_quotes_place_is_not_shown_once_few_may_read_its_document(
    is_closed, tmp_path, monkeypatch
):
    harbour = Harbour(random=Random(3), items=0)
    harbour.shelf.write(wages=f"# Wages\n\n{NEW}\n", rest="# Rest\n\nThe harbour has a crane.\n")
    board, people = Board(), Nobody()
    approval = Approval.of(SimpleNamespace(web_approval="asker", web_approvers=(), notify_approvers=False,
                                           web_search="off", experts={}), people)  # fmt: skip
    replies = Replies(
        posts=board, renderer=LAYOUT, approval=approval, proposals=_proposals, outcomes=_outcomes
    )

    async def stored(_turn):
        return question(id="q1")

    monkeypatch.setattr(rechecks, "stored_turn", stored)
    async with open_desk(tmp_path) as desk:
        footnote = desk.footnote
        syncs = SourceSyncs(
            library=footnote.library, store=footnote.sources.store, settings=footnote.settings,
            kinds=harbour.shelf.kinds,
        )  # fmt: skip
        await syncs.ingest(ADDRESS, collection="default")
        if is_closed:
            harbour.shelf.restrict(frozenset({"p1@harbour.example"}), "wages")
            await syncs.ingest(ADDRESS, collection="default")

        async def readable(conversation, author):
            return (await desk.channels.reads(conversation, author, footnote.library)).collections

        marks = AnswerMarks(replies=replies, readable=readable, withdrawn=footnote.answers.withdrawn)
        await marks.carry_out(MARK, {}, is_again=False)

    (shown,) = board.shown
    assert "18 euros" in shown
    assert ("21 euros" in shown) is not is_closed
