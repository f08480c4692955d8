"""The operations API's acts on many jobs: each is an act of its own, audited, on the version that was seen."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Response

from jobdeck_backend.api import bulk_schemas as schemas
from jobdeck_backend.api import caller, shapes
from jobdeck_backend.api.operations_acts import grant_by
from jobdeck_backend.api.services import Services, Serving
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import InvalidInput, Refused
from jobdeck_backend.jobs.filter_terms import parse
from jobdeck_backend.jobs.view import JobView
from jobdeck_backend.store import rows
from jobdeck_backend.store.searches import Search

router = APIRouter(prefix="/v1/ops", tags=["operations API: acts"])

ACTS: dict[str, operators.Perform] = {
    "cancel": operators.cancel,
    "expire": operators.expire,
    "resume": operators.resume,
}


@router.post(
    "/jobs/bulk",
    response_model=schemas.BulkAnswer,
    responses={
        422: {
            "description": "a field cannot be used, or the filter matches more jobs than one act may be for"
        },
        503: {"description": "the database cannot be written; what came before stands, and is on record"},
    },
)
async def bulk(wanted: schemas.Bulk, serving: Serving) -> Response:
    """Cancel, expire, resume or grant many jobs; with ``dry_run`` say by eligibility what would come of it."""
    ids = wanted.ids
    if ids is None:
        ids = await asyncio.to_thread(_matching, serving, wanted.filter or "")
    ids = list(dict.fromkeys(ids))
    outcomes = await _perform(serving, wanted, ids)
    if not wanted.dry_run:
        serving.feed.wake()
    views = {view.source.job_id: view for view in await asyncio.to_thread(_load, serving, ids)}
    done = "eligible" if wanted.dry_run else "done"
    results = [_result(job_id, outcomes[job_id], done, views.get(job_id)) for job_id in ids]
    counts = Counter(result["code"] for result in results)
    return shapes.answer({"act": wanted.act, "dry_run": wanted.dry_run, "counts": counts, "results": results})


async def _perform(serving: Services, wanted: schemas.Bulk, ids: Sequence[str]) -> dict[str, str | Refused]:
    """All are given to the writer at once, which commits them in groups; each stands or is refused alone."""
    perform = ACTS[wanted.act] if wanted.extend_seconds is None else grant_by(wanted.extend_seconds)
    at = now()
    waiting = []
    for job_id in ids:
        by = operators.By(caller.operator(), at, wanted.reason, wanted.versions.get(job_id))
        given = (
            serving.writer.submit(operators.weigh, job_id, perform, by)
            if wanted.dry_run
            else serving.writer.submit(operators.act, wanted.act, job_id, perform, by)
        )
        waiting.append(given)
    return dict(zip(ids, await asyncio.gather(*waiting), strict=True))


def _matching(serving: Services, filter_text: str) -> list[str]:
    """The jobs a filter matches now, newest first. Raises ``InvalidInput`` where they are too many for one act."""
    terms, at = parse(filter_text), now()
    with serving.database.read() as tx:
        found = [view.source.job_id for view in serving.board.matching(tx, Search.of(terms, at), at)]
    if len(found) > schemas.BULK_JOBS_MAX:
        raise InvalidInput(
            f"filter: it matches {len(found)} jobs, one act may be for {schemas.BULK_JOBS_MAX}; "
            "nothing was done. Narrow it"
        )
    return found


def _load(serving: Services, ids: Sequence[str]) -> list[JobView]:
    parts = [ids[start : start + rows.IDS_MAX] for start in range(0, len(ids), rows.IDS_MAX)]
    return [view for part in parts for view in serving.board.load(part)]


def _result(job_id: str, outcome: str | Refused, done: str, view: JobView | None) -> dict[str, Any]:
    return {
        "job_id": job_id,
        "ok": isinstance(outcome, str),
        "code": done if isinstance(outcome, str) else outcome.code,
        "message": outcome if isinstance(outcome, str) else outcome.message,
        "state": None if view is None else view.state.value,
        "version": None if view is None else view.source.version,
    }
