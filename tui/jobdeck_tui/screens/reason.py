"""The question why: what is typed is recorded with the act. It acts not: it answers its caller."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

from jobdeck_tui.widgets.dialog_box import DialogBox
from jobdeck_tui.widgets.text_line import TextLine

REASON_CHARACTERS_MAX = 500


class ReasonDialog(ModalScreen[str | None]):
    """Enter answers with what was typed (empty: no reason); esc answers nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", key_display="esc")]

    def __init__(self, what: str, after: str) -> None:
        """``what`` is to be explained; ``after`` says what Enter does."""
        super().__init__()
        self._what = what
        self._after = after

    def compose(self) -> ComposeResult:
        """The question and a place to type."""
        with DialogBox():
            yield TextLine(id="asked")
            yield Input(id="reason", max_length=REASON_CHARACTERS_MAX, select_on_focus=False)
            yield TextLine(id="answers")

    def on_mount(self) -> None:
        """Writes the question."""
        self.query_one("#asked", TextLine).show([(f"Why {self._what}?\n", "strong")])
        self.query_one("#answers", TextLine).show([(f"Enter {self._after}; esc leaves it unsaid.", "faint")])
        self.set_focus(self.query_one(Input))

    @on(Input.Submitted)
    def _said(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        """Says nothing."""
        self.dismiss(None)
