"""The transition table (R13). No other code names a next status.

SUBMITTED ──claim──▶ RUNNING ──succeed──▶ SUCCESS
    │  ▲                │ ├─fail/time out▶ FAILURE ─────┐
    │  └────recover─────┘ └─cancel/expire▶ INTERRUPTED ─┤
    │                                                   │
    └─ fail, cancel, expire: the same ends ◀────────────┘ resume (by an operator): SUBMITTED again
"""

from enum import StrEnum

from jobdeck_backend.errors import NotEligible
from jobdeck_backend.jobs.records import Outcome, Status


class Verb(StrEnum):
    """What happens to a job; the past tense names the transition on record."""

    SUBMIT = "submitted"
    CLAIM = "started"
    SUCCEED = "succeeded"
    FAIL = "failed"
    CANCEL = "cancelled"
    EXPIRE = "expired"
    RECOVER = "recovered"
    RESUME = "resumed"
    HOLD = "held"
    TIME_OUT = "timed out"


_NEXT: dict[tuple[Status, Verb], Status] = {
    (Status.SUBMITTED, Verb.CLAIM): Status.RUNNING,
    (Status.SUBMITTED, Verb.FAIL): Status.FAILURE,
    (Status.SUBMITTED, Verb.CANCEL): Status.INTERRUPTED,
    (Status.SUBMITTED, Verb.EXPIRE): Status.INTERRUPTED,
    (Status.SUBMITTED, Verb.HOLD): Status.SUBMITTED,
    (Status.RUNNING, Verb.SUCCEED): Status.SUCCESS,
    (Status.RUNNING, Verb.FAIL): Status.FAILURE,
    (Status.RUNNING, Verb.CANCEL): Status.INTERRUPTED,
    (Status.RUNNING, Verb.EXPIRE): Status.INTERRUPTED,
    (Status.RUNNING, Verb.RECOVER): Status.SUBMITTED,
    (Status.RUNNING, Verb.HOLD): Status.SUBMITTED,
    (Status.RUNNING, Verb.TIME_OUT): Status.FAILURE,
    (Status.FAILURE, Verb.RESUME): Status.SUBMITTED,
    (Status.INTERRUPTED, Verb.RESUME): Status.SUBMITTED,
    # A held job is SUBMITTED: resuming it lifts the hold.
    (Status.SUBMITTED, Verb.RESUME): Status.SUBMITTED,
}

OUTCOMES: dict[Verb, Outcome] = {
    Verb.SUCCEED: Outcome.SUCCEEDED,
    Verb.FAIL: Outcome.FAILED,
    Verb.TIME_OUT: Outcome.FAILED,
    Verb.CANCEL: Outcome.CANCELLED,
    Verb.EXPIRE: Outcome.EXPIRED,
}

# A new fence shuts out whoever held the old one: at a claim, and whenever the right to write is taken away.
# A cancel leaves it, so that the worker can still acknowledge; the grace's end raises it (R15).
RAISES_FENCE = frozenset({Verb.CLAIM, Verb.EXPIRE, Verb.RECOVER, Verb.HOLD, Verb.RESUME, Verb.TIME_OUT})


def advance(status: Status, verb: Verb) -> Status:
    """The status after ``verb``. Raises ``NotEligible`` when this status does not allow it."""
    try:
        return _NEXT[status, verb]
    except KeyError:
        raise NotEligible(f"a job that is {status} cannot be {verb}", status=status, verb=verb) from None
