"""What the author of a workflow may rely on of its files, and what no file can do (R31, I17)."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

import pytest
from authored import JOB, AuthoredJob
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import JobStopped
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.recovery import fsck
from jobdeck_backend.workflows.context import Artifacts, job_context
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
LIMITS = {
    "artifact_files_max": 3,
    "artifact_file_bytes_max": 1_000_000_000,
    "artifact_job_bytes_max": 2_000_000_000,
}


class State(TypedDict, total=False):
    seen: list[str]


def graph(*steps: Callable[[Path], None]) -> StateGraph:
    """One node for each step, which gets the directory."""
    built, before = StateGraph(State), START
    for number, step in enumerate(steps):

        def node(_state: State, step: Callable[[Path], None] = step) -> State:
            step(job_context().artifacts.directory)
            return {}

        built.add_node(f"s{number}", node)
        built.add_edge(before, f"s{number}")
        before = f"s{number}"
    built.add_edge(before, END)
    return built


def run(job: AuthoredJob, *steps: Callable[[Path], None]) -> Status:
    job.accept(graph(*steps), with_artifacts=True)
    return job.attempt().status


def reasons(job: AuthoredJob) -> dict[str, str]:
    warnings = job.told("artifact.warning")
    assert len(warnings) == len({one["path"] for one in warnings}), "each is told once"
    return {one["path"]: one["reason"] for one in warnings}


def manifest(directory: Path, *entries: dict[str, Any]) -> None:
    (directory / "manifest.json").write_text(json.dumps({"version": 1, "artifacts": list(entries)}))


def test_files_are_kept_with_what_the_manifest_and_the_code_say_of_them(job: AuthoredJob) -> None:
    def write(directory: Path) -> None:
        (directory / "charts").mkdir()
        (directory / "charts" / "a b.png").write_bytes(PNG)
        (directory / "data.csv").write_text("a,b\n1,2\n")
        (directory / "notes.md").write_text("# Notes")
        job_context().artifacts.add(directory / "data.csv", title="Numbers", kind="dataset")
        manifest(directory, {"path": "charts/a b.png", "title": "Chart", "caption": "of it", "inline": True})

    assert run(job, write) is Status.SUCCESS
    told = {one["file_path"]: one for one in job.told("artifact.update")}
    assert set(told) == {"charts/a b.png", "data.csv", "notes.md"}
    chart, data = told["charts/a b.png"], told["data.csv"]
    assert (chart["kind"], chart["title"], chart["caption"], chart["inline"]) == (
        "image",
        "Chart",
        "of it",
        True,
    )
    assert (data["kind"], data["title"], data["mime_type"]) == ("dataset", "Numbers", "text/csv")
    rows = {one.artifact_id: one for one in job.artifacts()}
    assert {one["artifact_id"] for one in told.values()} == set(rows)
    kept = rows[chart["artifact_id"]]
    assert job.files.path(kept.sha256).read_bytes() == PNG
    assert (kept.filename, kept.attempt, kept.fence) == ("a b.png", 1, job.job().fence)
    assert reasons(job) == {}


def test_what_links_out_traverses_or_is_no_file_is_refused_and_never_opened(
    job: AuthoredJob, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")

    def write(directory: Path) -> None:
        (directory / "link.txt").symlink_to(secret)
        (directory / "out").symlink_to(tmp_path)
        (directory / "hard.txt").hardlink_to(secret)
        os.mkfifo(directory / "pipe.txt")
        (directory / "loop.txt").symlink_to("loop.txt")
        (directory / "folder.txt").mkdir()
        paths = [
            "../../secret.txt",
            str(secret),
            "out/secret.txt",
            "a/../../x.txt",
            "folder.txt",
            "nul\0.txt",
        ]
        manifest(directory, *({"path": path} for path in paths))

    assert run(job, write) is Status.SUCCESS
    refused = reasons(job)
    assert set(refused) == {
        *("link.txt", "out", "hard.txt", "pipe.txt", "loop.txt", "folder.txt"),
        *("../../secret.txt", str(secret), "out/secret.txt", "a/../../x.txt", "nul\ufffd.txt"),
    }
    assert "symbolic link" in refused["link.txt"]
    assert "hard link" in refused["hard.txt"]
    assert "pipe" in refused["pipe.txt"]
    assert "outside" in refused[str(secret)]
    assert "outside" in refused["../../secret.txt"]
    assert "link" in refused["out/secret.txt"]
    assert job.artifacts() == []
    assert list(job.files.digests()) == []


def test_bytes_that_are_not_what_their_name_says_are_refused(job: AuthoredJob) -> None:
    lies = {
        "a.png": b"GIF89a",
        "b.txt": PNG,
        "c.csv": b"<svg onload=alert(1)>",
        "d.json": b"oops",
        "e.txt": b"a\x00b",
        "f.md": "é".encode("latin-1"),
        "g.svg": b"<svg/>",
        "h": b"no extension",
        "i.png": b"",
        "j.txt": b"\xe2\x82",  # ends inside a character
        "k.txt": b"fine, but declared as an image",
    }

    def write(directory: Path) -> None:
        for name, content in lies.items():
            (directory / name).write_bytes(content)
        job_context().artifacts.add("k.txt", media_type="image/png")

    assert run(job, write) is Status.SUCCESS
    assert set(reasons(job)) == set(lies)
    assert job.artifacts() == []
    assert list(job.files.digests()) == []


def test_a_file_whose_name_is_no_text_is_kept_by_a_name_that_is(job: AuthoredJob) -> None:
    assert run(job, lambda directory: (directory / "a\udcff\n.txt").write_text("a")) is Status.SUCCESS
    (kept,) = job.artifacts()
    assert (kept.filename, kept.file_path) == ("a__.txt", "a?\n.txt")


@pytest.mark.parametrize("worker_settings", [LIMITS])
def test_quotas_are_kept_before_anything_is_read(job: AuthoredJob) -> None:
    def write(directory: Path) -> None:
        for name, size in (("a-huge.txt", 10**12), ("b-large.txt", 10**9 + 1)):
            with (directory / name).open("wb") as file:
                file.truncate(size)  # sparse: reading it would take minutes
        for name in ("c.txt", "d.txt", "e.txt", "f.txt"):
            (directory / name).write_text(name)

    began = time.monotonic()
    assert run(job, write) is Status.SUCCESS
    assert time.monotonic() - began < 5
    assert [one.filename for one in job.artifacts()] == ["c.txt", "d.txt", "e.txt"]
    refused = reasons(job)
    assert set(refused) == {"a-huge.txt", "b-large.txt", "f.txt"}
    assert "1,000,000,000,000 bytes" in refused["a-huge.txt"]
    assert refused["f.txt"] == "a job may keep at most 3 files"


@pytest.mark.parametrize("worker_settings", [{"artifact_job_bytes_max": 10}])
def test_a_jobs_quota_counts_what_its_earlier_stages_and_attempts_kept(job: AuthoredJob) -> None:
    def fail_once(_directory: Path) -> None:
        if job_context().attempt == 1:
            raise RuntimeError

    steps = [
        lambda d: (d / "a.txt").write_text("123456"),
        fail_once,
        lambda d: (d / "b.txt").write_text("12345"),
    ]
    assert run(job, *steps) is Status.FAILURE
    assert job.resume() == "resumed"
    assert job.attempt().status is Status.SUCCESS
    assert [one.filename for one in job.artifacts()] == ["a.txt"]
    assert reasons(job) == {"b.txt": "the job's files would have more than 10 bytes"}


def test_a_file_that_changes_while_it_is_read_is_noticed(job: AuthoredJob) -> None:
    over = threading.Event()

    def write(directory: Path) -> None:
        path = directory / "moving.txt"
        path.write_bytes(b"x" * 40_000_000)
        began = threading.Event()

        def change() -> None:
            with path.open("r+b", buffering=0) as file:
                while not over.is_set():
                    os.pwrite(file.fileno(), b"y", 0)
                    began.set()

        threading.Thread(target=change).start()
        began.wait()

    try:
        assert run(job, write) is Status.SUCCESS
    finally:
        over.set()
    assert reasons(job) == {"moving.txt": "it changed while it was read"}
    assert job.artifacts() == []


def test_the_same_bytes_are_one_artifact_of_a_job_and_a_second_name_is_told(job: AuthoredJob) -> None:
    def write(directory: Path) -> None:
        (directory / "a.txt").write_text("same")
        (directory / "b.txt").write_text("same")

    def touch(directory: Path) -> None:
        os.utime(directory / "a.txt")

    assert run(job, write, touch) is Status.SUCCESS
    assert [one.filename for one in job.artifacts()] == ["a.txt"]
    assert len(job.told("artifact.update")) == 1
    assert reasons(job) == {"b.txt": "it has the same bytes as a.txt, which is kept"}


def test_another_attempt_begins_with_an_empty_directory_and_what_was_kept_stays(job: AuthoredJob) -> None:
    found: list[list[str]] = []

    def first(directory: Path) -> None:
        (directory / "first.txt").write_text("first")

    def second(directory: Path) -> None:
        found.append(sorted(path.name for path in directory.iterdir()))
        (directory / "second.txt").write_text("second")
        if job_context().attempt == 1:
            raise RuntimeError("after it wrote")

    assert run(job, first, second) is Status.FAILURE
    assert [one.filename for one in job.artifacts()] == ["first.txt", "second.txt"], (
        "a failure keeps its files"
    )
    assert job.resume() == "resumed"
    assert job.attempt().status is Status.SUCCESS
    assert found == [["first.txt"], []]
    assert [(one.filename, one.attempt) for one in job.artifacts()] == [("first.txt", 1), ("second.txt", 1)]
    assert len(job.told("artifact.update")) == 2, "finalising twice is the same as once"


def test_a_declared_file_is_durable_as_soon_as_the_tool_that_made_it_is_done(job: AuthoredJob) -> None:
    seen: list[list[str]] = []

    @tool
    def draw(name: str) -> str:
        """Make a file, and one more that nobody declared."""
        artifacts: Artifacts = job_context().artifacts
        (artifacts.directory / name).write_text(name)
        (artifacts.directory / "draft.txt").write_text("draft")
        artifacts.add(name)
        return "drawn"

    def work(_directory: Path) -> None:
        draw.invoke({"name": "chart.txt"})
        seen.append([one.filename for one in job.artifacts()])

    assert run(job, work) is Status.SUCCESS
    assert seen == [["chart.txt"]]
    assert [one.filename for one in job.artifacts()] == ["chart.txt", "draft.txt"]


@pytest.mark.parametrize("with_a_link", [True, False])
def test_what_took_the_directorys_place_is_told_and_removed(
    job: AuthoredJob, tmp_path: Path, *, with_a_link: bool
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")

    def replace(directory: Path) -> None:
        directory.rmdir()
        if with_a_link:
            directory.symlink_to(outside)
        else:
            directory.write_text("no directory")

    assert run(job, replace) is Status.SUCCESS
    assert list(reasons(job)) == ["."]
    assert job.artifacts() == []
    assert (outside / "secret.txt").exists()


def test_a_cancelled_job_keeps_what_was_durable_and_gets_nothing_more(job: AuthoredJob) -> None:
    def write(directory: Path) -> None:
        (directory / "early.txt").write_text("early")

    def cancelled(directory: Path) -> None:
        (directory / "late.txt").write_text("late")
        assert job.act(operators.cancel)

    assert run(job, write, cancelled) is Status.INTERRUPTED
    assert [one.filename for one in job.artifacts()] == ["early.txt"]


def test_an_unusable_manifest_is_told_of_and_the_directory_is_kept_all_the_same(job: AuthoredJob) -> None:
    def write(directory: Path) -> None:
        (directory / "a.txt").write_text("a")
        (directory / "manifest.json").write_text('{"version": 2, "artifacts": "no"}')

    assert run(job, write) is Status.SUCCESS
    assert [one.filename for one in job.artifacts()] == ["a.txt"]
    assert "no manifest (version" in reasons(job)["manifest.json"]


def test_a_workflow_that_did_not_opt_in_has_no_directory_and_is_told_why(job: AuthoredJob) -> None:
    job.accept(graph(lambda _directory: None))
    failed = job.attempt()
    assert failed.status is Status.FAILURE
    assert '"artifacts": true in langgraph.json' in str(failed.error)


@contextmanager
def one_artifact(job: AuthoredJob) -> Iterator[Path]:
    """The path of one stored file's bytes, put back as they were afterwards."""
    assert run(job, lambda directory: (directory / "a.txt").write_text("right")) is Status.SUCCESS
    path = job.files.path(job.artifacts()[0].sha256)
    yield path
    job.files.store([b"right"])


def broken(job: AuthoredJob) -> list[str]:
    with job.database.read() as tx:
        return [one.text for one in fsck.check(tx, files=job.files) if one.invariant == fsck.FILES]


def test_i17_missing_and_altered_bytes_and_old_orphans_are_found(job: AuthoredJob) -> None:
    with one_artifact(job) as path:
        assert broken(job) == []
        path.chmod(0o600)
        path.write_text("wrong")
        assert "were altered" in broken(job)[0]
        path.unlink()
        assert "are missing" in broken(job)[0]
    orphan = job.files.path(job.files.store([b"nobody's"]))
    assert broken(job) == [], "a row may be about to be committed"
    os.utime(orphan, (0, 0))
    assert "no row names the bytes" in broken(job)[0]
    orphan.unlink()
    assert job.artifacts()[0].job_id == JOB


def test_an_execution_that_lost_its_job_adds_nothing(job: AuthoredJob) -> None:
    outcome: list[str] = []

    def overtaken(directory: Path) -> None:
        (directory / "late.txt").write_text("late")
        with job.database.write() as tx:
            tx.exec_driver_sql("UPDATE jobs SET fence = fence + 1, version = version + 1")
        try:
            job_context().artifacts.checkpoint(everything=True)
        except JobStopped:
            outcome.append("stopped")
        with job.database.write() as tx:
            tx.exec_driver_sql("UPDATE jobs SET fence = fence - 1, version = version - 1")
        (directory / "late.txt").unlink()

    assert run(job, overtaken) is Status.SUCCESS
    assert outcome == ["stopped"]
    assert job.artifacts() == []
