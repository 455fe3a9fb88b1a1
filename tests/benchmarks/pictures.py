"""Pictures of the main messages, for the READMEs of the adapters: what the renderers return, drawn as HTML.

It needs chromium and pngquant: ``apt-get install chromium pngquant fonts-noto-color-emoji``. Tests need neither.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import ROOT, Say
from benchmarks.drawing import discord_message, page, said, slack_message
from bots.chat.platform import CardContext, Note
from bots.chat.texts import help_lines
from bots.discord.render import LAYOUT as DISCORD
from bots.discord.settings import SLASH_COMMANDS
from bots.slack.render import LAYOUT as SLACK
from bots.testing.report import Section
from core.conversation import Answer, Citation, Outcome, Proposal

WIDTH = 660  # pixels
TURN = "slack/T1/C1/1"
CONTEXT = CardContext(
    engine="DuckDuckGo", names={"ann": "Ann", "bob": "Bob"}, has_approvers=True,
    approvers=("librarians",), can_retry=True,
)  # fmt: skip


def _citation(number: int, location: str, source: str, quote: str) -> Citation:
    title, _, place = location.partition(" > ")
    base = "https://github.com/fastapi/fastapi/blob/master/docs/en/docs"
    return Citation(
        number=number, title=title, location=place, source=source, quote=quote, url=f"{base}/{source}",
        start=0, end=len(quote),
    )  # fmt: skip


TASKS = _citation(
    1,
    "Background Tasks > Using BackgroundTasks",
    "tutorial/background-tasks.md",
    "First, import `BackgroundTasks` and define a parameter in your *path operation function* with a type "
    "declaration of `BackgroundTasks`.",
)
CAVEAT = _citation(
    2,
    "Background Tasks > Caveat",
    "tutorial/background-tasks.md",
    "If you need to perform heavy background computation and you don't necessarily need it to be run by the same "
    "process, you might benefit from using other bigger tools like Celery.",
)
CORS = _citation(
    1,
    "CORS (Cross-Origin Resource Sharing) > CORS preflight requests",
    "tutorial/cors.md",
    "These are any `OPTIONS` request with `Origin` and `Access-Control-Request-Method` headers.",
)
COMPOSED = Outcome(
    kind="answered",
    turn_id=TURN,
    timing_ms={"total": 2_100.0},
    answer=Answer(
        text="Declare a parameter of type `BackgroundTasks` in your path operation and call `add_task()`: the "
        "function runs **after the response has been sent**. [1] For heavy computation that need not share the "
        "process, a queue such as Celery fits better. [2]",
        citations=(TASKS, CAVEAT),
        grounding="documents",
        composed=True,
    ),
)
QUOTED = replace(
    COMPOSED,
    timing_ms={"total": 24.0},
    answer=Answer(text=f"{TASKS.quote} [1]", citations=(TASKS,), grounding="documents", composed=False),
)
PROPOSAL = Proposal(
    id="p1",
    turn_id=TURN,
    question="Which browsers send preflight requests?",
    asker="ann",
    query="browsers that send CORS preflight requests",
    reason="Your documents do not say: which browsers send preflight requests.",
    tried=("browsers preflight requests",),
    closest=(CORS,),
)
ALLOWED = replace(PROPOSAL, verdict="approve", allowed=PROPOSAL.query, decided_by="bob", decided_at=1.7e9)
CARD = Outcome(kind="approval_needed", turn_id=TURN, proposal=PROPOSAL)

#: Each picture: what Ann asks, if anything, and the outcome of it. None: help.
PICTURES: Mapping[str, tuple[tuple[str, Outcome | None], ...]] = {
    "answers": (
        ("How do I run something after the response?", COMPOSED),
        ("Which parameter do I declare for a background task?", QUOTED),
    ),
    "search": (
        (PROPOSAL.question, CARD),
        ("", replace(CARD, proposal=ALLOWED)),
    ),
    "others": (
        (
            "Who maintains the staging server?",
            Outcome(
                kind="no_answer",
                turn_id=TURN,
                reason="I did not find this in your documents. Web search is switched off.",
                closest=(CORS,),
            ),
        ),
        (
            "How do I set cookies?",
            Outcome(
                kind="clarify",
                turn_id=TURN,
                reason="Do you mean response cookies or request cookies?",
                options=("Response cookies", "Request cookies"),
            ),
        ),
        (
            "What does Depends() do?",
            Outcome(kind="failed", turn_id=TURN, reason="The model did not answer within 60 s."),
        ),
        ("help", None),
    ),
}


def run(say: Say, *, chromium: str = "chromium") -> Section | None:
    for platform in ("slack", "discord"):
        folder = ROOT / "bots" / platform / "pictures"
        folder.mkdir(exist_ok=True)
        for name, scenes in PICTURES.items():
            target = folder / f"{name}.png"
            _photograph(page([*_messages(platform, scenes)], platform), target, chromium)
            say(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1000:.0f} kB")
    return None


def _messages(platform: str, scenes: tuple[tuple[str, Outcome | None], ...]) -> Iterator[str]:
    mention = '<span style="color: #1264a3">@footnote</span>' if platform == "slack" else "@footnote"
    for question, outcome in scenes:
        if question:
            yield said("Ann", f"<p>{mention} {question}</p>", is_app=False)
        yield said("Footnote", "".join(_drawn(platform, outcome)), is_app=True)


def _drawn(platform: str, outcome: Outcome | None) -> Iterator[str]:
    commands = () if platform == "slack" else tuple(SLASH_COMMANDS)
    lines = help_lines("en", collections=("default",), documents=154, age=240.0, slash_commands=commands)
    help_note = Note(text="\n".join(lines))
    if platform == "slack":
        shown = SLACK.messages(outcome, CONTEXT) if outcome else SLACK.reply(help_note)
        yield from (slack_message(each.blocks) for each in shown)
    else:
        made = DISCORD.messages(outcome, CONTEXT) if outcome else DISCORD.reply(help_note)
        yield from (discord_message(each.components) for each in made)


def _photograph(html: str, target: Path, chromium: str) -> None:
    with TemporaryDirectory() as folder:
        source = Path(folder) / "page.html"
        source.write_text(html, encoding="utf-8")
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        dumped = _output([*command, "--dump-dom", source.as_uri()])
        height = re.search(r"<title>(\d+)</title>", dumped)
        assert height is not None
        size = f"--window-size={WIDTH},{height[1]}"
        _output([*command, size, f"--screenshot={target}", source.as_uri()])
    _output(["pngquant", "--force", "--ext", ".png", "48", str(target)])


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
