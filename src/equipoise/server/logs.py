"""Logs as JSON lines, one object a line, without the text of questions or documents."""

import json
import logging
import sys
import time
from typing import Any, Final, TextIO

LOGGER: Final = logging.getLogger("equipoise.server")


class JsonLines(logging.Formatter):
    """Makes one JSON object of a record: time (UTC), level, logger, message, and extra fields.

    Fields come from `extra={"fields": {...}}`. A traceback is a field of its own: logs have it,
    clients never do.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{stamp}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def start_logging(stream: TextIO | None = None, *, level: int = logging.INFO) -> None:
    """Send the server's and uvicorn's records to `stream` (stderr) as JSON lines."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("equipoise", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level)


def log(message: str, *, level: int = logging.INFO, error: bool = False, **fields: Any) -> None:
    """One line with these fields; with `error` the traceback of what is being handled."""
    LOGGER.log(level, message, extra={"fields": fields}, exc_info=error)
