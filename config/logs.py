"""Structured logs: one JSON object per line, with the ID of the request or task."""

import json
import logging.config
import sys
from contextlib import suppress
from typing import Any, TextIO

import structlog

from common.log_mask import mask


class MaskedFormatter(structlog.stdlib.ProcessorFormatter):
    """Writes a line, and masks the secrets in all of it: event, fields, nested values, traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of the record."""
        return mask(super().format(record))


class MaskedHandler(logging.StreamHandler[TextIO]):
    """Writes to standard error. A record that cannot be written is reported without its arguments."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Say which call of the log failed and why; the standard library would print what it was called with."""
        error = sys.exc_info()[1]
        where = {"logger": record.name, "file": record.pathname, "line": record.lineno}
        with suppress(OSError, ValueError):
            print(mask(json.dumps({"event": "log line lost", **where, "error": repr(error)})), file=sys.stderr)


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def configure_logs(log_format: str) -> dict[str, Any]:
    """Set up logging for this process; `log_format` is `json` or `console`. Returns what was configured."""
    renderer: Any = (
        structlog.processors.JSONRenderer() if log_format == "json" else structlog.dev.ConsoleRenderer(colors=False)
    )
    configuration = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": MaskedFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    renderer,
                ],
                "foreign_pre_chain": _SHARED,
            }
        },
        "handlers": {"stderr": {"class": "config.logs.MaskedHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "axes": {"level": "WARNING"},
            "botocore": {"level": "WARNING"},
            # The web server's own handlers would write unmasked addresses.
            **{name: {"handlers": [], "propagate": True} for name in ("_granian", "granian.access")},
        },
    }
    logging.config.dictConfig(configuration)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return configuration
