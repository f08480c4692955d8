"""What the deck says of a cluster in words."""

from dataclasses import replace

import pytest
from jobdeck_tui.client.decode import scheduler
from jobdeck_tui.core.cluster_words import cluster_rows, strip

from .rows import NOW, overview

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
