"""Delivers what callers are owed: at least once, each attempt bounded and on record, in nobody's way (R8)."""

import asyncio
from collections.abc import Sequence

import httpx
import structlog

from jobdeck_backend.addresses import open_client, origin
from jobdeck_backend.clock import now
from jobdeck_backend.commands import callback
from jobdeck_backend.errors import AddressRefused, Unavailable
from jobdeck_backend.jobs.records import Notification, Status, StoredEvent
from jobdeck_backend.loops import Loop
from jobdeck_backend.notify.signing import sign
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import notifications
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer

log = structlog.get_logger(__name__)

INTERVAL_S = 1.0
PAUSE_S = 0.05
RETRY_S_MAX = 3_600.0
# What an attempt has beyond its own bound to get its end on record.
RECORD_S = 5.0
ERROR_CHARS_MAX = 300


def retry_delay_s(first_s: float, attempts: int) -> float:
    """The pause after that many failed attempts: doubled each time, an hour at most."""
    return min(first_s * 2.0 ** min(attempts - 1, 32), RETRY_S_MAX)


class Sender(Loop):
    """One pass: take what is due, as far as there is room, and send each in a task of its own."""

    def __init__(self, settings: Settings, database: Database, writer: Writer, secret: bytes) -> None:
        """``secret`` signs every body."""
        super().__init__(INTERVAL_S, PAUSE_S)
        self._settings = settings
        self._database = database
        self._writer = writer
        self._secret = secret
        self._client: httpx.AsyncClient | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def hear(self, new: Sequence[StoredEvent]) -> None:
        """Events of the log: an end or a hold may come with a callback, not a job's first, its acceptance."""
        if any(event.status not in {None, Status.RUNNING} and event.seq > 1 for event in new):
            self.wake()

    async def run_once(self) -> None:
        """Begin every attempt that is due, at most ``callback_concurrency_max`` at a time."""
        free = self._settings.callback_concurrency_max - len(self._sending)
        due_at = await asyncio.to_thread(self._next_due)
        if free <= 0 or due_at is None or due_at > now():
            return
        until = now() + self._settings.callback_timeout_s + RECORD_S
        taken = await self._writer.submit(notifications.take, now(), free, until)
        for notification in taken:
            task = asyncio.create_task(self._attempt(notification), name=f"callback {notification.id}")
            self._sending.add(task)
            task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """End; an attempt under way is made again after the next start."""
        await super().stop()
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    def _next_due(self) -> float | None:
        with self._database.read() as tx:
            return notifications.next_due(tx)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._sending.discard(task)
        self.wake()

    async def _attempt(self, notification: Notification) -> None:
        """Send once and put on record what came of it."""
        error = await self._send(notification)
        log.info(
            "callback",
            job_id=notification.job_id,
            delivery=notification.id,
            target=origin(notification.url),
            attempt=notification.attempts,
            error=error,
        )
        try:
            await self._settle(notification, error)
        except Unavailable as unavailable:
            # Still pending on record: it is sent again, which the receiver can tell by its id.
            log.warning("what came of a callback is not on record", reason=unavailable.message)

    def _settle(self, notification: Notification, error: str | None) -> "asyncio.Future[bool]":
        if error is None:
            return self._writer.submit(callback.delivered, notification, now())
        last = notification.attempts >= self._settings.callback_attempts_max
        delay_s = retry_delay_s(self._settings.callback_retry_s, notification.attempts)
        next_at = None if last else now() + delay_s
        return self._writer.submit(callback.attempt_failed, notification, error, next_at)

    async def _send(self, notification: Notification) -> str | None:
        """One POST; answers what went wrong, None when the receiver confirmed it with a 2xx."""
        if self._client is None:
            # Made at the first use: most servers never need it.
            self._client = open_client(
                allow_private=self._settings.allow_private_addresses,
                timeout_s=self._settings.callback_timeout_s,
            )
        body = notification.body.encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "jobdeck",
            "X-Jobdeck-Delivery": notification.id,
            "X-Jobdeck-Signature": sign(self._secret, body, int(now())),
        }
        try:
            async with (
                asyncio.timeout(self._settings.callback_timeout_s),
                # Streamed and not read: the answer's status is all that counts.
                self._client.stream("POST", notification.url, content=body, headers=headers) as response,
            ):
                return None if response.is_success else f"the receiver answered {response.status_code}"
        except AddressRefused as refusal:
            return refusal.message
        except (TimeoutError, httpx.TimeoutException):
            return f"no answer within {self._settings.callback_timeout_s:g} s"
        except Exception as error:  # whatever it is, the attempt failed and is counted
            return f"{type(error).__name__}: {error}"[:ERROR_CHARS_MAX]
