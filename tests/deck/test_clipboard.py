"""Copying: what certainly happened is said, and the text is kept where it can be fetched from."""

import os
import shutil
import subprocess
import uuid

import pytest
from jobdeck_tui.clipboard import FILE_NAME, OSC_BYTES_MAX, copy

XTERM = {"TERM": "xterm-256color", "PATH": os.environ["PATH"]}


def test_a_terminal_that_may_listen_is_sent_it_and_the_file_has_it_for_its_owner(tmp_path):
    sent = []
    said = copy("one\ntwo", tmp_path / "state", sent.append, XTERM)
    file = tmp_path / "state" / FILE_NAME
    assert sent == ["one\ntwo"] == [file.read_text()]
    assert file.stat().st_mode & 0o777 == 0o600
    assert said.arrived
    assert str(file) in said.words
    copy("three", tmp_path / "state", sent.append, XTERM)
    assert file.read_text() == "three"


@pytest.mark.parametrize(
    ("environment", "word"),
    [
        ({"TERM": "linux"}, "linux console"),
        ({"TERM": "screen", "STY": "1.pts"}, "GNU screen"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, "Apple"),
    ],
)
def test_a_terminal_known_to_drop_copies_is_sent_nothing_and_that_is_said(tmp_path, environment, word):
    said = copy("one", tmp_path, pytest.fail, environment)
    assert not said.arrived
    assert word in said.words
    assert (tmp_path / FILE_NAME).read_text() == "one"


def test_what_no_clipboard_takes_goes_to_the_file_only(tmp_path):
    said = copy("x" * (OSC_BYTES_MAX + 1), tmp_path, pytest.fail, XTERM)
    assert not said.arrived
    assert "too long" in said.words
    assert (tmp_path / FILE_NAME).stat().st_size == OSC_BYTES_MAX + 1


def test_a_place_that_cannot_be_written_is_said_and_the_copy_still_sent(tmp_path):
    (tmp_path / "file").write_text("")
    sent = []
    said = copy("one", tmp_path / "file" / "state", sent.append, XTERM)
    assert sent == ["one"]
    assert "could not be kept" in said.words


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")
def test_tmux_is_given_it_where_its_default_setting_would_drop_it(tmp_path):
    tmux = ["tmux", "-S", str(tmp_path / "tmux")]
    subprocess.run([*tmux, "new-session", "-d", "cat"], check=True, timeout=10)
    try:
        text = f"job {uuid.uuid4()}\n=äöü"
        said = copy(text, tmp_path, pytest.fail, {**XTERM, "TMUX": f"{tmp_path / 'tmux'},1,0"})
        kept = subprocess.run([*tmux, "show-buffer"], capture_output=True, check=True, timeout=10)
        assert kept.stdout.decode() == text
        assert "tmux" in said.words
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, timeout=10)


def test_a_tmux_that_is_gone_is_not_believed(tmp_path):
    sent = []
    copy("one", tmp_path, sent.append, {**XTERM, "TMUX": f"{tmp_path / 'none'},1,0"})
    assert sent == ["one"]
