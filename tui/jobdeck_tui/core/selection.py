"""Which jobs are marked. Marks hold ids, never row numbers: a re-sort cannot move them to another job."""

from collections.abc import Collection, Sequence


class Selection:
    """Marked job ids, in the order they were marked, and the start of a range being drawn."""

    def __init__(self) -> None:
        self._marks: dict[str, None] = {}
        self.anchor: str | None = None

    def __len__(self) -> int:
        return len(self._marks)

    def __contains__(self, job_id: object) -> bool:
        return job_id in self._marks

    @property
    def marked(self) -> tuple[str, ...]:
        """The marked ids."""
        return tuple(self._marks)

    def toggle(self, job_id: str) -> bool:
        """Mark a job or take its mark away; tell whether it is marked now."""
        if job_id in self._marks:
            del self._marks[job_id]
            return False
        self._marks[job_id] = None
        return True

    def start_range(self, job_id: str) -> None:
        """Remember where a range begins."""
        self.anchor = job_id

    def end_range(self, job_id: str, shown: Sequence[str]) -> int:
        """Mark everything shown from the range's start to ``job_id``; give how many marks are new.

        Where the start is no longer shown, only ``job_id`` is marked: never a row nobody pointed at.
        """
        start, self.anchor = self.anchor, None
        if job_id not in shown:
            return 0
        end_at = shown.index(job_id)
        start_at = shown.index(start) if start is not None and start in shown else end_at
        low, high = sorted((start_at, end_at))
        return self.mark_all(shown[low : high + 1])

    def mark_all(self, job_ids: Collection[str]) -> int:
        """Mark all of these; give how many marks are new."""
        before = len(self._marks)
        self._marks.update(dict.fromkeys(job_ids))
        return len(self._marks) - before

    def clear(self) -> None:
        """Take all marks away and forget a range that was begun."""
        self._marks.clear()
        self.anchor = None

    def keep_only(self, job_ids: Collection[str]) -> None:
        """Drop marks of jobs that are no longer known."""
        self._marks = {job_id: None for job_id in self._marks if job_id in job_ids}

    def targets(self, cursor: str | None) -> tuple[str, ...]:
        """Give what an act would act on: the marked jobs, else the one under the cursor."""
        return self.marked or ((cursor,) if cursor is not None else ())
