"""Asks the server for the rows that the list shows, where there are too many jobs to keep them all."""

import re
from collections.abc import Callable
from functools import partial
from time import perf_counter

from jobdeck_tui.client.models import Job
from jobdeck_tui.core.server_list import Query, ServerList, server_sort
from jobdeck_tui.link.wire import Wire

PAGE_ROWS_MAX = 1_000
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The beginning of an id, and no other words of the filter language."""


class Pager:
    """One question at a time; another filter or order takes the place of the one before."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def look(self, cursor: int, then: Callable[[], None]) -> None:
        """Asks if something should be asked; ``cursor`` is the row the operator is on, who waits for the answer:
        ``then`` shows it."""
        shown = self._wire.deck.job_list
        listed = shown.server_list
        if listed is None or self._wire.api is None or shown.frozen:
            return
        sort = server_sort(shown.sort_column, reverse=shown.reverse)
        query = listed.ask(shown.filter_source, sort, cursor, self._wire.deck.monotonic())
        if query is not None:
            self._wire.start(
                self._wire.program, partial(self._read, query, listed, then), "pager", exclusive=True
            )

    async def find(self, beginning: str, rows_max: int) -> list[Job]:
        """The first jobs whose id begins so, asked of the server; none where it does not answer."""
        from jobdeck_tui.client.errors import ClientError

        if self._wire.api is None or not ID.fullmatch(beginning):
            return []
        try:
            page = await anext(self._wire.api.pages(f"id:{beginning}", rows=rows_max))
        except ClientError:
            return []
        return list(page.jobs)

    async def _read(self, query: Query, listed: ServerList, then: Callable[[], None]) -> None:
        from jobdeck_tui.client.errors import ClientError

        api, deck = self._wire.api, self._wire.deck
        if api is None:
            return
        began = perf_counter()
        rows: list[Job] = []
        try:
            size = min(query.rows, PAGE_ROWS_MAX)
            async for page in api.pages(query.filter, sort=query.sort, rows=size):
                rows += page.jobs
                deck.unreadable += page.unreadable
                if len(rows) >= query.rows:
                    break
        except ClientError as error:
            listed.fail(error.message, deck.monotonic())
        else:
            deck.take_server_rows(rows)
            listed.take(
                [job.job_id for job in rows],
                total=page.total,
                matching=page.matching,
                more=page.next is not None,
                now=deck.monotonic(),
                took=perf_counter() - began,
            )
        deck.job_list.rearrange()
        then()
