"""Ports of this machine that nobody listens on."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

#: Below the ports that systems give to outgoing connections (from 32768 on Linux): one of these may begin at any time.
PORTS = range(20_000, 32_000)


def free_port() -> int:
    while True:
        port = random.SystemRandom().choice(PORTS)  # whatever a test seeds
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port
