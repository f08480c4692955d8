"""Questions that stand in front of an act. Nothing here acts: each answers its caller.

Enter never confirms, escape always keeps, and what would happen is listed before it can be said yes to.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

from jobdeck_tui.core.eligibility import Standing
from jobdeck_tui.screens.reason import REASON_CHARACTERS_MAX, ReasonDialog
from jobdeck_tui.text.format import plural
from jobdeck_tui.widgets.dialog_box import DialogBox
from jobdeck_tui.widgets.text_line import Piece, TextLine

LISTED_MIN, LISTED_MAX = 2, 10
BESIDE_LISTED_ROWS, BESIDE_LISTED_AND_TYPED_ROWS = 18, 24
"""Rows of the screen that the rest of a question may need; one with places to type needs more."""
TYPED_OVER = 20
GRANTS = (("m", 300.0, "5 minutes"), ("h", 3600.0, "1 hour"), ("d", 86_400.0, "1 day"))


def _listed(targets: Sequence[str], rows: int) -> Iterator[Piece]:
    """As many targets as ``rows`` have room for, and how many more there are."""
    room = max(LISTED_MIN, min(LISTED_MAX, rows))
    for target in targets[:room]:
        yield f"  {target}\n", ""
    if (more := len(targets) - room) > 0:
        yield f"  and {more} more\n", "faint"


class Changing(TextLine):
    """What says something else while the dialog is open."""

    RESIZES = True


class Question(ModalScreen[bool]):
    """Lists the targets and what happens to them; only ``y`` says yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", "Yes"),
        Binding("escape,n,q", "keep", "Keep", key_display="esc"),
        Binding("R", "reason", "Say why"),
        Binding("enter", "nothing", show=False),
    ]

    def __init__(
        self,
        verb: str,
        targets: Sequence[str],
        notes: Sequence[str] = (),
        *,
        what: str = "job",
        with_reason: bool = False,
    ) -> None:
        """``what`` the targets are, in the singular; ``with_reason``: the answer may carry one."""
        super().__init__()
        self.reason = ""
        self._with_reason = with_reason
        self._verb = verb
        self._what = what
        self._targets = targets
        self._notes = notes

    def compose(self) -> ComposeResult:
        """The targets, the consequences, the two answers."""
        with DialogBox():
            yield TextLine(id="asked")
            yield Changing(id="answers")

    def on_mount(self) -> None:
        """Writes the question."""
        lines: list[Piece] = [
            (f"{self._verb.capitalize()} {plural(len(self._targets), self._what)}?\n", "strong")
        ]
        lines += _listed(self._targets, self.app.size.height - BESIDE_LISTED_ROWS)
        lines += [(f"{note}\n", "warn") for note in self._notes]
        self.query_one("#asked", TextLine).show(lines)
        self._draw_answers()

    def _draw_answers(self) -> None:
        answers: list[Piece] = [
            (" esc ", "reverse"),
            (" keep them as they are    ", "strong"),
            ("y", "strong"),
            (f" {self._verb}", ""),
        ]
        if self._with_reason:
            answers += [("    R", "strong"), (" say why", "")]
        if self.reason:
            answers.insert(0, (f" because: {self.reason}\n", "notice"))
        self.query_one("#answers", TextLine).show(answers)

    def action_reason(self) -> None:
        """Asks why; the answer is still to be given."""

        def said(reason: str | None) -> None:
            self.reason = self.reason if reason is None else reason
            self._draw_answers()

        if self._with_reason:
            self.app.push_screen(ReasonDialog(self._verb, "goes back to the question"), said)

    def action_yes(self) -> None:
        """Says yes."""
        self.dismiss(True)  # noqa: FBT003

    def action_keep(self) -> None:
        """Leaves all as it is."""
        self.dismiss(False)  # noqa: FBT003

    def action_nothing(self) -> None:
        """Enter is the key a sleepy hand presses: it does nothing here."""


class TypedQuestion(ModalScreen[bool]):
    """Asks for a word before something that reaches far: a count of jobs, the name of a fault."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "keep", "Keep", key_display="esc")]

    def __init__(
        self,
        asked: str,
        expected: str,
        notes: Sequence[str] = (),
        *,
        current: Callable[[], Sequence[str]] = tuple,
        targets: Sequence[str] = (),
        with_reason: bool = False,
    ) -> None:
        """``current``: what is true just now, before ``notes``, again every second.

        ``with_reason``: there is a second place, for why; tab goes there.
        """
        super().__init__()
        self._current = current
        self.reason = ""
        self._with_reason = with_reason
        self._asked = asked
        self._expected = expected
        self._targets = targets
        self._notes = notes

    def compose(self) -> ComposeResult:
        """The question and a place to type."""
        with DialogBox():
            yield Changing(id="asked")
            yield Input(id="typed", placeholder="type it here", select_on_focus=False)
            if self._with_reason:
                yield Input(
                    id="reason", placeholder="why (optional, tab goes here)", max_length=REASON_CHARACTERS_MAX
                )
            yield Changing(id="answers")

    def on_mount(self) -> None:
        """Writes the question, and from then on what is true of it."""
        self._draw()
        self.set_interval(1.0, self._draw)
        self.set_focus(self.query_one("#typed", Input))

    def _draw(self) -> None:
        lines: list[Piece] = [(f"{self._asked}\n", "strong")]
        room = self.app.size.height - BESIDE_LISTED_AND_TYPED_ROWS
        lines += _listed(self._targets, room) if self._targets else [("\n", "")]
        lines += [(f"{note}\n", "") for note in (*self._current(), *self._notes)]
        lines += [
            ("\nType ", ""),
            (self._expected, "strong"),
            (" and press Enter; esc keeps all as it is.", ""),
        ]
        self.query_one("#asked", TextLine).show(lines)

    @on(Input.Submitted)
    def _typed(self) -> None:
        if self._with_reason:
            self.reason = self.query_one("#reason", Input).value.strip()
        if self.query_one("#typed", Input).value.strip() == self._expected:
            self.dismiss(True)  # noqa: FBT003
        else:
            self.query_one("#answers", TextLine).show(
                [(f"That is not {self._expected}. Nothing was done.", "warn")]
            )
            self.query_one(DialogBox).show_end()

    def action_keep(self) -> None:
        """Leaves all as it is."""
        self.dismiss(False)  # noqa: FBT003


class GrantOffer(ModalScreen[float | None]):
    """Offers a later window, in seconds: to a job that would miss its deadline, or for a resume after it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"grant({seconds})", words) for key, seconds, words in GRANTS),
        Binding("escape,q", "keep", "Keep", key_display="esc"),
    ]

    def __init__(self, asked: str, stands: Callable[[], Standing], then: str = "") -> None:
        """``stands`` says how it is with the deadline, again every second; ``then`` what follows the grant."""
        super().__init__()
        self._asked = asked
        self._stands = stands
        self._then = then

    def compose(self) -> ComposeResult:
        """How it stands, and the choices."""
        with DialogBox():
            yield Changing(id="asked")

    def on_mount(self) -> None:
        """Writes the offer, and from then on what becomes of the job."""
        self._draw()
        self.set_interval(1.0, self._draw)

    def _draw(self) -> None:
        stands = self._stands()
        lines: list[Piece] = [
            (f"{self._asked}\n", "strong"),
            (f"{stands.words}\n", "" if stands.grantable else "warn"),
        ]
        if stands.grantable:
            lines.append(("The old deadline stays on record.\n\n", ""))
            for key, _, words in GRANTS:
                lines += [(f"  {key}", "strong"), (f"  grant {words}{self._then}\n", "")]
        lines += [(" esc ", "reverse"), (" keep it as it is", "strong")]
        self.query_one("#asked", TextLine).show(lines)

    def action_grant(self, seconds: float) -> None:
        """Chooses a window; of no use any more, it says so and chooses nothing."""
        if self._stands().grantable:
            self.dismiss(seconds)
        else:
            self._draw()

    def action_keep(self) -> None:
        """Leaves all as it is."""
        self.dismiss(None)
