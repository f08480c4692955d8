"""One job: facts in two lines, then its stages with evidence, live events, effects, files, report and record."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from jobdeck_tui.client.artifacts import Artifact
from jobdeck_tui.client.models import Effect, Job, Notification
from jobdeck_tui.core.artifact_rows import artifact_rows
from jobdeck_tui.core.effect_rows import effect_rows, uncertain
from jobdeck_tui.core.filter_fields import EVENTS
from jobdeck_tui.core.filtered_lines import FilteredLines
from jobdeck_tui.core.job_view import JobView, facts, raw_text, record_rows, stage_rows
from jobdeck_tui.screens.acting import ACT_BINDINGS
from jobdeck_tui.screens.artifact import ArtifactScreen, save_artifact
from jobdeck_tui.screens.events import events_hint, not_found
from jobdeck_tui.screens.judging import JudgingScreen
from jobdeck_tui.widgets.event_log import EventLog
from jobdeck_tui.widgets.filter_line import FilterLine
from jobdeck_tui.widgets.panes import Panes
from jobdeck_tui.widgets.tab_line import TabLine
from jobdeck_tui.widgets.text_line import TextLine
from jobdeck_tui.widgets.text_pane import TextPane, wrapped

TABS = ("stages", "events", "effects", "artifacts", "report", "record", "raw")
EXPLAINED_ROWS = 3
WAITS = frozenset({"backlog", "waiting", "queued", "assigned", "held"})
BESIDE_FROM_COLUMNS = 200
LEFT, RIGHT = "stages", "record"
"""The plan and the facts stand at the sides of the open tab where there is room."""
DETAIL_EVERY_SECONDS = 5.0


class JobScreen(JudgingScreen):
    """The screen of one job; it reads its record anew whenever the job's row changed."""

    TITLE_WORDS = "Job"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "leave", "Back", key_display="esc"),
        Binding("tab", "tab(1)", "Next tab", key_display="tab"),
        Binding("shift+tab", "tab(-1)", "Previous tab", show=False),
        *ACT_BINDINGS,
        Binding("v", "verdict", "Verdict"),
        Binding("enter", "view", "View", key_display="enter"),
        Binding("s", "save", "Save"),
        Binding("f", "follow", "Follow"),
        Binding("C", "callback", "Tell the caller again"),
        Binding("B", "bundle", "Save an incident bundle", show=False),
        Binding("slash", "filter", "Filter the events", show=False, key_display="/"),
        Binding("n", "find(1)", "Next place found", show=False),
        Binding("N", "find(-1)", "Place found before", show=False),
        Binding("b", "heartbeats", "Show or hide heartbeats", show=False),
        Binding("j,down", "roll(1)", "Down", show=False),
        Binding("k,up", "roll(-1)", "Up", show=False),
        Binding("pagedown,space", "page(1)", "Page down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("g,home", "home", "To the beginning", show=False),
        Binding("G,end", "end", "To the end, and follow", show=False),
        Binding("y", "copy_id", "Copy the id", show=False),
        Binding("Y", "copy_row", "Copy the row as JSON", show=False),
        Binding("K", "copy_curl", "Copy the curl command that reads it", show=False),
    ]

    def __init__(self, job_id: str, tab: str = "events", *, to_judge: bool = False) -> None:
        """``to_judge``: ask what became of an uncertain effect as soon as the record is read."""
        super().__init__(JobView(job_id))
        self._to_judge = to_judge
        self._tab = tab
        self._drawn = -1
        self.filtered = FilteredLines(self.view.lines)
        self._signature: tuple[object, ...] = ()
        self._read_at = float("-inf")
        self._chosen = 0

    def compose_body(self) -> ComposeResult:
        """Facts, tabs, and one pane a tab."""
        yield TextLine(id="facts")
        yield TabLine(id="tabs")
        yield Panes(
            TextPane(id="stages"),
            EventLog(self.view.lines, self.deck.time_words, self.deck.key, id="events"),
            TextPane(id="effects"),
            TextPane(id="artifacts"),
            TextPane(id="report"),
            TextPane(id="raw"),
            TextPane(id="record"),
            initial=self._tab,
            id="panes",
        )
        yield FilterLine(
            self._filter_entered,
            typed=self._filter_typed,
            complete=lambda source: EVENTS.complete(source, self.view.lines.lines),
            history=self.deck.filter_history("events"),
            hint=events_hint(self.deck.key),
            id="find",
        )

    def on_mount(self) -> None:
        """Begins reading the job's stream."""
        self.program.link.jobs.follow(self, self.view)
        self._open(self._tab)

    def targets(self) -> tuple[str, ...]:
        """Acts on this screen are for this job."""
        return (self.view.job_id,)

    def seen_job(self, job_id: str) -> Job | None:
        """The list's row, else the one of the job's own record."""
        return super().seen_job(job_id) or (self.view.detail.job if self.view.detail else None)

    def flush_body(self, now: float, *, everything: bool) -> None:
        """Draws what changed."""
        view = self.view
        job = self.deck.jobs.get(view.job_id) or (view.detail.job if view.detail else None)
        if job is not None:
            self._draw_facts(job, now)
            signature = (job.version, job.state, job.attempt, job.stages_done, job.stage)
            old = (not job.finished or view.callback_pending) and now - self._read_at > DETAIL_EVERY_SECONDS
            if signature != self._signature or old:
                self._signature, self._read_at = signature, now
                self.program.link.jobs.read(self, view, with_report=self._tab == "report" or job.finished)
        elif view.trouble:
            self.query_one("#facts", TextLine).show([(f" {view.job_id}  {view.trouble}", "bad")])
        else:
            if now - self._read_at > DETAIL_EVERY_SECONDS:
                self._read_at = now
                self.program.link.jobs.read(self, view, with_report=True)
            self.query_one("#facts", TextLine).show([(f" {view.job_id}  reading its record …", "faint")])
        self.filtered.update(now)
        self.query_one("#events", EventLog).flush(ages=self.deck.relative_times)
        if everything or self._drawn != view.revision or (job is not None and not job.finished):
            self._drawn = view.revision
            self._draw_panes(now)
        self.query_one(FilterLine).refresh_line(
            self.filtered.filter.source, len(self.filtered.shown.lines), len(view.lines.lines)
        )
        self._draw_tabs()

    def _draw_facts(self, job: Job, now: float) -> None:
        """Two lines; more where the second has to say in words why nothing happens."""
        head, why = facts(job, now, self.size.width), self.view.why(job) if job.state in WAITS else ""
        if why:
            head[1] = [(f" {why}", "notice")]
        if countdown := self.deck.act_words(job.job_id, now):
            head[1] = [(f" {countdown}", "warn")]
        line, explained = self.query_one("#facts", TextLine), bool(why) or job.state == "failed"
        rows = wrapped(head[1], max(line.size.width, 1)) if explained else head[1:]
        line.styles.height = 1 + min(len(rows), EXPLAINED_ROWS)
        below = [piece for row in rows[:EXPLAINED_ROWS] for piece in (("\n", ""), *row)]
        line.show([*head[0], *below, ("⋯" if len(rows) > EXPLAINED_ROWS else "", "")])

    def _draw_panes(self, now: float) -> None:
        detail = self.view.detail
        if detail is None:
            return
        if self._to_judge:
            self._to_judge = False
            self.action_verdict()
        draw: dict[str, Callable[[], None]] = {
            "stages": lambda: self.query_one("#stages", TextPane).show(stage_rows(detail, now)),
            "effects": self._draw_effects,
            "artifacts": lambda: self._draw_artifacts(now),
            "record": lambda: self.query_one("#record", TextPane).show(record_rows(detail)),
            "report": self._draw_report,
            "raw": lambda: self.query_one("#raw", TextPane).show_text(raw_text(detail)),
        }
        for pane in self.query_one(Panes).in_view:
            if pane in draw:
                draw[pane]()

    def _draw_effects(self) -> None:
        effects = self.view.detail.effects if self.view.detail else ()
        self.query_one("#effects", TextPane).show(effect_rows(effects, self.deck.key("verdict")))

    def _draw_artifacts(self, now: float) -> None:
        pane = self.query_one("#artifacts", TextPane)
        pane.show(artifact_rows(self._artifacts(), self._chosen, now, self.size.width))

    def _draw_report(self) -> None:
        pane = self.query_one("#report", TextPane)
        if self.view.report is not None:
            pane.show_text(self.view.report)
        else:
            ended = self.view.detail is not None and self.view.detail.job.finished
            words = " It ended without a report." if ended else " No report yet."
            pane.show([[(words, "faint")]])

    def _draw_tabs(self) -> None:
        view, log = self.view, self.query_one("#events", EventLog)
        detail = view.detail
        total = f"/{detail.job.stages_total}" if detail and detail.job.stages_total else ""
        facts_of = {
            "stages": f"{len(detail.stages)}{total}" if detail else "",
            "events": str(view.lines.last_seq or ""),
            "effects": _count(detail.effects) if detail else "",
            "artifacts": str(len(self._artifacts()) or ""),
            "report": "✔" if view.report else "",
            "record": "",
            "raw": "",
        }
        follow, stream = "FOLLOW" if log.following else "STOPPED", view.stream.partition(":")[0]
        short = stream if log.following else f"{follow} {stream}"
        self.query_one(TabLine).show_tabs(facts_of, self._tab, f"{follow}  stream {view.stream}", short)

    def _open(self, tab: str) -> None:
        self._tab = tab
        self._arrange()
        self.set_focus(self.query_one(f"#{tab}"))
        if tab == "artifacts":
            self.read_again()  # whether their time is over changes nothing else of a job
        if tab == "report":
            self.program.link.jobs.read(self, self.view, with_report=True)
        self.flush(everything=True)

    def _arrange(self) -> None:
        """With room the plan and the facts stand beside the open tab; either of them opens the events between."""
        wide = self.size.width >= BESIDE_FROM_COLUMNS
        between = "events" if wide and self._tab in (LEFT, RIGHT) else self._tab
        self.query_one(Panes).open_pane(between, (LEFT, RIGHT) if wide else ())

    def on_resize(self) -> None:
        """Room decides what stands beside the open tab."""
        self._arrange()
        self.flush(everything=True)

    def action_tab(self, step: int) -> None:
        """Opens the next tab, or the one before."""
        self._open(TABS[(TABS.index(self._tab) + step) % len(TABS)])

    def hides(self, binding: Binding) -> bool:
        """A verdict is offered where one is missing, a callback again where it was given up."""
        if binding.action in {"view", "save"}:
            return self._tab != "artifacts" or not self._artifacts()
        nothing_to_do = {"callback": self._given_up() is None, "verdict": not self.uncertain()}
        return nothing_to_do.get(binding.action, False) or super().hides(binding)

    def puts_first(self, binding: Binding) -> bool:
        """The verdict that the job waits for, which a resume would ask for; the callback its caller waits for."""
        if self.uncertain():
            return binding.action == "verdict"
        return binding.action == "callback" or super().puts_first(binding)

    def read_again(self) -> None:
        """The record is read anew with the next draw."""
        self._signature = ()

    def action_callback(self) -> None:
        """Tells the job's caller once more what was given up."""
        told = self._given_up()
        if refusal := self.deck.refusal():
            self.program.tell(refusal, severity="error")
        elif told is None:
            self.program.tell("No callback of this job was given up.")
        else:
            send = partial(self.program.link.errands.resend, self.view.job_id, told, self.read_again)
            self.sure("tell again the caller of", self.view.job_id, [f"{told.event} to {told.target}"], send)

    def action_bundle(self) -> None:
        """Saves all that is on record about the job."""
        self.program.link.bundles.save(self.view.job_id)

    def _given_up(self) -> Notification | None:
        told = self.view.detail.notification if self.view.detail else None
        return told if told is not None and told.state == "failed" else None

    def _artifacts(self) -> tuple[Artifact, ...]:
        return self.view.detail.artifacts if self.view.detail else ()

    def action_view(self) -> None:
        """Opens the chosen file."""
        if self._tab == "artifacts" and self._artifacts():
            self.app.push_screen(ArtifactScreen(self.view.job_id, self._artifacts()[self._chosen]))

    def action_save(self) -> None:
        """Saves the chosen file into the working directory."""
        if self._tab == "artifacts" and self._artifacts():
            save_artifact(self.program, self.view.job_id, self._artifacts()[self._chosen])
        else:
            self.program.tell("Files are saved from the Artifacts tab.")

    def action_roll(self, rows: int) -> None:
        """Scrolls the open pane; among files, chooses another one."""
        if self._tab == "artifacts":
            self._chosen = max(0, min(self._chosen + rows, len(self._artifacts()) - 1))
            self._draw_artifacts(self.deck.now())
            self.query_one("#artifacts", TextPane).show_row(self._chosen + 1)
            return
        pane = self.query_one(f"#{self._tab}")
        if isinstance(pane, EventLog):
            pane.scroll_lines(rows)
        elif isinstance(pane, TextPane):
            pane.scroll_rows(rows)

    def action_page(self, pages: int) -> None:
        """Scrolls the open pane by pages."""
        self.action_roll(pages * max(1, self.query_one(f"#{self._tab}").size.height - 1))

    def action_home(self) -> None:
        """Goes to the beginning; following ends."""
        self.action_roll(-1_000_000)

    def action_end(self) -> None:
        """Goes to the end; the event log follows again."""
        if self._tab == "events":
            self.query_one("#events", EventLog).follow()
        else:
            self.action_roll(1_000_000)

    def action_follow(self) -> None:
        """Follows the end of the log, or stops."""
        self.query_one("#events", EventLog).toggle_follow()

    def _filter_typed(self, source: str) -> None:
        holding, now = self.filtered.filter, self.deck.now()
        advice = holding.preview(source, self.view.lines.lines, now)
        self.query_one(FilterLine).advise(advice, holding.error)

    def _filter_entered(self, source: str) -> str:
        if self.filtered.filter_by(source, self.deck.now()):
            self.query_one("#events", EventLog).show(self.filtered.shown)
            self.flush()
        return self.filtered.filter.error

    def action_filter(self) -> None:
        """Asks which events to show."""
        self._open("events")
        self.query_one(FilterLine).open(self.filtered.filter.source)

    def action_find(self, direction: int) -> None:
        """Goes to the next line that the filter used last finds, also once every line is shown again."""
        filtered, now = self.filtered, self.deck.now()
        events = self.query_one("#events", EventLog)
        if not filtered.sought or not events.find(lambda line: filtered.seeks(line, now), direction):
            self.program.tell(not_found(filtered, self.deck.key))

    def action_heartbeats(self) -> None:
        """Shows all heartbeats, or hides them."""
        log = self.view.lines
        self.query_one("#events", EventLog).keep_place(log.toggle_heartbeats)
        # The ring was made anew: what is picked from it has to be, too.
        self._filter_entered(self.filtered.filter.source)
        self.program.tell(f"heartbeats are {'shown' if log.show_heartbeats else 'hidden'}")

    def action_copy_id(self) -> None:
        """Copies the job's id."""
        self.program.copy_words(self.view.job_id, "id")

    def action_copy_row(self) -> None:
        """Copies the job's row."""
        job = self.seen_job(self.view.job_id) or (self.view.detail.job if self.view.detail else None)
        if job is not None:
            self.program.copy_job(job)

    def action_copy_curl(self) -> None:
        """Copies how to read the record without a deck."""
        self.program.copy_curl(self.view.job_id)

    def action_leave(self) -> None:
        """Takes the filter away, else back to where it was opened."""
        if self.filtered.filter.source:
            self._filter_entered("")
        else:
            self.program.pop_screen()


def _count(effects: Sequence[Effect]) -> str:
    return f"{len(effects)} ?" if uncertain(effects) else str(len(effects) or "")
