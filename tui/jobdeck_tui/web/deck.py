"""The deck of one page: ``python -m jobdeck_tui.web.deck URL [OPTIONS]``, drawn by Textual's web driver."""

import ctypes
import os
import signal
import sys

from jobdeck_tui.app import DeckApp
from jobdeck_tui.client import credentials
from jobdeck_tui.reaching import Reaching

PR_SET_PDEATHSIG = 1
READ_ONLY, TOKEN_FILE = "--read-only", "--token-file="


def main(arguments: list[str]) -> int:
    """Runs the deck until its page is closed; gives the exit code."""
    end_with_parent()
    url, *options = arguments
    for option in options:
        if option.startswith(TOKEN_FILE):
            credentials.keep_in(url, option.removeprefix(TOKEN_FILE))
    reaching = Reaching(url)
    app = DeckApp(reaching)
    app.deck.server_words = reaching.words
    app.deck.read_only = READ_ONLY in options
    app.run()
    return app.return_code or 0


def end_with_parent() -> None:
    """Lets the kernel kill this process when the web server is gone, whatever became of that."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
