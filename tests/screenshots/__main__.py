"""Takes the README's pictures: the demo's backend and jobs, the real deck, real keys.

Run by ``make screenshots``. SVG files always; PNG files beside them where a Chromium is found.
"""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from jobdeck_tui.app import DeckApp
from jobdeck_tui.client.embedded import EmbeddedBackend
from jobdeck_tui.demo.deck import DemoReaching
from jobdeck_tui.demo.workload import BACKEND_OPTIONS
from jobdeck_tui.screens.jobs import JobsScreen
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
        await pilot.press("4", "a", "enter", *"scheduler-loss", "enter")
        await until(pilot, lambda: "PASSED" in shown(pilot) and " 0 running restart" not in shown(pilot))
        taken.append(take(pilot, "drill"))
        await pilot.press("1")
        drill = next(iter(app.deck.drills.values()))
        resumed = next(one.job_id for one in drill.evidence if one.attempt > 1 and one.stages_before)
        await until(pilot, lambda: counts.get(resumed).finished)
        app.open_job(resumed, "stages")
        await until(pilot, lambda: "completed once each" in shown(pilot))
        taken.append(take(pilot, "job"))
    return taken


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
    try:
        taken = asyncio.run(picture_all(DeckApp(DemoReaching(backend))))
    finally:
        backend.stop()
        shutil.rmtree(state_dir, ignore_errors=True)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    for path in taken:
        if browser is not None:
            to_png(path, browser)
        sys.stdout.write(f"{path.name}\n")
    if browser is None:
        sys.stdout.write("No Chromium found: the PNG files were left as they are.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
