"""The stores, on either of two databases: files of SQLite in the data folder, or one PostgreSQL."""
