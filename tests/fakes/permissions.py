"""Permissions of files that bind whoever runs the tests, root too."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

#: capabilities(7): by these, no permission of a file stops root.
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
VERSION_3 = 0x20080522  # capset(2): _LINUX_CAPABILITY_VERSION_3, two sets of 32 bits
NO_LINUX = "root is bound by no permission, and only Linux lets it give that up"


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Set(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable"))


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """This thread may do what permissions say.

    Root stays the owner of its files. As another user it could not read this checkout in a
    folder that only root may enter.
    """
    if os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip(NO_LINUX)
    libc = ctypes.CDLL(None)
    header, sets = _Header(VERSION_3, 0), (_Set * 2)()
    assert libc.capget(ctypes.byref(header), sets) == 0
    before = sets[0].effective
    sets[0].effective = before & ~(1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH)
    assert libc.capset(ctypes.byref(header), sets) == 0
    try:
        if not _can_read(Path(__file__)):
            pytest.skip("root reads this checkout only by the rights that the test gives up")
        yield
    finally:
        sets[0].effective = before
        assert libc.capset(ctypes.byref(header), sets) == 0


def _can_read(file: Path) -> bool:
    try:
        file.open("rb").close()
    except PermissionError:
        return False
    return True
