"""R37: where other records answer than before, nothing of the former ones counts."""

from jobdeck_tui.core.drill_words import Fault

from .deck_driver import (
    NOW,
    Clock,
    a_deck,
    an_event,
    an_overview,
    in_a_deck,
    one_of_each,
    press,
    program,
    running,
    screen_text,
    told,
)


def test_r37_nothing_of_the_former_records_is_taken_for_the_latters() -> None:
    deck = a_deck(clock=Clock())
    deck.take_events([told(an_event(1))])
    deck.feed.read(NOW)
    deck.take_events([told(an_event(2))])
    deck.choices.append(("job", "deadline_passed"))
    deck.fuse.arm(Fault("scheduler-loss", None, "lose the scheduler", "all of it"))
    deck.begin_anew()
    deck.take_overview(an_overview(one_of_each() * 20))
    deck.feed.read(NOW)
    assert list(deck.feed.lines.lines) == []
    assert deck.choices == []
    assert deck.fuse.fault is None, "it was armed for the former's scheduler"
    ended = next(line for line in deck.trends.lines(40) if "ended/min" in line)
    assert ended.split()[1] == "0", "what the latter ended before is not of this minute"


@in_a_deck
async def test_r37_a_log_that_stands_still_shows_the_latters_events_too() -> None:
    deck = a_deck()
    deck.take_events([told(an_event(seq)) for seq in range(1, 100)])
    async with running(deck) as pilot:
        await press(pilot, "5", "k")
        assert not program(pilot).front().log_view.following
        deck.begin_anew()
        deck.take_events([told(an_event(1, job_id="latter-1"))])
        program(pilot).front().flush()
        await pilot.pause()
        assert "latter-1" in screen_text(pilot)
