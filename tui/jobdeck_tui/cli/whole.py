"""``overview``, ``cluster``, ``drills`` and ``why``: the deck's screens of the whole, for scripts and pipes."""

import asyncio
from collections.abc import Iterable, Sequence
from urllib.parse import quote

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import OPS, Api, job_path
from jobdeck_tui.client.drills import Drill, read_drill
from jobdeck_tui.client.errors import Refused
from jobdeck_tui.client.fields import Fields, many
from jobdeck_tui.client.models import STATES, Cluster, Overview
from jobdeck_tui.core.drill_words import end_line, evidence_row, step_line
from jobdeck_tui.core.worker_words import worker_rows
from jobdeck_tui.text.format import NONE, age, elapsed, instant, state_word

from .find import full_id
from .options import Target, json_option, target_options
from .output import print_json, print_line

WIDTH = 120
ID_CELLS = 36
DRILLS_SAID = 5
Row = Sequence[tuple[str, str]]


@click.command("overview")
@json_option
@target_options
def overview_command(target: Target, *, as_json: bool) -> None:
    """Print the whole in a few lines: jobs by state, late ones, scheduler, slots, recovery, who is looking."""
    data = asyncio.run(_get(target.url(), f"{OPS}/overview"))
    if as_json:
        print_json(data)
        return
    _print(_overview(decode.overview(data)))


def _overview(seen: Overview) -> Iterable[str]:
    counts = seen.counts
    yield f"at         {instant(seen.at)}"
    yield "jobs       " + "  ".join(f"{state_word(state)} {counts.get(state, 0)}" for state in STATES)
    late, risky = counts.get("overdue", 0), counts.get("at_risk", 0)
    yield f"risk       {late} over their deadline, {risky} predicted to miss it"
    scheduler = seen.scheduler
    yield f"scheduler  {scheduler.state}  epoch {scheduler.epoch}  {scheduler.address or NONE}"
    done = f"  all done in {elapsed(seen.drain_seconds)}" if seen.drain_seconds else ""
    yield f"workers    {seen.workers}  slots {seen.slots_taken} of {seen.slots_total} taken{done}"
    if seen.paused:
        yield f"paused     {', '.join(seen.paused)}"
    if seen.storage.trouble:
        yield f"storage    {seen.storage.state}: {seen.storage.reason}"
    if seen.recovery is not None:
        yield f"recovery   {seen.recovery.mode}  owner {seen.recovery.owner or NONE}  epoch {seen.recovery.epoch}"
    yield f"streams    {seen.streams} open"


@click.command("cluster")
@json_option
@target_options
def cluster_command(target: Target, *, as_json: bool) -> None:
    """Print Dask's tasks and workers, and every difference between Dask and the records."""
    data = asyncio.run(_get(target.url(), f"{OPS}/cluster"))
    if as_json:
        print_json(data)
        return
    _print(_cluster(decode.cluster(data)))


def _cluster(seen: Cluster) -> Iterable[str]:
    address, epoch = seen.scheduler.get("address"), seen.scheduler.get("epoch")
    yield f"scheduler  {address or NONE}  epoch {epoch if epoch is not None else NONE}"
    if problem := seen.scheduler.get("problem"):
        yield f"problem    {problem}"
    yield "tasks      " + ("  ".join(f"{name} {count}" for name, count in seen.tasks.items()) or "none told")
    yield from (_plain(row) for row in worker_rows(seen.workers, None, WIDTH))
    for name, why in Fields(seen.scheduler).free("unfit").items():
        yield f"unfit      {name} gets no jobs: {why}"
    for difference in seen.disagreements:
        yield f"differs    {difference.text} (for {age(difference.seconds)})"
    if not seen.disagreements:
        yield "agree      Dask and the records say the same"


def _plain(row: Row) -> str:
    return "".join(text for text, _ in row).rstrip()


@click.command("drills")
@click.argument("drill", required=False, metavar="[ID|FAULT]")
@click.option("--timeline", is_flag=True, help="With every step: expected against seen.")
@json_option
@target_options
def drills_command(target: Target, *, drill: str | None, timeline: bool, as_json: bool) -> None:
    """List the drills on record, newest first, each with its id; or tell one whole, with what became of each job.

    FAULT is the name of one, such as worker-loss: its newest drill is meant.
    """
    url = target.url()
    data = asyncio.run(_get(url, f"{OPS}/drills") if drill is None else _one_drill(url, drill))
    if as_json:
        print_json(data)
        return
    if drill is not None:
        told = read_drill(data)
        _print(_drill(told, with_timeline=True))
        _print(f"    {_plain(evidence_row(one, ID_CELLS)).lstrip()}" for one in told.evidence)
        return
    drills = many(Fields(data).listed("drills"), read_drill)[0]
    for one in drills:
        _print(_drill(one, with_timeline=timeline))
    if not drills:
        print_line("No drill has run.")


async def _one_drill(url: str, given: str) -> object:
    """Give the drill of an id, else the newest of a fault.

    Raises:
        Refused: there is none; those that there are are named.
    """
    async with Api(url) as api:
        try:
            return await api.http.get(f"{OPS}/drills/{quote(given, safe='')}")
        except Refused as error:
            if error.status != 404:
                raise
        listed = Fields(await api.http.get(f"{OPS}/drills")).listed("drills")
    known = [(entry, read_drill(entry)) for entry in listed]
    for entry, drill in known:
        if drill.fault == given:
            return entry
    there = ", ".join(f"{drill.id} ({drill.fault})" for _entry, drill in known[:DRILLS_SAID]) or "none"
    raise Refused(
        f"No drill has the id {given}, nor is of a fault of that name. The newest on record: {there}.",
        status=404,
        code="not_found",
    )


def _drill(drill: Drill, *, with_timeline: bool) -> Iterable[str]:
    target = f" {drill.target}" if drill.target else ""
    yield f"{instant(drill.started_at)}  {drill.fault}{target}  {end_line(drill)}"
    if with_timeline:
        yield from (f"    {step_line(step)}" for step in drill.timeline)


@click.command("why")
@click.argument("job")
@json_option
@target_options
def why_command(target: Target, *, job: str, as_json: bool) -> None:
    """Say in words why JOB is where it is."""
    data = asyncio.run(_why(target.url(), job))
    if as_json:
        print_json(data)
        return
    print_line(decode.why(data)[1])


async def _why(url: str, given: str) -> object:
    async with Api(url) as api:
        return await api.http.get(f"{job_path(await full_id(api, given))}/why")


async def _get(url: str, path: str) -> object:
    async with Api(url) as api:
        return await api.http.get(path)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print_line(line)
