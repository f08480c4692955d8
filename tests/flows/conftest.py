"""An author's job for the tests of what authors may rely on."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from authored import AuthoredJob


@pytest.fixture
def worker_settings() -> dict[str, Any]:
    """Where the job's worker has others than the defaults."""
    return {}


@pytest.fixture
def job(
    tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch, worker_settings: dict[str, Any]
) -> Iterator[AuthoredJob]:
    """A job whose graph the test gives; at the end, the records and the directories are as they should be."""
    shutil.copy(empty_database, tmp_path / "jobdeck.db")
    job = AuthoredJob(tmp_path, monkeypatch, settings=worker_settings)
    yield job
    assert not list((tmp_path / "sandboxes").glob("*")), "no directory is left behind"
    assert not list((tmp_path / "artifacts" / "tmp").glob("*")), "no bytes are left half written"
    job.finish()
