"""``events``: what happens to all jobs, a line each, as the deck's Events screen shows it."""

import asyncio
from contextlib import aclosing

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.errors import NotReachable
from jobdeck_tui.client.feed import ActSeen, Connected, EventsSeen, Feed, FeedItem, Lost, OverviewSeen
from jobdeck_tui.client.fields import Unreadable, parse
from jobdeck_tui.client.models import AuditRow, Event
from jobdeck_tui.core.company import act_words
from jobdeck_tui.core.event_lines import Line, line_of
from jobdeck_tui.core.event_text import line
from jobdeck_tui.core.filter import FilterError, Predicate
from jobdeck_tui.core.filter_fields import EVENTS
from jobdeck_tui.text.format import NONE, clock

from .exits import OK, say_error
from .options import Target, json_option, target_options
from .output import print_json, print_line
from .server_time import server_clock

LISTEN_SECONDS = 5.0


@click.command("events")
@click.option("--follow", is_flag=True, help="Until interrupted, over every reconnect.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=LISTEN_SECONDS,
    show_default=True,
    help="How long to listen without --follow.",
)
@click.option("--filter", "filter_text", default="", help='As on the Events screen: type:job.error "text"')
@json_option
@target_options
def events_command(target: Target, *, follow: bool, seconds: float, filter_text: str, as_json: bool) -> int:
    """Print the events of all jobs and the acts of everybody, from now on.

    Those of before are each job's own: see 'jobdeck watch JOB' and 'jobdeck audit'.
    """
    try:
        matches = EVENTS.compile(filter_text)
    except FilterError as error:
        raise click.BadParameter(str(error), param_hint="--filter") from error
    printer = Printer(matches, as_json=as_json, filtered=bool(filter_text.strip()))
    url = target.url()
    until = "until interrupted" if follow else f"for {seconds:g} s"
    say_error(f"What happens at {url} from now on, {until}:")
    return asyncio.run(_listen(url, printer, None if follow else seconds))


async def _listen(url: str, printer: "Printer", seconds: float | None) -> int:
    """Print what comes, for so long.

    Raises:
        NotReachable: there was no feed to begin with, or it broke and is not to be followed.
        Denied: so it was because the server does not let the caller read it.
    """
    connected = False
    try:
        async with (
            Api(url) as api,
            asyncio.timeout(seconds),
            aclosing(Feed(api, events=True).items()) as items,  # type: ignore[type-var]
        ):
            async for item in items:
                if isinstance(item, Lost):
                    if not connected or seconds is not None:
                        raise item.denied or NotReachable(item.reason)
                    say_error(f"{item.reason} Trying again in {item.retry_in:.1f} s.")
                connected = connected or isinstance(item, Connected)
                printer.take(item)
    except TimeoutError:
        return OK
    return OK


class Printer:
    """Prints events that match, and acts where nothing is filtered."""

    def __init__(self, matches: Predicate[Line], *, as_json: bool, filtered: bool) -> None:
        self._matches = matches
        self._as_json = as_json
        self._filtered = filtered
        self._clock = server_clock()

    def take(self, item: FeedItem) -> None:
        """Print one item, if it is one to print."""
        if isinstance(item, OverviewSeen):
            self._clock.told(item.overview.at)
        elif isinstance(item, ActSeen) and not self._filtered:
            self._act(item.row)
        elif isinstance(item, EventsSeen):
            for text in item.texts:
                self._stored(text)

    def _stored(self, text: str) -> None:
        try:
            event = decode.event(parse(text))
        except Unreadable:
            say_error("One event could not be read and was skipped.")
            return
        if self._matches(line_of(event), self._clock.now()):
            self._event(event)

    def _event(self, event: Event) -> None:
        if self._as_json:
            row = {"job_id": event.job_id, "seq": event.seq, "type": event.type, "payload": event.payload}
            print_json(row, indent=None)
        elif event.type not in ("llm.chunk", "job.heartbeat"):
            when, _, said = line(event).partition(" ")
            print_line(f"{when} {event.job_id} {said}")

    def _act(self, row: AuditRow) -> None:
        if self._as_json:
            kept = {"act": row.act, "actor": row.actor, "job_id": row.job_id, "result": row.result}
            print_json(kept, indent=None)
        else:
            print_line(f"{clock(row.at)} {row.job_id or NONE} {'act':<15} {act_words(row)}: {row.result}")
