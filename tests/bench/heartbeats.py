"""What heartbeats cost: no-op jobs with a heart at its usual pace, and with one that hardly ever beats."""

from tests.bench.figures import Figure, rounds
from tests.bench.server import Server, running_server
from tests.bench.throughput import jobs_per_second

SELDOM_S = "3600"
JOBS = 1_000


def measure(server: Server) -> list[Figure]:
    """Pairs of runs on two backends, the one first that was second before.

    The fence itself cannot be taken out: it is a condition of statements that run anyway. What can be is the
    heart's thread, with its looks at the fence (twice a second) and its renewals.
    """
    usual, without = [], []
    with running_server(
        JOBDECK_HEARTBEAT_S=SELDOM_S, JOBDECK_CANCEL_LOOK_S=SELDOM_S, JOBDECK_HEARTBEAT_EVENT_S=SELDOM_S
    ) as heartless:
        for backend in (server, heartless):
            jobs_per_second(backend, JOBS)  # warm
        for number in range(rounds(7, 1)):
            pair = [(server, usual), (heartless, without)]
            for backend, runs in pair if number % 2 else reversed(pair):
                runs.append(jobs_per_second(backend, JOBS))
    costs = [1 - run / alone for run, alone in zip(usual, without, strict=True)]
    return [
        Figure("no-op jobs, heart at its usual pace", "jobs/s", usual),
        Figure("no-op jobs, heart that hardly beats", "jobs/s", without),
        Figure("cost of heartbeats and looks at the fence", "share", costs, 0.05),
    ]
