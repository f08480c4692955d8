"""One act on many jobs, as the backend answers it; sanitised here as in ``decode``."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .fields import NOTE_LIMIT, Fields


class BulkResult(NamedTuple):
    """What came of it for one job, or would come; ``state`` and ``version`` as they are afterwards."""

    job_id: str
    ok: bool
    code: str
    message: str
    state: str | None
    version: int | None


class BulkAnswer(NamedTuple):
    """A result for each job, and how many had which code."""

    counts: Mapping[str, int]
    results: tuple[BulkResult, ...]

    @property
    def eligible(self) -> int:
        """How many it was done to, or could be."""
        return sum(one.ok for one in self.results)

    @property
    def words(self) -> str:
        """Say a dry run in one line, as in ``the server's dry run: 23 can be done, 2 not eligible``."""
        others = [
            f"{count} {code.replace('_', ' ')}" for code, count in self.counts.items() if code != "eligible"
        ]
        return ", ".join([f"the server's dry run: {self.eligible} can be done", *others]) + "."


def bulk_answer(data: object) -> BulkAnswer:
    """Read what came of an act on many jobs."""
    row = Fields(data)
    return BulkAnswer(row.counts("counts"), row.items("results", _result))


def _result(data: object) -> BulkResult:
    row = Fields(data)
    return BulkResult(
        row.job_id(),
        row.flag("ok"),
        row.text("code"),
        row.text("message", NOTE_LIMIT),
        row.maybe_text("state"),
        row.maybe_integer("version"),
    )


def bulk_body(
    act: str,
    versions: Mapping[str, int],
    reason: str | None,
    extend_seconds: float | None,
    *,
    dry_run: bool,
) -> dict[str, object]:
    """Give the body of an act on the jobs of ``versions``: by id the version that was seen."""
    ids: Sequence[str] = list(versions)
    return {
        "act": act,
        "ids": ids,
        "versions": dict(versions),
        "reason": reason,
        "extend_seconds": extend_seconds,
        "dry_run": dry_run,
    }
