"""``python -m tests.storm [SEED|FIRST-LAST]…``: seeded fault runs; see ``make faults``."""

import json
import sys
import tempfile
import time
from pathlib import Path

from tests.storm.run import run

LENGTH_S = 45.0


def main(arguments: list[str]) -> int:
    """Run each seed; one JSON line each. Exit code 1 where a promise was broken; its directory is then kept."""
    seeds = [seed for argument in arguments for seed in _seeds(argument)] or [int(time.time())]
    failed = 0
    for seed in seeds:
        directory = Path(tempfile.mkdtemp(prefix=f"jobdeck-storm-{seed}-"))
        account = run(seed, directory, LENGTH_S)
        if account.broken:
            failed += 1
            print(*account.strikes, f"kept: {directory}", sep="\n", file=sys.stderr)
        print(json.dumps(account.as_json()), flush=True)
    print(f"{len(seeds) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _seeds(argument: str) -> range:
    first, _, last = argument.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
