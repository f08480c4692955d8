"""The jobs: the list in order of risk, counts, Dask beside the records, and a preview where there is room."""

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Resize
from textual.geometry import Size
from textual.timer import Timer

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.cluster_words import strip
from jobdeck_tui.core.columns import Column, chosen, visible
from jobdeck_tui.core.filter_fields import JOBS
from jobdeck_tui.core.job_view import JobView
from jobdeck_tui.core.queue_words import queue_strip
from jobdeck_tui.core.records import Records, job_record
from jobdeck_tui.screens.acting import ACT_BINDINGS, ActingScreen
from jobdeck_tui.screens.job_cells import job_cell
from jobdeck_tui.screens.list_words import list_words
from jobdeck_tui.text.format import number
from jobdeck_tui.widgets.counts import Counts
from jobdeck_tui.widgets.filter_line import FilterLine
from jobdeck_tui.widgets.preview import Preview
from jobdeck_tui.widgets.text_line import Piece, TextLine
from jobdeck_tui.widgets.virtual_table import Cell, Columns, VirtualTable

PREVIEW_FROM_ROWS = 30
PREVIEW_BESIDE_FROM_COLUMNS = 180
SMALL_ROWS = 16
SMALL_COLUMNS = 60
PREVIEW_RESTS_SECONDS = 0.3
SETTLED_SECONDS = 1.0
QUEUES_EVERY_SECONDS = 5.0
OPERATOR_RESTS_SECONDS = 10.0


class JobsScreen(ActingScreen):
    """The deck's first screen."""

    TITLE_WORDS = "Jobs"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", key_display="enter"),
        *ACT_BINDINGS,
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("space", "mark", "Mark", key_display="space"),
        Binding("V", "range", "Mark a range: here, then there", show=False),
        Binding("A", "mark_all", "Mark all that match", show=False),
        Binding("escape", "leave", "Clear range, marks, filter, freeze", show=False),
        Binding("s", "sort(1)", "Sort by the next column", show=False),
        Binding("S", "reverse", "Reverse the order", show=False),
        Binding("v", "view", "Saved views", show=False),
        Binding("p", "freeze", "Freeze the view, or let it go on", show=False),
        Binding("y", "copy_id", "Copy the id", show=False),
        Binding("Y", "copy_row", "Copy the row as JSON", show=False),
        Binding("K", "copy_curl", "Copy the curl command that reads it", show=False),
        Binding("j,down", "move(1)", "Down", show=False),
        Binding("k,up", "move(-1)", "Up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("g,home", "top", "To the top, and rest there", show=False),
        Binding("G,end", "bottom", "To the bottom", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._resting: Timer | None = None
        self._ticked = self._queues_read = float("-inf")

    def compose_body(self) -> ComposeResult:
        """Counts, cluster, differences, list and preview, filter."""
        self._fit(self.app.size)
        yield Counts(id="counts")
        yield TextLine(id="strip")
        yield TextLine(id="differences")
        yield TextLine(id="trends")
        with Container(id="list-and-preview"):
            yield VirtualTable(self._columns_for, self._cells, clock=self.deck.monotonic, id="jobs")
            yield Preview(self.deck.time_words, self.deck.key, id="preview")
        yield FilterLine(
            self._filter_entered,
            typed=self._filter_typed,
            complete=lambda source: JOBS.complete(source, self.deck.jobs),
            history=self.deck.filter_history("jobs"),
            id="filter",
        )

    @property
    def table(self) -> VirtualTable:
        """The list."""
        return self.query_one("#jobs", VirtualTable)

    def on_mount(self) -> None:
        """Keys go to the list."""
        self.set_focus(self.table)

    def on_resize(self, event: Resize) -> None:
        """Room decides whether there is a preview, and where."""
        self._fit(event.size)
        self._rest()

    def _fit(self, size: Size) -> None:
        wide = size.width >= PREVIEW_BESIDE_FROM_COLUMNS
        self.set_class(wide, "-beside")
        self.set_class(wide or size.height >= PREVIEW_FROM_ROWS, "-preview")
        self.set_class(size.height < SMALL_ROWS, "-small")

    def offer(self, job_id: str) -> bool:
        """Puts the cursor on a job unless the operator has just moved it; False where it stays."""
        if self.table.untouched_seconds < OPERATOR_RESTS_SECONDS:
            return False
        self.flush(everything=True)
        return self.table.offer(job_id)

    # Drawing

    def _columns_for(self, width: int) -> Columns:
        return visible(width, chosen(self.deck.job_list.columns))

    def _cells(self, row_id: str, columns: Columns) -> Sequence[Cell]:
        job = self.seen_job(row_id)
        if job is None:
            return [Cell("") for _ in columns]
        now = self.deck.now()
        said = self.deck.act_words(row_id, now) or self.deck.queue_words(job)
        return [job_cell(job, column, now, said) for column in columns if isinstance(column, Column)]

    def flush_body(self, now: float, *, everything: bool) -> None:
        """Draws what changed."""
        deck, jobs, table = self.deck, self.deck.job_list, self.table
        covered = self.app.screen is not self
        self.program.link.pager.look(table.cursor, self._answered_with_rows)
        if arranged := everything or (jobs.due(now) and not covered and deck.selection.anchor is None):
            table.set_rows(jobs.arrange(now))
        changed = deck.drain_changed()
        if everything:
            table.redraw()
        elif changed and not jobs.frozen:
            table.refresh_rows(changed)
        # Together where both are due: the lines are then drawn once.
        if arranged or now - self._ticked >= 1.0 or now < self._ticked:
            self._ticked = now
            table.refresh_rows({row_id for row_id in table.visible_ids() if self._counts_down(row_id)})
        table.set_marked(deck.selection.marked)
        self._flush_lines()
        if self.has_class("-preview"):
            self._flush_preview(now)

    def _answered_with_rows(self) -> None:
        """The server's rows are shown at once where the list is in view: the operator waits for them."""
        self.deck.fresh = True
        if self.app.screen is self:
            self.flush()

    def _flush_preview(self, now: float) -> None:
        preview, cursor = self.query_one(Preview), self.table.cursor_id
        job = self.seen_job(cursor) if cursor is not None else None
        preview.flush(job, now)
        if preview.wants_record(job, now) and preview.view is not None:
            self.program.link.jobs.read(self, preview.view)

    def _counts_down(self, row_id: str) -> bool:
        job = self.seen_job(row_id)
        return job is not None and not job.finished

    def _flush_lines(self) -> None:
        deck = self.deck
        self.query_one(Counts).refresh_counts(deck.counts(), known=deck.overview is not None)
        cluster = strip(deck.overview, deck.picture, deck.workers(), self.size.width)
        self.query_one("#strip", TextLine).show(cluster)
        differences = deck.differences()
        line = self.query_one("#differences", TextLine)
        line.display = bool(differences)
        if differences:
            others, key = len(differences) - 1, deck.key("mode.cluster")
            more = f"  (+{others}, {key} shows all)" if others else ""
            line.show([(f" ⚠ {differences[0]}{more}", "warn")])
        if self.has_class("-preview"):
            self._flush_trends()
        shown, words = deck.job_list, list(list_words(deck))
        if self.size.width < SMALL_COLUMNS or self.size.height < SMALL_ROWS:
            words.append((f" {SMALL_COLUMNS}×{SMALL_ROWS} or more shows details", "faint"))
        self.query_one(FilterLine).refresh_line(shown.filter_source, shown.matching, shown.total, words)

    def _flush_trends(self) -> None:
        """The queues' line only where there is room beside everything else."""
        deck, width = self.deck, self.size.width
        pieces: list[Piece] = [("\n".join(deck.trends.lines(width)), "faint")]
        if self.has_class("-beside"):
            if deck.monotonic() - self._queues_read > QUEUES_EVERY_SECONDS:
                self._queues_read = deck.monotonic()
                self.program.link.operations.read_queues(self)
            pieces = [*queue_strip(deck.queues.items or (), width), ("\n", ""), *pieces]
        self.query_one("#trends", TextLine).show(pieces)

    # Acts

    def targets(self) -> tuple[str, ...]:
        """The marked jobs, else the one under the cursor."""
        return self.deck.selection.targets(self.table.cursor_id)

    def chosen_by_operator(self) -> bool:
        """False while another row has just slid under the cursor."""
        return bool(len(self.deck.selection)) or self.table.slid_seconds_ago > SETTLED_SECONDS

    def seen_job(self, job_id: str) -> Job | None:
        """The job as the list shows it."""
        return self.deck.job_list.job(job_id)

    def out_of_view(self, jobs: Sequence[Job]) -> int:
        """How many of these the filter hides."""
        shown = set(self.table.shown_ids)
        return sum(job.job_id not in shown for job in jobs)

    def acts_confirmed(self) -> None:
        """The marks have done their work."""
        self.deck.selection.clear()

    # The preview

    @on(VirtualTable.Moved)
    def _moved(self) -> None:
        self.deck.fresh = True
        self._rest()

    def _rest(self) -> None:
        """Reads the job under the cursor once the cursor has rested on it."""
        if self._resting is not None:
            self._resting.stop()
        if self.has_class("-preview"):
            self._resting = self.set_timer(PREVIEW_RESTS_SECONDS, self._preview)

    def _preview(self) -> None:
        preview, cursor = self.query_one(Preview), self.table.cursor_id
        if preview.view is not None and preview.view.job_id == cursor:
            return
        view = JobView(cursor) if cursor is not None else None
        preview.show_view(view)
        if view is not None:
            self.program.link.jobs.follow(self, view)
            self.deck.fresh = True

    # Keys

    @on(VirtualTable.Opened)
    def _opened(self, event: VirtualTable.Opened) -> None:
        self._open(event.row_id)

    def _open(self, job_id: str) -> None:
        job = self.seen_job(job_id)
        done = job is not None and job.state == "succeeded"
        self.program.open_job(job_id, "report" if done else "events")

    def _filter_typed(self, source: str) -> None:
        shown = self.deck.job_list
        self.query_one(FilterLine).advise(shown.preview_filter(source, self.deck.now()), shown.filter_error)

    def _filter_entered(self, source: str) -> str:
        taken = self.deck.job_list.filter_by(source)
        self.flush(everything=taken)
        return self.deck.job_list.filter_error

    def action_filter(self) -> None:
        """Opens the filter."""
        self.query_one(FilterLine).open(self.deck.job_list.filter_source)

    def action_view(self) -> None:
        """Lets one of the saved views be chosen."""
        views = self.deck.views

        def answered(name: str | None) -> None:
            if name is not None:
                self.deck.job_list.show_view(views[name])
                self.flush(everything=True)

        options = [(view.name, f"{view.filter or 'all jobs'}  by {view.sort}") for view in views.values()]
        self.program.choose("view", options, answered)

    def action_open(self) -> None:
        """Opens the job under the cursor."""
        if self.table.cursor_id is not None:
            self._open(self.table.cursor_id)

    def action_mark(self) -> None:
        """Marks the row, or takes its mark away, and goes on to the next."""
        if self.table.cursor_id is not None:
            self.deck.selection.toggle(self.table.cursor_id)
            self.table.move_by(1)
            self.flush()

    def action_range(self) -> None:
        """Begins a range, or ends it here."""
        cursor, selection = self.table.cursor_id, self.deck.selection
        if cursor is None:
            return
        if selection.anchor is None:
            selection.start_range(cursor)
        else:
            selection.end_range(cursor, self.table.shown_ids)
        self.flush()

    def action_mark_all(self) -> None:
        """Marks all that the filter shows."""
        self.deck.selection.mark_all(self.table.shown_ids)
        listed = self.deck.job_list.server_list
        if listed is not None and listed.more:
            here, all_of_them = number(len(self.table.shown_ids)), number(listed.matching)
            self.program.tell(f"Marked are the {here} rows that are here, not all {all_of_them} that match.")
        self.flush()

    def action_leave(self) -> None:
        """Clears one thing at a time: range and marks, freeze, filter."""
        deck = self.deck
        if len(deck.selection) or deck.selection.anchor is not None:
            deck.selection.clear()
        elif deck.job_list.frozen:
            deck.job_list.toggle_freeze()
        elif deck.job_list.only is not None:
            deck.job_list.show_only(None)
        elif deck.job_list.filter_source:
            deck.job_list.filter_by("")
        self.flush(everything=True)

    def action_sort(self, step: int) -> None:
        """Sorts by the next column."""
        self.deck.job_list.sort_next(step)
        self.flush(everything=True)

    def action_reverse(self) -> None:
        """Turns the order around."""
        self.deck.job_list.reverse = not self.deck.job_list.reverse
        self.flush(everything=True)

    def action_freeze(self) -> None:
        """Freezes the view, or lets it go on."""
        self.deck.job_list.toggle_freeze()
        self.flush(everything=True)

    def action_copy_id(self) -> None:
        """Copies the id under the cursor."""
        if (job := self._under_cursor()) is not None:
            self.program.copy_words(job.job_id, "id")

    def action_copy_row(self) -> None:
        """Copies the row under the cursor."""
        if (job := self._under_cursor()) is not None:
            self.program.copy_job(job)

    def action_copy_curl(self) -> None:
        """Copies how to read the record without a deck."""
        if (job := self._under_cursor()) is not None:
            self.program.copy_curl(job.job_id)

    def _under_cursor(self) -> Job | None:
        job = self.seen_job(self.table.cursor_id) if self.table.cursor_id is not None else None
        if job is None:
            self.program.tell("No job is under the cursor.")
        return job

    def records(self) -> Records:
        """The rows shown, in their order, each with all that is known of it."""
        jobs = [job for row_id in self.table.shown_ids if (job := self.seen_job(row_id)) is not None]
        listed = self.deck.job_list.server_list
        matching = listed.matching if listed is not None and listed.more else None
        return Records("jobs", [job_record(job) for job in jobs], matching)

    def action_move(self, rows: int) -> None:
        """Moves the cursor."""
        self.table.move_by(rows)

    def action_page(self, pages: int) -> None:
        """Moves the cursor by pages."""
        self.table.page_by(pages)

    def action_top(self) -> None:
        """Rests at the top: what is most at risk stays in view."""
        self.table.move_to(0, touched=False)

    def action_bottom(self) -> None:
        """Goes to the last row."""
        self.table.move_to(len(self.table.shown_ids) - 1)
