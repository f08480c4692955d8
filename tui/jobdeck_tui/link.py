"""Between the deck's memory and a server: the feed, the job list, Dask's dashboard, and the acts sent.

The HTTP client is imported only here and only after the first frame is drawn. Every worker is named by its
group, tells failures as facts, and never ends the program.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from textual.dom import DOMNode

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.acts import Phase, Tracked
from jobdeck_tui.core.drill_words import Fault
from jobdeck_tui.core.eligibility import Act
from jobdeck_tui.core.job_view import JobView

if TYPE_CHECKING:
    from jobdeck_tui.app import DeckApp
    from jobdeck_tui.client.api import Api
    from jobdeck_tui.client.dask_dashboard import DaskDashboard
    from jobdeck_tui.client.feed import FeedItem
    from jobdeck_tui.client.stream import StreamItem


class Reach(Protocol):
    """Finds or starts the server."""

    async def reach(self, say: Callable[[str], None]) -> str:
        """The server's URL; ``say`` takes words on what is being waited for."""

    def trouble(self) -> str | None:
        """What is known of why the server does not answer."""


Work = Callable[[], Coroutine[Any, Any, None]]


class Link:
    """The one user of the client. Coroutines here run as Textual workers on the deck's event loop."""

    def __init__(self, program: "DeckApp", reach: Reach) -> None:
        self._program = program
        self._deck = program.deck
        self._reach = reach
        self._api: Api | None = None
        self._ready = asyncio.Event()
        self._dashboard: DaskDashboard | None = None
        self._polling = False
        self._resume_after: set[int] = set()

    def start(self, node: DOMNode, work: Work, group: str, *, exclusive: bool = False) -> None:
        """Runs a coroutine function as a worker that ends with its node and cannot end the program."""
        node.run_worker(work, group=group, exclusive=exclusive, exit_on_error=False)  # type: ignore[arg-type]

    # The feed

    async def run(self) -> None:
        """Reaches the server, then follows its feed for ever."""
        await asyncio.to_thread(_import_client)
        from jobdeck_tui.client.api import Api
        from jobdeck_tui.client.errors import ClientError
        from jobdeck_tui.client.feed import Feed

        try:
            url = await self._reach.reach(self._say_progress)
        except ClientError as error:
            self._program.give_up(error.message, getattr(error, "exit_code", 3))
            return
        self._deck.server_words = url.split("://", 1)[-1]
        self._say_progress("")
        self._api = Api(url)
        self._ready.set()
        async for item in Feed(self._api, events=True).items():
            self._take(item)

    def _say_progress(self, words: str) -> None:
        self._deck.start_words = words
        self._deck.fresh = True

    def _take(self, item: "FeedItem") -> None:
        from jobdeck_tui.client import feed

        deck = self._deck
        match item:
            case feed.Lost():
                now, wall = deck.monotonic(), deck.now()
                if item.status is not None:
                    deck.connection.denied(now, wall, item.status)
                else:
                    reason = self._reach.trouble() or item.reason
                    deck.connection.lost(now, wall, reason, item.retry_in)
                deck.agreement.forget()
                deck.fresh = True
                return
            case feed.Connected():
                if not item.resumed:
                    self.start(self._program, self._list_jobs, "pages", exclusive=True)
                return
            case feed.OverviewSeen():
                deck.take_overview(item.overview)
            case feed.JobsChanged():
                deck.take_jobs(item.jobs)
                deck.unreadable += item.unreadable
            case feed.EventSeen():
                deck.take_event(item.event)
            case feed.DrillChanged():
                deck.take_drill(item.drill)
            case feed.FrameUnreadable():
                deck.unreadable += 1
        deck.take_frame()

    async def _list_jobs(self) -> None:
        from jobdeck_tui.client.errors import ClientError

        if self._api is None:
            return
        try:
            async for page in self._api.pages():
                self._deck.take_jobs(page.jobs)
                self._deck.unreadable += page.unreadable
                self._deck.fresh = True
        except ClientError as error:
            self._program.tell(f"The job list could not be read whole: {error.message}", severity="warning")

    # One job

    def follow_job(self, node: DOMNode, view: JobView) -> None:
        """Follows the job's stream into ``view`` for as long as ``node`` is there."""
        self.start(node, partial(self._follow, view), "follow", exclusive=True)

    async def _follow(self, view: JobView) -> None:
        await self._ready.wait()
        from jobdeck_tui.client.errors import ClientError
        from jobdeck_tui.client.stream import JobStream

        if self._api is None:
            return
        try:
            async for item in JobStream(self._api, view.job_id).items():
                self._take_stream(view, item)
        except ClientError as error:
            view.stream = error.message
            view.lines.say(error.message, style="bad")
        self._deck.fresh = True

    def _take_stream(self, view: JobView, item: "StreamItem") -> None:
        from jobdeck_tui.client import feed, stream

        match item:
            case stream.EventArrived():
                view.lines.add(item.event)
            case stream.StatusSeen():
                view.stream = f"ended: {item.status}" if item.terminal else "live"
            case stream.CaughtUp():
                view.stream = "live"
                if item.reconnected:
                    view.lines.say(f"reconnected: {item.refetched} events missed meanwhile, all refetched")
            case stream.Gap():
                view.lines.say(f"events {item.first} to {item.last} never came", style="bad")
            case feed.FrameUnreadable():
                view.lines.say("1 unreadable event", style="bad")
            case feed.Lost():
                view.stream = f"lost, again in {item.retry_in:.0f} s"
        self._deck.fresh = True

    def read_job(self, node: DOMNode, view: JobView, *, with_report: bool = False) -> None:
        """Reads the job's record (and report) into ``view``."""
        self.start(node, partial(self._read, view, with_report=with_report), "read", exclusive=True)

    async def _read(self, view: JobView, *, with_report: bool) -> None:
        await self._ready.wait()
        from jobdeck_tui.client.errors import ClientError

        if self._api is None:
            return
        try:
            view.take_detail(await self._api.job(view.job_id))
            if with_report:
                report = await self._api.report(view.job_id)
                view.take_report(report.text if report.has_report else None, "No report yet.")
        except ClientError as error:
            view.say_trouble(error.message)
        self._deck.fresh = True

    # Dask

    def poll_dask(self, *, with_cluster: bool) -> None:
        """Reads Dask's own dashboard once, and the backend's cluster view; skipped while one is under way."""
        if not self._polling and self._api is not None:
            self._polling = True
            self.start(self._program, partial(self._poll, with_cluster=with_cluster), "dask")

    async def _poll(self, *, with_cluster: bool) -> None:
        from jobdeck_tui.client.dask_dashboard import DaskDashboard
        from jobdeck_tui.client.errors import ClientError

        deck = self._deck
        try:
            if with_cluster and self._api is not None:
                deck.cluster = await self._api.cluster()
        except ClientError:
            deck.cluster = None
        try:
            url = deck.overview.scheduler.dashboard_url if deck.overview is not None else None
            if url is None:
                deck.take_picture(None, "The server names no Dask dashboard.")
                return
            if self._dashboard is None or not url.startswith(self._dashboard.url):
                if self._dashboard is not None:
                    await self._dashboard.close()
                self._dashboard = DaskDashboard(url)
            deck.take_picture(await self._dashboard.read())
        except ClientError as error:
            deck.take_picture(None, error.message)
        finally:
            self._polling = False

    # Acts

    def send_due(self) -> None:
        """Sends the acts whose grace is over."""
        live = not self._deck.refusal()
        for tracked in self._deck.acts.due(self._deck.now(), live=live):
            self._deck.take_act(tracked)
            self.start(self._program, partial(self._send, tracked), "acts")

    def grant_and_resume(self, job: Job, extend_seconds: float, now: float) -> None:
        """Grants a later window, and resumes the job once that was accepted."""
        tracked = self._deck.acts.confirmed(Act.GRANT, [job], now, extend_seconds=extend_seconds)[0]
        self._resume_after.add(tracked.number)
        self.send_due()

    async def _send(self, tracked: Tracked) -> None:
        from jobdeck_tui.client.errors import ClientError, Refused, TimedOut

        deck, acts = self._deck, self._deck.acts
        if self._api is None:
            return
        try:
            job = await self._api.act(
                tracked.act.value,
                tracked.job_id,
                version=tracked.version,
                reason="from the deck",
                extend_seconds=tracked.extend_seconds,
            )
        except TimedOut:
            deck.take_act(acts.unknown(tracked.number))
        except Refused as error:
            deck.take_act(acts.refused(tracked.number, error.message, error.current))
            if error.current is not None:
                deck.take_jobs([error.current])
        except ClientError as error:
            deck.take_act(acts.refused(tracked.number, error.message))
        else:
            deck.take_act(acts.accepted(tracked.number, job, deck.now()))
            deck.take_jobs([job])
            if tracked.number in self._resume_after:
                acts.confirmed(Act.RESUME, [job], deck.now())
                self.send_due()
        self._resume_after.discard(tracked.number)
        deck.fresh = True

    # Drills

    def start_drill(self, fault: Fault) -> None:
        """Injects a fault."""
        self.start(self._program, partial(self._drill, fault), "drill")

    async def _drill(self, fault: Fault) -> None:
        from jobdeck_tui.client.errors import ClientError

        if self._api is None:
            return
        try:
            self._deck.take_drill(
                await self._api.start_drill(fault.name, confirm=fault.name, target=fault.target)
            )
        except ClientError as error:
            self._program.tell(f"The drill was not started: {error.message}", severity="error")
        self._deck.fresh = True

    async def close(self) -> None:
        """Ends every connection."""
        if self._dashboard is not None:
            await self._dashboard.close()
        if self._api is not None:
            await self._api.close()

    def pending(self) -> list[Tracked]:
        """Acts that were asked for and not sent yet, or sent and not answered."""
        return [
            tracked for tracked in self._deck.acts.unfinished() if tracked.phase in (Phase.GRACE, Phase.SENT)
        ]


def _import_client() -> None:
    """The HTTP client takes a tenth of a second to import: on a thread, after the first frame."""
    import jobdeck_tui.client.api
    import jobdeck_tui.client.dask_dashboard
    import jobdeck_tui.client.stream  # noqa: F401
