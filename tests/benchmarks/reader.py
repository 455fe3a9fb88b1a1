"""A place for any language model, or a person, behind the real client: prompts become files, and so do replies.

It serves Gemini's protocol on this machine and prints the settings with which Footnote asks it. Each request is written to
FOLDER/NNN.prompt.md: the system text, the quoted blocks, and the JSON schema of the reply if one is asked
for. Its reply is what is then found in FOLDER/NNN.reply.md; write it under another name and rename it, so that
no half of it is read. A request that nobody replies to within the limit fails as one of a busy service does.
Ctrl-C ends it.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from fakes.gemini import Answer, Call, FakeGemini, Status, Step

from benchmarks import Say

LIMIT = 1_800.0  # seconds for one reply
LONGEST = 3_600  # seconds; more than that no setting takes
LOOKS = 0.1  # seconds from one look for a reply to the next
KEY = "reader"

_NUMBERED = re.compile(r"(\d+)\.prompt\.md")
_FENCED = re.compile(r"\s*```\w*\n(.*)\n```\s*", re.DOTALL)  # as models like to write JSON


@dataclass
class Reader:
    """Whoever reads the folder, as a :class:`FakeGemini` asks it."""

    folder: Path
    limit: float = LIMIT
    announce: Callable[[Path], None] = lambda _prompt: None  #: told of each prompt that waits

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        found = [_NUMBERED.fullmatch(file.name) for file in self.folder.iterdir()]
        self._numbers = count(1 + max((int(each[1]) for each in found if each), default=0))

    async def reply(self, step: Step, call: Call) -> Answer:
        number = f"{next(self._numbers):03}"
        prompt, reply = self.folder / f"{number}.prompt.md", self.folder / f"{number}.reply.md"
        put(prompt, as_markdown(step, call, reply.name))
        self.announce(prompt)
        until = time.monotonic() + self.limit
        while (text := _found(reply)) is None:
            if time.monotonic() > until:
                return Status(504)
            await asyncio.sleep(LOOKS)
        fenced = _FENCED.fullmatch(text) if call.schema else None
        return fenced[1] if fenced else text.strip()


def put(file: Path, text: str) -> None:
    """Write a file that is whole as soon as it is there."""
    beside = file.with_name(f".{file.name}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)


def _found(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def as_markdown(step: Step, call: Call, reply: str) -> str:
    schema = json.dumps(call.schema, indent=1)
    shape = f"JSON of this schema:\n\n```json\n{schema}\n```" if call.schema else "Text."
    parts = (
        f"# {step}, {call.model}", "## System", call.system, "## Prompt", call.prompt, f"## Reply, to {reply}", shape
    )  # fmt: skip
    return "\n\n".join(parts) + "\n"


def settings_for(base_url: str, limit: float) -> dict[str, str]:
    """The environment in which Footnote asks the reader, and waits for it."""
    return {
        "GOOGLE_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": base_url,
        "MODEL_TIMEOUT": f"{min(limit + 10, LONGEST):g}",
        "TURN_TIMEOUT": f"{LONGEST}",
        "EMBEDDING_MODEL": "none",
    }


async def serve(folder: Path, limit: float) -> None:
    reader = Reader(folder, limit, announce=lambda prompt: print(prompt, flush=True))
    async with FakeGemini(reply=reader.reply, api_key=KEY) as gemini:
        for name, setting in settings_for(gemini.base_url, limit).items():
            print(f"export {name}={setting}", flush=True)
        await asyncio.Event().wait()


def run(say: Say, *, folder: Path, limit: float = LIMIT) -> None:
    """A reply has ``limit`` seconds."""
    say(f"Prompts go to {folder}; Ctrl-C ends it.")
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(folder, limit))
