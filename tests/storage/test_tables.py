"""All stores of one PostgreSQL share its names."""

from __future__ import annotations

import re
from collections import Counter

from bots.chat import channels
from core.library import tables
from core.reasoning import limits
from core.turns import admission, leases

SCHEMAS = (tables.SCHEMA, channels.SCHEMA, limits.SCHEMA, admission.SCHEMA, leases.SCHEMA)
#: Made by LangGraph, and by us for all stores.
OTHERS = (
    "checkpoints",
    "checkpoint_blobs",
    "checkpoint_writes",
    "checkpoint_migrations",
    "footnote_versions",
)
_NAME = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)")


def test_no_two_stores_have_a_table_of_one_name():
    names = Counter(OTHERS)
    for schema in SCHEMAS:
        names.update(_NAME.findall(schema.postgresql or schema.tables))

    assert len(names) > 20
    assert [name for name, count in names.items() if count > 1] == []
