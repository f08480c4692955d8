"""The backend of our own: started, found, ended with us, and its failures told in a sentence."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest
from jobdeck_tui.client.embedded import EmbeddedBackend, last_line
from jobdeck_tui.client.errors import StartFailed
from jobdeck_tui.client.instance import await_start, running_instance

from tests.deck.processes import is_alive, wait_until


def test_a_second_deck_attaches_to_the_running_backend_and_leaves_it_running(tmp_path):
    first, second = EmbeddedBackend(tmp_path / "state"), EmbeddedBackend(tmp_path / "state")
    try:
        instance = first.start()
        assert first.owned
        assert second.start() == instance
        assert not second.owned
        second.stop()
        assert is_alive(instance.pid)
        assert running_instance(tmp_path / "state") == instance
    finally:
        first.stop()
    assert not is_alive(instance.pid)
    assert running_instance(tmp_path / "state") is None
    assert oct((tmp_path / "state" / "backend.log").stat().st_mode & 0o777) == "0o600"


def test_kill_9_of_the_deck_leaves_no_backend_behind(tmp_path):
    program = (
        "import pathlib, sys, time\n"
        "from jobdeck_tui.client.embedded import EmbeddedBackend\n"
        "print(EmbeddedBackend(pathlib.Path(sys.argv[1])).start().pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    deck = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "s")], stdout=subprocess.PIPE)
    pid = int(deck.stdout.readline())
    deck.send_signal(signal.SIGKILL)
    deck.wait()
    deck.stdout.close()
    wait_until(lambda: not is_alive(pid))


def test_a_backend_that_is_still_starting_is_ended_at_once(tmp_path):
    embedded = EmbeddedBackend(tmp_path / "s")
    failures = []

    def start():
        with pytest.raises(StartFailed) as caught:
            embedded.start()
        failures.append(caught.value.message)

    starting = threading.Thread(target=start)
    starting.start()
    wait_until(lambda: embedded.owned)
    embedded.stop()
    starting.join(10)
    assert [f"exit code {-signal.SIGTERM}" in message for message in failures] == [True], failures


def test_a_port_that_is_taken_is_told_with_its_exit_code(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with pytest.raises(StartFailed, match=port) as caught:
            EmbeddedBackend(tmp_path / "s", ["--port", port]).start()
    assert caught.value.exit_code == 11


def test_a_state_directory_that_cannot_be_is_told_with_its_exit_code(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StartFailed, match="cannot be written") as caught:
        EmbeddedBackend(tmp_path / "file" / "s").start()
    assert caught.value.exit_code == 12


def test_a_backend_that_fails_says_the_last_line_of_its_log(tmp_path):
    with pytest.raises(StartFailed, match="no-such-option") as caught:
        EmbeddedBackend(tmp_path / "s", ["--no-such-option"]).start()
    assert caught.value.exit_code == 2
    assert "backend.log" in caught.value.message


def test_a_lock_left_behind_by_a_dead_backend_is_no_instance(tmp_path):
    lock = tmp_path / "jobdeck.lock"
    assert running_instance(tmp_path) is None
    for content in (
        "",
        "{",
        "[]",
        '{"pid": 1}',
        '{"pid": "x", "url": "u"}',
        '{"pid": 999999999, "url": "u"}',
    ):
        lock.write_text(content)
        assert running_instance(tmp_path) is None, content
    lock.write_text(f'{{"pid": {os.getpid()}, "url": "http://127.0.0.1:1"}}')
    assert running_instance(tmp_path) is None


def test_the_last_line_of_a_log_is_one_safe_line(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"x" * 100_000 + b"\nearlier\n\x1b[31mthe end\x1b]0;t\x07 \xff\n\n")
    assert last_line(log) == "the end \ufffd"
    assert last_line(log, start=log.stat().st_size) == ""
    assert last_line(tmp_path / "none") == ""


def test_a_backend_that_is_starting_is_waited_for_and_one_that_is_not_there_is_not(tmp_path):
    def tell(url):
        (tmp_path / "jobdeck.lock").write_text(json.dumps({"pid": os.getpid(), "url": url}))

    tell(None)
    assert await_start(tmp_path) is None  # nobody holds the lock
    with (tmp_path / "jobdeck.lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert running_instance(tmp_path) is None
        assert await_start(tmp_path, seconds=0.0) is None
        answers = threading.Timer(0.2, tell, ["http://127.0.0.1:1"])
        answers.start()
        found = await_start(tmp_path)
        answers.join()
    assert found is not None
    assert found.url == "http://127.0.0.1:1"
