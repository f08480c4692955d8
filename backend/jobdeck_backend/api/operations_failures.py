"""The operations API's failures: what failed, grouped by the error's kind and the stage."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from jobdeck_backend.api import shapes
from jobdeck_backend.api import worker_schemas as schemas
from jobdeck_backend.api.services import Serving
from jobdeck_backend.api.times import zulu_iso
from jobdeck_backend.store import failures

router = APIRouter(prefix="/v1/ops", tags=["operations API: failures"])


@router.get("/failures", response_model=schemas.Failures)
def read_failures(
    serving: Serving,
    limit: Annotated[int, Query(ge=1, le=1000, description="kinds")] = 100,
) -> Response:
    """Jobs whose outcome is failed, each kind with its newest one; a job that was resumed is none any more."""
    with serving.database.read() as tx:
        return shapes.answer({"failures": [_kind(row) for row in failures.by_kind(tx, limit)]})


def _kind(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "error_type": row["error_type"],
        "stage": row["stage"],
        "count": row["members"],
        "last_seen": zulu_iso(row["finished_at"]),
        "example": {
            "job_id": row["job_id"],
            "workflow": row["agent_type"],
            "message": row["error"],
            "attempt": row["attempt"],
            "worker": row["worker"],
            "traceback": row["traceback"],
        },
    }
