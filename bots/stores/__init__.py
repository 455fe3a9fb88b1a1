"""Copies of all stores: from a data folder, a PostgreSQL or an archive, into another one of these."""
