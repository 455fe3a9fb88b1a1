"""Whether a process serves a data folder or a PostgreSQL, and where the queue is through which it takes work."""

from __future__ import annotations

from core.library.data_lock import find_owner
from core.settings import Settings


def is_served(settings: Settings) -> bool:
    """Whether somebody serves now, who does the work of commands. SettingsError if PostgreSQL cannot be asked."""
    if settings.postgres_url is not None:
        from core.turns.leases import is_any_serving

        return is_any_serving(settings.postgres_url)
    owner = find_owner(settings.data_dir)
    return owner is not None and owner.is_serving


def queue_url(settings: Settings) -> str:
    """The address of the database of the durable queue."""
    return settings.database_url or f"sqlite:///{settings.data_dir.resolve() / 'turns.sqlite'}"
