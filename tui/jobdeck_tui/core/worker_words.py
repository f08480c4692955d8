"""Workers in words: a line each, what may be done to one, and what would come of it."""

from collections.abc import Sequence

from jobdeck_tui.client.models import DaskWorker
from jobdeck_tui.text.format import NONE, age, bar, fit, plural, short_worker, size

Piece = tuple[str, str]
Row = list[Piece]
STATE_PIECES = {
    "running": ("✔ running", "good"),
    "starting": ("↻ starting", "warn"),
    "draining": ("⏸ draining", "warn"),
    "drained": ("⏸ drained", "warn"),
    "paused": ("⚠ no memory", "warn"),
    "restarting": ("↻ restarting", "warn"),
}
ADDRESS_FROM_COLUMNS = 112
NAME_CELLS_MIN = 11
BESIDE_NAME_CELLS = 61
"""What a line takes without the name and the address."""
STATE_CELLS = 12


def worker_rows(workers: Sequence[DaskWorker], chosen: str | None, width: int) -> list[Row]:
    """A head and a line for each worker; the chosen one is pointed at."""
    longest = max((len(short_worker(one.name, width)) for one in workers), default=0)
    room = max(NAME_CELLS_MIN, min(longest, width - BESIDE_NAME_CELLS))
    head = f"   {'WORKER':<{room}} {'STATE':<{STATE_CELLS}} {'PID':<7} THREADS     RUN READY MEMORY   SEEN"
    rows: list[Row] = [[(head, "faint")]]
    rows += [_worker(one, width, room, chosen=one.name == chosen) for one in workers]
    if workers and all(one.state in {"draining", "drained"} for one in workers):
        words = " No worker takes anything new: jobs wait until one is taken back or restarted."
        rows.append([(words, "warn")])
    return rows


def _worker(worker: DaskWorker, width: int, name_cells: int, *, chosen: bool) -> Row:
    full = worker.executing / worker.threads if worker.threads else 0.0
    word, look = STATE_PIECES.get(worker.state, (worker.state, "warn"))
    row: Row = [
        (f" {'▸' if chosen else ' '} {fit(short_worker(worker.name, name_cells), name_cells)} ", "strong"),
        (fit(word, STATE_CELLS), look),
        (f" {worker.pid or NONE!s:<7}", ""),
        (
            f" {worker.executing}/{worker.threads} {bar(full, 6)}  ",
            "running" if worker.executing else "faint",
        ),
        (f"{worker.executing:>4} {worker.ready:>5} {size(worker.memory_bytes):>6}", ""),
        (f" {age(worker.last_seen_age):>6}", "warn" if (worker.last_seen_age or 0.0) > 5 else ""),
    ]
    if width >= ADDRESS_FROM_COLUMNS and worker.address not in {None, worker.name}:
        row.append((f"  {worker.address}", "faint"))
    return row


def objection_to(act: str, worker: DaskWorker) -> str:
    """Why an act on a worker would do nothing; empty when it would."""
    if act == "drain" and worker.state in {"draining", "drained"}:
        return f"{worker.name} is {worker.state} already: it can be taken back, or restarted."
    if act == "undrain" and worker.state not in {"draining", "drained"}:
        return f"{worker.name} is not drained: it is {worker.state}."
    if act == "drain" and worker.state == "starting":
        return f"{worker.name} is only starting: nothing runs there yet."
    if worker.state == "restarting":
        return f"{worker.name} is being restarted already."
    return ""


def consequences(act: str, worker: DaskWorker, others: int) -> list[str]:
    """What would come of an act, as a question before it says; ``others`` workers still take work."""
    running = f"{plural(worker.executing, 'thread')} at work there"
    if act == "drain":
        notes = [
            f"{running}: what runs goes on to its end, what waits there goes elsewhere.",
            "It takes nothing new until it is taken back or restarted.",
        ]
    elif act == "undrain":
        return [f"{running}: it is given work again."]
    else:
        notes = [
            f"{running}: its jobs have 30 s to finish, then its process is ended and a fresh one started.",
            "Jobs cut off are recovered from their checkpoints; it does not count against them.",
        ]
    if others == 0:
        notes.append("No other worker takes work: jobs wait until a fresh one is there.")
    return notes
