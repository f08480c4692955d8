"""``web``: the deck in a browser of this machine."""

import errno
import socket
from contextlib import ExitStack

import click

from jobdeck_tui.client.embedded import EmbeddedBackend

from .exits import PORT_TAKEN, USAGE, Exit
from .options import Target, json_option, target_options
from .output import print_json, print_line

PORT = 8788


@click.command("web")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one."
)
@click.option("--allow-acts", is_flag=True, help="Let the page cancel, resume and so on, not only look.")
@click.option("--expose", is_flag=True, help="Listen on an address that other machines reach.")
@json_option
@target_options
def web_command(
    target: Target, *, host: str, port: int, allow_acts: bool, expose: bool, as_json: bool
) -> None:
    """Serve the deck to browsers of this machine, read-only unless told otherwise."""
    from jobdeck_tui.web.deck import READ_ONLY, TOKEN_FILE
    from jobdeck_tui.web.gate import is_local
    from jobdeck_tui.web.serving import WebDeck

    if not is_local(host) and not expose:
        raise Exit(
            USAGE,
            f"Not served on {host}: nothing is encrypted on the way there, neither the jobs nor the token that "
            "opens the deck. Use 127.0.0.1 through a tunnel such as 'ssh -L', or say --expose.",
        )
    with ExitStack() as held:
        listening = held.enter_context(_listen(host, port))
        backend = EmbeddedBackend(target.directory) if target.server is None else None
        if backend is not None:
            held.callback(backend.stop)
        server = target.server or (backend.start().url if backend is not None else "")
        options = [] if allow_acts else [READ_ONLY]
        if target.server and target.named is not None and target.named.token_file:
            options.append(TOKEN_FILE + target.named.token_file)
        deck = WebDeck(listening, [server, *options])

        def ready() -> None:
            if as_json:
                print_json({"ready": True, "url": deck.url, "read_only": not allow_acts})
                return
            may = "it may act" if allow_acts else "read-only; --allow-acts lets it act"
            print_line(f"The deck of {server} is at {deck.url} ({may}). Ctrl-C ends it and every open page.")

        deck.run(ready)


def _listen(host: str, port: int) -> socket.socket:
    from jobdeck_tui.web.serving import listen

    try:
        return listen(host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Exit(PORT_TAKEN, f"Port {port} is taken; --port 0 takes a free one.") from error
        raise Exit(USAGE, f"{host} cannot be listened on: {error.strerror}.") from error
