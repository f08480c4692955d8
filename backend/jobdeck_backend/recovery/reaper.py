"""The recovery owner: reads, plans, applies. Start-up, scheduler loss and worker loss all end up here."""

import asyncio
import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog
from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.commands import recovery
from jobdeck_backend.errors import JobdeckError, LeaseLost, NotEligible, Unavailable
from jobdeck_backend.instance import owner_is_gone, this_process
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Lease
from jobdeck_backend.loops import Loop
from jobdeck_backend.recovery import situations
from jobdeck_backend.recovery.plan import RECOVERS, REQUEUES, Act, Action, Bounds, plan
from jobdeck_backend.recovery.situations import WorkerGone
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import leases
from jobdeck_backend.store import recovery as recovery_rows
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer

log = structlog.get_logger(__name__)

INTERVAL_S = 0.5
# Actions in one transaction: others' commands get their turn between.
GROUP_MAX = 128
ROLE = "recovery"
# How each way to take a job from a lost execution is put on record.
RECLAIMS = {**dict.fromkeys(REQUEUES, Verb.RECOVER), Act.HOLD: Verb.HOLD, Act.FAIL: Verb.TIME_OUT}


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of an action; ``skipped`` is why nothing was done, None when it was."""

    action: Action
    skipped: str | None


@dataclass(frozen=True, slots=True)
class Reading:
    """The plan as it is to be read: what would be done, what is left and why, and how many are in line."""

    actions: Sequence[Action]
    in_line: int
    lease: Lease | None


class Reaper(Loop):
    """One pass: hold the lease, look at what may need something done, do it."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        writer: Writer,
        *,
        worker_gone: WorkerGone,
    ) -> None:
        super().__init__(INTERVAL_S)
        self._settings = settings
        self._database = database
        self._writer = writer
        self._worker_gone = worker_gone
        self._pass = asyncio.Lock()
        self._looked_at = now()
        self._silence_counts_from = 0.0
        self._bounds = Bounds(
            settings.expire_grace_s,
            settings.heartbeat_stale_s,
            settings.cancel_grace_s,
            settings.ghost_timeout_s,
            settings.lost_attempts_max,
        )
        # By job and fence, since when its recovery is planned here and not done.
        self._planned: dict[tuple[str, int], float] = {}
        self.lease: Lease | None = None

    def is_automatic(self, act: Act) -> bool:
        """Whether an action is carried out without a person."""
        return act is not Act.LEAVE and (self._settings.recovery == "auto" or act not in RECOVERS)

    def awaits_a_person(self, job_id: str, fence: int) -> bool:
        """Whether an execution is lost and its job recovered by a person only; known where the lease is held."""
        return self._settings.recovery == "manual" and (job_id, fence) in self._planned

    async def run_once(self) -> None:
        """Plan and apply now; answers when it is done."""
        async with self._pass:
            if not await self._hold_lease():
                self._looked_at = now()
                return
            self._notice_absence()
            actions = await asyncio.to_thread(self._plan)
            self._planned = {
                key: self._planned.get(key, now())
                for key in ((one.job_id, one.fence) for one in actions if one.act in RECOVERS)
            }
            await self._apply([one for one in actions if self.is_automatic(one.act)])

    def _notice_absence(self) -> None:
        """So long after the last pass the database was away, and nobody's heartbeat could be written: who lives
        gets the time of one to be heard (R24)."""
        if now() - self._looked_at > self._settings.heartbeat_stale_s / 2:
            self._silence_counts_from = now() + self._settings.heartbeat_s
        self._looked_at = now()

    def read(self) -> Reading:
        """The plan as it stands, held jobs and live ones too; changes nothing. Call it from a thread."""
        with self._database.read() as tx:
            actions = self._plan_in(tx, with_held=True)
            return Reading(actions, recovery_rows.in_line(tx), leases.load(tx, ROLE))

    async def apply(self, job_ids: Collection[str] | None) -> list[Applied]:
        """Carry out the plan as it is now, for these jobs or for all.

        Each action is checked again in its own transaction. Raises ``NotEligible`` when another process owns the
        recovery.
        """
        async with self._pass:
            if not await self._hold_lease():
                held = (await asyncio.to_thread(self.read)).lease
                raise NotEligible(f"recovery belongs to {held.owner if held else 'nobody'}; nothing was done")
            reading = await asyncio.to_thread(self.read)
            wanted = [one for one in reading.actions if job_ids is None or one.job_id in job_ids]
            applied = await self._apply([one for one in wanted if one.act is not Act.LEAVE])
            left = [Applied(one, one.reason) for one in wanted if one.act is Act.LEAVE]
            return applied + (left if job_ids is not None else [])

    async def release(self) -> None:
        """Leave the lease to the next owner, who waits for its end where that cannot be written."""
        if self.lease is not None:
            with suppress(Unavailable):
                await self._writer.submit(leases.release, self.lease, now())

    async def _hold_lease(self) -> bool:
        if self.lease is None or self.lease.expires_at - now() < self._settings.lease_ttl_s / 2:
            self.lease = await self._writer.submit(
                leases.acquire,
                ROLE,
                this_process(),
                now(),
                self._settings.lease_ttl_s,
                is_gone=owner_is_gone,
            )
        return self.lease is not None

    def _plan(self) -> list[Action]:
        with self._database.read() as tx:
            return self._plan_in(tx, with_held=False)

    def _plan_in(self, tx: Connection, *, with_held: bool) -> list[Action]:
        bounds = self._bounds_now()
        found = situations.look(tx, self._worker_gone, bounds, self._planned, with_held=with_held)
        return plan(found, bounds, now())

    def _bounds_now(self) -> Bounds:
        """While the database took no writes no heartbeat could be written: afterwards each has its time again."""
        condition, stale_s = self._database.condition, self._bounds.heartbeat_stale_s
        usable_since = -math.inf if condition.usable_since is None else condition.usable_since
        silence_counts_from = max(self._silence_counts_from, usable_since + stale_s)
        if condition.trouble is None and now() >= silence_counts_from:
            return self._bounds
        return replace(self._bounds, heartbeat_stale_s=math.inf)

    async def _apply(self, actions: Sequence[Action]) -> list[Applied]:
        """Write what was planned under the lease held now; once that is over, nothing more of it."""
        assert self.lease is not None
        epoch = self.lease.epoch
        applied: list[Applied] = []
        for start in range(0, len(actions), GROUP_MAX):
            group = actions[start : start + GROUP_MAX]
            if self.lease is None or not await self._hold_lease() or self.lease.epoch != epoch:
                self.lease = None
                applied += [Applied(one, "another process took the recovery over") for one in group]
                continue
            results = await self._carry_out(self.lease, group)
            applied += [self._applied(one, result) for one, result in zip(group, results, strict=True)]
        return applied

    async def _carry_out(self, lease: Lease, group: Sequence[Action]) -> list[bool | JobdeckError]:
        """One transaction for all; where it is refused each has its own, to learn whose fault that is."""
        steps = [_step(one, now()) for one in group]
        try:
            return [*await self._write(lease, steps)]
        except JobdeckError as error:
            if isinstance(error, LeaseLost) or len(group) == 1:
                return [error] * len(group)
        return [result for one in group for result in await self._carry_out(lease, [one])]

    async def _write(self, lease: Lease, steps: Sequence[recovery.Step]) -> list[bool]:
        return await self._writer.submit(recovery.carry_out, lease, steps, now())

    def _applied(self, action: Action, result: object) -> Applied:
        if isinstance(result, LeaseLost):
            self.lease = None
        if isinstance(result, JobdeckError):
            skipped: str | None = result.message
        else:
            skipped = None if result else "it changed since the plan was made"
        log.info("recovery", act=action.act, job_id=action.job_id, reason=action.reason, skipped=skipped)
        return Applied(action, skipped)


def _step(action: Action, at: float) -> recovery.Step:
    """The command that does what an action says."""
    seen = (action.job_id, action.status, action.fence)
    match action.act:
        case Act.EXPIRE:
            return lambda tx: recovery.expire(tx, *seen, reason=action.reason, now=at)
        case Act.REVOKE:
            return lambda tx: recovery.revoke(tx, *seen, at)
        case Act.END_ATTEMPT:
            attempt = action.attempt
            assert attempt is not None
            return lambda tx: recovery.end_attempt(tx, action.job_id, attempt, reason=action.reason, now=at)
    return lambda tx: recovery.reclaim(
        tx,
        *seen,
        RECLAIMS[action.act],
        attempt=action.attempt,
        attempt_end=action.attempt_end or action.reason,
        heartbeat_at=action.heartbeat_at,
        reason=action.reason,
        now=at,
    )
