"""``storage`` and ``prune``: what the server keeps, and letting old jobs go."""

import asyncio
import re
from collections.abc import Iterator

import click

from jobdeck_tui.client import storage
from jobdeck_tui.client.api import OPS, Api
from jobdeck_tui.client.storage import Pruning, Storage
from jobdeck_tui.text.format import duration, fit, plural

from .exits import FAILED, OK
from .options import Target, json_option, target_options
from .output import print_json, print_line

LOOK_SECONDS = 0.2
PROGRESS_EVERY_LOOKS = 10
KIND_CELLS = 20
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")


def _seconds(_context: click.Context, _parameter: click.Parameter, value: str) -> float:
    found = _AGE.fullmatch(value.strip().lower())
    if found is None:
        raise click.BadParameter("write it as 7d, 12h, 30m, 90s or 2w.")
    return float(found[1]) * _UNITS[found[2]]


_older_than = {"metavar": "AGE", "callback": _seconds, "help": "How long ago they ended: 7d, 12h, 30m, 2w."}


def _bytes(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


@click.command("storage")
@click.option("--older-than", default="7d", show_default=True, **_older_than)  # type: ignore[arg-type]
@json_option
@target_options
def storage_command(target: Target, *, older_than: float, as_json: bool) -> None:
    """Show what the server keeps, the space it takes, and what pruning would remove."""
    data = asyncio.run(_storage(target.url(), older_than))
    if as_json:
        print_json(data)
        return
    for text in _storage_lines(storage.storage(data), older_than):
        print_line(text)


async def _storage(url: str, older_than: float) -> object:
    async with Api(url) as api:
        return await api.http.get(f"{OPS}/storage", {"older_than_seconds": str(older_than)})


def _storage_lines(found: Storage, older_than: float) -> Iterator[str]:
    if found.state.trouble:
        yield f"No job is accepted: {found.state.reason}"
    for name, (rows, size) in found.kinds.items():
        yield f"{fit(name.replace('_', ' '), KIND_CELLS)} {rows:>10}  {_bytes(size)}"
    space = {name: _bytes(size) for name, size in found.space.items()}
    if space:  # PostgreSQL keeps its own files
        yield f"{fit('database', KIND_CELLS)} {space.get('database_bytes')}, of it free {space.get('free_bytes')}"
        yield f"{fit('its log', KIND_CELLS)} {space.get('log_bytes')}"
        yield f"{fit('room on the disk', KIND_CELLS)} {space.get('disk_free_bytes')}"
    kept = "until pruned" if found.retention_seconds is None else f"for {duration(found.retention_seconds)}"
    yield f"{plural(found.unfinished, 'unfinished job')}; finished ones are kept {kept}."
    yield _would(found.prunable, older_than)


def _would(found: Pruning, older_than: float) -> str:
    what = f"{plural(found.jobs, 'job')} with {plural(found.events, 'event')}"
    return f"Pruning what ended more than {duration(older_than)} ago would remove {what}."


@click.command("prune")
@click.option("--older-than", required=True, **_older_than)  # type: ignore[arg-type]
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--reason", help="Why; it is recorded with the act.")
@json_option
@target_options
def prune_command(
    target: Target, *, older_than: float, dry_run: bool, reason: str | None, as_json: bool
) -> int:
    """Remove finished jobs with all their records.

    What something may still need stays: unfinished jobs and those before them, uncertain effects, callbacks that
    are still owed, and the job with the newest event. A job's id is free again afterwards.
    """
    body: dict[str, object] = {"older_than_seconds": older_than, "dry_run": dry_run, "reason": reason}
    data = asyncio.run(_prune(target.url(), body, quiet=as_json))
    found = storage.pruning(data)
    if as_json:
        print_json(data)
    elif dry_run:
        print_line(_would(found, older_than))
    else:
        for text in _pruned_lines(found):
            print_line(text)
    return FAILED if found.state == "failed" else OK


async def _prune(url: str, body: dict[str, object], *, quiet: bool) -> object:
    """Begin, and look how far it is until it is over."""
    async with Api(url) as api:
        data = await api.http.post(f"{OPS}/prune", body)
        looks = 0
        while storage.pruning(data).state == "running":
            await asyncio.sleep(LOOK_SECONDS)
            data = await api.http.get(f"{OPS}/prune")
            looks += 1
            if not quiet and looks % PROGRESS_EVERY_LOOKS == 0:
                found = storage.pruning(data)
                print_line(f"{found.removed.get('jobs', 0)} of {plural(found.jobs, 'job')} removed")
        return data


def _pruned_lines(found: Pruning) -> Iterator[str]:
    rows = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in found.removed.items() if count)
    freed = f" {_bytes(found.freed_bytes)} are given back to the disk." if found.freed_bytes else ""
    yield f"Removed: {rows or 'nothing'}.{freed}"
    if found.error:
        yield f"It ended early: {found.error}"
