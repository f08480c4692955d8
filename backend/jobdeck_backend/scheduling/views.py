"""Jobs as an operator sees them: their records joined with Dask's picture."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlalchemy import Connection

from jobdeck_backend.jobs.view import JobSource, JobView, view_of
from jobdeck_backend.scheduling.snapshot import Snapshot
from jobdeck_backend.store import rows

UNPREDICTED: Mapping[str, float] = MappingProxyType({})


def dask_state(snapshot: Snapshot | None, job_id: str) -> str | None:
    """The state of a job's key; None when Dask does not know it or there is no picture of Dask."""
    return None if snapshot is None else snapshot.jobs.get(job_id)


def views(
    tx: Connection,
    sources: Sequence[JobSource],
    snapshot: Snapshot | None,
    finishes: Mapping[str, float] = UNPREDICTED,
) -> list[JobView]:
    """Rows of these jobs, at most ``rows.IDS_MAX``, in their order; ``finishes``: predicted ones by job id."""
    predecessors = rows.predecessors(tx, [source.job_id for source in sources])
    return [
        view_of(
            source,
            predecessors.get(source.job_id, ()),
            dask_state=dask_state(snapshot, source.job_id),
            predicted_finish=finishes.get(source.job_id),
        )
        for source in sources
    ]
