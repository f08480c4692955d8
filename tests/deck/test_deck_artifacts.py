"""A job's files in the deck and on the command line: seen, read as harmless text, saved safely (R31, R38)."""

import asyncio
import hashlib
import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobdeck_tui.cli import run
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.artifact_bytes import save
from jobdeck_tui.client.artifacts import Artifact
from jobdeck_tui.client.artifacts import artifact as decode_artifact
from jobdeck_tui.client.errors import NotSaved
from jobdeck_tui.core.artifact_rows import artifact_rows, shown_part
from jobdeck_tui.screens.artifact import ArtifactScreen
from jobdeck_tui.text.sanitise import is_safe
from jobdeck_tui.widgets.text_pane import TextPane

from tests.hostile.corpus import HOSTILE

from .deck_driver import NOW, press, screen_text
from .live_deck import choose, deck_on, on_row, submit, until
from .processes import backend, wait_until

TWO = {"stages": [{"name": "first", "artifact_bytes": 3_000}, {"name": "second", "artifact_bytes": 500}]}
ROW = {
    "artifact_id": "art_1",
    "filename": "table.csv",
    "kind": "table",
    "mime_type": "text/csv",
    "size_bytes": 2_048,
    "sha256": "ab" * 32,
    "title": "Numbers",
    "caption": "all of them",
    "attempt": 1,
    "created_at": "2026-11-29T12:00:00Z",
    "removed_at": None,
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with backend(tmp_path_factory.mktemp("artifacts") / "state") as instance:
        asyncio.run(submit(instance.url, "with-files", TWO))
        wait_until(lambda: len(files(instance.url)) == 2)
        yield instance.url


def files(url: str) -> tuple[Artifact, ...]:
    async def read() -> tuple[Artifact, ...]:
        async with Api(url) as api:
            return (await api.job("with-files")).artifacts

    return asyncio.run(read())


def text(*artifacts: Artifact) -> str:
    return "\n".join("".join(piece for piece, _ in row) for row in artifact_rows(artifacts, 0, NOW, 80))


def test_files_are_listed_with_name_type_size_digest_and_their_end() -> None:
    one = decode_artifact(ROW)
    shown = text(one)
    for words in ("▸ table.csv", "text/csv", "2.0K", "abababababab", "Numbers", "all of them"):
        assert words in shown
    assert "EXPIRED" not in shown
    assert "EXPIRED" in text(one._replace(removed_at=NOW))
    assert "No file is on record" in text()
    assert "only the first 1.0K of 2.0K" in str(shown_part(one, "a", 1_024))


def test_r38_what_a_file_says_of_itself_never_acts() -> None:
    for evil in HOSTILE:
        words = dict.fromkeys(("filename", "kind", "mime_type", "sha256", "title", "caption"), evil)
        assert is_safe(text(decode_artifact(ROW | words)), lines=True), evil[:80]


def test_a_file_is_chosen_read_and_saved_by_keys(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def go() -> None:
        async with deck_on(url, (80, 24)) as pilot:
            await until(pilot, lambda: on_row(pilot, "with-files", "✔ DONE"))
            await choose(pilot, "with-files")
            await press(pilot, "enter")
            await until(pilot, lambda: "Artifacts 2" in screen_text(pilot))
            while "▸ first.txt" not in screen_text(pilot):
                await press(pilot, "tab")
            await press(pilot, "j")
            assert "▸ second.txt" in screen_text(pilot)
            await press(pilot, "enter")
            assert isinstance(pilot.app.screen, ArtifactScreen)
            content = pilot.app.screen.query_one("#content", TextPane)
            await until(pilot, lambda: "second with-files" in content.plain)
            await press(pilot, "s")
            await until(pilot, lambda: "Saved" in screen_text(pilot))
            await press(pilot, "escape", "s")
            await until(pilot, lambda: (tmp_path / "second-2.txt").exists())

    asyncio.run(go())
    wait_until(lambda: (tmp_path / "second-2.txt").stat().st_size == 500)
    saved = tmp_path / "second.txt"
    assert hashlib.sha256(saved.read_bytes()).hexdigest() == files(url)[1].sha256
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def test_files_are_listed_and_fetched_from_the_command_line(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def jobdeck(*arguments: str) -> tuple[int, str, str]:
        code = run([*arguments, "--server", url])
        told = capsys.readouterr()
        return code, told.out, told.err

    code, listed, _ = jobdeck("artifacts", "with-files")
    assert (code, "first.txt" in listed, "2 in all." in listed) == (0, True, True)
    data = json.loads(jobdeck("artifacts", "with-files", "--json")[1])
    ids = {one["filename"]: one["artifact_id"] for one in data["artifacts"]}
    assert jobdeck("fetch", "with-files", "first.txt")[0] == 0
    assert (tmp_path / "first.txt").stat().st_size == 3_000
    code, told, _ = jobdeck("fetch", "with-files", ids["second.txt"], "-o", "here.txt", "--json")
    assert (code, json.loads(told)["path"]) == (0, "here.txt")
    (tmp_path / "link.txt").symlink_to(tmp_path / "elsewhere.txt")
    for taken in ("here.txt", "link.txt"):
        code, _, refused = jobdeck("fetch", "with-files", "first.txt", "-o", taken)
        assert (code, "left alone" in refused) == (1, True)
    assert (tmp_path / "here.txt").stat().st_size == 500
    assert not (tmp_path / "elsewhere.txt").exists()
    code, _, unknown = jobdeck("fetch", "with-files", "none.txt")
    assert (code, "it has: first.txt, second.txt" in unknown) == (4, True)
    assert "file      first.txt" in jobdeck("show", "with-files")[1]


@pytest.mark.parametrize("name", ["../../etc/x.txt", "/etc/x.txt", ".bashrc", "-rf", "a\nb.txt", "..", ""])
def test_r38_a_name_from_a_server_is_no_path_and_other_bytes_are_not_saved(
    url: str, tmp_path: Path, name: str
) -> None:
    one = files(url)[0]

    async def fetch(wanted: Artifact) -> Path:
        async with Api(url) as api:
            return await save(api, "with-files", wanted, tmp_path)

    path = asyncio.run(fetch(one._replace(filename=name)))
    assert path.parent == tmp_path
    assert path.name[0] not in ".-"
    path.unlink()
    for wrong in (one._replace(sha256="0" * 64), one._replace(size_bytes=10)):
        with pytest.raises(NotSaved):
            asyncio.run(fetch(wrong))
    assert list(tmp_path.iterdir()) == []
