"""The operations API's jobs: list, detail, why."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Set
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection

from jobdeck_backend.addresses import origin
from jobdeck_backend.api import schemas, shapes
from jobdeck_backend.api.services import NOT_FOUND, Services, Serving
from jobdeck_backend.clock import now
from jobdeck_backend.errors import InvalidInput, JobNotFound
from jobdeck_backend.jobs import orders
from jobdeck_backend.jobs.filter_terms import parse
from jobdeck_backend.jobs.orders import Order, Place
from jobdeck_backend.jobs.records import Admission, Aside, EffectState, Status
from jobdeck_backend.jobs.view import JobView
from jobdeck_backend.jobs.why import Surroundings, Why, explain
from jobdeck_backend.scheduling.views import dask_state
from jobdeck_backend.store import artifacts, attempts, effects, epochs, jobs, notifications, rows
from jobdeck_backend.store.searches import SORTS, SORTS_OF_FINISHED, Search

router = APIRouter(prefix="/v1/ops", tags=["operations API: jobs"])

INPUT_SHOWN_CHARS = 20_000
LATE_RESULT_SHOWN_CHARS = 4_000


# The list.


@router.get(
    "/jobs",
    response_model=schemas.JobPage,
    responses={422: {"description": "filter, sort or cursor cannot be used; the message names what can"}},
)
def list_jobs(
    serving: Serving,
    filter: Annotated[str, Query(max_length=2000, description="the deck's filter language")] = "",  # noqa: A002
    sort: Annotated[str, Query(description="a field, descending with - before it")] = orders.DEFAULT,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=4000, description="`next` of the page before")] = None,
) -> Response:
    """A page of rows, newest first unless sorted otherwise. ``total`` are all, ``matching`` those of the filter.

    The states that only Dask tells apart, and ``slack``, are asked of each unfinished row: that takes longer.
    """
    at = now()
    order, terms = Order(sort, at), parse(filter)
    place = None if cursor is None else _decode(cursor, sort)
    with serving.database.read() as tx:
        total, search = rows.total(tx), Search.of(terms, at)
        if search.rest or order.name not in SORTS | SORTS_OF_FINISHED:
            matching, found = _ask_rows(serving, tx, search, order, place, at)
        elif order.name in SORTS_OF_FINISHED:
            matching, found = _ask_both(serving, tx, search, order, sort, place, limit + 1, at)
        else:
            matching, found = _ask_records(serving, tx, search, sort, place, limit + 1, at)
    shown = found[:limit]
    more = len(found) > limit
    return shapes.answer(
        {
            "jobs": [shapes.job_row(view, at) for view in shown],
            "total": total,
            "matching": matching,
            "next": _encode(sort, order.place(shown[-1])) if more else None,
        }
    )


def _ask_records(
    serving: Services,
    tx: Connection,
    search: Search,
    sort: str,
    place: Place | None,
    count: int,
    at: float,
) -> tuple[int, list[JobView]]:
    """How many rows match, and those behind the place, where the records alone tell which they are."""
    try:
        matching, sources = search.page(tx, sort, now=at, after=place, limit=count)
    except TypeError:
        raise _bad_cursor() from None
    return matching, serving.board.views(tx, sources)


def _ask_both(
    serving: Services,
    tx: Connection,
    search: Search,
    order: Order,
    sort: str,
    place: Place | None,
    count: int,
    at: float,
) -> tuple[int, list[JobView]]:
    """The same where the records tell the order of finished jobs alone."""
    among = search.only(finished=False).ids(tx) if search.where else None
    try:
        unfinished, live = serving.board.unfinished(tx, order, place, count, among=among)
    except TypeError:
        raise _bad_cursor() from None
    if among is None and order.begins_unfinished and len(live) >= count:
        return rows.total(tx), live  # a page without a finished job, of which there can be any number
    ended, past = _ask_records(serving, tx, search.only(finished=True), sort, place, count, at)
    return unfinished + ended, order.sort([*live, *past])


def _ask_rows(
    serving: Services, tx: Connection, search: Search, order: Order, place: Place | None, at: float
) -> tuple[int, list[JobView]]:
    """How many rows match, and those behind the place; every row that the records leave is read."""
    matching = serving.board.matching(tx, search, at)
    ordered = order.sort(matching)
    if place is None:
        return len(matching), ordered
    try:
        return len(matching), [view for view in ordered if order.is_behind(order.place(view), place)]
    except TypeError:
        raise _bad_cursor() from None


def _encode(sort: str, place: Place) -> str:
    return urlsafe_b64encode(orjson.dumps([sort, *place])).decode()


def _decode(cursor: str, sort: str) -> Place:
    try:
        decoded = orjson.loads(urlsafe_b64decode(cursor))
    except ValueError:
        raise _bad_cursor() from None
    match decoded:
        case [cursor_sort, float() as accepted_at, str() as job_id] if cursor_sort == sort == orders.DEFAULT:
            return accepted_at, job_id
        case [cursor_sort, str() | int() | float() | None as value, str() as job_id] if (
            cursor_sort == sort != orders.DEFAULT
        ):
            return value, job_id
    raise _bad_cursor()


def _bad_cursor() -> InvalidInput:
    return InvalidInput("cursor: not one of this list; read it again from its first page")


# One job.


@router.get("/jobs/{job_id}", response_model=schemas.JobDetail, responses=NOT_FOUND)
def job_detail(job_id: str, serving: Serving) -> Response:
    """The row, the request (bounded), transitions, attempts, stages with evidence, effects, files, the reason."""
    with serving.database.read() as tx:
        return shapes.answer(describe(serving, tx, job_id))


def describe(serving: Services, tx: Connection, job_id: str) -> dict[str, Any]:
    """``JobDetail``. Raises ``JobNotFound``."""
    view, reason = _explained(serving, tx, job_id)
    admission = jobs.load_admission(tx, job_id)
    assert admission is not None
    return {
        "job": shapes.job_row(view, now()),
        "request": _request(admission),
        "transitions": [shapes.transition(row) for row in jobs.load_transitions(tx, job_id)],
        "attempts": _attempts(tx, job_id),
        "stages": [shapes.stage(run) for run in jobs.load_stages(tx, job_id)],
        "effects": [shapes.effect(one) for one in effects.of_job(tx, job_id)],
        "artifacts": [shapes.artifact(one) for one in artifacts.of_job(tx, job_id)],
        "notification": shapes.notification(notifications.newest_of_job(tx, job_id)),
        "why": shapes.why(reason),
    }


@router.get("/jobs/{job_id}/why", response_model=schemas.Why, responses=NOT_FOUND)
def why(job_id: str, serving: Serving) -> Response:
    """Why a job is where it is."""
    with serving.database.read() as tx:
        return shapes.answer(shapes.why(_explained(serving, tx, job_id)[1]))


def _attempts(tx: Connection, job_id: str) -> list[dict[str, Any]]:
    aside = attempts.load_aside(tx, job_id, LATE_RESULT_SHOWN_CHARS)
    nothing = Aside(None, None, None)
    return [shapes.attempt(one, aside.get(one.attempt, nothing)) for one in jobs.load_attempts(tx, job_id)]


def _request(admission: Admission) -> dict[str, Any]:
    return {
        "agent_type": admission.agent_type,
        "input": admission.input[:INPUT_SHOWN_CHARS],
        "input_chars": len(admission.input),
        "data_sources": orjson.loads(admission.data_sources) if admission.data_sources else None,
        "expiry_seconds": admission.expiry_seconds,
        "after_policy": admission.after_policy,
        "admission": "strict" if admission.strict else "best_effort",
        "parent_job_id": admission.parent_job_id,
        "callback": None if admission.callback_url is None else origin(admission.callback_url),
    }


def _explained(serving: Services, tx: Connection, job_id: str) -> tuple[JobView, Why]:
    views = serving.board.views(tx, rows.load(tx, [job_id]))
    if not views:
        raise JobNotFound(job_id)
    view, picture, snapshot = views[0], serving.board.picture_in(tx), serving.cluster.snapshot
    unstarted = [row.job_id for row in picture.line if row.status == Status.SUBMITTED and not row.held]
    attempt = next((one for one in jobs.load_attempts(tx, job_id) if one.ended_at is None), None)
    around = Surroundings(
        cluster_state=serving.cluster.state,
        slots_total=picture.slots_total,
        slots_taken=picture.slots_taken,
        dask_state=dask_state(snapshot, job_id),
        paused_by=picture.paused.get(view.source.queue),
        ahead=unstarted.index(job_id) if job_id in unstarted else None,
        running=[
            row.job_id
            for row in picture.line
            if row.status == Status.RUNNING and row.delivered_epoch in picture.epochs
        ],
        attempt=attempt,
        uncertain=next(
            (one for one in effects.open_of_job(tx, job_id) if one.state == EffectState.UNCERTAIN), None
        ),
        drained=() if snapshot is None else snapshot.all_drained,
        elsewhere=_elsewhere(tx, view.source.delivered_epoch, picture.epochs),
        awaits_recovery=attempt is not None and serving.reaper.awaits_a_person(job_id, attempt.fence),
    )
    return view, explain(view, around, now())


def _elsewhere(tx: Connection, delivered_epoch: int | None, here: Set[int]) -> str | None:
    """The other backend that handed a job to its own cluster."""
    if delivered_epoch is None or delivered_epoch in here:
        return None
    epoch = epochs.load(tx, delivered_epoch)
    return None if epoch is None or epoch.ended_at is not None else epoch.owner
