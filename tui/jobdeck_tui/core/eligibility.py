"""Which act a job's state allows, said in words before anything is sent."""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from jobdeck_tui.client.models import Job
from jobdeck_tui.text.format import elapsed, id_words, instant, plural, state_word

from .columns import display_state, forecast, left_seconds


class Act(Enum):
    """An operator's act on a job; the value is its verb and its path on the server."""

    CANCEL = "cancel"
    EXPIRE = "expire"
    RESUME = "resume"
    GRANT = "grant"


DONE_WORD = {
    Act.CANCEL: "cancelled",
    Act.EXPIRE: "expired",
    Act.RESUME: "resumed",
    Act.GRANT: "granted a later window",
}


def objection(act: Act, job: Job, now: float) -> str | None:
    """Say why the job's state does not allow the act; None where it does. ``now`` in Unix seconds."""
    state = state_word(display_state(job))
    if act in (Act.CANCEL, Act.EXPIRE):
        return f"already {state}" if job.finished else None
    if job.state == "succeeded":
        return "DONE, a success is never reopened"
    if act is Act.GRANT:
        return "has no deadline to extend" if job.deadline is None else None
    if job.state not in ("held", "failed", "cancelled", "expired"):
        return f"{state}, not stopped"
    return "past its deadline, grant a later window first" if needs_grant(job, now) else None


def needs_grant(job: Job, now: float) -> bool:
    """Whether a resume is only held up by a deadline that passed: the choice to offer is a later window."""
    stopped = job.state in ("held", "failed", "cancelled", "expired")
    return stopped and job.deadline is not None and job.deadline <= now


class Standing(NamedTuple):
    """How it stands with a job's deadline, and whether a later one is of use."""

    words: str
    grantable: bool = True


def standing(job: Job, now: float) -> Standing:
    """Say it of a job that goes on. ``now`` in Unix seconds."""
    if job.finished:
        return Standing(
            f"It is {state_word(display_state(job))} now: no more time is of use to it.", grantable=False
        )
    left = left_seconds(job, now) or 0.0
    words = (
        f"Its deadline is {instant(job.deadline)}, {elapsed(abs(left))} {'from now' if left > 0 else 'ago'}"
    )
    return Standing(f"{words}; the forecast: {told}." if (told := forecast(job, now)) else f"{words}.")


def standing_for_resume(job: Job, now: float) -> Standing:
    """Say it of a job whose resume needs a later window. ``now`` in Unix seconds."""
    if needs_grant(job, now):
        return Standing("Its deadline has passed; resumed as it is, it would expire at once.")
    if objection(Act.RESUME, job, now) is None:
        return Standing(
            f"Its deadline is {instant(job.deadline)} now: it can be resumed as it is.", grantable=False
        )
    return Standing(
        f"It is {state_word(display_state(job))} now: there is nothing to resume.", grantable=False
    )


class Survey(NamedTuple):
    """What an act would do to several jobs."""

    act: Act
    eligible: tuple[Job, ...]
    objections: tuple[tuple[Job, str], ...]

    @property
    def sentence(self) -> str:
        """Say it, as in ``7 marked: 5 can be cancelled, 2 are skipped (already DONE)``."""
        total = len(self.eligible) + len(self.objections)
        if total == 1 and self.objections:
            job, why = self.objections[0]
            return f"{id_words(job.job_id)} cannot be {DONE_WORD[self.act]}: {why}."
        text = f"{total} marked: {len(self.eligible)} can be {DONE_WORD[self.act]}"
        if not self.objections:
            return text + "."
        reasons = dict.fromkeys(why for _, why in self.objections)
        verb = "is" if len(self.objections) == 1 else "are"
        return f"{text}, {len(self.objections)} {verb} skipped ({', '.join(reasons)})."


def survey(act: Act, jobs: Iterable[Job], now: float) -> Survey:
    """Sort jobs into those the act can be done to and those it cannot."""
    eligible: list[Job] = []
    objections: list[tuple[Job, str]] = []
    for job in jobs:
        why = objection(act, job, now)
        if why is None:
            eligible.append(job)
        else:
            objections.append((job, why))
    return Survey(act, tuple(eligible), tuple(objections))


def consequence(act: Act, jobs: Iterable[Job]) -> str:
    """Say what the act will mean for these jobs, for the dialogue that asks about many of them."""
    rows = list(jobs)
    running = sum(1 for job in rows if job.state in ("running", "assigned"))
    stages = sum(job.stages_done for job in rows)
    if act is Act.RESUME:
        kept = plural(stages, "completed stage")
        return f"{kept} kept; each job goes on from its last checkpoint under its own deadline."
    if act is Act.GRANT:
        return "The old deadline stays on record."
    kept = plural(stages, "completed stage")
    running_now = f"{running} of {plural(len(rows), 'job')} running now"
    if len(rows) == 1:
        running_now = "It is running now" if running else "It is not running"
    uncertain = " An effect that is under way may stay uncertain." if running else ""
    return f"{running_now}; {kept} kept, so that a resume can go on from there.{uncertain}"
