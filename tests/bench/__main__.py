"""``python -m tests.bench [SECTION…]``: measure, and print one JSON report. See ``make bench``."""

import json
import os
import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime

from tests.bench import (
    churn,
    deck,
    deck_lists,
    heartbeats,
    latency,
    lists,
    postgres,
    recovery,
    streams,
    submitting,
    throughput,
)
from tests.bench.figures import Figure
from tests.bench.server import Server, running_server

SECTIONS: dict[str, Callable[[Server], list[Figure]]] = {
    "submitting": submitting.measure,
    "throughput": throughput.measure,
    "latency": latency.measure,
    "streams": streams.measure,
    "recovery": recovery.measure,
    "heartbeats": heartbeats.measure,
    "postgres": lambda _server: postgres.measure(),
    "lists": lists.measure,
    "deck": deck.measure,
    "deck-lists": deck_lists.measure,
    "churn": churn.measure,
}


def main(chosen: list[str]) -> int:
    """Each section on a backend of its own; exit code 1 when a target was missed."""
    unknown = set(chosen) - set(SECTIONS)
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; there are: {', '.join(SECTIONS)}", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    for name, measure in SECTIONS.items():
        if chosen and name not in chosen:
            continue
        with running_server() as server:
            for figure in measure(server):
                figures.append(figure)
                print(f"{figure.name}: {figure.median} {figure.unit} {_verdict(figure)}", file=sys.stderr)
    report = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "figures": [figure.as_json() for figure in figures],
    }
    print(json.dumps(report, indent=2))
    return 1 if any(figure.met is False for figure in figures) else 0


def _verdict(figure: Figure) -> str:
    if figure.target is None:
        return ""
    bound = "≥" if figure.at_least else "≤"
    return f"({'met' if figure.met else 'MISSED'}: {bound} {figure.target})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
