"""Where the log goes: standard error, as text or as one JSON object a line."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from core.settings import Settings

#: What a LogRecord always carries; everything else was handed in as ``extra``.
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


#: Whose details may be written down: libraries log what they send and store, and that is what people said.
_OURS = ("core.", "bots.")

#: Libraries that write down whole addresses, and with them what is searched for, as mere information.
_TALKATIVE = ("httpx", "httpcore", "primp", "ddgs", "urllib3", "aiohttp.access")


def log_to_stderr(settings: Settings, *, quiet: bool) -> None:
    """``quiet`` is for a person at a terminal, who is told everything as a sentence anyway:
    the log then speaks only when LOG_LEVEL asks for more than its default."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if settings.log_format == "json" else text)
    handler.addFilter(lambda record: record.levelno > logging.DEBUG or record.name.startswith(_OURS))
    is_default = settings.log_level == Settings().log_level
    level = logging.CRITICAL if quiet and is_default else logging.getLevelName(settings.log_level)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger(name).getEffectiveLevel()))


class JsonLines(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: content for name, content in vars(record).items() if name not in _USUAL},
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)
