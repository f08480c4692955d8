"""Where Dask's picture and the records differ, and for how long. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a difference is, as the operations API spells it."""

    DELIVERED_UNKNOWN = "delivered_unknown_to_dask"
    RUNNING_UNKNOWN = "running_unknown_to_dask"
    UNKNOWN_TO_RECORDS = "unknown_to_records"


_TEXTS: Mapping[Kind, str] = {
    Kind.DELIVERED_UNKNOWN: "The records say Dask holds it, but Dask does not know it. "
    "It will be taken back and handed over again.",
    Kind.RUNNING_UNKNOWN: "The records say a worker runs it, but Dask does not know it: "
    "Dask takes its slot for free.",
    Kind.UNKNOWN_TO_RECORDS: "Dask holds it, but by the records it is not there to be run.",
}


@dataclass(frozen=True, slots=True)
class Books:
    """The job ids on both books at one moment."""

    delivered: Collection[str]
    """On record handed to this Dask, not started."""
    executing: Collection[str]
    """On record running, or finished with a thread that has not ended."""
    dask: Collection[str]
    """Jobs whose key Dask has work to do for."""
    dask_known: Collection[str]
    """Jobs whose key Dask knows, whatever its state."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One job on which the books differ; ``since`` in Unix seconds."""

    kind: Kind
    job_id: str
    since: float

    @property
    def text(self) -> str:
        """What it means, in words."""
        return _TEXTS[self.kind]


def compare(books: Books) -> set[tuple[Kind, str]]:
    """What differs between the books."""
    delivered, executing = set(books.delivered), set(books.executing)
    known = set(books.dask_known)
    return {
        *((Kind.DELIVERED_UNKNOWN, job_id) for job_id in delivered - known),
        *((Kind.RUNNING_UNKNOWN, job_id) for job_id in executing - known),
        *((Kind.UNKNOWN_TO_RECORDS, job_id) for job_id in set(books.dask) - delivered - executing),
    }


def carry_on(
    before: Collection[Difference], found: Collection[tuple[Kind, str]], now: float
) -> list[Difference]:
    """The differences now, each with the moment since which it has been seen without a break."""
    since = {(one.kind, one.job_id): one.since for one in before}
    return [Difference(*pair, since=since.get(pair, now)) for pair in sorted(found)]
