"""The operations API and the jobs API as typed calls. Every call may raise what ``errors`` lists."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

from . import bulk, decode, models, recovery, workers
from .drills import Drill, read_drill
from .errors import NotUnderstood
from .fields import Fields, Unreadable, many
from .http import Http
from .saving import Saving

OPS = "/v1/ops"
JOBS = "/v1/jobs/async"
PAGE_ROWS = 500

Answer = TypeVar("Answer")


class Api:
    """One server. Used as an async context manager, or closed by hand."""

    def __init__(self, url: str, http: Http | None = None, *, read_only: bool = False) -> None:
        self.http = http or Http(url, read_only=read_only)

    @property
    def url(self) -> str:
        """The server's address."""
        return self.http.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self.http.close()

    async def overview(self) -> models.Overview:
        """Read the snapshot of the whole."""
        return _read(decode.overview, await self.http.get(f"{OPS}/overview"))

    async def pages(
        self, filter_text: str = "", *, sort: str = "", rows: int = PAGE_ROWS
    ) -> AsyncIterator[models.JobPage]:
        """Read the job list, ``rows`` at a time.

        ``filter_text`` is in the deck's language, ``sort`` in the server's.
        """
        cursor: str | None = None
        while True:
            params: dict[str, str | int] = {"limit": rows}
            params |= {"sort": sort} if sort else {}
            params |= {"filter": filter_text} if filter_text else {}
            params |= {"cursor": cursor} if cursor is not None else {}
            page = _read(decode.job_page, await self.http.get(f"{OPS}/jobs", params))
            yield page
            if page.next is None or page.next == cursor:
                return
            cursor = page.next

    async def job(self, job_id: str) -> models.JobDetail:
        """Read everything known about one job."""
        return _read(decode.job_detail, await self.http.get(job_path(job_id)))

    async def why(self, job_id: str) -> tuple[str, str]:
        """Read why a job is where it is: a code and a sentence."""
        return _read(decode.why, await self.http.get(f"{job_path(job_id)}/why"))

    async def act(
        self,
        act: str,
        job_id: str,
        *,
        version: int | None = None,
        reason: str | None = None,
        extend_seconds: float | None = None,
    ) -> models.Job:
        """Cancel, expire, resume or grant; give the row after it. ``version`` is the row's as it was seen."""
        return _read(
            decode.job, await self.http.post(*act_call(act, job_id, version, reason, extend_seconds))
        )

    async def act_on_all(
        self,
        act: str,
        versions: Mapping[str, int],
        *,
        reason: str | None = None,
        extend_seconds: float | None = None,
        dry_run: bool = False,
    ) -> bulk.BulkAnswer:
        """Do one act on many jobs, each at the version that was seen; a dry run says what would come of it."""
        body = bulk.bulk_body(act, versions, reason, extend_seconds, dry_run=dry_run)
        return _read(bulk.bulk_answer, await self.http.post(f"{OPS}/jobs/bulk", body))

    async def prioritise(
        self, job_id: str, priority: int, *, version: int | None = None, reason: str | None = None
    ) -> models.Job:
        """Move a job in the line; give the row after it."""
        fields = {"priority": priority, "version": version, "reason": reason}
        return _read(decode.job, await self.http.post(f"{job_path(job_id)}/priority", fields))

    async def clone(
        self, job_id: str, *, version: int | None = None, reason: str | None = None
    ) -> models.Job:
        """Submit a job's request again under a new id; give the new job."""
        fields = {"version": version, "reason": reason}
        return _read(decode.job, await self.http.post(f"{job_path(job_id)}/clone", fields))

    async def audit(self, limit: int) -> tuple[models.AuditRow, ...]:
        """Read the newest acts, newest first."""
        page = await self.http.get(f"{OPS}/audit", {"newest": "true", "limit": limit})
        return _list(decode.audit_row, page, "acts")

    async def judge(
        self, job_id: str, key: str, verdict: str, *, proof: str | None = None, reason: str | None = None
    ) -> models.Effect:
        """Say whether an uncertain effect happened (with its proof), did not, or is to be tried again."""
        return _read(decode.effect, await self.http.post(*verdict_call(job_id, key, verdict, proof, reason)))

    async def cluster(self) -> models.Cluster:
        """Read the backend's own view of the cluster."""
        return _read(decode.cluster, await self.http.get(f"{OPS}/cluster"))

    async def queues(self) -> tuple[models.Queue, ...]:
        """Read every queue."""
        return _list(decode.queue, await self.http.get(f"{OPS}/queues"), "queues")

    async def set_paused(self, name: str, *, paused: bool, reason: str | None = None) -> models.Queue:
        """Stop handing out a queue's jobs (it goes on accepting them), or hand them out again."""
        return _read(decode.queue, await self.http.post(*pause_call(name, paused=paused, reason=reason)))

    async def act_on_worker(
        self, name: str, act: str, *, reason: str | None = None, grace_seconds: float | None = None
    ) -> workers.WorkerAct:
        """Drain a worker, take it back, or restart it; answers at once, while its jobs go on."""
        call = worker_call(name, act, reason, grace_seconds)
        return _read(workers.worker_act, await self.http.post(*call))

    async def worker_log(self, name: str, tail: int) -> workers.WorkerLog:
        """Read the last lines of a worker's log."""
        return _read(workers.worker_log, await self.http.get(f"{worker_path(name)}/log", {"tail": tail}))

    async def failures(self) -> tuple[workers.Failure, ...]:
        """Read what failed, by kind."""
        return _list(workers.failure, await self.http.get(f"{OPS}/failures"), "failures")

    async def start_drill(self, fault: str, *, confirm: str, target: str | None = None) -> Drill:
        """Inject a fault; ``confirm`` repeats its name as the operator typed it."""
        body = {"fault": fault, "confirm": confirm, "target": target}
        return _read(read_drill, await self.http.post(f"{OPS}/drills", body))

    async def heal_drill(self, drill_id: str) -> Drill:
        """End a drill's fault at once."""
        return _read(read_drill, await self.http.post(f"{OPS}/drills/{quote(drill_id, safe='')}/heal", {}))

    async def drills(self) -> tuple[Drill, ...]:
        """Read the newest drills, newest first."""
        return _list(read_drill, await self.http.get(f"{OPS}/drills"), "drills")

    async def drill(self, drill_id: str) -> Drill:
        """Read a drill whole."""
        return _read(read_drill, await self.http.get(f"{OPS}/drills/{quote(drill_id, safe='')}"))

    async def recovery_plan(self) -> recovery.RecoveryPlan:
        """Read what recovery would do now."""
        return _read(recovery.plan, await self.http.get(f"{OPS}/recovery/plan"))

    async def apply_plan(
        self, jobs: Sequence[str] | None, *, reason: str | None = None
    ) -> recovery.AppliedPlan:
        """Carry out the plan as it is now, for these jobs or for all."""
        body = {"jobs": None if jobs is None else list(jobs), "reason": reason}
        return _read(recovery.applied, await self.http.post(f"{OPS}/recovery/apply", body))

    async def resend(self, job_id: str, notification_id: str, *, reason: str | None = None) -> None:
        """Send once more what the job's caller was to be told."""
        await self.http.post(resend_path(job_id, notification_id), {"reason": reason})

    async def save_bundle(self, job_id: str, saving: Saving, *, content: bool = False) -> None:
        """Save all that is on record about a job."""
        await self.http.download("GET", f"{job_path(job_id)}/bundle", {"content": content}, saving.write)
        saving.keep()

    async def save_backup(self, saving: Saving) -> int:
        """Save a copy of the server's database; give the number of violations in it.

        Raises:
            NotUnderstood: what came is not what was sent.
        """
        headers = await self.http.download("POST", f"{OPS}/backup", {}, saving.write)
        if headers.get("x-jobdeck-sha256") != saving.sha256:
            raise NotUnderstood("The backup did not come over whole; nothing was kept of it. Ask again.")
        saving.keep()
        violations = headers.get("x-jobdeck-violations", "")
        return int(violations) if violations.isascii() and violations.isdigit() else 0

    async def workflows(self) -> tuple[models.Workflow, ...]:
        """Read all workflows."""
        return _list(decode.workflow, await self.http.get(f"{OPS}/workflows"), "workflows")

    async def submit(self, request: Mapping[str, object]) -> models.Submitted:
        """Ask for a job, with the fields of the jobs API's submit."""
        return _read(decode.submitted, await self.http.post(f"{JOBS}/submit", request))

    async def outcome(self, job_id: str) -> tuple[str | None, str | None]:
        """Read how a job ended, None while it has not, and its error."""
        return _read(decode.outcome, await self.http.get(f"{JOBS}/job/{quote(job_id, safe='')}"))

    async def report(self, job_id: str) -> models.Report:
        """Read a job's report as far as it is there."""
        return _read(decode.report, await self.http.get(f"{JOBS}/job/{quote(job_id, safe='')}/report"))


def job_path(job_id: str) -> str:
    """Give the operations API's path of a job."""
    return f"{OPS}/jobs/{quote(job_id, safe='')}"


def resend_path(job_id: str, notification_id: str) -> str:
    """Give the path that sends a notification again."""
    return f"{job_path(job_id)}/notifications/{quote(notification_id, safe='')}/resend"


def act_call(
    act: str, job_id: str, version: int | None, reason: str | None, extend_seconds: float | None
) -> tuple[str, dict[str, object]]:
    """Give path and body of an act."""
    fields = {"version": version, "reason": reason, "extend_seconds": extend_seconds}
    return f"{job_path(job_id)}/{act}", {name: value for name, value in fields.items() if value is not None}


def worker_path(name: str) -> str:
    """Give the operations API's path of a worker."""
    return f"{OPS}/workers/{quote(name, safe='')}"


def worker_call(
    name: str, act: str, reason: str | None, grace_seconds: float | None
) -> tuple[str, dict[str, object]]:
    """Give path and body of an act on a worker."""
    fields = {"reason": reason, "grace_seconds": grace_seconds}
    path = f"{worker_path(name)}/{act}"
    return path, {field: value for field, value in fields.items() if value is not None}


def pause_call(name: str, *, paused: bool, reason: str | None) -> tuple[str, dict[str, object]]:
    """Give path and body of pausing a queue, or of unpausing it."""
    return f"{OPS}/queues/{quote(name, safe='')}/{'pause' if paused else 'resume'}", {"reason": reason}


def verdict_call(
    job_id: str, key: str, verdict: str, proof: str | None, reason: str | None
) -> tuple[str, dict[str, object]]:
    """Give path and body of a verdict; an effect's key has slashes."""
    fields = {"verdict": verdict, "proof": proof, "reason": reason}
    path = f"{job_path(job_id)}/effects/{quote(key)}"
    return path, {name: value for name, value in fields.items() if value is not None}


def _read(read: Callable[[object], Answer], data: object) -> Answer:
    try:
        return read(data)
    except Unreadable as error:
        raise NotUnderstood(f"The server's answer cannot be read: {error}.") from error


def _list(read: Callable[[object], Answer], data: object, name: str) -> tuple[Answer, ...]:
    return _read(lambda answer: many(Fields(answer).listed(name), read)[0], data)
