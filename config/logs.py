"""Structured logs: one JSON object a line, with the request's or the task's id in each."""

import logging.config
import re
from typing import Any

import structlog

_PICTURE = re.compile(r"/pictures/[^\s?&\"']+")


def without_picture_tokens(_: Any, __: str, line: Any) -> Any:
    """Shorten the addresses of pictures in a line: each is a permission to see the picture for an hour (R8)."""
    for name in ("event", "request"):
        if isinstance(line.get(name), str):
            line[name] = _PICTURE.sub("/pictures/…", line[name])
    return line


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    without_picture_tokens,
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
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    renderer,
                ],
                "foreign_pre_chain": _SHARED,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {"axes": {"level": "WARNING"}, "botocore": {"level": "WARNING"}},
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
