"""``python -m jobdeck_backend``: one backend on one state directory, until it is told to stop."""

import signal

# Before the imports, which take a second: an interrupt meanwhile ends the program without their traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)

import asyncio
import gc
import json
import logging
import os
import socket
import threading
from collections.abc import Collection
from pathlib import Path
from types import FrameType
from typing import Any

import click
import structlog
import uvicorn
import uvloop

from jobdeck_backend import logs
from jobdeck_backend.api.gate import is_local
from jobdeck_backend.api.request_bounds import bounded
from jobdeck_backend.app import Backend, create_app
from jobdeck_backend.errors import StartRefused
from jobdeck_backend.instance import InstanceLock
from jobdeck_backend.scheduling.forks import ForkServer
from jobdeck_backend.scheduling.process_logs import log_path
from jobdeck_backend.settings import Settings, misspelt
from jobdeck_backend.starting import read_settings, run
from jobdeck_backend.workflows import registry
from jobdeck_backend.workflows.inspection import inspect_workflows
from jobdeck_backend.workflows.sources import listed_graphs

EXIT_PORT = 11
GRACEFUL_S = 2
PEER_SILENT_MS = 60_000
log = structlog.get_logger(__name__)
LOCAL_ONLY = ("max_running_async_jobs", "dask_threads_per_worker", "scheduler_port")


class Server(uvicorn.Server):
    """Uvicorn, telling the streams to end before it waits for them."""

    def __init__(self, config: uvicorn.Config, backend: Backend) -> None:
        super().__init__(config)
        self._backend = backend

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """SIGINT or SIGTERM: a clean end, so nothing is raised again; the second one does not wait for it."""
        if self.should_exit:
            # As good as SIGKILL, which the records outlive and the cluster does not.
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.end()

    def end(self) -> None:
        """Stop serving. Safe from a signal handler."""
        self.should_exit = True
        if self.started:
            self._backend.loop.call_soon_threadsafe(self._backend.say_farewell)


def bind(settings: Settings) -> socket.socket:
    """Listen before anything is started. Raises ``StartRefused`` when the port is taken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # A connection whose peer takes nothing cannot even be closed: what was sent waits to be taken first.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, PEER_SILENT_MS)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        raise StartRefused(
            f"cannot listen on {settings.host}:{settings.port} ({error.strerror}); "
            "choose another with --port, or 0 for any free one",
            EXIT_PORT,
        ) from None
    if not settings.auth and not is_local(settings.host):
        log.warning(
            "whoever reaches this address may do everything, for nobody is asked who they are: --auth asks"
        )
    listener.listen(2048)
    return listener


async def serve(
    settings: Settings,
    lock: InstanceLock,
    forks: ForkServer | None,
    listener: socket.socket,
    *,
    follow_stdin: bool,
) -> None:
    """Serve until a signal, or until standard input ends when it is followed."""
    backend = Backend(settings, forks)
    config = uvicorn.Config(
        create_app(backend),
        http=bounded(settings.request_timeout_s),
        ws="none",
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # what they would change nobody reads
        server_header=False,
        timeout_graceful_shutdown=GRACEFUL_S,
    )
    server = Server(config, backend)
    if follow_stdin:
        threading.Thread(target=_end_with_stdin, args=(server,), daemon=True).start()
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():  # noqa: ASYNC110  uvicorn offers no event
        await asyncio.sleep(0.01)
    if server.started:
        # What the imports made stays: the collector need not walk it for every few thousand rows listed.
        gc.freeze()
        host, port = listener.getsockname()[:2]
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        lock.publish(url)
        ready = {"ready": True, "url": url, "pid": os.getpid(), "state_dir": str(settings.state_dir)}
        print(json.dumps(ready), flush=True)
    await serving


def refuse_without_effect(settings: Settings, given: Collection[str]) -> None:
    """Raises ``UsageError`` when an option was given that only an embedded cluster would heed."""
    local = [f"--{name.replace('_', '-')}" for name in LOCAL_ONLY if name in given]
    if settings.scheduler_address is not None and local:
        raise click.UsageError(
            f"{' and '.join(local)} would have no effect with --scheduler-address: the scheduler at "
            f"{settings.scheduler_address} and its workers are started by others, who decide how many workers and "
            "threads there are. Leave it out, or leave --scheduler-address out for a cluster of jobdeck's own."
        )


def refuse_without_workflows(settings: Settings) -> None:
    """Raises ``UsageError`` where the file that lists workflows cannot be read: who names one needs it."""
    if settings.workflows is not None:
        try:
            listed_graphs(settings.workflows)
        except ValueError as error:
            raise click.UsageError(
                f"--workflows {settings.workflows}: {error}. Name a langgraph.json, or leave it out."
            ) from None


def install_workflows(settings: Settings) -> None:
    """Make the users' own workflows known, and say which of them cannot be used: the others can."""
    workflows, broken = inspect_workflows(settings)
    registry.install(workflows, broken)
    for one in broken:
        told = f"jobdeck: workflow {one.name} ({one.origin}) cannot be used: {one.problem}"
        click.echo(logs.printable(" ".join(told.split())), err=True)


def tell_misspelt() -> None:
    """Say which variables look like a setting but are none."""
    for name, meant in misspelt(os.environ).items():
        told = f"jobdeck: {name} is no setting and changes nothing; {meant} is one."
        click.echo(logs.printable(told), err=True)


def fork_early(settings: Settings) -> ForkServer | None:
    """The fork server of an embedded cluster, on its way: before anything here has a thread."""
    if settings.scheduler_address is not None:
        return None
    forks = ForkServer(log_path(settings.log_directory, "forkserver"))
    forks.fork_early()
    return forks


def _end_with_stdin(server: Server) -> None:
    while os.read(0, 4096):
        pass
    server.end()


@click.command()
@click.option("--host", help="Address to listen on; loopback unless told otherwise.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen on, 8787 unless told otherwise; 0 takes a free one.",
)
@click.option(
    "--state-dir", type=click.Path(path_type=Path, file_okay=False), help="Where everything is kept."
)
@click.option(
    "--artifact-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the bytes of jobs' files are kept; every worker must see it (default: in the state directory).",
)
@click.option(
    "--db-url", help="postgresql://… or sqlite:///PATH, in place of a database in the state directory."
)
@click.option(
    "--scheduler-address", help="tcp://… or tls://… of a Dask scheduler to use in place of an own one."
)
@click.option("--tls-ca-file", type=click.Path(dir_okay=False), help="For a tls:// scheduler.")
@click.option("--tls-cert", type=click.Path(dir_okay=False), help="For a tls:// scheduler.")
@click.option("--tls-key", type=click.Path(dir_okay=False), help="For a tls:// scheduler.")
@click.option(
    "--max-running-async-jobs",
    "--max-concurrent-jobs",
    "max_running_async_jobs",
    type=click.IntRange(1, 256),
    help="Worker processes of the embedded cluster.",
)
@click.option("--dask-threads-per-worker", type=click.IntRange(1, 64), help="Threads of each of them.")
@click.option("--scheduler-port", type=click.IntRange(0, 65535), help="Where the embedded scheduler listens.")
@click.option("--workflows", type=click.Path(dir_okay=False), help="A langgraph.json with more workflows.")
@click.option(
    "--recovery",
    type=click.Choice(["auto", "manual"]),
    help="Whether lost jobs are recovered at once, or when an operator applies the plan.",
)
@click.option(
    "--auth", is_flag=True, help="Take requests with a verified bearer token only ('jobdeck token')."
)
@click.option("--no-drills", is_flag=True, help="Refuse fault drills.")
@click.option("--follow-stdin", is_flag=True, help="Stop when standard input ends.")
@click.option(
    "--dask-dashboard", is_flag=True, help="Let the embedded scheduler serve Dask's own pages (bokeh)."
)
def command(*, follow_stdin: bool, auth: bool, no_drills: bool, dask_dashboard: bool, **options: Any) -> None:
    """Serve jobdeck's HTTP interfaces, with an embedded Dask cluster or attached to one."""
    for name, value in options.items():
        if value is not None:
            # Into the environment, so that the workers are told the same.
            os.environ[f"JOBDECK_{name.upper()}"] = str(value)
    if no_drills:
        os.environ["JOBDECK_ALLOW_DRILLS"] = "false"
    if auth:
        os.environ["JOBDECK_AUTH"] = "true"
    if dask_dashboard:
        os.environ["JOBDECK_DASK_DASHBOARD"] = "true"
    settings = read_settings()
    os.environ["JOBDECK_STATE_DIR"] = str(settings.state_dir.absolute())
    os.environ["JOBDECK_ARTIFACT_DIR"] = str(settings.artifact_root.absolute())
    if settings.workflows is not None:
        os.environ["JOBDECK_WORKFLOWS"] = str(settings.workflows.absolute())
    settings = read_settings()
    refuse_without_effect(settings, [name for name, value in options.items() if value is not None])
    refuse_without_workflows(settings)
    # Read: the workers, where other people's graphs run, need not know them.
    for secret in ("JOBDECK_CALLBACK_SECRET", "JOBDECK_REDIS_URL", "JOBDECK_TOKEN_SECRET", "JOBDECK_TOKEN"):
        os.environ.pop(secret, None)
    logs.configure()
    tell_misspelt()
    # What jobs were given is nobody else's to read, also in a directory that others may enter.
    os.umask(0o077)
    # The cluster tells of its losses itself; Dask's client would print a traceback for each.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    lock = InstanceLock(settings.state_dir)
    forks = fork_early(settings)
    listener = bind(settings)
    install_workflows(settings)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, lock, forks, listener, follow_stdin=follow_stdin))


def main() -> None:
    """Run it as a program."""
    run(command, "jobdeck serve")


if __name__ == "__main__":
    main()
