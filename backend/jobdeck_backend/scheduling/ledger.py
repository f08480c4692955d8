"""One execution's side of the effects ledger (R25)."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import Connection

from jobdeck_backend.clock import now
from jobdeck_backend.commands import effects
from jobdeck_backend.errors import BudgetSpent
from jobdeck_backend.faults import FaultPoint, reached
from jobdeck_backend.jobs.records import Claim, Effect, EffectState, Policy
from jobdeck_backend.scheduling.patience import patiently_here
from jobdeck_backend.scheduling.recorder import ExecutionRecorder
from jobdeck_backend.scheduling.slot import Slot
from jobdeck_backend.store.events import encode
from jobdeck_backend.workflows.plain import plain

T = TypeVar("T")


class ExecutionLedger:
    """The ``Ledger`` of one claim. Every write is synced to disk before it returns."""

    def __init__(
        self,
        slot: Slot,
        claim: Claim,
        recorder: ExecutionRecorder,
        remaining: Callable[[], float | None],
    ) -> None:
        """The recorder's events are written before an intent; nothing is begun without time ``remaining``."""
        self._slot = slot
        self._claim = claim
        self._recorder = recorder
        self._remaining = remaining
        self._calls: dict[tuple[str, int], Counter[str]] = {}

    def stage_started(self, node: str, step: int) -> None:
        """Count this stage's calls from the first again: a node tried anew means the same effects."""
        with self._slot.lock:
            self._calls[node, step] = Counter()

    def intend(self, name: str, node: str, step: int, policy: Policy, request: Mapping[str, Any]) -> Effect:
        """Put the intent on record. Raises ``EffectUncertain``, ``BudgetSpent`` or ``JobStopped``."""
        remaining = self._remaining()
        if remaining is not None and remaining <= 0:
            raise BudgetSpent("the deadline passed before the effect could begin")
        with self._slot.lock:
            calls = self._calls.setdefault((node, step), Counter())
            call = calls[name]
            calls[name] += 1
        wanted = Effect(
            key=f"{self._claim.job_id}/{quote(node, safe='')}/{step}/{name}/{call}",
            job_id=self._claim.job_id,
            name=name,
            node=node,
            step=step,
            policy=policy,
            state=EffectState.INTENT,
            request=encode(plain(request)),
            attempt=self._claim.attempt,
            intents=1,
            intent_at=now(),
        )
        self._patiently(self._recorder.flush)
        return self._durably(lambda tx: effects.intend(tx, self._claim, wanted))

    def answer(self, known: Effect, *, happened: bool) -> Effect:
        """Put on record what the provider answered about an uncertain effect. Raises ``JobStopped``."""
        return self._durably(lambda tx: effects.answer(tx, self._claim, known, happened=happened, now=now()))

    def settle(self, key: str, state: EffectState, outcome: Any) -> None:
        """Put on record what the call came to. Raises ``JobStopped``."""
        reached(FaultPoint.EFFECT_CALLED, self._claim.job_id)
        self._durably(lambda tx: effects.settle(tx, self._claim, key, state, plain(outcome), now()))

    def _durably(self, write: Callable[[Connection], T]) -> T:
        """A transaction that is on the disk when it ends: an intent must survive a loss of power."""
        return self._patiently(lambda: self._slot.transact(write, durably=True))

    def _patiently(self, write: Callable[[], T]) -> T:
        return patiently_here(write, self._claim.job_id, self._recorder.refuse_if_stopped)
