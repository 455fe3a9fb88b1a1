"""A written "approve" may arrive long after it was written: it is about no search that was proposed since."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest
from fakes.desk import proposed
from fakes.scripted import HERE

from bots.chat import inbox
from bots.chat.inbox import Inbox
from bots.chat.incoming import ChatCommand


@dataclass
class Turns:
    decided: list[str] = field(default_factory=list)

    async def accept(self, decision, _route, **_options):
        self.decided.append(decision.proposal_id)


@pytest.mark.parametrize("name", ["approve", "deny"])
async def test_words_decide_about_the_newest_search_that_was_there_when_they_were_written(name, monkeypatch):
    first = replace(proposed(), id="p1", proposed_at=100.0)
    second = replace(proposed(), id="p2", proposed_at=200.0)

    async def proposals(_conversation):
        return first, second

    async def proposal_of(decision):
        return {"p1": first, "p2": second}[decision.proposal_id]

    async def has_ended(_turn):
        return True

    async def with_groups(decision, _route, _proposal):
        return decision

    monkeypatch.setattr(inbox, "has_ended", has_ended)
    approval = SimpleNamespace(with_groups=with_groups, may_decide=lambda _decision, _proposal: True)
    replies = SimpleNamespace(proposals=proposals, proposal_of=proposal_of, approval=approval)
    turns = Turns()
    box = Inbox(channel_store=None, messenger=SimpleNamespace(replies=replies), turns=turns, admission=None)
    for said_at in (150.0, 250.0):
        command = ChatCommand(
            name=name, argument="", id=f"c{said_at}", conversation=HERE, author="ann", said_at=said_at
        )
        await box._decide_newest(command, {})

    assert turns.decided == ["p1", "p2"]
