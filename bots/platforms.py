"""All platforms together: ids in access rules, and the kinds of sources, their channels included."""

import os
import re
from collections.abc import Iterable
from dataclasses import replace

from bots.chat.access import CHANNEL, GROUP, PERSON
from bots.chat.addresses import DISCORD_CHANNELS, SLACK_CHANNELS, typed_channel
from bots.chat.channels import ChannelStore
from bots.discord import route as discord
from bots.discord.route import DISCORD
from bots.discord.settings import read_discord_settings
from bots.slack import route as slack
from bots.slack.route import SLACK
from bots.slack.settings import read_slack_settings
from core.errors import SettingsError
from core.settings import Settings
from core.sources.kinds import SOURCE_KINDS
from core.sources.source import Credential, SourceGuide, SourceKinds

#: Addresses that "Copy link" gives, and that a browser shows, with what is typed in their place.
SLACK_LINK = re.compile(
    r"https://(?:[\w.-]+\.slack\.com/archives|app\.slack\.com/client/[TE][A-Z0-9]+)/([CG][A-Z0-9]+)(?:[/?].*)?"
)
DISCORD_LINK = re.compile(r"https://(?:\w+\.)?discord\.com/channels/(\d{17,20}/\d{17,20})(?:/.*)?")
ASKS = "Its name, id or address; the bot must be in it, and everyone must be able to read it"
EVERY = "1d"  # what is said and edited is told by events; a sync finds what was missed


def source_kinds(channel_store: ChannelStore | None, *, is_waited_for: bool = False) -> SourceKinds:
    """The kinds of sources. Without a store of opt-outs, channels are looked up but not read.

    ``is_waited_for``: a person waits for the first few items, so that calls need not leave room for questions.
    """
    from bots.discord.channel_source import discord_kind
    from bots.slack.channel_source import INTERVAL, slack_kind

    of_slack = slack_kind(channel_store, interval=0.0 if is_waited_for else INTERVAL)
    return {
        **SOURCE_KINDS,
        SLACK: replace(of_slack, guide=SLACK_GUIDE),
        DISCORD: replace(discord_kind(channel_store), guide=DISCORD_GUIDE),
    }


def _slack_credentials(_address: str, _settings: Settings) -> tuple[Credential, ...]:
    return (
        Credential(
            setting="SLACK_BOT_TOKEN",
            entry="xoxb-TOKEN",
            made_at="https://api.slack.com/apps",
            rights="of an app from what `footnote manifest slack` prints, invited to the channel",
            is_set=read_slack_settings(os.environ, is_served=False) is not None,
        ),
    )


def _discord_credentials(_address: str, _settings: Settings) -> tuple[Credential, ...]:
    return (
        Credential(
            setting="DISCORD_TOKEN",
            entry="TOKEN",
            made_at="https://discord.com/developers/applications",
            rights="of a bot with the Message Content intent, added to the server",
            is_set=read_discord_settings(os.environ) is not None,
        ),
    )


SLACK_GUIDE = SourceGuide(
    title="A channel of Slack",
    asks=ASKS,
    example="#support",
    address=lambda typed: typed_channel(typed, SLACK_CHANNELS, SLACK_LINK),
    credentials=_slack_credentials,
    every=EVERY,
)
DISCORD_GUIDE = SourceGuide(
    title="A channel of Discord",
    asks=ASKS,
    example="#support",
    address=lambda typed: typed_channel(typed, DISCORD_CHANNELS, DISCORD_LINK),
    credentials=_discord_credentials,
    every=EVERY,
)


#: What to write for each kind, where what was written names none.
_EXAMPLES = {
    CHANNEL: "a channel's id or its link, as C0123ABCD, or T0123/C0123ABCD of one workspace among several",
    PERSON: "a person's id, as U0123ABCD or 123456789012345678",
    GROUP: "the id of a Slack user group, as S0123ABCD, or of a Discord role behind its server's, as SERVER/ROLE",
}


def ids_of(kind: str, written: Iterable[str]) -> list[str]:
    """The ids of an access rule. SettingsError for a name, which could be another's tomorrow."""
    found = []
    for each in written:
        known = slack.access_id(kind, each) or discord.access_id(kind, each)
        if known is None:
            raise SettingsError(f"{each} is no id. Write {_EXAMPLES[kind]}; names change, ids do not.")
        found.append(known)
    return found


def any_id(written: str) -> set[str]:
    """The ids of any kind that it may stand for."""
    kinds = (CHANNEL, PERSON, GROUP)
    found = {read(kind, written) for kind in kinds for read in (slack.access_id, discord.access_id)}
    return {name for name in found if name} or {written}
