"""``watch``: one job's events as lines, to its end; the exit code is the job's."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import aclosing

import click

from jobdeck_tui.client.api import Api
from jobdeck_tui.client.errors import ClientError
from jobdeck_tui.client.feed import FrameUnreadable, Lost
from jobdeck_tui.client.models import Event
from jobdeck_tui.client.stream import CaughtUp, EventArrived, Gap, JobStream, StatusSeen, StreamItem
from jobdeck_tui.core.event_text import ChunkFolder, chunk_of, line
from jobdeck_tui.text.format import clock

from .exits import FAILED, OK, say_error
from .find import full_id
from .options import Target, json_option, target_options
from .output import print_json, print_line


@click.command("watch")
@click.argument("job")
@click.option("--after", type=click.IntRange(min=0), default=0, help="Begin after this event number.")
@json_option
@target_options
def watch_command(target: Target, *, job: str, after: int, as_json: bool) -> int:
    """Follow one JOB's events, a line each, until it ends; exit 0 only if it succeeded."""
    return asyncio.run(follow(target.url(), job, after=after, as_json=as_json))


async def follow(url: str, given: str, *, after: int = 0, as_json: bool = False) -> int:
    """Print a job's events until its end; give the exit code."""
    async with Api(url) as api:
        job_id = await full_id(api, given)
        printer: Printer = JsonPrinter() if as_json else LinePrinter()
        status = ""
        async with aclosing(JobStream(api, job_id, after=after).items()) as items:  # type: ignore[type-var]
            async for item in items:
                printer.take(item)
                if isinstance(item, StatusSeen):
                    status = item.status
        outcome, reason = await _outcome(api, job_id, status)
    printer.end(job_id, outcome, reason)
    return OK if status == "success" else FAILED


async def _outcome(api: Api, job_id: str, status: str) -> tuple[str, str]:
    """Give the admission's outcome, which tells expired from cancelled; the status if the server is gone."""
    try:
        outcome, error = await api.outcome(job_id)
    except ClientError:
        return status, ""
    return outcome or status, error or ""


class Printer(ABC):
    """Shows the items of a stream. Trouble goes to standard error: standard output is the job's."""

    def take(self, item: StreamItem) -> None:
        """Show one item."""
        match item:
            case EventArrived(event):
                self.event(event)
            case StatusSeen():
                self.status(item)
            case Lost(reason, retry_in):
                say_error(f"{reason} Trying again in {retry_in:.1f} s; nothing will be missed.")
            case CaughtUp(last, refetched, True):
                say_error(f"Reconnected; {refetched} missed events fetched again, up to number {last}.")
            case Gap(first, last):
                say_error(f"Events {first} to {last} never arrived.")
            case FrameUnreadable(kind):
                say_error(f"One {kind} event could not be read and was skipped.")

    @abstractmethod
    def event(self, event: Event) -> None:
        """Show a stored event."""

    @abstractmethod
    def status(self, status: StatusSeen) -> None:
        """Show a status."""

    @abstractmethod
    def end(self, job_id: str, outcome: str, reason: str) -> None:
        """Show how the job ended."""


class LinePrinter(Printer):
    """Plain lines; heartbeats are left out, a model's tokens become lines of text."""

    def __init__(self) -> None:
        self._tokens = ChunkFolder()

    def event(self, event: Event) -> None:
        """Print an event as a line, or hold a token back until its line is full."""
        for text in self._lines(event):
            print_line(text)
        if event.type == "job.update" and event.name == "held":
            # Nothing more may come for hours.
            say_error(
                "A held job waits for a person: 'jobdeck why' says for what, and Ctrl-C leaves it waiting."
            )

    def _lines(self, event: Event) -> Iterator[str]:
        if event.type == "llm.chunk":
            for said in self._tokens.add(chunk_of(event)):
                yield f"{clock(event.at)} {'llm':<15} {said}"
            return
        for said in self._tokens.flush():
            yield f"{clock(event.at)} {'llm':<15} {said}"
        if event.type != "job.heartbeat":
            yield line(event)

    def status(self, status: StatusSeen) -> None:
        """Leave statuses to the events that explain them, and to the end."""

    def end(self, job_id: str, outcome: str, reason: str) -> None:
        """Print the outcome."""
        for said in self._tokens.flush():
            print_line(said)
        reason = reason.removeprefix(f"{outcome}: ")  # an expired job's begins with its outcome
        print_line(f"{job_id} {outcome}" + (f": {reason}" if reason and outcome != "succeeded" else ""))


class JsonPrinter(Printer):
    """One JSON object a line."""

    def event(self, event: Event) -> None:
        """Print a stored event."""
        print_json({"seq": event.seq, "type": event.type, "payload": event.payload}, indent=None)

    def status(self, status: StatusSeen) -> None:
        """Print a status."""
        print_json({"status": status.status, "error": status.error}, indent=None)

    def end(self, job_id: str, outcome: str, reason: str) -> None:
        """Print the outcome."""
        print_json({"job_id": job_id, "outcome": outcome, "reason": reason or None}, indent=None)
