"""Errors become responses here and nowhere else, by class; too large a body is refused before it is read."""

from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jobdeck_backend.errors import JobdeckError, JobExists, TooLarge, Unavailable, UnknownWorkflow
from jobdeck_backend.settings import Settings
from jobdeck_backend.store.engine import cause_of

RETRY_AFTER_S = 1


def _json(status_code: int, content: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return Response(
        orjson.dumps(content, default=str), status_code, media_type="application/json", headers=headers
    )


def operations_detail(error: JobdeckError) -> dict[str, Any]:
    """The operations API's error shape."""
    return {"code": error.code, "message": error.message, **error.details}


def _respond(request: Request, error: Exception) -> Response:
    assert isinstance(error, JobdeckError)
    return refusal(request.url.path, error)


def refusal(path: str, error: JobdeckError) -> Response:
    """An error as the API under this path says it."""
    headers = {"Retry-After": str(RETRY_AFTER_S)} if isinstance(error, Unavailable) else None
    if path.startswith("/v1/ops"):
        return _json(error.http_status, {"detail": operations_detail(error)}, headers)
    content: dict[str, Any] = {"detail": error.message}
    if isinstance(error, UnknownWorkflow):
        content = {"detail": operations_detail(error)}
    elif isinstance(error, JobExists):
        content |= error.details
    return _json(error.http_status, content, headers)


def _respond_unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, DBAPIError)
    return refusal(request.url.path, Unavailable(f"the database cannot be read ({cause_of(error)})"))


def _respond_invalid(request: Request, error: Exception) -> Response:
    """FastAPI's own shape, without the input: it may be huge, or not even JSON again."""
    assert isinstance(error, RequestValidationError)
    problems = [{"loc": one["loc"], "msg": one["msg"], "type": one["type"]} for one in error.errors()]
    if request.url.path.startswith("/v1/ops"):
        words = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in problems)
        return _json(422, {"detail": {"code": "invalid_input", "message": words, "problems": problems}})
    return _json(422, {"detail": problems})


class BodyLimit:
    """Refuses a body over the bound: at once where its length is declared, else at the byte that is over."""

    def __init__(self, app: ASGIApp, bytes_max: int) -> None:
        self.app = app
        self.bytes_max = bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if declared.isdigit() and int(declared) > self.bytes_max:
            await self._refusal()(scope, receive, send)
            return
        read = 0

        async def bounded() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.bytes_max:
                raise TooLarge("the body is over its bound")
            return message

        async def answer(message: Message) -> None:
            # FastAPI takes a body that cannot be read for a malformed one; the refusal is said below.
            if read <= self.bytes_max:
                await send(message)

        await self.app(scope, bounded, answer)
        if read > self.bytes_max:
            await self._refusal()(scope, receive, send)

    def _refusal(self) -> Response:
        text = f"a request body may have at most {self.bytes_max} bytes; nothing was stored"
        return _json(413, {"detail": text}, {"Connection": "close"})


def install(app: FastAPI, settings: Settings) -> None:
    """Teach an application its refusals."""
    app.add_exception_handler(JobdeckError, _respond)
    app.add_exception_handler(DBAPIError, _respond_unreadable)
    app.add_exception_handler(RequestValidationError, _respond_invalid)
    app.add_middleware(BodyLimit, bytes_max=settings.body_bytes_max)
