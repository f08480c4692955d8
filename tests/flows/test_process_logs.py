"""The logs of workers: bounded in size and in number, whatever their processes print."""

import asyncio
import os
from pathlib import Path

from jobdeck_backend.scheduling import process_logs
from jobdeck_backend.scheduling.process_logs import ProcessLogs


def keeper(directory: Path, *alive: str) -> ProcessLogs:
    return ProcessLogs(directory, lambda: alive)


def test_a_log_that_grew_too_long_is_cut_under_its_writer_and_read_across_the_cut(tmp_path: Path) -> None:
    logs = keeper(tmp_path, "w0-e1")
    written = os.open(logs.path("w0-e1"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    line = b"x" * 99 + b"\n"
    os.write(written, line * (process_logs.LOG_BYTES_MAX // len(line) + 1))
    os.write(written, b"the last before\n")
    asyncio.run(logs.run_once())
    os.write(written, b"the first after\n")
    os.close(written)
    assert logs.path("w0-e1").read_bytes() == b"the first after\n"
    kept = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert kept <= process_logs.KEPT_BYTES + 100
    found = logs.tail("w0-e1", 2)
    assert found == (["the last before", "the first after"], True)


def test_only_logs_of_workers_long_gone_are_removed(tmp_path: Path) -> None:
    logs = keeper(tmp_path, "w0-e1")
    names = [f"w{number}-e1" for number in range(process_logs.ENDED_WORKERS_MAX + 3)]
    for age, name in enumerate([*names, "scheduler", "forkserver"]):
        logs.path(name).write_text(name)
        os.utime(logs.path(name), (age, age))
    asyncio.run(logs.run_once())
    gone = [name for name in names if not logs.path(name).exists()]
    assert gone == ["w1-e1", "w2-e1"], "the oldest, but not one that is alive"
    assert logs.path("scheduler").exists()
    assert logs.tail("w1-e1", 10) is None


def test_r38_what_a_worker_printed_is_read_as_text_only(tmp_path: Path) -> None:
    logs = keeper(tmp_path)
    logs.path("w0-e1").write_bytes(b"\x1b[2Jevil \xff\nAuthorization: Bearer abcdef0123456789\n")
    found = logs.tail("w0-e1", 10)
    assert found is not None
    assert found[0] == ["\\x1b[2Jevil �", "Authorization: Bearer ***"]
