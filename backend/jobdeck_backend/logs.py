"""How every process of the backend logs: lines on standard error, tracebacks without anybody's values."""

import logging
import sys

import structlog


def configure() -> None:
    """Set up this process's logging, ours and the libraries'."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # Plain: the pretty formatter prints local variables, and with them what jobs were given (R38).
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.WARNING,
        force=True,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
