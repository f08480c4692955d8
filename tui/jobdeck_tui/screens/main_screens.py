"""The main screens, by their mode. Each is imported when it is first opened, and all of them soon after the first
frame, which needs the jobs alone.
"""

from collections.abc import Callable, Mapping

from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.screens.jobs import JobsScreen


def _cluster() -> type[DeckScreen]:
    from jobdeck_tui.screens.cluster import ClusterScreen

    return ClusterScreen


def _recovery() -> type[DeckScreen]:
    from jobdeck_tui.screens.recovery import RecoveryScreen

    return RecoveryScreen


def _drills() -> type[DeckScreen]:
    from jobdeck_tui.screens.drills import DrillsScreen

    return DrillsScreen


def _events() -> type[DeckScreen]:
    from jobdeck_tui.screens.events import EventsScreen

    return EventsScreen


def _queues() -> type[DeckScreen]:
    from jobdeck_tui.screens.queues import QueuesScreen

    return QueuesScreen


def _failures() -> type[DeckScreen]:
    from jobdeck_tui.screens.failures import FailuresScreen

    return FailuresScreen


def _audit() -> type[DeckScreen]:
    from jobdeck_tui.screens.audit import AuditScreen

    return AuditScreen


MAIN_SCREENS: Mapping[str, Callable[[], type[DeckScreen]]] = {
    "jobs": lambda: JobsScreen,
    "cluster": _cluster,
    "recovery": _recovery,
    "drills": _drills,
    "events": _events,
    "queues": _queues,
    "failures": _failures,
    "audit": _audit,
}


def import_others() -> None:
    """What is opened over the main screens."""
    import jobdeck_tui.screens.choice
    import jobdeck_tui.screens.export
    import jobdeck_tui.screens.help
    import jobdeck_tui.screens.job
    import jobdeck_tui.screens.my_acts  # noqa: F401


def opened(mode: str) -> DeckScreen:
    """A main screen, new."""
    return MAIN_SCREENS[mode]()()
