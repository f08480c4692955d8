"""The acts of this session and what came of each."""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from jobdeck_tui.core.acts import Tracked
from jobdeck_tui.core.errands import Errand
from jobdeck_tui.text.format import clock
from jobdeck_tui.widgets.acts_line import LOOKS
from jobdeck_tui.widgets.text_pane import Row, TextPane

if TYPE_CHECKING:
    from jobdeck_tui.deck import Deck


class MyActsScreen(ModalScreen[None]):
    """Newest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,L", "close", "Back", key_display="esc"),
        Binding("j,down", "roll(1)", "Down", show=False),
        Binding("k,up", "roll(-1)", "Up", show=False),
    ]

    def __init__(self, deck: "Deck") -> None:
        super().__init__()
        self._deck = deck

    def compose(self) -> ComposeResult:
        """One page."""
        with Vertical(classes="sheet"):
            yield TextPane(id="my-acts")

    def on_mount(self) -> None:
        """Writes the page."""
        rows: list[Row] = [[(" My acts in this session", "strong"), ("      esc back", "faint")]]
        now = self._deck.now()
        acts: list[Tracked | Errand] = [*self._deck.acts.history(), *self._deck.errands.history()]
        for act in sorted(acts, key=lambda act: act.requested_at, reverse=True):
            line = act.line(now, self._deck.key)
            rows.append([(f" {clock(act.requested_at)}  ", "faint"), (line, LOOKS[act.phase])])
        if not acts:
            rows.append([(" None yet.", "faint")])
        self.query_one(TextPane).show(rows)

    def action_roll(self, rows: int) -> None:
        """Scrolls the page."""
        self.query_one(TextPane).scroll_rows(rows)

    def action_close(self) -> None:
        """Back to the screen below."""
        self.dismiss()
