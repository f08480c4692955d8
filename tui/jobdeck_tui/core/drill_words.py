"""Drills in words: what each fault would reach now, what it promises, what was expected and what was seen."""

from collections.abc import Sequence
from typing import NamedTuple

from jobdeck_tui.client.drills import Drill, DrillAwaited, DrillEvidence, DrillStep
from jobdeck_tui.client.fields import plain
from jobdeck_tui.client.models import FINISHED, STATES, DaskWorker, Overview
from jobdeck_tui.text.format import NONE, clock, duration, fit, instant, plural, short_id, state_label

Piece = tuple[str, str]
Row = list[Piece]

GUARANTEES = {
    "scheduler-loss": (
        "Losing the scheduler loses its whole memory and every worker under it: all running attempts end at "
        "once. A new epoch is started, and every unfinished job is taken up from the records: from its last "
        "checkpoint where it has one, else from its request. A stage that was under way begins again; a "
        "completed one does not. No job counts it as an attempt lost with its worker."
    ),
    "scheduler-hang": (
        "A scheduler that is stopped may only be busy: it is shown as suspect first, and its workers go on. "
        "Given up, it is killed with every worker under it, and from then on all is as after its loss. Healed "
        "before that, it costs nothing."
    ),
    "worker-loss": (
        "Losing one worker ends only the attempts that ran on it; each counts as an attempt of its job, and "
        "after several the job is held for a person. The scheduler, its epoch and all other workers' jobs go on "
        "untouched, and Dask's queue stays as it is. The lost jobs resume from their last checkpoint on "
        "another worker."
    ),
    "worker-hang": (
        "A worker that is stopped writes no heartbeat: once the last one is stale its jobs are taken from it "
        "under a new fence and run elsewhere. Then it goes on where it stopped, and can change nothing: at its "
        "next write it learns that its jobs are another's. Healed before that, it costs nothing."
    ),
    "stream-drop": (
        "Every reader is cut off in the middle of its stream. No job notices. A reader comes back with the id of "
        "the last event it has, and is sent all that follows: nothing missing, nothing twice."
    ),
    "api-loss": (
        "The backend is killed, and the scheduler and all workers die with it. Everything accepted is on disk; "
        "the next start on the same directory goes on: unfinished jobs resume from their last checkpoint."
    ),
}
FAULTS = tuple(GUARANTEES)
"""Every fault there is; the last is the command line's, which starts the backend again."""
ID_CELLS, WIDE_ID_CELLS, WIDE_FROM_CELLS = 12, 26, 100
VERDICTS = {
    "ok": ("✔ ", "good"),
    "late": ("⚠ late", "warn"),
    "failed": ("✖ failed", "bad"),
    "nothing_to_judge": ("○ nothing to judge:", "faint"),
}
STATE_LOOKS = {"running": "warn", "passed": "good", "failed": "bad", "healed": "notice", "not_shown": "warn"}
NOT_SHOWN = "not_shown"
SHOWS_NOTHING = (
    "Nothing runs that this fault would hit: the drill would show nothing of what recovery promises."
)


class Fault(NamedTuple):
    """Something that can be injected; ``name`` is what the operator types."""

    name: str
    target: str | None
    words: str
    reach: str
    hits: bool = True
    """Whether anything is there now for the fault to hit."""

    @property
    def warning(self) -> str | None:
        """What to know before it is injected."""
        return None if self.hits else SHOWS_NOTHING


def faults(overview: Overview | None, workers: Sequence[DaskWorker], chosen_worker: int = 0) -> list[Fault]:
    """What can be injected now, and what it would reach; those of a worker mean the chosen one."""
    counts = overview.counts if overview else {}
    running = counts.get("running", 0) + counts.get("assigned", 0)
    # Before the first picture nothing is known to be idle.
    busy = overview is None or running > 0
    readable = overview is None or any(counts.get(state, 0) for state in STATES if state not in FINISHED)
    everything = f"{running} running restart, {counts.get('queued', 0)} queued handed over again"
    after_lost = "suspect first; given up later, then the same"
    found = [
        Fault("scheduler-loss", None, "lose the scheduler", everything, hits=busy),
        Fault("scheduler-hang", None, "stop the scheduler", after_lost, hits=busy),
    ]
    if workers:
        worker = workers[chosen_worker % len(workers)]
        pid = f", pid {worker.pid}" if worker.pid else ""
        reach = f"{worker.executing} running restart, {worker.ready} ready move{pid}"
        slow = f"{worker.executing} running move once silent too long{pid}"
        here = busy and worker.executing > 0  # Dask tells of its workers a little late
        found += [
            Fault("worker-loss", worker.name, f"kill worker {worker.name}", reach, hits=here),
            Fault("worker-hang", worker.name, f"stop worker {worker.name}", slow, hits=here),
        ]
    readers = "every reader, this deck too, goes on at its cursor"
    return [*found, Fault("stream-drop", None, "drop all streams", readers, hits=readable)]


def shows_nothing(name: str, worker: str | None, overview: Overview, workers: Sequence[DaskWorker]) -> bool:
    """Whether a fault would hit nothing now; ``worker``: the one meant, None for the busiest."""
    meant = [one for one in workers if worker in {None, one.name}]
    busiest = max(range(len(meant)), key=lambda place: meant[place].executing, default=0)
    found = {one.name: one for one in faults(overview, meant, busiest)}
    like = found.get("scheduler-loss" if name == "api-loss" else name)
    return like is not None and not like.hits


def fault_rows(
    found: Sequence[Fault], chosen: int, armed_left: float | None, width: int, *, explain: bool = True
) -> list[Row]:
    """The list of faults in ``width`` cells; ``explain`` adds what may be expected of the chosen one."""
    rows: list[Row] = [[("   FAULT                   WOULD REACH NOW", "faint")]]
    for index, fault in enumerate(found):
        here = index == chosen
        words = f" {'▸' if here else ' '} {fault.words:<23} "
        reach = fault.reach.ljust(width - len(words)) if here else fault.reach
        rows.append([(words, "cursor" if here else ""), (reach, "cursor" if here else "")])
    if armed_left is not None:
        rows.append(
            [
                (f" ⚠ ARMED for {armed_left:.0f} s", "bad"),
                (f": Enter, then type {found[chosen].name}", "strong"),
            ]
        )
    if found[chosen].warning is not None:
        rows.append([(f" ⚠ {found[chosen].warning}", "warn")])
    if explain:
        rows += [[], [(f" {GUARANTEES[found[chosen].name]}", "faint")]]
    return rows


def drill_rows(drill: Drill, width: int, place: str = "") -> list[Row]:
    """One drill in ``width`` cells: its timeline of expected against seen, then each job's evidence.

    ``place``: which of how many it is, in words.
    """
    target = f" {drill.target}" if drill.target else ""
    began = instant(drill.started_at) if width >= WIDE_FROM_CELLS else clock(drill.started_at)
    rows: list[Row] = [
        [
            (f" DRILL {drill.fault}{target}", "strong"),
            _end_word(drill),
            (f"  began {began}{place}", "faint"),
        ],
        [(f" {'AT':<9}{'EXPECTED':>9} {'SEEN':>8}   WHAT", "faint")],
        *[_step(step) for step in drill.timeline],
        *[_awaited(one) for one in drill.awaited],
    ]
    if drill.evidence:
        repeated = sum(one.repeated for one in drill.evidence)
        look = "bad" if repeated else "good"
        words = f" {plural(len(drill.evidence), 'job')} unfinished at the fault, stages run again: {repeated}"
        rows += [[], [(words, look)]]
        room = max(len(one.job_id) for one in drill.evidence)
        room = min(room, WIDE_ID_CELLS if width >= WIDE_FROM_CELLS else ID_CELLS)
        rows += [evidence_row(one, room) for one in drill.evidence]
    if guarantee := GUARANTEES.get(drill.fault):
        rows += [[], [(f" {guarantee}", "faint")]]
    return rows


def _end_word(drill: Drill) -> Piece:
    # On a busy machine all comes back and something is late: that is not what FAILED would make one look for.
    if drill.state == "failed" and not any(step.verdict == "failed" for step in drill.timeline):
        return "  LATE", "warn"
    return f"  {_words(drill.state).upper()}", STATE_LOOKS.get(drill.state, "")


def evidence_row(one: DrillEvidence, id_cells: int) -> Row:
    """A job's stages before the fault and since, and whether any ran again."""
    new = [stage for stage in one.stages_after if stage not in set(one.stages_before)]
    verdict = ("✔ none again", "good") if not one.repeated else (f"✖ {one.repeated} again", "bad")
    before = ", ".join(one.stages_before) or "none yet"
    after = f"  since: {', '.join(new)}" if new else ""
    return [
        (f" {fit(short_id(one.job_id, id_cells), id_cells)} ", ""),
        (f"{state_label(one.state):<12}", one.state),
        (f" try {one.attempt} ", "faint"),
        (f"{verdict[0]:<13}", verdict[1]),
        (f" before: {before}{after}", "faint"),
    ]


def step_line(step: DrillStep) -> str:
    """A step as one line of plain text."""
    expected = f", expected < {duration(step.expected)}" if step.expected is not None else ""
    seen = duration(step.seen) if step.seen is not None else NONE
    return f"{seen:>7}  {_words(step.verdict or ''):<6}  {step.name}: {step.text}{expected}"


def end_line(drill: Drill) -> str:
    """How a drill ended, in one line."""
    verdicts = [step.verdict for step in drill.timeline if step.verdict is not None]
    unjudged = verdicts.count("nothing_to_judge")
    judged = [step for step in drill.timeline if step.verdict != "nothing_to_judge"]
    timed = [step for step in judged if step.expected is not None]
    met = sum(step.verdict == "ok" for step in timed)
    late = verdicts.count("late")
    repeated = sum(one.repeated for one in drill.evidence)
    return (
        f"drill {drill.id} {_words(drill.state)}: {met} of {len(timed)} expectations met in time, "
        f"{f'{late} late, ' if late else ''}{f'{unjudged} with nothing to judge, ' if unjudged else ''}"
        f"{verdicts.count('failed')} failed, stages run again: {repeated}"
    )


def _words(code: str) -> str:
    return code.replace("_", " ")


def exported(drill: Drill) -> dict[str, object]:
    """A drill as it is written to a file: what the deck knows of it, with times of day."""

    def at(moment: float | None) -> str | None:
        return None if moment is None else instant(moment)

    steps = [{**step._asdict(), "at": at(step.at)} for step in drill.timeline]
    return {
        **drill._asdict(),
        "started_at": at(drill.started_at),
        "ended_at": at(drill.ended_at),
        "timeline": steps,
        "evidence": plain(drill.evidence),
        "awaited": plain(drill.awaited),
        "guarantee": GUARANTEES.get(drill.fault, ""),
    }


def _step(step: DrillStep) -> Row:
    expected = f"< {duration(step.expected)}" if step.expected is not None else NONE
    seen = duration(step.seen) if step.seen is not None else NONE
    verdict, look = VERDICTS.get(step.verdict or "", ("  ", ""))
    return [
        (f" {clock(step.at):<9}", "faint"),
        (f"{expected:>9} {seen:>8} ", ""),
        (f"{verdict} ", look),
        (step.text or step.name, ""),
    ]


def _awaited(one: DrillAwaited) -> Row:
    expected = f"< {duration(one.expected)}" if one.expected is not None else NONE
    return [(f" {'':<9}{expected:>9} {'…':>8}    {one.name}", "faint")]
