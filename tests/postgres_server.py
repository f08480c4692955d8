"""A throw-away PostgreSQL server of the distribution's binaries, with passwords, on loopback; works as root."""

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psutil
import psycopg
import pytest

PASSWORD = "s3cret-and/odd:word"
_QUOTED = "s3cret-and%2Fodd%3Aword"
START_S = 20.0


def binaries() -> Path:
    """The newest installed version's; without one the test is skipped."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if not found:
        pytest.skip("needs PostgreSQL's own programs (Debian: postgresql)")
    return found[-1].parent


class PostgresServer:
    """One server process and its databases. ``fsync``: whether it writes as a real one does."""

    def __init__(self, *, fsync: bool = False) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="jobdeck-pg-", dir="/tmp"))
        self._user = _other_than_root()
        self._numbers = count(1)
        if self._user is not None:
            shutil.chown(self.directory, self._user)
        (password := self.directory / "password").write_text(PASSWORD)
        password.chmod(0o644)
        self._run(
            *("initdb", "-D", self.directory / "data", "-U", "jobdeck", "-A", "scram-sha-256"),
            *("--pwfile", password, "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync"),
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._fsync = fsync
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def _run(self, name: str, *arguments: object) -> None:
        subprocess.run(
            [binaries() / name, *map(str, arguments)],
            check=True,
            capture_output=True,
            user=self._user,
            cwd=self.directory,
            timeout=60,
        )

    def start(self) -> None:
        """Start, and wait until it answers."""
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(binaries() / "postgres", "-D", self.directory / "data", "-p", str(self.port)),
                    *("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.directory}"),
                    *("-c", f"fsync={'on' if self._fsync else 'off'}", "-c", "max_connections=200"),
                ],
                stdout=log,
                stderr=log,
                user=self._user,
                cwd=self.directory,
                preexec_fn=_die_with_parent,
            )
        until = time.monotonic() + START_S
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                assert time.monotonic() < until, (self.directory / "log").read_text()[-2000:]
                time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends every session (a fast shutdown), SIGQUIT crashes it, SIGTERM waits for all to leave."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    @contextmanager
    def hung(self) -> Iterator[None]:
        """Every process of the server stopped: connections stay, and nothing is answered."""
        assert self._process is not None
        server = psutil.Process(self._process.pid)
        server.suspend()  # first: it begins no other
        sessions = server.children()
        for session in sessions:
            with suppress(psutil.NoSuchProcess):  # it was at its end
                session.suspend()
        try:
            yield
        finally:
            server.resume()
            for session in sessions:
                with suppress(psutil.NoSuchProcess):
                    session.resume()

    def remove(self) -> None:
        """Stop it and delete everything."""
        self.stop(signal.SIGQUIT)
        # A hundred databases are tens of thousands of files.
        subprocess.run(["rm", "-rf", self.directory], check=False, timeout=120)

    def url(self, database: str, password: str = _QUOTED) -> str:
        """How jobdeck is told of a database."""
        return f"postgresql://jobdeck:{password}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple]:
        """Run one statement outside a transaction."""
        with psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user="jobdeck",
            password=PASSWORD,
            dbname=database,
            autocommit=True,
        ) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def create(self, template: str = "template1") -> str:
        """A new database, as a copy of ``template``; answers its URL."""
        name = f"test{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)


def _other_than_root() -> str | None:
    """PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
