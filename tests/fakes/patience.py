"""How long a test waits for what must happen before it fails."""

from __future__ import annotations

#: Seconds. A bound for what hangs, never a measure of what is slow: machines of CI stop for a minute now and then.
PATIENCE = 240.0
