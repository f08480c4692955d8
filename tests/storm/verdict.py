"""What must hold when a storm is over: every promise that rows, journals and streams can show."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.running_backend import RunningBackend
from tests.storm.readers import Reader
from tests.storm.workload import Workload

CLOCK_S = 60.0
"""How far an acceptance may lie beside the true time, its answer lost. A stepped clock is off by an hour."""


def broken_promises(backend: RunningBackend, workload: Workload, readers: Iterable[Reader]) -> list[str]:
    """Each one that is broken, in words."""
    broken = [f"fsck: {one.invariant} {one.job_id}: {one.text}" for one in backend.violations()]
    for job_id, names in workload.stages.items():
        journal = backend.journal(job_id, workload.workflows[job_id])
        found = _of_job(backend, job_id, names, journal, workload.accepted[job_id])
        broken += [f"{job_id}: {what}" for what in found]
    for reader in readers:
        broken += _of_reader(backend, reader)
    return broken


def _of_job(
    backend: RunningBackend,
    job_id: str,
    names: Sequence[str],
    journal: Sequence[Mapping[str, Any]],
    accepted_at: float,
) -> list[str]:
    record, broken = backend.record(job_id), []
    if abs(record.accepted_at - accepted_at) > CLOCK_S:
        broken.append(f"R11 was accepted {record.accepted_at - accepted_at:+.1f} s beside the true time")
    if not record.status.terminal:
        return [f"I1 is {record.status}, {record.held_reason or 'not held'}"]
    runs = [run for run in backend.stages(job_id) if run.node in names]
    done = {run.node: run.attempt for run in runs}
    if len(done) < len(runs):
        broken.append(f"I6 completed a stage twice: {[run.node for run in runs]}")
    if record.status == "success" and set(done) != set(names):
        broken.append(f"I6 succeeded with {list(done)} of {list(names)}")
    broken += [
        f"R20 {line['stage']} ran again in attempt {line['attempt']}"
        for line in journal
        if line["attempt"] > done.get(line["stage"], line["attempt"])
    ]
    calls = Counter(line["key"] for line in journal if line["event"] == "effect_called")
    for effect in backend.effects(job_id):
        if effect["policy"] in {"manual", "probe"} and calls[effect["key"]] > 1:
            broken.append(f"I11 effect {effect['key']} was called {calls[effect['key']]} times")
    return broken


def _of_reader(backend: RunningBackend, reader: Reader) -> list[str]:
    log = [frame for frame in backend.events(reader.job_id) if frame.id is not None]
    if not reader.ended:
        return [f"I18 {reader.name} never heard the end: {len(reader.frames)} of {len(log)} events"]
    if [frame.id for frame in log] != list(range(1, len(log) + 1)):
        return [f"I4 the log of {reader.job_id} has gaps"]
    # What an operator resumed after its end was told has a longer log than its reader.
    if reader.frames != log[: len(reader.frames)]:
        return [f"I5 {reader.name} saw another stream than the log"]
    return []
