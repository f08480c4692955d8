"""What goes out beside acts on a job's state: verdicts, callbacks, drills, the plan, workers, queues, the line.

Each is answered in words, refused or not.
"""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from jobdeck_tui.client.models import Effect, Job, Notification
from jobdeck_tui.core.acts import Phase
from jobdeck_tui.core.errands import Errand
from jobdeck_tui.deck_log import log
from jobdeck_tui.link.wire import REASON, Wire
from jobdeck_tui.text.format import id_words, plural

if TYPE_CHECKING:
    from jobdeck_tui.client.api import Api
    from jobdeck_tui.client.drills import Drill
    from jobdeck_tui.core.drill_words import Fault

UNANSWERED_SECONDS = 60.0
"""That it was sent is said until there is more to say, which comes sooner: with the answer, or without one."""
Ask = Callable[["Api"], Coroutine[Any, Any, str]]
"""Does one over HTTP; answers what came of it, in words."""


class ErrandSender:
    """Sends them; all but a drill's end only while the deck may act."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._moving: set[str] = set()

    # On one job

    def judge(
        self, job_id: str, key: str, verdict: str, proof: str | None, then: Callable[[Effect | None], None]
    ) -> None:
        """Gives a verdict on an effect; ``then`` gets the effect as it is on record, None where it is not."""

        async def ask(api: "Api") -> str:
            effect = None
            try:
                effect = await api.judge(job_id, key, verdict, proof=proof, reason=REASON)
            finally:
                self._wire.program.call_later(then, effect)  # once the words below are said
            said, resumes = effect.state.replace("_", " "), self._wire.deck.key("act.resume")
            return f"On record: {effect.name} {said}. {resumes} lets the job go on."

        what = f"verdict {verdict} on {key} of {id_words(job_id)}"
        if not self._act(ask, what, [job_id], failed="No verdict was given"):
            then(None)

    def resend(self, job_id: str, told: Notification, then: Callable[[], None]) -> None:
        """Tells a job's caller once more; ``then`` is called when that is on its way."""

        async def ask(api: "Api") -> str:
            await api.resend(job_id, told.id, reason=REASON)
            then()
            return f"{told.target} is told again that it {told.event}: see the record."

        self._act(ask, f"resend {id_words(job_id)}", [job_id], failed="The caller is not told again")

    def prioritise(self, job: Job, priority: int) -> None:
        """Moves a job in the line; one move at a time, so that each is on the row as it was seen."""
        if job.job_id in self._moving:
            self._wire.deck.say("the move before is on its way", "notice")
            return

        async def ask(api: "Api") -> str:
            try:
                moved = await api.prioritise(job.job_id, priority, version=job.version, reason=REASON)
            finally:
                self._moving.discard(job.job_id)
            self._wire.deck.take_jobs([moved])
            return (
                f"{id_words(job.job_id)} has priority {moved.priority}: it goes before equal deadlines below"
            )

        if self._act(ask, f"move {id_words(job.job_id)}", [job.job_id]):
            self._moving.add(job.job_id)

    def clone(self, job: Job) -> None:
        """Submits a job's request again under a new id."""

        async def ask(api: "Api") -> str:
            new = await api.clone(job.job_id, version=job.version, reason=REASON)
            self._wire.deck.take_jobs([new])
            return f"{id_words(job.job_id)} was submitted again as {new.job_id}"

        self._act(ask, f"submit {id_words(job.job_id)} again", [job.job_id])

    # On workers, queues and the whole

    def act_on_worker(self, name: str, act: str) -> None:
        """Drains a worker, takes it back, or restarts it."""

        async def ask(api: "Api") -> str:
            return (await api.act_on_worker(name, act, reason=REASON)).result

        self._act(ask, f"{act} {name}")

    def set_paused(self, queue: str, *, paused: bool, then: Callable[[], None]) -> None:
        """Pauses a queue, or unpauses it; ``then`` is called when it is done."""

        async def ask(api: "Api") -> str:
            await api.set_paused(queue, paused=paused, reason=REASON)
            then()
            if paused:
                key = self._wire.deck.key("unpause")
                return f"queue {queue} is paused: what Dask holds goes on, the rest waits; {key} unpauses it"
            return f"queue {queue} is open, its jobs start"

        self._act(ask, f"{'pause' if paused else 'unpause'} queue {queue}")

    def apply_plan(self, job_ids: Sequence[str]) -> None:
        """Applies the recovery plan to these jobs."""

        async def ask(api: "Api") -> str:
            from jobdeck_tui.core.recovery_words import applied_words

            return applied_words(await api.apply_plan(job_ids, reason=REASON))

        what = f"apply the plan to {plural(len(job_ids), 'job')}"
        self._act(ask, what, [None, *job_ids], failed="The plan was not applied")

    def start_drill(self, fault: "Fault") -> None:
        """Injects a fault."""

        async def ask(api: "Api") -> str:
            drill = await api.start_drill(fault.name, confirm=fault.name, target=fault.target)
            self._wire.deck.take_drill(drill)
            return f"Injected: drill {drill.id}."

        what = f"drill {fault.name}" + (f" on {fault.target}" if fault.target else "")
        self._act(ask, what, failed="The drill was not started")

    def heal_drill(self, drill: "Drill") -> None:
        """Ends a drill's fault at once, also where nothing was heard of the server: that may be the fault."""

        async def ask(api: "Api") -> str:
            self._wire.deck.take_drill(await api.heal_drill(drill.id))
            return "Healed: the drill ends once all is well."

        self._send(ask, f"heal drill {drill.id}", [None], "The drill was not healed")

    # How

    def _act(self, ask: Ask, what: str, on: Iterable[str | None] = (None,), *, failed: str = "") -> bool:
        """As ``_send``; False where no act may go out, which is said."""
        if refusal := self._wire.deck.refusal():
            self._wire.deck.say(refusal, "bad")
            return False
        self._wire.deck.say(f"{what}: sent", "notice", UNANSWERED_SECONDS)
        self._send(ask, what, on, failed)
        return True

    def _send(self, ask: Ask, what: str, on: Iterable[str | None], failed: str) -> None:
        """Sends one: logged, listed among my acts, its echo in the feed no news, and what comes of it said.

        ``on`` are the jobs that its echo names, None for none; ``failed`` says that it was not done, where
        ``what`` is not enough for that.
        """
        deck = self._wire.deck
        log.info("act: %s", what)
        deck.company.sends(on, deck.now())
        errand = deck.errands.begin(what, deck.now())
        self._wire.start(self._wire.program, partial(self._see_through, ask, errand, failed), "errand")

    async def _see_through(self, ask: Ask, errand: Errand, failed: str) -> None:
        from jobdeck_tui.client.errors import ClientError, Refused, TimedOut

        if self._wire.api is None:
            return
        try:
            self._end(errand, Phase.SEEN, await ask(self._wire.api), "notice")
        except TimedOut as error:
            self._end(errand, Phase.UNKNOWN, f"{errand.what}: {error.message}", "bad")
        except Refused as error:
            words = failed or f"{errand.what} was refused, nothing was changed"
            self._end(errand, Phase.REFUSED, f"{words}: {error.message}", "bad")
            if error.current is not None:
                self._wire.deck.take_jobs([error.current])
        except ClientError as error:
            words = failed or f"{errand.what} was not done"
            self._end(errand, Phase.REFUSED, f"{words}: {error.message}", "bad")
        self._wire.deck.fresh = True

    def _end(self, errand: Errand, phase: Phase, words: str, look: str) -> None:
        log.info("act: %s: %s", errand.what, words)
        errand.end(phase, words)
        self._wire.deck.say(words, look)
