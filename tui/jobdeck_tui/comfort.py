"""What makes the deck comfortable: alerts acknowledged, copies, exports, themes, the mouse, times, the palette."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

from textual.binding import Binding, BindingType

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.records import Records
from jobdeck_tui.key_registry import first_keys
from jobdeck_tui.keys import GatedApp
from jobdeck_tui.styles.themes import NAMES, THEMES
from jobdeck_tui.text.format import plural
from jobdeck_tui.text.sanitise import one_line
from jobdeck_tui.widgets.event_log import EventLog

if TYPE_CHECKING:
    from jobdeck_tui.deck import Deck

SAID_SECONDS = 12.0
COMFORT_BINDINGS: list[BindingType] = [
    Binding("exclamation_mark", "alerts", "Show the jobs that alert", show=False, key_display="!"),
    Binding("z", "acknowledge", "Alerts seen: silence them", show=False),
    Binding("colon,ctrl+p", "command_palette", "Palette: jobs, acts, themes", show=False, key_display=":"),
    Binding("o", "screen.export", "Export what is shown to a file", show=False),
    Binding("w", "screen.wrap", "Wrap long lines, or not", show=False),
    Binding("h,left", "screen.shift(-1)", "Text to the right", show=False),
    Binding("l,right", "screen.shift(1)", "Text to the left", show=False),
    Binding("t", "times", "Times as ages, or as times of day", show=False),
    Binding("m", "mouse", "Mouse off (the terminal selects text), or on", show=False),
    Binding("T", "next_theme", "Next theme", show=False),
]


class Comfort(GatedApp, inherit_bindings=False):
    """The actions behind ``COMFORT_BINDINGS``, and what screens ask the program to copy or write."""

    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING: ClassVar[str] = "ctrl+p"
    deck: "Deck"
    tell: Callable[..., None]
    show_jobs: Callable[[], None]
    state_directory: Path | None = None
    """Where copies are kept; None keeps none."""
    _mouse_on = True

    def set_keymap(self, keymap: Mapping[str, str]) -> None:
        """Gives keys to what they are named for; every sentence that names a key says the one that holds."""
        super().set_keymap(keymap)
        self.deck.key_names = cache(partial(self._key_names, keymap))

    def _key_names(self, keymap: Mapping[str, str]) -> Mapping[str, str]:
        return {
            name: self.get_key_display(Binding(keymap.get(name, key).partition(",")[0], name))
            for name, key in first_keys().items()
        }

    def use_themes(self) -> None:
        """Makes the deck's themes known, and no others."""
        for name in list(self.available_themes):
            self.unregister_theme(name)
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = NAMES[0]

    # Alerts

    def ring(self) -> None:
        """Rings where something new is wrong, never often."""
        if self.deck.alerts.rings(self.deck.now()):
            self.bell()

    def action_acknowledge(self) -> None:
        """The alerts were seen."""
        seen = self.deck.alerts.acknowledge()
        self.tell(f"{plural(seen, 'alert')} seen." if seen else "Nothing new to acknowledge.")

    def action_alerts(self) -> None:
        """Goes to the list with only the jobs that alert: then they were seen."""
        job_ids = self.deck.alerts.job_ids
        if not job_ids:
            self.tell("No alerts since you last looked.")
            return
        self.deck.job_list.show_only(job_ids)
        self.deck.alerts.acknowledge()
        self.show_jobs()

    # Copies and files

    def copy_words(self, words: str, what: str) -> None:
        """Copies a text, and says what became of it."""
        from jobdeck_tui.clipboard import copy

        # Then the environment says nothing of the operator's terminal.
        apart = self.is_headless or self.is_web
        said = copy(words, self.state_directory, self.copy_to_clipboard, {} if apart else os.environ)
        severity = "information" if said.arrived else "warning"
        self.tell(f"{what}: {said.words}", severity=severity, seconds=SAID_SECONDS)

    def copy_job(self, job: Job) -> None:
        """Copies a job's row as JSON."""
        self.copy_words(json.dumps(asdict(job), ensure_ascii=False, indent=1), f"row of {job.job_id} as JSON")

    def copy_curl(self, job_id: str) -> None:
        """Copies the command that reads a job's record."""
        if not self.deck.server_url:
            self.tell("No server was reached yet.")
            return
        from shlex import quote as shell_quote

        url = f"{self.deck.server_url}/v1/ops/jobs/{quote(job_id, safe='')}"
        self.copy_words(f"curl -sS {shell_quote(url)}", f"curl for {job_id}")

    def export(self, records: Records) -> None:
        """Asks for a kind of file, writes it, and says where."""
        from jobdeck_tui.exports import write_records
        from jobdeck_tui.screens.export import ExportDialog

        if not records.rows:
            self.tell("Nothing is shown that could be exported.")
            return

        def chosen(kind: str | None) -> None:
            if kind is None:
                return
            try:
                path = write_records(records, kind)
            except OSError as error:
                self.tell(
                    f"Not exported: {Path.cwd()} cannot be written ({error.strerror or error}).",
                    severity="error",
                    seconds=SAID_SECONDS,
                )
            else:
                count = plural(len(records.rows), "row")
                self.tell(f"{count} in {one_line(str(path))}, for your eyes only.", seconds=SAID_SECONDS)

        self.push_screen(ExportDialog(records, one_line(str(Path.cwd()))), chosen)

    # Looks

    def action_next_theme(self) -> None:
        """Goes on to the next theme."""
        self.choose_theme(NAMES[(NAMES.index(self.theme) + 1) % len(NAMES)])

    def choose_theme(self, name: str) -> None:
        """Draws in another theme from now on."""
        self.theme = self.deck.theme = name
        colourless = " NO_COLOR is set: no colour is sent, whatever the theme." if self.no_color else ""
        self.tell(f"Theme {name}.{colourless}")

    def action_times(self) -> None:
        """Shows logs' times as ages, or as times of day (UTC)."""
        self.deck.relative_times = not self.deck.relative_times
        self.screen.query(EventLog).refresh()
        self.tell("Times as ages." if self.deck.relative_times else "Times of day, UTC.")

    def action_mouse(self) -> None:
        """Lets the mouse go, so that the terminal itself selects text; takes it again."""
        driver = self._driver
        switch = "_disable_mouse_support" if self._mouse_on else "_enable_mouse_support"
        if driver is None or not hasattr(driver, switch):
            self.tell("The mouse cannot be switched here.")
            return
        getattr(driver, switch)()
        self._mouse_on = not self._mouse_on
        back = self.deck.key("mouse")
        off = f"Mouse off: the terminal selects text; {back} takes it back."
        self.tell("Mouse on." if self._mouse_on else off)
