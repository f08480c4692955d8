"""The recovery plan (R18, R19): pure, and right for every situation."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from jobdeck_backend.jobs.records import Attempt, Job, Status
from jobdeck_backend.recovery.plan import REQUEUES, Act, Bounds, Situation, plan

NOW = 1_000.0
BOUNDS = Bounds(
    expire_grace_s=2.0, heartbeat_stale_s=20.0, cancel_grace_s=3.0, ghost_timeout_s=300.0, lost_attempts_max=3
)

JOB = Job(
    job_id="one",
    status=Status.RUNNING,
    accepted_at=900.0,
    priority=0,
    dependent=False,
    attempt=1,
    fence=1,
    version=2,
    event_seq=2,
    dispatch_deadline=2_000.0,
    delivered_epoch=1,
    delivered_at=950.0,
    held_reason=None,
    worker="w0",
    error=None,
    error_type=None,
    output=None,
    started_at=950.0,
    cancel_requested_at=None,
    cancel_acknowledged_at=None,
    revoked_at=None,
    stage=None,
    stages_done=0,
    stages_total=None,
    progress_at=None,
    note=None,
)
ATTEMPT = Attempt("one", 1, 1, "w0", 42, 1, started_at=950.0, heartbeat_at=995.0)
HEALTHY = Situation(
    JOB, 2_000.0, ATTEMPT, worker_gone=False, loss="", lost_attempts=0, last_stage=None, checkpoint_id=None
)
LOST = replace(HEALTHY, worker_gone=True, loss="worker lost")


def one(situation: Situation):
    actions = plan([situation], BOUNDS, NOW)
    return actions[0] if actions else None


def test_r19_a_live_attempt_with_a_fresh_heartbeat_is_left_alone() -> None:
    action = one(HEALTHY)
    assert (action.act, action.reason) == (Act.LEAVE, "runs on w0, heartbeat 5 s ago")


def test_r19_a_lost_worker_sends_its_job_back_with_the_evidence() -> None:
    action = one(LOST)
    assert (action.act, action.attempt, action.attempt_end) == (Act.START, 1, "worker lost")
    assert action.reason == "worker lost; starts again from its request"
    assert action.evidence == {"worker": "w0", "pid": 42, "epoch": 1}


def test_r19_a_checkpoint_is_where_it_goes_on() -> None:
    action = one(replace(LOST, last_stage="extract", checkpoint_id="c1"))
    assert action.act is Act.RESUME
    assert action.reason == "worker lost; resumes after stage extract"
    assert action.evidence["checkpoint_id"] == "c1"


def test_r19_a_stale_heartbeat_counts_as_a_lost_worker() -> None:
    stale = replace(HEALTHY, attempt=replace(ATTEMPT, heartbeat_at=NOW - 20.0))
    assert one(stale).act is Act.START
    assert one(stale).evidence["heartbeat_age"] == 20.0
    assert one(replace(stale, attempt=replace(ATTEMPT, heartbeat_at=NOW - 19.9))).act is Act.LEAVE


def test_r19_the_third_lost_worker_holds_the_job_a_lost_scheduler_never() -> None:
    assert one(replace(LOST, lost_attempts=1)).act is Act.START
    held = one(replace(LOST, lost_attempts=2))
    assert (held.act, held.reason) == (Act.HOLD, "3 attempts ended with their worker")
    assert one(replace(LOST, lost_attempts=9, loss="scheduler lost")).act is Act.START


def test_r19_r25_a_lost_call_that_only_a_person_can_judge_holds_the_job() -> None:
    for loss in ("worker lost", "scheduler lost"):
        situation = replace(LOST, loss=loss, unknown_effect="one/pay/1/charge/0", checkpoint_id="c1")
        action = one(situation)
        assert (action.act, action.attempt_end) == (Act.HOLD, loss)
        assert action.reason == f"{loss}; nobody knows whether effect one/pay/1/charge/0 happened"
        assert action.evidence["effect"] == "one/pay/1/charge/0"


def test_r19_r25_an_open_effect_keeps_no_overdue_job_from_expiring_and_harms_no_live_one() -> None:
    assert one(replace(HEALTHY, unknown_effect="k")).act is Act.LEAVE
    assert one(replace(LOST, unknown_effect="k", deadline=NOW - 2.0)).act is Act.EXPIRE


def test_r19_past_its_deadline_a_running_job_is_expired_after_its_workers_grace() -> None:
    assert one(replace(HEALTHY, deadline=NOW - 1.9)).act is Act.LEAVE
    for situation in (HEALTHY, replace(LOST, lost_attempts=5)):
        action = one(replace(situation, deadline=NOW - 2.0))
        assert (action.act, action.reason) == (Act.EXPIRE, "deadline passed while running")


def test_r8_past_its_deadline_a_queued_job_is_expired_at_once() -> None:
    queued = replace(HEALTHY, job=replace(JOB, status=Status.SUBMITTED), attempt=None)
    assert one(queued) is None
    action = one(replace(queued, deadline=NOW))
    assert (action.act, action.reason) == (Act.EXPIRE, "deadline passed while queued")
    assert one(replace(queued, deadline=None)) is None


def test_r19_what_comes_first_decides() -> None:
    """Deadline, live heartbeat, unresolved effect, finished graph, attempts used up, checkpoint, request."""
    everything = replace(
        LOST, deadline=NOW - 3, checkpoint_id="c1", last_stage="pay", graph_finished=True,
        unknown_effect="k", lost_attempts=2,
    )  # fmt: skip
    assert one(everything).act is Act.EXPIRE
    assert one(replace(everything, deadline=None, worker_gone=False)).act is Act.LEAVE
    open_effect = one(replace(everything, deadline=None))
    assert (open_effect.act, open_effect.evidence["effect"]) == (Act.HOLD, "k")
    known = replace(everything, deadline=None, unknown_effect=None)
    assert (one(known).act, one(known).evidence["checkpoint_id"]) == (Act.CLOSE, "c1")
    unfinished = replace(known, graph_finished=False)
    assert (one(unfinished).act, one(unfinished).evidence["lost_attempts"]) == (Act.HOLD, 3)
    assert one(replace(unfinished, lost_attempts=0)).act is Act.RESUME
    assert one(replace(LOST, lost_attempts=0)).act is Act.START


def test_r24_a_lost_job_that_nobody_recovered_in_time_is_a_failure() -> None:
    assert one(replace(LOST, planned_since=NOW - 299.9)).act is Act.START
    action = one(replace(LOST, planned_since=NOW - 300.0))
    assert (action.act, action.attempt_end) == (Act.FAIL, "worker lost")
    assert one(replace(HEALTHY, planned_since=NOW - 300.0)).act is Act.LEAVE


def test_a_held_job_is_left_to_its_person_and_a_queued_one_is_nobodys_business() -> None:
    held = replace(HEALTHY, job=replace(JOB, status=Status.SUBMITTED, held_reason="why"), attempt=None)
    assert (one(held).act, one(held).reason) == (Act.LEAVE, "held for a person: why")
    assert one(replace(held, job=replace(JOB, status=Status.SUBMITTED))) is None


def test_r15_a_cancel_not_acknowledged_in_time_is_revoked_once() -> None:
    asked = replace(JOB, status=Status.INTERRUPTED, cancel_requested_at=NOW - 3.0)
    assert one(replace(HEALTHY, job=asked)).act is Act.REVOKE
    assert one(replace(HEALTHY, job=replace(asked, cancel_requested_at=NOW - 2.9))) is None
    assert one(replace(HEALTHY, job=replace(asked, cancel_acknowledged_at=NOW))) is None
    assert one(replace(HEALTHY, job=replace(asked, revoked_at=NOW))) is None


def test_an_attempt_that_outlived_its_job_ends_with_its_worker() -> None:
    for status in (Status.SUBMITTED, Status.INTERRUPTED, Status.FAILURE):
        action = one(replace(LOST, job=replace(JOB, status=status)))
        assert (action.act, action.attempt) == (Act.END_ATTEMPT, 1)


def situations() -> st.SearchStrategy[Situation]:
    times = st.one_of(st.none(), st.floats(NOW - 100, NOW + 100))
    jobs = st.builds(
        lambda **changes: replace(JOB, **changes),
        status=st.sampled_from(Status),
        fence=st.integers(0, 5),
        held_reason=st.one_of(st.none(), st.just("held")),
        cancel_requested_at=times,
        cancel_acknowledged_at=times,
        revoked_at=times,
    )
    attempts = st.one_of(
        st.none(), st.builds(lambda at: replace(ATTEMPT, heartbeat_at=at), st.floats(NOW - 100, NOW))
    )
    return st.builds(
        Situation,
        job=jobs,
        deadline=times,
        attempt=attempts,
        worker_gone=st.booleans(),
        loss=st.sampled_from(["worker lost", "scheduler lost"]),
        lost_attempts=st.integers(0, 5),
        last_stage=st.one_of(st.none(), st.just("extract")),
        checkpoint_id=st.one_of(st.none(), st.just("c1")),
        graph_finished=st.booleans(),
        unknown_effect=st.one_of(st.none(), st.just("key")),
        planned_since=st.one_of(st.none(), st.floats(NOW - 500, NOW)),
    )


@given(st.lists(situations(), max_size=10))
def test_r18_i15_planning_twice_is_planning_once_and_each_job_has_one_action_at_most(several) -> None:
    actions = plan(several, BOUNDS, NOW)
    assert actions == plan(several, BOUNDS, NOW)
    assert len(actions) <= len(several)


@given(situations())
def test_every_action_names_the_state_it_was_planned_on_and_fits_it(situation: Situation) -> None:
    action = one(situation)
    if action is None:
        return
    assert (action.status, action.fence) == (situation.job.status, situation.job.fence)
    assert action.reason
    match action.act:
        case Act.START | Act.RESUME | Act.CLOSE | Act.HOLD | Act.FAIL:
            assert situation.job.status is Status.RUNNING
        case Act.EXPIRE:
            assert not situation.job.status.terminal
            assert situation.deadline is not None
            assert situation.deadline <= NOW
        case Act.REVOKE:
            assert situation.job.status.terminal
        case Act.LEAVE:
            assert not situation.job.status.terminal
        case Act.END_ATTEMPT:
            assert situation.worker_gone
            assert situation.job.status is not Status.RUNNING


@given(situations())
def test_r19_no_running_job_is_left_without_a_worker(situation: Situation) -> None:
    gone = situation.attempt is None or situation.worker_gone
    if situation.job.status is Status.RUNNING and gone:
        assert one(situation).act is not Act.LEAVE


@given(situations())
def test_r25_nothing_goes_back_to_the_queue_over_a_call_that_only_a_person_can_judge(
    situation: Situation,
) -> None:
    action = one(situation)
    if action is not None and situation.unknown_effect is not None:
        assert action.act not in REQUEUES
