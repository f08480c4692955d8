"""What can go wrong between the deck and a server. Each message is one sentence for the operator.

ClientError
├── NotReachable      nothing was sent, or a read got no answer
├── TimedOut          an act was sent and no answer came, or HTTP 500: its outcome is unknown
├── Denied            HTTP 401 or 403: the server does not accept who we are, or not this act
├── Refused           the server understood and will not; code, message, and the row as it is
├── NotSaved          bytes came and could not be kept on this machine
├── NotUnderstood     the answer is not what a jobdeck server says
└── StartFailed       the embedded backend did not come up; its exit code says why
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jobdeck_tui.client.models import Job


class ClientError(Exception):
    """Root of the tree; ``message`` is one sentence fit for the operator."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotReachable(ClientError):  # noqa: N818
    """The server did not answer; nothing was changed by this call."""


class TimedOut(ClientError):  # noqa: N818
    """A change was sent and no answer came: it may or may not have been made."""


class Offer(NamedTuple):
    """The earliest deadline it could promise, in Unix seconds, and by how many that is after the one asked for."""

    deadline: float
    later: float


class Denied(ClientError):  # noqa: N818
    """The server answered 401 or 403; ``code`` is a jobdeck server's own word for why, else empty."""

    def __init__(self, message: str, status: int, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Refused(ClientError):  # noqa: N818
    """The server will not do it; nothing was changed. ``offer``: what it would promise instead."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        current: "Job | None" = None,
        offer: Offer | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.current = current
        self.offer = offer


class NotUnderstood(ClientError):  # noqa: N818
    """The answer has not the shape it must have."""


class NotSaved(ClientError):  # noqa: N818
    """A file could not be saved here; nothing was left half written."""


class StartFailed(ClientError):  # noqa: N818
    """The embedded backend ended before it was ready; ``exit_code`` as it gave it."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code
