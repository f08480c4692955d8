"""The server that is held to the contracts: the one at JOBDECK_CONFORMANCE_URL, or one started here."""

import os
from collections.abc import Iterator

import pytest
from running_backend import RunningBackend

from .calling import Caller


@pytest.fixture(scope="session")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    given = os.environ.get("JOBDECK_CONFORMANCE_URL")
    if given:
        yield given
        return
    directory = tmp_path_factory.mktemp("conformance")
    running = RunningBackend(directory / "state", JOBDECK_OFFLINE_TOKENS_PER_SECOND="100000")
    running.wait_for_dask()
    yield running.url
    running.finish()


@pytest.fixture(scope="session")
def caller(base_url: str) -> Iterator[Caller]:
    with Caller(base_url) as one:
        yield one
