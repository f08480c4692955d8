"""``list`` and ``show``: look, and change nothing."""

import asyncio
from collections.abc import Iterator
from itertools import islice

import click

from jobdeck_tui.client import decode
from jobdeck_tui.client.api import OPS, PAGE_ROWS, Api, job_path
from jobdeck_tui.client.fields import Fields, Unreadable
from jobdeck_tui.client.models import Attempt, Effect, Job, JobDetail, Stage, Transition
from jobdeck_tui.core.columns import cell, display_state, left_seconds, note, progress
from jobdeck_tui.core.effect_rows import state_words
from jobdeck_tui.core.filter import FilterError
from jobdeck_tui.core.filter_fields import JOBS
from jobdeck_tui.core.job_view import callback_words
from jobdeck_tui.core.server_list import SERVER_SORTS, server_sort
from jobdeck_tui.core.sort import COLUMN_KEYS, order
from jobdeck_tui.text.format import NONE, duration, instant, padded, size, state_word, time_left

from .find import full_id
from .options import Target, json_option, target_options
from .output import print_json, print_line
from .server_time import server_now

Listed = tuple[list[Job], dict[str, object], int, int]
"""Jobs, what the server said of each by its id, how many match and how many there are."""
LIST_ROWS = 100
ID_CELLS = 36
COLUMNS = (("state", 12), ("queue", 15), ("left", 8), ("agent", 16), ("try", 3), ("worker", 10))


@click.command("list")
@click.option(
    "--filter", "filter_text", default="", help="As in the deck: state:failed queue:eval left<60s !demo"
)
@click.option("--sort", type=click.Choice(COLUMN_KEYS), default="risk", show_default=True)
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=LIST_ROWS, show_default=True, help="Rows at most."
)
@json_option
@target_options
def list_command(
    target: Target, *, filter_text: str, sort: str, reverse: bool, limit: int, as_json: bool
) -> None:
    """List jobs, the most urgent first."""
    try:
        JOBS.compile(filter_text)
    except FilterError as error:
        raise click.BadParameter(str(error), param_hint="--filter") from error
    by_server = sort in SERVER_SORTS
    listed = _listed(
        target.url(), filter_text, server_sort(sort, reverse=reverse), limit if by_server else None
    )
    (jobs, told, matching, total), now = asyncio.run(listed)
    shown = list(islice(jobs if by_server else order(jobs, sort, now, reverse=reverse), limit))
    if as_json:
        print_json([told[job.job_id] for job in shown])
        return
    print_line(
        " ".join((padded("ID", ID_CELLS), *(padded(name.upper(), width) for name, width in COLUMNS), "NOTE"))
    )
    for job in shown:
        print_line(_line(job, now))
    matched = f"{len(shown)} of {matching} matching" if matching else "None matching"
    print_line(f"{matched}, {total} in all.")


async def _listed(url: str, filter_text: str, sort: str, limit: int | None) -> tuple[Listed, float]:
    async with Api(url) as api:
        return await _rows(api, filter_text, sort, limit), await server_now(api)


async def _rows(api: Api, filter_text: str, sort: str, limit: int | None) -> Listed:
    """Read rows in the server's order, all or the first ``limit``; what the server said is for ``--json``."""
    jobs: list[Job] = []
    told: dict[str, object] = {}
    cursor: str | None = None
    while True:
        params: dict[str, str | int] = {"limit": min(limit or PAGE_ROWS, PAGE_ROWS), "sort": sort}
        params |= {"filter": filter_text} if filter_text else {}
        params |= {"cursor": cursor} if cursor else {}
        page = Fields(await api.http.get(f"{OPS}/jobs", params))
        for entry in page.listed("jobs"):
            try:
                job = decode.job(entry)
            except Unreadable:
                continue
            jobs.append(job)
            told[job.job_id] = entry
        following = page.maybe_text("next", 2000)
        if following in (None, cursor) or (limit is not None and len(jobs) >= limit):
            return jobs, told, page.integer("matching"), page.integer("total")
        cursor = following


def _line(job: Job, now: float) -> str:
    cells = [padded(job.job_id, ID_CELLS)]
    for key, width in COLUMNS:
        # The word alone: what reads this may not have the glyph.
        text = state_word(display_state(job)) if key == "state" else cell(job, key, now)
        cells.append(padded(text, width))
    return " ".join((*cells, note(job))).rstrip()


@click.command("show")
@click.argument("job")
@json_option
@target_options
def show_command(target: Target, *, job: str, as_json: bool) -> None:
    """Show all that is known about one JOB, given by its id or the beginning of it."""
    data, now = asyncio.run(_detail(target.url(), job))
    if as_json:
        print_json(data)
        return
    for text in _facts(decode.job_detail(data), now):
        print_line(text)


async def _detail(url: str, given: str) -> tuple[object, float]:
    async with Api(url) as api:
        return await api.http.get(job_path(await full_id(api, given))), await server_now(api)


def _facts(detail: JobDetail, now: float) -> Iterator[str]:
    job = detail.job
    yield f"job       {job.job_id}  {job.workflow}  queue {job.queue}"
    yield f"state     {state_word(display_state(job))}  {progress(job) or NONE}  version {job.version}"
    yield f"why       {detail.why_text}"
    yield f"deadline  {instant(job.deadline)}  left {time_left(left_seconds(job, now))}"
    yield f"accepted  {instant(job.accepted_at)}"
    yield f"started   {instant(job.started_at)}  ended {instant(job.finished_at)}"
    yield f"worker    {job.worker or NONE}  attempt {job.attempt}  thread {job.thread_id}"
    if job.after:
        yield f"after     {' '.join(job.after)}"
    if job.error or job.reason:
        yield f"reason    {job.error or job.reason}"
    yield from map(_stage, detail.stages)
    for effect in detail.effects:
        yield from _effect(effect)
    for one in detail.artifacts:
        gone = "  EXPIRED" if one.removed_at is not None else ""
        yield f"file      {one.filename}  {one.mime_type}  {size(one.size_bytes)}  sha256 {one.sha256}{gone}"
    if detail.notification is not None:
        yield f"callback  {callback_words(detail.notification)}"
    yield from map(_attempt, detail.attempts)
    yield from map(_transition, detail.transitions)


def _stage(stage: Stage) -> str:
    took = duration(stage.completed_at - stage.started_at)
    evidence = f"checkpoint {stage.checkpoint_id}  output {stage.output_hash[:16]}"
    who = f"attempt {stage.attempt}  pid {stage.pid}"
    return f"stage     {stage.node} (step {stage.step})  {took}  {who}  {evidence}"


def _effect(effect: Effect) -> Iterator[str]:
    word = state_words(effect).partition(" ")[2]
    settled = f"settled {instant(effect.settled_at)} by {effect.settled_by}" if effect.settled_at else "open"
    yield f"effect    {effect.key}  {word}  {effect.policy}  intents {effect.intents}"
    yield f"          intent {instant(effect.intent_at)}  {settled}  request {effect.request}"
    if effect.outcome is not None or effect.proof is not None:
        yield f"          outcome {effect.outcome or NONE}  proof {effect.proof or NONE}"


def _attempt(attempt: Attempt) -> str:
    ended = "going on" if attempt.ended_at is None else f"ended {instant(attempt.ended_at)}"
    where = f"{attempt.worker}  pid {attempt.pid}  epoch {attempt.epoch}"
    return f"attempt   {attempt.attempt}  {where}  {ended}  {attempt.end_reason or ''}".rstrip()


def _transition(change: Transition) -> str:
    states = f"{change.from_status or 'new'} to {change.to_status}"
    said = f"change    {instant(change.at)}  {change.name}: {states} by {change.actor}  {change.reason or ''}"
    return said.rstrip()
