"""Copies of all stores: what is locked meanwhile, and what is refused."""

from __future__ import annotations

import psycopg
import pytest

from bots.stores.server import refuse_company
from core.errors import SettingsError
from core.storage.postgres import open_pool


def test_the_lock_of_a_copy_ends_with_its_transaction_though_the_connection_stays(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        with connection.transaction():
            refuse_company(connection, postgres_url)
            with psycopg.connect(postgres_url) as other, pytest.raises(SettingsError, match="another"):
                refuse_company(other, postgres_url)
            with pytest.raises(SettingsError, match="is being copied"), open_pool(postgres_url):
                pass

        with open_pool(postgres_url):
            pass
