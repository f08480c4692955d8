"""The deck says that no job is accepted, and why; saves a bundle where it says; forgets jobs that were pruned."""

import asyncio
from pathlib import Path

import pytest
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.storage import StorageState

from .deck_driver import a_deck, a_job, an_overview, in_a_deck, press, running, screen_text
from .live_deck import choose, deck_on, on_row, submit, until

SHORT = {"stages": [{"name": "only"}]}


@in_a_deck
async def test_a_full_disk_is_said_until_there_is_room() -> None:
    deck, rows = a_deck(), [a_job(1, "running")]
    async with running(deck) as pilot:
        deck.take_overview(
            an_overview(rows, storage=StorageState("storage_full", "no room left on the disk"))
        )
        deck.fresh = True
        await until(pilot, lambda: "DISK FULL" in screen_text(pilot))
        assert "No job is accepted: no room left on the disk" in screen_text(pilot)
        deck.take_overview(an_overview(rows))
        deck.fresh = True
        await until(pilot, lambda: "DISK FULL" not in screen_text(pilot))
        assert "No job is accepted" not in screen_text(pilot)


def test_a_bundle_is_saved_where_the_deck_says_and_a_pruned_job_leaves_the_list(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def go() -> None:
        await submit(url, "pruned", SHORT)
        async with deck_on(url) as pilot:
            await until(pilot, lambda: on_row(pilot, "pruned", "DONE"))
            await submit(url, "newest", SHORT)
            await until(pilot, lambda: on_row(pilot, "newest", "DONE"))
            await choose(pilot, "pruned")
            await press(pilot, "enter", "B")
            await until(pilot, lambda: "Saved" in screen_text(pilot))
            assert (tmp_path / "jobdeck-pruned.tar.gz").stat().st_size > 0
            await press(pilot, "escape")
            async with Api(url) as api:
                await api.http.post("/v1/ops/prune", {"older_than_seconds": 0})
            await until(pilot, lambda: on_row(pilot, "newest") and not on_row(pilot, "pruned"))

    asyncio.run(go())
