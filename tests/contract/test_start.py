"""A start that cannot be: one sentence, its own exit code, nothing changed."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile

import psycopg
import pytest
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.migrate import migrate
from postgres_server import PostgresServer
from warm_process import WarmProcess


def refused(state_dir: Path, exit_code: int, *arguments: str) -> str:
    """Try to start on this directory; answers the one sentence of the refusal."""
    variables = {**os.environ, "JOBDECK_STATE_DIR": str(state_dir)}
    with TemporaryFile() as stderr:
        process = WarmProcess(["--port", "0", *arguments], variables, stderr)
        process.stdin.close()
        code, stdout = process.wait(), process.stdout.read()
        stderr.seek(0)
        told = stderr.read().decode()
    assert code == exit_code, told
    assert stdout == b""
    return one_sentence(told)


def one_sentence(told: str) -> str:
    """All that was said, which is one sentence of jobdeck's."""
    (sentence,) = told.splitlines()
    assert sentence.startswith("jobdeck: ")
    return sentence


def snapshot(directory: Path) -> dict[str, bytes]:
    """Every file and its bytes, but the lock and the empty logs, which a start may make."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != "jobdeck.lock" and path.stat().st_size
    }


def test_a_second_instance_is_refused_naming_the_first(backend) -> None:
    before = json.loads((backend.state_dir / "jobdeck.lock").read_text())
    sentence = refused(backend.state_dir, 10)
    assert str(backend.pid) in sentence
    assert backend.url in sentence
    assert json.loads((backend.state_dir / "jobdeck.lock").read_text()) == before
    assert before == {"pid": backend.pid, "url": backend.url}
    assert backend.wait_for(backend.submit())["outcome"] == "succeeded"


def test_a_taken_port_is_refused_by_name(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        sentence = refused(tmp_path / "state", 11, "--port", str(port))
    assert str(port) in sentence
    assert snapshot(tmp_path) == {}


def test_a_misspelt_setting_is_told_and_changes_nothing(start_backend) -> None:
    backend = start_backend(JOBDECK_DB_ULR="sqlite:////elsewhere/jobdeck.db", JOBDECK_MINE="1")
    told = [line for line in backend.log.read_text().splitlines() if "no setting" in line]
    assert told == ["jobdeck: JOBDECK_DB_ULR is no setting and changes nothing; JOBDECK_DB_URL is one."]
    assert (backend.state_dir / "jobdeck.db").exists()


@pytest.mark.parametrize("where", ["file", "proc"])
def test_a_directory_that_cannot_be_written_is_refused_by_name(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("in the way")
    state_dir = tmp_path / "file" / "state" if where == "file" else Path("/proc/jobdeck-state")
    sentence = refused(state_dir, 12)
    assert str(state_dir) in sentence
    assert snapshot(tmp_path) == {"file": b"in the way"}


def test_a_full_disk_is_refused_by_name(tmp_path: Path) -> None:
    # No file may grow, which is what a process sees of a full disk.
    command = [sys.executable, "-m", "jobdeck_backend", "--port", "0", "--state-dir", str(tmp_path)]
    nothing_may_grow = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); "
    result = subprocess.run(
        [sys.executable, "-c", nothing_may_grow + "os.execv(sys.argv[1], sys.argv[1:])", *command],
        capture_output=True,
        text=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
    )
    assert (result.returncode, result.stdout) == (12, "")
    sentence = one_sentence(result.stderr)
    assert "no room left" in sentence
    assert str(tmp_path) in sentence


def test_what_jobs_were_given_is_nobody_elses_to_read(start_backend, tmp_path: Path) -> None:
    state_dir = tmp_path / "open"
    state_dir.mkdir(mode=0o755)
    backend = start_backend(state_dir=state_dir)
    backend.wait_for(backend.submit({"name": "only", "seconds": 0}), timeout_s=30)
    modes = {path.name: path.stat().st_mode & 0o077 for path in state_dir.rglob("*") if path.is_file()}
    assert modes["jobdeck.db"] == 0
    assert not any(modes.values()), modes


@pytest.mark.parametrize(
    "bytes_", [b"this is no database, and never was one" * 200, b"SQLite format 3\0" + bytes(5000)]
)
def test_a_damaged_database_is_refused_and_untouched(tmp_path: Path, bytes_: bytes) -> None:
    (tmp_path / "jobdeck.db").write_bytes(bytes_)
    sentence = refused(tmp_path, 13)
    assert "jobdeck.db" in sentence
    assert snapshot(tmp_path) == {"jobdeck.db": bytes_}


def test_a_database_of_a_newer_jobdeck_is_refused_and_untouched(tmp_path: Path) -> None:
    database = Database(tmp_path / "jobdeck.db", synchronous="NORMAL")
    migrate(database)
    database.close()
    with sqlite3.connect(tmp_path / "jobdeck.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = snapshot(tmp_path)
    sentence = refused(tmp_path, 13)
    assert "9999" in sentence
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--no-such-option"], "--no-such-option"),
        (["--port", "eighty"], "eighty"),
        (["superfluous"], "superfluous"),
        (["--scheduler-address", "udp://x:1"], "begins with tcp:// or tls://"),
    ],
)
def test_wrong_usage_is_one_sentence_that_says_where_to_look(
    tmp_path: Path, arguments: list[str], says: str
) -> None:
    sentence = refused(tmp_path / "state", 2, *arguments)
    assert says in sentence
    assert sentence.endswith(". Try 'jobdeck serve --help'.")
    assert snapshot(tmp_path) == {}


@pytest.mark.parametrize("content", [None, "", "graphs", "[]", '{"graphs": 3}'])
def test_a_file_that_was_to_list_workflows_and_does_not_is_refused_by_name(
    tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "langgraph.json"
    if content is not None:
        path.write_text(content)
    sentence = refused(tmp_path / "state", 2, "--workflows", str(path))
    assert f"--workflows {path}: the file " in sentence
    assert "Name a langgraph.json, or leave it out." in sentence
    assert not (tmp_path / "state").exists()


def test_a_postgresql_that_does_not_answer_is_refused_without_its_password(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"postgresql://jobdeck:s3cret@127.0.0.1:{closed.getsockname()[1]}/jobs"
        sentence = refused(tmp_path / "state", 13, "--db-url", url)
    assert "postgresql://jobdeck@127.0.0.1" in sentence
    assert "refused" in sentence
    assert "s3cret" not in sentence


@pytest.mark.parametrize("url", ["mysql://u:s3cret@host/db", "postgresql://u:s3cret@host:port/db", "s3cret"])
def test_a_url_that_is_not_one_of_postgresql_is_refused_without_repeating_it(
    tmp_path: Path, url: str
) -> None:
    sentence = refused(tmp_path / "state", 13, "--db-url", url)
    assert "postgresql://user:password@host:port/database" in sentence
    assert "s3cret" not in sentence


def test_a_postgresql_database_of_a_newer_jobdeck_is_refused_untouched(
    tmp_path: Path, postgres: PostgresServer, new_postgres_database: Callable[[], str]
) -> None:
    url = new_postgres_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        sentence = refused(tmp_path / "state", 13, "--db-url", url)
        assert "newer jobdeck (schema 9999" in sentence
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("9999",)]
        assert connection.execute("SELECT count(*) FROM leases").fetchone() == (0,)
    wrong = url.replace("odd", "even")
    sentence = refused(tmp_path / "state", 13, "--db-url", wrong)
    assert "password authentication failed" in sentence
    assert "even" not in sentence


@pytest.mark.parametrize(
    ("done", "says"),
    [
        ("UPDATE alembic_version SET version_num = '0006'", "or by another program"),
        ("INSERT INTO alembic_version VALUES ('0009')", "or by another program"),
        ("DROP TABLE preferences", 'relation "preferences" does not exist'),
        ("ALTER TABLE jobs DROP COLUMN priority CASCADE", "column jobs.priority does not exist"),
        ("ALTER ROLE {role} PASSWORD 'word'", "permission denied for table"),
        ("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", "permission denied for table"),
        ("DROP SCHEMA public CASCADE; CREATE SCHEMA public", "no schema has been selected to create in"),
    ],
)
def test_a_postgresql_database_that_jobdeck_cannot_use_is_refused_with_the_reason(
    tmp_path: Path,
    postgres: PostgresServer,
    new_postgres_database: Callable[[], str],
    done: str,
    says: str,
) -> None:
    url = new_postgres_database()
    database = url.rpartition("/")[2]
    if "{role}" in done or "SCHEMA public CASCADE" in done:
        role = f"{database}_user"
        postgres.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'word'")
        url = f"postgresql://{role}:word@127.0.0.1:{postgres.port}/{database}"
        done = done.format(role=role)
    postgres.execute(done, database)
    sentence = refused(tmp_path / "state", 13, "--db-url", url)
    assert says in sentence
    assert "nothing was changed" in sentence
    assert "LINE" not in sentence


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_postgresql_database_that_cannot_hold_every_text_is_refused(
    tmp_path: Path, postgres: PostgresServer, encoding: str
) -> None:
    name = f"in_{encoding.lower()}"
    postgres.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    sentence = refused(tmp_path / "state", 13, "--db-url", postgres.url(name))
    assert f"keeps its texts in {encoding}" in sentence
    assert "ENCODING 'UTF8'" in sentence
    assert postgres.execute("SELECT 1 FROM pg_tables WHERE schemaname = 'public'", name) == []
