"""Drills: choose a fault, arm it, type its name, watch what was expected against what is seen.

Healing is one key that asks nothing, and so is writing the drill to a file.
"""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from jobdeck_tui.client.drills import Drill
from jobdeck_tui.core.drill_words import GUARANTEES, Fault, drill_rows, exported, fault_rows, faults
from jobdeck_tui.exports import write_json
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.dialogs import TypedQuestion
from jobdeck_tui.widgets.text_pane import Row, TextPane

EXPLAINED_FROM_ROWS = 34
REFUSED = (
    "This server does not allow drills: it was started without them, or its Dask cluster is others'. What ran"
    " before is shown below."
)


class DrillsScreen(DeckScreen):
    """The faults above, the newest drill below; older drills with ``[`` and ``]``."""

    TITLE_WORDS = "Drills"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "arm", "Arm"),
        Binding("enter", "inject", "Inject", key_display="enter"),
        Binding("H", "heal", "Heal now"),
        Binding("w", "worker", "Another worker"),
        Binding("o", "export", "Export"),
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
        self._worker = 0
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
            return self.deck.fuse.fault is not None
        if action == "arm":
            return self.deck.fuse.fault is None
        if action == "heal":
            return self._open_drill() is not None
        if action == "export":
            return bool(self.deck.drills)
        if action == "worker":
            return len(self.deck.workers()) > 1 and self._faults()[self._chosen].target is not None
        return super().check_action(action, parameters)

    def flush_body(self, now: float, *, everything: bool) -> None:  # noqa: ARG002
        """Draws both."""
        deck, pane = self.deck, self.query_one("#faults", TextPane)
        found = self._faults()
        objection = self._objection()
        rows: list[Row] = [[(f" {objection}", "warn")]] if objection else []
        if objection != REFUSED:
            self._chosen = min(self._chosen, len(found) - 1)
            shown = self._shown()
            explain = shown is None or (
                shown.fault != found[self._chosen].name and self.size.height >= EXPLAINED_FROM_ROWS
            )
            rows += fault_rows(found, self._chosen, deck.fuse.left(), pane.line_width, explain=explain)
        pane.set_class(not deck.drills, "-alone")
        pane.show(rows)
        self.query_one("#drill", TextPane).show(self._drill())

    def hides(self, binding: Binding) -> bool:
        """Nothing is armed where no drill is let."""
        return (binding.action == "arm" and bool(self._objection())) or super().hides(binding)

    def _objection(self) -> str:
        """Why nothing can be armed on this server; empty where it can."""
        if self.deck.guarded:
            return f"Nothing is armed on {self.deck.badge}: drills are for other servers."
        return "" if self.deck.overview is None or self.deck.overview.drills_allowed else REFUSED

    def _faults(self) -> list[Fault]:
        return faults(self.deck.overview, self.deck.workers(), self._worker)

    def _open_drill(self) -> Drill | None:
        """The drill that goes on, wherever one has paged to."""
        return next((one for one in reversed(self.deck.drills.values()) if one.running), None)

    def _shown(self) -> Drill | None:
        drills = list(self.deck.drills.values())
        self._back = max(0, min(self._back, len(drills) - 1))
        return drills[-1 - self._back] if drills else None

    def _drill(self) -> list[Row]:
        drill = self._shown()
        if drill is None:
            arms = f"{self.deck.key('arm')} arms the chosen fault for 30 s, nothing happens before"
            none_yet = (
                f" No drill has run yet: {arms}." if not self._objection() else " No drill has run yet."
            )
            return [[(none_yet, "faint")]]
        count = len(self.deck.drills)
        place = f", {count - self._back} of {count}: [ older, ] newer" if count > 1 else ""
        return list(drill_rows(drill, self.size.width, place))

    def action_choose(self, step: int) -> None:
        """Chooses another fault; what was armed no longer is."""
        self._chosen = max(0, min(self._chosen + step, len(self._faults()) - 1))
        self.deck.fuse.disarm()
        self.flush()

    def action_arm(self) -> None:
        """Arms the chosen fault; nothing is sent."""
        if refusal := self.deck.refusal():
            self.program.tell(refusal, severity="error")
        elif objection := self._objection():
            self.program.tell(objection, severity="error")
        else:
            self.deck.fuse.arm(self._faults()[self._chosen])
        self.flush()

    def action_inject(self) -> None:
        """Asks for the fault's name, then injects it."""
        fault = self.deck.fuse.fault
        if fault is None:
            return

        def answered(yes: bool | None) -> None:  # noqa: FBT001 (Textual's callback)
            if yes and self.deck.fuse.fault == fault:
                self.program.link.errands.start_drill(fault)
            elif yes:
                self.program.tell("Not injected: the fuse of 30 s had run out. Arm it again.")
            self.deck.fuse.disarm()
            self._back = 0

        def current() -> list[str]:
            now = next((one for one in self._faults() if one[:2] == fault[:2]), fault)
            return [f"It would reach: {now.reach}.", *([now.warning] if now.warning else [])]

        question = TypedQuestion(
            f"Inject: {fault.words}?", fault.name, [GUARANTEES[fault.name]], current=current
        )
        self.app.push_screen(question, answered)

    def action_worker(self) -> None:
        """Means another worker; what was armed no longer is."""
        self._worker += 1
        self.deck.fuse.disarm()
        self.flush()

    def action_heal(self) -> None:
        """Ends what hangs at once; asks nothing."""
        if (drill := self._open_drill()) is not None:
            self.program.link.errands.heal_drill(drill)

    def action_export(self) -> None:
        """Writes the drill in view to a file."""
        drill = self._shown()
        if drill is None:
            return
        try:
            path = write_json(f"drill-{drill.id}", exported(drill))
        except OSError as error:
            self.program.tell(f"Not exported: {error.strerror or error}.", severity="error")
        else:
            self.program.tell(f"drill {drill.id} written to {path}")

    def action_leave(self) -> None:
        """Disarms what is armed, else goes back."""
        if self.deck.fuse.fault is not None:
            self.deck.fuse.disarm()
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
