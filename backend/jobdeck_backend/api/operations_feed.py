"""The operations API's event stream."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from sse_starlette import EventSourceResponse

from jobdeck_backend.api.event_stream import respond
from jobdeck_backend.api.services import Serving

router = APIRouter(prefix="/v1/ops", tags=["operations API"])

FEED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
    422: {"description": "the cursor is not one of this server"},
}


@router.get("/events/stream", response_class=EventSourceResponse, responses=FEED)
async def stream(
    serving: Serving,
    events: Annotated[bool, Query(description="send every stored event but token chunks, too")] = False,  # noqa: FBT002
    after: Annotated[str | None, Query(description="id of the last `jobs` frame seen")] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventSourceResponse:
    """Overview, changed rows, acts and drills of all jobs; resumes behind ``Last-Event-ID`` or ``after``."""
    cursor = last_event_id or after
    if cursor:
        await serving.feed.check_cursor(cursor)
    return respond(serving.feed.frames(after=cursor or None, wants_events=events))
