"""Job acts on their way: one by one or many at once, each tracked until a row shows what became of it."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.acts import Tracked
from jobdeck_tui.core.eligibility import Act
from jobdeck_tui.deck_log import log
from jobdeck_tui.link.wire import Wire

if TYPE_CHECKING:
    from jobdeck_tui.client.bulk import BulkAnswer, BulkResult

REASON = "from the deck"
"""On record where the operator said none."""
AT_ONCE_MAX = 500
LOOK_SECONDS = 1.5
LOOKS_MAX = 8
"""After so many looks without a sign of it, an act without an answer was not done."""
EFFECT_UNCERTAIN, DEADLINE_PASSED = "effect_uncertain", "deadline_passed"
NEEDS_CHOICE = frozenset({EFFECT_UNCERTAIN, DEADLINE_PASSED})


class ActSender:
    """Sends acts on jobs."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._resume_after: set[int] = set()

    def send_due(self) -> None:
        """Sends the acts whose grace is over; those confirmed together go together."""
        deck = self._wire.deck
        due = deck.acts.due(deck.now(), live=not deck.refusal())
        if due:
            deck.company.sends([tracked.job_id for tracked in due], deck.now())
        for tracked in due:
            deck.take_act(tracked)
        for _, kind in groupby(due, key=self._kind):
            acts = list(kind)
            for start in range(0, len(acts), AT_ONCE_MAX):
                piece = acts[start : start + AT_ONCE_MAX]
                ask = partial(self._send, piece[0]) if len(piece) == 1 else partial(self._send_all, piece)
                self._wire.start(self._wire.program, ask, "acts")

    def _kind(self, tracked: Tracked) -> tuple[object, ...]:
        """What acts that go in one request have in common; one with something to follow goes alone."""
        alone = tracked.number if tracked.number in self._resume_after else None
        return tracked.act, tracked.reason, tracked.extend_seconds, alone

    def grant(self, job: Job, extend_seconds: float, now: float, *, resume: bool = False) -> None:
        """Grants a later window, and where ``resume`` is asked for resumes the job once that was accepted."""
        tracked = self._wire.deck.acts.confirmed(Act.GRANT, [job], now, extend_seconds=extend_seconds)[0]
        if resume:
            self._resume_after.add(tracked.number)
        self.send_due()

    def dry_run(self, act: Act, jobs: Sequence[Job], then: "Callable[[BulkAnswer], None]") -> None:
        """Asks what an act on these jobs would come to; ``then`` gets the answer, trouble is said."""
        self._wire.start(
            self._wire.program, partial(self._dry_run, act, jobs, then), "dry run", exclusive=True
        )

    async def _dry_run(self, act: Act, jobs: Sequence[Job], then: "Callable[[BulkAnswer], None]") -> None:
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        versions = {job.job_id: job.version for job in jobs}
        try:
            then(await self._wire.api.act_on_all(act.value, versions, dry_run=True))
        except ClientError as error:
            self._wire.deck.say(f"Nothing was sent, the dry run failed: {error.message}", "bad")
        self._wire.deck.fresh = True

    async def _send(self, tracked: Tracked) -> None:
        from jobdeck_tui.client.errors import ClientError, Refused, TimedOut

        deck, acts = self._wire.deck, self._wire.deck.acts
        if self._wire.api is None:
            return
        try:
            job = await self._wire.api.act(
                tracked.act.value,
                tracked.job_id,
                version=tracked.version,
                reason=tracked.reason or REASON,
                extend_seconds=tracked.extend_seconds,
            )
        except TimedOut:
            self._no_answer([tracked])
        except Refused as error:
            again = acts.once_more(tracked.number, error.current) if error.current is not None else None
            if again is not None:
                await self._send(again)
                return
            deck.take_act(acts.refused(tracked.number, error.message, error.current))
            if error.current is not None:
                deck.take_jobs([error.current])
            if error.code in NEEDS_CHOICE and tracked.act is Act.RESUME:
                deck.choices.append((tracked.job_id, error.code))
        except ClientError as error:
            deck.take_act(acts.refused(tracked.number, error.message))
        else:
            deck.take_act(acts.accepted(tracked.number, job, deck.now()))
            deck.take_jobs([job])
            if tracked.number in self._resume_after:
                acts.confirmed(Act.RESUME, [job], deck.now())
                self.send_due()
        self._resume_after.discard(tracked.number)
        self._log([tracked])
        deck.fresh = True

    async def _send_all(self, sent: Sequence[Tracked]) -> None:
        from jobdeck_tui.client.errors import ClientError, TimedOut

        deck, acts, first = self._wire.deck, self._wire.deck.acts, sent[0]
        if self._wire.api is None:
            return
        try:
            answer = await self._wire.api.act_on_all(
                first.act.value,
                {tracked.job_id: tracked.version for tracked in sent},
                reason=first.reason or REASON,
                extend_seconds=first.extend_seconds,
            )
        except TimedOut:
            self._no_answer(sent)
        except ClientError as error:
            for tracked in sent:
                deck.take_act(acts.refused(tracked.number, error.message))
        else:
            results = {result.job_id: result for result in answer.results}
            for tracked in sent:
                self._take_result(tracked, results.get(tracked.job_id))
        self._log(sent)
        deck.fresh = True

    def _log(self, sent: Iterable[Tracked]) -> None:
        """What was sent, and what became of it."""
        deck, numbers = self._wire.deck, {tracked.number for tracked in sent}
        for past in deck.acts.history():
            if past.number in numbers:
                log.info("act: %s", past.line(deck.now(), deck.key))

    def _take_result(self, tracked: Tracked, result: "BulkResult | None") -> None:
        deck, known = self._wire.deck, self._wire.deck.jobs.get(tracked.job_id)
        if result is None:
            deck.take_act(deck.acts.refused(tracked.number, "the server said nothing about it"))
        elif result.ok:
            deck.take_act(deck.acts.accepted(tracked.number, known, deck.now()))
        else:
            newest = known if known is not None and known.version == result.version else None
            again = deck.acts.once_more(tracked.number, newest) if newest is not None else None
            if again is not None:
                self._wire.start(self._wire.program, partial(self._send, again), "act")
                return
            deck.take_act(deck.acts.refused(tracked.number, result.message, newest))

    def _no_answer(self, sent: Iterable[Tracked]) -> None:
        deck = self._wire.deck
        for tracked in sent:
            deck.take_act(deck.acts.unknown(tracked.number))
            self._wire.start(self._wire.program, partial(self._look, tracked), "looking")

    async def _look(self, tracked: Tracked) -> None:
        """Reads the row until it tells; a look without an answer counts as none."""
        from jobdeck_tui.client.errors import ClientError

        deck, looks = self._wire.deck, 0
        while self._wire.api is not None and deck.acts.is_open(tracked.number):
            await asyncio.sleep(LOOK_SECONDS)
            try:
                job = (await self._wire.api.job(tracked.job_id)).job
            except ClientError:
                continue
            looks += 1
            deck.take_jobs([job])
            deck.take_act(deck.acts.looked(tracked.number, job, deck.now(), last=looks >= LOOKS_MAX))
            deck.fresh = True
