"""The effects ledger (R25): intent on record before the call, outcome after it, a verdict where nobody knows."""

from dataclasses import replace

from sqlalchemy import Connection

from jobdeck_backend.commands import execution, notices
from jobdeck_backend.commands.operators import By, Perform
from jobdeck_backend.errors import EffectUncertain, NotEligible, NotFound
from jobdeck_backend.jobs.records import Admission, Claim, Effect, EffectState, Job, Policy
from jobdeck_backend.store import effects, events, jobs

SETTLED = (EffectState.CONFIRMED, EffectState.HAPPENED)
# States from which the call may be made (again): it certainly did not happen, or a person said to go on.
MAY_CALL = (EffectState.FAILED, EffectState.NOT_HAPPENED, EffectState.RETRY)
SAFE_TO_REPEAT = (Policy.REPEATABLE, Policy.IDEMPOTENT)


def intend(tx: Connection, claim: Claim, wanted: Effect) -> Effect:
    """Put the intent on record and answer the effect; call only when its state is INTENT.

    Answers a settled effect as it is: its call must not be made again. Answers an UNCERTAIN one whose policy is
    to ask the provider. Raises ``EffectUncertain`` when only a person can tell, ``JobStopped`` when the job is
    not this execution's any more.
    """
    execution.check(tx, claim)
    known = effects.load(tx, wanted.key)
    if known is None:
        effects.insert(tx, wanted)
        return wanted
    if known.state in SETTLED:
        return known
    if known.state not in MAY_CALL and wanted.policy == Policy.PROBE:
        return replace(known, state=EffectState.UNCERTAIN)
    if known.state not in MAY_CALL and wanted.policy not in SAFE_TO_REPEAT:
        # Whoever holds the job for it marks it UNCERTAIN.
        text = f"nobody knows whether effect {known.name} of stage {known.node} happened"
        raise EffectUncertain(text, key=known.key)
    return _intend_again(tx, replace(wanted, intents=known.intents + 1))


def answer(tx: Connection, claim: Claim, known: Effect, *, happened: bool, now: float) -> Effect:
    """What the provider said about an uncertain effect: settled, or about to be called again."""
    execution.check(tx, claim)
    if not happened:
        again = replace(known, state=EffectState.INTENT, attempt=claim.attempt, intent_at=now)
        return _intend_again(tx, replace(again, intents=known.intents + 1))
    settle(tx, claim, known.key, EffectState.CONFIRMED, {"asked": "the provider says it happened"}, now)
    settled = effects.load(tx, known.key)
    assert settled is not None
    return settled


def _intend_again(tx: Connection, again: Effect) -> Effect:
    columns = {
        "policy": again.policy,
        "state": again.state,
        "request": again.request,
        "attempt": again.attempt,
        "intents": again.intents,
        "intent_at": again.intent_at,
    }
    unsettled = dict.fromkeys(("settled_at", "settled_by", "outcome", "proof"))
    effects.change(tx, again.key, list(EffectState), **columns, **unsettled)
    return again


def settle(tx: Connection, claim: Claim, key: str, state: EffectState, outcome: object, now: float) -> None:
    """Put on record what the call came to.

    Raises ``JobStopped`` when the claim's right to write is gone, ``NotEligible`` when it is settled already.
    """
    execution.check_fence(tx, claim)
    columns = {
        "state": state,
        "settled_at": now,
        "settled_by": claim.worker,
        "outcome": events.encode(outcome),
    }
    if not effects.change(tx, key, effects.OPEN, **columns):
        raise NotEligible(f"effect {key} is settled already")


def verdict(key: str, verdict_: EffectState, proof: str | None) -> Perform:
    """The act of saying what a person found out about an uncertain effect."""

    def judge(tx: Connection, _admission: Admission, job: Job, by: By) -> str:
        known = effects.load(tx, key)
        if known is None or known.job_id != job.job_id:
            raise NotFound(f"job {job.job_id} has no effect {key}")
        if jobs.has_live_attempt(tx, job.job_id):
            raise NotEligible(f"job {job.job_id} still has a live attempt, which may yet tell")
        columns = {"state": verdict_, "settled_at": by.now, "settled_by": by.actor, "proof": proof}
        if not effects.change(tx, key, [EffectState.UNCERTAIN], **columns):
            raise NotEligible(f"effect {known.name} is {known.state}; there is nothing to judge")
        text = f"{by.actor} says of effect {known.name}: {verdict_.replace('_', ' ')}"
        told = notices.notice(
            "verdict", by.now, text, key=key, verdict=verdict_, proof=proof, reason=by.reason
        )
        events.append(tx, job.job_id, [told], by.now)
        return text

    return judge
