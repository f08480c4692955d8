"""What jobs say reaches logs as text only (R38)."""

import os
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


SAY_WORDS = """
import structlog
from jobdeck_backend import logs
from jobdeck_backend.recovery.plan import Act

logs.configure()
structlog.get_logger("jobdeck").info("recovery", act=Act.RESUME, job_id="one")
"""


def test_what_the_plan_calls_its_acts_is_logged_in_those_words() -> None:
    said = subprocess.run([sys.executable, "-c", SAY_WORDS], capture_output=True, check=True, timeout=30)
    assert "act='resume from checkpoint' job_id=one" in said.stderr.decode()


TELL = """
import logging
import structlog
from jobdeck_backend import logs

logs.configure()
told = [
    "Authorization: Bearer abcdef0123456789",
    'provider refused {"api_key": "hunter-22"}',
    "GET https://me:hunter-33@example.org/x?token=hunter-44&page=2",
    "key sk-proj-0123456789abcdefghij",
    "a plain word: correct horse battery",
]
for one in told:
    try:
        raise ValueError(one)
    except ValueError:
        structlog.get_logger("jobdeck").exception("job failed", why=one)
        logging.getLogger("distributed.worker").error("failed: %s", one)
print(logs.without_secrets("max_tokens: 4000, tokens=12, https://example.org/a:b"))
"""


def test_r38_what_looks_like_a_secret_or_is_one_of_the_process_reaches_no_log() -> None:
    environment = {**os.environ, "PROVIDER_API_KEY": "correct horse battery"}
    said = subprocess.run(
        [sys.executable, "-c", TELL], capture_output=True, check=True, timeout=30, env=environment
    )
    log = said.stderr.decode()
    for secret in ("abcdef0123456789", "hunter", "abcdefghij", "battery"):
        assert secret not in log
    assert log.count("***") >= 15
    assert "page=2" in log
    assert said.stdout.decode().strip() == "max_tokens: 4000, tokens=12, https://example.org/a:b"
