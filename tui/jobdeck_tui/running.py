"""Running the deck: on a server until it is left, and on the next one it was left for."""

import os
import sys
from dataclasses import replace

from jobdeck_tui.app import DeckApp
from jobdeck_tui.client import credentials
from jobdeck_tui.client.instance import default_state_dir
from jobdeck_tui.deck_log import log, open_log
from jobdeck_tui.opening import Opening
from jobdeck_tui.reaching import Looking, Reaching
from jobdeck_tui.safety import refusal_without_terminal

NO_TERMINAL = 2


def open_deck(opening: Opening) -> int:
    """Runs the deck until it is left and gives the exit code; another server is a deck that begins anew.

    A profile without an address is the backend of the opening's state directory (default: the user's own): the
    deck attaches to it, or starts one that ends with the deck.
    """
    while True:
        app = _shown(_reaching(opening), opening)
        if app is None:
            return NO_TERMINAL
        if app.switch_to is None:
            return app.return_code or 0
        opening = replace(opening, profile=app.switch_to, view="")


def _reaching(opening: Opening) -> Reaching:
    """How to come to what is to be seen: a ``dask_dashboard`` without a server is looked at alone."""
    url = opening.profile.url
    credentials.keep_in(url, opening.profile.token_file)
    if opening.dask_dashboard and url is None:
        return Looking(opening.dask_dashboard)
    return Reaching(url, opening.state_dir)


def run_on(reaching: Reaching) -> int:
    """Runs the deck on what ``reaching`` finds or starts, with no other server to go to and no view kept."""
    app = _shown(reaching, Opening(safe=True))
    return NO_TERMINAL if app is None else app.return_code or 0


def _shown(reaching: Reaching, opening: Opening) -> DeckApp | None:
    """Runs one deck and stops what ``reaching`` started; None where there is no terminal for it."""
    if refusal := refusal_without_terminal(os.environ.get("TERM")):
        sys.stderr.write(refusal + "\n")
        return None
    app = DeckApp(reaching)
    app.deck.server_words = reaching.words
    app.deck.badge = reaching.badge
    app.deck.dashboard_url, app.deck.without_backend = opening.dask_dashboard, isinstance(reaching, Looking)
    app.deck.awaited = reaching.awaited
    opening.prepare(app)
    app.state_directory = opening.state_dir or default_state_dir()
    app.log_path = open_log(app.state_directory)
    log.info("deck begins on %s%s", reaching.words, ", read-only" if app.deck.read_only else "")
    try:
        app.run(mouse=opening.config.mouse)
    finally:
        reaching.stop()
        log.info("deck ends with exit code %s %s", app.return_code, app.farewell)
    if said := app.farewell or reaching.parting():
        sys.stderr.write(said + "\n")
    return app
