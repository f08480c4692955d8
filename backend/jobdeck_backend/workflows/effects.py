"""Effects, for workflow authors: an action on the outside world that is done at most once.

    with effect("charge", request={"order": 7, "amount": 30}) as charge:
        if charge.call:
            answer = provider.charge(..., idempotency_key=charge.key)
            charge.confirm({"charge_id": answer.id})
    # charge.outcome is the confirmed answer, also in an attempt that found it confirmed

What neither was confirmed nor certainly failed when the block ends stays open: after a loss, a timeout or a
cancel nobody knows whether it happened, and the policy decides what comes next (R25).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from langgraph.config import get_config

from jobdeck_backend.jobs.records import EffectState, Policy
from jobdeck_backend.workflows.context import JobContext, job_context

Probe = Callable[[str], bool | None]
"""Asks the provider by key: True it happened, False it did not, None it cannot tell."""


class EffectHandle:
    """One effect inside its block."""

    def __init__(self, context: JobContext, key: str, outcome: Any, *, call: bool) -> None:
        self._ledger = context.ledger
        self.key = key
        """The same in every attempt: give it to the provider as idempotency key."""
        self.call = call
        """Whether the call is to be made; False when it is on record as done."""
        self.outcome = outcome

    def confirm(self, outcome: Any = None) -> None:
        """It happened; ``outcome`` is kept for later attempts and for people."""
        self._ledger.settle(self.key, EffectState.CONFIRMED, outcome)
        self.outcome, self.call = outcome, False

    def failed(self, reason: str) -> None:
        """It certainly did not happen: a later attempt may call again."""
        self._ledger.settle(self.key, EffectState.FAILED, {"reason": reason})


@contextmanager
def effect(
    name: str, *, request: Mapping[str, Any], policy: Policy = Policy.MANUAL, probe: Probe | None = None
) -> Iterator[EffectHandle]:
    """Guard one call. Two calls in one stage are two effects, also under one name.

    ``probe`` is needed for ``Policy.PROBE``. Raises ``EffectUncertain`` (let it pass: the job is then held for a
    person) and ``JobStopped``.
    """
    if (probe is None) == (policy is Policy.PROBE):
        raise ValueError("a probe goes with Policy.PROBE, and only with it")
    context = job_context()
    metadata = get_config().get("metadata", {})
    node, step = str(metadata["langgraph_node"]), int(metadata["langgraph_step"])
    known = context.ledger.intend(name, node, step, policy, request)
    if known.state is EffectState.UNCERTAIN and probe is not None:
        known = context.ledger.answer(known, probe(known.key))
    yield EffectHandle(context, known.key, known.outcome, call=known.state is EffectState.INTENT)
