"""The command line against a real backend: plain text, one sentence an error, exit codes as documented."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys

import pytest
from jobdeck_tui.cli import COMMANDS, run
from jobdeck_tui.text.sanitise import is_safe

from .processes import backend, wait_until

PROGRAM = "from jobdeck_tui.cli import main; main()"
SHORT = json.dumps(
    {"stages": [{"name": "read", "seconds": 0.1, "tokens": 20}, {"name": "write", "seconds": 0.1}]}
)
LONG = json.dumps({"stages": [{"name": "wait", "seconds": 60}]})


@pytest.fixture(scope="module")
def state_dir(tmp_path_factory):
    """The state directory of a running backend."""
    directory = tmp_path_factory.mktemp("cli") / "state"
    with backend(directory):
        yield directory


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JOBDECK_")}
    return kept | {"PYTHONIOENCODING": "utf-8"} | more


@pytest.fixture
def jobdeck(state_dir):
    """Run the program as a shell would; every byte of its output is checked for safety."""

    def call(*arguments, code=0, stdin="", **env):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments],
            env=environment(JOBDECK_STATE_DIR=str(state_dir), **env),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert is_safe(done.stdout, lines=True), done.stdout
        assert is_safe(done.stderr, lines=True), done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout, done.stderr

    return call


def test_submit_prints_the_id_and_watch_follows_to_success(jobdeck):
    job_id = jobdeck("submit", "probe", SHORT)[0].strip()
    told, _ = jobdeck("watch", job_id)
    assert told.splitlines()[-1] == f"{job_id} succeeded"
    assert "stage.end" in told
    again, _ = jobdeck("watch", job_id[:8])
    assert again == told


def test_submit_follow_reads_the_input_from_a_file_or_standard_input(jobdeck, tmp_path):
    (tmp_path / "input.json").write_text(SHORT)
    told, _ = jobdeck("submit", "probe", f"@{tmp_path / 'input.json'}", "--follow", "--job-id", "from-file")
    assert told.splitlines()[-1] == "from-file succeeded"
    lines = jobdeck("submit", "probe", "-", "--follow", "--json", stdin=SHORT)[0].splitlines()
    objects = [json.loads(said) for said in lines]
    assert objects[-1]["outcome"] == "succeeded"
    seqs = [one["seq"] for one in objects if "seq" in one]
    assert seqs == list(range(1, len(seqs) + 1))


def test_watch_exits_1_for_a_job_that_did_not_succeed(jobdeck):
    failing = json.dumps({"stages": [{"name": "read", "seconds": 0.0, "fail": True}]})
    told, _ = jobdeck("submit", "probe", failing, "--follow", code=1)
    assert " failed" in told.splitlines()[-1]


def test_a_refused_submit_says_what_is_allowed_and_exits_4(jobdeck):
    assert "known" in jobdeck("submit", "nope", "x", code=4)[1]
    assert "input" in jobdeck("submit", "probe", " ", code=4)[1]
    assert "job_id" in jobdeck("submit", "probe", SHORT, "--job-id", "a b", code=4)[1]
    jobdeck("submit", "probe", SHORT, "--job-id", "taken")
    assert "already exists" in jobdeck("submit", "probe", SHORT, "--job-id", "taken", code=4)[1]


def test_list_filters_sorts_and_prints_json(jobdeck):
    job_id = jobdeck("submit", "probe", SHORT, "--follow", "--job-id", "listed-job")[0].split()[0]
    told, _ = jobdeck("list", "--filter", f"id:{job_id}")
    header, row, total = told.splitlines()
    assert header.split()[:3] == ["ID", "STATE", "QUEUE"]
    assert row.split()[:2] == [job_id, "DONE"]
    assert total.startswith("1 of 1 matching")
    (one,) = json.loads(jobdeck("list", "--filter", f"id:{job_id}", "--json")[0])
    assert one["job_id"] == job_id
    assert len(json.loads(jobdeck("list", "--sort", "age", "--limit", "2", "--json")[0])) == 2


def test_show_gives_facts_stages_and_evidence(jobdeck):
    jobdeck("submit", "probe", SHORT, "--follow", "--job-id", "shown-job")
    told, _ = jobdeck("show", "shown-job")
    assert "state     DONE" in told
    assert told.count("stage     ") == 2
    assert "checkpoint" in told
    assert json.loads(jobdeck("show", "shown-job", "--json")[0])["job"]["state"] == "succeeded"
    assert "Job not found" in jobdeck("show", "no-such-job", code=4)[1]


def test_cancel_resume_grant_and_expire_act_and_refuse_in_words(jobdeck):
    jobdeck("submit", "probe", LONG, "--job-id", "acted-on", "--deadline-seconds", "300")
    assert jobdeck("cancel", "acted-on", "--reason", "test")[0].split()[0] == "acted-on"
    refused = jobdeck("cancel", "acted-on", code=4)[1]
    assert "Nothing was changed" in refused
    wait_until(lambda: "CANCELLED" in jobdeck("list", "--filter", "id:acted-on")[0])
    jobdeck("grant", "acted-on", "--seconds", "60")
    jobdeck("resume", "acted-on")
    results = json.loads(jobdeck("expire", "acted-on", "missing-job", "--json", code=4)[0])
    assert [one["ok"] for one in results] == [True, False]


def test_an_act_on_a_version_that_has_passed_is_refused(jobdeck):
    jobdeck("submit", "probe", LONG, "--job-id", "versioned")
    assert "version" in jobdeck("expire", "versioned", "--version", "999", code=4)[1]
    jobdeck("expire", "versioned")


def test_ctrl_c_ends_a_command_with_130_and_the_job_goes_on(jobdeck, state_dir):
    jobdeck("submit", "probe", LONG, "--job-id", "interrupted")
    watching = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "watch", "interrupted"],
        env=environment(JOBDECK_STATE_DIR=str(state_dir)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "accepted" in watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    _, told = watching.communicate(timeout=20)
    assert (watching.returncode, told.strip()) == (130, "")
    jobdeck("expire", "interrupted")


@pytest.mark.parametrize("code", [11, 12, 13])
def test_a_start_that_fails_passes_its_exit_code_through(jobdeck, tmp_path, code):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1] if code == 11 else 0
        directory = tmp_path / "state"
        if code == 12:
            (tmp_path / "file").write_text("")
            directory = tmp_path / "file" / "state"
        elif code == 13:
            directory.mkdir()
            (directory / "jobdeck.db").write_bytes(b"no database at all " * 500)
        out, told = jobdeck("serve", "--state-dir", str(directory), "--port", str(port), code=code)
    assert out == ""
    assert len(told.splitlines()) == 1


def test_a_taken_state_directory_is_refused_naming_the_first(jobdeck, state_dir):
    pid = json.loads((state_dir / "jobdeck.lock").read_text())["pid"]
    told = jobdeck("serve", "--state-dir", str(state_dir), "--port", "0", code=10)[1]
    assert str(pid) in told


def test_no_backend_is_exit_3_and_says_how_to_start_one(jobdeck, tmp_path):
    told = jobdeck("list", "--state-dir", str(tmp_path / "none"), code=3)[1]
    assert "jobdeck serve" in told
    assert "refused" in jobdeck("list", "--server", "http://127.0.0.1:9", code=3)[1]
    assert "refused" in jobdeck("list", JOBDECK_SERVER="http://127.0.0.1:9", code=3)[1]
    assert "refused" in jobdeck("--server", "http://127.0.0.1:9", "list", code=3)[1]
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("bogus",),
        ("list", "--filter", "colour:red"),
        ("list", "--limit", "0"),
        ("list", "--server", "ftp://host"),
        ("list", "--server", "http://127.0.0.1:99999"),
        ("list", "--server", "http://127.0.0.1:port"),
        ("list", "--server", "http://[::1"),
        ("list", "--server", "http://xn--"),
        ("list", "--server", "http://host/path?query"),
        ("submit", "probe", "@/no/such/file"),
        ("submit", "probe"),
        ("demo", "--json"),
        (),
        ("demo",),
    ],
)
def test_wrong_usage_is_exit_2_and_one_sentence(jobdeck, arguments):
    out, told = jobdeck(*arguments, code=2)
    assert out == ""
    assert len(told.splitlines()) == 1


def test_a_terminal_without_cursor_control_gets_no_deck(state_dir):
    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment(TERM="dumb", JOBDECK_STATE_DIR=str(state_dir)),
        stdin=follower,
        stdout=follower,
        stderr=follower,
        timeout=30,
    )
    os.close(follower)
    told = os.read(leader, 10_000).decode()
    os.close(leader)
    assert done.returncode == 2
    assert "\x1b" not in told
    assert "jobdeck list" in told


def test_every_command_explains_itself_and_the_exit_codes_are_told(capsys):
    assert run(["--help"]) == 0
    told = capsys.readouterr().out
    assert all(f"  {command}" in told for command in COMMANDS)
    assert "3 server not reachable" in " ".join(told.split())
    for command in COMMANDS:
        assert run([command, "--help"]) == 0


def test_a_reader_that_leaves_ends_the_program_quietly(state_dir):
    leaving = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" list --json | true', sys.executable, PROGRAM],
        env=environment(JOBDECK_STATE_DIR=str(state_dir)),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert leaving.stderr == ""


def test_the_command_line_imports_no_terminal_library_and_no_backend():
    unwanted = {"textual", "rich", "httpx", "jobdeck_backend"}
    looking = f"import sys, jobdeck_tui.cli; print(sorted({unwanted!r} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", looking], capture_output=True, text=True, env=environment())
    assert told.stdout.strip() == "[]"
