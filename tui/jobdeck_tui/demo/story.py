"""The headless demo: the same story as the deck's, told as text, and checked."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from jobdeck_tui.client.api import Api
from jobdeck_tui.client.drills import Drill
from jobdeck_tui.client.errors import ClientError
from jobdeck_tui.client.models import Cluster, Job, Overview
from jobdeck_tui.demo import witness
from jobdeck_tui.demo.documents import Document, find_documents
from jobdeck_tui.demo.narrator import Narrator
from jobdeck_tui.demo.workload import REVIEW, Workload, submit
from jobdeck_tui.text.format import plural

LOOK_S = 0.1
STATES = ("backlog", "waiting", "queued", "assigned", "running", "succeeded")
CLUSTER_WITHIN_S, HALFWAY_WITHIN_S, DRILL_WITHIN_S, END_WITHIN_S = 20.0, 45.0, 30.0, 80.0


@dataclass(frozen=True)
class Processes:
    """The pids behind one epoch."""

    epoch: int
    scheduler: int
    workers: tuple[int, ...]


class Story:
    """One telling, against a backend that runs already."""

    def __init__(self, api: Api, state_dir: Path, narrator: Narrator) -> None:
        self._api = api
        self._state_dir = state_dir
        self._tell = narrator

    async def run(self) -> None:
        """Tell it from start to end. Raises ``ClientError`` or ``TimeoutError`` when it cannot go on."""
        documents = find_documents()
        await self._until("the cluster is up", self._cluster_is_up, CLUSTER_WITHIN_S)
        before = await self._processes()
        self._tell.say(
            "cluster",
            f"epoch {before.epoch}: scheduler pid {before.scheduler}, workers pids {_list(before.workers)}",
            epoch=before.epoch,
            scheduler=before.scheduler,
            workers=before.workers,
        )
        workload = await submit(self._api, documents)
        self._tell.say(
            "submitted",
            f"{len(documents)} licence documents of this machine, one review each, and a portfolio after them",
            jobs=len(workload.reviews) + 1,
        )
        await self._until("reviews are under way", self._under_way, HALFWAY_WITHIN_S)
        await self._cancel_and_resume(workload)
        await self._lose_the_scheduler(before)
        await self._until("the portfolio is finished", self._finished(workload.portfolio), END_WITHIN_S)
        await self._check_the_end(documents, workload)

    # Chapters

    async def _cancel_and_resume(self, workload: Workload) -> None:
        """The operator's c and r on the last review, which has not been started."""
        job_id = workload.reviews[-1]
        await self._api.act("cancel", job_id, reason="demo")
        cancelled = (await self._api.job(job_id)).job
        resumed = await self._api.act("resume", job_id, reason="demo")
        self._tell.check(
            "cancel and resume",
            f"{job_id} was {cancelled.state}, then resumed on its thread: {resumed.state}",
            held=cancelled.state == "cancelled" and not resumed.finished,
        )

    async def _lose_the_scheduler(self, before: Processes) -> None:
        done_before = _completed(self._state_dir)
        self._tell.say("drill", f"drill scheduler-loss: SIGKILL to the scheduler, pid {before.scheduler}")
        drill = await self._api.start_drill("scheduler-loss", confirm="scheduler-loss")
        drill = await self._drill_end(drill.id)
        for step in drill.timeline:
            seen = "" if step.seen is None else f" (after {step.seen:.2f} s)"
            self._tell.say("drill_step", f"  {step.name}: {step.text}{seen}", verdict=step.verdict)
        after = await self._processes()
        gone = [pid for pid in (before.scheduler, *before.workers) if witness.process_exists(pid)]
        self._tell.check(
            "processes",
            f"epoch {before.epoch} → {after.epoch}, scheduler {before.scheduler} → {after.scheduler}, "
            f"workers {_list(before.workers)} → {_list(after.workers)}"
            + (f"; still there: {_list(gone)}" if gone else "; the old ones are gone"),
            held=not gone and after.epoch == before.epoch + 1 and witness.process_exists(after.scheduler),
        )
        self._tell.check("drill", f"the drill {drill.state}", held=drill.state == "passed")
        again = [
            stage for stage in witness.restarted_after_completion(self._journal()) if stage in done_before
        ]
        self._tell.check(
            "finished stages kept",
            f"finished before the loss: {plural(len(done_before), 'stage')}, {len(again)} of them started again",
            held=bool(done_before) and not again,
        )

    async def _check_the_end(self, documents: list[Document], workload: Workload) -> None:
        rows = {job.job_id: job async for page in self._api.pages() for job in page.jobs}
        reviews = [rows[job_id] for job_id in workload.reviews]
        succeeded = [job for job in reviews if job.state == "succeeded"]
        self._tell.check(
            "every review succeeded",
            f"{len(succeeded)} of {len(reviews)}" + _others(reviews),
            held=len(succeeded) == len(reviews),
        )
        resumed = [job for job in succeeded if job.attempt > 1]
        self._tell.check(
            "jobs resumed after the loss",
            f"{len(resumed)} needed a second attempt: {_list(job.job_id for job in resumed)}",
            held=bool(resumed),
        )
        late = [
            job.job_id
            for job in reviews
            if job.finished_at and job.deadline and job.finished_at > job.deadline
        ]
        self._tell.check("deadlines", f"{plural(len(late), 'review')} ended past its own", held=not late)
        journal = self._journal()
        repeated = witness.repeated_stages(journal)
        pids = {line.pid for line in journal}
        stages = sum(line.event == "stage_completed" for line in journal)
        self._tell.check(
            "each stage completed once",
            f"the synced journal has {stages} completed stages by pids {_list(sorted(pids))}, "
            f"{len(repeated)} of them twice",
            held=not repeated and stages >= len(reviews),
        )
        report = await self._api.report(workload.portfolio)
        text = report.text or ""
        named = [document.title for document in documents if document.title in text]
        self._tell.check(
            "portfolio report",
            f"{len(text)} characters, naming {len(named)} of {len(documents)} documents",
            held=len(named) == len(documents),
        )

    # Looking

    async def _cluster_is_up(self, overview: Overview) -> bool:
        return overview.scheduler.state == "up" and overview.workers > 0

    async def _under_way(self, overview: Overview) -> bool:
        """Some reviews are done with stages, some run: the moment at which a loss hurts most."""
        return overview.counts["succeeded"] >= 2 and overview.counts["running"] >= 2

    def _finished(self, job_id: str) -> Callable[[Overview], Awaitable[bool]]:
        async def look(_overview: Overview) -> bool:
            return (await self._api.job(job_id)).job.finished

        return look

    async def _until(self, what: str, look: Callable[[Overview], Awaitable[bool]], within_s: float) -> None:
        """Wait for something, saying the counts whenever they changed, at most once a second."""
        since, told_at, told = time.monotonic(), 0.0, ""
        while True:
            overview = await self._api.overview()
            counts = "  ".join(f"{state} {overview.counts.get(state, 0)}" for state in STATES)
            if counts != told and time.monotonic() - told_at >= 1.0:
                told, told_at = counts, time.monotonic()
                self._tell.say("counts", counts, **{state: overview.counts.get(state, 0) for state in STATES})
            if await look(overview):
                return
            if time.monotonic() - since > within_s:
                raise TimeoutError(f"not within {within_s:.0f} s: {what}")
            await asyncio.sleep(LOOK_S)

    async def _drill_end(self, drill_id: str) -> Drill:
        async with asyncio.timeout(DRILL_WITHIN_S):
            while (drill := await self._api.drill(drill_id)).state == "running":  # noqa: ASYNC110
                await asyncio.sleep(LOOK_S)
        return drill

    async def _processes(self) -> Processes:
        cluster: Cluster = await self._api.cluster()
        pids = tuple(sorted(worker.pid for worker in cluster.workers if worker.pid))
        return Processes(int(str(cluster.scheduler["epoch"])), int(str(cluster.scheduler["pid"])), pids)

    def _journal(self) -> list[witness.JournalLine]:
        return witness.read_journal(self._state_dir, REVIEW)


def _completed(state_dir: Path) -> set[tuple[str, str]]:
    journal = witness.read_journal(state_dir, REVIEW)
    return {(line.job_id, line.stage) for line in journal if line.event == "stage_completed"}


def _list(items: object) -> str:
    return ", ".join(map(str, items)) or "none"  # type: ignore[call-overload]


def _others(jobs: list[Job]) -> str:
    others = [
        f"{job.job_id} {job.state}: {job.error or job.reason}" for job in jobs if job.state != "succeeded"
    ]
    return f"; {'; '.join(others)}" if others else ""


async def tell(url: str, state_dir: Path, narrator: Narrator) -> None:
    """Tell the story against the backend at ``url``; what stops it counts as a failed check."""
    async with Api(url) as api:
        try:
            await Story(api, state_dir, narrator).run()
        except (ClientError, TimeoutError) as error:
            narrator.check("the story", str(error), held=False)
