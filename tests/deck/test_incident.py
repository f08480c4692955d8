"""A whole incident by keys alone, at 80×24 in a real tmux without colours, on a production profile.

One job of production is about to miss its deadline: low-value jobs have taken every slot, one job is held by an
effect nobody knows about, one kind of job fails. Each step's screen is kept beside the test's other files.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from jobdeck_tui.text.format import cells
from running_backend import RunningBackend, wait_until
from sqlalchemy import text

COLUMNS, ROWS = 80, 24
NIGHTLY = 24
UNTIL_SECONDS = 60.0
NOT_TAKEN = "typed before this screen was drawn: not taken"
PROGRAM = "from jobdeck_tui.cli import main; main()"


class Tmux:
    """The deck in a tmux of its own, as an operator has it over SSH."""

    def __init__(self, directory: Path, url: str) -> None:
        self._command = ["tmux", "-f", "/dev/null", "-S", str(directory / "tmux")]
        self._numbers, self.directory = count(1), directory
        self._pressed: tuple[str, ...] = ()
        config = directory / "config.toml"
        config.write_text(f'profile = "prod"\n[profiles.prod]\nurl = "{url}"\nenvironment = "PROD"\n')
        environment = {"NO_COLOR": "1", "JOBDECK_CONFIG": config, "JOBDECK_STATE_DIR": directory / "state"}
        settings = [f"{name}={value}" for name, value in environment.items()]
        deck = shlex.join(["env", "-u", "TMUX", *settings, sys.executable, "-c", PROGRAM])
        self._tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS + 1), "-c", str(directory), deck)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run([*self._command, *arguments], capture_output=True, check=True, timeout=20)
        return done.stdout.decode()

    def keys(self, *keys: str) -> None:
        """Presses keys, in tmux's names for them."""
        self._pressed = keys
        self._tmux("send-keys", *keys)

    def types(self, words: str) -> None:
        """Types a text."""
        self._pressed = ()
        self._tmux("send-keys", "-l", words)

    def screen(self) -> str:
        """What the terminal shows."""
        return self._tmux("capture-pane", "-p")

    def until(self, name: str, *words: str) -> str:
        """Waits until the screen says all of these, keeps it under a name, and gives it.

        A key that came as the screen was still being drawn is pressed once more, as the deck's words ask for.
        """

        def said() -> str:
            screen = self.screen()
            if all(one in screen for one in words):
                return screen
            if NOT_TAKEN in screen and self._pressed:
                self._tmux("send-keys", *self._pressed)
                self._pressed = ()
            return ""

        try:
            screen = wait_until(said, UNTIL_SECONDS)
        except AssertionError:
            pytest.fail(f"not seen: {words}\n{self.screen()}")
        assert max(map(cells, screen.splitlines())) <= COLUMNS
        (self.directory / f"{next(self._numbers):02}-{name}.txt").write_text(screen)
        return screen

    def looks(self) -> str:
        """The screen with its escape sequences."""
        return self._tmux("capture-pane", "-p", "-e")

    def end(self) -> None:
        """Ends it, whatever the deck does."""
        subprocess.run([*self._command, "kill-server"], check=False, capture_output=True, timeout=20)


@pytest.fixture
def tmux(tmp_path: Path, backend: RunningBackend) -> Iterator[Tmux]:
    """On a backend where the night went wrong."""
    go_wrong(backend)
    terminal = Tmux(tmp_path, backend.url)
    yield terminal
    terminal.end()


def go_wrong(backend: RunningBackend) -> None:
    """Everything that happened before the operator was called."""
    pay = {"name": "pay", "effect": {"key": "charge", "hang": True}}
    backend.submit(pay, job_id="refund-4711", queue="billing", deadline_seconds=7200)
    wait_until(lambda: backend.effects("refund-4711"), UNTIL_SECONDS)
    os.kill(backend.attempts("refund-4711")[-1].pid, signal.SIGKILL)
    for number in range(3):
        backend.submit({"name": "fetch", "fail": True}, job_id=f"import-{number}", queue="import")
    backend.submit({"name": "crawl"}, job_id="nightly-before", queue="nightly")
    backend.submit_text("MIT License", agent_type="contract_review", job_id="invoice-before")
    for job_id in ("nightly-before", "invoice-before"):
        backend.wait_for(job_id, "success", timeout_s=UNTIL_SECONDS)
    with backend.database.write() as tx:  # what no test waits for: nightly jobs take their ten minutes
        long_ago = "UPDATE attempts SET started_at = started_at - 600 WHERE job_id = 'nightly-before'"
        tx.execute(text(long_ago))
    for number in range(NIGHTLY):
        crawl = {"name": "crawl", "seconds": 600}
        backend.submit(
            crawl, job_id=f"nightly-{number:02}", queue="nightly", deadline_seconds=36_000 + number
        )
    gone_wrong = {"running": 2, "held": 1}
    wait_until(lambda: gone_wrong.items() <= backend.overview()["counts"].items(), UNTIL_SECONDS)


def gives_the_job_time(tmux: Tmux, backend: RunningBackend) -> None:
    """It rings: a job will be too late; why, until when it would be of use, and before whom."""
    tmux.until("woken", "✔ LIVE", " PROD ", "nightly-00", "⏸ 1")
    invoice = {"agent_type": "contract_review", "queue": "billing", "deadline_seconds": 240}
    backend.submit_text("MIT License", job_id="invoice-2291", **invoice)
    alert = tmux.until("alert", "1 at risk", "too late", "invoice-2291")
    assert "\x1b[3" not in tmux.looks().replace("\x1b[39m", "")
    assert alert.index("invoice-2291") < alert.index("nightly-00")

    tmux.keys("!")
    tmux.until("only-what-alerts", "only the 1 that alerted", "invoice-2291")
    tmux.keys("Enter")
    tmux.until("why-it-waits", "2 of 2 slots are taken", "nightly-00", "too late")
    tmux.keys("d")
    tmux.until("grant", "Grant invoice-2291 a later deadline?", "grant 5 minutes")
    tmux.keys("m")
    granted = tmux.until("granted", "grant invoice", "seen")
    assert re.search(r"LEFT -0[5-8]:", granted)
    tmux.keys("+")
    tmux.until("move-up", "Move up 1 job?", "invoice-2291")
    tmux.keys("y")
    tmux.until("moved-up", "priority moved from 0 to 1")


def frees_the_slots(tmux: Tmux) -> None:
    """What can wait is paused, what is in the way is cancelled."""
    tmux.keys("6")
    tmux.until("queues", "nightly", "billing", "p Pause")
    tmux.keys("G")
    tmux.keys("p")
    tmux.until("pause", "Pause 1 queue?", "  nightly", "would start all the same")
    tmux.keys("y")
    tmux.until("paused", "queue nightly is paused")

    tmux.keys("1")
    tmux.until("back-at-the-job", "invoice-2291", "tab Next tab")
    tmux.keys("1")
    tmux.until("back-at-the-list", "only the 1 that alerted")
    tmux.keys("Escape")
    tmux.until("all-jobs-again", "nightly-00")
    tmux.keys("/")
    tmux.types("queue:nightly state:running")
    tmux.until("filter", "2 of")
    tmux.keys("Enter")
    tmux.until("filtered", "filter: queue:nightly state:running")
    tmux.keys("A", "c")
    tmux.until("cancel-two", "Cancel 2 jobs?", "2 of 2 jobs running now")
    tmux.keys("R")
    tmux.until("reason", "Why cancel?")
    tmux.types("in the way of invoice-2291")
    tmux.keys("Enter")
    tmux.until("cancel-because", "because: in the way of invoice-2291")
    tmux.keys("y")
    tmux.until("slots-free", "seen: CANCELLED")
    tmux.keys("Escape")
    tmux.until("saved", "⊘ 2 cancelled  ✔ 3 done")


def says_what_happened(tmux: Tmux) -> None:
    """A job is held: whether it charged, only a person can find out."""
    tmux.keys("/")
    tmux.types("state:held")
    tmux.keys("Enter")
    tmux.until("held", "refund-4711", "1 of")
    tmux.keys("Enter")
    tmux.until("held-why", "Held:", "verdict")
    tmux.keys("v")
    tmux.until("verdict", "Did effect charge of stage pay happen?")
    tmux.keys("h")
    tmux.until("proof", "Type the proof")
    tmux.types("bank transfer 77")
    tmux.keys("Enter")
    tmux.until("verdict-given", "operator says of effect charge: happened")
    tmux.keys("r")
    tmux.until("resume", "Resume 1 job?")
    tmux.keys("y")
    tmux.until("resumed", "Nothing is before it")


def leaves_evidence(tmux: Tmux) -> None:
    """For those who come in the morning."""
    tmux.keys("7")
    tmux.until("failures", "3 jobs failed, of 1 kind")
    tmux.keys("Enter")
    tmux.until("traceback", "ProbeFailure", "failed at")
    tmux.keys("1")
    tmux.until("back-at-the-refund", "tab Next tab")
    tmux.keys("1")
    tmux.until("back-at-the-held", "filter: state:held")
    tmux.keys("/")
    tmux.types("invoice-2291 state:succeeded")
    tmux.keys("Enter")
    tmux.until("the-invoice", "1 of")
    tmux.keys("Enter")
    tmux.until("its-report", "✔ DONE", "Report ✔")
    tmux.keys("B")
    tmux.until("bundle", "Saved")
    tmux.keys("8")
    tmux.until("audit", "grant", "priority", "pause", "cancel", "verdict", "resume")
    tmux.keys("q")


@pytest.mark.timeout(400)  # some forty screens, each of which a busy machine may let wait
@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")
def test_a_whole_incident_is_handled_by_keys_at_80x24_without_colour(
    tmux: Tmux, backend: RunningBackend
) -> None:
    gives_the_job_time(tmux, backend)
    frees_the_slots(tmux)
    says_what_happened(tmux)
    leaves_evidence(tmux)
    assert backend.record("invoice-2291").status == "success"
    audited = backend.http.get("/v1/ops/audit", params={"limit": 1000}).json()["acts"]
    because = [one["reason"] for one in audited if one["act"] == "cancel"]
    assert because == ["in the way of invoice-2291"] * 2
    assert [path.name for path in tmux.directory.glob("*.tar.gz")] == ["jobdeck-invoice-2291.tar.gz"]
    assert backend.violations() == []
