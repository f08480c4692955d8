"""The recovery owner: reads, plans, applies. Start-up, scheduler loss and worker loss all end up here."""

import asyncio
import os
import socket
from collections.abc import Callable
from concurrent.futures import Future

import structlog
from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.commands import recovery
from jobdeck_backend.errors import LeaseLost
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Attempt, Lease
from jobdeck_backend.loops import Loop
from jobdeck_backend.recovery.plan import Act, Action, Bounds, Situation, plan
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import leases
from jobdeck_backend.store import recovery as situations
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer

log = structlog.get_logger(__name__)

INTERVAL_S = 0.5
ROLE = "recovery"
HOST = socket.gethostname()
OWNER = f"{HOST}:{os.getpid()}"


def owner_is_gone(owner: str) -> bool:
    """Whether a former owner certainly ended: it was a process of this machine that does not exist."""
    host, _, pid = owner.rpartition(":")
    if host != HOST or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


class Reaper(Loop):
    """One pass: hold the lease, look at what may need something done, do it."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        writer: Writer,
        *,
        worker_gone: Callable[[Attempt], str | None],
    ) -> None:
        """``worker_gone`` tells what took an attempt's worker, or None while it may live."""
        super().__init__(INTERVAL_S)
        self._settings = settings
        self._database = database
        self._writer = writer
        self._worker_gone = worker_gone
        self._pass = asyncio.Lock()
        self._bounds = Bounds(
            settings.expire_grace_s,
            settings.heartbeat_stale_s,
            settings.cancel_grace_s,
            settings.lost_attempts_max,
        )
        self.lease: Lease | None = None

    async def run_once(self) -> None:
        """Plan and apply now; answers when it is done."""
        async with self._pass:
            if not await self._hold_lease():
                return
            try:
                for action in await asyncio.to_thread(self._plan):
                    await self._apply(action)
            except LeaseLost as lost:
                log.warning("recovery stops here", reason=lost.message)
                self.lease = None

    async def release(self) -> None:
        """Leave the lease to the next owner."""
        if self.lease is not None:
            await asyncio.wrap_future(self._writer.submit(leases.release, self.lease, now()))

    async def _hold_lease(self) -> bool:
        if self.lease is None or self.lease.expires_at - now() < self._settings.lease_ttl_s / 2:
            self.lease = await asyncio.wrap_future(
                self._writer.submit(
                    leases.acquire, ROLE, OWNER, now(), self._settings.lease_ttl_s, is_gone=owner_is_gone
                )
            )
        return self.lease is not None

    def _plan(self) -> list[Action]:
        with self._database.read() as tx:
            return plan(self._situations(tx), self._bounds, now())

    def _situations(self, tx: Connection) -> list[Situation]:
        found = []
        for one in situations.candidates(tx, now()):
            loss = self._worker_gone(one.attempt) if one.attempt else None
            found.append(
                Situation(
                    one.job,
                    one.deadline,
                    one.attempt,
                    worker_gone=loss is not None,
                    loss=loss or "",
                    lost_attempts=one.lost_attempts,
                    last_stage=one.last_stage,
                    checkpoint_id=one.checkpoint_id,
                    unknown_effect=one.unknown_effect,
                )
            )
        return found

    async def _apply(self, action: Action) -> None:
        done = await asyncio.wrap_future(self._submit(action))
        log.info("recovery", act=action.act, job_id=action.job_id, reason=action.reason, done=done)

    def _submit(self, action: Action) -> "Future[bool]":
        assert self.lease is not None
        seen = (self.lease, action.job_id, action.status, action.fence)
        match action.act:
            case Act.EXPIRE:
                return self._writer.submit(recovery.expire, *seen, reason=action.reason, now=now())
            case Act.REQUEUE | Act.HOLD:
                return self._writer.submit(
                    recovery.reclaim,
                    *seen,
                    Verb.RECOVER if action.act is Act.REQUEUE else Verb.HOLD,
                    attempt=action.attempt,
                    attempt_end=action.attempt_end or action.reason,
                    heartbeat_at=action.heartbeat_at,
                    reason=action.reason,
                    now=now(),
                )
            case Act.REVOKE:
                return self._writer.submit(recovery.revoke, *seen, now())
            case Act.END_ATTEMPT:
                return self._writer.submit(
                    recovery.end_attempt,
                    self.lease,
                    action.job_id,
                    action.attempt,
                    reason=action.reason,
                    now=now(),
                )
