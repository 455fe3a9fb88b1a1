"""A message as the Web API is given it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bots.chat.markdown.safe import line
from bots.slack import blocks, limits
from bots.slack.blocks import Block, Part
from bots.slack.safe import fallback
from core.values import value


@value
class Message:
    """What the Web API is given: ``chat.postMessage(text=…, blocks=…)``."""

    text: str  #: the words alone, for notifications and clients without blocks
    blocks: tuple[Block, ...] = ()


def packed(parts: Iterable[Part]) -> tuple[Message, ...]:
    return tuple(message_of(made) for made in blocks.packed(parts))


def message_of(made: Sequence[Block]) -> Message:
    return Message(text=_words_of(made), blocks=tuple(made))


def note(sentence: str) -> Message:
    """A short word of ours, private ones too; as much of it as one message takes."""
    return packed(blocks.lines([*sentence.split("\n"), "" if line(sentence) else "…"]))[0]


def _words_of(made: Sequence[Block]) -> str:
    """The words of what is shown, without its small print."""
    said = [_said(block) for block in made]
    words = "\n\n".join(each for each in said if each) or "Footnote"
    shown = fallback(words)
    while len(shown) > limits.FALLBACK_TEXT:
        words = words[: len(words) * limits.FALLBACK_TEXT // (len(shown) + 1)]
        shown = fallback(f"{words}…")
    return shown


def _said(block: Block) -> str:
    text = {
        "markdown": lambda: block["text"],
        "section": lambda: block["text"]["text"],
        "rich_text": lambda: block["elements"][0]["elements"][0]["text"],  # a query, to be read as it is
    }.get(block["type"])
    if text is None:
        return ""
    words: str = text().replace("`", "")
    return words.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
