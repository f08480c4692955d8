"""The operations API's drills: inject, watch, heal. Each is audited, refused ones too (R36)."""

from typing import Any

from fastapi import APIRouter, Response

from jobdeck_backend.api import caller, shapes
from jobdeck_backend.api import recovery_schemas as schemas
from jobdeck_backend.api.services import Services, Serving
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import NotFound, Refused
from jobdeck_backend.recovery.drills import BEFORE
from jobdeck_backend.store import drills

router = APIRouter(prefix="/v1/ops", tags=["operations API: drills"])

NO_DRILL: dict[int | str, dict[str, Any]] = {404: {"description": "no such drill"}}
START: dict[int | str, dict[str, Any]] = {
    403: {"description": "this server does not allow drills"},
    409: {"description": "another drill runs, or the cluster is not up"},
    422: {"description": "confirm does not repeat the fault's name, or there is no such worker"},
}
HEAL: dict[int | str, dict[str, Any]] = {**NO_DRILL, 409: {"description": "the drill is over"}}


@router.post("/drills", status_code=202, response_model=schemas.Drill, responses=START)
async def start_drill(request: schemas.DrillRequest, serving: Serving) -> Response:
    """Inject a fault and watch; answers the drill just begun. `api-loss` waits to be killed by the caller."""
    try:
        drill = await serving.drills.start(request.fault, confirm=request.confirm, target=request.target)
    except Refused as refusal:
        await _note(serving, request.fault, f"refused: {refusal.code}")
        raise
    target = drill["target"] or "every stream"
    await _note(serving, request.fault, f"injected into {target}, drill {drill['id']}")
    return shapes.answer(drill, 202)


@router.post("/drills/{drill_id}/heal", response_model=schemas.Drill, responses=HEAL)
async def heal_drill(drill_id: str, serving: Serving) -> Response:
    """End a fault at once: what was stopped goes on. The drill ends as soon as all is well."""
    try:
        drill = await serving.drills.heal(drill_id)
    except Refused as refusal:
        await _note(serving, "heal", f"refused: {refusal.code}, drill {drill_id[:64]}")
        raise
    await _note(serving, "heal", f"drill {drill_id} healed")
    return shapes.answer(drill)


async def _note(serving: Services, what: str, result: str) -> None:
    by = operators.By(caller.operator(), now())
    await serving.writer.submit(operators.note, f"drill {what}", result, by)
    serving.feed.wake()


@router.get("/drills", response_model=schemas.Drills)
def list_drills(serving: Serving) -> Response:
    """The newest drills, newest first."""
    with serving.database.read() as tx:
        return shapes.answer({"drills": [_told(record) for record in drills.newest(tx)]})


@router.get("/drills/{drill_id}", response_model=schemas.Drill, responses=NO_DRILL)
def get_drill(drill_id: str, serving: Serving) -> Response:
    """One drill, whole."""
    with serving.database.read() as tx:
        drill = drills.load(tx, drill_id)
    if drill is None:
        raise NotFound(f"there is no drill {drill_id}")
    return shapes.answer(_told(drill))


def _told(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what it keeps for the backend that goes on with it."""
    return {name: value for name, value in record.items() if name != BEFORE}
