"""Exit codes, in one place (``EPILOGUE`` tells them), and how a failure becomes one sentence and one of them."""

import os
import sys

import click

from jobdeck_tui.client.errors import (
    ClientError,
    Denied,
    NotReachable,
    NotSaved,
    Offer,
    Refused,
    StartFailed,
    TimedOut,
)
from jobdeck_tui.client.fields import Unreadable
from jobdeck_tui.text.format import elapsed, instant
from jobdeck_tui.text.sanitise import block

OK = 0
FAILED = 1
USAGE = 2
NOT_REACHABLE = 3
REFUSED = 4
NOTHING_SHOWN = 5
PORT_TAKEN = 11
INTERRUPTED = 130
NO_READER = 141

EPILOGUE = (
    "Exit codes: 0 done, 1 the job or check failed, 2 usage, 3 server not reachable, 4 refused by the "
    "server, 5 a drill had nothing to hit, 10 state directory in use, 11 port taken, 12 state directory not "
    "writable, 13 database damaged, newer or not reachable, 14 Redis not usable, 15 no keys for tokens, "
    "130 interrupted, 141 nobody reads the output."
)


class Exit(Exception):  # noqa: N818
    """End the program with a code, after a sentence on standard error if there is one."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def say_error(message: str) -> None:
    """Write one sentence to standard error, safe for any terminal."""
    sys.stderr.write(f"jobdeck: {block(message, 4000)}\n")
    sys.stderr.flush()


def exit_code(error: BaseException) -> int:
    """Report an error and give the code to exit with; what is not ours is raised again."""
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO_READER
    if isinstance(error, Exit):
        if error.message:
            say_error(error.message)
        return error.code
    if isinstance(error, click.ClickException):
        hint = f" Try 'jobdeck {_command(error)}--help'." if isinstance(error, click.UsageError) else ""
        say_error(sentence(error.format_message()) + hint)
        return error.exit_code
    if isinstance(error, ClientError):
        say_error(sentence(error.message) + _advice(error))
        return client_exit_code(error)
    if isinstance(error, Unreadable):
        say_error(
            f"The server's answer is not what a jobdeck server says ({error}). Look with 'jobdeck list'."
        )
        return NOT_REACHABLE
    raise error


def sentence(text: str) -> str:
    """End a text that others wrote with a full stop, so that a sentence can follow."""
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def client_exit_code(error: ClientError) -> int:
    """Give the exit code of a failed call."""
    if isinstance(error, StartFailed):
        return error.exit_code
    if isinstance(error, NotSaved):
        return FAILED
    return REFUSED if isinstance(error, (Refused, Denied)) else NOT_REACHABLE


def _advice(error: ClientError) -> str:
    """Say what was kept and what to do next."""
    if isinstance(error, NotReachable):
        return (
            " Nothing was changed; start a backend with 'jobdeck serve', or name another with --server URL."
        )
    if isinstance(error, Refused):
        return nothing_changed(error) + _offer(error.offer)
    if isinstance(error, Denied):
        if error.status == 401:
            return " JOBDECK_TOKEN, or the token_file of a profile, says who you are; see 'jobdeck token --help'."
        # A server that says what it does not let anybody do asks for no credentials.
        return nothing_changed(error) if error.code else " The server wants other credentials."
    return " Look with 'jobdeck list'." if isinstance(error, TimedOut) else ""


def nothing_changed(error: ClientError) -> str:
    """Say that nothing was, unless the refusal has said it in its own words."""
    return "" if "nothing was" in error.message.lower() else " Nothing was changed."


def _offer(offer: Offer | None) -> str:
    if offer is None:
        return ""
    return f" The earliest it would promise is {elapsed(offer.later)} later: {instant(offer.deadline)}."


def _command(error: click.UsageError) -> str:
    path = error.ctx.command_path.split(" ", 1)[1:] if error.ctx is not None else []
    return f"{path[0]} " if path else ""
