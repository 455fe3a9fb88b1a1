"""An answer, a proposal and what was decided about it, as a card shows them."""

from __future__ import annotations

from bots.chat.platform import CardContext
from core.conversation import Answer, Citation, Conversation, Decision, Omission, Outcome, Proposal

ASKED = "Wie lange werden Protokolle aufbewahrt, und wer darf sie lesen?"
QUOTE = Citation(
    number=1, title="Handbuch", location="Handbuch > Protokolle", source="handbuch.md",
    quote="Protokolle darf nur das Betriebsteam lesen.", start=0, end=43,
)  # fmt: skip
ANSWER = Answer(
    text="Protokolle darf nur das Betriebsteam lesen. [1]",
    citations=(QUOTE,),
    grounding="documents",
    composed=True,
    left_out=(Omission(text="Sie werden 90 Tage aufbewahrt.", reason="keine Frist in der Quelle"),),
    missing="wie lange Protokolle aufbewahrt werden",
)
QUERY = "Aufbewahrungsfrist Protokolle DSGVO"
PROPOSAL = Proposal(
    id="p1", turn_id="q1", question=ASKED, asker="U1", query=QUERY, reason="", tried=(), closest=(QUOTE,)
)
IN_PART = Outcome(
    kind="answered",
    turn_id="q1",
    answer=ANSWER,
    proposal=PROPOSAL,
    language="de",
    timing_ms={"total": 2_100.0},
)
SETTING = CardContext(engine="DuckDuckGo", names={"U1": "Ann"})


def decided(verdict="approve", query=None):
    conversation = Conversation(platform="slack", space="T1", channel="C1", thread="1.0")
    return Decision(
        id="d1", conversation=conversation, author="U1", proposal_id="p1", verdict=verdict, query=query,
        decided_at=1.7e9,
    )  # fmt: skip
