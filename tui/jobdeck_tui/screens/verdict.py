"""The question what became of an effect nobody knows about. It acts not: it answers its caller."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

from jobdeck_tui.client.models import Effect
from jobdeck_tui.text.format import clock
from jobdeck_tui.widgets.dialog_box import DialogBox
from jobdeck_tui.widgets.text_line import Piece, TextLine

Verdict = tuple[str, str | None]
"""``happened``, ``not_happened`` or ``retry``, and the proof."""

REQUEST_SHOWN = 300
CHOICES = (
    ("h", "happened", "it happened: asks for a proof; it is never called again"),
    ("n", "not_happened", "it did not happen: the next attempt calls it"),
    ("t", "retry", "try again whatever happened: it may then be done twice"),
)


class VerdictDialog(ModalScreen[Verdict | None]):
    """Shows the effect; ``h`` asks for the proof, ``n`` and ``t`` answer at once; Enter alone does nothing."""

    AUTO_FOCUS = ""  # the place for the proof takes no key before it is asked for
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "prove", "It happened"),
        Binding("n", "judge('not_happened')", "It did not happen"),
        Binding("t", "judge('retry')", "Try again"),
        Binding("escape", "keep", "Keep", key_display="esc"),
    ]

    def __init__(self, effect: Effect) -> None:
        super().__init__()
        self._effect = effect

    def compose(self) -> ComposeResult:
        """The effect, the choices, and a place for the proof."""
        with DialogBox():
            yield TextLine(id="asked")
            yield Input(
                id="proof", placeholder="such as the provider's own number", max_length=2000, disabled=True
            )
            yield TextLine(id="answers")

    def on_mount(self) -> None:
        """Writes the question."""
        effect = self._effect
        lines: list[Piece] = [
            (f"Did effect {effect.name} of stage {effect.node} happen?\n", "strong"),
            (f"Attempt {effect.attempt} was about to call it at {clock(effect.intent_at)}", ""),
            ("; what came of it is lost.\n", ""),
            (f"request {effect.request[:REQUEST_SHOWN]}\n", ""),
            (f"key {effect.key}\n\n", "faint"),
        ]
        for key, _, words in CHOICES:
            lines += [(f"  {key}", "strong"), (f"  {words}\n", "")]
        lines += [(" esc ", "reverse"), (" say nothing", "strong")]
        self.query_one("#asked", TextLine).show(lines)
        self.query_one(Input).display = False

    def action_prove(self) -> None:
        """Asks for the proof."""
        proof = self.query_one(Input)
        proof.display, proof.disabled = True, False
        self.set_focus(proof)
        self.query_one("#answers", TextLine).show([("Type the proof and press Enter; esc says nothing.", "")])

    @on(Input.Submitted)
    def _proven(self, event: Input.Submitted) -> None:
        if proof := event.value.strip():
            self.dismiss(("happened", proof))
        else:
            self.query_one("#answers", TextLine).show([("Without a proof nothing is said.", "warn")])

    def action_judge(self, verdict: str) -> None:
        """Answers."""
        self.dismiss((verdict, None))

    def action_keep(self) -> None:
        """Says nothing."""
        self.dismiss(None)
