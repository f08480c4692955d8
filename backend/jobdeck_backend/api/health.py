"""Liveness and health."""

from typing import Any

import orjson
from fastapi import APIRouter, Response

from jobdeck_backend.api.services import Serving

router = APIRouter(tags=["health"])


@router.get("/live")
async def live() -> dict[str, str]:
    """The process answers."""
    return {"status": "alive"}


@router.get("/health", responses={503: {"description": "the database is not usable"}})
async def health(serving: Serving) -> Response:
    """Degraded but 200 without Dask, since jobs are accepted all the same; 503 while the database takes none.

    ``db`` is ``ok`` or the code a refused request gets, ``reason`` says it in words.
    """
    answer: dict[str, Any] = {
        "status": "healthy",
        "dask_available": serving.cluster.state == "up",
        "db": "ok",
    }
    status_code = 200
    if not answer["dask_available"]:
        answer["status"] = "degraded"
    if (trouble := await serving.pulse.trouble()) is not None:
        answer |= {"status": "unhealthy", "db": trouble.code, "reason": trouble.message}
        status_code = 503
    return Response(orjson.dumps(answer), status_code=status_code, media_type="application/json")
