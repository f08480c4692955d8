"""What jobs say reaches logs as text only (R38)."""

import subprocess
import sys

SAY = """
import logging
import structlog
from jobdeck_backend import logs

logs.configure()
evil = "\\x1b[2J\\x1b]0;owned\\x07\\x9b31m\\u202egnihton\\r\\udc80"
log = structlog.get_logger("jobdeck")
for size in (1, 1_000_000):
    try:
        raise ValueError(evil + "é" * size)
    except ValueError:
        log.exception("job failed", job_id="one", reason=evil)
        logging.getLogger("distributed.worker").exception("Compute Failed %s", evil)
"""


def test_r38_job_text_reaches_no_log_as_an_escape_and_none_without_bound() -> None:
    said = subprocess.run([sys.executable, "-c", SAY], capture_output=True, check=True, timeout=30)
    assert said.stdout == b""
    text = said.stderr.decode()
    assert text.count("ValueError: ") == 4
    assert {character for character in text if not character.isprintable()} == {"\n"}
    assert "\\x1b[2J" in text
    assert "é" in text
    assert len(text) < 100_000
