"""The acts an operator can do from a screen: one key, a grace, an undo; many only after a question."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.actions import parse
from textual.binding import Binding, BindingType

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.acts import Phase
from jobdeck_tui.core.eligibility import (
    DONE_WORD,
    Act,
    Standing,
    consequence,
    needs_grant,
    objection,
    standing,
    standing_for_resume,
    survey,
)
from jobdeck_tui.link.acts import EFFECT_UNCERTAIN
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.dialogs import TYPED_OVER, GrantOffer, Question, TypedQuestion
from jobdeck_tui.screens.reason import ReasonDialog
from jobdeck_tui.text.format import id_words, plural, short_id

if TYPE_CHECKING:
    from jobdeck_tui.client.bulk import BulkAnswer

ACT_BINDINGS: list[BindingType] = [
    Binding("c", "act('cancel')", "Cancel"),
    Binding("e", "act('expire')", "Expire"),
    Binding("r", "act('resume')", "Resume"),
    Binding("d", "grant", "Grant time"),
    Binding("u", "undo", "Undo"),
    Binding("R", "reason", "Say why, before it is sent", show=False),
    Binding("a", "again", "Submit it again as a new job", show=False),
    Binding("plus", "move_in_line(1)", "Up in the line (priority)", show=False, key_display="+"),
    Binding("minus", "move_in_line(-1)", "Down in the line (priority)", show=False, key_display="-"),
]
PRIORITY_MAX = 1000
LISTED_ID_CELLS = 36


class ActingScreen(DeckScreen):
    """A screen from which jobs are acted on. Targets and their versions are taken at the key press."""

    TITLE_WORDS: ClassVar[str] = ""

    def targets(self) -> tuple[str, ...]:
        """The ids an act would be for, now."""
        return ()

    def chosen_by_operator(self) -> bool:
        """Whether the target is one the operator looked at, not one that slid under the cursor just now."""
        return True

    def seen_job(self, job_id: str) -> Job | None:
        """The job as this screen shows it: its version is what the operator saw."""
        return self.deck.jobs.get(job_id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Undo only what can be undone."""
        if action == "undo":
            return bool(self.deck.graces())
        return super().check_action(action, parameters)

    def hides(self, binding: Binding) -> bool:
        """Acts that no target's state allows are not offered; pressing one anyway says why not."""
        if super().hides(binding):
            return True
        _, action, parameters = parse(binding.action)
        if action not in {"act", "grant"}:
            return False
        act = Act(parameters[0] if parameters else action)
        now, jobs = self.deck.now(), self._seen()
        if act is Act.GRANT and (len(jobs) != 1 or jobs[0].finished):
            return True  # of one that has ended a resume asks for it
        return not any(
            objection(act, job, now) is None or (act is Act.RESUME and needs_grant(job, now)) for job in jobs
        )

    def puts_first(self, binding: Binding) -> bool:
        """A job that is held waits for its resume."""
        return binding.action == "act('resume')" and any(job.state == "held" for job in self._seen())

    def _seen(self) -> list[Job]:
        """The targets, as this screen shows them."""
        return [job for job_id in self.targets() if (job := self.seen_job(job_id)) is not None]

    def action_act(self, verb: str) -> None:
        """Begins an act on the targets, or says why it cannot be."""
        act, now = Act(verb), self.deck.now()
        if refusal := self.deck.refusal():
            self.program.tell(refusal, severity="error")
            return
        if not self.chosen_by_operator():
            self.program.tell(
                "The list moved under the cursor just now. Look again, then press the key again."
            )
            return
        jobs = self._seen()
        if not jobs:
            self.program.tell("No job is chosen.")
        elif len(jobs) == 1 and not self.out_of_view(jobs):
            self._one(act, jobs[0], now)
        else:
            self._many(act, jobs, now)

    def _one(self, act: Act, job: Job, now: float) -> None:
        if act is Act.RESUME and needs_grant(job, now):
            self._offer_grant(job)
            return
        if self.deck.guarded:
            self._many(act, [job], now)
            return
        open_act = self.deck.acts.on_job(job.job_id)
        again = open_act is not None and open_act.act is act and open_act.phase is Phase.GRACE
        found = survey(act, [job], now)
        if not found.eligible and not again:
            self.program.tell(found.sentence, severity="warning")
            return
        self.deck.hush()  # what was said of an act before this one
        self.deck.take_act(self.deck.acts.request(act, job, now))
        self.program.send_due_acts()
        self.flush()

    def _many(self, act: Act, jobs: list[Job], now: float) -> None:
        found = survey(act, jobs, now)
        if not found.eligible:
            self.program.tell(found.sentence, severity="warning")
            return
        notes = [found.sentence] if len(jobs) > 1 else []
        notes.append(consequence(act, found.eligible))
        if hidden := self.out_of_view(found.eligible):
            notes.append(f"{plural(hidden, 'job')} of them not in view: the filter hides what is marked.")
        if len(found.eligible) > TYPED_OVER:
            self._ask_the_server(act, found.eligible, notes)
            return
        question = Question(act.value, _as_targets(found.eligible), notes, with_reason=True)
        self.app.push_screen(question, partial(self._answered, act, found.eligible, question))

    def _ask_the_server(self, act: Act, jobs: Sequence[Job], notes: Sequence[str]) -> None:
        """Many jobs: the number to type is the one that the server's dry run gave."""
        by_id = {job.job_id: job for job in jobs}

        def told(answer: "BulkAnswer") -> None:
            self.deck.hush()  # that it is being asked
            can = [by_id[one.job_id] for one in answer.results if one.ok and one.job_id in by_id]
            if self.app.screen is not self:
                self.program.tell(
                    "The dry run's answer came too late; nothing was sent. Press the key again."
                )
            elif not can:
                self.program.tell(f"Nothing was sent, {answer.words}", severity="warning")
            else:
                asked = f"{act.value.capitalize()} {plural(len(can), 'job')}?"
                question = TypedQuestion(
                    asked, str(len(can)), [*notes, answer.words], targets=_as_targets(can), with_reason=True
                )
                self.app.push_screen(question, partial(self._answered, act, can, question))

        self.program.tell(f"Asking the server what it would mean to {act.value} {len(jobs)} jobs …")
        self.program.link.acts.dry_run(act, jobs, told)

    def _answered(
        self,
        act: Act,
        jobs: Sequence[Job],
        question: Question | TypedQuestion,
        yes: bool | None,  # noqa: FBT001 (Textual's callback)
    ) -> None:
        if not yes:
            return
        for tracked in self.deck.acts.confirmed(act, jobs, self.deck.now(), reason=question.reason):
            self.deck.take_act(tracked)
        self.acts_confirmed()
        self.program.send_due_acts()

    def out_of_view(self, jobs: Sequence[Job]) -> int:  # noqa: ARG002
        """How many of these the operator cannot see on this screen now."""
        return 0

    def acts_confirmed(self) -> None:
        """Many acts went out."""

    def _offer_grant(self, job: Job) -> None:
        def answered(seconds: float | None) -> None:
            if seconds is not None:
                self.program.link.acts.grant(job, seconds, self.deck.now(), resume=True)

        asked = f"{job.job_id} cannot be resumed as it stands"
        stands = partial(self._stands, job, standing_for_resume)
        self.app.push_screen(GrantOffer(asked, stands, ", then resume"), answered)

    def action_grant(self) -> None:
        """Offers a later deadline for one job; where it has ended, with a resume."""
        if refusal := self.deck.refusal():
            self.program.tell(refusal, severity="error")
            return
        job = self._one_target("A grant")
        if job is None:
            return
        if words := objection(Act.GRANT, job, self.deck.now()):
            self.program.tell(
                f"{id_words(job.job_id)} cannot be {DONE_WORD[Act.GRANT]}: {words}.", severity="warning"
            )
            return
        if job.finished:
            resume = self.deck.key("act.resume")
            self.program.tell(
                f"It is {job.state}: {resume} resumes it, and asks for more time where it needs that."
            )
            return

        def answered(seconds: float | None) -> None:
            if seconds is not None:
                self.program.link.acts.grant(job, seconds, self.deck.now())

        stands = partial(self._stands, job, standing)
        self.app.push_screen(GrantOffer(f"Grant {job.job_id} a later deadline?", stands), answered)

    def _stands(self, asked_for: Job, judge: Callable[[Job, float], Standing]) -> Standing:
        """How it stands with a job now, while the act that was asked for stays that on the row as it was seen."""
        return judge(self.deck.jobs.get(asked_for.job_id) or asked_for, self.deck.now())

    def offer_choice(self, job_id: str, code: str) -> None:
        """A resume was refused until something else is decided: asks for that."""
        job = self.deck.jobs.get(job_id)
        if code == EFFECT_UNCERTAIN:
            self.program.open_job(job_id, "effects", to_judge=True)
        elif job is not None:
            self._offer_grant(job)

    def action_reason(self) -> None:
        """Asks for the reason of the act whose grace runs; nothing is sent meanwhile."""
        held = self.deck.acts.hold()
        if held is None:
            again = self.deck.key("reason")
            self.program.tell(f"A reason is for an act in its grace: press its key first, then {again}.")
            return

        def said(reason: str | None) -> None:
            self.deck.take_act(self.deck.acts.go_on(held.number, self.deck.now(), reason))
            self.program.send_due_acts()

        self.deck.take_act(held)
        what = f"{held.act.value} {id_words(held.job_id)}"
        self.app.push_screen(ReasonDialog(what, f"sends the {held.act.value}"), said)

    def _one_target(self, what: str) -> Job | None:
        """The job that an act on just one is for; what is missing is said."""
        jobs = self._seen()
        if not self.chosen_by_operator():
            self.program.tell(
                "The list moved under the cursor just now. Look again, then press the key again."
            )
        elif len(jobs) != 1:
            self.program.tell(f"{what} is for one job: {len(jobs)} are chosen.")
        else:
            return jobs[0]
        return None

    def action_again(self) -> None:
        """Submits the same request again, once that is confirmed."""
        if refusal := self.deck.refusal():
            self.program.tell(refusal, severity="error")
            return
        job = self._one_target("Submitting again")
        if job is None:
            return

        def answered(yes: bool | None) -> None:  # noqa: FBT001 (Textual's callback)
            if yes:
                self.program.link.errands.clone(job)

        notes = ["A new job with the same request, on a thread of its own; this one stays as it is."]
        self.app.push_screen(Question("submit again", [f"{job.job_id}  {job.workflow}"], notes), answered)

    def action_move_in_line(self, steps: int) -> None:
        """Moves a job that waits for its start: among equal deadlines the higher priority goes first."""
        job = self._one_target("A move in the line")
        if job is None:
            return
        if job.finished or job.state == "running":
            self.program.tell(f"{id_words(job.job_id)} is {job.state}: it has no place in the line.")
            return
        wanted = max(-PRIORITY_MAX, min(job.priority + steps, PRIORITY_MAX))
        note = f"Its priority is then {wanted}: it counts among jobs of the same deadline."
        move = partial(self.program.link.errands.prioritise, job, wanted)
        self.sure("move up" if steps > 0 else "move down", job.job_id, [note], move)
        self.flush_acts()

    def action_undo(self) -> None:
        """Takes the newest act back while its grace runs."""
        undone = self.deck.acts.undo()
        self.deck.take_act(undone)
        if undone is None:
            self.program.tell("Nothing to undo: no act is waiting.")
        self.flush()


def _as_targets(jobs: Sequence[Job]) -> list[str]:
    return [f"{short_id(job.job_id, LISTED_ID_CELLS)}  {job.workflow}  {job.state}" for job in jobs]
