"""Recovery: who owns it, what the plan would do with each job and why; ``a`` carries it out."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from jobdeck_tui.core.recovery_words import plan_targets, recovery_rows
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.dialogs import TYPED_OVER, Question, TypedQuestion
from jobdeck_tui.widgets.text_pane import TextPane

READ_EVERY_SECONDS = 1.0
PLAN_NOTES = [
    "Each action is checked again when it is done; a job that changed meanwhile is skipped.",
    "Finished stages are kept: nothing of them runs again.",
]


class RecoveryScreen(DeckScreen):
    """One page: the owner, the plan."""

    TITLE_WORDS = "Recovery"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "apply", "Apply the plan"),
        Binding("j,down", "roll(1)", "Down", show=False),
        Binding("k,up", "roll(-1)", "Up", show=False),
        Binding("pagedown", "roll(10)", "Ten lines down", show=False),
        Binding("pageup", "roll(-10)", "Ten lines up", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._read_at = float("-inf")

    def compose_body(self) -> ComposeResult:
        """The page."""
        yield TextPane(id="recovery")

    def on_mount(self) -> None:
        """Keys go to the page."""
        self.set_focus(self.query_one(TextPane))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Apply only a plan that does something."""
        if action == "apply":
            plan = self.deck.plan
            return plan is not None and bool(plan.due)
        return super().check_action(action, parameters)

    def flush_body(self, now: float, *, everything: bool) -> None:
        """Draws the page; reads the plan again every second."""
        deck = self.deck
        if everything or now - self._read_at > READ_EVERY_SECONDS:
            self._read_at = now
            self.program.link.recovery.read(self)
        recovery = deck.overview.recovery if deck.overview is not None else None
        rows = recovery_rows(recovery, deck.plan, deck.plan_trouble, now, self.size.width)
        self.query_one(TextPane).show(rows)

    def action_apply(self) -> None:
        """Lists what would be done, and does exactly that once it is confirmed."""
        if refusal := self.deck.refusal():
            self.program.tell(refusal, severity="error")
            return
        due = self.deck.plan.due if self.deck.plan is not None else ()
        if not due:
            return
        job_ids = [one.job_id for one in due]

        def answered(yes: bool | None) -> None:  # noqa: FBT001 (Textual's callback)
            if yes:
                self.program.link.errands.apply_plan(job_ids)

        if len(due) > TYPED_OVER:
            asked, expected = f"Recover {len(due)} jobs by the plan?", str(len(due))
            question: Question | TypedQuestion = TypedQuestion(asked, expected, PLAN_NOTES)
        else:
            question = Question("recover", plan_targets(due), PLAN_NOTES)
        self.app.push_screen(question, answered)

    def action_roll(self, rows: int) -> None:
        """Scrolls the page."""
        self.query_one(TextPane).scroll_rows(rows)
