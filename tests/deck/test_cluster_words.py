"""What the deck says of a cluster in words."""

from dataclasses import replace

import pytest
from jobdeck_tui.client.decode import scheduler
from jobdeck_tui.client.models import DaskWorker
from jobdeck_tui.core.cluster_words import cluster_rows, strip
from jobdeck_tui.core.columns import WORKER_CELLS, cell
from jobdeck_tui.core.worker_words import worker_rows

from .rows import NOW, job, overview, picture

EXTERNAL = {"state": "external", "address": "tcp://10.0.0.1:8786", "epoch": 3, "id": "Scheduler-a"}


def told(**changes):
    return replace(overview(), scheduler=scheduler({**EXTERNAL, **changes}))


def text(rows):
    return "\n".join("".join(piece for piece, _look in row) for row in rows)


@pytest.mark.parametrize("width", [80, 120])
def test_workers_that_get_no_jobs_are_named_with_the_reason(width):
    found = told(unfit={"w7": "the package jobdeck is not installed\x1b[2J there"})
    assert "1 worker unfit" in text([strip(found, None, (), width)])
    said = text(cluster_rows(found, None, (), NOW, width))
    assert "w7 gets no jobs: the package jobdeck is not installed" in said
    assert "\x1b" not in said


def test_why_there_is_no_scheduler_is_said():
    found = told(state="starting", problem="no scheduler can be used at tcp://10.0.0.1:8786 (timed out)")
    assert "no scheduler can be used at tcp://10.0.0.1:8786" in text(cluster_rows(found, None, (), NOW, 80))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_workers_that_are_called_by_their_address_are_told_apart(width):
    names = [
        "tcp://127.0.0.1:40703",
        "tls://127.0.0.1:44197",
        "tcp://192.168.100.100:40703",
        "SLURM-cluster-12",
    ]
    workers = [DaskWorker(name, name, None, 1, 0, 0, 0, 0.1) for name in names]
    rows = [text([row]) for row in worker_rows(workers, None, width)[1:]]
    assert len({row.split("✔")[0] for row in rows}) == len(names)
    assert len(rows[0]) <= max(width, 72)
    if width >= 80:
        assert rows[0].split()[0] == "127.0.0.1:40703"
    assert rows[3].split()[0].endswith("uster-12")
    told_in_strip = text([strip(told(), picture(), workers, 160)])
    assert "0.0.1:40703 0/1" in told_in_strip
    assert "0.0.1:44197 0/1" in told_in_strip
    in_list = {cell(job(worker=name), "worker", NOW) for name in names}
    assert len(in_list) == len(names)
    assert all(len(one) <= WORKER_CELLS for one in in_list)
