"""Where a job is, from its record and Dask's word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_views import DONE, OPEN, running, view
from jobdeck_backend.jobs.states import FINISHED, State, state_of

DASK_STATES = (None, "released", "waiting", "no-worker", "queued", "processing", "memory", "erred")


@pytest.mark.parametrize(
    ("dask_state", "expected"),
    [
        ("waiting", State.WAITING),
        ("queued", State.QUEUED),
        ("no-worker", State.QUEUED),
        ("processing", State.ASSIGNED),
        (None, State.QUEUED),
    ],
)
def test_a_delivered_job_is_where_dask_says_and_queued_by_its_record_when_dask_is_silent(
    dask_state: str | None, expected: State
) -> None:
    assert view(delivered_epoch=1, dask_state=dask_state).state is expected


def test_a_job_not_handed_over_is_backlog_whatever_an_older_key_of_it_does() -> None:
    for dask_state in DASK_STATES:
        assert view(dask_state=dask_state).state is State.BACKLOG


def test_a_job_that_waits_for_others_is_waiting_in_the_backlog_too() -> None:
    assert view(waits_for=(OPEN, DONE)).state is State.WAITING
    assert view(waits_for=(DONE,)).state is State.BACKLOG


def test_a_held_job_is_held_and_not_in_the_line() -> None:
    assert view(held_reason="3 attempts ended with their worker").state is State.HELD


def test_the_record_says_running_not_dask() -> None:
    for dask_state in DASK_STATES:
        assert running(dask_state=dask_state).state is State.RUNNING


@given(
    outcome=st.sampled_from(["succeeded", "failed", "cancelled", "expired"]),
    held=st.booleans(),
    delivered=st.booleans(),
    blocked=st.booleans(),
    dask_state=st.sampled_from(DASK_STATES),
)
def test_an_outcome_on_record_is_the_state_whatever_else_is_said(
    outcome: str, held: bool, delivered: bool, blocked: bool, dask_state: str | None
) -> None:
    state = state_of(
        status="success",
        outcome=outcome,
        held=held,
        delivered=delivered,
        blocked=blocked,
        dask_state=dask_state,
    )
    assert state == outcome
    assert state in FINISHED
