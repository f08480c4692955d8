"""What a busy feed may not cost: a layout for each of its changes, and memory for events that nobody looks at."""

import json
import sys

import pytest
from jobdeck_tui.client.models import AuditRow
from jobdeck_tui.core.packed_texts import BLOCK_CHARACTERS, BLOCK_TEXTS, PackedTexts
from textual.screen import Screen

from .deck_driver import NOW, Clock, a_deck, a_job, in_a_deck, lines, program, running

SHOWN = range(1, 40)
TOLD = 25


def test_what_others_do_is_told_again_and_again_without_a_layout_of_the_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    laid_out: list[object] = []
    layout = Screen._refresh_layout

    def counted(screen: Screen[None], *arguments: object, **more: object) -> None:
        laid_out.append(screen)
        layout(screen, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Screen, "_refresh_layout", counted)

    @in_a_deck
    async def go() -> None:
        clock = Clock()
        deck = a_deck([a_job(number) for number in SHOWN], clock)
        async with running(deck, 120, 36) as pilot:
            screen = program(pilot).front()
            assert screen is not None

            async def told(words: str, number: int) -> None:
                clock.seconds += 1.0
                deck.take_frame()
                deck.company.take(
                    AuditRow(number, NOW, "ana", "cancel", f"job-{number}", 1, None, words), deck.now()
                )
                screen.flush()
                await pilot.pause()
                assert any(f"job-{number}" in line for line in lines(pilot))

            await told("done", 0)
            laid_out.clear()
            for number in range(1, TOLD):
                await told("done", number)
            assert not laid_out
            clock.seconds += 1.0
            deck.take_frame()
            deck.company.take(
                AuditRow(TOLD, NOW, "ana " * 40, "cancel", f"job-{TOLD}", 1, None, "done"), deck.now()
            )
            screen.flush()
            await pilot.pause()
            assert laid_out  # two rows now
            assert any(f"job-{TOLD}" in line for line in lines(pilot))

    go()


def test_texts_that_wait_come_out_as_they_went_in_and_take_a_fraction_of_the_memory() -> None:
    texts = [json.dumps({"job_id": f"job-{n}", "name": "é\u2028" * (n % 7), "seq": n}) for n in range(1_000)]
    texts[500] = json.dumps({"long": "x" * 3 * BLOCK_CHARACTERS})
    waiting, out = PackedTexts(), []
    for text in texts:
        waiting.add(text)
    assert len(waiting) == len(texts)
    assert waiting.bytes - len(texts[500]) < sum(map(sys.getsizeof, texts)) / 5
    while waiting:
        out += waiting.take_oldest()
    assert out == texts
    assert waiting.bytes == 0


def test_the_oldest_are_forgotten_and_never_more_than_one_may() -> None:
    waiting = PackedTexts()
    for number in range(1_000):
        waiting.add(str(number))
        waiting.forget_beyond(300)
        assert min(300, number + 1) <= len(waiting) < 300 + BLOCK_TEXTS
    kept = len(waiting)
    assert waiting.take_oldest()[0] == str(1_000 - kept)
