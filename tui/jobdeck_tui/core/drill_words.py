"""Drills in words: what each fault would reach now, what it promises, what was expected and what was seen."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobdeck_tui.client.models import DaskWorker, Drill, DrillEvidence, DrillStep, Overview
from jobdeck_tui.text.format import NONE, clock, duration, plural, short_id, state_label

Piece = tuple[str, str]
Row = list[Piece]

GUARANTEES = {
    "scheduler-loss": (
        "Losing the scheduler loses its whole memory and every worker under it: all running attempts end at "
        "once. A new epoch is started, and every unfinished job is taken up from the records: from its last "
        "checkpoint where it has one, else from its request. A stage that was under way begins again; a "
        "completed one does not."
    ),
    "worker-loss": (
        "Losing one worker ends only the attempts that ran on it; each counts as an attempt of its job. The "
        "scheduler, its epoch and all other workers' jobs go on untouched, and Dask's queue stays as it is. "
        "The lost jobs resume from their last checkpoint on another worker."
    ),
}
ID_CELLS, WIDE_ID_CELLS, WIDE_FROM_CELLS = 8, 26, 100
VERDICTS = {"ok": ("✔ ", "good"), "late": ("⚠ late", "warn"), "failed": ("✖ failed", "bad")}
STATE_LOOKS = {"running": "warn", "passed": "good", "failed": "bad"}


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that can be injected; ``name`` is what the operator types."""

    name: str
    target: str | None
    words: str
    reach: str


def faults(overview: Overview | None, workers: Sequence[DaskWorker]) -> list[Fault]:
    """What can be injected now, and what it would reach."""
    counts = overview.counts if overview else {}
    running = counts.get("running", 0) + counts.get("assigned", 0)
    everything = f"{running} running restart, {counts.get('queued', 0)} queued handed over again"
    found = [Fault("scheduler-loss", None, "lose the scheduler", everything)]
    for worker in workers:
        pid = f", pid {worker.pid}" if worker.pid else ""
        reach = f"{worker.executing} running restart, {worker.ready} ready move{pid}"
        found.append(Fault("worker-loss", worker.name, f"kill worker {worker.name}", reach))
    return found


def fault_rows(
    found: Sequence[Fault], chosen: int, armed_left: float | None, width: int, *, explain: bool = True
) -> list[Row]:
    """The list of faults in ``width`` cells; ``explain`` adds what may be expected of the chosen one."""
    rows: list[Row] = [[("   FAULT                   WOULD REACH NOW", "faint")]]
    for index, fault in enumerate(found):
        here = index == chosen
        words = f" {'▸' if here else ' '} {fault.words:<23} {fault.reach}"
        rows.append([(words.ljust(width), "cursor") if here else (words, "")])
    if armed_left is not None:
        rows.append(
            [
                (f" ⚠ ARMED for {armed_left:.0f} s", "bad"),
                (f": Enter, then type {found[chosen].name}", "strong"),
            ]
        )
    if explain:
        rows += [[], [(f" {GUARANTEES[found[chosen].name]}", "faint")]]
    return rows


def drill_rows(drill: Drill, width: int) -> list[Row]:
    """One drill in ``width`` cells: its timeline of expected against seen, then each job's evidence."""
    target = f" {drill.target}" if drill.target else ""
    rows: list[Row] = [
        [
            (f" DRILL {drill.fault}{target}", "strong"),
            (f"  {drill.state.upper()}", STATE_LOOKS.get(drill.state, "")),
            (f"  began {clock(drill.started_at)}", "faint"),
        ],
        [(f" {'AT':<9}{'EXPECTED':>9} {'SEEN':>8}   WHAT", "faint")],
        *[_step(step) for step in drill.timeline],
    ]
    if drill.evidence:
        repeated = sum(one.repeated for one in drill.evidence)
        look = "bad" if repeated else "good"
        words = f" {plural(len(drill.evidence), 'job')} unfinished at the fault, stages run again: {repeated}"
        rows += [[], [(words, look)]]
        room = max(len(one.job_id) for one in drill.evidence)
        room = min(room, WIDE_ID_CELLS if width >= WIDE_FROM_CELLS else ID_CELLS)
        rows += [_evidence(one, room) for one in drill.evidence]
    if guarantee := GUARANTEES.get(drill.fault):
        rows += [[], [(f" {guarantee}", "faint")]]
    return rows


def _step(step: DrillStep) -> Row:
    expected = f"< {duration(step.expected)}" if step.expected is not None else NONE
    seen = duration(step.seen) if step.seen is not None else ("…" if step.expected is not None else NONE)
    verdict, look = VERDICTS.get(step.verdict or "", ("  ", ""))
    return [
        (f" {clock(step.at):<9}", "faint"),
        (f"{expected:>9} {seen:>8} ", ""),
        (f"{verdict} ", look),
        (step.text or step.name, ""),
    ]


def _evidence(one: DrillEvidence, id_cells: int) -> Row:
    new = [stage for stage in one.stages_after if stage not in set(one.stages_before)]
    verdict = ("✔ none again", "good") if not one.repeated else (f"✖ {one.repeated} again", "bad")
    before = ", ".join(one.stages_before) or "none yet"
    after = f"  since: {', '.join(new)}" if new else ""
    return [
        (f" {short_id(one.job_id, id_cells):<{id_cells}} ", ""),
        (f"{state_label(one.state):<12}", one.state),
        (f" try {one.attempt} ", "faint"),
        (f"{verdict[0]:<13}", verdict[1]),
        (f" before: {before}{after}", "faint"),
    ]
