"""Dask's own picture beside the records, and why the job under the list's cursor is where it is."""

import os
from typing import ClassVar

from textual.actions import parse
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from jobdeck_tui.client.models import DaskWorker, Job
from jobdeck_tui.core.cluster_words import agreement_rows, cluster_rows
from jobdeck_tui.core.dask_words import WITHOUT_BACKEND, dask_rows, has_desktop, why_tasks_wait
from jobdeck_tui.core.row_filter import RowFilter
from jobdeck_tui.core.table_fields import WORKERS
from jobdeck_tui.core.trends import OF_CLUSTER
from jobdeck_tui.core.worker_words import consequences, objection_to
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.dialogs import Question
from jobdeck_tui.screens.worker_log import WorkerLogScreen
from jobdeck_tui.text.format import clock, short_id, state_label
from jobdeck_tui.widgets.filter_line import FilterLine
from jobdeck_tui.widgets.text_pane import Row, TextPane

WHY_EVERY_SECONDS = 2.0
WHYS_FROM_ROWS = 30
WHYS_MAX = 4
TRENDS_FROM_ROWS = 30
WAITING_STATES = ("queued", "waiting", "backlog", "held", "assigned")
ID_CELLS = 20


class ClusterScreen(DeckScreen):
    """One page of text: scheduler, tasks, workers, agreement, why."""

    TITLE_WORDS = "Cluster"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "dashboard", "Dask's pages"),
        Binding("D", "ask('drain')", "Drain"),
        Binding("U", "ask('undrain')", "Take back"),
        Binding("r", "ask('restart')", "Restart"),
        Binding("w", "log", "Worker log"),
        Binding("slash", "filter", "Filter the workers", key_display="/", show=False),
        Binding("enter", "open", "Open the job", key_display="enter"),
        Binding("j,down", "choose(1)", "Next worker", show=False),
        Binding("k,up", "choose(-1)", "Worker before", show=False),
        Binding("pagedown", "roll(10)", "Ten lines down", show=False),
        Binding("pageup", "roll(-10)", "Ten lines up", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._chosen: str | None = None
        self._whys: dict[str, str] = {}
        self._why_read = float("-inf")

    def compose_body(self) -> ComposeResult:
        """The page."""
        yield TextPane(id="cluster")
        yield FilterLine(
            self._filter_entered,
            typed=self._filter_typed,
            complete=lambda source: WORKERS.complete(source, self.deck.workers()),
            history=self.deck.filter_history("workers"),
            hint=f"workers by {', '.join(WORKERS.fields)}   tab completes, esc leaves",
            id="filter",
        )

    def on_mount(self) -> None:
        """Keys go to the page."""
        self.set_focus(self.query_one(TextPane))

    def flush_body(self, now: float, *, everything: bool) -> None:
        """Draws the page; asks for the reasons again every two seconds."""
        deck, worker = self.deck, self._worker()
        # What was drawn under the cursor stays chosen, wherever others come in: a key is for what was seen.
        self._chosen = chosen = worker.name if worker is not None else None
        workers, width = self._workers(), self.size.width
        self.query_one(FilterLine).refresh_line(self._filter.source, len(workers), len(deck.workers()))
        url = deck.dask_url()
        if deck.overview is None and url is not None:
            rows = dask_rows(url, deck.picture, workers, now, width, chosen)
        else:
            rows = cluster_rows(deck.overview, deck.picture, workers, now, width, chosen)
        if deck.picture_trouble:
            rows.append([(f" {deck.picture_trouble}", "warn")])
        page: list[Row] = [*rows, [], *self._agreement_rows(), [], *self._why_rows(now, everything)]
        if self.size.height >= TRENDS_FROM_ROWS:
            page += [[], *([(line, "faint")] for line in deck.trends.lines(width, OF_CLUSTER))]
        self.query_one(TextPane).show(page)

    def _agreement_rows(self) -> list[Row]:
        deck, truth = self.deck, self.deck.truth()
        if deck.without_backend:
            return [[(f" {WITHOUT_BACKEND}", "faint")]]
        if not truth.live and truth.as_of is not None:
            words = f" The records are those of {clock(truth.as_of)}: the backend does not answer."
            dask = " Dask's own numbers are of now." if deck.picture is not None else ""
            return [[(f"{words}{dask} Not compared.", "warn")]]
        known = deck.overview is not None and deck.picture is not None
        return [*agreement_rows(deck.differences(), known=known)]

    def _why_rows(self, now: float, everything: bool) -> list[Row]:  # noqa: FBT001
        reasons = why_tasks_wait(self.deck.picture, self.deck.workers())
        if self.deck.without_backend:
            few = reasons[: WHYS_MAX if self.size.height >= WHYS_FROM_ROWS else 1]
            return [[(" WHY  ", "strong"), (reason, "notice")] for reason in few] or [
                [(" WHY  nothing waits", "faint")]
            ]
        jobs = self._asked_about()
        if everything or now - self._why_read > WHY_EVERY_SECONDS:
            self._why_read = now
            self._whys = {job.job_id: self._whys.get(job.job_id, "…") for job in jobs}
            self.program.link.jobs.read_why(self, list(self._whys), self._whys.__setitem__)
        if not jobs:
            listed = f"the list ({self.deck.key('mode.jobs')})"
            return [[(f" WHY  choose a job in {listed} to see why it is where it is.", "faint")]]
        return [
            [
                (f" WHY is {short_id(job.job_id, ID_CELLS)} {state_label(job.state)}?  ", "strong"),
                (self._whys.get(job.job_id, "…"), "notice"),
            ]
            for job in jobs
        ]

    def _asked_about(self) -> list[Job]:
        """The job under the list's cursor; with room, or without one, the most urgent of each kind of waiting."""
        cursor = self.program.cursor_job_id
        chosen = self.deck.jobs.get(cursor) if cursor is not None else None
        jobs = [] if chosen is None else [chosen]
        for state in WAITING_STATES:
            waiting = [job for job in self.deck.jobs if job.state == state]
            if waiting and all(job.state != state for job in jobs):
                jobs.append(min(waiting, key=lambda job: job.deadline or float("inf")))
        return jobs[: WHYS_MAX if self.size.height >= WHYS_FROM_ROWS else 1]

    @property
    def _filter(self) -> RowFilter[DaskWorker]:
        return self.deck.filters["workers"]

    def _workers(self) -> tuple[DaskWorker, ...]:
        """The workers that the filter leaves."""
        now = self.deck.now()
        return tuple(one for one in self.deck.workers() if self._filter.matches(one, now))

    def _filter_typed(self, source: str) -> None:
        advice = self._filter.preview(source, self.deck.workers(), self.deck.now())
        self.query_one(FilterLine).advise(advice, self._filter.error)

    def _filter_entered(self, source: str) -> str:
        self._filter.take(source)
        self.flush()
        return self._filter.error

    def action_filter(self) -> None:
        """Asks which workers to show."""
        self.query_one(FilterLine).open(self._filter.source)

    def action_leave(self) -> None:
        """Takes the filter away, else goes back to the jobs."""
        if self._filter.source:
            self._filter_entered("")
        else:
            super().action_leave()

    def _worker(self) -> DaskWorker | None:
        """The worker under the cursor; the first one where the chosen one is gone."""
        workers = self._workers()
        return next((one for one in workers if one.name == self._chosen), workers[0] if workers else None)

    def hides(self, binding: Binding) -> bool:
        """Acts that would do nothing to the chosen worker are not offered."""
        worker = self._worker()
        if self.deck.without_backend:
            return binding.action not in {"dashboard", "help", "leave_program"}
        _, action, parameters = parse(binding.action)
        if worker is None:
            return action in {"ask", "log"} or super().hides(binding)
        return (action == "ask" and bool(objection_to(str(parameters[0]), worker))) or super().hides(binding)

    def action_choose(self, step: int) -> None:
        """Chooses another worker."""
        names, worker = [one.name for one in self._workers()], self._worker()
        if worker is not None:
            place = names.index(worker.name) + step
            self._chosen = names[max(0, min(place, len(names) - 1))]
            self.flush(everything=True)

    def action_dashboard(self) -> None:
        """Copies the address of Dask's own pages, and opens it where this terminal is on a desktop."""
        self.program.link.dask.find_bokeh(self._show_pages)

    def _show_pages(self, page: str | None, trouble: str) -> None:
        if page is None:
            url = self.deck.dask_url()
            self.program.tell(
                f"Dask's pages: {trouble}{f' (its figures: {url})' if url else ''}.", severity="warning"
            )
            return
        self.program.copy_words(page, f"Dask's pages ({page})")
        if has_desktop(os.environ):
            self.program.open_url(page)

    def action_ask(self, act: str) -> None:
        """Says what an act on the chosen worker would do, and does it once that is confirmed."""
        worker = self._worker()
        if refusal := self.deck.refusal():
            self.program.tell(refusal, severity="error")
            return
        if worker is None:
            self.program.tell("No worker is known yet.")
            return
        if words := objection_to(act, worker):
            self.program.tell(words, severity="warning")
            return
        name = worker.name
        others = [one for one in self.deck.workers() if one.state == "running" and one.name != name]

        def answered(yes: bool | None) -> None:  # noqa: FBT001 (Textual's callback)
            if yes:
                self.program.link.errands.act_on_worker(name, act)

        notes = consequences(act, worker, len(others))
        self.app.push_screen(Question(act, [name], notes, what="worker"), answered)

    def action_log(self) -> None:
        """Opens the chosen worker's log."""
        if self.deck.without_backend:
            self.program.tell(WITHOUT_BACKEND)
        elif (worker := self._worker()) is not None:
            self.program.push_screen(WorkerLogScreen(worker.name))

    def action_open(self) -> None:
        """Opens the job whose reason is shown."""
        if (job_id := self.program.cursor_job_id) is not None:
            self.program.open_job(job_id)

    def action_roll(self, rows: int) -> None:
        """Scrolls the page."""
        self.query_one(TextPane).scroll_rows(rows)
