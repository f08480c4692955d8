"""One key acts: after a grace, on the job it was pressed for, and never while the deck is blind."""

import pytest
from jobdeck_tui.client.models import AuditRow
from jobdeck_tui.core.acts import Phase
from jobdeck_tui.screens.dialogs import GrantOffer, Question
from textual.pilot import Pilot

from .deck_driver import NOW, Clock, a_deck, a_job, in_a_deck, lines, press, program, running, screen_text


def phases(pilot: object) -> list[tuple[str, str, Phase]]:
    return [(t.act.value, t.job_id, t.phase) for t in program(pilot).deck.acts.history()]


@in_a_deck
async def test_one_key_counts_down_and_sends_nothing_before_its_end() -> None:
    clock = Clock()
    jobs = [a_job(1), a_job(2)]
    async with running(a_deck(jobs, clock)) as pilot:
        clock.seconds = 2.0
        program(pilot).deck.take_frame()
        await press(pilot, "j", "c")
        assert phases(pilot) == [("cancel", "job00002-running", Phase.GRACE)]
        assert "cancel job00002-running in 3 s · u undo · c now" in screen_text(pilot)
        clock.seconds = 4.9
        program(pilot).deck.take_frame()
        program(pilot).send_due_acts()
        assert phases(pilot)[0][2] is Phase.GRACE
        clock.seconds = 5.1
        program(pilot).deck.take_frame()
        program(pilot).send_due_acts()
        assert phases(pilot)[0][2] is Phase.SENT


@in_a_deck
async def test_u_takes_an_act_back_and_the_same_key_again_sends_at_once() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1)], clock)) as pilot:
        clock.seconds = 2.0
        program(pilot).deck.take_frame()
        await press(pilot, "e", "u")
        assert phases(pilot)[0][2] is Phase.UNDONE
        await press(pilot, "e", "e")
        assert [phase for _, _, phase in phases(pilot)] == [Phase.SENT, Phase.UNDONE]


@in_a_deck
async def test_an_own_act_is_no_news_and_no_alert_where_that_of_another_is_both() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1), a_job(2)], clock)) as pilot:
        deck = program(pilot).deck
        deck.alerts.begin()
        clock.seconds = 2.0
        deck.take_frame()
        await press(pilot, "e", "e")
        for number, told in ((1, ""), (2, "job00002-running 0.0s ago")):
            row = AuditRow(number, NOW + 2, "ops", "expire", f"job{number:05}-running", 3, None, "expired")
            deck.company.take(row, deck.now())
            deck.take_jobs([a_job(number, "expired", job_id=row.job_id, version=4)])
            assert deck.company.line(deck.now()) == (told and f"ops expired {told}")
            assert deck.alerts.words() == (told and "1 new: 1 expired")


@in_a_deck
async def test_r37_no_act_goes_out_while_the_deck_is_not_live_and_the_reason_is_said() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1)], clock)) as pilot:
        clock.seconds = 9.0
        await press(pilot, "c")
        await pilot.pause()
        assert phases(pilot) == []
        program(pilot).front().flush()
        await pilot.pause()
        text = screen_text(pilot)
        assert "STALE 9.0s" in text
        assert "Actions are off until reconnected." in text
        assert "Acts go out only when LIVE" in text


@in_a_deck
async def test_r37_an_act_on_a_row_that_just_slid_under_the_cursor_is_refused() -> None:
    clock = Clock()
    jobs = [a_job(1), a_job(2)]
    async with running(a_deck(jobs, clock)) as pilot:
        deck = program(pilot).deck
        clock.seconds = 2.0
        deck.take_jobs([a_job(3, deadline=NOW - 60)])
        deck.take_frame()
        program(pilot).front().flush(everything=True)
        await press(pilot, "c")
        assert phases(pilot) == []
        clock.seconds = 4.0
        deck.take_frame()
        await press(pilot, "c")
        assert phases(pilot)[0][1] == "job00003-running"


@in_a_deck
async def test_several_jobs_are_asked_about_enter_does_nothing_and_only_y_confirms() -> None:
    clock = Clock()
    jobs = [a_job(1), a_job(2), a_job(3, "succeeded")]
    async with running(a_deck(jobs, clock)) as pilot:
        clock.seconds = 2.0
        program(pilot).deck.take_frame()
        await press(pilot, "A", "c")
        assert isinstance(pilot.app.screen, Question)
        text = screen_text(pilot)
        assert "job00001-running" in text
        assert "3 marked: 2 can be cancelled, 1 is skipped (already DONE)." in text
        await press(pilot, "enter", "space")
        assert isinstance(pilot.app.screen, Question)
        assert phases(pilot) == []
        await press(pilot, "y")
        assert sorted(job for _, job, phase in phases(pilot) if phase is Phase.SENT) == [
            "job00001-running",
            "job00002-running",
        ]


@in_a_deck
async def test_r37_an_open_question_keeps_its_rows_and_versions_while_the_list_moves() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1), a_job(2)], clock)) as pilot:
        deck = program(pilot).deck
        clock.seconds = 2.0
        deck.take_frame()
        await press(pilot, "A", "c")
        assert isinstance(pilot.app.screen, Question)
        deck.take_jobs([a_job(0, deadline=NOW - 60), a_job(1, version=9), a_job(7)])
        deck.take_frame()
        program(pilot).front().flush(everything=True)
        await press(pilot, "y")
        sent = {(one.job_id, one.version) for one in deck.acts.history()}
        assert sent == {("job00001-running", 3), ("job00002-running", 3)}


@in_a_deck
async def test_r37_a_row_that_a_filter_hides_is_never_acted_on_unasked() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1), a_job(2, "queued")], clock)) as pilot:
        deck = program(pilot).deck
        clock.seconds = 2.0
        deck.take_frame()
        await press(pilot, "space", "slash", *"state:queued", "enter")
        clock.seconds = 4.0
        deck.take_frame()
        assert "job00001" not in screen_text(pilot)
        await press(pilot, "c")
        assert isinstance(pilot.app.screen, Question)
        assert "1 job of them not in view" in screen_text(pilot)
        assert phases(pilot) == []
        await press(pilot, "escape", "escape", "c")
        assert phases(pilot) == [("cancel", "job00002-queued", Phase.GRACE)]


@in_a_deck
async def test_r37_an_act_in_its_grace_stays_on_its_job_when_the_row_goes_out_of_view() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1), a_job(2, "queued")], clock)) as pilot:
        deck = program(pilot).deck
        clock.seconds = 2.0
        deck.take_frame()
        await press(pilot, "c", "slash", *"state:queued", "enter")
        deck.take_jobs([a_job(1, version=8)])
        clock.seconds = 5.5
        deck.take_frame()
        program(pilot).send_due_acts()
        (sent,) = deck.acts.history()
        assert (sent.job_id, sent.version, sent.phase) == ("job00001-running", 3, Phase.SENT)


@in_a_deck
async def test_a_resume_past_its_deadline_offers_a_later_window() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1, "expired", deadline=NOW - 5)], clock)) as pilot:
        clock.seconds = 2.0
        program(pilot).deck.take_frame()
        await press(pilot, "r")
        assert isinstance(pilot.app.screen, GrantOffer)
        await press(pilot, "m")
        await pilot.pause()
        granted = program(pilot).deck.acts.history()[0]
        assert (granted.act.value, granted.extend_seconds, granted.phase) == ("grant", 300.0, Phase.SENT)


@in_a_deck
async def test_an_act_the_state_does_not_allow_says_why() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1, "succeeded")], clock)) as pilot:
        clock.seconds = 2.0
        program(pilot).deck.take_frame()
        await press(pilot, "r")
        await pilot.pause()
        assert phases(pilot) == []
        assert "a success is never reopened" in screen_text(pilot)


@in_a_deck
async def test_quitting_with_an_act_in_its_grace_asks_first() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1)], clock)) as pilot:
        clock.seconds = 2.0
        program(pilot).deck.take_frame()
        await press(pilot, "c", "q")
        assert isinstance(pilot.app.screen, Question)
        await pilot.pause()
        assert "Leave and drop 1 act?" in screen_text(pilot)
        assert "cancel job00001-running: not sent yet" in screen_text(pilot)
        await press(pilot, "y")
        await pilot.pause()
        assert phases(pilot)[0][2] is Phase.UNDONE


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=str)
def test_ids_that_differ_only_at_their_end_are_told_apart_wherever_acts_are_shown(
    size: tuple[int, int],
) -> None:
    names = [f"licence-review-{number:04}" for number in (11, 12)]

    def told(pilot: Pilot[int], end: str) -> bool:
        return any("licence-" in line and f"{end} " in line for line in lines(pilot))

    @in_a_deck
    async def go() -> None:
        clock = Clock()
        async with running(
            a_deck([a_job(n, job_id=name) for n, name in enumerate(names)], clock), *size
        ) as p:
            deck = program(p).deck
            deck.audit.take(
                [AuditRow(n, NOW, "o", "cancel", name, 3, None, "") for n, name in enumerate(names)]
            )
            assert all(told(p, end) for end in ("011", "012"))
            clock.seconds = 2.0
            deck.take_frame()
            await press(p, "j", "c")
            assert "cancel licence-review-0012 in 3 s" in screen_text(p)
            await press(p, "c", "L")
            assert "cancel licence-review-0012: sent" in screen_text(p)
            await press(p, "escape", "8")
            assert all(told(p, end) for end in ("011", "012"))
            assert "cancel licence-review-0011 at version 3" in screen_text(p)

    go()
