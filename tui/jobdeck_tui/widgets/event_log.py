"""A log over an ``EventLines`` ring: draws only what is in view, follows the end until told otherwise."""

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from textual.events import MouseScrollDown, MouseScrollUp
from textual.strip import Strip

from jobdeck_tui.core.event_lines import EventLines, Line
from jobdeck_tui.core.records import Record, iso
from jobdeck_tui.text.format import fit, short_id
from jobdeck_tui.widgets.line_view import LineView
from jobdeck_tui.widgets.text_pane import wrapped

LABEL_WIDTH = 15
JOB_CELLS = 12
WIDE_JOB_CELLS = 20
WIDE_FROM_CELLS = 110
SIDE_STEP = 20
TIME_CELLS = 10
MIN_WORDS_CELLS = 10


class EventLog(LineView, can_focus=True):
    """Lines of events. Scrolling up ends following; End resumes it and loses nothing meanwhile."""

    def __init__(
        self,
        lines: EventLines,
        time_words: Callable[[float | None], str],
        key: Callable[[str], str],
        *,
        with_job: bool = False,
        id: str | None = None,  # noqa: A002 (Textual's own name)
    ) -> None:
        """``time_words`` writes a moment, ``key`` gives a key by the name of what it does."""
        super().__init__(id=id)
        self._lines = lines
        self._time_words = time_words
        self._key = key
        self._with_job = with_job
        self.following = True
        self._top = 0
        self._seen_end = 0
        self._side = 0
        self._settling = False
        self._found = -1
        self._wrapping = False
        self._view: list[tuple[int, str, bool]] | None = None

    @property
    def unseen(self) -> int:
        """Lines that came since following ended."""
        return 0 if self.following else max(0, self._lines.end - self._seen_end)

    def show(self, lines: EventLines) -> None:
        """Shows another ring, from its end."""
        self._lines = lines
        self._side, self._found = 0, -1
        self.follow()

    def keep_place(self, change: Callable[[], object]) -> None:
        """Lets ``change`` hide or show lines; a log that stands still stays where it was among them."""
        bottom = self.bottom_line()
        change()
        if bottom is not None and not self.following:
            seq, lines = bottom.seq or 0, self._lines
            numbers = range(lines.first, lines.end)
            number = next((n for n in numbers if (lines.line(n).seq or 0) >= seq), lines.end - 1)
            self._top = max(lines.first, number - self.size.height + 1)
            self._seen_end = lines.end
        self._found = -1
        self._settle()

    def flush(self, *, ages: bool = False) -> None:
        """Draws what the ring gained since the last flush, or what only grew older where ``ages`` are shown."""
        if not self._lines.changed:
            if ages:
                self.refresh()
            return
        self._lines.changed = False
        self._settle()

    def follow(self) -> None:
        """Goes to the end and stays there."""
        self.following = True
        self._found = -1
        self._settle()

    def scroll_lines(self, count: int) -> None:
        """Moves the view; moving up ends following, reaching the end does not resume it."""
        if count < 0:
            self._stop()
        if not self.following:
            self._top = max(self._lines.first, min(self._top + count, self._last_top()))
            self._settle()

    def scroll_pages(self, pages: int) -> None:
        """Moves the view by whole pages."""
        self.scroll_lines(pages * max(1, self.size.height - 1))

    def bottom_line(self) -> Line | None:
        """The newest line in view."""
        if self._wrapping and self._view:
            return self._lines.line(self._view[-1][0])
        number = min(self._top + self.size.height, self._lines.end) - 1
        return self._lines.line(number) if number >= self._lines.first else None

    def shift(self, steps: int) -> None:
        """Moves the text sideways, following or not."""
        self._side = max(0, self._side + steps * SIDE_STEP)
        self.refresh()

    def toggle_wrap(self) -> None:
        """Wraps long lines at the view's width, or lets them go on to the right; following stays as it is."""
        self._wrapping, self._side = not self._wrapping, 0
        self._settle()

    def records(self) -> list[Record]:
        """The lines that are kept, oldest first."""
        return [
            {
                "at": iso(line.at),
                "job_id": line.job_id,
                "seq": line.seq,
                "kind": line.label,
                "text": line.words,
            }
            for line in self._lines.lines
        ]

    def toggle_follow(self) -> None:
        """Stops following where it stands, or follows again."""
        if self.following:
            self._stop()
            self._settle()
        else:
            self.follow()

    def find(self, matches: Callable[[Line], bool], direction: int) -> bool:
        """Goes to the next line that matches (1) or the one before (-1); False when there is none."""
        at = self._found if self._lines.first <= self._found < self._lines.end else self._bottom(direction)
        number = at + direction
        while self._lines.first <= number < self._lines.end:
            if matches(self._lines.line(number)):
                self._found = number
                self._stop()
                above = 0 if self._wrapping else self.size.height // 2
                self._top = max(self._lines.first, min(number - above, self._last_top()))
                self._settle()
                return True
            number += direction
        return False

    def _bottom(self, direction: int) -> int:
        return self._lines.end if direction < 0 else self._lines.first - 1

    def _stop(self) -> None:
        if self.following:
            if self._wrapping and self._view:
                self._top = self._view[0][0]
            self.following = False
            self._seen_end = self._lines.end

    def _last_top(self) -> int:
        lines = 1 if self._wrapping and not self.following else self.size.height
        return max(self._lines.first, self._lines.end - lines)

    def _settle(self) -> None:
        if self.following or self._top >= self._lines.end:  # the latter: all that was in view was forgotten
            self._top = self._last_top()
            self._seen_end = self._lines.end
        self._top = max(self._top, self._lines.first)
        self._view = None
        self._settling = True
        self.hold_lines(max(len(self._lines.lines), 1))
        self.scroll_to(y=self._top - self._lines.first, animate=False, force=True)
        self._settling = False
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """A dragged scrollbar moves the view too, and ends following."""
        super().watch_scroll_y(old_value, new_value)
        dragged = self.vertical_scrollbar.grabbed is not None
        if dragged and not self._settling and (rows := round(new_value) - (self._top - self._lines.first)):
            self.scroll_lines(rows)

    def on_resize(self) -> None:
        """Keeps the end at the end."""
        self._settle()

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """The wheel ends following like the keys do."""
        event.stop()
        event.prevent_default()
        self.scroll_lines(-3)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Back down; following is resumed by a key only."""
        event.stop()
        event.prevent_default()
        self.scroll_lines(3)

    def render_line(self, y: int) -> Strip:
        """One line of the view."""
        width, base = self.line_width, self.rich_style
        if self.unseen and y == self.size.height - 1:
            text = fit(f"▼ {self.unseen} new ({self._key('follow')} to follow)", width, right=True)
            return Strip([Segment(text, base + self.look("strong"))])
        if self._wrapping:
            view = self._wrapped(width)
            return self._draw(*view[y], width, base) if y < len(view) else Strip.blank(width, base)
        number = self._top + y
        if number >= self._lines.end or number < self._lines.first:
            return Strip.blank(width, base)
        return self._draw(number, self._lines.line(number).words[self._side :], True, width, base)  # noqa: FBT003

    def _wrapped(self, width: int) -> list[tuple[int, str, bool]]:
        """The view's rows: a line's number, a part of its words, and whether it is the first part."""
        if self._view is None:
            room = max(width - self._head_cells(width), MIN_WORDS_CELLS)
            rows: list[tuple[int, str, bool]] = []
            first, end, height = self._lines.first, self._lines.end, self.size.height
            numbers = range(end - 1, first - 1, -1) if self.following else range(max(self._top, first), end)
            for number in numbers:
                if len(rows) >= height:
                    break
                parts = wrapped([(self._lines.line(number).words, "")], room)
                own = [(number, "".join(text for text, _ in part), at == 0) for at, part in enumerate(parts)]
                rows = own + rows if self.following else rows + own
            self._view = rows[-height:] if self.following else rows[:height]
        return self._view

    def _head_cells(self, width: int) -> int:
        job = (WIDE_JOB_CELLS if width >= WIDE_FROM_CELLS else JOB_CELLS) + 1 if self._with_job else 0
        return TIME_CELLS + job + LABEL_WIDTH + 1

    def _draw(self, number: int, text: str, first: bool, width: int, base: Style) -> Strip:  # noqa: FBT001
        line = self._lines.line(number)
        style = base + self.look(line.style) if line.style else base
        if not first:
            indent = Segment(" " * self._head_cells(width), base)
            return Strip([indent, Segment(text, base)]).adjust_cell_length(width, base)
        head = f" {self._time_words(line.at)} "
        if self._with_job:
            room = WIDE_JOB_CELLS if width >= WIDE_FROM_CELLS else JOB_CELLS
            head += f"{fit(short_id(line.job_id, room), room)} "
        segments = [
            Segment(head, base + self.look("reverse" if number == self._found else "faint")),
            Segment(fit(line.label, LABEL_WIDTH) + " ", style),
            Segment(text, style if line.style == "faint" else base),
        ]
        return Strip(segments).adjust_cell_length(width, base)
