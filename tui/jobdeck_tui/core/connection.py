"""What may honestly be said about the connection, derived from what was seen and when.

    CONNECTING ──frame──► LIVE ──2.5 s without a frame──► STALE
        ▲                  ▲ ▲                              │ frame
        │ connect          │ └──────────────────────────────┘
        └── RETRY n ◄──lost┘   RETRY ──10 s without a connection──► OFFLINE since
                               any ──401, 403──► DENIED

Times are seconds on one monotonic clock, except ``since`` and ``as_of``, which are Unix seconds for people.
"""

from enum import Enum
from typing import NamedTuple

from jobdeck_tui.text.format import age, clock

STALE_SECONDS = 2.5
OFFLINE_SECONDS = 10.0


class Link(Enum):
    """The connection's state; the value is its word."""

    CONNECTING = "CONNECTING"
    LIVE = "LIVE"
    STALE = "STALE"
    RETRY = "RETRY"
    OFFLINE = "OFFLINE"
    DENIED = "DENIED"


GLYPHS = {
    Link.CONNECTING: "⋯",
    Link.LIVE: "✔",
    Link.STALE: "⚠",
    Link.RETRY: "↻",
    Link.OFFLINE: "✖",
    Link.DENIED: "✖",
}


class Truth(NamedTuple):
    """The connection at one moment: state, words for the status bar, and since when the data is old."""

    link: Link
    text: str
    as_of: float | None

    @property
    def live(self) -> bool:
        """Whether what is shown is current, so that acts are allowed."""
        return self.link is Link.LIVE

    @property
    def banner(self) -> str | None:
        """The sentence shown over data that is not current."""
        if self.live:
            return None
        if self.as_of is None:
            return (
                None
                if self.link is Link.CONNECTING
                else "Nothing received yet. Actions are off until connected."
            )
        return f"Data as of {clock(self.as_of)}. Actions are off until reconnected."


class Connection:
    """Facts in, truth out. ``now`` is monotonic, ``wall`` is Unix seconds."""

    def __init__(self) -> None:
        self._last_frame: float | None = None
        self._as_of: float | None = None
        self._connected = False
        self._down_since: tuple[float, float] | None = None
        self._attempt = 0
        self._retry_at: float | None = None
        self._denied: int | None = None
        self.reason = ""

    def frame(self, now: float, wall: float) -> None:
        """Something arrived on the feed: the server lives and the data is current."""
        self._last_frame, self._as_of = now, wall
        self._connected, self._denied = True, None
        self._down_since, self._retry_at, self._attempt, self.reason = None, None, 0, ""

    def lost(self, now: float, wall: float, reason: str, retry_in: float) -> None:
        """The feed ended or could not be opened; it is tried again in ``retry_in`` seconds."""
        self._connected, self._denied = False, None
        self._down_since = self._down_since or (now, wall)
        self._attempt += 1
        self._retry_at, self.reason = now + retry_in, reason

    def denied(self, now: float, wall: float, status: int, reason: str) -> None:
        """The server refused who we are (HTTP 401 or 403), or that could not be said to it (401)."""
        advice = "; JOBDECK_TOKEN, or a profile's token_file, says who you are" if status == 401 else ""
        self.lost(now, wall, reason.removesuffix(".") + advice, 0.0)
        self._denied = status

    def truth(self, now: float) -> Truth:
        """Say what holds at ``now``."""
        link, detail = self._judge(now)
        return Truth(link, f"{GLYPHS[link]} {link.value}{detail}", self._as_of)

    def _judge(self, now: float) -> tuple[Link, str]:
        if self._denied is not None:
            return Link.DENIED, f" {self._denied}"
        if self._connected and self._last_frame is not None:
            quiet = now - self._last_frame
            return (Link.LIVE if quiet < STALE_SECONDS else Link.STALE), f" {age(quiet)}"
        if self._down_since is None:
            return Link.CONNECTING, ""
        since, since_wall = self._down_since
        if now - since >= OFFLINE_SECONDS:
            return Link.OFFLINE, f" since {clock(since_wall)}"
        wait = max((self._retry_at or now) - now, 0.0)
        return Link.RETRY, f" {self._attempt} in {wait:.0f}s"
