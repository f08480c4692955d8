"""By what a backend is known to others on its database (R17)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from jobdeck_backend.instance import PLACE, backend_name, owner_is_gone, this_process

PROGRAM = "from jobdeck_backend.instance import this_process; print(this_process())"


def ended_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_r17_only_an_owner_of_this_place_is_known_to_have_ended() -> None:
    assert f"{PLACE}:{os.getpid()}" == this_process()
    assert not owner_is_gone(this_process())
    assert owner_is_gone(f"{PLACE}:{(pid := ended_pid())}")
    assert not owner_is_gone(f"{PLACE.rpartition('/')[0]}/elsewhere:{pid}")
    assert not owner_is_gone(f"elsewhere:{pid}")


def test_r17_a_container_of_the_same_name_is_another_owner_who_may_live() -> None:
    alone = ["unshare", "--pid", "--fork", sys.executable, "-c", PROGRAM]
    told = subprocess.run(alone, capture_output=True, text=True)
    if told.returncode:
        pytest.skip("a process namespace of its own cannot be had here")
    owner = told.stdout.strip()
    assert owner.endswith(":1")
    assert owner.partition("/")[0] == PLACE.partition("/")[0]
    assert owner.rpartition(":")[0] != PLACE
    assert not owner_is_gone(owner)


def test_r17_a_directory_keeps_its_backends_name_and_another_one_of_that_path_has_its_own(
    tmp_path: Path,
) -> None:
    here = tmp_path / "state"
    here.mkdir()
    name = backend_name(here)
    assert backend_name(here) == name
    here.rename(tmp_path / "former")
    here.mkdir()
    assert backend_name(here) != name
