"""Queues: how deep, how old, how fast; one is paused and unpaused from here."""

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType

from jobdeck_tui.client.models import Queue
from jobdeck_tui.core.columns import Column
from jobdeck_tui.core.reading import Reading
from jobdeck_tui.screens.table import TABLE_BINDINGS, TableScreen
from jobdeck_tui.text.format import NONE, age, duration, number, plural
from jobdeck_tui.widgets.text_line import Piece
from jobdeck_tui.widgets.virtual_table import Cell

DEPTHS = ("backlog", "waiting", "queued", "running", "held")
"""Columns that are states, each in its state's look."""


class QueuesScreen(TableScreen):
    """A line for each queue; acts are for the one under the cursor."""

    TITLE_WORDS = "Queues"
    FILTER = "queues"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Its jobs", key_display="enter"),
        Binding("p", "pause", "Pause"),
        Binding("r", "unpause", "Unpause"),
        *TABLE_BINDINGS,
    ]
    COLUMNS = (
        Column("name", "QUEUE", 15, to_width=99),
        Column("name", "QUEUE", 24, 100),
        Column("state", "STATE", 8),
        Column("backlog", "BACKLG", 6, right=True),
        Column("waiting", "WAIT", 5, 70, right=True),
        Column("queued", "QUEUED", 6, right=True),
        Column("running", "RUN", 4, right=True),
        Column("held", "HELD", 4, 60, right=True),
        Column("oldest", "OLDEST", 6, 55, right=True),
        Column("p50", "P50", 6, 90, right=True),
        Column("p95", "P95", 6, 75, right=True),
        Column("done", "/MIN", 5, 100, right=True),
        Column("risk", "RISK", 4, right=True),
        Column("note", "", 0, 110),
    )

    def read(self) -> None:
        """Asks for every queue."""
        self.program.link.operations.read_queues(self)

    @property
    def reading(self) -> Reading[Queue]:
        """Every queue."""
        return self.deck.queues

    def head(self) -> list[Piece]:
        """How many queues, and which are paused."""
        queues = self.rows().values()
        paused = [queue.name for queue in queues if queue.paused]
        pieces: list[Piece] = [(f" {plural(len(queues), 'queue')}", "strong")]
        if paused:
            pieces.append((f"  ⏸ {len(paused)} paused: what Dask holds goes on, the rest waits", "warn"))
        else:
            pieces.append(("  none is paused. RISK: jobs predicted to miss their deadline.", "faint"))
        return pieces

    def rows(self) -> Mapping[str, Queue]:
        """By name."""
        return {queue.name: queue for queue in self.deck.queues.items or ()}

    def cell(self, row_id: str, key: str) -> Cell:
        """A figure of one queue."""
        queue = self._queue(row_id)
        if queue is None:
            return Cell("")
        if key in DEPTHS:
            extra = queue.depth.get("assigned", 0) if key == "running" else 0
            count = queue.depth.get(key, 0) + extra
            return Cell(number(count) if count else NONE, key if count else "faint")
        match key:
            case "name":
                return Cell(queue.name, "strong")
            case "state":
                return Cell("⏸ PAUSED", "warn") if queue.paused else Cell("✔ open", "good")
            case "oldest":
                return Cell(age(queue.oldest_age) if queue.oldest_age is not None else NONE)
            case "p50" | "p95":
                seconds = queue.p50 if key == "p50" else queue.p95
                return Cell(duration(seconds) if seconds is not None else NONE, "faint")
            case "done":
                return Cell(f"{queue.done_per_minute:g}")
            case "risk":
                return Cell(number(queue.at_risk), "over" if queue.at_risk else "faint")
            case _:
                return Cell(f"paused by {queue.paused_by}" if queue.paused_by else "", "faint")

    def _queue(self, name: str | None) -> Queue | None:
        return next((queue for queue in self.deck.queues.items or () if queue.name == name), None)

    def hides(self, binding: Binding) -> bool:
        """Pausing is offered for an open queue, unpausing for a paused one."""
        queue = self._queue(self.table.cursor_id)
        nothing_to_do = {
            "pause": queue is None or queue.paused,
            "unpause": queue is None or not queue.paused,
            "open": queue is None,
        }
        return nothing_to_do.get(binding.action, False) or super().hides(binding)

    def action_pause(self) -> None:
        """Lets nothing of the queue start."""
        self._set(paused=True)

    def action_unpause(self) -> None:
        """Lets the queue's jobs start again."""
        self._set(paused=False)

    def _set(self, *, paused: bool) -> None:
        queue = self._queue(self.table.cursor_id)
        if queue is None:
            self.program.tell("No queue is chosen.")
        elif queue.paused is paused:
            self.program.tell(f"queue {queue.name} is {'paused already' if paused else 'not paused'}.")
        else:
            held = sum(queue.depth.get(state, 0) for state in ("waiting", "queued", "assigned"))
            stays = f"{plural(queue.depth.get('backlog', 0), 'job')} in the backlog would wait"
            stops = f"{stays}; {plural(held, 'job')} that Dask holds already would start all the same."
            notes = [stops if paused else "Its jobs start again."]
            do = partial(
                self.program.link.errands.set_paused, queue.name, paused=paused, then=self.read_again
            )
            self.sure("pause" if paused else "unpause", queue.name, notes, do, what="queue")
        self.flush_acts()

    def action_open(self) -> None:
        """Goes to the list, filtered by this queue."""
        queue = self._queue(self.table.cursor_id)
        if queue is not None:
            self.deck.job_list.filter_by(f"queue:{queue.name}")
            self.program.show_jobs()
