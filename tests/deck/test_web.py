"""``jobdeck web``: the real deck on a real backend, in a real browser; who gets it and who does not."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest
from playwright.sync_api import Browser, Page, WebSocket, sync_playwright
from running_backend import RunningBackend, wait_until

from .drawn_terminal import DrawnTerminal

START = "from jobdeck_tui.cli import main; main()"
QUIET = ("no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking")
QUIET = (*QUIET, "disable-component-update", "disable-sync")


@dataclass
class Served:
    """A running ``jobdeck web``."""

    process: subprocess.Popen[str]
    url: str
    read_only: bool

    def decks(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)


@contextmanager
def serving(url: str, *options: str) -> Iterator[Served]:
    command = [sys.executable, "-c", START, "web", "--port", "0", "--json", "--server", url, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            while not said.endswith("}\n"):
                said += process.stdout.readline()
            ready = json.loads(said)
            yield Served(process, ready["url"], ready["read_only"])
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def served(backend: RunningBackend) -> Iterator[Served]:
    with serving(backend.url) as running:
        yield running


@dataclass
class DeckPage:
    """A page with a deck, read from what its socket was sent."""

    page: Page
    terminal: DrawnTerminal = field(default_factory=DrawnTerminal)
    size: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        self.asked: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        self.asked.append(socket.url)
        socket.on("framereceived", self._take)
        socket.on("framesent", self._sent)

    def _take(self, frame: str | bytes) -> None:
        if isinstance(frame, bytes):
            self.terminal.feed(frame.decode())

    def _sent(self, frame: str | bytes) -> None:
        kind, *said = json.loads(frame)
        if kind == "resize":
            self.size = (said[0]["width"], said[0]["height"])

    def text(self) -> str:
        self.page.wait_for_timeout(20)  # lets the driver hand over what came
        return self.terminal.text(*self.size)

    def until(self, *patterns: str) -> str:
        def shows() -> bool:
            return all(re.search(pattern, self.text()) for pattern in patterns)

        try:
            wait_until(shows, 20, what=f"the page shows {patterns}")
        except AssertionError as late:
            late.add_note(self.text())
            raise
        return self.text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs chromium")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=[f"--{word}" for word in QUIET])
        yield running
        running.close()


@contextmanager
def opened(browser: Browser, url: str) -> Iterator[DeckPage]:
    with browser.new_page(viewport={"width": 820, "height": 480}) as page:
        deck = DeckPage(page)
        page.goto(url)
        deck.until("LIVE")
        page.click("#terminal")
        yield deck


def test_r38_an_address_in_a_jobs_report_is_no_link(
    backend: RunningBackend, served: Served, browser: Browser
) -> None:
    backend.wait_for(backend.submit(job_id="linked", output="see http://evil.example/ now"), "success")
    with opened(browser, served.url) as deck:
        deck.page.keyboard.type("/linked")
        deck.page.keyboard.press("Enter")
        deck.until(r"1 of \d+")
        deck.page.keyboard.press("Enter")
        deck.until("Report")
        while "evil" not in deck.text():
            deck.page.keyboard.press("Tab")
        # Its terminal takes addresses in what it shows for links, and opens them so.
        said: list[str] = []
        deck.page.on("console", lambda message: said.append(message.text))
        assert deck.page.evaluate("window.open('https://evil.example/') === null")
        wait_until(lambda: any("sandbox" in words for words in said), what="the browser says that it refused")
        assert len(deck.page.context.pages) == 1


def test_the_deck_is_seen_and_steered_in_a_browser(
    backend: RunningBackend, served: Served, browser: Browser, tmp_path: Path
) -> None:
    jobs = [backend.submit({"name": "long", "seconds": 60}, job_id=f"web-{number}") for number in range(3)]
    with opened(browser, served.url) as deck:
        text = deck.until("web-0", "web-1", "web-2")
        assert "READ-ONLY" in text
        assert deck.size[0] < 100
        assert "WORKER" not in text
        deck.page.keyboard.press("j")
        deck.page.keyboard.press("Enter")
        deck.until("Report", "web-1 ")
        deck.page.keyboard.press("Escape")
        deck.until("TRY")
        deck.page.keyboard.press("c")
        deck.until("Not sent: this deck is read-only")
        deck.page.keyboard.press("?")
        deck.until("Keys: Jobs")
        deck.page.keyboard.press("Escape")
        deck.page.set_viewport_size({"width": 1280, "height": 760})
        assert "WORKER" in deck.until("WORKER")
        assert deck.size[0] >= 100
        picture = Path(os.environ.get("JOBDECK_PICTURES", tmp_path)) / "browser.png"
        deck.page.screenshot(path=picture)
        assert picture.stat().st_size > 10_000
        ours = served.url.split("://")[1]
        assert {url.split("://")[1][: len(ours)] for url in deck.asked if not url.startswith("data:")} == {
            ours
        }
    assert {backend.job(job)["status"] for job in jobs} <= {"submitted", "running"}
    wait_until(lambda: not served.decks(), what="the deck ended with its page")


def test_with_acts_allowed_a_dialog_is_answered(backend: RunningBackend, browser: Browser) -> None:
    jobs = [backend.submit({"name": "long", "seconds": 60}, job_id=f"act-{number}") for number in (1, 2)]
    with serving(backend.url, "--allow-acts") as served, opened(browser, served.url) as deck:
        deck.page.keyboard.type("/act-")
        deck.page.keyboard.press("Enter")
        assert "READ-ONLY" not in deck.until(r"2 of \d+")
        deck.page.keyboard.press("A")
        deck.page.keyboard.press("c")
        deck.until("Cancel 2 jobs")
        deck.page.keyboard.press("y")
        for job in jobs:
            assert backend.wait_for(job, "interrupted")


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "elsewhere.example"},
        {"host": "127.0.0.1.elsewhere.example"},
        {"host": "10.0.0.1"},
        {"host": ""},
        {"origin": "https://elsewhere.example"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "null"},
        {"origin": "["},
    ],
    ids=str,
)
def test_a_foreign_page_and_a_rebound_name_get_no_deck(served: Served, headers: dict[str, str]) -> None:
    upgrade = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    for path in ("", "ws", "static/js/textual.js"):
        answer = httpx.get(served.url + path, headers={**upgrade, **headers})
        assert answer.status_code == 403, answer.text
    assert served.decks() == []


def test_the_page_needs_nothing_from_elsewhere_and_shows_itself_in_no_frame(served: Served) -> None:
    port = served.url.rstrip("/").rsplit(":", 1)[1]
    answer = httpx.get(served.url, headers={"host": f"localhost:{port}"})
    assert f'"ws://localhost:{port}/ws"' in answer.text
    assert re.findall(r"https?://", answer.text) == []
    rules = answer.headers["content-security-policy"]
    assert "default-src 'self'" in rules
    assert "frame-ancestors 'none'" in rules


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_however_the_server_ends_its_decks_end_too(
    backend: RunningBackend, browser: Browser, number: signal.Signals
) -> None:
    with serving(backend.url) as served, opened(browser, served.url) as deck:
        decks = served.decks()
        assert len(decks) == 1
        served.process.send_signal(number)
        assert served.process.wait(10) == (0 if number != signal.SIGKILL else -9)
        wait_until(lambda: not any(map(psutil.Process.is_running, decks)), what="every deck has ended")
        deck.page.wait_for_selector("text=This deck has ended")


@pytest.mark.parametrize("host", ["0.0.0.0", "elsewhere.example"])
def test_another_address_is_refused_with_the_reason(host: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, "web", "--host", host, "--server", "http://127.0.0.1:9"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "asks nobody who they are" in done.stderr
    assert "--expose" in done.stderr


def test_a_port_that_is_taken_is_told(served: Served) -> None:
    port = served.url.rstrip("/").rsplit(":", 1)[1]
    done = subprocess.run(
        [sys.executable, "-c", START, "web", "--port", port, "--server", "http://127.0.0.1:9"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 11
    assert f"Port {port} is taken" in done.stderr
