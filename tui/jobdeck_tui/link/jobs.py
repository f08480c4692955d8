"""One job read from the server: its live events, its record, its report."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.dom import DOMNode

from jobdeck_tui.core.job_view import JobView
from jobdeck_tui.link.wire import Wire

if TYPE_CHECKING:
    from jobdeck_tui.client.stream import StreamItem


class JobReader:
    """Fills views of single jobs for as long as somebody looks at them."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def follow(self, node: DOMNode, view: JobView) -> None:
        """Follows the job's stream into ``view`` for as long as ``node`` is there."""
        self._wire.start(node, partial(self._follow, view), "follow", exclusive=True)

    async def _follow(self, view: JobView) -> None:
        await self._wire.ready.wait()
        from jobdeck_tui.client.errors import ClientError
        from jobdeck_tui.client.stream import JobStream

        if self._wire.api is None:
            return
        try:
            async for item in JobStream(self._wire.api, view.job_id).items():
                self._take_stream(view, item)
        except ClientError as error:
            view.stream = error.message
            view.lines.say(error.message, style="bad")
        self._wire.deck.fresh = True

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
                    view.lines.say(_reconnected(item.last_seq, item.refetched))
            case stream.Gap():
                what = f"events {item.first}–{item.last}"
                told = f"{what} never came" if item.for_good else f"{what} missing, asking for them again"
                view.lines.say(told, style="bad" if item.for_good else "warn")
            case feed.FrameUnreadable():
                view.lines.say("1 unreadable event", style="bad")
            case feed.Lost():
                view.stream = f"lost, again in {item.retry_in:.0f} s"
        self._wire.deck.fresh = True

    def read_why(self, node: DOMNode, job_ids: Sequence[str], take: Callable[[str, str], None]) -> None:
        """Reads why these jobs are where they are; ``take`` gets each id with its reason."""
        self._wire.start(node, partial(self._read_why, job_ids, take), "why", exclusive=True)

    async def _read_why(self, job_ids: Sequence[str], take: Callable[[str, str], None]) -> None:
        await self._wire.ready.wait()
        from jobdeck_tui.client.errors import ClientError, Refused

        for job_id in job_ids:
            if self._wire.api is None:
                return
            try:
                take(job_id, (await self._wire.api.why(job_id))[1])
            except Refused as error:
                take(job_id, error.message)
            except ClientError:
                return  # the banner says that the server does not answer; what was read stays
        self._wire.deck.fresh = True

    def read(self, node: DOMNode, view: JobView, *, with_report: bool = False) -> None:
        """Reads the job's record (and report) into ``view``."""
        self._wire.start(node, partial(self._read, view, with_report=with_report), "read", exclusive=True)

    async def _read(self, view: JobView, *, with_report: bool) -> None:
        await self._wire.ready.wait()
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            view.take_detail(await self._wire.api.job(view.job_id))
            if with_report:
                report = await self._wire.api.report(view.job_id)
                view.take_report(report.text if report.has_report else None)
        except ClientError as error:
            view.say_trouble(error.message)
        self._wire.deck.fresh = True


def _reconnected(last_seq: int, refetched: int) -> str:
    if not refetched:
        return "reconnected: no event was missed"
    first = last_seq - refetched + 1
    which = f"event {last_seq}" if refetched == 1 else f"events {first}–{last_seq}"
    return f"reconnected: {which} missed, refetched {refetched}"
