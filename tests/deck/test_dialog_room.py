"""A question is never asked without its answers in sight, however few rows the terminal has."""

import pytest
from jobdeck_tui.screens.dialogs import Question, TypedQuestion
from textual.pilot import Pilot

from .deck_driver import a_deck, in_a_deck, press, running, screen_text

TARGETS = [f"job-{number:02}  review  running" for number in range(42)]
NOTES = [
    "48 marked: 42 can be cancelled, 6 are skipped (already FAILED, already DONE).",
    "6 of 42 jobs running now; 4 completed stages kept, so that a resume can go on from there.",
    "The server's dry run: 42 can be done.",
]
SIZES = ((80, 24), (60, 16), (40, 12), (40, 10))


def said(pilot: Pilot[int]) -> str:
    """What the dialog says, wherever its lines end."""
    return " ".join(screen_text(pilot).replace("┃", " ").split())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_answers_are_in_sight(size: tuple[int, int]) -> None:
    @in_a_deck
    async def go() -> None:
        async with running(a_deck(), *size) as pilot:
            pilot.app.push_screen(Question("cancel", TARGETS, NOTES))
            await pilot.pause(0.3)
            for words in ("esc", "keep them as they are", "y cancel"):
                assert words in said(pilot)

    go()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_place_to_type_is_in_sight_and_so_is_what_was_wrong(size: tuple[int, int]) -> None:
    @in_a_deck
    async def go() -> None:
        async with running(a_deck(), *size) as pilot:
            pilot.app.push_screen(TypedQuestion("Cancel?", "42", NOTES, targets=TARGETS, with_reason=True))
            await pilot.pause(0.3)
            assert "type it here" in said(pilot)
            await press(pilot, "4", "1", "enter")
            await pilot.pause(0.3)
            assert "That is not 42. Nothing was done." in said(pilot)

    go()


@in_a_deck
async def test_a_dialog_stays_whole_while_the_terminal_shrinks_and_grows() -> None:
    async with running(a_deck()) as pilot:
        pilot.app.push_screen(TypedQuestion("Cancel?", "42", NOTES, targets=TARGETS, with_reason=True))
        await pilot.pause(0.3)
        whole = said(pilot)
        for words in ("Cancel?", "job-00", "job-01", "and 40 more", "Type 42", "why (optional"):
            assert words in whole
        await pilot.resize_terminal(20, 5)
        await pilot.pause(0.3)
        assert "type it here" in said(pilot)
        await pilot.resize_terminal(80, 24)
        await pilot.pause(0.3)
        assert "job-01" in said(pilot)
