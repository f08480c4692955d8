"""The deck's own log: whose eyes it is for, what it never holds, and that it stays small."""

import logging

import pytest
from jobdeck_tui.deck_log import FILE_BYTES_MAX, FILES_KEPT, log, open_log, without_secrets


@pytest.fixture
def path(tmp_path):
    """A log that is begun, and ended afterwards."""
    before = list(log.handlers)
    yield open_log(tmp_path / "state")
    for handler in set(log.handlers) - set(before):
        log.removeHandler(handler)
        handler.close()


def test_it_is_its_owners_alone_and_a_directory_that_cannot_be_is_no_trouble(path, tmp_path):
    log.info("here")
    assert path.stat().st_mode & 0o777 == 0o600
    assert " INFO here\n" in path.read_text()
    (tmp_path / "file").write_text("")
    assert open_log(tmp_path / "file" / "state") is None


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdef0123456789",
        "https://ana:hidden-word@host/v1",
        "https://abcdef0123456789@host/v1",
        "api_key=abcdef0123456789&x=1",
        '{"password": "hidden-word"}',
        "sk-abcdef0123456789abcdef",
    ],
)
def test_it_holds_no_secret(path, text):
    assert without_secrets("feed open on 127.0.0.1:8787") == "feed open on 127.0.0.1:8787"
    log.warning("feed lost: %s", text)
    written = path.read_text()
    assert "feed lost" in written
    assert "hidden-word" not in written
    assert "abcdef0123456789" not in written


def test_a_crash_is_there_without_anybodys_values_and_nothing_acts_on_a_terminal(path):
    held = "-".join(["value", "of", "a", "local"])
    try:
        raise ValueError(len(held), "\x1b]52;c;AAAA\x07\x1b[2J")
    except ValueError:
        log.exception("the deck crashed\nINFO forged entry")
    written = path.read_text()
    assert "ValueError" in written
    assert held not in written
    assert "\x1b" not in written
    assert "\nINFO forged" not in written


def test_it_is_rotated(path):
    for _ in range(3 * (FILE_BYTES_MAX // 3000)):
        log.info("x" * 3500)
    files = sorted(path.parent.iterdir())
    assert 1 < len(files) <= FILES_KEPT + 1
    assert all(
        file.stat().st_size <= FILE_BYTES_MAX and file.stat().st_mode & 0o777 == 0o600 for file in files
    )
    assert logging.getLogger().handlers == [] or log.propagate is False
