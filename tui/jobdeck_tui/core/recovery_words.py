"""Recovery in words: who owns it and since when, what the plan does with each job, and why."""

from collections.abc import Mapping, Sequence

from jobdeck_tui.client.recovery import LEAVE, AppliedPlan, PlanLine, Recovery, RecoveryPlan
from jobdeck_tui.text.format import NONE, age, cells, fit, id_words, instant, plural, short_id
from jobdeck_tui.text.sanitise import one_line

Piece = tuple[str, str]
Row = list[Piece]

ID_CELLS, WIDE_ID_CELLS, WIDE_FROM_COLUMNS = 12, 24, 110
ACTION_CELLS_MAX = 26
EVIDENCE_FROM_COLUMNS = 100
EVIDENCE_LIMIT = 200
LOOKS = {
    LEAVE: "faint",
    "start": "notice",
    "resume from checkpoint": "good",
    "close from its checkpoint": "good",
    "hold": "warn",
    "fail": "bad",
    "expire": "warn",
}


def owner_words(recovery: Recovery) -> str:
    """One line: the owner of recovery, its epoch, and how long its lease still lasts."""
    if recovery.owner is None:
        return f"Recovery is {recovery.mode} and has no owner yet."
    lease = "its lease is over"
    if recovery.expires_in is not None and recovery.expires_in > 0:
        lease = f"lease for {age(recovery.expires_in)} more"
    return f"Recovery is {recovery.mode}. Owner {recovery.owner}, epoch {recovery.epoch}, {lease}."


def takeover_words(recovery: Recovery, now: float) -> str:
    """One line: since when it is the owner, and from whom it took over."""
    if recovery.acquired_at is None:
        return "Nobody took it over yet."
    since = f"since {instant(recovery.acquired_at)}, {age(now - recovery.acquired_at)} ago"
    if recovery.taken_from is None:
        return f"The first owner, {since}."
    return f"Took over from {recovery.taken_from}, {since}."


def recovery_rows(
    recovery: Recovery | None, plan: RecoveryPlan | None, trouble: str, now: float, width: int
) -> list[Row]:
    """The whole page: owner, takeover, then a line for each job the plan is about."""
    if recovery is None:
        return [[(" Who recovers is not known yet.", "faint")]]
    rows: list[Row] = [
        [(" OWNER  ", "faint"), (owner_words(recovery), "strong")],
        [("        ", ""), (takeover_words(recovery, now), "faint")],
    ]
    if recovery.mode == "manual":
        words = " Lost jobs wait until you apply the plan; deadlines go on, and a job nobody recovers fails."
        rows.append([(words, "warn")])
    rows.append([])
    if trouble:
        rows.append([(f" The plan could not be read: {trouble}", "bad")])
    elif plan is None:
        rows.append([(" The plan is being read …", "faint")])
    else:
        rows += _plan_rows(plan, width)
    return rows


def _plan_rows(plan: RecoveryPlan, width: int) -> list[Row]:
    left = len(plan.actions) - len(plan.due)
    if not plan.due:
        running = (
            f" {plural(left, 'job')} left as {'it is' if left == 1 else 'they are'}, {plan.in_line} in line."
        )
        rows: list[Row] = [[(" ✔ Nothing to recover.", "good"), (running, "faint")]]
    else:
        told = f" {plural(len(plan.due), 'action')}, {left} left as they are, {plan.in_line} in line."
        rows = [[(told, "strong")]]
    if plan.actions:
        id_cells = ID_CELLS if width < WIDE_FROM_COLUMNS else WIDE_ID_CELLS
        widest = max(cells(word) for word in ("ACTION", *map(_action, plan.actions)))
        action_cells = min(widest, ACTION_CELLS_MAX)
        head = f" {'JOB':<{id_cells}} {fit('ACTION', action_cells)} WHY"
        rows += [[], [(head, "faint")]]
        rows += [_line(one, id_cells, action_cells, width) for one in plan.actions]
    return rows


def _action(one: PlanLine) -> str:
    return one.action if one.automatic or one.action == LEAVE else f"⏸ {one.action}"


def _line(one: PlanLine, id_cells: int, action_cells: int, width: int) -> Row:
    row: Row = [
        (f" {fit(short_id(one.job_id, id_cells), id_cells)} ", ""),
        (f"{fit(_action(one), action_cells)} ", LOOKS.get(one.action, "")),
        (one.reason, ""),
    ]
    if width >= EVIDENCE_FROM_COLUMNS and one.evidence and one.action != LEAVE:
        row.append((f"  {evidence_words(one.evidence)}", "faint"))
    return row


def evidence_words(evidence: Mapping[str, object]) -> str:
    """The evidence on one line."""
    return ", ".join(
        f"{name.replace('_', ' ')} {NONE if value is None else one_line(str(value), EVIDENCE_LIMIT)}"
        for name, value in evidence.items()
    )


def plan_targets(due: Sequence[PlanLine]) -> list[str]:
    """What a question before applying lists: each job and what would be done with it."""
    return [f"{id_words(one.job_id)}  {one.action}: {one.reason}" for one in due]


def applied_words(applied: AppliedPlan) -> str:
    """What came of applying a plan."""
    said = f"{applied.done} done, {applied.skipped} skipped"
    skipped = next((one for one in applied.results if one.result == "skipped"), None)
    return f"{said}. {id_words(skipped.job_id)} was skipped: {skipped.why}." if skipped else f"{said}."
