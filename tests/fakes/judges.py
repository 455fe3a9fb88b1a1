"""What a reader could be deceived or disturbed by, judged without a look at the code that prevents it."""

from __future__ import annotations

import importlib.resources
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from html import unescape
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from fakes.discord.components import TEXT, walk
from fakes.discord_markdown import entities as discord_entities
from fakes.slack.rendering import entities_of
from markdown_it import MarkdownIt

#: Letters of other scripts that look like Latin ones in the words that are tried here.
_LOOKS_LIKE = str.maketrans("авсеноруткмхьѕіո", "abcehopytkmxbsin")
_KEPT = "\n\t\u200c\u200d"
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_WORD = re.compile(r"(?<![\w@/.-])(?:[\w-]+\.)+([\w-]{2,})(?![\w-])")


def letters(text: str) -> str:
    """What the eye reads: no accents, no invisible signs, one alphabet."""
    for _ in range(2):
        text = unquote(unescape(text))
    plain = unicodedata.normalize("NFKD", text).casefold().translate(_LOOKS_LIKE)
    return re.sub(r"[^a-z0-9]", "", plain.replace("xn--", "bank"))


def is_forged(label: str, target: str) -> bool:
    """Whether what can be pressed speaks of the bank and does not lead there, or leads where nobody sees."""
    parts = urlsplit(target)
    return ("bank" in letters(label) and "bank" not in letters(parts.netloc)) or "@" in parts.netloc


def unclean(text: str) -> list[str]:
    """Signs that turn, hide or command."""
    return [
        ascii(sign)
        for sign in text
        if sign not in _KEPT and unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Co")
    ]


def strings(value: Any) -> Iterator[str]:
    """Every text in a payload."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from strings(inner)


def does_harm(kind: str, target: str, label: str, links: Collection[str]) -> bool:
    """Only what an outcome cites may be a link."""
    is_cited = any(quoted(unquote(target)) == quoted(unquote(link)) for link in links)
    return kind != "link" or not is_cited or is_forged(label, target)


def quoted(link: str) -> str:
    """An address as it may stand in a message, its signs encoded."""
    shown = "".join(sign for sign in " ".join(link.split()) if not unclean(sign))
    return quote(shown, safe="%/:?#[]@!$&'()+,;=-._~").rstrip("/")


def slack_faults(text: str, blocks: Collection[Any], links: Collection[str]) -> list[str]:
    """What a message in Slack would do beside being read."""
    found = [
        f"{one.kind} {one.target!r} as {one.label!r}"
        for one in entities_of(text, list(blocks), lambda who: who)
        if does_harm(one.kind, one.target, one.label, links)
    ]
    for block in blocks:
        if block["type"] == "markdown":
            found += [f"by itself a link: {word}" for word in _linked_words(block["text"])]
    found += [f"by itself a link: {word}" for word in _hosts(_CODE.sub(" ", unescape(text)))]
    return found + [sign for each in strings([text, *blocks]) for sign in unclean(each)]


def slack_view_faults(view: Mapping[str, Any]) -> list[str]:
    """A modal may only hold plain text."""
    kinds = set(_kinds(view))
    return [
        *(kinds & {"mrkdwn", "markdown", "image", "link"}),
        *(sign for each in strings(view) for sign in unclean(each)),
    ]


def _kinds(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield str(value.get("type", ""))
        for inner in value.values():
            yield from _kinds(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _kinds(inner)


_DECIDED_AT = re.compile(r" at <t:\d{10}:t>\.")  # when somebody decided, as a card says it


def discord_faults(components: Collection[Any], links: Collection[str]) -> list[str]:
    """What a message in Discord would do beside being read. Its own break of a ping is a space of no width."""
    everything = list(walk(list(components)))
    found = [
        f"{one.kind} {one.target!r} as {one.label!r}"
        for part in everything
        if part["type"] == TEXT
        for one in discord_entities(_DECIDED_AT.sub("", part["content"]))
        if does_harm(one.kind, one.target, one.label, links)
    ]
    found += [f"a link of its own: {part['url']}" for part in everything if part.get("url")]
    return found + [
        sign for each in strings(list(components)) for sign in unclean(each.replace("\u200b", ""))
    ]


def _linked_words(markdown: str) -> Iterator[str]:
    """Names of hosts in words that are neither code nor the label of a link."""
    for token in MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(markdown):
        is_in_link = False
        for child in token.children or []:
            is_in_link = child.type == "link_open" or (is_in_link and child.type != "link_close")
            if child.type == "text" and not is_in_link:
                yield from _hosts(child.content)


def _hosts(text: str) -> Iterator[str]:
    return (found[0] for found in _WORD.finditer(text) if found[1].lower() in _top_level())


@cache
def _top_level() -> frozenset[str]:
    """The top-level domains of the Public Suffix List, as another package carries it."""
    listed = (
        importlib.resources.files("tld")
        .joinpath("res/effective_tld_names.dat.txt")
        .read_text(encoding="utf-8")
    )
    official = listed.partition("===BEGIN PRIVATE DOMAINS===")[0]
    return frozenset(
        line for line in official.splitlines() if line and not line.startswith("//") and "." not in line
    )
