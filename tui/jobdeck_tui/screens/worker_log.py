"""The end of one worker's log, read when it is opened and again with ``f``."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from jobdeck_tui.client.workers import WorkerLog
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.widgets.text_line import TextLine
from jobdeck_tui.widgets.text_pane import TextPane

ROLL_BINDINGS: list[BindingType] = [
    Binding("j,down", "roll(1)", "Down", show=False),
    Binding("k,up", "roll(-1)", "Up", show=False),
    Binding("pagedown,space", "roll(15)", "Page down", show=False),
    Binding("pageup", "roll(-15)", "Page up", show=False),
    Binding("g,home", "roll(-1000000)", "To the beginning", show=False),
    Binding("G,end", "roll(1000000)", "To the end", show=False),
]


class WorkerLogScreen(DeckScreen):
    """Plain lines, the newest last."""

    TITLE_WORDS = "Log"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "leave", "Back", key_display="esc"),
        Binding("f", "read", "Read again"),
        *ROLL_BINDINGS,
    ]

    def __init__(self, worker: str) -> None:
        super().__init__()
        self._worker = worker
        self._words = "reading …"

    def compose_body(self) -> ComposeResult:
        """Whose log, and its lines."""
        yield TextLine(id="whose")
        yield TextPane(id="log")

    def on_mount(self) -> None:
        """Reads it."""
        self.set_focus(self.query_one(TextPane))
        self.action_read()

    def flush_body(self, now: float, *, everything: bool) -> None:  # noqa: ARG002
        """The lines are drawn when they come."""
        self.query_one("#whose", TextLine).show(
            [(f" {self._worker}", "strong"), (f"  {self._words}", "faint")]
        )

    def action_read(self) -> None:
        """Reads the log again."""
        self.program.link.operations.read_log(self, self._worker, self._take)

    def _take(self, log: WorkerLog | str) -> None:
        if isinstance(log, str):
            self._words = log
            return
        self._words = f"the last {len(log.lines)} lines; older ones are in the log file" if log.more else ""
        pane = self.query_one(TextPane)
        pane.show_text("\n".join(log.lines) or "(empty)")
        pane.scroll_rows(1_000_000)

    def action_roll(self, rows: int) -> None:
        """Scrolls the log."""
        self.query_one(TextPane).scroll_rows(rows)

    def action_leave(self) -> None:
        """Back to where it was opened."""
        self.program.pop_screen()
