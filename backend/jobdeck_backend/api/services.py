"""What the routes work with, made once by the composition root."""

from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, Request

from jobdeck_backend.api.board import Board
from jobdeck_backend.api.feed import Feed
from jobdeck_backend.api.streams import Streaming
from jobdeck_backend.recovery.drills import Drills
from jobdeck_backend.recovery.reaper import Reaper
from jobdeck_backend.scheduling.agreement import Agreement
from jobdeck_backend.scheduling.dispatcher import Dispatcher
from jobdeck_backend.scheduling.supervision import Cluster
from jobdeck_backend.settings import Settings
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.writer import Writer


@dataclass(frozen=True)
class Services:
    """Everything a route may use."""

    settings: Settings
    database: Database
    writer: Writer
    cluster: Cluster
    dispatcher: Dispatcher
    reaper: Reaper
    streaming: Streaming
    board: Board
    feed: Feed
    agreement: Agreement
    drills: Drills


async def _services(request: Request) -> Services:
    """The application's services, as a dependency; not a plain function, which would cost a thread."""
    return cast("Services", request.app.state.services)


Serving = Annotated[Services, Depends(_services)]
"""What a route takes to be given them."""
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"description": "no such job"}}
