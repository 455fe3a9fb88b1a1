"""What reaches a terminal: words and our own colours, and links that lead where they say."""

from __future__ import annotations

import io
import re

import pytest
from fakes.forgeries import CITED, ESCAPES, LIES, LINKS, MENTIONS
from fakes.judges import is_forged, quoted, unclean
from fakes.quotes import quotes_behind

from bots.chat.texts import page_of
from bots.terminal.render import ScreenContext, card, proposal_list, quotes, ranking, source_list, write
from bots.terminal.screen import THEME, SafeConsole, Screen
from core.conversation import Answer, Citation, Outcome, Proposal, Ranked
from core.library.entries import Entry

OWN = re.compile(
    r"\x1b\[[0-9;]*m|\x1b\]8;[^;\x1b]*;[^\x1b\x07]*\x1b\\"
)  # colours, and the two ends of a link
LINK = re.compile(r"\x1b\]8;[^;]*;([^\x1b]+)\x1b\\(.*?)\x1b\]8;;\x1b\\", re.DOTALL)


def citations(text):
    web = Citation(
        number=1, title=text, location=text, source=text, url=CITED, quote=text, start=0, end=1, origin="web",
        published=text,
    )  # fmt: skip
    own = Citation(number=2, title=text, location=text, source=text, url=text, quote=text, start=0, end=1)
    local = Citation(number=3, title=text, location=text, source=f"/{text}", quote=text, start=0, end=1)
    return (web, own, local)


def pages(text):
    cited = citations(text)
    card_context = ScreenContext(engine=text, files={f"/{text}": f"/home/{text}"})
    answer = Answer(text=f"{text} [1]", citations=cited, grounding="both", composed=True)
    proposal = Proposal(
        id="p", turn_id="t", question=text, asker=text, query=text, reason=text, tried=(text,), closest=cited
    )
    document = Entry(
        id=1, collection=text, address=text, root="", source=text, title=text, url=text, hash="", size=1, modified=1,
        passages=1,
    )  # fmt: skip
    answered = Outcome(kind="answered", turn_id="t", answer=answer, reason=text)
    yield write(answered, card_context)
    yield write(Outcome(kind="no_answer", turn_id="t", reason=text, closest=cited), card_context)
    yield write(Outcome(kind="clarify", turn_id="t", reason=text, options=(text,)), card_context)
    yield write(Outcome(kind="failed", turn_id="t", reason=text), card_context)
    yield from (
        card(proposal, card_context),
        proposal_list([proposal]),
        quotes(quotes_behind(answered, before=text, after=text), card_context),
    )
    yield from (
        source_list([document]),
        ranking([Ranked(source=text, location=text, score=1.0, start=0, end=1)]),
    )
    yield f"{text} as it is"


def printed(text, colours):
    console = SafeConsole(
        file=io.StringIO(), force_terminal=True, color_system=colours, highlight=False, theme=THEME, width=100
    )
    for page in pages(text):
        console.print(page, markup=False)
    return console.file.getvalue()


def faults(text):
    drawn = printed(text, "truecolor")
    yield from unclean(OWN.sub("", drawn))
    for target, label in LINK.findall(drawn):
        is_local = target.startswith("file:///home/")
        if not is_local and is_forged(OWN.sub("", label), target):
            yield f"{target!r} as {label!r}"
        if not is_local and quoted(target) not in (quoted(CITED), quoted(text)):
            yield f"a link to {target!r}"


def colouring_faults(text):
    """Without colours of our own, so that none of theirs is taken for one."""
    return unclean(re.sub(r"\x1b\]8;[^;\x1b]*;[^\x1b\x07]*\x1b\\", "", printed(text, None)))


def test_there_are_escape_sequences_enough():
    assert len(set(ESCAPES)) == len(ESCAPES) >= 200


@pytest.mark.parametrize(
    "attacks",
    [ESCAPES[::7], [*LIES, *LINKS[::61]], MENTIONS[::17]],
    ids=["escape sequences", "links", "mentions"],
)
def test_none_passes(attacks):
    passed = {text: found for text in attacks if (found := sorted({*faults(text)}))}

    assert len(attacks) >= 60
    assert passed == {}


def test_no_colour_of_theirs_is_drawn():
    passed = {text: found for text in ESCAPES[::5] if (found := colouring_faults(text))}

    assert passed == {}


@pytest.mark.long
@pytest.mark.parametrize("attacks", [ESCAPES, LINKS, MENTIONS], ids=["escape sequences", "links", "mentions"])
def test_none_of_all_passes(attacks):
    passed = {text: found for text in attacks if (found := sorted({*faults(text)}))}

    assert passed == {}


def test_nothing_passes_into_a_pipe_or_beside_the_answer(capsys):
    screen = Screen()
    for text in ESCAPES:
        cited = citations(text)
        answer = Answer(text=text, citations=cited, grounding="both", composed=True)
        screen.write(page_of(Outcome(kind="answered", turn_id="t", answer=answer, reason=text)))
        screen.note(text)
        screen.fault(text)

    said = capsys.readouterr()

    assert len(said.out) > len(ESCAPES)
    assert len(said.err) > len(ESCAPES)
    assert unclean(said.out) == unclean(said.err) == []
