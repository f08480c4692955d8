"""What goes out beside acts on jobs: verdicts, callbacks, bundles, drills. Outcomes become facts of the deck."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from jobdeck_tui.client.models import Effect, Notification
from jobdeck_tui.core.acts import Phase, Tracked
from jobdeck_tui.link.wire import Sent, Wire
from jobdeck_tui.text.format import id_words

if TYPE_CHECKING:
    from jobdeck_tui.client.drills import Drill
    from jobdeck_tui.core.drill_words import Fault


class Sender:
    """Sends; nothing else in the deck changes anything on a server."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def judge(
        self, job_id: str, key: str, verdict: str, proof: str | None, then: Callable[[Effect | None], None]
    ) -> None:
        """Gives a verdict on an effect; ``then`` gets the effect as it is on record, None where it is not."""
        sent = self._wire.acts(f"verdict {verdict} on {key} of {id_words(job_id)}", job_id)
        self._wire.start(
            self._wire.program, partial(self._judge, job_id, key, verdict, proof, then, sent), "verdict"
        )

    async def _judge(
        self,
        job_id: str,
        key: str,
        verdict: str,
        proof: str | None,
        then: Callable[[Effect | None], None],
        sent: Sent,
    ) -> None:
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        effect = None
        try:
            effect = await self._wire.api.judge(job_id, key, verdict, proof=proof, reason="from the deck")
        except ClientError as error:
            sent.failed("No verdict was given", error)
        else:
            said, resumes = effect.state.replace("_", " "), self._wire.deck.key("act.resume")
            sent.done(f"On record: {effect.name} {said}. {resumes} lets the job go on.")
        then(effect)
        self._wire.deck.fresh = True

    def resend(self, job_id: str, told: Notification, then: Callable[[], None]) -> None:
        """Tells a job's caller once more; ``then`` is called when that is on its way."""
        sent = self._wire.acts(f"resend {id_words(job_id)}", job_id)
        self._wire.start(self._wire.program, partial(self._resend, job_id, told, then, sent), "resend")

    async def _resend(self, job_id: str, told: Notification, then: Callable[[], None], sent: Sent) -> None:
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            await self._wire.api.resend(job_id, told.id, reason="from the deck")
        except ClientError as error:
            sent.failed("The caller is not told again", error)
        else:
            sent.done(f"{told.target} is told again that it {told.event}: see the record.")
            then()
        self._wire.deck.fresh = True

    def save_bundle(self, job_id: str) -> None:
        """Saves a job's incident bundle in the directory the deck was started in, over nothing that is there."""
        self._wire.start(self._wire.program, partial(self._save_bundle, job_id), "bundle")

    async def _save_bundle(self, job_id: str) -> None:
        from jobdeck_tui.client.errors import ClientError
        from jobdeck_tui.client.saving import Saving, bundle_name, free_name

        if self._wire.api is None:
            return
        try:
            with Saving(free_name(Path.cwd() / bundle_name(job_id))) as saving:
                await self._wire.api.save_bundle(job_id, saving)
        except OSError as error:
            self._wire.deck.say(f"No bundle was saved in {Path.cwd()}: {error.strerror}.", "bad")
        except ClientError as error:
            self._wire.deck.say(f"No bundle was saved: {error.message}", "bad")
        else:
            self._wire.deck.say(f"Saved {saving.path} ({saving.bytes} bytes, without content).", "notice")
        self._wire.deck.fresh = True

    def start_drill(self, fault: "Fault") -> None:
        """Injects a fault."""
        sent = self._wire.acts(f"drill {fault.name}" + (f" on {fault.target}" if fault.target else ""))
        self._wire.start(self._wire.program, partial(self._drill, fault, sent), "drill")

    async def _drill(self, fault: "Fault", sent: Sent) -> None:
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            drill = await self._wire.api.start_drill(fault.name, confirm=fault.name, target=fault.target)
        except ClientError as error:
            sent.failed("The drill was not started", error)
        else:
            self._wire.deck.take_drill(drill)
            sent.done(f"Injected: drill {drill.id}.")
        self._wire.deck.fresh = True

    def heal_drill(self, drill: "Drill") -> None:
        """Ends a drill's fault at once."""
        sent = self._wire.acts(f"heal drill {drill.id}")
        self._wire.start(self._wire.program, partial(self._heal, drill, sent), "drill")

    async def _heal(self, drill: "Drill", sent: Sent) -> None:
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None:
            return
        try:
            self._wire.deck.take_drill(await self._wire.api.heal_drill(drill.id))
        except ClientError as error:
            sent.failed("The drill was not healed", error)
        else:
            sent.done("Healed: the drill ends once all is well.")
        self._wire.deck.fresh = True

    def pending(self) -> list[Tracked]:
        """Acts that were asked for and not sent yet, or sent and not answered."""
        return [
            tracked
            for tracked in self._wire.deck.acts.unfinished()
            if tracked.phase in (Phase.GRACE, Phase.SENT)
        ]
