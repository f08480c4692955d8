"""An effect nobody knows about: seen in the deck, judged from it and from the command line (R25, R38)."""

import asyncio
import json
import os
import signal

import pytest
from jobdeck_tui.cli import run
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.decode import effect as decode_effect
from jobdeck_tui.client.errors import Refused
from jobdeck_tui.client.models import Effect
from jobdeck_tui.core.effect_rows import effect_rows, uncertain
from jobdeck_tui.screens.job import JobScreen
from jobdeck_tui.screens.verdict import VerdictDialog
from jobdeck_tui.text.sanitise import is_safe
from jobdeck_tui.widgets.text_pane import TextPane

from tests.hostile.corpus import HOSTILE

from .deck_driver import NOW, press, screen_text
from .live_deck import choose, deck_on, detail, on_row, submit, until
from .processes import wait_until

PAY = {"stages": [{"name": "pay", "effect": {"key": "charge", "hang": True}}], "output": "paid"}
ONE = Effect(
    "j/pay/1/charge/0",
    "charge",
    "pay",
    1,
    "manual",
    "uncertain",
    '{"to": 7}',
    1,
    1,
    NOW,
    None,
    None,
    None,
    None,
)


def held(url: str, job_id: str) -> str:
    """A job whose worker died in its call; answers the effect's key."""

    asyncio.run(submit(url, job_id, PAY))
    # Its intent is on record before the call; a kill between the two leaves it as uncertain.
    (effect,) = wait_until(lambda: detail(url, job_id).effects)
    os.kill(detail(url, job_id).attempts[-1].pid, signal.SIGKILL)
    wait_until(lambda: detail(url, job_id).job.state == "held")
    return effect.key


def text(effects: list[Effect]) -> str:
    return "\n".join("".join(piece for piece, _ in row) for row in effect_rows(effects, "v"))


def test_an_effect_is_shown_with_intent_tries_request_outcome_and_proof() -> None:
    shown = text([ONE._replace(state="happened", settled_at=NOW, settled_by="operator", proof="4711")])
    for words in ("✔ HAPPENED", "charge  stage pay, step 1", "attempt 1, 1 try", '{"to": 7}', "4711"):
        assert words in shown
    assert "by operator" in shown
    assert "2 tries; open" in text([ONE._replace(intents=2)])
    assert "No effect is on record" in text([])


def test_the_uncertain_ones_come_first_and_those_a_resume_waits_for_before_them() -> None:
    done, asked, blocking = ONE._replace(state="confirmed"), ONE._replace(policy="probe"), ONE
    assert uncertain([done, asked, blocking]) == [blocking, asked]
    assert text([done, blocking]).startswith(" ? UNCERTAIN")


@pytest.mark.parametrize(
    "state", ["intent", "confirmed", "failed", "happened", "not_happened", "retry", "new"]
)
def test_every_state_has_a_word_and_only_an_uncertain_one_asks_for_a_verdict(state: str) -> None:
    shown = text([ONE._replace(state=state)])
    assert "says whether it happened" not in shown
    assert shown.split()[1].isupper()


def test_r38_what_an_effect_says_never_reaches_the_terminal_as_an_escape() -> None:
    for evil in HOSTILE:
        row = {
            "key": "k",
            "name": "n",
            "node": evil,
            "step": 1,
            "policy": evil,
            "state": evil,
            "request": {evil: [evil]},
            "attempt": 1,
            "intents": 1,
            "intent_at": "2026-11-29T12:00:00Z",
            "settled_at": None,
            "settled_by": None,
            "outcome": evil,
            "proof": evil,
        }
        assert is_safe(text([decode_effect(row)]), lines=True), evil[:80]


def test_r25_a_verdict_is_given_from_the_deck_and_the_job_goes_on(url: str) -> None:
    held(url, "to-judge")

    async def go() -> None:
        async with deck_on(url, (80, 24)) as pilot:
            await until(pilot, lambda: on_row(pilot, "to-judge", "⏸ HELD"))
            await choose(pilot, "to-judge")
            await press(pilot, "enter")
            assert isinstance(pilot.app.screen, JobScreen)
            await until(pilot, lambda: "Effects 1 ?" in screen_text(pilot))
            await until(pilot, lambda: "v Verdict" in screen_text(pilot))
            await press(pilot, "tab")
            effects = pilot.app.screen.query_one("#effects", TextPane)
            await until(pilot, lambda: "? UNCERTAIN" in effects.plain)
            await press(pilot, "r")
            await until(pilot, lambda: isinstance(pilot.app.screen, VerdictDialog))
            assert "Did effect charge of stage pay happen?" in screen_text(pilot)
            await press(pilot, "enter", "h", "enter")
            await until(pilot, lambda: "Without a proof nothing is said." in screen_text(pilot))
            await press(pilot, *"nth 47", "enter")
            await until(pilot, lambda: "✔ HAPPENED" in effects.plain)
            assert "nth 47" in effects.plain
            assert "v Verdict" not in screen_text(pilot)
            await press(pilot, "r", "r")
            await until(pilot, lambda: "✔ DONE" in screen_text(pilot))

    asyncio.run(go())


def test_r25_a_job_held_for_a_call_that_raised_says_what_was_raised(url: str) -> None:
    raises = {"stages": [{"name": "pay", "effect": {"key": "charge", "fail": True}}]}
    asyncio.run(submit(url, "raised", raises))

    async def go() -> None:
        async with deck_on(url, (120, 36)) as pilot:
            await until(pilot, lambda: on_row(pilot, "raised", "⏸ HELD"))
            await choose(pilot, "raised")
            await press(pilot, "enter")
            await until(pilot, lambda: "Effects 1 ?" in screen_text(pilot))
            words = "happened: ProbeFailure: effect 'charge' was asked to fail"
            await until(pilot, lambda: words in " ".join(screen_text(pilot).split()))

    asyncio.run(go())


def test_r25_a_verdict_is_given_from_the_command_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    key = held(url, "to-tell")

    def jobdeck(*arguments: str) -> tuple[int, str, str]:
        code = run([*arguments, "--server", url])
        told = capsys.readouterr()
        return code, told.out, told.err

    assert f"effect    {key}  UNCERTAIN  manual  intents 1" in jobdeck("show", "to-tell")[1]
    code, _, refused = jobdeck("resume", "to-tell")
    assert (code, "may have happened" in refused) == (4, True)
    code, _, wrong = jobdeck("verdict", "to-tell", "charge", "happened")
    assert (code, "--proof" in wrong) == (2, True)
    assert jobdeck("verdict", "to-tell", "no/such/key", "retry")[0] == 4
    code, told, _ = jobdeck("verdict", "to-tell", "charge", "not_happened", "--json")
    assert (code, json.loads(told)["state"]) == (0, "not_happened")
    code, _, again = jobdeck("verdict", "to-tell", key, "retry")
    assert (code, "nothing to judge" in again) == (4, True)
    assert jobdeck("resume", "to-tell")[0] == 0
    assert jobdeck("watch", "to-tell")[0] == 0
    assert f"effect    {key}  CONFIRMED  manual  intents 2" in jobdeck("show", "to-tell")[1]


def test_a_verdict_on_an_effect_the_job_does_not_have_is_refused(url: str) -> None:
    async def go() -> None:
        async with Api(url) as api:
            with pytest.raises(Refused) as refusal:
                await api.judge("to-tell", "a/b%23/c", "retry")
            assert refusal.value.status == 404

    asyncio.run(go())
