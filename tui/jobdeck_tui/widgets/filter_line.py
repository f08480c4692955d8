"""The filter: typed in its own line, shown there for as long as it holds, and what is wrong with it.

Opening, entering and leaving take effect at once, by calls and not by messages: the next key may already wait.
"""

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input
from textual.widgets.input import Selection

from jobdeck_tui.core.row_filter import FilterHistory
from jobdeck_tui.text.sanitise import one_line
from jobdeck_tui.widgets.text_line import Piece, TextLine

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

    def __init__(
        self,
        complete: Callable[[str], list[str]],
        enter: Callable[[str], None],
        leave: Callable[[], None],
        offer: Callable[[list[str]], None],
        history: FilterHistory,
    ) -> None:
        super().__init__(compact=True, max_length=SOURCE_MAX, select_on_focus=False, id="typed")
        self.cursor_blink = False
        self._complete = complete
        self._enter = enter
        self._leave = leave
        self._offer = offer
        self._history = history
        self._at = 0

    def begin(self, source: str) -> None:
        """Begins with what holds, all of it chosen: the first character replaces it."""
        self._at = len(self._history.sources)
        self.value = source
        self.selection = Selection(0, len(source))

    def remember(self, source: str) -> None:
        """Keeps a filter that was used."""
        self._history.remember(source)

    def action_leave(self) -> None:
        """Leaves without change."""
        self._leave()

    async def action_submit(self) -> None:
        """Enters what was typed."""
        self._enter(self.value)

    def action_complete(self) -> None:
        """Completes the last word as far as the candidates agree; offers them where that adds nothing."""
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
        completed = head + space + keep + common
        if completed == self.value and len(candidates) > 1:
            self._offer(candidates)
        self.value = completed
        self.cursor_position = len(self.value)

    def action_recall(self, step: int) -> None:
        """Shows an earlier filter, or a later one."""
        earlier = self._history.sources
        self._at = max(0, min(self._at + step, len(earlier)))
        self.value = earlier[self._at] if self._at < len(earlier) else ""
        self.cursor_position = len(self.value)


class HoldsLine(TextLine):
    """What holds, or what is wrong with what was typed: that is shown whole."""

    RESIZES = True


class FilterLine(Vertical):
    """Hidden while there is nothing to say; otherwise what is filtered and how much of it is shown."""

    def __init__(
        self,
        entered: Callable[[str], str],
        *,
        typed: Callable[[str], None] = lambda _: None,
        complete: Callable[[str], list[str]] = lambda _: [],
        history: FilterHistory | None = None,
        hint: str = HINT,
        id: str | None = None,  # noqa: A002 (Textual's own name)
    ) -> None:
        """``entered`` takes a filter and gives what is wrong with it; ``typed`` sees it while it is typed."""
        super().__init__(id=id)
        self._entered = entered
        self._typed = typed
        self._complete = complete
        self._history = history or FilterHistory()
        self._hint = hint
        self._keys_were_at: Widget | None = None
        self._open = False
        self._error = ""
        self._advice = ""
        self._held: list[Piece] = []

    def compose(self) -> ComposeResult:
        """What holds, and the place to type."""
        yield HoldsLine(id="holds")
        yield FilterInput(self._complete, self._enter, self.close, self._offer, self._history)

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
        typed.begin(source)
        self._keys_were_at = self.screen.focused
        self.screen.set_focus(typed)
        self._draw()

    def close(self) -> None:
        """Ends typing; the keys go where they went before."""
        self._open, self._error, self._advice = False, "", ""
        self.screen.set_focus(self._keys_were_at)
        self.query_one(FilterInput).display = False
        self._draw()

    def advise(self, advice: str, error: str) -> None:
        """Says what the typed filter would do, or what is wrong with it."""
        self._advice, self._error = advice, error
        self._draw()

    def refresh_line(self, source: str, matching: int, total: int, also: Iterable[Piece] = ()) -> None:
        """Draws what holds."""
        self._held = []
        if source:
            self._held += [
                (f" filter: {source}", "strong"),
                (f"  {matching} of {total}", ""),
                ("  esc clears ", "faint"),
            ]
        self._held += also
        self._draw()

    def _draw(self) -> None:
        pieces = self._held
        if self._error:
            pieces = [(f" {self._error}", "bad")]
        elif self._open:
            pieces = [(f" {self._advice or self._hint}", "faint")]
        holds = self.query_one("#holds", HoldsLine)
        holds.set_class(bool(self._error), "-wrong")
        holds.show(pieces)
        self.display = self._open or bool(pieces)

    @on(Input.Changed)
    def _typing(self, event: Input.Changed) -> None:
        event.stop()
        if self._open:
            self._typed(one_line(event.value, SOURCE_MAX))

    def _offer(self, candidates: list[str]) -> None:
        self.advise(f"tab: {'  '.join(candidates)}", "")

    def _enter(self, value: str) -> None:
        source = one_line(value, SOURCE_MAX)
        self.query_one(FilterInput).remember(source)
        if error := self._entered(source):
            self.advise("", error)
        else:
            self.close()


def _common_start(words: list[str]) -> str:
    shortest = min(words, key=len)
    for count, character in enumerate(shortest):
        if any(word[count] != character for word in words):
            return shortest[:count]
    return shortest
