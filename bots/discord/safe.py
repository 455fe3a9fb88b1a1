"""Untrusted words in a line of ours, and links that say where they lead."""

from __future__ import annotations

from urllib.parse import urlsplit

from bots.chat.markdown.dialect import Terms
from bots.chat.markdown.inline import prose
from bots.chat.markdown.safe import line, names_another_host
from bots.discord.dialect import DISCORD


def words(text: str) -> str:
    """One line in which nothing is Markdown, wherever it stands; addresses are code."""
    return DISCORD.guarded(prose(line(text), Terms(dialect=DISCORD)))


def small_print(text: str) -> str:
    """The same in small print; nothing where there are no words. Stands on a line of its own."""
    said = words(text)
    return f"-# {said}" if said else ""


def link(url: str, label: str) -> str:
    """``url`` is a web_link. A label that names another host stands before the link instead."""
    host = urlsplit(url).hostname or url
    said = line(label) or host
    if names_another_host(said, url):
        return f"{words(said)} {DISCORD.link(url, host)}"
    return DISCORD.link(url, said)
