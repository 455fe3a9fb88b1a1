"""What a person sees of a message: its words, its links, its pictures, and whom it pings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fakes.discord.components import BUTTON, TEXT, THUMBNAIL, walk

Json = dict[str, Any]
Names = Callable[[str, int], str]  #: kind ("user", "role", "channel") and id -> what a client shows for it


@dataclass(frozen=True, kw_only=True)
class Link:
    url: str
    label: str  #: the words that stand for it
    is_masked: bool  #: whether a reader sees other words than the address
    is_quiet: bool  #: written in angle brackets, so that it never grows a preview


@dataclass(frozen=True, kw_only=True)
class Pings:
    users: frozenset[int] = frozenset()
    roles: frozenset[int] = frozenset()
    everyone: bool = False

    def __or__(self, other: Pings) -> Pings:
        return Pings(
            users=self.users | other.users, roles=self.roles | other.roles,
            everyone=self.everyone or other.everyone,
        )  # fmt: skip

    def __bool__(self) -> bool:
        return bool(self.users or self.roles or self.everyone)


_TOKEN = re.compile(
    r"""
    ```(?:[\w+-]*\n)?(?P<fence>.+?)```
  | (?P<ticks>`{1,2})(?P<code>[^`].*?)(?<!`)(?P=ticks)(?!`)
  | \\(?P<escaped>[^0-9A-Za-z\s])
  | \[(?P<label>(?:\[[^\[\]]*\]|\\.|[^\[\]\\])+)\]
      \(\s*(?P<open><?)(?P<target>https?://(?:\([^()\s]*\)|[^\s()<>\\])+)>?(?:\s+"[^"]*")?\s*\)
  | <(?P<quiet>https?://[^\s<>]+)>
  | (?P<bare>https?://[^\s<]*[^<.,:;"')\]\s*_~|])
  | <@!?(?P<user>\d+)>
  | <@&(?P<role>\d+)>
  | <\#(?P<channel>\d+)>
  | <t:(?P<moment>-?\d+)(?::[tTdDfFR])?>
  | <a?:(?P<emoji>\w+):\d+>
  | (?P<mark>\*\*|__|~~|\|\|)(?=\S)(?P<marked>.+?)(?<=\S)(?P=mark)
  | (?<![*\w])\*(?=[^\s*])(?P<star>[^*\n]+?)\*(?!\*)
  | (?<!\w)_(?=\S)(?P<low>[^_\n]+?)_(?!\w)
  | ^(?P<head>\#{1,3}[ ]|-\#[ ]|>>>[ ]|>[ ])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CODE = re.compile(r"```.+?```|(`{1,2})[^`].*?(?<!`)\1(?!`)", re.DOTALL)
_MENTIONS = {"user": r"<@!?(\d+)>", "role": r"<@&(\d+)>"}
_EVERYONE = re.compile(r"@(?:everyone|here)\b")


@dataclass
class Reading:
    """One text as a client renders it."""

    names: Names
    links: list[Link] = field(default_factory=list)

    def plain(self, text: str) -> str:
        return _TOKEN.sub(self._replace, text)

    def _replace(self, found: re.Match[str]) -> str:
        groups = {name: value for name, value in found.groupdict().items() if value is not None}
        for name in ("fence", "code", "escaped"):
            if name in groups:
                return groups[name]
        for name in ("marked", "star", "low"):
            if name in groups:
                return self.plain(groups[name])
        for kind, sign in (("user", "@"), ("role", "@"), ("channel", "#")):
            if kind in groups:
                return sign + self.names(kind, int(groups[kind]))
        if "moment" in groups:
            return datetime.fromtimestamp(int(groups["moment"]), UTC).strftime("%H:%M")
        if "head" in groups:
            return ""
        return f":{groups['emoji']}:" if "emoji" in groups else self._link(groups)

    def _link(self, groups: dict[str, str]) -> str:
        url = groups.get("target") or groups.get("quiet") or groups["bare"]
        label = Reading(self.names).plain(groups["label"]) if "label" in groups else url
        quiet = "quiet" in groups or groups.get("open") == "<"
        self.links.append(Link(url=url, label=label, is_masked="label" in groups, is_quiet=quiet))
        return label


def texts_of(content: str, embeds: Iterable[Json], components: Iterable[Json]) -> list[str]:
    """Every piece of Markdown in a message, in the order in which it is read."""
    pieces = [content]
    for embed in embeds:
        pieces += [embed.get("author", {}).get("name", ""), embed.get("title", "")]
        pieces.append(embed.get("description", ""))
        pieces += [part for one in embed.get("fields", []) for part in (one["name"], one["value"])]
        pieces.append(embed.get("footer", {}).get("text", ""))
    pieces += [one["content"] for one in walk(components) if one["type"] == TEXT]
    return [piece for piece in pieces if piece]


def rendered(
    content: str, embeds: Sequence[Json], components: Sequence[Json], names: Names
) -> tuple[str, list[Link]]:
    """The plain text that a reader sees, and the links in it."""
    reading = Reading(names)
    visible = "\n".join(reading.plain(text) for text in texts_of(content, embeds, components))
    links = list(reading.links)
    for embed in embeds:
        if embed.get("url"):
            label = embed.get("title", "")
            links.append(Link(url=embed["url"], label=label, is_masked=True, is_quiet=True))
    links += [
        Link(url=one["url"], label=one.get("label") or "", is_masked=True, is_quiet=True)
        for one in walk(components)
        if one["type"] == BUTTON and one.get("url")
    ]
    return visible, links


def images_of(
    embeds: Iterable[Json], components: Iterable[Json], files: dict[str, tuple[str, str]], *, is_v2: bool
) -> list[str]:
    """URLs of what is shown as a picture; ``files`` by name: the URL and the content type."""
    found = [
        embed[name].get("url") or embed[name].get("icon_url")
        for embed in embeds
        for name in ("image", "thumbnail", "author", "footer")
        if isinstance(embed.get(name), dict)
    ]
    for one in walk(components):
        found += [item["media"]["url"] for item in one.get("items", [])]
        found += [one["media"]["url"]] if one["type"] == THUMBNAIL else []
    shown = [_resolved(url, files) for url in found if url]
    if not is_v2:
        shown += [url for url, kind in files.values() if kind.startswith("image/") and url not in shown]
    return shown


def _resolved(url: str, files: dict[str, tuple[str, str]]) -> str:
    name = url.removeprefix("attachment://")
    return files[name][0] if name in files else url


def mentioned(text: str) -> Pings:
    """Whom a text names outside of code, allowed or not."""
    text = _CODE.sub(" ", text)
    users, roles = (frozenset(map(int, re.findall(_MENTIONS[kind], text))) for kind in ("user", "role"))
    return Pings(users=users, roles=roles, everyone=bool(_EVERYONE.search(text)))


def pinged(named: Pings, allowed: Json | None, *, replied_to: int | None, default: Sequence[str]) -> Pings:
    """Whom a text notifies of those it names, "Allowed Mentions"; absent, the default kinds are parsed.

    Somebody who is replied to is notified unless ``allowed_mentions`` is there and does not say so.
    """
    allowed = {"parse": default, "replied_user": True} if allowed is None else allowed
    parse = allowed.get("parse") or []
    users = named.users if "users" in parse else named.users & _ids(allowed.get("users"))
    roles = named.roles if "roles" in parse else named.roles & _ids(allowed.get("roles"))
    if replied_to is not None and allowed.get("replied_user"):
        users |= {replied_to}
    return Pings(users=users, roles=roles, everyone=named.everyone and "everyone" in parse)


def _ids(values: Sequence[Any] | None) -> frozenset[int]:
    return frozenset(int(value) for value in values or [])
