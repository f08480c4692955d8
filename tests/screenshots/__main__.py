"""Takes the README's pictures: the demo's backend and jobs, the real deck, real keys.

Run by ``make screenshots``. SVG files always; PNG files beside them where a Chromium is found.
"""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from jobdeck_tui.app import DeckApp
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.embedded import EmbeddedBackend
from jobdeck_tui.demo.deck import DemoReaching
from jobdeck_tui.demo.workload import BACKEND_OPTIONS
from jobdeck_tui.screens.jobs import JobsScreen
from playwright.sync_api import sync_playwright
from textual.pilot import Pilot

HERE = Path(__file__).resolve().parents[2] / "screenshots"
WIDE, SMALL = (120, 36), (80, 24)
WITHIN_S = 60.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FONTS = "'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace"


async def until(pilot: Pilot[int], condition: Callable[[], object], rest: float = 0.3) -> None:
    """Waits until the deck shows what is to be pictured, and then for ``rest`` seconds."""
    async with asyncio.timeout(WITHIN_S):
        while not condition():
            await pilot.pause(0.1)
    await pilot.pause(rest)


def agreeing(screen: str) -> bool:
    """Whether Dask and the records were read at the same moment, or nearly so: the same counts in both lines."""
    counts = re.search(r"Dask((?: +\d+){3}).*\n *records((?: +\d+){3})", screen)
    return counts is not None and counts[1].split() == counts[2].split()


def shown(pilot: Pilot[int]) -> str:
    """The terminal as text."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def take(pilot: Pilot[int], name: str) -> Path:
    """Writes one picture; without the web fonts Textual asks for, which nobody should need to fetch."""
    columns, rows = pilot.app.size
    picture = re.sub(r"@font-face\s*\{.*?\}", "", pilot.app.export_screenshot(title="jobdeck"), flags=re.S)
    picture = picture.replace("Fira Code, monospace", FONTS)
    path = HERE / f"{name}-{columns}x{rows}.svg"
    path.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n", encoding="utf-8")
    return path


async def resize(pilot: Pilot[int], size: tuple[int, int]) -> None:
    """Another terminal size, drawn."""
    await pilot.resize_terminal(*size)
    await pilot.pause(1.2)


async def picture_all(app: DeckApp) -> list[Path]:
    """Goes through the screens as an operator would."""
    taken: list[Path] = []
    async with app.run_test(size=WIDE) as pilot:
        counts = app.deck.jobs
        await until(pilot, lambda: counts.counts.get("succeeded", 0) >= 5 and counts.counts.get("running"))
        running = [job for job in counts if job.state == "running"]
        front = app.front()
        assert isinstance(front, JobsScreen)
        front.table.move_to_id(max(running, key=lambda job: job.started_at or 0.0).job_id)
        await until(pilot, lambda: app.deck.picture is not None and " chunks)" in shown(pilot))
        taken.append(take(pilot, "jobs"))
        await resize(pilot, SMALL)
        taken.append(take(pilot, "jobs"))
        await resize(pilot, WIDE)
        front.table.move_to_id("portfolio")
        await pilot.press("2")
        await until(pilot, lambda: agreeing(shown(pilot)) and "Waits for" in shown(pilot), rest=0)
        taken.append(take(pilot, "cluster"))
        await pilot.press("6")
        await until(pilot, lambda: "contract_review" in shown(pilot))
        taken.append(take(pilot, "queues"))
        await pilot.press("4")
        await until(pilot, lambda: "scheduler" in shown(pilot))
        await pilot.press("a", "enter", *"scheduler-loss", "enter")
        await until(pilot, lambda: "PASSED" in shown(pilot) and " 0 running restart" not in shown(pilot))
        taken.append(take(pilot, "drill"))
        await pilot.press("3")
        await until(pilot, lambda: "Owner" in shown(pilot))
        taken.append(take(pilot, "recovery"))
        await pilot.press("1")
        drill = next(iter(app.deck.drills.values()))
        resumed = next(one.job_id for one in drill.evidence if one.attempt > 1 and one.stages_before)
        await until(pilot, lambda: counts.get(resumed).finished)
        app.open_job(resumed, "stages")
        await until(pilot, lambda: "completed once each" in shown(pilot))
        taken.append(take(pilot, "job"))
        await fail_some(app.deck.server_words)
        await pilot.press("escape", "7")
        await until(pilot, lambda: "failed, of 2 kinds" in shown(pilot))
        taken.append(take(pilot, "failures"))
    return taken


async def fail_some(server: str) -> None:
    """Jobs that fail as they are told to, in two stages."""
    async with Api(f"http://{server}") as api:
        for number, stage in enumerate(("fetch", "fetch", "judge")):
            work = {"stages": [{"name": "read"}, {"name": stage, "fail": True}]}
            await api.submit(
                {"agent_type": "probe", "input": json.dumps(work), "job_id": f"nightly-{stage}-{number}"}
            )


def picture_browser(server: str, browser: str) -> str:
    """The same deck in a real browser, as ``jobdeck web`` serves it; the picture's name."""
    path = HERE / "browser.png"
    command = [sys.executable, "-c", "from jobdeck_tui.cli import main; main()", "web"]
    with subprocess.Popen(
        [*command, "--port", "0", "--json", "--server", server], stdout=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdout is not None
        url = json.loads("".join(iter(serving.stdout.readline, "}\n")) + "}")["url"]
        with sync_playwright() as driver:
            running = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
            page = running.new_page(viewport={"width": 1280, "height": 760})
            drawn: list[str] = []
            page.on(
                "websocket", lambda socket: socket.on("framereceived", lambda said: drawn.append(str(said)))
            )
            page.goto(url)
            while "took" not in "".join(drawn):
                page.wait_for_timeout(200)
            page.click("#terminal")
            page.keyboard.press("j")
            page.wait_for_timeout(1_500)
            page.screenshot(path=path)
            running.close()
        serving.terminate()
    return path.name


def to_png(path: Path, browser: str) -> None:
    """Draws an SVG with a real browser; other converters lose the leading spaces."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', path.read_text(encoding="utf-8"))
    assert box is not None
    width, height = (round(float(side)) for side in box.groups())
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--window-size={width},{height}", f"--screenshot={path.with_suffix('.png')}", path.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> int:
    """Takes all pictures; gives the exit code."""
    HERE.mkdir(exist_ok=True)
    state_dir = Path(tempfile.mkdtemp(prefix="jobdeck-pictures-"))
    backend = EmbeddedBackend(state_dir, BACKEND_OPTIONS)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        taken = asyncio.run(picture_all(DeckApp(DemoReaching(backend))))
        if browser is not None:
            sys.stdout.write(f"{picture_browser(backend.start().url, browser)}\n")
    finally:
        backend.stop()
        shutil.rmtree(state_dir, ignore_errors=True)
    for path in taken:
        if browser is not None:
            to_png(path, browser)
        sys.stdout.write(f"{path.name}\n")
    if browser is None:
        sys.stdout.write("No Chromium found: the PNG files were left as they are.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
