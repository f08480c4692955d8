"""``reconcile`` and ``fsck``: read the recovery plan, apply it, and check the records."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import click

from jobdeck_tui.client import recovery
from jobdeck_tui.client.api import OPS, Api
from jobdeck_tui.client.instance import running_instance
from jobdeck_tui.client.recovery import AppliedPlan, Fsck, RecoveryPlan
from jobdeck_tui.core.recovery_words import evidence_words, owner_words
from jobdeck_tui.text.format import padded, plural

from .backend_program import run_program
from .exits import FAILED, OK
from .options import Target, json_option, target_options
from .output import print_json, print_line

ACTION_CELLS = 25


@click.command("reconcile")
@click.option("--apply", "apply_it", is_flag=True, help="Carry the plan out; each action is checked again.")
@click.option("--reason", help="Why; it is recorded with the act.")
@json_option
@target_options
def reconcile_command(target: Target, *, apply_it: bool, reason: str | None, as_json: bool) -> None:
    """Print what recovery would do with each unfinished job, and why. Changes nothing without --apply."""
    data = asyncio.run(_reconcile(target.url(), reason, apply_it=apply_it))
    if as_json:
        print_json(data)
        return
    lines = _applied_lines(recovery.applied(data)) if apply_it else _plan_lines(recovery.plan(data))
    for text in lines:
        print_line(text)


async def _reconcile(url: str, reason: str | None, *, apply_it: bool) -> object:
    async with Api(url) as api:
        if apply_it:
            return await api.http.post(f"{OPS}/recovery/apply", {"reason": reason})
        return await api.http.get(f"{OPS}/recovery/plan")


def _plan_lines(plan: RecoveryPlan) -> Iterator[str]:
    yield owner_words(plan.recovery)
    for one in plan.actions:
        waits = "" if one.automatic or one.action == recovery.LEAVE else "  (waits for --apply)"
        yield f"{one.job_id}  {padded(one.action, ACTION_CELLS)} {one.reason}{waits}"
        if one.evidence:
            yield f"    {evidence_words(one.evidence)}"
    left = len(plan.actions) - len(plan.due)
    yield f"{plural(len(plan.due), 'action')}, {left} left as they are, {plan.in_line} in line."


def _applied_lines(applied: AppliedPlan) -> Iterator[str]:
    for one in applied.results:
        yield f"{one.job_id}  {one.result}  {one.action or ''}: {one.why}"
    yield f"{applied.done} done, {applied.skipped} skipped."


@click.command("fsck")
@json_option
@target_options
def fsck_command(target: Target, *, as_json: bool) -> int:
    """Check the invariants on all records, of a running backend or of a state directory at rest.

    Exits with 1 when one is broken.
    """
    running = target.server is not None or running_instance(target.directory) is not None
    data = asyncio.run(_check(target.url())) if running else _check_at_rest(target.directory)
    found = recovery.fsck(data)
    if as_json:
        print_json(data)
    else:
        for text in _fsck_lines(found):
            print_line(text)
    return OK if found.clean else FAILED


async def _check(url: str) -> object:
    async with Api(url) as api:
        return await api.http.get(f"{OPS}/fsck")


def _check_at_rest(directory: Path) -> object:
    """The backend's own check, in a process of its own.

    Raises:
        Exit: the database cannot be read.
    """
    return json.loads(run_program("recovery", str(directory), fine=(OK, FAILED)))


def _fsck_lines(found: Fsck) -> Iterator[str]:
    for one in found.violations:
        yield f"{one.invariant}: {one.job_id or 'all jobs'}: {one.text}"
    verdict = "clean" if found.clean else plural(len(found.violations), "violation")
    yield f"{len(found.checked)} invariants checked in {found.seconds:.1f} s: {verdict}."
