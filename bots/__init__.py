"""Thin shells around the core: each reads what a person sends, and writes how the turn ended."""
