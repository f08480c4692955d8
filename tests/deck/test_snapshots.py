"""Every screen is drawn as it was: a change that was meant is taken anew with ``make snapshots``."""

import asyncio
import difflib

import pytest

from .snapshots import HERE, SIZES, STYLED, Taken, of_size, of_states

SHOWN_LINES_MAX = 120


def compare(taken: Taken, folder: str) -> None:
    kept = {
        path.relative_to(HERE).as_posix(): path.read_text(encoding="utf-8")
        for path in (HERE / folder).glob("*.txt")
    }
    told: list[str] = []
    for name in sorted(kept | taken):
        before, now = (found.get(name, "").splitlines() for found in (kept, taken))
        told += difflib.unified_diff(before, now, f"kept/{name}", f"now/{name}", lineterm="", n=1)
    if told:
        more = f"\n… {len(told) - SHOWN_LINES_MAX} more lines" if len(told) > SHOWN_LINES_MAX else ""
        lines = "\n".join(told[:SHOWN_LINES_MAX])
        pytest.fail(f"{lines}{more}\n`make snapshots` takes them anew.", pytrace=False)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_every_screen_is_drawn_as_it_was(size: tuple[int, int]) -> None:
    compare(asyncio.run(of_size(size)), f"{size[0]}x{size[1]}")


def test_the_list_is_drawn_as_it_was_in_every_special_state() -> None:
    compare(asyncio.run(of_states()), "states")


def test_without_colour_the_cursor_states_and_warnings_are_still_told_apart() -> None:
    kept = (HERE / "states" / "no-colour.txt").read_text(encoding="utf-8")
    looks = kept.split("looks (all else")[1]
    assert "#" not in looks
    assert "reverse" in looks
    assert "#" in (HERE / f"{STYLED[0]}x{STYLED[1]}" / "jobs.txt").read_text(encoding="utf-8")
