"""How the deck is opened: on which server, and with whose keys, views and manners."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jobdeck_tui.core.config import Config, Profile
from jobdeck_tui.core.row_filter import FilterHistory
from jobdeck_tui.core.view_state import ViewState
from jobdeck_tui.key_registry import checked_keys
from jobdeck_tui.styles.themes import unknown_theme
from jobdeck_tui.view_file import ViewFile

if TYPE_CHECKING:
    from jobdeck_tui.app import DeckApp

PROBLEM_SECONDS = 30.0
SHOWN_PROBLEMS_MAX = 3


@dataclass(frozen=True, slots=True)
class Opening:
    """``view`` names a saved one; ``safe`` leaves what was kept of earlier sessions aside, and keeps nothing."""

    profile: Profile = field(default_factory=lambda: Profile("local"))
    config: Config = field(default_factory=Config)
    view: str = ""
    read_only: bool = False
    safe: bool = False
    state_dir: Path | None = None
    dask_dashboard: str = ""

    def prepare(self, app: "DeckApp") -> None:
        """Gives the program its server's manners, its keys, and the view it had or is to have."""
        deck, config, profile = app.deck, self.config, self.profile
        problems = list(config.problems)
        deck.badge = deck.badge or profile.environment
        deck.guarded = profile.guarded
        deck.read_only = self.read_only or config.read_only or profile.read_only
        grace = profile.grace_seconds
        deck.acts.grace_seconds = config.grace_seconds if grace is None else grace
        deck.views = config.views
        app.profiles, app.profile_name = config.profiles, profile.name
        checked = checked_keys(config)
        app.set_keymap(dict(checked.keys))
        problems += checked.problems
        if self.state_dir is not None and not self.safe:
            app.view_file = ViewFile(self.state_dir, profile.name)
            state, trouble = app.view_file.load()
            problems += [trouble] if trouble else []
            restore(app, state)
        problems += self._choose(app)
        if problems:
            deck.say("  ".join(_shortened(problems)), "warn", PROBLEM_SECONDS)

    def _choose(self, app: "DeckApp") -> Iterator[str]:
        """Theme and view, as far as there are such; gives what is wrong with them."""
        theme = app.deck.theme or self.config.theme
        if theme and (unknown := unknown_theme(theme)):
            yield unknown
        elif theme:
            app.theme = theme
        if self.view in self.config.views:
            app.deck.job_list.show_view(self.config.views[self.view])
        elif self.view:
            yield f"There is no view {self.view}: {', '.join(self.config.views) or 'none is saved'}."


def _shortened(problems: list[str]) -> list[str]:
    more = len(problems) - SHOWN_PROBLEMS_MAX
    said = problems[:SHOWN_PROBLEMS_MAX]
    return [*said, f"{more} more: 'jobdeck config' tells them."] if more > 0 else said


def restore(app: "DeckApp", state: ViewState) -> None:
    """Gives the list the view it had, every filter line its history, and the deck its manners."""
    deck = app.deck
    deck.job_list.show_state(state)
    deck.theme, deck.relative_times, deck.alerts.silent = state.theme, state.ages, state.silent
    for place, sources in state.histories.items():
        deck.histories[place] = FilterHistory(sources)


def view_of(app: "DeckApp") -> ViewState:
    """The view as it is to be kept."""
    deck, shown = app.deck, app.deck.job_list
    return ViewState(
        sort=shown.sort_column,
        reverse=shown.reverse,
        columns=shown.columns,
        filter=shown.filter_source,
        theme=deck.theme,
        ages=deck.relative_times,
        silent=deck.alerts.silent,
        histories={
            place: tuple(history.sources) for place, history in deck.histories.items() if history.sources
        },
    )
