"""The real command at a real terminal, over documents that were written to command it."""

from __future__ import annotations

import unicodedata

from fakes.forgeries import SEQUENCES
from fakes.served import environment
from fakes.terminals import ENTER, Terminal

COUNT = 20
#: What neither the prompt nor the layout writes by itself: clipboard, title, links to others, other strings, resets.
FORBIDDEN = (
    "\x1b]52", "\x1b]0;owned", "\x1b]2;owned", "\x1b]1337", "\x1b]8;;https://evil", "\x1b]8;id=1;file://evil", "\x1bP", "\x1b_",
    "\x1b^", "\x1bX", "\x1bc", "\x1b#8", "\x1b(0", "\x1b[31m", "\x1b[8m", "\x1b[?1049h", "\x1b[6n", "\x1b[>4;1m", "overtyped\rferry",
)  # fmt: skip
OF_ITS_OWN = "\x1b\r\n\x08"  # of the prompt and the layout: movements and colours


def document(number, sequence):
    return f"# Sark{number:03d}\n\nThe ferry to Sark{number:03d} leaves {sequence} at noon.\n".encode(
        "utf-8", "replace"
    )


async def test_nothing_that_a_document_holds_is_obeyed(tmp_path):
    tried = SEQUENCES[:: len(SEQUENCES) // COUNT][:COUNT]
    docs = tmp_path / "docs"
    docs.mkdir()
    for number, sequence in enumerate(tried):  # one by one: those with most commands are refused as binary
        (docs / f"{number}.md").write_bytes(document(number, sequence))

    async with Terminal(tmp_path, environment(tmp_path) | {"USER": "ann"}) as terminal:
        await terminal.start("chat", "docs")
        await terminal.until_idle()
        replies = []
        for number in range(len(tried)):
            terminal.press(f"When does the ferry to Sark{number:03d} leave?{ENTER}")
            await terminal.until(f"Sark{number:03d} leave?")
            replies.append(await terminal.until_idle())

    assert len(tried) == COUNT
    assert sum("at noon" in reply for reply in replies) > COUNT // 2
    assert [sequence for sequence in FORBIDDEN if sequence in terminal.written] == []
    hidden = {sign for sign in terminal.written if unicodedata.category(sign) in ("Cc", "Cf", "Co")} - set(
        OF_ITS_OWN
    )
    assert hidden == set()
