"""How ``ask`` and ``decide`` tell what came of a turn."""

from __future__ import annotations

import json
from argparse import Namespace

from rich.text import Text

from bots.chat import texts
from bots.record import record_of
from bots.terminal import render
from bots.terminal.screen import Screen
from core.bootstrap import Footnote
from core.conversation import Conversation, Outcome


def engine_of(footnote: Footnote) -> str:
    """The search engine, as people know it."""
    return texts.ENGINE_NAMES[footnote.settings.web_search]


def tell(
    outcome: Outcome, conversation: Conversation, footnote: Footnote, screen: Screen, arguments: Namespace
) -> int:
    """Print the outcome as it was asked for; the exit code."""
    passages = getattr(arguments, "passages", 0)
    engine = engine_of(footnote)
    if arguments.json:
        record = record_of(outcome, thread=conversation.id, engine=engine, passages=passages > 0)
        print(json.dumps(record))  # noqa: T201 - this is the output
    elif screen.is_drawn:
        files = {entry.source: entry.address for entry in footnote.library.entries()}
        screen.show(render.write(outcome, render.Setting(engine=engine, files=files)))
    else:
        screen.write(texts.page_of(outcome, engine=engine))
    if not arguments.json:
        _tell_more(outcome, conversation, screen, with_ranking=passages > 0)
    return 1 if outcome.kind == "failed" else 0


def _tell_more(outcome: Outcome, conversation: Conversation, screen: Screen, *, with_ranking: bool) -> None:
    if outcome.proposal is not None:
        screen.show(
            Text(f"\nfootnote decide {outcome.proposal.id} --approve   (or --deny, or --approve --query “…”)")
        )
    if with_ranking:
        screen.show(render.ranking(outcome.ranked))
    if outcome.kind == "answered" and screen.is_drawn:
        screen.note(f"Follow up with: footnote ask --thread {conversation.thread} “…”")
