"""The jobs API's artifacts: what a job left behind, and the bytes of it."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from fastapi.responses import FileResponse
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from jobdeck_backend.api import jobs_schemas as schemas
from jobdeck_backend.api import shapes
from jobdeck_backend.api.services import NOT_FOUND, Serving
from jobdeck_backend.api.times import offset_iso
from jobdeck_backend.commands.transition import load
from jobdeck_backend.errors import Gone, NotFound
from jobdeck_backend.jobs.artifacts import SHOWN_INLINE, Artifact
from jobdeck_backend.store import artifacts

router = APIRouter(prefix="/v1/jobs/async", tags=["jobs API"])

CONTENT_PATH = "/job/{job_id}/artifacts/{artifact_id}/content"
RANGE_SHOWN_CHARS = 100
CONTENT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
    206: {"description": "the part that Range asks for"},
    304: {"description": "the bytes If-None-Match names are still the ones"},
    400: {"description": "Range cannot be read"},
    404: {"description": "no such artifact"},
    410: {"description": "its time is over, the bytes are removed"},
    416: {"description": "Range asks for what is not there"},
}


class _Bytes(FileResponse):
    """A file or the parts that ``Range`` asks for; refused in JSON, as everything is. Units that nobody knows are
    passed over (RFC 9110)."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        unit, _, wanted = Headers(scope=scope).get("range", "").partition("=")
        if unit.strip().lower() != "bytes":
            scope = {**scope, "headers": [field for field in scope["headers"] if field[0] != b"range"]}
        refused: Message | None = None

        async def answer(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and message["status"] >= 400:
                refused = message
            if refused is None:
                await send(message)

        await super().__call__(scope, receive, answer)
        if refused is not None:
            outside = refused["status"] == 416
            text = "asks for what is not there" if outside else "cannot be read"
            refusal = shapes.answer(
                {"detail": f"Range {text}: {wanted[:RANGE_SHOWN_CHARS]}"}, refused["status"]
            )
            if outside:
                refusal.headers["Content-Range"] = f"bytes */{self.headers['content-length']}"
            await refusal(scope, receive, send)


@router.get("/job/{job_id}/artifacts", response_model=schemas.Artifacts, responses=NOT_FOUND)
def list_artifacts(job_id: str, serving: Serving) -> Response:
    """The files a job left behind, in the order of their creation."""
    with serving.database.read() as tx:
        load(tx, job_id)
        found = artifacts.of_job(tx, job_id)
    return shapes.answer({"job_id": job_id, "artifacts": list(map(_shape, found))})


def _shape(one: Artifact) -> dict[str, Any]:
    return {
        "artifact_id": one.artifact_id,
        "job_id": one.job_id,
        "kind": one.kind,
        "mime_type": one.media_type,
        "filename": one.filename,
        "sha256": one.sha256,
        "size_bytes": one.size_bytes,
        "title": one.title,
        "caption": one.caption,
        "inline": one.inline,
        "created_at": offset_iso(one.created_at),
        "status": "available" if one.removed_at is None else "expired",
        "content_url": one.content_url,
    }


@router.head(CONTENT_PATH, response_class=Response, include_in_schema=False)
@router.get(CONTENT_PATH, response_class=FileResponse, responses=CONTENT)
def content(
    job_id: str, artifact_id: str, serving: Serving, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """A file's bytes, a part of them, or what a HEAD tells of them; never as something a browser would run."""
    with serving.database.read() as tx:
        load(tx, job_id)
        found = artifacts.load(tx, job_id, artifact_id)
    if found is None:
        raise NotFound(f"Artifact not found: {artifact_id}")
    etag = f'"{found.sha256}"'
    headers = {
        "ETag": etag,
        "Cache-Control": "private, immutable",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    path = serving.artifact_files.path(found.sha256)
    if found.removed_at is not None:
        raise Gone(f"Artifact expired: {artifact_id}; its row stays, its bytes are removed")
    if not path.is_file():
        raise Gone(f"The bytes of artifact {artifact_id} are missing; fsck tells more")
    if if_none_match is not None and _names(if_none_match, etag):
        return Response(status_code=304, headers=headers)
    return _Bytes(
        path,
        headers=headers,
        media_type=found.media_type,
        filename=found.filename,
        stat_result=path.stat(),
        content_disposition_type="inline" if found.media_type in SHOWN_INLINE else "attachment",
    )


def _names(if_none_match: str, etag: str) -> bool:
    """Whether a client has these bytes already (RFC 9110, weak comparison)."""
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return etag in tags or "*" in tags
