"""What documents, pages, models and people write, in every message and form: nothing of it leads astray or calls."""

from __future__ import annotations

import pytest
from fakes.forgeries import CITED, LINKS, MENTIONS, OTHER
from fakes.judges import discord_faults, slack_faults, slack_view_faults, strings, unclean
from fakes.quotes import quotes_behind

from bots.chat import proposals
from bots.chat.platform import CardContext, Note, Sources
from bots.chat.texts import help_lines
from bots.discord.render import LAYOUT as DISCORD
from bots.slack.render import LAYOUT as SLACK
from core.conversation import Answer, Citation, Conversation, Decision, Omission, Outcome, Proposal
from core.library.entries import Entry

LINK_SHARE, MENTION_SHARE = (
    13,
    11,
)  # every 13th link and every 11th mention in the quick run; all in the long one
LINKED = (CITED, f"{CITED}.png", OTHER)  # what citations of these outcomes name
HERE = Conversation(platform="x", space="1", channel="2", thread="3")


def citation(number, text, url=CITED, origin="web"):
    return Citation(
        number=number, title=text, location=text, source=text, url=url, quote=text, start=0, end=1, origin=origin,
        published=text,
    )  # fmt: skip


def citations(text):
    return (citation(1, text), citation(2, text, url=text), citation(3, text, url=None, origin="documents"))


def outcome(kind, text, **more):
    return Outcome(kind=kind, turn_id="t", reason=text, **more)


def answered(text, *, composed=True):
    answer = Answer(text=f"{text} [1]", citations=citations(text), grounding="both", composed=composed)
    return outcome("answered", text, answer=answer)


def answered_in_part(text, offered):
    answer = Answer(
        text=f"{text} [1]", citations=citations(text), grounding="documents", composed=True, missing=text,
        left_out=(Omission(text=text, reason=text),),
    )  # fmt: skip
    return outcome("answered", text, answer=answer, proposal=offered)


def proposal(text):
    return Proposal(
        id="p1", turn_id="t", question=text, asker="U9", query=text[:400], reason=text, tried=(text,),
        closest=citations(text)[:1],
    )  # fmt: skip


DECIDED_AT = 1_234_567_890  # seconds since the epoch
OWN_MOMENT = f"time '<t:{DECIDED_AT}:t>' as ''"  # that of the decision, which the bot writes itself


def decided(text):
    decision = Decision(
        id="d", conversation=HERE, author="U9", proposal_id="p1", verdict="approve", query=f"{text} edited"[:400],
        decided_at=DECIDED_AT,
    )  # fmt: skip
    return proposal(text).with_decision(decision)


def document(text):
    return Entry(
        id=1, collection=text, address=text, root="", source=text, title=text, url=text, hash="", size=1, modified=0,
        passages=1,
    )  # fmt: skip


#: What is created, what is put in its place, and what one person alone is shown: each with the text wherever
#: the words of somebody else can stand.
CREATED = {
    "answer": lambda on, text, here: on.messages(answered(text), here),
    "answer in part": lambda on, text, here: on.messages(answered_in_part(text, proposal(text)), here),
    "quotation": lambda on, text, here: on.messages(answered(text, composed=False), here),
    "no answer": lambda on, text, here: on.messages(
        outcome("no_answer", text, closest=citations(text)), here
    ),
    "choice": lambda on, text, here: on.messages(outcome("clarify", text, options=(text, f"a {text}")), here),
    "failure": lambda on, text, here: on.messages(outcome("failed", text), here),
    "proposal": lambda on, text, here: on.messages(
        outcome("approval_needed", text, proposal=proposal(text)), here
    ),
    "footnotes": lambda on, text, _here: on.reply(
        quotes_behind(answered_in_part(text, None), before=text, after=text)
    ),
    "sources": lambda on, text, _here: on.reply(Sources(language="en", entries=(document(text),))),
    "help": lambda on, text, _here: on.reply(
        Note(text="\n".join(help_lines("en", collections=(text,), documents=1)))
    ),
    "reply": lambda on, text, _here: on.reply(Note(text=text)),
}
EDITED = {
    "decided card": lambda on, text, here: on.messages(
        outcome("approval_needed", text, proposal=decided(text)), here
    ),
    "decided in part": lambda on, text, here: on.messages(answered_in_part(text, decided(text)), here),
    "late press": lambda on, text, here: (on.decided_already(decided(text), here),),
    "refusal": lambda on, text, here: (on.note(proposals.refused(proposal(text), here)),),
    "note": lambda on, text, _here: (on.note(text),),
}
SHOWN = CREATED | EDITED


def messages(platform, text, kinds):
    card_context = CardContext(engine=text, names={"U9": text}, has_approvers=True)
    for kind in kinds:
        yield from SHOWN[kind](platform, text, card_context)


def faults_in_slack(text, kinds):
    links = (*LINKED, text)
    for message in messages(SLACK, text, kinds):
        yield from slack_faults(message.text, message.blocks, links)
    address = {
        "team": "T1",
        "channel": "C1",
        "thread": "1.0",
        "message": "2.0",
        "user": "U1",
        "is_direct": False,
    }
    yield from slack_view_faults(SLACK.editor(proposal(text), address))


def faults_in_discord(text, kinds):
    links = (*LINKED, text)
    for message in messages(DISCORD, text, kinds):
        yield from (fault for fault in discord_faults(message.components, links) if fault != OWN_MOMENT)
    form = DISCORD.editor(proposal(text), {})
    yield from (sign for each in strings(form) for sign in unclean(each))


FAULTS = {"Slack": faults_in_slack, "Discord": faults_in_discord}
OTHER_KINDS = tuple(kind for kind in SHOWN if kind not in ("answer", "decided card"))


def spread(attacks, share):
    """Every so many-th of all, so that all templates and all words are among them, each with the kinds it is tried in."""
    for number, attack in enumerate(attacks[::share]):
        others = [OTHER_KINDS[(2 * number + more) % len(OTHER_KINDS)] for more in range(2)]
        yield attack, ("answer", "decided card", *others)


def test_there_are_mutations_enough_and_no_two_alike():
    links, mentions = dict(spread(LINKS, LINK_SHARE)), dict(spread(MENTIONS, MENTION_SHARE))

    assert (len(links), len(mentions)) >= (200, 60)
    assert len(set(LINKS)) == len(LINKS)
    assert len(set(MENTIONS)) == len(MENTIONS)
    assert {kind for kinds in links.values() for kind in kinds} == set(SHOWN)
    assert {kind for kinds in mentions.values() for kind in kinds} == set(SHOWN)


@pytest.mark.parametrize("platform", FAULTS)
@pytest.mark.parametrize(
    "attacks", [[*spread(LINKS, LINK_SHARE)], [*spread(MENTIONS, MENTION_SHARE)]], ids=["links", "mentions"]
)
def test_none_passes(platform, attacks):
    passed = {text: found for text, kinds in attacks if (found := sorted({*FAULTS[platform](text, kinds)}))}

    assert passed == {}


@pytest.mark.long
@pytest.mark.parametrize("platform", FAULTS)
@pytest.mark.parametrize("attacks", [LINKS, MENTIONS], ids=["links", "mentions"])
def test_none_of_all_passes_wherever_it_stands(platform, attacks):
    passed = {text: found for text in attacks if (found := sorted({*FAULTS[platform](text, SHOWN)}))}

    assert passed == {}
