"""How long one job takes on an idle server, and how soon a subscriber sees what was committed on a busy one."""

import time

from tests.bench.figures import Figure, percentile, rounds
from tests.bench.server import Server, wait_until
from tests.bench.submitting import load

IDLE_JOBS = 100
EVENTS = 400
TALK_S = 8.0


def submit_to_success_ms(server: Server) -> list[float]:
    """One job after the other, from before the request to the outcome on record."""
    taken = []
    for _ in range(IDLE_JOBS):
        sent_at = time.time()
        job_id = server.submit({})
        query = "SELECT finished_at FROM admissions WHERE job_id = ?"
        wait_until(lambda: server.row(query, job_id)[0] is not None, 10, look_s=0.002)  # noqa: B023
        taken.append((server.row(query, job_id)[0] - sent_at) * 1_000)
    return taken


def commit_to_subscriber_ms(server: Server, company: int = 3_000) -> list[float]:
    """A talking job on one worker, ``company`` no-op jobs on the other: from each event's write, its commit
    included, to its arrival. How long the worker gathered others to write with it is not counted."""
    talker = server.submit({"stages": [{"name": "talk", "seconds": TALK_S, "events": EVENTS}]})
    load(server, company, "probe")
    arrived: dict[int, float] = {}
    with server.http.stream("GET", f"/v1/jobs/async/job/{talker}/stream") as stream:
        live = False
        for line in stream.iter_lines():
            live = live or '"mode":"live"' in line or '"mode":"pubsub"' in line
            if live and line.startswith("id: "):
                arrived[int(line[4:])] = time.time()
    written = dict(server.rows("SELECT seq, at FROM events WHERE job_id = ?", talker))
    return [(at - written[seq]) * 1_000 for seq, at in arrived.items()]


def measure(server: Server) -> list[Figure]:
    """Idle first: nothing has run before but a warming job."""
    submit_to_success_ms(server)
    idle = [submit_to_success_ms(server) for _ in range(rounds(3, 1))]
    busy = []
    for _ in range(rounds(3, 1)):
        busy.append(commit_to_subscriber_ms(server))
        server.wait_until_drained()
    return [
        Figure("idle submit → success, p50", "ms", [percentile(run, 0.5) for run in idle], 25),
        Figure("idle submit → success, p95", "ms", [percentile(run, 0.95) for run in idle]),
        Figure(
            "commit → subscriber while workers are busy, p50", "ms", [percentile(r, 0.5) for r in busy], 8
        ),
        Figure("commit → subscriber while workers are busy, p95", "ms", [percentile(r, 0.95) for r in busy]),
    ]
