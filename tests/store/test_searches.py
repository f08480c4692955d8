"""Filters and orders asked of the database: what it answers is what the rows themselves would."""

import itertools
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from jobdeck_backend.clock import now
from jobdeck_backend.commands import delivery, execution, operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.jobs.filter_terms import FIELDS, STATE_WORDS, parse
from jobdeck_backend.jobs.filters import compile_terms
from jobdeck_backend.jobs.orders import Order
from jobdeck_backend.jobs.view import JobView
from jobdeck_backend.scheduling.views import views
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.searches import SORTS, SORTS_OF_FINISHED, Search
from sqlalchemy import Connection, event

FILTERS = [
    *(f"state:{word}" for word in STATE_WORDS),
    *("state:*ed", "state:queued,assigned,waiting", "status:submitted"),
    *("queue:fast", "queue:FAST,slow", "queue:f*", "queue:f?st", "queue:[fs]*", "queue:100%", "queue:a_b"),
    *("agent:probe", "owner:ann", "owner:*", "owner:Böb", "worker:w", "worker:w1,w0", "stage:*", "id:run"),
    *("thread:t-", "left<60s", "left>0", "left<0", "slack<0", "age<1h", "age>1h", "try>0", "try:0,2"),
    *(
        "priority>=5",
        "epoch:1",
        "epoch<2",
        "reason",
        "w0",
        "Queue",
        "cancel",
        "running",
        "e",
        "100%",
        "ünter",
    ),
    *("state:running worker:w0", "queue:fast !state:done left<1d", "!queue:fast !slow"),
]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, empty_database: Path
) -> Iterator[Database]:
    place: Path | str = Path(shutil.copy(empty_database, tmp_path_factory.mktemp("searches")))
    if request.param == "postgres":
        place = request.getfixturevalue("postgres").create("template")
    database = Database(place, synchronous="NORMAL")
    _fill(database)
    yield database
    database.close()


@pytest.fixture
def sqlite(database: Database) -> Database:
    if database.path is None:
        pytest.skip("PostgreSQL keeps what is large elsewhere")
    return database


def _fill(database: Database) -> None:
    """Jobs in every state that the records can tell."""

    def accept(job_id: str, **fields: Any) -> None:
        new = NewJob(**{"agent_type": "probe", "input": "{}", "queue": "fast", "job_id": job_id} | fields)
        submit(tx, new, now())

    def claim(job_id: str, worker: str, ago: float = 0.0) -> Any:
        claimed = execution.claim(tx, job_id, 0, worker=worker, pid=1, epoch=1, now=now() - ago)
        assert claimed is not None
        return claimed

    with database.write() as tx:
        for name in ("done", "fails", "held", "runs", "stops", "late", "queued"):
            accept(name, deadline_seconds=50 if name == "late" else 500, owner="ann", priority=len(name))
        delivery.deliver(tx, epoch=1, room=100, pending=(), urgent_room=0, now=now())
    with database.write() as tx:
        accept("backlog", queue="slow", owner="Böb", thread_id="t-1", priority=7)
        accept("blocked", queue="a_b", after=("runs",))
        accept("percent", queue="axb", deadline_seconds=10_000)
        accept("gone", queue="slow")
        operators.act(tx, "cancel", "gone", operators.cancel, operators.By("operator", now(), "no Reason"))
        execution.succeed(tx, claim("done", "w0-e1"), {"report": None}, [], now())
        claim("runs", "w1-e1")
        claim("late", "w0-e1", ago=30.0)
        execution.hold(tx, claim("held", "w0-e1"), "reason 100%", [], now())
        execution.fail(tx, claim("fails", "w0-e1"), "queued in vain", "ValueError", [], now())
        claim("stops", "w1-e1")
        operators.act(tx, "cancel", "stops", operators.cancel, operators.By("operator", now()))


def rows(tx: Connection, where: Search, at: float) -> list[JobView]:
    """The rows that the database finds."""
    return [view for sources in where.pages(tx, at) for view in views(tx, sources, None)]


def test_the_database_finds_what_the_rows_would_answer(database: Database) -> None:
    with database.read() as tx:
        at = now()
        everything = rows(tx, Search.of((), at), at)
        assert len(everything) == 11
        for text in (*FILTERS, *(f"!{text}" for text in FILTERS if " " not in text)):
            matches = compile_terms(parse(text))
            expected = {view.source.job_id for view in everything if matches(view, at)}
            search = Search.of(parse(text), at)
            left = rows(tx, search, at)
            rest = compile_terms(search.rest)
            assert {view.source.job_id for view in left if rest(view, at)} == expected, text
            assert search.page(tx, "risk", now=at, after=None, limit=3)[0] == len(left), text


@pytest.mark.parametrize("sort", ["risk", "-left", "queue", "worker", "-accepted"])
def test_no_list_is_read_across_what_all_jobs_were_given(sqlite: Database, sort: str) -> None:
    """SQLite reads a row up to the last column it is asked for; an index holds neither inputs nor outputs."""
    asked: list[tuple[str, Any]] = []

    def note(_connection, _cursor, statement, parameters, _context, _many) -> None:
        asked.append((statement, parameters))

    with sqlite.read() as tx:
        event.listen(tx, "before_cursor_execute", note)
        for words in ["", *(text for text in FILTERS if not Search.of(parse(text), now()).rest)]:
            asked.clear()
            Search.of(parse(words), now()).page(tx, sort, now=now(), after=None, limit=3)
            for statement, parameters in asked.copy():
                plan = [
                    row.detail for row in tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
                ]
                scans = [step for step in plan if step.startswith(("SCAN admissions", "SCAN jobs"))]
                assert all("COVERING INDEX" in step or "accepted_at" in step for step in scans), (words, plan)


def test_only_dask_the_forecast_and_words_beyond_ascii_are_left_to_the_rows(database: Database) -> None:
    left = [text for text in FILTERS if Search.of(parse(text), now()).rest]
    words = {"state:waiting", "state:queued", "state:assigned", "state:*ed"}
    assert set(left) == words | {"queue:[fs]*", "owner:Böb", "slack<0", "ünter", "Queue", "e"}
    assert set(FIELDS) - {"slack"} == {parse(text)[0].name for text in FILTERS if ":" in text} | {
        *("left", "age", "priority")
    }


@pytest.mark.parametrize("sort", [*sorted(SORTS), *(f"-{name}" for name in sorted(SORTS))])
@pytest.mark.parametrize("text", ["", "try>=0"])
def test_pages_in_the_databases_order_are_the_whole_list_once(
    database: Database, sort: str, text: str
) -> None:
    with database.read() as tx:
        at = now()
        search, order = Search.of(parse(text), at), Order(sort, at)
        paged: list[JobView] = []
        expected: Sequence[JobView] = order.sort(rows(tx, search, at))
        while True:
            after = order.place(paged[-1]) if paged else None
            count, sources = search.page(tx, sort, now=at, after=after, limit=3)
            found = views(tx, sources, None)
            assert count == len(expected)
            paged += found
            if not found:
                break
        assert [view.source.job_id for view in paged] == [view.source.job_id for view in expected]


@pytest.mark.parametrize(
    "sort", [f"{sign}{name}" for name in sorted(SORTS_OF_FINISHED) for sign in ("", "-")]
)
def test_finished_jobs_are_paged_by_the_database_in_the_orders_that_ask_dask_of_others(
    database: Database, sort: str
) -> None:
    with database.read() as tx:
        at = now()
        everything, order = Search.of((), at), Order(sort, at)
        search = everything.only(finished=True)
        expected = order.sort(rows(tx, search, at))
        assert len(expected) + len(rows(tx, everything.only(finished=False), at)) == 11
        paged: list[JobView] = []
        while len(paged) < len(expected):
            after = order.place(paged[-1]) if paged else None
            count, sources = search.page(tx, sort, now=at, after=after, limit=2)
            assert count == len(expected)
            paged += views(tx, sources, None)
        assert [view.source.job_id for view in paged] == [view.source.job_id for view in expected]


def test_a_place_of_words_is_none_among_numbers(database: Database) -> None:
    with database.read() as tx:
        for sort, value in itertools.product(("queue", "left"), (5.0, "five")):
            if (sort == "queue") is isinstance(value, str):
                continue
            with pytest.raises(TypeError):
                Search.of((), now()).page(tx, sort, now=now(), after=(value, "x"), limit=3)
