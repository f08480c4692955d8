"""The deck on a real backend: an operator's keys, real jobs, and what the screen says of them."""

import asyncio

from jobdeck_tui.core.acts import Phase
from jobdeck_tui.screens.job import JobScreen
from jobdeck_tui.widgets.text_pane import TextPane

from .deck_driver import lines, press, program, screen_text
from .live_deck import LONG, choose, deck_on, on_row, submit, until

SHORT = {"stages": [{"name": "first", "seconds": 0.1}, {"name": "last", "seconds": 0.1}], "output": "the end"}


def test_a_job_is_cancelled_and_resumed_by_one_key_and_seen_so(url: str) -> None:
    async def go() -> None:
        await submit(url, "to-cancel", LONG, deadline_seconds=300)
        async with deck_on(url) as pilot:
            await until(pilot, lambda: on_row(pilot, "to-cancel", "RUNNING", "second 1/2"))
            await choose(pilot, "to-cancel")
            await press(pilot, "c")
            assert on_row(pilot, "to-cancel", "cancel in ", " s · u undo")
            await press(pilot, "c")
            acts = program(pilot).deck.acts
            await until(pilot, lambda: acts.history()[0].phase is Phase.SEEN)
            await until(pilot, lambda: on_row(pilot, "to-cancel", "⊘ CANCELLED"))
            await until(pilot, lambda: "seen: CANCELLED after" in screen_text(pilot))
            await press(pilot, "r", "r")
            await until(pilot, lambda: on_row(pilot, "to-cancel", "▸ RUNNING", " 2 "))
            await press(pilot, "c", "c")
            await until(pilot, lambda: on_row(pilot, "to-cancel", "⊘ CANCELLED"))

    asyncio.run(go())


def test_an_expired_job_is_granted_a_later_window_and_runs_again(url: str) -> None:
    async def go() -> None:
        await submit(url, "to-grant", LONG, deadline_seconds=300)
        async with deck_on(url) as pilot:
            await until(pilot, lambda: on_row(pilot, "to-grant", "RUNNING"))
            await choose(pilot, "to-grant")
            await press(pilot, "e", "e")
            await until(pilot, lambda: on_row(pilot, "to-grant", "∅ EXPIRED"))
            deck = program(pilot).deck
            job = deck.jobs.get("to-grant")
            program(pilot).link.acts.grant(job, 300.0, deck.now(), resume=True)
            await until(pilot, lambda: on_row(pilot, "to-grant", "▸ RUNNING"))
            await press(pilot, "c", "c")
            await until(pilot, lambda: on_row(pilot, "to-grant", "⊘ CANCELLED"))

    asyncio.run(go())


def test_the_job_screen_shows_stages_with_evidence_and_the_events_to_their_end(url: str) -> None:
    async def go() -> None:
        await submit(url, "to-open", SHORT)
        async with deck_on(url) as pilot:
            await until(pilot, lambda: on_row(pilot, "to-open", "✔ DONE"))
            await choose(pilot, "to-open")
            await press(pilot, "enter")
            assert isinstance(pilot.app.screen, JobScreen)
            await until(pilot, lambda: "stream ended: success" in screen_text(pilot))
            await press(pilot, "tab")
            stages = pilot.app.screen.query_one("#stages", TextPane)
            for _ in range(3):
                if pilot.app.screen.query_one("#panes").current != "stages":
                    await press(pilot, "tab")
            await until(pilot, lambda: "2 stages completed once each; none ran again." in stages.plain)
            assert "checkpoint" in stages.plain
            assert "output" in stages.plain
            await press(pilot, "shift+tab")
            record = pilot.app.screen.query_one("#record", TextPane)
            await until(pilot, lambda: "submitted → running" in record.plain)

    asyncio.run(go())


def test_dasks_own_numbers_stand_beside_the_records(url: str) -> None:
    async def go() -> None:
        await submit(url, "to-count", LONG)
        async with deck_on(url) as pilot:
            await until(pilot, lambda: on_row(pilot, "to-count", "RUNNING"))
            await until(pilot, lambda: "processing" in lines(pilot)[2] and " 1/" in lines(pilot)[2])
            await press(pilot, "2")
            await until(pilot, lambda: "✔ Dask and the records agree." in screen_text(pilot))
            await press(pilot, "1")
            await choose(pilot, "to-count")
            await press(pilot, "c", "c")
            await until(pilot, lambda: on_row(pilot, "to-count", "⊘ CANCELLED"))

    asyncio.run(go())


def test_a_lost_scheduler_is_drilled_from_the_deck_and_every_job_is_seen_back(url: str) -> None:
    async def go() -> None:
        await submit(url, "to-survive", LONG)
        async with deck_on(url) as pilot:
            await until(pilot, lambda: on_row(pilot, "to-survive", "RUNNING", "second 1/2"))
            # Step by step: a key pressed before its screen is drawn never acts.
            await press(pilot, "4")
            await until(pilot, lambda: "a Arm" in screen_text(pilot))
            await press(pilot, "a")
            await until(pilot, lambda: "ARMED" in screen_text(pilot))
            await press(pilot, "enter")
            await until(pilot, lambda: "Type scheduler-loss" in screen_text(pilot))
            await press(pilot, *"scheduler-loss", "enter")
            await until(pilot, lambda: "DRILL scheduler-loss" in screen_text(pilot))
            await until(pilot, lambda: "PASSED" in screen_text(pilot))
            text = screen_text(pilot)
            assert "stages run again: 0" in text
            assert "to-survive" in text
            assert "✔ none again" in text
            await press(pilot, "1")
            await until(pilot, lambda: "epoch 2" in lines(pilot)[2])
            await until(pilot, lambda: on_row(pilot, "to-survive", "▸ RUNNING", " 2 "))
            await choose(pilot, "to-survive")
            await press(pilot, "c", "c")
            await until(pilot, lambda: on_row(pilot, "to-survive", "⊘ CANCELLED"))
        async with deck_on(url) as pilot:
            await press(pilot, "4")
            await until(pilot, lambda: "DRILL scheduler-loss" in screen_text(pilot))
            assert "PASSED" in screen_text(pilot)

    asyncio.run(go())


def test_a_stopped_scheduler_is_seen_as_suspect_and_healed_with_one_key(url: str) -> None:
    async def go() -> None:
        async with deck_on(url) as pilot:
            await until(pilot, lambda: "✔ LIVE" in screen_text(pilot) and "Dask ✔ up" in lines(pilot)[2])
            before = lines(pilot)[2].split("epoch")[1].split()[0]
            await press(pilot, "4")
            await until(pilot, lambda: "a Arm" in screen_text(pilot))
            await press(pilot, "j", "a")
            await until(pilot, lambda: "ARMED" in screen_text(pilot))
            await press(pilot, "enter")
            await until(pilot, lambda: "Type scheduler-hang" in screen_text(pilot))
            await press(pilot, *"scheduler-hang", "enter")
            await until(pilot, lambda: "SCHEDULER SUSPECT" in lines(pilot)[0])
            assert "H Heal now" in lines(pilot)[-1]
            await press(pilot, "H")
            await until(pilot, lambda: "HEALED" in screen_text(pilot))
            await press(pilot, "1")
            await until(pilot, lambda: "Dask ✔ up" in lines(pilot)[2])
            assert lines(pilot)[2].split("epoch")[1].split()[0] == before, "it was not given up"

    asyncio.run(go())
