"""The set of jobs the deck knows: rows arrive from the feed and from pages, the newest one counts."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from jobdeck_tui.client.models import Job


class JobSet:
    """Known jobs by id, with their count by state kept up to date.

    ``revision`` rises whenever anything changed, so that a view can tell whether it must look again.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._counts: Counter[str] = Counter()
        self.revision = 0

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs.values())

    def __contains__(self, job_id: object) -> bool:
        return job_id in self._jobs

    def get(self, job_id: str) -> Job | None:
        """Give the job as last seen."""
        return self._jobs.get(job_id)

    def apply(self, rows: Iterable[Job]) -> set[str]:
        """Take rows in; give the ids of those that changed anything.

        The newest arrival wins. The exception is a row that is provably older than the one known, which
        happens where a page was read before, but arrives after, a frame of the feed.
        """
        changed: set[str] = set()
        for job in rows:
            known = self._jobs.get(job.job_id)
            if known is not None:
                if known == job or _older(job, known):
                    continue
                self._counts[known.state] -= 1
            self._jobs[job.job_id] = job
            self._counts[job.state] += 1
            changed.add(job.job_id)
        if changed:
            self.revision += 1
        return changed

    def keep_only(self, job_ids: Collection[str]) -> None:
        """Forget every job that a complete listing no longer has."""
        gone = [job_id for job_id in self._jobs if job_id not in job_ids]
        for job_id in gone:
            self._counts[self._jobs.pop(job_id).state] -= 1
        if gone:
            self.revision += 1

    @property
    def counts(self) -> dict[str, int]:
        """Jobs by state; states without jobs are absent."""
        return {state: count for state, count in self._counts.items() if count}


def _older(job: Job, known: Job) -> bool:
    if job.version != known.version:
        return job.version < known.version
    return job.attempt == known.attempt and job.stages_done < known.stages_done
