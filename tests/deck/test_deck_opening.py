"""The deck as its config file wants it: keys, servers, saved views, and the view it had."""

from pathlib import Path

from jobdeck_tui.app import DeckApp
from jobdeck_tui.core.config import Config, Profile, read_config
from jobdeck_tui.core.view_state import ViewState
from jobdeck_tui.opening import Opening
from jobdeck_tui.screens.dialogs import Question
from jobdeck_tui.view_file import ViewFile
from jobdeck_tui.widgets.filter_line import FilterInput

from .deck_driver import (
    Clock,
    NoServer,
    a_deck,
    a_job,
    burst,
    in_a_deck,
    lines,
    press,
    program,
    running,
    screen_text,
)

PROD = Profile("prod", "https://deck.example", "PROD")
SERVERS = {"prod": PROD, "stage": Profile("stage", "https://stage.example", read_only=True)}


@in_a_deck
async def test_a_key_of_the_config_file_does_it_and_the_old_one_no_longer() -> None:
    config = read_config(
        {"keys": {"act.cancel": "X", "filter": "ctrl+f", "act.expire": "q", "help": "escape"}}
    )
    clock = Clock()
    async with running(a_deck([a_job(1)], clock), opening=Opening(config=config)) as pilot:
        text = " ".join(screen_text(pilot).split())
        assert "q is the key of leave_program on Jobs; act.expire keeps its own" in text
        assert "X Cancel" in lines(pilot)[-1]
        clock.seconds = 2.0
        program(pilot).deck.take_frame()
        await press(pilot, "c")
        assert not program(pilot).deck.graces()
        await press(pilot, "X")
        assert [tracked.act.value for tracked in program(pilot).deck.graces()] == ["cancel"]
        await press(pilot, "u", "ctrl+f")
        assert isinstance(pilot.app.focused, FilterInput)


@in_a_deck
async def test_on_prod_one_job_is_asked_for_too_and_only_y_says_yes() -> None:
    clock = Clock()
    async with running(a_deck([a_job(1)], clock), opening=Opening(PROD)) as pilot:
        assert " PROD " in lines(pilot)[0]
        clock.seconds = 2.0
        program(pilot).deck.take_frame()
        await press(pilot, "c")
        assert isinstance(pilot.app.screen, Question)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, Question)
        await press(pilot, "escape")
        assert program(pilot).deck.acts.history() == []
        await press(pilot, "c", "y")
        assert [tracked.act.value for tracked in program(pilot).deck.acts.history()] == ["cancel"]


@in_a_deck
async def test_a_read_only_profile_lets_no_act_out_and_says_so() -> None:
    async with running(a_deck([a_job(1)]), opening=Opening(SERVERS["stage"])) as pilot:
        assert "READ-ONLY" in lines(pilot)[0]
        await press(pilot, "c")
        assert "Not sent: this deck is read-only." in screen_text(pilot)


@in_a_deck
async def test_x_goes_to_another_server_as_a_deck_that_begins_anew() -> None:
    config = Config(profiles=SERVERS)
    async with running(a_deck([a_job(1)]), opening=Opening(PROD, config)) as pilot:
        await press(pilot, "x")
        assert "https://stage.example  read-only" in screen_text(pilot)
        await press(pilot, "escape", "x", "enter")
        assert program(pilot).switch_to is None
        await press(pilot, "x", "j", "enter")
        assert program(pilot).switch_to == SERVERS["stage"]
        assert program(pilot).return_code == 0


@in_a_deck
async def test_a_saved_view_is_chosen_by_key_or_named_at_the_start() -> None:
    views = {"late": {"filter": "try>1", "sort": "left", "columns": ["note"]}, "all": {}}
    config = read_config({"views": views})
    jobs = [a_job(1), a_job(2, attempt=2, note="second try")]
    async with running(a_deck(jobs), 120, 36, opening=Opening(config=config, view="late")) as pilot:
        assert "filter: try>1  1 of 2" in screen_text(pilot)
        header = next(line for line in lines(pilot) if "LEFT" in line)
        assert "NOTE" in header
        assert "AGENT" not in header
        await press(pilot, "v", "j", "enter")
        assert "filter:" not in screen_text(pilot)
        assert "AGENT" in screen_text(pilot)


async def left(state_dir: Path, opening: Opening, *keys: str) -> ViewState:
    """Opens a deck, presses keys, leaves, and gives the view that is kept then."""
    async with running(a_deck([a_job(1)]), opening=opening) as pilot:
        for key in keys:
            await (burst(pilot, key) if len(key) > 7 else press(pilot, key))
    return ViewFile(state_dir, opening.profile.name).load()[0]


def test_the_view_is_as_it_was_left_unless_in_safe_mode(tmp_path: Path) -> None:
    @in_a_deck
    async def go() -> None:
        opening = Opening(PROD, state_dir=tmp_path)
        state = await left(tmp_path, opening, "s", "S", "slash", "state:running", "enter", "T", "t")
        assert (state.theme, state.ages, state.silent) == ("light", True, False)
        assert (state.sort, state.reverse, state.filter) == ("id", True, "state:running")
        assert state.histories["jobs"] == ("state:running",)
        async with running(a_deck([a_job(1)]), opening=opening) as pilot:
            assert "filter: state:running  1 of 1" in screen_text(pilot)
            assert "by id reversed" in screen_text(pilot)
            assert pilot.app.theme == "light"
            assert program(pilot).deck.relative_times
            await press(pilot, "slash", "ctrl+u", "up")
        async with running(a_deck([a_job(1)]), opening=Opening(PROD, state_dir=tmp_path, safe=True)) as pilot:
            assert "filter:" not in screen_text(pilot)
        assert ViewFile(tmp_path, "prod").load()[0] == state

    go()


def test_the_look_and_the_bell_chosen_last_hold_against_the_config_file(tmp_path: Path) -> None:
    @in_a_deck
    async def go() -> None:
        opening = Opening(PROD, read_config({"theme": "light"}), state_dir=tmp_path)
        async with running(a_deck([a_job(1)]), opening=opening) as pilot:
            program(pilot).choose_theme("dark")
            program(pilot).deck.alerts.silent = True
        async with running(a_deck([a_job(1)]), opening=opening) as pilot:
            assert pilot.app.theme == "dark"
            assert program(pilot).deck.alerts.silent

    go()


def test_a_damaged_view_is_one_warning_and_the_deck_opens(tmp_path: Path) -> None:
    file = ViewFile(tmp_path, "prod")
    file.path.parent.mkdir(parents=True)
    file.path.write_text("{")

    @in_a_deck
    async def go() -> None:
        async with running(a_deck([a_job(1)]), 120, 30, opening=Opening(PROD, state_dir=tmp_path)) as pilot:
            assert "the list begins with defaults" in screen_text(pilot)
            assert "job00001" in screen_text(pilot)

    go()


def test_grace_theme_and_mouse_are_the_config_files_and_an_unknown_theme_names_those_there_are() -> None:
    app = DeckApp(NoServer(), a_deck())
    Opening(config=read_config({"grace_seconds": 7, "theme": "light"})).prepare(app)
    assert (app.deck.acts.grace_seconds, app.theme) == (7, "light")
    Opening(Profile("x", grace_seconds=0), read_config({"theme": "beauty"})).prepare(app)
    assert app.deck.acts.grace_seconds == 0
    notice = app.deck.notice()
    assert notice is not None
    assert "There is no theme beauty: " in notice.words
