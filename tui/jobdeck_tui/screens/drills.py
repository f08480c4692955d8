"""Drills: choose a fault, arm it, type its name, watch what was expected against what is seen."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from jobdeck_tui.client.models import Drill
from jobdeck_tui.core.drill_words import GUARANTEES, Fault, drill_rows, fault_rows, faults
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.dialogs import TypedQuestion
from jobdeck_tui.widgets.text_pane import Row, TextPane

EXPLAINED_FROM_ROWS = 30


class DrillsScreen(DeckScreen):
    """The faults above, the newest drill below; older drills with ``[`` and ``]``."""

    TITLE_WORDS = "Drills"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "arm", "Arm"),
        Binding("enter", "inject", "Inject", key_display="enter"),
        Binding("escape", "leave", "Disarm, else back", show=False),
        Binding("j,down", "choose(1)", "Next fault", show=False),
        Binding("k,up", "choose(-1)", "Fault before", show=False),
        Binding("left_square_bracket", "older(1)", "Older drill", show=False, key_display="["),
        Binding("right_square_bracket", "older(-1)", "Newer drill", show=False, key_display="]"),
        Binding("pagedown", "roll(10)", "Roll the drill down", show=False),
        Binding("pageup", "roll(-10)", "Roll the drill up", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._chosen = 0
        self._back = 0

    def compose_body(self) -> ComposeResult:
        """The faults, then the drill."""
        yield TextPane(id="faults", can_focus=False)
        yield TextPane(id="drill")

    def on_mount(self) -> None:
        """Keys go to the page."""
        self.set_focus(self.query_one("#drill", TextPane))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Inject only what is armed."""
        if action == "inject":
            return self.deck.armed is not None
        if action == "arm":
            return self.deck.armed is None
        return super().check_action(action, parameters)

    def flush_body(self, now: float, *, everything: bool) -> None:  # noqa: ARG002
        """Draws both."""
        deck, pane = self.deck, self.query_one("#faults", TextPane)
        found = self._faults()
        if deck.overview is not None and not deck.overview.drills_allowed:
            rows: list[Row] = [[(" This server does not allow drills.", "warn")]]
        else:
            self._chosen = min(self._chosen, len(found) - 1)
            shown = self._shown()
            explain = shown is None or (
                shown.fault != found[self._chosen].name and self.size.height >= EXPLAINED_FROM_ROWS
            )
            rows = list(fault_rows(found, self._chosen, deck.armed_left(), pane.line_width, explain=explain))
        pane.show(rows)
        self.query_one("#drill", TextPane).show(self._drill())

    def _faults(self) -> list[Fault]:
        return faults(self.deck.overview, self.deck.workers())

    def _shown(self) -> Drill | None:
        drills = list(self.deck.drills.values())
        self._back = max(0, min(self._back, len(drills) - 1))
        return drills[-1 - self._back] if drills else None

    def _drill(self) -> list[Row]:
        drill = self._shown()
        if drill is None:
            none_yet = " No drill has run yet: a arms the chosen fault for 30 s, nothing happens before."
            return [[(none_yet, "faint")]]
        return list(drill_rows(drill, self.size.width))

    def action_choose(self, step: int) -> None:
        """Chooses another fault; what was armed no longer is."""
        self._chosen = max(0, min(self._chosen + step, len(self._faults()) - 1))
        self.deck.disarm()
        self.flush()

    def action_arm(self) -> None:
        """Arms the chosen fault; nothing is sent."""
        if refusal := self.deck.refusal():
            self.program.tell(refusal, severity="error")
        elif self.deck.overview is not None and not self.deck.overview.drills_allowed:
            self.program.tell("This server does not allow drills.", severity="error")
        else:
            self.deck.arm(self._faults()[self._chosen])
        self.flush()

    def action_inject(self) -> None:
        """Asks for the fault's name, then injects it."""
        fault = self.deck.armed
        if fault is None:
            return

        def answered(yes: bool | None) -> None:  # noqa: FBT001 (Textual's callback)
            if yes and self.deck.armed == fault:
                self.program.link.sender.start_drill(fault)
            elif yes:
                self.program.tell("Not injected: the fuse of 30 s had run out. Arm it again.")
            self.deck.disarm()
            self._back = 0

        notes = [f"It would reach: {fault.reach}.", GUARANTEES[fault.name]]
        self.app.push_screen(TypedQuestion(f"Inject: {fault.words}?", fault.name, notes), answered)

    def action_leave(self) -> None:
        """Disarms what is armed, else goes back."""
        if self.deck.armed is not None:
            self.deck.disarm()
            self.flush()
        else:
            super().action_leave()

    def action_older(self, step: int) -> None:
        """Shows an older drill, or a newer one."""
        self._back += step
        self.flush()

    def action_roll(self, rows: int) -> None:
        """Scrolls the drill."""
        self.query_one("#drill", TextPane).scroll_rows(rows)
