"""``footnote access``: who may read which collection."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from contextlib import AbstractContextManager, closing, nullcontext

from bots.access_ids import any_id, ids_of
from bots.chat.access import CHANNEL, GROUP, PERSON, AccessChange, access_rules, change_access, readers
from bots.chat.channels import SCHEMA, STORE
from bots.chat.people import state_email, stated_emails
from bots.terminal.screen import Screen
from core.bootstrap import open_library, own_data_dir
from core.errors import SettingsError
from core.library.data_lock import make_data_dir
from core.settings import Settings
from core.storage.database import version_in
from core.storage.storage import file_of, open_storage


def run(arguments: Namespace, settings: Settings) -> int:
    """List, or change one collection or people's e-mail addresses and list them. It works beside a bot, whose next question goes by it."""
    change = _change(arguments)
    if not change.is_empty and not arguments.collection:
        raise SettingsError("Name the collection: footnote access COLLECTION --channels ID.")
    screen = Screen()
    make_data_dir(settings.data_dir)
    with _alone_if_older(settings), open_storage(settings) as storage:
        with closing(open_library(settings, storage)) as library:
            known = library.store.collections()
        with closing(storage.database(STORE, SCHEMA)) as database:
            if not change.is_empty:
                for name in change_access(database, arguments.collection, change, known=known):
                    screen.note(f"{name} had no access to {arguments.collection}.")
            for person, address in _emails(arguments.email):
                state_email(database, person, address)
            rules, emails = access_rules(database, known), stated_emails(database)
    if arguments.collection and arguments.collection not in rules:
        raise SettingsError(f"There is no collection {arguments.collection}. There are: {', '.join(rules)}.")
    for name, those in rules.items():
        if name == (arguments.collection or name):
            screen.write(f"{name}\t{readers(those)}")
    for person, address in emails if not arguments.collection else ():
        screen.write(f"person {person}\t{address}")
    return 0


def _alone_if_older(settings: Settings) -> AbstractContextManager[None]:
    """An older file is migrated, which no other process may use meanwhile."""
    file = file_of(settings.data_dir, STORE)
    is_older = settings.postgres_url is None and (version_in(file) or SCHEMA.version) < SCHEMA.version
    return own_data_dir(settings, "footnote access, after an update") if is_older else nullcontext()


def _change(arguments: Namespace) -> AccessChange:
    return AccessChange(
        closes=arguments.nobody,
        opens_to_everyone=arguments.everyone,
        opens=(
            *((CHANNEL, name) for name in ids_of(CHANNEL, arguments.channels)),
            *((PERSON, name) for name in ids_of(PERSON, arguments.people)),
            *((GROUP, name) for name in ids_of(GROUP, arguments.groups)),
        ),
        removes=tuple(name for written in arguments.remove for name in any_id(written)),
    )


def _emails(written: Iterable[str]) -> list[tuple[str, str]]:
    """Persons and addresses; SettingsError for what is neither."""
    found = []
    for each in written:
        person, sign, address = each.partition("=")
        if not sign:
            raise SettingsError(f"{each} names no address: --email U0123ABCD=ann@example.org")
        found += [(known, address) for known in ids_of(PERSON, [person])]
    return found
