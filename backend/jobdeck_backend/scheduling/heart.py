"""The worker's heartbeat thread: says that executions live, and learns what became of their jobs (R24).

Its own thread and connection, so that neither a blocked event loop nor a busy database connection stops it.
"""

import threading
import time
from collections.abc import Iterable
from typing import Protocol

import structlog

from jobdeck_backend.clock import now
from jobdeck_backend.commands import execution, notices
from jobdeck_backend.jobs.records import Claim, Status
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import jobs
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.timekeeping import Follower
from jobdeck_backend.store.trouble import cause_of

log = structlog.get_logger(__name__)

# How long past its deadline the loop's own timeout has before the heart expires the job in its place.
LOOP_GRACE_S = 0.5


class Watched(Protocol):
    """An execution, as the heart sees it."""

    claim: Claim

    def stop(self) -> None:
        """The job is no longer this execution's: end the work. Called once, from the heart's thread."""

    def rebudget(self, deadline: float | None) -> None:
        """The deadline was moved by a grant."""


class Heart:
    """One per worker process."""

    def __init__(self, settings: Settings, database: Database, follower: Follower) -> None:
        """``follower`` corrects this process's time by the database's as long as there is need."""
        self._settings = settings
        self._database = database
        self._follower = follower
        self._watched: dict[Watched, _Pulse] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="heart", daemon=True)
        self._thread.start()

    def watch(self, watched: Watched) -> None:
        """Begin to look after an execution."""
        with self._lock:
            self._watched[watched] = _Pulse(watched.claim.admission.deadline, self._settings)

    def forget(self, watched: Watched) -> None:
        """Its thread has ended."""
        with self._lock:
            self._watched.pop(watched, None)

    def _run(self) -> None:
        failing = False
        while True:
            time.sleep(self._settings.cancel_look_s)
            with self._lock:
                watched = list(self._watched.items())
            failure = self._look_at_all(watched)
            # Twice a second for as long as a database is away: once is enough to be read.
            if failure is not None and not failing:
                log.warning("heartbeats are not written; tried again", error=cause_of(failure))
            elif failing and failure is None:
                log.warning("heartbeats are written again")
            failing = failure is not None

    def _look_at_all(self, watched: Iterable[tuple[Watched, "_Pulse"]]) -> Exception | None:
        """Look at each, whatever becomes of the others; the last failure, if there was one."""
        failure = None
        for one, pulse in watched:
            try:
                self._look(one, pulse)
            except Exception as error:  # without this thread every job here would count as lost
                failure = error
        return failure

    def _look(self, one: Watched, pulse: "_Pulse") -> None:
        if not pulse.stopped:
            with self._database.read() as tx:
                self._follower.follow(tx)
                status, fence, deadline = jobs.claim_state(tx, one.claim.job_id)
            if status is not Status.RUNNING or fence != one.claim.fence:
                pulse.stopped = True
                one.stop()
            elif deadline != pulse.deadline:
                pulse.deadline = deadline
                one.rebudget(deadline)
        self._beat(one, pulse)

    def _beat(self, one: Watched, pulse: "_Pulse") -> None:
        uptime_s = time.monotonic() - pulse.since
        overdue = pulse.deadline is not None and now() > pulse.deadline + LOOP_GRACE_S
        if uptime_s < pulse.next_renewal_s and not (overdue and not pulse.stopped):
            return
        event_due = uptime_s >= pulse.next_event_s and not pulse.stopped
        told = [notices.heartbeat(int(uptime_s), now())] if event_due else []
        with self._database.write() as tx:
            if overdue and not pulse.stopped:
                execution.expire_running(tx, one.claim, (), now())
            execution.renew(tx, one.claim, now(), told)
        if event_due:
            pulse.next_event_s += self._settings.heartbeat_event_s
        pulse.next_renewal_s = uptime_s + self._settings.heartbeat_s


class _Pulse:
    """What the heart remembers of one execution."""

    def __init__(self, deadline: float | None, settings: Settings) -> None:
        self.deadline = deadline
        self.since = time.monotonic()
        self.next_renewal_s = settings.heartbeat_s
        self.next_event_s = settings.heartbeat_event_s
        self.stopped = False
