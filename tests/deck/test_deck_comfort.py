"""Comfort by keys: alerts seen, the palette, copies and exports, themes, wrapping, a deck that only reads."""

import csv
import json
from dataclasses import replace

import pytest
from jobdeck_tui.client.errors import Refused
from jobdeck_tui.client.http import Http
from jobdeck_tui.client.models import AuditRow
from jobdeck_tui.clipboard import FILE_NAME
from jobdeck_tui.core.config import Config, Profile, read_config
from jobdeck_tui.opening import Opening
from jobdeck_tui.styles import VARIABLES
from jobdeck_tui.styles.themes import NAMES, THEMES
from textual.color import Color
from textual.command import CommandPalette
from textual.widgets import Input

from tests.hostile.corpus import MARKUP

from .deck_driver import (
    NOW,
    Clock,
    a_deck,
    a_job,
    an_event,
    in_a_deck,
    lines,
    press,
    program,
    running,
    screen_text,
    told,
)


def alerting(clock=None):
    """A deck whose first listing is over, and on which two jobs fail and one is at risk then."""
    jobs = [a_job(number) for number in range(6)]
    deck = a_deck(jobs, clock)
    deck.keep_jobs({job.job_id for job in jobs})
    failed = [replace(job, state="failed", finished_at=NOW) for job in jobs[:2]]
    deck.take_jobs([*failed, replace(jobs[2], slack=-20.0)])
    return deck


@in_a_deck
async def test_alerts_are_counted_on_every_screen_and_one_key_says_seen():
    async with running(alerting()) as pilot:
        await press(pilot, "5")
        assert "⚠ 3 new: 2 failed, 1 at risk since" in screen_text(pilot)
        await press(pilot, "z")
        await pilot.pause(0.3)
        assert "3 new" not in screen_text(pilot)
        assert "3 alerts seen" in screen_text(pilot)


@in_a_deck
async def test_one_key_shows_just_what_alerted_from_any_screen_and_escape_shows_all_again():
    async with running(alerting()) as pilot:
        await press(pilot, "enter", "exclamation_mark")
        await pilot.pause()
        shown = program(pilot)._jobs_screen.table.shown_ids
        assert {job_id[:8] for job_id in shown} == {"job00000", "job00001", "job00002"}
        assert "only the 3 that alerted" in screen_text(pilot)
        await press(pilot, "escape")
        assert len(program(pilot)._jobs_screen.table.shown_ids) == 6


@in_a_deck
async def test_the_bell_rings_once_for_many():
    clock, rung = Clock(), []
    async with running(alerting(clock)) as pilot:
        app = program(pilot)
        app.bell = lambda: rung.append(clock.seconds)
        for second in range(12):
            clock.seconds = float(second)
            app.deck.take_jobs([a_job(100 + second, "failed")])
            app.ring()
        assert len(rung) <= 3


@in_a_deck
async def test_the_act_of_somebody_else_is_shown_as_it_comes():
    deck = a_deck()
    async with running(deck) as pilot:
        deck.company.take(AuditRow(1, NOW, "ana", "cancel", "64e50cad", 3, None, "done"), deck.now())
        program(pilot).front().flush()
        await pilot.pause()
        assert "ana cancelled 64e50cad 0.0s ago" in screen_text(pilot)


async def palette(pilot, query):
    """Opens the palette, types, and gives the texts of what is offered."""
    await press(pilot, "colon")
    screen = pilot.app.screen
    assert isinstance(screen, CommandPalette)
    screen.query_one(Input).value = query
    for _ in range(40):
        await pilot.pause(0.05)
        offered = screen.query_one("CommandList").options
        # What is offered before a search lists first what the search may not.
        found = offered and str(offered[0].prompt).lower().startswith(query.lower())
        if screen.has_class("-ready") and found:
            break
    return [str(option.prompt) for option in offered]


@in_a_deck
async def test_the_palette_opens_a_job_by_the_beginning_of_its_id():
    async with running(a_deck([a_job(number) for number in range(30)])) as pilot:
        offered = await palette(pilot, "job00017")
        assert "job00017-running" in offered[0]
        assert "RUNNING" in offered[0]
        await press(pilot, "down", "enter")
        await pilot.pause(0.5)
        assert pilot.app.screen.view.job_id == "job00017-running"


@in_a_deck
async def test_the_palette_offers_only_what_the_row_allows_and_does_it():
    async with running(a_deck([a_job(1, "succeeded")])) as pilot:
        assert not [words for words in await palette(pilot, "cancel") if words.startswith("Cancel")]
        await press(pilot, "escape")
        offered = await palette(pilot, "theme light")
        assert offered[0].startswith("Theme light")
        await press(pilot, "down", "enter")
        await pilot.pause(0.5)
        assert pilot.app.theme == "light"


@in_a_deck
async def test_the_palette_shows_a_saved_view_from_anywhere_and_goes_to_another_server():
    config = read_config({"views": {"late": {"filter": "try>1"}}})
    servers = Config(views=config.views, profiles={"stage": Profile("stage", "https://stage.example")})
    async with running(a_deck([a_job(1)]), opening=Opening(config=servers)) as pilot:
        await press(pilot, "enter")
        assert (await palette(pilot, "view late"))[0].startswith("View late  try>1")
        await press(pilot, "down", "enter")
        await pilot.pause(0.3)
        assert "filter: try>1  0 of 1" in screen_text(pilot)
        assert (await palette(pilot, "server stage"))[0].startswith("Server stage  https://stage.example")
        await press(pilot, "down", "enter")
        await pilot.pause(0.3)
        assert program(pilot).switch_to.name == "stage"


@in_a_deck
async def test_no_jobs_text_is_markup_in_the_palette():
    jobs = [a_job(number, job_id=f"evil{number}", workflow=text) for number, text in enumerate(MARKUP)]
    async with running(a_deck(jobs)) as pilot:
        for text in ("evil1", "evil"):
            offered = await palette(pilot, text)
            assert offered
            for strip in pilot.app.screen._compositor.render_strips():
                assert not any(segment.style and segment.style.meta.get("@click") for segment in strip)
            await press(pilot, "escape")


@pytest.mark.parametrize("kind", ["csv", "json", "ndjson"])
def test_what_is_shown_is_exported_to_a_new_file_for_its_owner(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @in_a_deck
    async def exporting():
        async with running(a_deck([a_job(1, note="=1+1"), a_job(2, "failed"), a_job(3)])) as pilot:
            program(pilot).deck.job_list.filter_by("state:running")
            program(pilot).front().flush(everything=True)
            for _ in range(2):
                await press(pilot, "o", kind[0])
            await pilot.pause()
            assert "2 rows in" in " ".join(lines(pilot))

    exporting()
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    assert files[0].stat().st_mode & 0o777 == 0o600
    text = files[0].read_text()
    rows = {
        "csv": lambda: list(csv.DictReader(text.splitlines())),
        "json": lambda: json.loads(text),
        "ndjson": lambda: [json.loads(line) for line in text.splitlines()],
    }[kind]()
    assert [row["job_id"] for row in rows] == ["job00001-running", "job00003-running"]
    assert rows[0]["note"] == ("'=1+1" if kind == "csv" else "=1+1")


def test_every_screen_exports_or_says_that_it_has_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @in_a_deck
    async def exporting():
        deck = a_deck()
        deck.take_events([told(an_event(1))])
        async with running(deck) as pilot:
            for key in "1235678":
                await press(pilot, *([key] if key != "1" else []), "o", "n")
                await pilot.pause()
            await press(pilot, "1", "enter", "o", "n")

    exporting()
    names = {path.name.split("-")[1] for path in tmp_path.iterdir()}
    assert {"jobs", "cluster", "recovery", "events"} <= names


def test_a_directory_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "os.open", lambda *_args: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )

    @in_a_deck
    async def exporting():
        async with running(a_deck()) as pilot:
            await press(pilot, "o", "c")
            await pilot.pause()
            assert "Not exported" in screen_text(pilot)

    exporting()


def test_copies_say_where_they_are(tmp_path):
    @in_a_deck
    async def copying():
        deck = a_deck([a_job(1)])
        deck.server_url = "http://127.0.0.1:8700"
        async with running(deck, 120, 36) as pilot:
            program(pilot).state_directory = tmp_path
            said = []
            for key in "yYK":
                await press(pilot, key)
                said.append((tmp_path / FILE_NAME).read_text())
            assert said[0] == "job00001-running"
            assert json.loads(said[1])["job_id"] == "job00001-running"
            assert said[2] == "curl -sS http://127.0.0.1:8700/v1/ops/jobs/job00001-running"
            await pilot.pause(0.3)
            assert FILE_NAME in screen_text(pilot)

    copying()


@in_a_deck
async def test_themes_go_round_and_every_state_is_still_told_in_words():
    async with running(a_deck()) as pilot:
        seen = []
        for _ in NAMES:
            await press(pilot, "T")
            await pilot.pause()
            seen.append(pilot.app.theme)
            assert "FAILED" in screen_text(pilot)
            assert "RUNNING" in screen_text(pilot)
        assert sorted(seen) == sorted(NAMES)


def luminance(colour):
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in Color.parse(colour).normalized
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_look_can_be_read_in_every_theme(theme):
    ground = luminance(theme.background or "#121212")
    wanted = 7.0 if theme.name == "high-contrast" else 4.5
    for name, colour in {**VARIABLES, **theme.variables}.items():
        if name != "cursor-ground":
            light, dark = sorted((luminance(colour), ground), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= wanted, name


@in_a_deck
async def test_long_lines_of_the_log_wrap_and_shift_while_it_follows():
    deck = a_deck()
    for seq in range(1, 60):
        text = "begin " + "word " * 32 + f"end{seq}"
        deck.take_events([told(an_event(seq, "job.update", data={"output": text}))])
    async with running(deck) as pilot:
        await press(pilot, "5")
        log = program(pilot).front().log_view
        assert "end59" not in screen_text(pilot)
        await press(pilot, "w")
        await pilot.pause()
        assert "end59" in screen_text(pilot)
        deck.take_events([told(an_event(60, "job.update", data={"output": "the newest one"}))])
        program(pilot).front().flush()
        await pilot.pause()
        assert log.following
        assert "the newest one" in screen_text(pilot)
        await press(pilot, "k")
        await pilot.pause()
        assert "end58" in screen_text(pilot)
        await press(pilot, "g")
        await pilot.pause()
        assert "end1" in screen_text(pilot)
        await press(pilot, "w", "l", "l", "end")
        await pilot.pause()
        assert log.following
        assert "begin word" not in screen_text(pilot)


@in_a_deck
async def test_times_are_ages_when_asked_for():
    clock = Clock()
    deck = a_deck(clock=clock)
    clock.seconds = 100.0
    deck.take_events([told(an_event(58))])
    async with running(deck) as pilot:
        await press(pilot, "5", "t")
        await pilot.pause(0.3)
        assert "     42s " in screen_text(pilot)
        await press(pilot, "t")
        await pilot.pause(0.3)
        assert "     42s " not in screen_text(pilot)


@in_a_deck
async def test_a_deck_that_only_reads_says_so_and_lets_no_act_out():
    deck = a_deck([a_job(1)])
    deck.read_only = True
    async with running(deck) as pilot:
        assert "READ-ONLY" in lines(pilot)[0]
        await press(pilot, "c")
        await pilot.pause()
        assert "Not sent: this deck is read-only." in screen_text(pilot)
        assert not deck.acts.history()
    with pytest.raises(Refused, match="read-only"):
        await Http("http://127.0.0.1:9", read_only=True).post("/v1/ops/jobs/one/cancel", {})


@in_a_deck
async def test_trends_are_there_where_there_is_room_for_them():
    async with running(a_deck(), 120, 36) as pilot:
        assert any(line.startswith(" not started") and "█" in line for line in lines(pilot))
    async with running(a_deck()) as pilot:
        assert "not started" not in screen_text(pilot)
