"""Errors become responses here and nowhere else, by class; too large a body is refused before it is read."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from sqlalchemy.exc import DataError, DBAPIError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jobdeck_backend.api.times import offset_iso, zulu_iso
from jobdeck_backend.errors import (
    DeadlineUnattainable,
    InvalidInput,
    JobdeckError,
    JobExists,
    NotVerified,
    SourcesRefused,
    TooLarge,
    Unavailable,
    UnknownWorkflow,
)
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import events
from jobdeck_backend.store.trouble import Condition, cause_of, is_trouble

INPUT_SHOWN_CHARS = 300
PROBLEMS_SHOWN_MAX = 100
CONTENT_TYPE_SHOWN_CHARS = 100


class Problem(BaseModel):
    """Why not: a sentence, a list of problems, or an object with a code."""

    detail: Any


DOCUMENTED: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "the body cannot be read"},
    422: {"model": Problem, "description": "a field cannot be used"},
}
"""What any route may answer beside its own."""
WORKFLOW_PATHS = ("/v1/workflow", "/generate")


def _json(status_code: int, content: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return Response(
        orjson.dumps(content, default=str), status_code, media_type="application/json", headers=headers
    )


def operations_detail(error: JobdeckError) -> dict[str, Any]:
    """The operations API's error shape."""
    detail = {"code": error.code, "message": error.message, **error.details}
    return detail | _window(error, zulu_iso) if isinstance(error, DeadlineUnattainable) else detail


def _window(error: DeadlineUnattainable, written: Callable[[float | None], str | None]) -> dict[str, Any]:
    return {
        "predicted_completion": written(error.predicted_completion),
        "deadline": written(error.deadline),
        "offer": None if error.offer is None else {"deadline": written(error.offer)},
    }


def _contract_content(error: JobdeckError, path: str) -> dict[str, Any]:
    """As both contracts say it: a sentence, or an object where the contract names its members."""
    match error:
        case UnknownWorkflow():
            return {"detail": operations_detail(error)}
        case DeadlineUnattainable():
            written = zulu_iso if path.startswith(WORKFLOW_PATHS) else offset_iso
            return {"detail": {"code": error.code, "message": error.message, **_window(error, written)}}
        case SourcesRefused():
            return {"detail": {"message": error.message, **error.details}}
        case JobExists():
            return {"detail": error.message, **error.details}
        case NotVerified():
            return {"detail": error.message, "error": error.code}
    return {"detail": error.message}


def _respond(request: Request, error: Exception) -> Response:
    assert isinstance(error, JobdeckError)
    return refusal(request.url.path, error)


def refusal(path: str, error: JobdeckError) -> Response:
    """An error as the API under this path says it."""
    headers = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    if isinstance(error, NotVerified):
        headers["WWW-Authenticate"] = "Bearer"
    if path.startswith("/v1/ops"):
        return _json(error.http_status, {"detail": operations_detail(error)}, headers)
    return _json(error.http_status, _contract_content(error, path), headers)


def _respond_unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, DBAPIError)
    condition: Condition = request.app.state.services.database.condition
    if not is_trouble(error):
        return refusal(request.url.path, Unavailable(f"the database cannot answer ({cause_of(error)})"))
    return refusal(request.url.path, condition.failed(error))


def _respond_unstorable(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return refusal(request.url.path, InvalidInput("a value has characters that no database takes"))


def _respond_failed(request: Request, error: Exception) -> Response:  # noqa: ARG001
    """What nobody foresaw: the log has it, the caller is told that it is not their fault."""
    return refusal(request.url.path, JobdeckError("the server failed at this request; its log says why"))


def _respond_invalid(request: Request, error: Exception) -> Response:
    """FastAPI's own shape. The input is left out, which may be huge or not even JSON again; the workflow API's
    clients are shown its beginning."""
    assert isinstance(error, RequestValidationError)
    errors = error.errors()[:PROBLEMS_SHOWN_MAX]
    problems = [
        {"type": one["type"], "loc": one["loc"], "msg": _whole_body(request, one) or one["msg"]}
        for one in errors
    ]
    path = request.url.path
    if path.startswith("/v1/ops"):
        words = "; ".join(": ".join(filter(None, (_place(one), one["msg"]))) for one in problems)
        return _json(422, {"detail": {"code": "invalid_input", "message": words, "problems": problems}})
    if path.startswith(WORKFLOW_PATHS):
        for problem, one in zip(problems, errors, strict=True):
            problem["input"] = _shown(one.get("input"))
            if one.get("ctx"):
                problem["ctx"] = {name: _shown(value) for name, value in one["ctx"].items()}
    return _json(422, {"detail": problems})


def _whole_body(request: Request, problem: Mapping[str, Any]) -> str:
    """What is wrong with a body as a whole, where that is no field's problem: pydantic knows no content types."""
    if tuple(problem["loc"]) != ("body",) or problem["type"] not in {"missing", "model_attributes_type"}:
        return ""
    came = request.headers.get("content-type", "")
    if problem["type"] == "missing":
        how = "and none came"
    elif "json" in came.lower():
        how = "and is none"
    else:
        how = (
            f"and came as {came[:CONTENT_TYPE_SHOWN_CHARS]!r}" if came else "and came without a content type"
        )
    return f"the body is to be a JSON object with content-type application/json, {how}; nothing was stored"


def _place(problem: Mapping[str, Any]) -> str:
    return ".".join(map(str, problem["loc"][1:]))


def _shown(value: object) -> Any:
    """A value as it was sent, or the beginning of its text where it is long or no JSON."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 2**53:
        return value
    if isinstance(value, dict | list | None | bool):
        encoded = events.encode(value)
        if len(encoded) <= INPUT_SHOWN_CHARS:
            return orjson.loads(encoded)
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text[:INPUT_SHOWN_CHARS].encode("utf-8", "replace").decode()


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


def failure(request: Request, error: JobdeckError | DBAPIError) -> Response:
    """What a route would answer to an error, for what is looked at before any route."""
    if isinstance(error, JobdeckError):
        return _respond(request, error)
    return (_respond_unstorable if isinstance(error, DataError) else _respond_unreadable)(request, error)


def install(app: FastAPI, settings: Settings) -> None:
    """Teach an application its refusals."""
    app.add_exception_handler(JobdeckError, _respond)
    app.add_exception_handler(Exception, _respond_failed)
    app.add_exception_handler(DBAPIError, _respond_unreadable)
    app.add_exception_handler(DataError, _respond_unstorable)
    app.add_exception_handler(RequestValidationError, _respond_invalid)
    app.add_middleware(BodyLimit, bytes_max=settings.body_bytes_max)
