"""The operations API's incident bundle of one job."""

from collections.abc import Iterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection

from jobdeck_backend.api import shapes
from jobdeck_backend.api.operations_jobs import describe
from jobdeck_backend.api.services import NOT_FOUND, Services, Serving
from jobdeck_backend.clock import now
from jobdeck_backend.jobs.ids import file_name
from jobdeck_backend.store import audit, events, notifications, progress
from jobdeck_backend.upkeep import bundle
from jobdeck_backend.upkeep.redaction import measured, without_content, without_secrets

router = APIRouter(prefix="/v1/ops", tags=["operations API: jobs"])

ARCHIVE = "application/gzip"
CHECKPOINTS_MAX = 1_000
EVENTS_PAGE = 1_000
# Updates are jobdeck's and the authors' own words about the job.
_WORDS = frozenset(
    {"job.update", "job.error", "job.cancelled", "job.cancellation_requested", "job.heartbeat"}
)


@router.get(
    "/jobs/{job_id}/bundle",
    response_class=Response,
    responses={
        200: {"content": {ARCHIVE: {"schema": {"type": "string", "format": "binary"}}}},
        **NOT_FOUND,
    },
)
def incident_bundle(
    job_id: str,
    serving: Serving,
    content: Annotated[bool, Query(description="also what the job was given and what it made")] = False,  # noqa: FBT002
) -> Response:
    """All on record about a job as one `.tar.gz`: bounded, without secrets, without content unless asked."""
    with serving.database.read() as tx:
        parts = _parts(serving, tx, job_id, content=content)
    root = f"jobdeck-{file_name(job_id)}"
    packed = bundle.pack(root, parts, now())
    return Response(
        packed, media_type=ARCHIVE, headers={"Content-Disposition": f'attachment; filename="{root}.tar.gz"'}
    )


def _parts(serving: Services, tx: Connection, job_id: str, *, content: bool) -> dict[str, bytes]:
    detail = describe(serving, tx, job_id)
    if not content:
        detail["request"]["input"] = measured(detail["request"]["input"])
        detail["effects"] = without_content(orjson.loads(orjson.dumps(detail["effects"])))
    separate = {name: detail.pop(name) for name in ("transitions", "attempts", "stages", "effects")}
    del detail["notification"]
    told = [shapes.notification(one) for one in notifications.of_job(tx, job_id)]
    acts = [shapes.audit_row(row) for row in audit.of_job(tx, job_id)]
    saved = progress.saved(tx, detail["job"]["thread_id"], CHECKPOINTS_MAX)
    documents = {"job": detail, **separate, "notifications": told, "audit": acts, "checkpoints": saved}
    documents["versions"] = bundle.versions()
    parts = {f"{name}.json": _document(value) for name, value in documents.items()}
    parts["events.ndjson"] = bundle.bounded(_events(tx, job_id, content=content))
    parts["README.txt"] = bundle.README.encode()
    for log in sorted(serving.settings.log_directory.glob("*.log")):
        if lines := bundle.log_lines(log, job_id):
            parts[f"logs/{log.name}"] = bundle.bounded(without_secrets(line).encode() for line in lines)
    return parts


def _document(value: Any) -> bytes:
    plain = orjson.loads(orjson.dumps(value))
    return bundle.as_json(without_secrets(plain), indent=1)


def _events(tx: Connection, job_id: str, *, content: bool) -> Iterator[bytes]:
    cursor = 0
    while page := events.read_after(tx, job_id, cursor, EVENTS_PAGE):
        for one in page:
            told = without_secrets(orjson.loads(shapes.event(one)))
            hidden = not content and one.type not in _WORDS
            yield bundle.as_json(without_content(told) if hidden else told)
        cursor = page[-1].seq
