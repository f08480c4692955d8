"""Why a job is where it is, in words for a person and in data for a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobdeck_backend.jobs.records import Attempt, Effect, Policy
from jobdeck_backend.jobs.states import State
from jobdeck_backend.jobs.view import JobView
from jobdeck_backend.plural import plural

LISTED_MAX = 5


@dataclass(frozen=True, slots=True)
class Why:
    """A code of the operations API, a sentence or two, and the facts behind them."""

    code: str
    text: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is around a job: the cluster, the slots, its queue and the line."""

    cluster_state: str
    slots_total: int
    """Of this backend's cluster; 0 when there is no picture of Dask."""
    slots_taken: int
    dask_state: str | None
    paused_by: str | None
    ahead: int | None
    """Jobs before it in dispatch order that have not started; None when it is not in the line."""
    running: Sequence[str]
    """Jobs that run now on this backend's cluster."""
    attempt: Attempt | None
    """Its execution that has not ended."""
    uncertain: Effect | None = None
    """Its first effect of which nobody knows whether it happened."""
    drained: Sequence[str] = ()
    """All workers, where every one of them is drained."""
    elsewhere: str | None = None
    """The other backend to whose cluster the job was handed."""
    awaits_recovery: bool = False
    """Whether its execution is lost, and its recovery waits for a person."""


def explain(view: JobView, around: Surroundings, now: float) -> Why:
    """The reason, and while it is unfinished how long its deadline leaves it. ``now`` in Unix seconds."""
    reason = _reason(view, around, now)
    left = view.left(now)
    if left is None:
        return reason
    return Why(reason.code, f"{reason.text} {_deadline(view, left)}", reason.data | {"left": round(left, 1)})


def _deadline(view: JobView, left: float) -> str:
    if left <= 0:
        return f"Its deadline passed {_span(-left)} ago."
    slack = view.slack
    if slack is None or slack >= 0:
        return f"Its deadline is in {_span(left)}."
    return f"Its deadline is in {_span(left)}; it is predicted to end {_span(-slack)} after it."


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _reason(view: JobView, around: Surroundings, now: float) -> Why:
    if view.source.cancelling and around.attempt is not None:
        return _cancelling(view, around.attempt, now)
    if view.finished:
        return _finished(view, around)
    match view.state:
        case State.HELD:
            return _held(view, around.uncertain)
        case State.RUNNING if around.awaits_recovery:
            return _lost(view)
        case State.RUNNING:
            return _running(view, around.attempt, now)
    open_ids = [one.job_id for one in view.predecessors if not one.finished]
    if open_ids:
        return _dependency(open_ids)
    delivered = view.state is not State.BACKLOG
    if around.paused_by is not None and not delivered:
        text = (
            f"Its queue {view.source.queue} was paused by {around.paused_by}. Unpausing the queue lets it go."
        )
        return Why("paused", text, {"queue": view.source.queue, "paused_by": around.paused_by})
    if around.elsewhere is not None:
        text = (
            f"With the Dask of another backend on this database, {around.elsewhere}: that one can say more."
        )
        return Why("queued", text, {"backend": around.elsewhere})
    return _without_slots(around, delivered=delivered) or _in_line(view, around)


def _without_slots(around: Surroundings, *, delivered: bool) -> Why | None:
    if around.cluster_state not in {"up", "suspect"}:
        return _without_scheduler(around.cluster_state, delivered=delivered)
    if around.drained:
        names = _names(around.drained)
        text = f"Every worker is drained ({names}): none takes anything new. Take one back or restart it."
        return Why("no_worker", text, {"drained": list(around.drained)})
    if around.slots_total == 0:
        text = "There is no worker to run it on. One is started by itself; nothing is lost meanwhile."
        return Why("no_worker", text, {"slots_total": 0})
    return None


def _held(view: JobView, uncertain: Effect | None) -> Why:
    text = f"Held: {view.source.held_reason}. Nothing happens to it until a person resumes it."
    data: dict[str, Any] = {"held_reason": view.source.held_reason}
    if uncertain is not None:
        text += f" Resumed, {_RESUMED[Policy(uncertain.policy)].format(uncertain.name)}."
        data["effect"] = uncertain.key
    return Why("held", text, data)


_RESUMED: Mapping[Policy, str] = {
    Policy.MANUAL: "it asks first for a verdict on effect {}: whether it happened, or is to be tried again",
    Policy.PROBE: "it asks the provider whether effect {} happened",
    Policy.IDEMPOTENT: "it calls effect {} again with the same key",
    Policy.REPEATABLE: "it calls effect {} again",
}


def _finished(view: JobView, around: Surroundings) -> Why:
    attempt = around.attempt
    reason = view.reason or ""
    # A cancel's reason says by itself what the state would: "cancelled by user: …".
    ended = "was" if reason.startswith("cancelled by ") else _ENDED[view.state] + (":" if reason else "")
    text = f"It {ended} {reason}".rstrip() + "."
    data = {"outcome": view.source.outcome, "reason": view.reason}
    if attempt is not None:
        text += f" Its thread on {attempt.worker} has not ended: that slot is still taken."
        data["slot_taken_on"] = attempt.worker
    if around.uncertain is not None:
        text += f" Nobody knows whether its effect {around.uncertain.name} happened."
        data["effect"] = around.uncertain.key
    return Why("finished", text, data)


_ENDED: Mapping[State, str] = {
    State.SUCCEEDED: "succeeded",
    State.FAILED: "failed",
    State.CANCELLED: "was cancelled",
    State.EXPIRED: "expired",
}


def _cancelling(view: JobView, attempt: Attempt, now: float) -> Why:
    waited = max(0.0, now - (view.source.cancel_requested_at or now))
    text = (
        f"Cancelled {waited:.0f} s ago, but worker {attempt.worker} has not acknowledged it: "
        "its slot is still taken. The job itself can write nothing that counts."
    )
    return Why("cancelling", text, {"worker": attempt.worker, "pid": attempt.pid, "waited": round(waited, 1)})


def _running(view: JobView, attempt: Attempt | None, now: float) -> Why:
    source = view.source
    at = f" at stage {source.stage}" if source.stage else ""
    data: dict[str, Any] = {"worker": source.worker, "attempt": source.attempt, "stage": source.stage}
    text = f"Running on {source.worker}{at}, attempt {source.attempt}."
    if attempt is not None:
        age = max(0.0, now - attempt.heartbeat_at)
        text += f" Its worker's heartbeat is {age:.0f} s old."
        data |= {"pid": attempt.pid, "heartbeat_age": round(age, 1)}
    return Why("running", text, data)


def _lost(view: JobView) -> Why:
    source = view.source
    at = f" at stage {source.stage}" if source.stage else ""
    text = (
        f"Its execution on {source.worker}{at} was lost. Recovery is manual: it goes on once a person applies "
        "the recovery plan, and fails when nobody does in time."
    )
    return Why("lost", text, {"worker": source.worker, "attempt": source.attempt, "stage": source.stage})


def _dependency(open_ids: Sequence[str]) -> Why:
    jobs = "job" if len(open_ids) == 1 else "jobs"
    text = f"Waits for {len(open_ids)} unfinished {jobs}: {_names(open_ids)}."
    return Why("dependency", text, {"waits_for": list(open_ids)})


def _without_scheduler(cluster_state: str, *, delivered: bool) -> Why:
    what = "The scheduler is starting" if cluster_state == "starting" else "The scheduler was lost"
    where = "it goes back to the backlog and out again" if delivered else "it goes out"
    text = f"{what}: {where} as soon as the scheduler is up. Nothing is lost."
    return Why("scheduler_lost", text, {"cluster_state": cluster_state})


def _in_line(view: JobView, around: Surroundings) -> Why:
    data = {
        "ahead": around.ahead,
        "slots_total": around.slots_total,
        "slots_taken": around.slots_taken,
        "dask_state": around.dask_state,
        "taken_by": list(around.running[:LISTED_MAX]),
    }
    if view.state is State.ASSIGNED:
        return Why("assigned", "Dask gave it to a worker, which has not written its start yet.", data)
    before = "Nothing is" if around.ahead == 0 else f"{_jobs(around.ahead)}"
    by = f" (by {_names(around.running)})" if around.running else ""
    are = "is" if around.slots_taken == 1 else "are"
    slots = f"{around.slots_taken} of {plural(around.slots_total, 'slot')} {are} taken{by}"
    if view.state is State.BACKLOG:
        text = f"In the backlog: {slots}, and Dask is handed only so many jobs ahead. {before} before it."
        return Why("backlog", text, data)
    if around.dask_state is None:
        text = (
            f"Handed to Dask, which does not know it (yet): if that lasts, it is handed over again. {slots}."
        )
        return Why("queued", text, data)
    return Why("queued", f"Ready, held by Dask until a slot is free: {slots}. {before} before it.", data)


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED_MAX} more" if len(names) > LISTED_MAX else ""
    return ", ".join(names[:LISTED_MAX]) + more


def _jobs(count: int | None) -> str:
    if count is None:
        return "An unknown number of jobs is"
    return f"{plural(count, 'job')} {'is' if count == 1 else 'are'}"
