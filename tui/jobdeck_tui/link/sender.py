"""What goes out: acts whose grace is over, drills, bundles. Each outcome becomes a fact in the deck's memory."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from jobdeck_tui.client.drills import Drill
from jobdeck_tui.client.models import Job, Notification
from jobdeck_tui.core.acts import Phase, Tracked
from jobdeck_tui.core.drill_words import Fault
from jobdeck_tui.core.eligibility import Act
from jobdeck_tui.deck_log import log
from jobdeck_tui.link.wire import Wire


class Sender:
    """Sends; nothing else in the deck changes anything on a server."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._resume_after: set[int] = set()

    def send_due(self) -> None:
        """Sends the acts whose grace is over."""
        live = not self._wire.deck.refusal()
        for tracked in self._wire.deck.acts.due(self._wire.deck.now(), live=live):
            self._wire.deck.take_act(tracked)
            self._wire.acts(tracked.act.value, tracked.job_id)
            self._wire.start(self._wire.program, partial(self._send, tracked), "acts")

    def grant_and_resume(self, job: Job, extend_seconds: float, now: float) -> None:
        """Grants a later window, and resumes the job once that was accepted."""
        tracked = self._wire.deck.acts.confirmed(Act.GRANT, [job], now, extend_seconds=extend_seconds)[0]
        self._resume_after.add(tracked.number)
        self.send_due()

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
                reason="from the deck",
                extend_seconds=tracked.extend_seconds,
            )
        except TimedOut:
            deck.take_act(acts.unknown(tracked.number))
        except Refused as error:
            deck.take_act(acts.refused(tracked.number, error.message, error.current))
            if error.current is not None:
                deck.take_jobs([error.current])
        except ClientError as error:
            deck.take_act(acts.refused(tracked.number, error.message))
        else:
            deck.take_act(acts.accepted(tracked.number, job, deck.now()))
            deck.take_jobs([job])
            if tracked.number in self._resume_after:
                acts.confirmed(Act.RESUME, [job], deck.now())
                self.send_due()
        self._resume_after.discard(tracked.number)
        for past in acts.history():
            if past.number == tracked.number:
                log.info("act: %s", past.line(deck.now()))
        deck.fresh = True

    def judge(self, job_id: str, key: str, verdict: str, proof: str | None, then: Callable[[], None]) -> None:
        """Gives a verdict on an effect; ``then`` is called when it is on record."""
        self._wire.acts(f"verdict {verdict} on {key} of", job_id)
        self._wire.start(
            self._wire.program, partial(self._judge, job_id, key, verdict, proof, then), "verdict"
        )

    async def _judge(
        self, job_id: str, key: str, verdict: str, proof: str | None, then: Callable[[], None]
    ) -> None:
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            effect = await self._wire.api.judge(job_id, key, verdict, proof=proof, reason="from the deck")
        except ClientError as error:
            self._wire.deck.say(f"No verdict was given: {error.message}", "bad")
        else:
            said = effect.state.replace("_", " ")
            self._wire.deck.say(f"On record: {effect.name} {said}. r lets the job go on.", "notice")
            then()
        self._wire.deck.fresh = True

    def resend(self, job_id: str, told: Notification, then: Callable[[], None]) -> None:
        """Tells a job's caller once more; ``then`` is called when that is on its way."""
        self._wire.acts("resend", job_id)
        self._wire.start(self._wire.program, partial(self._resend, job_id, told, then), "resend")

    async def _resend(self, job_id: str, told: Notification, then: Callable[[], None]) -> None:
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            await self._wire.api.resend(job_id, told.id, reason="from the deck")
        except ClientError as error:
            self._wire.deck.say(f"The caller is not told again: {error.message}", "bad")
        else:
            self._wire.deck.say(
                f"{told.target} is told again that it {told.event}: see the record.", "notice"
            )
            then()
        self._wire.deck.fresh = True

    def save_bundle(self, job_id: str) -> None:
        """Saves a job's incident bundle in the directory the deck was started in, over nothing that is there."""
        self._wire.start(self._wire.program, partial(self._save_bundle, job_id), "bundle")

    async def _save_bundle(self, job_id: str) -> None:
        from jobdeck_tui.client.errors import ClientError
        from jobdeck_tui.client.saving import Saving, free_name

        if self._wire.api is None:
            return
        try:
            with Saving(free_name(Path.cwd() / f"jobdeck-{job_id}.tar.gz")) as saving:
                await self._wire.api.save_bundle(job_id, saving)
        except OSError as error:
            self._wire.deck.say(f"No bundle was saved in {Path.cwd()}: {error.strerror}.", "bad")
        except ClientError as error:
            self._wire.deck.say(f"No bundle was saved: {error.message}", "bad")
        else:
            self._wire.deck.say(f"Saved {saving.path} ({saving.bytes} bytes, without content).", "notice")
        self._wire.deck.fresh = True

    def start_drill(self, fault: Fault) -> None:
        """Injects a fault."""
        self._wire.acts(f"drill {fault.name}")
        self._wire.start(self._wire.program, partial(self._drill, fault), "drill")

    async def _drill(self, fault: Fault) -> None:
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            self._wire.deck.take_drill(
                await self._wire.api.start_drill(fault.name, confirm=fault.name, target=fault.target)
            )
        except ClientError as error:
            self._wire.deck.say(f"The drill was not started: {error.message}", "bad")
        self._wire.deck.fresh = True

    def heal_drill(self, drill: Drill) -> None:
        """Ends a drill's fault at once."""
        self._wire.acts(f"heal drill {drill.id}")
        self._wire.start(self._wire.program, partial(self._heal, drill), "drill")

    async def _heal(self, drill: Drill) -> None:
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            self._wire.deck.take_drill(await self._wire.api.heal_drill(drill.id))
        except ClientError as error:
            self._wire.deck.say(f"The drill was not healed: {error.message}", "bad")
        else:
            self._wire.deck.say("Healed: the drill ends once all is well.", "notice")
        self._wire.deck.fresh = True

    def pending(self) -> list[Tracked]:
        """Acts that were asked for and not sent yet, or sent and not answered."""
        return [
            tracked
            for tracked in self._wire.deck.acts.unfinished()
            if tracked.phase in (Phase.GRACE, Phase.SENT)
        ]
