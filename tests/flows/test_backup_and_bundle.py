"""A backup is whole and starts elsewhere; a bundle tells of a job without secrets; a caller is told once more."""

import contextlib
import io
import json
import re
import stat
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import command_line
import pytest
from running_backend import RunningBackend, wait_until
from starting_backends import StartBackend, one_backend
from webhook_listener import listening

OPS = "/v1/ops"
SECRET = "sk-abcdefghijklmnop1234"


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBackend]:
    with one_backend(
        tmp_path_factory.mktemp("backups"),
        JOBDECK_ALLOW_PRIVATE_ADDRESSES="true",
        JOBDECK_CALLBACK_RETRY_S="0.1",
        JOBDECK_CALLBACK_ATTEMPTS_MAX="1",
    ) as running:
        yield running


def jobdeck(state_dir: Path, *arguments: str, code: int = 0, cwd: Path | None = None) -> str:
    """All that a command says."""
    with contextlib.chdir(cwd or Path.cwd()):
        return "".join(command_line.jobdeck(*arguments, code=code, JOBDECK_STATE_DIR=str(state_dir)))


def test_a_backup_under_load_starts_elsewhere_and_goes_on(
    backend: RunningBackend, start_backend: StartBackend, tmp_path: Path
) -> None:
    done = backend.submit({"name": "a", "tokens": 50})
    backend.wait_for(done, "success")
    over = threading.Event()

    def load() -> None:
        while not over.wait(0.02):
            backend.submit({"name": "a", "tokens": 20}, deadline_seconds=1)

    loader = threading.Thread(target=load)
    # Before the load: what has a deadline goes before what has none.
    running = backend.submit({"name": "first"}, {"name": "long", "seconds": 2}, {"name": "last"})
    backend.wait_for_stage(running, "long")
    file = tmp_path / "copy.db"
    loader.start()
    try:
        told = jobdeck(backend.state_dir, "backup", str(file))
    finally:
        over.set()
        loader.join()
    assert str(file) in told
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not list(backend.state_dir.glob("backup-*"))
    assert "is there already" in jobdeck(backend.state_dir, "backup", str(file), code=1)
    restored = tmp_path / "restored"
    restored.mkdir(mode=0o700)
    (restored / "jobdeck.db").write_bytes(file.read_bytes())
    again = start_backend(state_dir=restored)
    assert again.job(done)["outcome"] == "succeeded"
    assert len(again.events(done)) == len(backend.events(done))
    again.wait_for(running, "success", timeout_s=40)
    assert again.http.get(f"{OPS}/fsck").json()["clean"]
    audited = [one["act"] for one in backend.http.get(f"{OPS}/audit", params={"limit": 1000}).json()["acts"]]
    assert audited.count("backup") == 1


def test_what_the_documentation_says_of_a_backup_is_what_brings_everything_back(
    start_backend: StartBackend, tmp_path: Path
) -> None:
    """Its two blocks of commands, as they stand there; only the server's own line is the test's."""
    old = start_backend(state_dir=tmp_path / "OLD")
    old.wait_for_dask()
    done = old.submit({"name": "leaves", "artifact_bytes": 2_000})
    old.wait_for(done, "success")
    text = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
    saving, restoring = (
        block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if "SAFE" in block
    )
    assert "jobdeck serve --state-dir NEW" in restoring
    program = f"{sys.executable} -c 'from jobdeck_tui.cli import main; main()'"
    commands = f'set -e\njobdeck() {{ {program} "$@"; }}\n{saving}\n{restoring}'.replace(
        "jobdeck serve", ": "
    )
    environment = command_line.environment(JOBDECK_STATE_DIR=str(old.state_dir))
    subprocess.run(["bash", "-c", commands], cwd=tmp_path, env=environment, check=True)
    old.stop()
    again = start_backend(state_dir=tmp_path / "NEW")
    (file,) = again.artifacts(done)
    assert len(again.http.get(file["content_url"]).content) == 2_000
    assert again.http.get(f"{OPS}/fsck").json()["clean"]
    secrets = {(tmp_path / name / "callback-secret").read_text() for name in ("OLD", "NEW")}
    assert len(secrets) == 1


def test_a_directory_at_rest_is_backed_up_and_an_empty_one_is_not(
    start_backend: StartBackend, tmp_path: Path
) -> None:
    resting = start_backend()
    resting.stop()
    file = tmp_path / "rest.db"
    assert json.loads(jobdeck(resting.state_dir, "backup", str(file), "--json"))["violations"] == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("something else")
    jobdeck(resting.state_dir, "backup", str(file), "--force")
    assert file.read_bytes().startswith(b"SQLite format 3")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no database" in jobdeck(empty, "backup", str(tmp_path / "none.db"), code=13)
    assert not (tmp_path / "none.db").exists()


def unpacked(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {
            member.name.split("/", 1)[1]: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive
        }


def test_a_bundle_tells_all_of_a_job_but_no_content_and_no_secret(
    backend: RunningBackend, tmp_path: Path
) -> None:
    job_id = backend.submit(
        {"name": "told", "tokens": 5}, output=f"the key is {SECRET}", callback_url="http://u.example/T0KEN"
    )
    backend.wait_for(job_id, "success")
    backend.act(job_id, "cancel", reason=f"password={SECRET}")  # refused, and audited
    jobdeck(backend.state_dir, "bundle", job_id, cwd=tmp_path)
    file = tmp_path / f"jobdeck-{job_id}.tar.gz"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    parts = unpacked(file.read_bytes())
    assert {"job.json", "transitions.json", "attempts.json", "stages.json", "effects.json"} <= set(parts)
    events = [json.loads(line) for line in parts["events.ndjson"].splitlines()]
    assert [one["seq"] for one in events] == [frame.id for frame in backend.events(job_id) if frame.id]
    everything = b"".join(parts.values())
    for hidden in (SECRET, "T0KEN", "the key is"):
        assert hidden.encode() not in everything
    assert json.loads(parts["job.json"])["request"]["input"]["bytes"] > 0
    assert json.loads(parts["stages.json"])[0]["node"] == "told"
    assert [one["act"] for one in json.loads(parts["audit.json"])] == ["cancel"]
    assert "is there already" in jobdeck(backend.state_dir, "bundle", job_id, code=1, cwd=tmp_path)
    full = unpacked(backend.http.get(f"{OPS}/jobs/{job_id}/bundle", params={"content": True}).content)
    assert b"the key is" in full["job.json"]
    assert SECRET.encode() not in b"".join(full.values())
    assert backend.http.get(f"{OPS}/jobs/nowhere/bundle").status_code == 404


def test_a_callback_given_up_is_sent_once_more_by_hand(backend: RunningBackend) -> None:
    def state(job_id: str) -> str:
        return str(backend.http.get(f"{OPS}/jobs/{job_id}").json()["notification"]["state"])

    with listening(503, 200) as listener:
        job_id = backend.submit({"name": "only"}, callback_url=listener.url)
        wait_until(
            lambda: backend.job(job_id)["outcome"] and state(job_id) == "failed", what="it is given up"
        )
        assert "succeeded to" in jobdeck(backend.state_dir, "resend", job_id, "--reason", "receiver is up")
        wait_until(lambda: state(job_id) == "delivered", what="it is delivered")
        first, second = listener.received
        assert first["raw"] == second["raw"]
        assert first["headers"]["X-Jobdeck-Delivery"] == second["headers"]["X-Jobdeck-Delivery"]
    assert "only one that was given up" in jobdeck(backend.state_dir, "resend", job_id, code=4)
    told = backend.http.get(f"{OPS}/audit", params={"limit": 1000}).json()["acts"]
    results = [(one["reason"], one["result"]) for one in told if one["act"] == "resend"]
    assert results == [("receiver is up", "succeeded is sent again"), (None, "refused: not_eligible")]
    elsewhere = backend.submit({"name": "only"})
    assert "was to be told nothing" in jobdeck(backend.state_dir, "resend", elsewhere, code=4)


def test_storage_and_prune_are_told_in_words(backend: RunningBackend) -> None:
    told = jobdeck(backend.state_dir, "storage", "--older-than", "1h")
    assert "room on the disk" in told
    assert "would remove" in told
    assert "would remove 0 jobs" in jobdeck(backend.state_dir, "prune", "--older-than", "30d", "--dry-run")
    assert "Removed: nothing" in jobdeck(backend.state_dir, "prune", "--older-than", "30d")
    assert "write it as 7d" in jobdeck(backend.state_dir, "prune", "--older-than", "soon", code=2)
