"""Which fault is armed, and for how long: to inject one takes a second key within half a minute."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .drill_words import Fault

ARMED_SECONDS = 30.0


class Fuse:
    """At most one armed fault; ``monotonic`` counts its time."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._armed: tuple[Fault, float] | None = None

    def arm(self, fault: "Fault") -> None:
        """Arm a fault for half a minute."""
        self._armed = fault, self._monotonic() + ARMED_SECONDS

    def disarm(self) -> None:
        """Take the arming back."""
        self._armed = None

    @property
    def fault(self) -> "Fault | None":
        """The armed fault, while its time lasts."""
        return self._armed[0] if self._armed is not None and self.left() is not None else None

    def left(self) -> float | None:
        """Give the seconds the arming still lasts; None when nothing is armed."""
        left = 0.0 if self._armed is None else self._armed[1] - self._monotonic()
        return left if left > 0 else None
