"""Whether Dask's own picture and the records agree, said in words.

The deck reads Dask's dashboard itself, so that the backend cannot merely repeat its own belief. The two are
read at different moments: a difference is said once it has held for two seconds, as its smallest size over
that time. Where many jobs finish, some are always between the two books; that many are let pass.
"""

from collections import deque
from typing import NamedTuple

from jobdeck_tui.client.models import FINISHED, DaskPicture, Disagreement, Overview
from jobdeck_tui.text.format import id_words, plural

PERSIST_SECONDS = 2.0
FRESH_SECONDS = 2.5
LOOKS_MIN = 3
SETTLING_SECONDS = 0.05
"""How long a finished job may still be on Dask's book."""


class Difference(NamedTuple):
    """One lasting difference; ``seconds`` is how long it has been seen."""

    kind: str
    text: str
    seconds: float


class _Look(NamedTuple):
    at: float
    tasks: int
    workers: int
    astray: int
    finished: int
    other_scheduler: bool


class Agreement:
    """Remembers the looks of the last seconds and tells what differed in all of them. Times: Unix seconds."""

    def __init__(self) -> None:
        self._looks: deque[_Look] = deque(maxlen=120)
        self._since: dict[str, float] = {}
        self._ids = ("", "")

    def observe(self, picture: DaskPicture, overview: Overview, now: float) -> None:
        """Take one pair of pictures in; a stale one, or a scheduler on its way, tells nothing."""
        stale = now - picture.read_at > FRESH_SECONDS
        if stale or overview.scheduler.state not in ("up", "external"):
            self.forget()
            return
        records_id = overview.scheduler.id
        self._ids = (picture.scheduler_id, records_id or "")
        look = _Look(
            at=now,
            tasks=dask_unfinished(picture) - records_unfinished(overview),
            # Dask can be too busy to describe itself: then it said nothing, which is no difference.
            workers=len(picture.workers) - overview.workers if picture.workers else 0,
            astray=threads_astray(overview),
            finished=sum(overview.counts.get(state, 0) for state in FINISHED),
            other_scheduler=bool(records_id and picture.scheduler_id) and records_id != picture.scheduler_id,
        )
        self._looks.append(look)
        self._note("scheduler", look.at, differs=look.other_scheduler)
        self._note("tasks", look.at, differs=look.tasks != 0)
        self._note("threads", look.at, differs=look.astray != 0)
        self._note("workers", look.at, differs=look.workers != 0)

    @property
    def in_doubt(self) -> bool:
        """Whether the last look differed, so that the next one is wanted soon."""
        return bool(self._since)

    def forget(self) -> None:
        """Begin anew, as when the scheduler was lost or another server is looked at."""
        self._looks.clear()
        self._since.clear()

    def differences(self, now: float, listed: tuple[Disagreement, ...] = ()) -> list[Difference]:
        """Say what has differed for long enough; ``listed`` are the backend's own findings by job."""
        found: list[Difference] = []
        for kind, say in (
            ("scheduler", self._scheduler),
            ("workers", self._workers),
            ("tasks", self._tasks),
            ("threads", self._threads),
        ):
            since = self._since.get(kind)
            if since is not None and now - since >= PERSIST_SECONDS:
                text = say([look for look in self._looks if look.at >= since])
                if text:
                    found.append(Difference(kind, text, now - since))
        lasting = (entry for entry in listed if entry.seconds >= PERSIST_SECONDS)
        found += [
            Difference(entry.kind, f"{id_words(entry.job_id)}: {entry.text}", entry.seconds)
            for entry in lasting
        ]
        return found

    def _note(self, kind: str, at: float, *, differs: bool) -> None:
        if differs:
            self._since.setdefault(kind, at)
        else:
            self._since.pop(kind, None)

    def _scheduler(self, _looks: list[_Look]) -> str:
        dask, records = self._ids
        return f"Dask answers as scheduler {_tail(dask)}, the records use {_tail(records)}."

    def _workers(self, looks: list[_Look]) -> str:
        least = _least([look.workers for look in looks])
        more = "more" if least > 0 else "fewer"
        return f"Dask has {plural(abs(least), 'worker')} {more} than the records." if least else ""

    def _tasks(self, looks: list[_Look]) -> str:
        recent = [look for look in looks if look.at >= looks[-1].at - 2 * PERSIST_SECONDS]
        least = _least([look.tasks for look in recent])
        span = max(recent[-1].at - recent[0].at, 0.001)
        passing = (recent[-1].finished - recent[0].finished) / span * SETTLING_SECONDS
        if len(recent) < LOOKS_MIN or abs(least) <= passing:
            return ""
        if least < 0:
            return f"Dask does not know {plural(-least, 'job')} that the records say it holds."
        return f"Dask holds {plural(least, 'task')} that the records do not know."

    def _threads(self, looks: list[_Look]) -> str:
        least = min(look.astray for look in looks)
        if least == 1:
            return "1 slot is still taken: the thread of a cancelled or expired job has not ended."
        return f"{least} slots are still taken: the threads of cancelled or expired jobs have not ended."


def dask_unfinished(picture: DaskPicture) -> int:
    """Count the tasks Dask still has to finish."""
    return sum(picture.tasks.get(state, 0) for state in ("waiting", "queued", "no-worker", "processing"))


def records_unfinished(overview: Overview) -> int:
    """Count the jobs the records say Dask holds: handed over, running, or ended before their thread."""
    return overview.delivered + overview.counts.get("running", 0) + threads_astray(overview)


def threads_astray(overview: Overview) -> int:
    """Count the threads that execute a job which is no longer running: one that ignores its cancel."""
    return max(overview.slots_taken - overview.counts.get("running", 0), 0)


def _least(numbers: list[int]) -> int:
    """Give the difference all looks share: the smallest, or 0 where its direction changed."""
    if not numbers or min(numbers) < 0 < max(numbers):
        return 0
    return min(numbers, key=abs)


def _tail(scheduler_id: str) -> str:
    return scheduler_id.rsplit("-", 1)[-1][:12] or "none"
