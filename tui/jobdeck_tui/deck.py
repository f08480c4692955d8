"""Everything the deck knows, in one place, without a terminal: the client's facts go in, screens read.

``revision`` numbers and the set of changed ids let a screen draw only what changed. Nothing here does I/O.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from jobdeck_tui.client.models import (
    STATES,
    AuditRow,
    Cluster,
    DaskPicture,
    DaskWorker,
    Job,
    Overview,
    Queue,
)
from jobdeck_tui.core.acts import Acts, Phase, Tracked
from jobdeck_tui.core.agreement import Agreement
from jobdeck_tui.core.alerts import Alerts
from jobdeck_tui.core.company import Company
from jobdeck_tui.core.connection import Connection, Truth
from jobdeck_tui.core.dask_words import WITHOUT_BACKEND
from jobdeck_tui.core.errands import Errands
from jobdeck_tui.core.event_feed import EventFeed
from jobdeck_tui.core.fuse import Fuse
from jobdeck_tui.core.job_list import JobList
from jobdeck_tui.core.jobs import JobSet
from jobdeck_tui.core.reading import Reading
from jobdeck_tui.core.row_filter import FilterHistory, RowFilter
from jobdeck_tui.core.selection import Selection
from jobdeck_tui.core.server_clock import ServerClock
from jobdeck_tui.core.server_list import LISTED_MAX, ServerList
from jobdeck_tui.core.table_fields import AUDIT, FAILURES, QUEUES, WORKERS
from jobdeck_tui.core.trends import Trends
from jobdeck_tui.text.format import age, clock

if TYPE_CHECKING:
    from jobdeck_tui.client.drills import Drill
    from jobdeck_tui.client.recovery import RecoveryPlan
    from jobdeck_tui.client.workers import Failure
    from jobdeck_tui.core.config import SavedView

DRILLS_KEPT_MAX = 50
NOTICE_SECONDS = 8.0
REPLACED = "Other records answer there than before, of another server or a restored copy: all was read anew."
REPLACED_SECONDS = 30.0


class Notice(NamedTuple):
    """Something said to the operator, its look, and for how many seconds it is shown."""

    words: str
    look: str
    seconds: float


class Awaited(NamedTuple):
    """A job whose success is to be told, and what it then gives, as in ``The portfolio report``."""

    job_id: str
    gives: str


class Deck:
    """The deck's memory. Times are Unix seconds on the server's clock; ``monotonic`` judges freshness."""

    def __init__(
        self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = ServerClock(wall, monotonic)
        self.now = self.clock.now
        self.monotonic = monotonic
        self.jobs = JobSet()
        self.job_list = JobList(self.jobs)
        self.selection = Selection()
        self.acts = Acts()
        self.errands = Errands()
        self.connection = Connection()
        self.agreement = Agreement()
        self.feed = EventFeed()
        self.alerts = Alerts()
        self.company = Company()
        self.trends = Trends()
        self.read_only = False
        self.relative_times = False
        self.overview: Overview | None = None
        self.picture: DaskPicture | None = None
        self.picture_trouble = ""
        self.cluster: Cluster | None = None
        self.plan: RecoveryPlan | None = None
        self.plan_trouble = ""
        self.queues: Reading[Queue] = Reading()
        self.failures: Reading[Failure] = Reading()
        self.audit: Reading[AuditRow] = Reading()
        self.filters: dict[str, RowFilter[Any]] = {
            "queues": RowFilter(QUEUES),
            "failures": RowFilter(FAILURES),
            "audit": RowFilter(AUDIT),
            "workers": RowFilter(WORKERS),
        }
        self.histories: dict[str, FilterHistory] = {}
        self.drills: dict[str, Drill] = {}
        self.fuse = Fuse(monotonic)
        self.dashboard_url = ""
        """Dask's dashboard as it was named; empty: the one that the server names."""
        self.without_backend = False
        """Whether there is only that dashboard to look at."""
        self.server_words = ""
        self.server_url = ""
        self.start_words = ""
        self.badge = ""
        self.guarded = False
        self.views: Mapping[str, SavedView] = {}
        self.key_names: Callable[[], Mapping[str, str]] = dict
        """By what they do, the keys as they are written on the screen; asked for when a sentence first names one,
        for every screen is looked through."""
        self.theme = ""
        """The one the operator chose; empty: the config file's."""
        self.unreadable = 0
        self.awaited: Awaited | None = None
        self.choices: list[tuple[str, str]] = []
        """Jobs whose resume the server refused until something else is decided, and the refusal's code."""
        self._notice: Notice | None = None
        self._shown_since: float | None = None
        self.fresh = True
        self._changed: set[str] = set()

    # Facts from the client

    def take_frame(self, *, news: bool = True) -> None:
        """Something arrived: what is shown is current. Without ``news`` the next second's draw is soon enough."""
        if news or not self.truth().live:
            self.fresh = True
        self.connection.frame(self.monotonic(), self.now())

    def take_overview(self, overview: Overview) -> bool:
        """The header's snapshot; whether it tells anything new."""
        news = overview != self.overview
        self.overview = overview
        if moved := self.clock.told(overview.at):
            self.acts.clock_set(moved)
        self.trends.take(overview, self.feed.seen, self.now())
        if self.picture is not None:
            self.agreement.observe(self.picture, overview, self.now())
        return news

    def take_jobs(self, rows: Iterable[Job]) -> None:
        """Rows of the feed or of a page; where the server lists them, of those that are here."""
        rows = list(rows)
        listed = self.job_list.server_list
        if listed is not None:
            listed.changed()
            here = [job for job in rows if job.job_id in self.jobs]
        elif len(self.jobs) > LISTED_MAX:
            self.list_by_server(len(self.jobs))
            here = []
        else:
            here = rows
        changed = self.jobs.apply(here)
        now = self.now()
        news = [job for job_id in changed if (job := self.jobs.get(job_id)) is not None]
        self.alerts.take(news, now, self.company.own(now))
        self._changed |= changed
        self._changed |= {tracked.job_id for tracked in self.acts.observe(rows, now)}

    def list_by_server(self, total: int) -> None:
        """There are too many jobs to keep: from now on only those are here that the server was asked for."""
        if self.job_list.server_list is None:
            self.job_list.server_list = ServerList(total)

    def take_server_rows(self, rows: Collection[Job]) -> None:
        """The rows that the list shows, as the server gave them; others are kept only while an act is for them."""
        kept = {job.job_id for job in rows}.union(self.selection.marked)
        kept |= {tracked.job_id for tracked in self.acts.unfinished()}
        self._changed |= self.jobs.apply(rows)
        self._changed |= {tracked.job_id for tracked in self.acts.observe(rows, self.now())}
        self.keep_jobs(kept)

    def take_events(self, texts: Iterable[str]) -> None:
        """Stored events of any jobs, as they came."""
        now = self.now()
        for text in texts:
            self.feed.add(text, now)

    def keep_jobs(self, job_ids: Collection[str]) -> None:
        """A whole listing: jobs it does not have are gone, with their marks."""
        self.jobs.keep_only(job_ids)
        self.selection.keep_only(job_ids)
        self._changed.intersection_update(job_ids)
        self.alerts.begin()

    def forget_jobs(self, job_ids: Collection[str]) -> None:
        """Jobs that were pruned."""
        self.alerts.forget(job_ids)
        self.keep_jobs({job.job_id for job in self.jobs}.difference(job_ids))

    def begin_anew(self) -> None:
        """Other records answer than before: nothing known of the old ones stays, no act on them goes out."""
        for dropped in self.acts.drop_pending("not sent: other records answer now"):
            self.take_act(dropped)
        self.keep_jobs(())
        self.choices.clear()
        self.feed.forget(self.now())
        self.trends = Trends()
        self.agreement.forget()
        self.drills.clear()
        self.fuse.disarm()
        self.overview = self.cluster = self.plan = None
        self.queues, self.failures, self.audit = Reading(), Reading(), Reading()
        self.say(REPLACED, "warn", REPLACED_SECONDS)

    def take_drill(self, drill: "Drill") -> None:
        """A drill as a whole, newest state."""
        self.drills[drill.id] = drill
        while len(self.drills) > DRILLS_KEPT_MAX:
            del self.drills[next(iter(self.drills))]

    def take_drills(self, listed: "Iterable[Drill]") -> None:
        """The drills of before; where the feed already told more of one, that counts."""
        known = {**{drill.id: drill for drill in listed}, **self.drills}
        newest = sorted(known.values(), key=lambda drill: drill.started_at)[-DRILLS_KEPT_MAX:]
        self.drills = {drill.id: drill for drill in newest}

    def take_picture(self, picture: DaskPicture | None, trouble: str = "") -> None:
        """Dask's own dashboard, or why it could not be read: then what was read last stays where there is nothing
        else, dimmed and with its age."""
        if picture is not None or not self.without_backend:
            self.picture = picture
        self.picture_trouble = trouble
        self.fresh = True
        if self.without_backend:
            if picture is not None:
                self.trends.take_picture(picture, self.now())
                self.take_frame()
            else:
                self.connection.lost(self.monotonic(), self.now(), trouble, 0.0)
        elif picture is None or not self.truth().live:
            self.agreement.forget()
        elif self.overview is not None:
            self.agreement.observe(picture, self.overview, self.now())

    def take_plan(self, plan: "RecoveryPlan | None", trouble: str = "") -> None:
        """The recovery plan as it stands, or why it could not be read."""
        self.plan, self.plan_trouble = plan, trouble
        self.fresh = True

    def take_act(self, tracked: Tracked | None) -> None:
        """An act came further: its row shows it."""
        if tracked is not None:
            self._changed.add(tracked.job_id)

    def say(self, words: str, look: str, seconds: float = NOTICE_SECONDS) -> None:
        """Something the operator should read, for some seconds."""
        self._notice, self._shown_since = Notice(words, look, seconds), None
        self.fresh = True

    def drain_awaited(self) -> Awaited | None:
        """The awaited job, once, when it has succeeded."""
        job = self.jobs.get(self.awaited.job_id) if self.awaited is not None else None
        if job is None or job.state != "succeeded":
            return None
        came, self.awaited = self.awaited, None
        return came

    def hush(self) -> None:
        """What was said has done its work."""
        self._notice = None

    # What screens ask

    def key(self, name: str) -> str:
        """The key that does what is named so, as in ``act.cancel``; a sentence that names a key asks here."""
        return self.key_names().get(name, name)

    def time_words(self, at: float | None) -> str:
        """A moment of a log in eight cells: its time of day, or how long ago it was."""
        words = age(self.now() - at) if self.relative_times and at is not None else clock(at)
        return f"{words:>8}"

    def notice(self) -> Notice | None:
        """What was said last, while it is to be shown: its time begins when it is first asked for, however late a
        busy machine draws it."""
        if self._notice is None:
            return None
        if self._shown_since is None:
            self._shown_since = self.monotonic()
        return self._notice if self.monotonic() - self._shown_since < self._notice.seconds else None

    def counts(self) -> Mapping[str, int]:
        """Jobs by state, and how many are overdue. While the list is whole its own count: it is the newer one."""
        if self.overview is None:
            return self.jobs.counts
        told = self.overview.counts
        if len(self.jobs) != sum(told.get(state, 0) for state in STATES):
            return told
        return {**told, **dict.fromkeys(STATES, 0), **self.jobs.counts}

    def truth(self) -> Truth:
        """What may be said about the connection now."""
        return self.connection.truth(self.monotonic())

    def drain_changed(self) -> set[str]:
        """The ids whose rows changed since this was last asked."""
        changed, self._changed = self._changed, set()
        return changed

    def workers(self) -> tuple[DaskWorker, ...]:
        """The workers in Dask's words, with what only the backend knows: process ids, who takes no work."""
        told = self.cluster.workers if self.cluster is not None else ()
        if self.picture is None:
            return told
        known = {worker.name: worker for worker in told}
        found = [_with_process(worker, known.get(worker.name)) for worker in self.picture.workers]
        seen = {worker.name for worker in found}
        return (*found, *(worker for worker in told if worker.name not in seen))

    def dask_url(self) -> str | None:
        """Where Dask's dashboard is: as it was named, else as the server names it."""
        return self.dashboard_url or (self.overview.scheduler.dashboard_url if self.overview else None)

    def differences(self) -> list[str]:
        """Where Dask and the records disagree, in words."""
        listed = self.cluster.disagreements if self.cluster is not None else ()
        return [difference.text for difference in self.agreement.differences(self.now(), listed)]

    def act_words(self, job_id: str, now: float) -> str:
        """What an act on this job is doing, for its row; empty when none is open."""
        tracked = self.acts.on_job(job_id)
        if tracked is None:
            return ""
        if tracked.awaits_reason:
            return f"{tracked.act.value}: say why"
        if tracked.phase is Phase.GRACE:
            return f"{tracked.act.value} in {max(tracked.due_at - now, 0.0):.0f} s · {self.key('undo')} undo"
        return f"{tracked.act.value}: {tracked.phase.value}"

    def queue_words(self, job: Job) -> str:
        """That a job's queue is paused, where nothing else keeps it from its start; empty where it is open."""
        paused = self.overview.paused if self.overview is not None else ()
        return "its queue is paused" if job.state == "backlog" and job.queue in paused else ""

    def refusal(self) -> str:
        """Why no act may go out now; empty when acts may."""
        if self.read_only:
            return "Not sent: this deck is read-only."
        truth = self.truth()
        if self.without_backend:
            return f"Not sent: {WITHOUT_BACKEND}"
        if not truth.live:
            return f"Not sent: {truth.text}. Acts go out only when LIVE."
        if self.overview is not None and self.overview.read_only:
            return "Not sent: this server is read-only."
        return ""

    def graces(self) -> list[Tracked]:
        """The acts whose grace runs."""
        return self.acts.graces()

    def filter_history(self, name: str) -> FilterHistory:
        """The filters that were used in one place."""
        return self.histories.setdefault(name, FilterHistory())


def _with_process(worker: DaskWorker, told: DaskWorker | None) -> DaskWorker:
    return worker if told is None else worker._replace(pid=worker.pid or told.pid, state=told.state)
