"""One execution's side of the effects ledger (R25)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.commands import effects
from jobdeck_backend.errors import EffectUncertain
from jobdeck_backend.jobs.records import Claim, Effect, EffectState, Policy
from jobdeck_backend.scheduling.slot import Slot
from jobdeck_backend.store.engine import synced
from jobdeck_backend.store.events import encode


class ExecutionLedger:
    """The ``Ledger`` of one claim. Every write is synced to disk before it returns."""

    def __init__(self, slot: Slot, claim: Claim, flush: Callable[[], None]) -> None:
        """``flush`` writes the events that came before."""
        self._slot = slot
        self._claim = claim
        self._flush = flush
        self._calls: Counter[tuple[str, int, str]] = Counter()

    def intend(self, name: str, node: str, step: int, policy: Policy, request: Mapping[str, Any]) -> Effect:
        """Put the intent on record. Raises ``EffectUncertain`` or ``JobStopped``."""
        with self._slot.lock:
            call = self._calls[node, step, name]
            self._calls[node, step, name] += 1
        wanted = Effect(
            key=f"{self._claim.job_id}/{node}/{step}/{name}/{call}",
            job_id=self._claim.job_id,
            name=name,
            node=node,
            step=step,
            policy=policy,
            state=EffectState.INTENT,
            request=encode(request),
            attempt=self._claim.attempt,
            intents=1,
            intent_at=now(),
        )
        self._flush()
        with self._synced() as tx:
            return effects.intend(tx, self._claim, wanted, now())

    def answer(self, known: Effect, happened: bool | None) -> Effect:  # noqa: FBT001
        """Put on record what the provider answered about an uncertain effect."""
        if happened is None:
            raise EffectUncertain(
                f"the provider cannot tell whether effect {known.name} happened", key=known.key
            )
        with self._synced() as tx:
            if not happened:
                return effects.intend_again(tx, self._claim, known, now())
            effects.settle(tx, self._claim, known.key, EffectState.CONFIRMED, {"probed": True}, now())
            return replace(known, state=EffectState.CONFIRMED)

    def settle(self, key: str, state: EffectState, outcome: Any) -> None:
        """Put on record what the call came to."""
        with self._synced() as tx:
            effects.settle(tx, self._claim, key, state, outcome, now())

    @contextmanager
    def _synced(self) -> Iterator[Connection]:
        """A transaction that is on the disk when it ends: an intent must survive a loss of power."""
        with self._slot.lock, synced(self._slot.connection) as tx:
            yield tx
