"""Addresses: absolute paths and URLs. Both lie in what comes before their slashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path


def ancestors(address: str) -> Iterator[str]:
    """The address and all that it lies in, innermost first: "/a/b", "/a", "/"."""
    yield address
    while (cut := address.rfind("/")) > 0:
        address = address[:cut]
        yield address
    if cut == 0 and address != "/":
        yield "/"


def is_within(address: str, place: str) -> bool:
    """Whether an address is the place itself or lies below it; a slash at the end says nothing."""
    bare = place.rstrip("/")
    return address.rstrip("/") == bare or address.startswith(bare + "/")


def span_below(place: str) -> tuple[str, str, str]:
    """The place, and the first and the end of what sorts below it: for SQL that an index can answer."""
    bare = place.rstrip("/")
    return bare, bare + "/", bare + "0"  # "0" follows "/" in ASCII


def places_meant(name: str, known: Sequence[tuple[str, str, str]]) -> set[tuple[str, str]]:
    """(collection, address) of the files, folders and pages that a person calls by this name.

    ``known`` is (collection, address, source) of all there are. What the name means as a path
    of this machine goes before what documents are called.
    """
    if not name.strip():
        return set()
    place = _absolute(name)
    by_address = {(collection, place) for collection, address, _ in known if is_within(address, place)}
    return by_address or {
        (collection, address.removesuffix(source[len(name.rstrip("/")) :]))
        for collection, address, source in known
        if is_within(source, name)
    }


def _absolute(name: str) -> str:
    if "://" in name:
        return name.rstrip("/")
    try:
        return str(Path(name).expanduser().resolve())
    except (OSError, RuntimeError, ValueError):  # a circle of links, an unknown user, a NUL
        return name
