"""What goes to the worker that reads documents, and what comes back: a header's length, the header, the data."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

LENGTH = struct.Struct(">I")  # bytes of the header, which is JSON


def framed(header: Mapping[str, Any], data: bytes = b"") -> bytes:
    """The header says the ``size`` of the data."""
    written = json.dumps({**header, "size": len(data)}).encode()
    return LENGTH.pack(len(written)) + written + data
