"""``jobdeck web``: the real deck on a real backend, in a real browser; who gets it and who does not."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest
from command_line import PROGRAM, jobdeck
from playwright.sync_api import Browser, Page, ViewportSize, WebSocket, sync_playwright
from running_backend import RunningBackend, wait_until

from .drawn_terminal import DrawnTerminal

QUIET = ("no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking")
QUIET = (*QUIET, "disable-component-update", "disable-sync")
SMALL = ViewportSize(width=820, height=480)


@dataclass
class Served:
    """A running ``jobdeck web``."""

    process: subprocess.Popen[str]
    url: str
    """As it is printed, with the token."""
    read_only: bool

    @property
    def place(self) -> str:
        return self.url.partition("?")[0]

    @property
    def token(self) -> str:
        return self.url.partition("?token=")[2]

    @property
    def port(self) -> str:
        return self.place.rstrip("/").rsplit(":", 1)[1]

    def decks(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)


@contextmanager
def serving(url: str, *options: str) -> Iterator[Served]:
    command = [*PROGRAM, "web", "--port", "0", "--json", "--server", url, *options]
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
    with browser.new_page(viewport=SMALL) as page:
        deck = DeckPage(page)
        page.goto(url)
        deck.until("LIVE")
        page.click("#terminal")
        yield deck


@pytest.fixture(scope="module")
def one_page(backend: RunningBackend, served: Served, browser: Browser) -> Iterator[DeckPage]:
    backend.wait_for(backend.submit(job_id="linked", output="see http://evil.example/ now"), "success")
    with opened(browser, served.url) as deck:
        yield deck
    wait_until(lambda: not served.decks(), what="the deck ended with its page")


@pytest.fixture
def deck(one_page: DeckPage) -> DeckPage:
    """The deck in a page, on its list of jobs."""
    one_page.page.set_viewport_size(SMALL)
    for key in ("Escape", "Escape"):
        one_page.page.keyboard.press(key)
    one_page.until("TRY", "linked")
    return one_page


def test_the_deck_is_seen_and_steered_in_a_browser(
    backend: RunningBackend, served: Served, deck: DeckPage, tmp_path: Path
) -> None:
    jobs = [backend.submit({"name": "long", "seconds": 60}, job_id=f"web-{number}") for number in range(3)]
    text = deck.until("web-0", "web-1", "web-2")
    assert "READ-ONLY" in text
    assert deck.size[0] < 100
    assert "WORKER" not in text
    deck.page.keyboard.type("/web-1")
    deck.page.keyboard.press("Enter")
    deck.until(r"1 of \d+")
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
    deck.until("WORKER")
    assert deck.size[0] >= 100
    picture = Path(os.environ.get("JOBDECK_PICTURES", tmp_path)) / "browser.png"
    deck.page.screenshot(path=picture)
    assert picture.stat().st_size > 10_000
    asked = {url.split("://")[1] for url in deck.asked if not url.startswith("data:")}
    ours = served.place.split("://")[1]
    assert {url[: len(ours)] for url in asked} == {ours}
    assert [url for url in asked if served.token in url] == [served.url.split("://")[1]]
    assert {backend.job(job)["status"] for job in jobs} <= {"submitted", "running"}


def test_r38_an_address_in_a_jobs_report_is_no_link(deck: DeckPage) -> None:
    deck.page.keyboard.type("/linked")
    deck.page.keyboard.press("Enter")
    deck.until(r"1 of \d+")
    deck.page.keyboard.press("Enter")
    deck.until("see http://evil.example/ now")  # a finished job opens at its report
    # Its terminal takes addresses in what it shows for links, and opens them so.
    said: list[str] = []
    deck.page.on("console", lambda message: said.append(message.text))
    assert deck.page.evaluate("window.open('https://evil.example/') === null")
    wait_until(lambda: any("sandbox" in words for words in said), what="the browser says that it refused")
    assert len(deck.page.context.pages) == 1


def ends_with_its_decks(served: Served, number: signal.Signals) -> None:
    decks = served.decks()
    assert len(decks) == 1
    served.process.send_signal(number)
    assert served.process.wait(10) == (0 if number != signal.SIGKILL else -9)
    wait_until(lambda: not any(map(psutil.Process.is_running, decks)), what="every deck has ended")


def test_with_acts_allowed_a_dialog_is_answered_and_the_page_says_when_its_server_has_ended(
    backend: RunningBackend, browser: Browser
) -> None:
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
        ends_with_its_decks(served, signal.SIGINT)
        deck.page.wait_for_selector("text=This deck has ended")


UPGRADE = {
    "connection": "upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
PATHS = ("", "ws", "static/js/textual.js", "download/any")


def test_a_server_that_is_killed_leaves_no_deck_behind(backend: RunningBackend) -> None:
    with serving(backend.url) as served, socket.create_connection(("127.0.0.1", served.port)) as page:
        head = {"host": f"localhost:{served.port}", **UPGRADE}
        lines = [
            f"GET /ws?token={served.token} HTTP/1.1",
            *(f"{name}: {value}" for name, value in head.items()),
        ]
        page.sendall("\r\n".join([*lines, "", ""]).encode())
        assert page.recv(12) == b"HTTP/1.1 101"
        wait_until(served.decks)
        ends_with_its_decks(served, signal.SIGKILL)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client() as client:
        yield client


def refused(client: httpx.Client, served: Served, query: str, **headers: str | bytes) -> None:
    before = len(served.decks())
    for path in PATHS:
        answer = client.get(f"{served.place}{path}{query}", headers=UPGRADE | headers)
        assert answer.status_code == 403, answer.text
        assert "set-cookie" not in answer.headers
        assert served.token not in answer.text
    assert len(served.decks()) == before


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
def test_a_foreign_page_and_a_rebound_name_get_no_deck(
    client: httpx.Client, served: Served, headers: dict[str, str]
) -> None:
    refused(client, served, f"?token={served.token}", **headers)


@pytest.mark.parametrize(
    ("query", "cookie"),
    [
        ("", ""),
        ("", "guessed"),
        ("?token=", "\u00fc\u0100"),
        ("?token=guessed", ""),
        ("?token=%FF%00\u00fc", ""),
    ],
    ids=ascii,
)
def test_who_was_not_told_the_token_gets_no_deck(
    client: httpx.Client, served: Served, query: str, cookie: str
) -> None:
    refused(client, served, query, cookie=f"jobdeck-{served.port}={cookie}".encode())


def test_the_token_is_a_cookie_for_this_browser_only_and_never_twice_the_same(
    client: httpx.Client, served: Served
) -> None:
    answer = client.get(served.url)
    assert answer.status_code == 200
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=Strict" in answer.headers["set-cookie"]
    assert served.token not in answer.text
    assert len(served.token) > 40
    assert client.get(served.place).status_code == 200, "the cookie is enough"
    client.cookies.clear()
    assert client.get(served.place).status_code == 403


def test_the_page_needs_nothing_from_elsewhere_and_shows_itself_in_no_frame(
    client: httpx.Client, served: Served
) -> None:
    answer = client.get(served.url, headers={"host": f"localhost:{served.port}"})
    assert f'"ws://localhost:{served.port}/ws"' in answer.text
    assert re.findall(r"https?://", answer.text) == []
    rules = answer.headers["content-security-policy"]
    assert "default-src 'self'" in rules
    assert "frame-ancestors 'none'" in rules


@pytest.mark.parametrize("host", ["0.0.0.0", "elsewhere.example"])
def test_another_address_is_refused_with_the_reason(host: str) -> None:
    said, complained = jobdeck("web", "--host", host, "--server", "http://127.0.0.1:9", code=2)
    assert said == ""
    assert "nothing is encrypted on the way there" in complained
    assert "--expose" in complained


def test_a_port_that_is_taken_is_told(served: Served) -> None:
    said, complained = jobdeck("web", "--port", served.port, "--server", "http://127.0.0.1:9", code=11)
    assert said == ""
    assert f"Port {served.port} is taken" in complained
