"""The filter: typed in its own line, shown there for as long as it holds, and what is wrong with it."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from jobdeck_tui.text.sanitise import one_line
from jobdeck_tui.widgets.text_line import Piece, TextLine

HISTORY_MAX = 50
SOURCE_MAX = 500
HINT = 'state:failed queue:research left<60s try>1 !agent:demo "free text"   tab completes, esc leaves'


class FilterInput(Input):
    """One line to type in, with completion and history."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False),
        Binding("tab", "complete", "Complete", show=False),
        Binding("up", "recall(-1)", "Earlier", show=False),
        Binding("down", "recall(1)", "Later", show=False),
    ]

    class Left(Message):
        """Escape: the filter stays as it was."""

    def __init__(self, complete: Callable[[str], list[str]]) -> None:
        super().__init__(compact=True, max_length=SOURCE_MAX, id="typed")
        self.cursor_blink = False
        self._complete = complete
        self._history: list[str] = []
        self._at = 0

    def remember(self, source: str) -> None:
        """Keeps a filter that was used."""
        if source and (not self._history or self._history[-1] != source):
            self._history = [*self._history, source][-HISTORY_MAX:]
        self._at = len(self._history)

    def action_leave(self) -> None:
        """Leaves without change."""
        self.post_message(self.Left())

    def action_complete(self) -> None:
        """Completes the last word as far as the candidates agree."""
        candidates = self._complete(self.value)
        if not candidates:
            return
        common = _common_start(candidates)
        head, space, last = self.value.rpartition(" ")
        colon = last.rfind(":") if ":" not in common else -1
        comma = last.rfind(",")
        keep = (
            last[: max(colon, comma) + 1] if max(colon, comma) >= 0 else ("!" if last.startswith("!") else "")
        )
        self.value = head + space + keep + common
        self.cursor_position = len(self.value)

    def action_recall(self, step: int) -> None:
        """Shows an earlier filter, or a later one."""
        self._at = max(0, min(self._at + step, len(self._history)))
        self.value = self._history[self._at] if self._at < len(self._history) else ""
        self.cursor_position = len(self.value)


class FilterLine(Vertical):
    """Hidden while there is nothing to say; otherwise what is filtered and how much of it is shown."""

    class Changed(Message):
        """The operator typed a filter; ``final`` when it was entered."""

        def __init__(self, source: str, *, final: bool) -> None:
            super().__init__()
            self.source = source
            self.final = final

    class Left(Message):
        """The operator left the line; what held before still holds."""

    def __init__(
        self,
        complete: Callable[[str], list[str]],
        *,
        hint: str = HINT,
        id: str | None = None,  # noqa: A002 (Textual's own name)
    ) -> None:
        super().__init__(id=id)
        self._hint = hint
        self._complete = complete
        self._open = False
        self._error = ""
        self._advice = ""

    def compose(self) -> ComposeResult:
        """What holds, and the place to type."""
        yield TextLine(id="holds")
        yield FilterInput(self._complete)

    def on_mount(self) -> None:
        """Hidden until opened."""
        self.display = False
        self.query_one(FilterInput).display = False

    def open(self, source: str) -> None:
        """Lets the operator type, beginning with what holds."""
        self._open, self._error, self._advice = True, "", ""
        self.display = True
        typed = self.query_one(FilterInput)
        typed.display = True
        typed.value = source
        typed.focus()

    def close(self) -> None:
        """Ends typing."""
        self._open, self._error, self._advice = False, "", ""
        self.query_one(FilterInput).display = False

    def advise(self, advice: str, error: str) -> None:
        """Says what the typed filter would do, or what is wrong with it."""
        self._advice, self._error = advice, error

    def refresh_line(self, source: str, matching: int, total: int, also: Iterable[Piece] = ()) -> None:
        """Draws what holds."""
        pieces: list[Piece] = list(also)
        if source:
            pieces += [
                (f" filter: {source}", "strong"),
                (f"  {matching} of {total}", ""),
                ("  esc clears", "faint"),
            ]
        if self._error:
            pieces = [(f" {self._error}", "bad")]
        elif self._open:
            pieces = [(f" {self._advice or self._hint}", "faint")]
        self.query_one("#holds", TextLine).show(pieces)
        self.display = self._open or bool(pieces)

    @on(Input.Changed)
    def _typing(self, event: Input.Changed) -> None:
        event.stop()
        if self._open:
            self.post_message(self.Changed(one_line(event.value, SOURCE_MAX), final=False))

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        source = one_line(event.value, SOURCE_MAX)
        self.query_one(FilterInput).remember(source)
        self.post_message(self.Changed(source, final=True))

    @on(FilterInput.Left)
    def _leave(self, event: FilterInput.Left) -> None:
        event.stop()
        self.close()
        self.post_message(self.Left())


def _common_start(words: list[str]) -> str:
    shortest = min(words, key=len)
    for count, character in enumerate(shortest):
        if any(word[count] != character for word in words):
            return shortest[:count]
    return shortest
