"""Effects, for workflow authors: an action on the outside world that is done at most once.

    with effect("charge", request={"order": 7, "amount": 30}) as charge:
        if charge.call:
            answer = provider.charge(..., idempotency_key=charge.key)
            charge.confirm({"charge_id": answer.id})
    # charge.outcome is what was confirmed, also in an attempt that found it confirmed

What was neither confirmed nor certainly failed when the block ends stays open: after a loss, a timeout, a cancel
or an exception nobody knows whether it happened, and the policy decides what the next attempt does (R25). Under
``Policy.MANUAL`` an exception holds the job for a person; under the others it fails the job, like any exception.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from jobdeck_backend.errors import EffectUncertain
from jobdeck_backend.jobs.records import Effect, EffectState, Policy
from jobdeck_backend.workflows.context import JobContext, job_context
from jobdeck_backend.workflows.place import here

Probe = Callable[[str], bool | None]
"""Asks the provider by key: True it happened, False it did not, None it cannot tell."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class EffectHandle:
    """One effect inside its block."""

    def __init__(self, context: JobContext, known: Effect) -> None:
        self._ledger = context.ledger
        self.key = known.key
        """The same in every attempt: give it to the provider as idempotency key."""
        self.call = known.state is EffectState.INTENT
        """Whether the call is to be made; False when it is on record as done."""
        self.tries = known.intents
        """How often the call was about to be made, this time included."""
        self.outcome: Any = None if known.outcome is None else json.loads(known.outcome)
        """What was confirmed; ``{"proof": …}`` where a person said that it happened."""
        if known.state is EffectState.HAPPENED:
            self.outcome = {"proof": known.proof}

    def confirm(self, outcome: Any = None) -> None:
        """It happened; ``outcome`` is kept for later attempts and for people. Raises ``JobStopped``."""
        self._ledger.settle(self.key, EffectState.CONFIRMED, outcome)
        self.outcome, self.call = outcome, False

    def failed(self, reason: str) -> None:
        """It certainly did not happen: a later attempt may call again. Raises ``JobStopped``."""
        self._ledger.settle(self.key, EffectState.FAILED, {"reason": reason})
        self.call = False


@contextmanager
def effect(
    name: str, *, request: Mapping[str, Any], policy: Policy = Policy.MANUAL, probe: Probe | None = None
) -> Iterator[EffectHandle]:
    """Guard one call. Two calls in one stage are two effects, also under one name.

    They are told apart by their order, so parallel ones of one stage need names of their own. ``request`` is
    kept for the person who may have to judge: put no secrets in it. ``probe`` goes with ``Policy.PROBE``.
    Raises ``EffectUncertain`` (let it pass: the job is then held for a person), ``JobStopped``, and
    ``ValueError`` for a name that is not 1 to 64 letters, digits, dots, - or _.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"an effect's name is 1 to 64 letters, digits, dots, - or _: {name[:80]!r} is not")
    if (probe is None) == (policy is Policy.PROBE):
        raise ValueError("a probe goes with Policy.PROBE, and only with it")
    context = job_context()
    place = here()
    if place is None:
        raise ValueError("an effect belongs to a graph node, and this code runs in none")
    known = context.ledger.intend(name, *place, policy, request)
    if known.state is EffectState.UNCERTAIN:
        assert probe is not None, "the ledger answers an uncertain effect only to who can ask"
        known = _ask(context, known, probe)
    yield EffectHandle(context, known)


def _ask(context: JobContext, known: Effect, probe: Probe) -> Effect:
    happened = probe(known.key)
    if happened is None:
        raise EffectUncertain(f"the provider cannot tell whether effect {known.name} happened", key=known.key)
    return context.ledger.answer(known, happened=happened)
