"""``python -m tests.bench.granting DATABASE JOBS RATE SECONDS``: moves deadlines, a steady number a second.

Each grant is the operator's own command: a new version of the job, an event, an audit row. It is given to the
records in this process of its own, many in one transaction, because the measurement is of who watches them change
and not of how fast requests for it can be answered.
"""

import sys
import time
from pathlib import Path

from jobdeck_backend.commands import operators
from jobdeck_backend.store.engine import Database

GROUP_S = 0.05


def grant_steadily(path: Path, jobs: int, rate: float, seconds: float) -> None:
    """Grants to ``bench-1`` … ``bench-JOBS`` in turn; what is not done in time is left out."""
    database = Database(path, synchronous="NORMAL")
    grant = operators.grant_until(lambda admission, now: (admission.deadline or now) + 60)
    began, done = time.monotonic(), 0
    while (passed := time.monotonic() - began) < seconds:
        due = min(int(passed * rate) - done, int(rate))
        if due > 0:
            by = operators.By("bench", time.time())
            with database.write() as tx:
                for number in range(done, done + due):
                    operators.act(tx, "grant", f"bench-{number % jobs + 1}", grant, by)
            done += due
        time.sleep(GROUP_S)
    database.close()


if __name__ == "__main__":
    database, jobs, rate, seconds = sys.argv[1:]
    grant_steadily(Path(database), int(jobs), float(rate), float(seconds))
