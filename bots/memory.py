"""How the C library keeps memory that was given back."""

from __future__ import annotations

import ctypes
import sys

ARENAS = 2
M_ARENA_MAX = -8  # glibc's <malloc.h>


def keep_few_arenas() -> bool:
    """Whether glibc was told, before threads begin, to share its arenas: each keeps what it once held.

    By itself it makes eight for each processor. 5,600 questions left 19 MB in them that nobody used, and
    4 MB in two. Other C libraries have none.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS))
    except (OSError, AttributeError):
        return False
