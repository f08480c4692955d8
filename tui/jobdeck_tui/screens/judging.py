"""Verdicts on a job's uncertain effects, and the resume that waits for them."""

from functools import partial

from jobdeck_tui.client.models import Effect
from jobdeck_tui.core.eligibility import Act
from jobdeck_tui.core.job_view import JobView
from jobdeck_tui.screens.acting import ActingScreen
from jobdeck_tui.screens.verdict import Verdict, VerdictDialog


class JudgingScreen(ActingScreen):
    """A screen of one job. A resume pressed while a verdict is on its way follows it, never overtakes it."""

    def __init__(self, view: JobView) -> None:
        super().__init__()
        self.view = view
        self._on_its_way: set[str] = set()
        """Keys of the effects whose verdict was sent and not answered yet."""
        self._resume_follows = False

    def read_again(self) -> None:
        """The record is to be read anew."""

    def uncertain(self) -> list[Effect]:
        """The effects to ask about: those a resume needs a verdict on first."""
        return [one for one in self.view.uncertain if one.key not in self._on_its_way]

    def action_act(self, verb: str) -> None:
        """Begins an act; a resume that needs a verdict first asks for it."""
        if verb != Act.RESUME.value or self.deck.refusal():
            super().action_act(verb)
        elif any(one.policy == "manual" for one in self.uncertain()):
            self.action_verdict()
        elif self._on_its_way:
            self._resume_follows = True
            self.program.tell("The resume follows as soon as the verdict is on record.")
        else:
            super().action_act(verb)

    def action_verdict(self) -> None:
        """Asks what became of the first effect nobody knows about."""
        unknown = self.uncertain()
        if refusal := self.deck.refusal():
            self.program.tell(refusal, severity="error")
        elif not unknown:
            said = "The verdict is on its way." if self._on_its_way else "No effect of this job is uncertain."
            self.program.tell(said)
        else:
            self.app.push_screen(VerdictDialog(unknown[0]), partial(self._judged, unknown[0].key))

    def _judged(self, key: str, verdict: Verdict | None) -> None:
        if verdict is not None:
            self._on_its_way.add(key)
            self.program.link.errands.judge(self.view.job_id, key, *verdict, partial(self._answered_on, key))

    def _answered_on(self, key: str, effect: Effect | None) -> None:
        """The server's answer counts at once: the record, read a moment later, has nothing newer to say."""
        self._on_its_way.discard(key)
        if effect is not None:
            self.view.take_verdict(effect)
        self.read_again()
        if self._on_its_way:
            return
        follows, self._resume_follows = self._resume_follows, False
        if follows and effect is not None and self.is_current:
            self.action_act(Act.RESUME.value)
