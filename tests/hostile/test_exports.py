"""R38: what leaves the deck or a command as a file, a copy or JSON is text, and all of it can be read back."""

import csv
import io
import json
import shlex
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from command_line import ran
from jobdeck_tui.client.decode import job as decode_job
from jobdeck_tui.client.fields import NOTE_LIMIT
from jobdeck_tui.client.saving import bundle_name
from jobdeck_tui.core.records import FORMULA_STARTS, KINDS, Records, as_text
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.export import ExportDialog
from jobdeck_tui.text.sanitise import block, is_safe, one_line
from running_backend import RunningBackend
from textual.pilot import Pilot

from tests.deck.deck_driver import in_a_deck, press, program
from tests.deck.screen_walk import deck_of, settle, walk
from tests.deck.telling_server import TellingServer, told_beside
from tests.deck.wayward import frame
from tests.deck.world import World

from .corpus import ACTIVE, HOSTILE
from .test_screens import JOB, hostile_world

CSV, JSON, NDJSON = KINDS
WITHOUT_EXPORT = {"help", "artifact"}
"""The one is no job's words, the other is saved as the file that it is."""
PARTED = ";\t\n"
"""Where a spreadsheet may part a cell that is none in a file with commas."""
TWINS = (
    ("overview",),
    ("cluster",),
    ("drills", "--timeline"),
    ("why", JOB),
    ("artifacts", JOB),
    ("storage",),
    ("forecast",),
    ("watch", JOB),
    ("events", "--seconds", "0.5"),
)
"""Beside the commands of ``test_screens``: all that print what a server says."""


def only_mine(path: Path) -> str:
    """A file's text, which its owner alone may read."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    return path.read_bytes().decode()


def may_run(cell: str) -> bool:
    """Whether a spreadsheet would take the cell, or a part that it makes of it, for a formula."""
    parts = [cell]
    for sign in PARTED:
        parts = [piece for part in parts for piece in part.split(sign)]
    return any(part.lstrip(' "').startswith(FORMULA_STARTS) for part in parts)


def files(directory: Path) -> set[Path]:
    return set(directory.iterdir())


async def exported(pilot: Pilot[int], kind: str, directory: Path) -> str:
    """What ``o`` and a key write of the screen in view; empty where it has nothing to write."""
    before = files(directory)
    await press(pilot, "o")
    if isinstance(pilot.app.screen, ExportDialog):
        await press(pilot, kind)
    (made,) = files(directory) - before or (None,)
    return only_mine(made) if made is not None else ""


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def same(cell: str, value: object) -> bool:
    """Whether a cell of a CSV file holds a value of the JSON one, apart from what keeps it from running."""
    told = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    return cell.replace("'", "") == told.replace("'", "") or cell == str(value)


def assert_sanitised(name: str, rows: list[dict[str, Any]], world: World) -> None:
    """The texts of a file are those the screens show: what the server said, made safe, whole."""
    if name == "audit":
        told = [
            (one_line(act["result"], NOTE_LIMIT), one_line(act["reason"], NOTE_LIMIT))
            for act in world.audit["acts"]
        ]
        assert [(row["result"], row["reason"]) for row in rows] == told
    elif name == "jobs":
        notes = {job.job_id: job.note for job in map(decode_job, world.jobs)}
        assert {row["job_id"]: row["note"] for row in rows} == notes
    elif name == "job-report":
        assert "\n".join(row["line"] for row in rows).startswith(block(world.report["report"])[:2_000])


def test_r38_every_screens_export_is_text_and_the_same_in_each_kind_of_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = set()

    @in_a_deck
    async def go() -> None:
        world = hostile_world()
        async with deck_of(world, 80, 24) as (pilot, _):
            async for name in walk(pilot, over=False):
                if name in WITHOUT_EXPORT or not isinstance(pilot.app.screen, DeckScreen):
                    continue
                texts = {kind: await exported(pilot, kind, tmp_path) for kind in (CSV, JSON, NDJSON)}
                assert all(texts.values()), name
                for text in texts.values():
                    assert is_safe(text.replace("\r\n", "\n"), lines=True), name
                rows = json.loads(texts[JSON])
                written.add(name)
                if name == "drills":  # one drill, whole: a tree is no table
                    assert rows["id"] == "d1"
                    continue
                assert [json.loads(line) for line in texts[NDJSON].splitlines()] == rows, name
                cells = read_csv(texts[CSV])
                assert len(cells) == len(rows), name
                for cell, row in zip(cells, rows, strict=True):
                    assert all(same(cell[key], value) for key, value in row.items()), name
                ran_by_none = [value for cell in cells for value in cell.values() if may_run(value)]
                assert [
                    value for value in ran_by_none if not value.lstrip("-").replace(".", "").isdigit()
                ] == []
                assert_sanitised(name, rows, world)

    go()
    assert {"jobs", "job-events", "job-report", "audit", "drills", "failures", "worker-log"} <= written


@pytest.mark.parametrize("part", [";", "\t", '; "', ";  ", ""])
@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_r38_no_part_of_a_cell_is_a_formula_wherever_a_spreadsheet_parts_it(start: str, part: str) -> None:
    told = f"a note{part}{start}cmd|' /C calc'!A0" if part else f"{start}cmd"
    (row,) = read_csv(as_text(Records("job", [{"note": told}]), "csv"))
    assert not may_run(row["note"])
    assert same(row["note"], told)


def test_r38_what_is_copied_of_a_hostile_job_is_text_and_says_the_job(tmp_path: Path) -> None:
    @in_a_deck
    async def go() -> None:
        world = hostile_world()
        rows = {job.job_id: asdict(job) for job in map(decode_job, world.jobs)}
        async with deck_of(world, 80, 24) as (pilot, _):
            app = program(pilot)
            app.state_directory = tmp_path
            for _ in range(len(world.jobs)):
                job_id = app.cursor_job_id
                copies = {}
                for key in ("y", "Y", "K"):
                    await press(pilot, key)
                    copies[key] = only_mine(tmp_path / "copied.txt")
                    assert copies[key] == app.clipboard
                    assert is_safe(copies[key], lines=key == "Y")
                assert copies["y"] == job_id
                assert json.loads(copies["Y"]) == json.loads(json.dumps(rows[job_id]))
                *command, url = shlex.split(copies["K"])
                assert command == ["curl", "-sS"]
                assert unquote(urlsplit(url).path) == f"/v1/ops/jobs/{job_id}"
                await press(pilot, "j")
            await settle(pilot)

    go()


class Ending(TellingServer):
    """Its jobs' streams end."""

    def _frames(self, path: str) -> bytes:
        ends = (
            b""
            if path.startswith("/v1/ops")
            else frame("job.status", {"status": "success", "error": HOSTILE[0]})
        )
        return super()._frames(path) + ends


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with told_beside(hostile_world(), Ending) as url:
        yield url


@pytest.mark.parametrize("options", [("--plain",), ("--json",)], ids=lambda one: one[0])
@pytest.mark.parametrize("command", TWINS, ids=lambda one: one[0])
def test_r38_each_screens_twin_prints_text_and_its_json_can_be_read(
    url: str, command: tuple[str, ...], options: tuple[str, ...]
) -> None:
    code, said, complained = ran(*command, "--server", url, *options)
    assert code == 0, complained
    assert said
    assert is_safe(said, lines=True)
    assert is_safe(complained, lines=True)
    if options == ("--json",):
        assert said.isascii()
        told = [said] if said.startswith(("{\n", "[\n")) else said.splitlines()
        assert all(isinstance(json.loads(one), (dict, list)) for one in told)


@pytest.mark.parametrize("job_id", ["/etc/x", "a/../../x", "..", "a\nb", "-rf", "x" * 256])
def test_r38_a_bundles_name_is_no_path_whatever_the_jobs_id(job_id: str) -> None:
    name = bundle_name(job_id)
    assert Path(name).name == name
    assert len(name) < 200
    assert (name.startswith("jobdeck-"), name.endswith(".tar.gz"), is_safe(name)) == (True, True, True)


def test_r38_a_bundle_of_a_hostile_job_is_text_in_every_part(
    backend: RunningBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    evil = "".join(one for one in HOSTILE if (len(one) < 100 and one.isprintable()) or one in ACTIVE)
    backend.submit({"name": "told", "tokens": 5, "fail": True}, output=evil, job_id="hostile-one")
    backend.wait_for("hostile-one", "failure")
    backend.act("hostile-one", "cancel", reason=evil)  # refused, and audited
    for name, options in (("lean", ()), ("full", ("--with-content",))):
        file = tmp_path / f"{name}.tar.gz"
        code, _, complained = ran("bundle", "hostile-one", "-o", str(file), "--server", backend.url, *options)
        assert code == 0, complained
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        with tarfile.open(file) as archive:
            parts = {one.name.partition("/")[2]: archive.extractfile(one).read().decode() for one in archive}
        for part, text in parts.items():
            assert is_safe(text, lines=True), (name, part)
            if part.endswith("json"):
                assert text.isascii(), part
            for line in text.splitlines() if part.endswith(".ndjson") else []:
                json.loads(line)
        (act,) = json.loads(parts["audit.json"])
        assert act["reason"] == evil
    assert json.loads(json.loads(parts["job.json"])["request"]["input"])["output"] == evil
