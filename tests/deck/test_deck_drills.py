"""The Drills screen without a server: what is offered, what is explained, what one key writes."""

import json

import pytest
from jobdeck_tui.client.drills import DrillAwaited, DrillStep
from jobdeck_tui.core.drill_words import GUARANTEES, SHOWS_NOTHING, end_line
from jobdeck_tui.text.format import instant

from .deck_driver import NOW, a_deck, a_drill, an_overview, in_a_deck, lines, press, running, screen_text
from .live_deck import until

RUNNING = a_drill()._replace(
    state="running", ended_at=None, awaited=(DrillAwaited("running again", 7.0),), evidence=()
)
SIZES = ((80, 24), (120, 36), (40, 10), (20, 5))


@in_a_deck
async def test_each_fault_is_chosen_with_its_own_promise_in_words() -> None:
    async with running(a_deck(), 120, 40) as pilot:
        await press(pilot, "4")
        await pilot.pause()
        for name in ("scheduler-loss", "scheduler-hang", "worker-loss", "worker-hang", "stream-drop"):
            shown = " ".join(screen_text(pilot).split())
            assert " ".join(GUARANTEES[name].split())[:150] in shown, name
            await press(pilot, "j")
        assert "▸ drop all streams" in screen_text(pilot)


@in_a_deck
async def test_w_means_another_worker_and_disarms() -> None:
    deck = a_deck()
    async with running(deck, 100, 40) as pilot:
        await press(pilot, "4", "j", "j")
        await pilot.pause()
        assert "▸ kill worker worker-0" in screen_text(pilot)
        await press(pilot, "a")
        await pilot.pause()
        assert "⚠ ARMED for 30 s: Enter, then type worker-loss" in screen_text(pilot)
        await press(pilot, "w")
        await pilot.pause()
        assert "▸ kill worker worker-1" in screen_text(pilot)
        assert deck.fuse.fault is None


@in_a_deck
async def test_what_would_show_nothing_is_warned_of_before_it_is_armed_and_when_its_name_is_asked_for() -> (
    None
):
    deck = a_deck()
    deck.take_overview(an_overview([]))
    async with running(deck, 120, 40) as pilot:
        await press(pilot, "4")
        await pilot.pause()
        assert f"⚠ {SHOWS_NOTHING}" in screen_text(pilot)
        await press(pilot, "a", "enter")
        await pilot.pause()
        assert "the drill would show nothing" in " ".join(screen_text(pilot).split())


@in_a_deck
async def test_r37_the_question_for_its_name_says_what_the_fault_would_reach_now() -> None:
    deck = a_deck()
    busy = deck.overview
    deck.take_overview(an_overview([]))
    async with running(deck, 120, 40) as pilot:
        await press(pilot, "4", "a", "enter")
        await pilot.pause()
        assert "It would reach: 0 running restart" in screen_text(pilot)
        deck.take_overview(busy)
        await until(pilot, lambda: "It would reach: 0 running" not in screen_text(pilot))
        assert "running restart" in screen_text(pilot)
        assert "the drill would show nothing" not in screen_text(pilot).split("It would reach")[1]


@in_a_deck
async def test_where_jobs_run_nothing_is_warned_of() -> None:
    async with running(a_deck(), 120, 40) as pilot:
        await press(pilot, "4")
        await pilot.pause()
        assert "running restart" in screen_text(pilot)
        assert SHOWS_NOTHING not in screen_text(pilot)


@in_a_deck
async def test_older_drills_are_paged_to_and_which_one_is_in_view_is_told() -> None:
    deck = a_deck()
    deck.take_drill(a_drill()._replace(id="first", fault="worker-loss", target="w7"))
    deck.take_drill(a_drill()._replace(id="second"))
    async with running(deck, 120, 40) as pilot:
        await press(pilot, "4")
        await pilot.pause()
        assert "DRILL scheduler-loss" in screen_text(pilot)
        assert f"began {instant(a_drill().started_at)}, 2 of 2: [ older, ] newer" in screen_text(pilot)
        await press(pilot, "left_square_bracket")
        await pilot.pause()
        assert "DRILL worker-loss w7" in screen_text(pilot)
        assert "1 of 2" in screen_text(pilot)
        assert a_drill().timeline[1].text in screen_text(pilot)
        await press(pilot, "right_square_bracket")
        await pilot.pause()
        assert "2 of 2" in screen_text(pilot)


@in_a_deck
async def test_a_drill_that_has_shown_nothing_is_neither_passed_nor_failed() -> None:
    empty = DrillStep(NOW, "running again", "no job has to come back", 5.0, None, "nothing_to_judge")
    deck = a_deck()
    deck.take_drill(a_drill()._replace(state="not_shown", timeline=(empty,)))
    async with running(deck, 120, 40) as pilot:
        await press(pilot, "4")
        await pilot.pause()
        assert "NOT SHOWN" in screen_text(pilot)
        assert "○ nothing to judge: no job has to come back" in screen_text(pilot)


@in_a_deck
async def test_a_drill_that_was_only_late_is_called_late_and_not_failed() -> None:
    late = DrillStep(NOW, "epoch up", "epoch 2 is up", 2.0, 2.16, "late")
    deck = a_deck()
    drill = a_drill()._replace(state="failed", timeline=(late,))
    deck.take_drill(drill)
    async with running(deck, 120, 40) as pilot:
        await press(pilot, "4")
        await pilot.pause()
        assert "  LATE  began" in screen_text(pilot)
        assert "FAILED" not in screen_text(pilot)
    assert " 0 of 1 expectations met in time, 1 late, 0 failed" in end_line(drill)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_running_drill_is_drawn_at_every_size(size: tuple[int, int]) -> None:
    @in_a_deck
    async def go() -> None:
        deck = a_deck()
        deck.take_drill(RUNNING)
        async with running(deck, *size) as pilot:
            await press(pilot, "4")
            await pilot.pause()
            assert all(len(line) <= size[0] for line in lines(pilot))

    go()


@in_a_deck
async def test_a_running_drill_shows_what_is_still_expected_and_offers_to_heal() -> None:
    deck = a_deck()
    deck.take_drill(RUNNING)
    async with running(deck) as pilot:
        await press(pilot, "4")
        await pilot.pause()
        awaited = next(line for line in lines(pilot) if "running again" in line and "…" in line)
        assert "< 7.00s" in awaited
        assert "H Heal now" in lines(pilot)[-1]
        deck.take_drill(a_drill())
        deck.take_frame()  # as the feed does with each frame: it is drawn at the next look
        await pilot.pause(0.3)
        assert "H Heal now" not in lines(pilot)[-1]


def test_o_writes_the_drill_to_a_file_for_its_owner_only(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)

    @in_a_deck
    async def go() -> None:
        deck = a_deck()
        deck.take_drill(a_drill()._replace(id="../d1"))
        async with running(deck, 120, 40) as pilot:
            await press(pilot, "4", "o")
            await pilot.pause()
            assert "written to" in screen_text(pilot)
            await press(pilot, "o")
            await pilot.pause()

    go()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drill-_d1-1.json", "drill-_d1.json"]
    written = tmp_path / "drill-_d1.json"
    assert written.stat().st_mode & 0o777 == 0o600
    record = json.loads(written.read_text())
    assert [step["name"] for step in record["timeline"]] == ["injected", "noticed", "running"]
    assert record["evidence"][0]["repeated"] == 0
    assert record["guarantee"] == GUARANTEES["scheduler-loss"]


def test_a_directory_that_cannot_be_written_is_said_and_nothing_is_lost(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.open", _no_room)

    @in_a_deck
    async def go() -> None:
        deck = a_deck()
        deck.take_drill(a_drill())
        async with running(deck, 120, 40) as pilot:
            await press(pilot, "4", "o")
            await pilot.pause()
            assert "Not exported: No space left on device." in screen_text(pilot)

    go()


def _no_room(*_arguments: object) -> int:
    raise OSError(28, "No space left on device")


@in_a_deck
async def test_a_server_without_drills_says_so_and_arms_nothing() -> None:
    deck = a_deck()
    deck.take_overview(an_overview([], drills_allowed=False))
    deck.take_drill(a_drill())
    async with running(deck, 100, 40) as pilot:
        await press(pilot, "4", "a")
        await pilot.pause()
        assert "This server does not allow drills" in screen_text(pilot)
        assert "Arm" not in lines(pilot)[-1]
        assert "DRILL scheduler-loss" in screen_text(pilot), "what ran before is shown all the same"
        assert deck.fuse.fault is None
