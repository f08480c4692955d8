"""The command line against a real backend: plain text, one sentence an error, exit codes as documented."""

import ast
import json
import os
import pty
import signal
import subprocess
from unittest.mock import patch

import command_line
import pytest
from command_line import PROGRAM, environment
from jobdeck_tui.cli import COMMANDS
from jobdeck_tui.cli.watch import LinePrinter
from jobdeck_tui.client.models import Event
from running_backend import wait_until

SHORT = json.dumps(
    {"stages": [{"name": "read", "seconds": 0.1, "tokens": 20}, {"name": "write", "seconds": 0.1}]}
)
LONG = json.dumps({"stages": [{"name": "wait", "seconds": 60}]})


@pytest.fixture(scope="module")
def state_dir(backend):
    """The state directory of a running backend."""
    return backend.state_dir


@pytest.fixture
def jobdeck(state_dir):
    """Runs a command against that backend."""

    def call(*arguments, **said):
        return command_line.jobdeck(*arguments, **{"JOBDECK_STATE_DIR": str(state_dir), **said})

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


def test_watch_says_once_that_a_job_expired(jobdeck):
    slow = '{"stages":[{"name":"slow","seconds":5}]}'
    job_id = jobdeck("submit", "probe", slow, "--deadline-seconds", "1")[0].strip()
    told, _ = jobdeck("watch", job_id, code=1)
    assert told.splitlines()[-1] == f"{job_id} expired: deadline passed while running"


def test_who_watches_a_job_that_is_held_is_told_that_it_waits_for_a_person(capsys):
    printer = LinePrinter()
    for name in ("recovered", "held"):
        printer.event(Event("job-1", 1, "job.update", 0.0, name, {"data": {"reason": "an effect"}}))
    out, told = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert told.count("waits for a person") == 1


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


def test_what_the_next_command_may_be_told_is_never_cut(jobdeck):
    job, queue = "i" * 60 + "-one", "q" * 60 + "-one"
    jobdeck("submit", "probe", "{}", "--job-id", job, "--queue", queue)
    assert jobdeck("list", "--filter", f"id:{job}")[0].splitlines()[1].split()[::2][:2] == [job, queue]
    assert any(line.startswith(f"{queue} open") for line in jobdeck("queues")[0].splitlines())


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


def test_a_deadline_that_cannot_be_promised_is_refused_with_the_one_that_could(jobdeck):
    told = jobdeck("submit", "probe", LONG, "--strict", "--deadline-seconds", "0.001", code=4)[1]
    assert "The earliest it would promise is " in told
    assert told.count("othing was") == 1


def test_an_act_on_a_version_that_has_passed_is_refused(jobdeck):
    jobdeck("submit", "probe", LONG, "--job-id", "versioned")
    assert "version" in jobdeck("expire", "versioned", "--version", "999", code=4)[1]
    jobdeck("expire", "versioned")


def test_ctrl_c_ends_a_command_with_130_and_the_job_goes_on(jobdeck, state_dir):
    jobdeck("submit", "probe", LONG, "--job-id", "interrupted")
    watching = subprocess.Popen(
        [*PROGRAM, "watch", "interrupted"],
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


def test_serve_becomes_the_backend_with_every_option_but_no_password_among_its_arguments(jobdeck):
    became = []

    def become(_program, words):
        became.append((words[1:], os.environ.get("JOBDECK_DB_URL"), os.environ["JOBDECK_STATE_DIR"]))

    secret = "postgresql://u:s3cret@host/db"
    with patch("os.execv", become):
        jobdeck("--state-dir", "/there", "serve", "--port", "0", "--db-url", secret, "--no-drills")
        jobdeck("serve", "--help", JOBDECK_STATE_DIR="/here")
    assert became == [
        (["-m", "jobdeck_backend", "--port", "0", "--no-drills"], secret, "/there"),
        (["-m", "jobdeck_backend", "--help"], None, "/here"),
    ]


def test_a_start_that_fails_passes_its_exit_code_and_its_sentence_through(state_dir):
    words = [*PROGRAM, "serve", "--state-dir", str(state_dir), "--port", "0"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (10, "")
    pid = json.loads((state_dir / "jobdeck.lock").read_text())["pid"]
    assert f"(pid {pid}, http://127.0.0.1:" in done.stderr
    assert "'jobdeck' opens the deck on it" in done.stderr
    assert len(done.stderr.splitlines()) == 1


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
        PROGRAM,
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


def test_every_command_explains_itself_and_the_exit_codes_are_told(jobdeck):
    told, _ = jobdeck("--help")
    assert all(f"  {command}  " in told for command in COMMANDS)
    assert "3 server not reachable" in " ".join(told.split())
    for command in COMMANDS.keys() - {"serve"}:
        assert jobdeck(command, "--help")[0].startswith(f"Usage: jobdeck {command} ")


@pytest.mark.parametrize(
    "words",
    [
        ("cancel",),
        ("grant", "--seconds", "5"),
        ("resume", "a-job", "--matching", "state:held"),
        ("expire", "a-job", "--count", "3"),
        ("verdict", "a-job", "pay", "retry", "--proof", "none is wanted"),
        ("drill", "worker-loss"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_told_before_a_backend_is_looked_for(jobdeck, tmp_path, words):
    _, told = jobdeck(*words, code=2, JOBDECK_STATE_DIR=str(tmp_path / "nothing-runs-here"))
    assert f"Try 'jobdeck {words[0]} --help'." in told
    assert "No backend runs" not in told


@pytest.mark.parametrize("words", [("watch", "left"), ("events", "--follow")])
def test_a_reader_that_leaves_ends_the_program_quietly(jobdeck, state_dir, words):
    stages = json.dumps({"stages": [{"name": "talk", "seconds": 3, "events": 60}]})
    job_id = jobdeck("submit", "probe", stages)[0].strip()
    words = [job_id if word == "left" else word for word in words]
    leaving = subprocess.run(
        ["bash", "-c", '"$@" | head -c 1 >/dev/null; exit "${PIPESTATUS[0]}"', "bash", *PROGRAM, *words],
        env=environment(JOBDECK_STATE_DIR=str(state_dir)),
        capture_output=True,
        text=True,
        timeout=30,
    )
    complaints = [line for line in leaving.stderr.splitlines() if "What happens at" not in line]
    assert (complaints, leaving.returncode) == ([], 141)


def test_a_list_that_nobody_reads_is_no_fault(state_dir):
    leaving = subprocess.run(
        ["bash", "-c", '"$@" list --json | true; exit "${PIPESTATUS[0]}"', "bash", *PROGRAM],
        env=environment(JOBDECK_STATE_DIR=str(state_dir)),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (leaving.stderr, leaving.returncode) == ("", 141)


def test_a_command_imports_no_terminal_library_and_no_backend_and_help_not_even_the_commands():
    looking = """
import sys
from jobdeck_tui.cli import COMMANDS, root
def loaded(*names): return sorted(set(names) & set(sys.modules))
root.main(["--help"], standalone_mode=False)
print(loaded("textual", "rich", "jobdeck_backend", "pydantic", "httpx", "asyncio", "tomllib", "platformdirs"))
for command in COMMANDS: root.get_command(None, command)
print(loaded("textual", "rich", "jobdeck_backend", "pydantic", "aiohttp"))
"""
    assert _printed(looking)[-2:] == ["[]", "[]"]


def test_the_deck_imports_for_its_first_frame_neither_the_http_client_nor_another_screen():
    looking = """
import sys
from jobdeck_tui.cli import options
options.server_url(None, None, "http://127.0.0.1:8787")
from jobdeck_tui.opening import Opening
from jobdeck_tui import running
app = running.DeckApp(running.Reaching("http://127.0.0.1:8787"))
Opening(safe=True).prepare(app)
print(sorted(name for name in sys.modules if name.startswith("jobdeck_tui.screens.")))
print(sorted({"httpx", "anyio", "hashlib", "jobdeck_tui.client.decode"} & set(sys.modules)))
print(app.deck.key("mode.cluster"), "jobdeck_tui.screens.cluster" in sys.modules)
"""
    screens, others, later = _printed(looking)
    assert set(ast.literal_eval(screens)) == {
        f"jobdeck_tui.screens.{one}"
        for one in ("acting", "base", "dialogs", "job_cells", "jobs", "list_words", "main_screens", "reason")
    }
    assert (others, later) == ("[]", "2 True")


def _printed(program):
    words = [*PROGRAM[:2], program]
    told = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=30, check=True)
    return told.stdout.splitlines()
